//! Message representatives made without a key, on the backend of this CPU.

use crate::backend::Backend;
#[cfg(feature = "hash-ml-dsa")]
use crate::hash::prehash::PreHashed;
#[cfg(feature = "hash-ml-dsa")]
use crate::hash::transcript::Mu;
use crate::hash::transcript::{Context, MuBuilder};
use crate::params::CRH_LEN;
#[cfg(feature = "hash-ml-dsa")]
use crate::params::ParameterSet;

impl MuBuilder {
    /// Starts the pure form, M' = 0x00 || |ctx| || ctx || M (FIPS 204 algorithms
    /// 2 and 3), for the key whose hash is `tr` (64 bytes).
    #[must_use]
    pub fn from_tr(tr: &[u8; CRH_LEN], ctx: Context<'_>) -> Self {
        Self::start(Backend::detect().permutation(), tr, 0, ctx)
    }
}

#[cfg(feature = "hash-ml-dsa")]
impl<P: ParameterSet> PreHashed<'_, P> {
    /// Computes `mu` over M' = 0x01 || |ctx| || ctx || OID || digest (algorithms
    /// 4 HashML-DSA.Sign and 5 HashML-DSA.Verify), for the key whose hash is `tr`.
    #[must_use]
    pub fn mu(&self, tr: &[u8; CRH_LEN], ctx: Context<'_>) -> Mu {
        self.mu_on(Backend::detect().permutation(), tr, ctx)
    }
}
