//! What a verification kernel is given: one [`Job`] per signature. Public data.

use crate::coding::encode::{PublicKeyParts, SignatureParts};
use crate::coding::expansion::Expansion;
use crate::error::VerifyError;
use crate::params::{CRH_LEN, Params};

/// The key of one signature.
#[derive(Clone, Copy)]
pub(crate) enum JobKey<'a> {
    /// What the backend's `prepare` made, and `tr`.
    Prepared(Expansion<'a>, &'a [u8; CRH_LEN]),
    /// The encoded key, and `tr` if it is known.
    Cold(&'a [u8], Option<&'a [u8; CRH_LEN]>),
}

/// What was signed.
#[derive(Clone, Copy)]
pub(crate) enum JobMessage<'a> {
    /// A finished `mu`.
    Mu(&'a [u8; CRH_LEN]),
    /// The pure form: a context of at most 255 bytes, and the message.
    Pure(&'a [u8], &'a [u8]),
}

/// One signature to verify.
#[derive(Clone, Copy)]
pub(crate) struct Job<'a> {
    pub(crate) key: JobKey<'a>,
    pub(crate) message: JobMessage<'a>,
    pub(crate) signature: &'a [u8],
}

/// Where the rows (A[i], -t1[i] 2^13) in NTT form come from.
pub(crate) enum VerifyRows<'a> {
    /// Expanded from the encoded key.
    Cold(PublicKeyParts<'a>),
    /// Expanded before.
    Prepared(Expansion<'a>),
}

impl<'a> Job<'a> {
    /// The checks that come before any hash: lengths and the hint.
    pub(crate) fn parse(
        &self,
        p: &Params,
    ) -> Result<(VerifyRows<'a>, SignatureParts<'a>), VerifyError> {
        let parts = SignatureParts::parse(p, self.signature)?;
        let rows = match self.key {
            JobKey::Prepared(rows, _) => VerifyRows::Prepared(rows),
            // Callers hold keys whose type has the length of its set.
            JobKey::Cold(encoded, _) => VerifyRows::Cold(
                PublicKeyParts::parse(p, encoded).map_err(|_| VerifyError::ChallengeMismatch)?,
            ),
        };
        Ok((rows, parts))
    }
}
