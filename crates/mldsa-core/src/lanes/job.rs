//! Inputs of one verification. Public data. The parameter set is not part of [`Job`]: the
//! caller passes it separately, and the constructors of the public types ensure that
//! lengths agree.

use crate::coding::encode::{PublicKeyParts, SignatureParts};
use crate::coding::expansion::Expansion;
use crate::error::VerifyError;
use crate::hash::transcript::{Context, Mu};
use crate::params::{CRH_LEN, Params};
use crate::sample::Challenge;

/// The key of one signature.
#[derive(Clone, Copy, Debug)]
pub(crate) enum JobKey<'a> {
    /// The result of the backend's `prepare`, and `tr`.
    Prepared(Expansion<'a>, &'a [u8; CRH_LEN]),
    /// The encoded key, and `tr` if it is known.
    Encoded(PublicKeyParts<'a>, Option<&'a [u8; CRH_LEN]>),
}

/// Source of the message representative `mu`.
#[derive(Clone, Copy, Debug)]
pub enum JobMessage<'a> {
    /// A message under a context, the pure form.
    Pure(Context<'a>, &'a [u8]),
    /// An externally computed message representative.
    Mu(&'a Mu),
}

/// One signature to verify.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Job<'a> {
    pub(crate) key: JobKey<'a>,
    pub(crate) message: JobMessage<'a>,
    /// Of any length: a signature of a wrong length is rejected.
    pub(crate) signature: &'a [u8],
    /// Whether the hint of the signature was checked.
    pub(crate) decoded: bool,
}

impl<'a> Job<'a> {
    pub(crate) fn new(key: JobKey<'a>, message: JobMessage<'a>, signature: &'a [u8]) -> Self {
        Self {
            key,
            message,
            signature,
            decoded: false,
        }
    }

    /// Computes algorithm 27 of the signature, without its checks if it was decoded.
    ///
    /// # Errors
    /// As [`SignatureParts::parse`].
    #[inline(always)]
    pub(crate) fn parts(&self, p: &Params) -> Result<SignatureParts<'a>, VerifyError> {
        if self.decoded && self.signature.len() == p.sig_len() {
            return Ok(SignatureParts::of_decoded(p, self.signature));
        }
        SignatureParts::parse(p, self.signature)
    }
}

/// Inputs of a commitment other than the key.
pub(crate) struct CommitmentInputs<'a> {
    pub(crate) p: &'a Params,
    pub(crate) parts: &'a SignatureParts<'a>,
    pub(crate) c: &'a Challenge,
}
