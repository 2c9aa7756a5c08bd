//! Bytes of a certificate, in the ways that there are.

use mladsa_aggregate::Error;
use mldsa_core::{MlDsa65, MlDsa87, ParameterSet as _};
use serde::Serialize;

use crate::committee::plan;

/// An Ed25519 signature.
const ED25519: usize = 64;

/// What a certificate of `n` validators takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Price {
    /// Validators.
    pub validators: usize,
    /// More than two thirds of them, whose signatures a list has.
    pub quorum: usize,
    /// The list of Ed25519 signatures.
    pub ed25519: usize,
    /// The list of ML-DSA-65 signatures.
    pub ml_dsa_65: usize,
    /// The list of ML-DSA-87 signatures.
    pub ml_dsa_87: usize,
    /// The aggregate, for who holds the openings already.
    pub aggregate: usize,
    /// The openings of all, which everybody else needs besides.
    pub openings: usize,
}

impl Price {
    /// The price for `n` validators, all of whom sign the aggregate, in an epoch of so many
    /// checkpoints. Everything but the openings has a bit for each validator besides, and nothing
    /// has what was signed.
    ///
    /// # Errors
    /// [`Error`] for no checkpoints, or more than a tree has leaves for.
    pub fn new(n: usize, checkpoints: u64) -> Result<Self, Error> {
        let plan = plan(n, 1, checkpoints)?;
        let (quorum, bits) = (n * 2 / 3 + 1, n.div_ceil(8));
        Ok(Self {
            validators: n,
            quorum,
            ed25519: quorum * ED25519 + bits,
            ml_dsa_65: quorum * MlDsa65::SIG_LEN + bits,
            ml_dsa_87: quorum * MlDsa87::SIG_LEN + bits,
            aggregate: MlDsa87::SIG_LEN + bits,
            openings: n * plan.opening_len(),
        })
    }
}
