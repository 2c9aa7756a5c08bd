//! A private key kept ready to sign: A and the secrets in NTT form.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;

use zeroize::ZeroizeOnDrop;

use crate::backend::kernels::KernelTraces;
use crate::coding::encode::SecretKeyParts;
use crate::error::SignError;
#[cfg(feature = "hash-ml-dsa")]
use crate::hash::prehash::PreHashed;
use crate::hash::transcript::{Context, Hedge, Mu, MuBuilder};
use crate::keys::signature::Signature;
use crate::keys::signing::{SigningKey, sign_methods};
use crate::keys::verifying::VerifyingKey;
use crate::memory::array::Zeroed;
use crate::memory::secret::Secret;
use crate::params::{ParameterSet, SEED_LEN, T0_POLY_LEN};
use crate::ring::poly::NttPoly;
use crate::scheme::keygen::unpack_ntt;
use crate::scheme::sign::{Rejection, SigningMaterial, T0, sign_internal};

/// A private key with A, s1, s2 and t0 transformed: 28, 47 or 79 KiB on the
/// heap, wiped on drop. For keys that sign often.
pub struct PreparedSigningKey<P: ParameterSet> {
    // On the heap like the rest: moving the key leaves no copy of it.
    k_seed: Secret<Box<[u8; SEED_LEN]>>,
    a_hat: Box<[NttPoly]>,
    // s1, then s2, then t0
    secrets: Secret<Box<[NttPoly]>>,
    verifying_key: VerifyingKey<P>,
    self_verification: bool,
}

fn zeros(len: usize) -> Box<[NttPoly]> {
    let mut polys = Vec::with_capacity(len);
    polys.resize_with(len, NttPoly::zeroed);
    polys.into_boxed_slice()
}

impl<P: ParameterSet> SigningKey<P> {
    /// Expands and transforms once, for a key that signs often.
    ///
    /// Stack: row prepare to sign of the [crate's table](crate#stack).
    pub fn prepare(&self) -> PreparedSigningKey<P> {
        let p = &P::PARAMS;
        let verifying_key = self.verifying_key().clone();
        let backend = verifying_key.backend();
        let _traces: KernelTraces = KernelTraces(backend);
        let parts = SecretKeyParts::of::<P>(self.expanded());
        let mut key = PreparedSigningKey {
            k_seed: Secret::new(Box::new([0; SEED_LEN])),
            a_hat: zeros(p.k * p.l),
            secrets: Secret::new(zeros(p.l + 2 * p.k)),
            verifying_key,
            self_verification: self.self_verification(),
        };
        key.k_seed.expose_mut().copy_from_slice(parts.k_seed);
        (backend.kernels().expand_a)(parts.rho, p.l, 0, &mut key.a_hat);
        let (s1_hat, rest) = key.secrets.expose_mut().split_at_mut(p.l);
        let (s2_hat, t0_hat) = rest.split_at_mut(p.k);
        unpack_ntt(backend, p, parts.s1, s1_hat);
        unpack_ntt(backend, p, parts.s2, s2_hat);
        for (packed, t0_hat) in parts.t0.chunks_exact(T0_POLY_LEN).zip(t0_hat) {
            (backend.kernels().unpack_t0_ntt)(packed, t0_hat);
        }
        key
    }
}

impl<P: ParameterSet> PreparedSigningKey<P> {
    /// The public key.
    pub fn verifying_key(&self) -> &VerifyingKey<P> {
        &self.verifying_key
    }

    pub(crate) fn sign_mu_observed(
        &self,
        mu: &Mu,
        hedge: Hedge<'_>,
        out: &mut [u8],
        observe: &mut dyn FnMut(Rejection),
    ) -> Result<(), SignError> {
        let (s1_hat, rest) = self.secrets.expose().split_at(P::L);
        let (s2_hat, t0_hat) = rest.split_at(P::K);
        let material = SigningMaterial {
            k_seed: self.k_seed.expose(),
            a_hat: &self.a_hat,
            s1_hat,
            s2_hat,
            t0: T0::Transformed(t0_hat),
        };
        sign_internal::<P>(
            self.verifying_key.backend(),
            &material,
            mu,
            hedge.rnd(),
            out,
            observe,
        )?;
        self.verifying_key.release(self.self_verification, mu, out)
    }

    sign_methods!();
}

impl<P: ParameterSet> ZeroizeOnDrop for PreparedSigningKey<P> {}

impl<P: ParameterSet> fmt::Debug for PreparedSigningKey<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PreparedSigningKey({}, ..)", P::NAME)
    }
}
