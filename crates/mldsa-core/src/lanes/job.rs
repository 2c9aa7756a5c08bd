//! What one verification is given. Public data, of one parameter set, which
//! whoever makes a [`Job`] holds beside it: the constructors of the types above
//! see to it that lengths agree.

use crate::coding::encode::{PublicKeyParts, SignatureParts};
use crate::coding::expansion::Expansion;
use crate::hash::transcript::{Context, Mu};
use crate::params::{CRH_LEN, Params};
use crate::sample::Challenge;

/// The key of one signature.
#[derive(Clone, Copy, Debug)]
pub(crate) enum JobKey<'a> {
    /// What the backend's `prepare` made, and `tr`.
    Prepared(Expansion<'a>, &'a [u8; CRH_LEN]),
    /// The encoded key, and `tr` if it is known.
    Encoded(PublicKeyParts<'a>, Option<&'a [u8; CRH_LEN]>),
}

/// What one signature signs.
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
    /// Of any length: a wrong one is a refusal.
    pub(crate) signature: &'a [u8],
}

impl<'a> Job<'a> {
    pub(crate) fn new(key: JobKey<'a>, message: JobMessage<'a>, signature: &'a [u8]) -> Self {
        Self {
            key,
            message,
            signature,
        }
    }
}

/// What a commitment is computed from beside the key.
pub(crate) struct CommitmentInputs<'a> {
    pub(crate) p: &'a Params,
    pub(crate) parts: &'a SignatureParts<'a>,
    pub(crate) c: &'a Challenge,
}
