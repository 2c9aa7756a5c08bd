//! Private keys kept ready to sign, A and the secrets in NTT form: on the heap, in
//! caller memory.

use core::fmt;

use zeroize::ZeroizeOnDrop;

use crate::backend::Backend;
use crate::coding::encode::SecretKeyParts;
use crate::error::SignError;
#[cfg(all(feature = "alloc", feature = "hash-ml-dsa"))]
use crate::hash::prehash::PreHashed;
#[cfg(feature = "alloc")]
use crate::hash::transcript::Context;
use crate::hash::transcript::{Mu, Randomness};
#[cfg(feature = "alloc")]
use crate::keys::prepared_verifying::PreparedVerifyingKey;
use crate::keys::sign_into::SignInto;
#[cfg(feature = "alloc")]
use crate::keys::sign_into::signature;
#[cfg(feature = "alloc")]
use crate::keys::signature::Signature;
use crate::keys::signing::SigningKey;
use crate::keys::verifying::VerifyingKey;
use crate::lanes::job::JobKey;
use crate::memory::array::{Zeroed, sealed};
use crate::memory::secret::Secret;
#[cfg(feature = "alloc")]
use crate::params::SEED_LEN;
use crate::params::{ParameterSet, T0_POLY_LEN};
use crate::ring::poly::NttPoly;
use crate::scheme::keygen::unpack_ntt;
#[cfg(feature = "alloc")]
use crate::scheme::seal::{Checksum, Seal, Secrets, checksum};
use crate::scheme::sign::{AttemptRejection, Rows, SigningMaterial, sign_internal};
use crate::scheme::verify::release;
use crate::scheme::zeroize_kernels::ZeroizeKernelState;

/// Memory for [`SigningKey::prepare_in`]: 28, 47 or 79 KiB. Holds secrets from then on;
/// wiped on drop, and overwritten by the next key.
pub struct PreparedSigningKeyStorage<P: ParameterSet> {
    a_hat: P::Matrix<NttPoly>,
    s_hat: Secret<P::Secrets<NttPoly>>,
    t0_hat: Secret<P::Rows<NttPoly>>,
}

impl<P: ParameterSet> PreparedSigningKeyStorage<P> {
    /// Bytes: 28672, 48128 or 80896.
    pub const LEN: usize = core::mem::size_of::<Self>();

    /// Creates zeros.
    #[must_use]
    pub fn new() -> Self {
        Self {
            a_hat: P::Matrix::zeroed(),
            s_hat: Secret::zeroed(),
            t0_hat: Secret::zeroed(),
        }
    }
}

impl<P: ParameterSet> Default for PreparedSigningKeyStorage<P> {
    fn default() -> Self {
        Self::new()
    }
}

impl<P: ParameterSet> ZeroizeOnDrop for PreparedSigningKeyStorage<P> {}

impl<P: ParameterSet> fmt::Debug for PreparedSigningKeyStorage<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PreparedSigningKeyStorage({}, ..)", P::NAME)
    }
}

/// A private key with A, s1, s2 and t0 transformed, wherever they are.
#[derive(Clone, Copy)]
pub struct PreparedSigningKeyRef<'a, P: ParameterSet> {
    pub(crate) material: SigningMaterial<'a>,
    pub(super) verifying_key: &'a VerifyingKey<P>,
    /// The key with which signatures are verified before they are released, on the backend of the
    /// verifying key.
    pub(super) verify_with: Option<JobKey<'a>>,
}

impl<'a, P: ParameterSet> PreparedSigningKeyRef<'a, P> {
    /// Returns the public key.
    #[must_use]
    pub fn verifying_key(&self) -> &'a VerifyingKey<P> {
        self.verifying_key
    }

    /// Returns the key with which `backend` verifies signatures before they are released: an
    /// expansion has the order of its own backend.
    pub(super) fn verify_with(&self, backend: Backend) -> Option<JobKey<'a>> {
        let is_own = backend == self.verifying_key.backend();
        self.verify_with.map(|key| {
            if is_own {
                key
            } else {
                self.verifying_key.job_key()
            }
        })
    }
}

impl<P: ParameterSet> sealed::Sealed for PreparedSigningKeyRef<'_, P> {}

impl<P: ParameterSet> SignInto<P> for PreparedSigningKeyRef<'_, P> {
    fn public_key(&self) -> &VerifyingKey<P> {
        self.verifying_key
    }

    fn is_self_verifying(&self) -> bool {
        self.verify_with.is_some()
    }

    fn sign_mu_observed(
        &self,
        mu: &Mu,
        randomness: Randomness<'_>,
        out: &mut [u8],
        observe: &mut dyn FnMut(AttemptRejection),
    ) -> Result<(), SignError> {
        let backend = self.verifying_key.backend();
        let (inputs, check) = ((mu, randomness.rnd()), self.verify_with.is_some());
        sign_internal::<P>(backend, &self.material, inputs, check, out, observe)?;
        release::<P>(backend, self.verify_with, None, mu, out)
    }
}

