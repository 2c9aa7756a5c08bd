//! Sizes of certificates.

use mladsa_aggregate::Error;
use mldsa_core::{MlDsa65, MlDsa87, ParameterSet as _};
use serde::Serialize;

use crate::committee::plan;

/// Bytes of an Ed25519 signature.
const ED25519: usize = 64;

/// Bytes of the certificate of a committee in each format. All formats but the openings include
/// one bit per validator; none includes the signed message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct CertificateSize {
    /// Number of validators.
    pub validators: usize,
    /// More than two thirds of them: number of signatures in a list.
    pub quorum: usize,
    /// List of Ed25519 signatures.
    pub ed25519: usize,
    /// List of ML-DSA-65 signatures.
    pub ml_dsa_65: usize,
    /// List of ML-DSA-87 signatures.
    pub ml_dsa_87: usize,
    /// Aggregate, for a verifier that holds the openings.
    pub aggregate: usize,
    /// Openings of all members, needed by other verifiers in addition to the aggregate.
    pub openings: usize,
}

impl CertificateSize {
    /// Sizes for `n` validators that all sign, in an epoch of `checkpoints` checkpoints.
    ///
    /// # Errors
    /// [`Error`] for zero checkpoints, or more than a tree has leaves for.
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