impl<P: ParameterSet> fmt::Debug for PreparedSigningKeyRef<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PreparedSigningKeyRef({}, ..)", P::NAME)
    }
}

/// A private key with A, s1, s2 and t0 transformed: 28, 47 or 79 KiB on the
/// heap, wiped on drop. For keys that sign often. With self-verification it has the
/// [`PreparedVerifyingKey`] too, of 20, 36 or 64 KiB.
#[cfg(feature = "alloc")]
pub struct PreparedSigningKey<P: ParameterSet> {
    // On the heap like the rest: moving the key leaves no copy of it.
    k_seed: Secret<alloc::boxed::Box<[u8; SEED_LEN]>>,
    a_hat: alloc::boxed::Box<[NttPoly]>,
    // s1, then s2, then t0
    secrets: Secret<alloc::boxed::Box<[NttPoly]>>,
    checksum: Checksum,
    verifying_key: VerifyingKey<P>,
    verify_with: Option<PreparedVerifyingKey<P>>,
}

#[cfg(feature = "alloc")]
fn zeros(len: usize) -> alloc::boxed::Box<[NttPoly]> {
    let mut polys = alloc::vec::Vec::with_capacity(len);
    polys.resize_with(len, NttPoly::zeroed);
    polys.into_boxed_slice()
}

impl<P: ParameterSet> SigningKey<P> {
    /// Expands and transforms once, for a key that signs often.
    #[cfg(feature = "alloc")]
    pub fn prepare(&self) -> PreparedSigningKey<P> {
        let mut key = PreparedSigningKey {
            k_seed: Secret::new(alloc::boxed::Box::new([0; SEED_LEN])),
            a_hat: zeros(P::K * P::L),
            secrets: Secret::new(zeros(P::L + 2 * P::K)),
            checksum: Secret::zeroed(),
            verifying_key: self.verifying_key().clone(),
            verify_with: (self.self_verification()).then(|| self.verifying_key().prepare()),
        };
        let k_seed = SecretKeyParts::of::<P>(self.expanded()).k_seed;
        key.k_seed.expose_mut().copy_from_slice(k_seed);
        let (s_hat, t0_hat) = key.secrets.expose_mut().split_at_mut(P::L + P::K);
        self.transform(&mut key.a_hat, s_hat, t0_hat);
        // The checksum is of K before the copy. A key that a fault has changed gets none that fits.
        let secrets = Secrets::Transformed([&s_hat[..P::L], &s_hat[P::L..]]);
        checksum(
            k_seed,
            self.verifying_key().tr(),
            secrets,
            &mut key.checksum,
        );
        key.checksum.expose_mut()[0] ^= u64::from(self.seal().difference(k_seed));
        key
    }

    /// Expands and transforms into caller memory: preparation without a heap.
    pub fn prepare_in<'a>(
        &'a self,
        memory: &'a mut PreparedSigningKeyStorage<P>,
    ) -> PreparedSigningKeyRef<'a, P> {
        let s_hat = memory.s_hat.expose_mut().as_mut();
        let t0_hat = memory.t0_hat.expose_mut().as_mut();
        self.transform(memory.a_hat.as_mut(), s_hat, t0_hat);
        let (s1_hat, s2_hat) = memory.s_hat.expose().as_ref().split_at(P::L);
        PreparedSigningKeyRef {
            material: SigningMaterial {
                k_seed: SecretKeyParts::of::<P>(self.expanded()).k_seed,
                a_hat: memory.a_hat.as_ref(),
                s1: Rows::Transformed(s1_hat),
                s2_hat,
                t0: Rows::Transformed(memory.t0_hat.expose().as_ref()),
                seal: Some(self.seal()),
            },
            verifying_key: self.verifying_key(),
            verify_with: (self.self_verification()).then(|| self.verifying_key().job_key()),
        }
    }

    /// A, s1 and s2, and t0, transformed.
    fn transform(&self, a_hat: &mut [NttPoly], s_hat: &mut [NttPoly], t0_hat: &mut [NttPoly]) {
        let p = &P::PARAMS;
        let backend = self.verifying_key().backend();
        let _zeroize = ZeroizeKernelState::<3_072>(backend);
        let parts = SecretKeyParts::of::<P>(self.expanded());
        (backend.kernels().expand_a)(parts.rho, p.l, 0, a_hat);
        let (s1_hat, s2_hat) = s_hat.split_at_mut(p.l);
        unpack_ntt(backend, p, parts.s1, s1_hat);
        unpack_ntt(backend, p, parts.s2, s2_hat);
        for (packed, t0_hat) in parts.t0.chunks_exact(T0_POLY_LEN).zip(t0_hat) {
            (backend.kernels().unpack_t0_ntt)(packed, t0_hat);
        }
    }
}

#[cfg(feature = "alloc")]
impl<P: ParameterSet> PreparedSigningKey<P> {
    /// Returns the public key.
    pub fn verifying_key(&self) -> &VerifyingKey<P> {
        &self.verifying_key
    }

    /// Returns the borrowed form.
    pub fn as_prepared_ref(&self) -> PreparedSigningKeyRef<'_, P> {
        let rows = self.secrets.expose();
        // Slices, because the second of two splits is compiled to a comparison of signed numbers.
        let (s1_hat, s2_hat) = (&rows[..P::L], &rows[P::L..P::L + P::K]);
        let t0_hat = &rows[P::L + P::K..];
        PreparedSigningKeyRef {
            material: SigningMaterial {
                k_seed: self.k_seed.expose(),
                a_hat: &self.a_hat,
                s1: Rows::Transformed(s1_hat),
                s2_hat,
                t0: Rows::Transformed(t0_hat),
                seal: Some(Seal {
                    checksum: &self.checksum,
                    tr: self.verifying_key.tr(),
                    secrets: Secrets::Transformed([s1_hat, s2_hat]),
                }),
            },
            verifying_key: &self.verifying_key,
            verify_with: (self.verify_with.as_ref()).map(|key| key.as_prepared_ref().job_key()),
        }
    }

    /// Signs `message`: the bytes of [`SigningKey::sign_with_context`].
    ///
    /// # Errors
    /// [`SignError::AttemptsExhausted`], [`SignError::SelfVerification`].
    pub fn sign_with_context(
        &self,
        message: &[u8],
        context: Context<'_>,
        randomness: Randomness<'_>,
    ) -> Result<Signature<P>, SignError> {
        signature(|out| self.sign_into(message, context, randomness, out))
    }

    /// Signs as [`SigningKey::sign_hedged`] does.
    ///
    /// # Errors
    /// [`SignError::Rng`] if the generator fails, and those of [`Self::sign_with_context`].
    #[cfg(all(
        feature = "getrandom",
        not(all(target_family = "wasm", target_os = "unknown"))
    ))]
    pub fn sign_hedged(
        &self,
        message: &[u8],
        context: Context<'_>,
    ) -> Result<Signature<P>, SignError> {
        crate::keys::signing::hedged(&mut getrandom::SysRng, |randomness| {
            self.sign_with_context(message, context, randomness)
        })
    }

    /// Signs as [`SigningKey::sign_mu`] does.
    ///
    /// # Errors
    /// As [`Self::sign_with_context`].
    pub fn sign_mu(&self, mu: &Mu, randomness: Randomness<'_>) -> Result<Signature<P>, SignError> {
        signature(|out| self.sign_mu_into(mu, randomness, out))
    }

    /// Signs as [`SigningKey::sign_prehashed`] does.
    ///
    /// # Errors
    /// As [`Self::sign_with_context`].
    #[cfg(feature = "hash-ml-dsa")]
    pub fn sign_prehashed(
        &self,
        digest: &PreHashed<'_, P>,
        context: Context<'_>,
        randomness: Randomness<'_>,
    ) -> Result<Signature<P>, SignError> {
        signature(|out| self.sign_prehashed_into(digest, context, randomness, out))
    }
}

/// Memory in which a test makes faults: K, `tr` of the public key, s1 and s2.
#[cfg(all(test, feature = "alloc"))]
impl<P: ParameterSet> PreparedSigningKey<P> {
    #[allow(dead_code, reason = "not on targets with one backend")]
    pub(crate) fn memory(&mut self) -> (&mut [u8; SEED_LEN], &mut [u8; 64], &mut [NttPoly]) {
        let (k_seed, secrets) = (self.k_seed.expose_mut(), self.secrets.expose_mut());
        (k_seed, &mut self.verifying_key.tr, secrets)
    }
}

#[cfg(feature = "alloc")]
impl<P: ParameterSet> sealed::Sealed for PreparedSigningKey<P> {}

#[cfg(feature = "alloc")]
impl<P: ParameterSet> SignInto<P> for PreparedSigningKey<P> {
    fn public_key(&self) -> &VerifyingKey<P> {
        &self.verifying_key
    }

    fn is_self_verifying(&self) -> bool {
        self.verify_with.is_some()
    }

    fn sign_mu_observed(
        &self,
        mu: &Mu,
        randomness: Randomness<'_>,
        out: &mut [u8],
        observe: &mut dyn FnMut(AttemptRejection),
    ) -> Result<(), SignError> {
        let key = self.as_prepared_ref();
        key.sign_mu_observed(mu, randomness, out, observe)
    }
}

#[cfg(feature = "alloc")]
impl<P: ParameterSet> ZeroizeOnDrop for PreparedSigningKey<P> {}

#[cfg(feature = "alloc")]
impl<P: ParameterSet> fmt::Debug for PreparedSigningKey<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PreparedSigningKey({}, ..)", P::NAME)
    }
}
