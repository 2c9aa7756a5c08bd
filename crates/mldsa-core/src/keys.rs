//! The public types: keys and signatures whose possession means that they were
//! checked.

#[cfg(feature = "alloc")]
pub(crate) mod prepared;

use core::fmt;
use core::hash::{Hash, Hasher};
use core::marker::PhantomData;

use subtle::{Choice, ConstantTimeEq};
use zeroize::ZeroizeOnDrop;

use crate::backend::Backend;
use crate::coding::encode::{PublicKeyParts, SecretKeyParts};
use crate::coding::expansion::Expansion;
use crate::error::{KeyError, SignError, VerifyError};
#[cfg(feature = "hash-ml-dsa")]
use crate::hash::prehash::PreHashed;
use crate::hash::transcript::{self, Context, Hedge, Mu, MuBuilder};
use crate::lanes::job::{Job, JobKey, JobMessage};
use crate::memory::array::{Wipe, Zeroed};
use crate::memory::secret::Secret;
use crate::params::{CRH_LEN, ParameterSet, SEED_LEN};
use crate::ring::poly::NttPoly;
use crate::scheme::keygen::{check_expanded, keygen_internal};
use crate::scheme::sign::{Rejection, sign_expanded};
use crate::scheme::verify::{check_signature, verify_one, verify_row};

/// The verification calls, the same on every kind of verifying key.
macro_rules! verify_methods {
    () => {
        /// Verifies a signature over `message` (FIPS 204 algorithm 3 ML-DSA.Verify).
        ///
        /// Stack: row verify of the [crate's table](crate#stack).
        ///
        /// # Errors
        /// Every [`VerifyError`], in the order of its variants. Never panics.
        pub fn verify(
            &self,
            message: &[u8],
            ctx: Context<'_>,
            signature: &[u8],
        ) -> Result<(), VerifyError> {
            self.verify_job(JobMessage::Pure(ctx.as_bytes(), message), signature)
        }

        /// Verifies a signature over an externally computed `mu`.
        ///
        /// Stack: row verify of the [crate's table](crate#stack).
        ///
        /// # Errors
        /// Every [`VerifyError`], in the order of its variants. Never panics.
        pub fn verify_mu(&self, mu: &Mu, signature: &[u8]) -> Result<(), VerifyError> {
            self.verify_job(JobMessage::Mu(mu.as_bytes()), signature)
        }

        fn verify_job(&self, message: JobMessage<'_>, signature: &[u8]) -> Result<(), VerifyError> {
            let key = self.job_key();
            verify_one::<P>(
                self.backend,
                Job {
                    key,
                    message,
                    signature,
                },
            )
        }

        /// Verifies a HashML-DSA signature over a digest (FIPS 204 algorithm 5).
        ///
        /// Stack: row verify of the [crate's table](crate#stack).
        ///
        /// # Errors
        /// Every [`VerifyError`], in the order of its variants. Never panics.
        #[cfg(feature = "hash-ml-dsa")]
        pub fn verify_prehashed(
            &self,
            digest: &PreHashed<'_, P>,
            ctx: Context<'_>,
            signature: &[u8],
        ) -> Result<(), VerifyError> {
            self.verify_mu(&digest.mu(self.tr(), ctx), signature)
        }
    };
}

/// The signing calls, the same on every kind of signing key.
macro_rules! sign_methods {
    () => {
        /// Signs `message` (FIPS 204 algorithm 2 ML-DSA.Sign).
        ///
        /// Stack: row sign of the [crate's table](crate#stack).
        ///
        /// # Errors
        /// [`SignError::AttemptsExhausted`], [`SignError::SelfVerification`].
        pub fn sign(
            &self,
            message: &[u8],
            ctx: Context<'_>,
            hedge: Hedge<'_>,
        ) -> Result<Signature<P>, SignError> {
            let key = self.verifying_key();
            let mut mu = MuBuilder::start(key.backend(), key.tr(), 0, ctx);
            mu.update(message);
            self.sign_mu(&mu.finish(), hedge)
        }

        /// [`Self::sign`] into a buffer of exactly `SIG_LEN` bytes, which holds no
        /// part of a signature after an error.
        ///
        /// Stack: row sign of the [crate's table](crate#stack).
        ///
        /// # Errors
        /// [`SignError::BufferLength`] and those of [`Self::sign`].
        pub fn sign_into(
            &self,
            message: &[u8],
            ctx: Context<'_>,
            hedge: Hedge<'_>,
            out: &mut [u8],
        ) -> Result<(), SignError> {
            let key = self.verifying_key();
            let mut mu = MuBuilder::start(key.backend(), key.tr(), 0, ctx);
            mu.update(message);
            self.sign_mu_into(&mu.finish(), hedge, out)
        }

        /// Signs a digest (FIPS 204 algorithm 4, HashML-DSA).
        ///
        /// Stack: row sign of the [crate's table](crate#stack).
        ///
        /// # Errors
        /// As [`Self::sign`].
        #[cfg(feature = "hash-ml-dsa")]
        pub fn sign_prehashed(
            &self,
            digest: &PreHashed<'_, P>,
            ctx: Context<'_>,
            hedge: Hedge<'_>,
        ) -> Result<Signature<P>, SignError> {
            self.sign_mu(&digest.mu(self.verifying_key().tr(), ctx), hedge)
        }

        /// [`Self::sign_prehashed`] into a buffer of exactly `SIG_LEN` bytes.
        ///
        /// Stack: row sign of the [crate's table](crate#stack).
        ///
        /// # Errors
        /// As [`Self::sign_into`].
        #[cfg(feature = "hash-ml-dsa")]
        pub fn sign_prehashed_into(
            &self,
            digest: &PreHashed<'_, P>,
            ctx: Context<'_>,
            hedge: Hedge<'_>,
            out: &mut [u8],
        ) -> Result<(), SignError> {
            self.sign_mu_into(&digest.mu(self.verifying_key().tr(), ctx), hedge, out)
        }

        /// Signs an externally computed message representative.
        ///
        /// Stack: row sign of the [crate's table](crate#stack).
        ///
        /// # Errors
        /// As [`Self::sign`].
        pub fn sign_mu(&self, mu: &Mu, hedge: Hedge<'_>) -> Result<Signature<P>, SignError> {
            let mut signature = Signature::<P>(P::SignatureBytes::zeroed());
            self.sign_mu_into(mu, hedge, signature.0.as_mut())?;
            Ok(signature)
        }

        /// [`Self::sign_mu`] into a buffer of exactly `SIG_LEN` bytes.
        ///
        /// Stack: row sign of the [crate's table](crate#stack).
        ///
        /// # Errors
        /// As [`Self::sign_into`].
        pub fn sign_mu_into(
            &self,
            mu: &Mu,
            hedge: Hedge<'_>,
            out: &mut [u8],
        ) -> Result<(), SignError> {
            self.sign_mu_observed(mu, hedge, out, &mut |_| {})
        }

        /// Signs `message` hedged with 32 bytes from `rng`: the default way to
        /// sign where there is a generator.
        ///
        /// Stack: row sign of the [crate's table](crate#stack).
        ///
        /// # Errors
        /// [`SignError::Rng`] and those of [`Self::sign`].
        #[cfg(feature = "rand_core")]
        pub fn sign_with_rng<R: rand_core::TryCryptoRng + ?Sized>(
            &self,
            message: &[u8],
            ctx: Context<'_>,
            rng: &mut R,
        ) -> Result<Signature<P>, SignError> {
            let mut rnd = Secret::<[u8; SEED_LEN]>::zeroed();
            rng.try_fill_bytes(rnd.expose_mut())
                .map_err(|_| SignError::Rng)?;
            self.sign(message, ctx, Hedge::Bytes(rnd.expose()))
        }
    };
}
#[cfg(feature = "alloc")]
pub(crate) use sign_methods;

/// A public key: its encoding and `tr`, 64 bytes. Small; A is expanded again
/// for every verification ([`Self::prepare`] keeps it).
#[derive(Clone)]
pub struct VerifyingKey<P: ParameterSet> {
    encoded: P::PublicKeyBytes,
    tr: [u8; CRH_LEN],
    backend: Backend,
}

impl<P: ParameterSet> VerifyingKey<P> {
    /// Reads an encoded key (FIPS 204 algorithm 23). Every string of `PK_LEN`
    /// bytes is a valid key: t1 has no invalid code words.
    ///
    /// # Errors
    /// [`KeyError::Length`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, KeyError> {
        PublicKeyParts::parse(&P::PARAMS, bytes)?;
        let backend = Backend::detect();
        let mut key = Self {
            encoded: P::PublicKeyBytes::zeroed(),
            tr: transcript::tr(backend, bytes),
            backend,
        };
        key.encoded.as_mut().copy_from_slice(bytes);
        Ok(key)
    }

    /// The encoding, `PK_LEN` bytes.
    pub fn as_bytes(&self) -> &P::PublicKeyBytes {
        &self.encoded
    }

    /// `tr = H(pk, 64)`, which starts every `mu`.
    pub fn tr(&self) -> &[u8; CRH_LEN] {
        &self.tr
    }

    /// The backend in use.
    pub fn backend(&self) -> Backend {
        self.backend
    }

    /// The same key on a chosen backend. Verdicts do not change.
    #[must_use]
    pub fn with_backend(mut self, backend: Backend) -> Self {
        self.backend = backend;
        self
    }

    pub(crate) fn job_key(&self) -> JobKey<'_> {
        JobKey::Cold(self.encoded.as_ref(), Some(&self.tr))
    }

    verify_methods!();

    fn prepare_rows(&self, rows: &mut [NttPoly]) {
        let p = &P::PARAMS;
        if let Ok(pk) = PublicKeyParts::parse(p, self.encoded.as_ref()) {
            if let Some(prepare) = self.backend.kernels().prepare {
                return prepare(p, &pk, rows);
            }
            for (i, row) in rows.chunks_exact_mut(p.l + 1).enumerate() {
                verify_row(self.backend, p, &pk, i, row);
            }
        }
    }

    /// Expands A and t1 into caller memory: allocation-free preparation.
    ///
    /// Stack: row prepare of the [crate's table](crate#stack).
    pub fn prepare_in<'a>(
        &'a self,
        memory: &'a mut PreparedMemory<P>,
    ) -> PreparedVerifyingKeyRef<'a, P> {
        self.prepare_rows(memory.0.as_mut());
        PreparedVerifyingKeyRef {
            rows: Expansion::Wide(memory.0.as_ref()),
            tr: &self.tr,
            backend: self.backend,
            set: PhantomData,
        }
    }

    /// Expands A and t1 once, for a key that verifies often: 20, 36 or 64 KiB on
    /// the heap. Pays from the second signature on.
    ///
    /// Stack: row prepare of the [crate's table](crate#stack).
    #[cfg(feature = "alloc")]
    pub fn prepare(&self) -> PreparedVerifyingKey<P> {
        let len = P::K * (P::L + 1);
        let mut rows = alloc::vec::Vec::with_capacity(len);
        rows.resize_with(len, NttPoly::zeroed);
        self.prepare_rows(&mut rows);
        PreparedVerifyingKey {
            rows: rows.into_boxed_slice(),
            tr: self.tr,
            backend: self.backend,
            set: PhantomData,
        }
    }
}

/// Prepared keys side by side in one arena of the caller's.
#[cfg(feature = "hazmat")]
impl<P: ParameterSet> VerifyingKey<P> {
    /// Polynomials of one prepared key: 20, 36 or 64.
    pub const PREPARED_POLYS: usize = P::K * (P::L + 1);

    /// Expands A and t1 into `polys`; false, and nothing written, unless there
    /// are [`Self::PREPARED_POLYS`] of them.
    pub fn prepare_polys(&self, polys: &mut [NttPoly]) -> bool {
        let fits = polys.len() == Self::PREPARED_POLYS;
        if fits {
            self.prepare_rows(polys);
        }
        fits
    }

    /// The prepared key with that expansion; `None` unless it has
    /// [`Self::PREPARED_POLYS`] polynomials. They must come from
    /// [`Self::prepare_polys`] of an equal key on the same backend, packed or not:
    /// nothing here can check that, and verdicts are wrong otherwise.
    pub fn prepared_at<'a>(
        &'a self,
        rows: Expansion<'a>,
    ) -> Option<PreparedVerifyingKeyRef<'a, P>> {
        (rows.len() == Self::PREPARED_POLYS).then_some(PreparedVerifyingKeyRef {
            rows,
            tr: &self.tr,
            backend: self.backend,
            set: PhantomData,
        })
    }
}

impl<P: ParameterSet> PartialEq for VerifyingKey<P> {
    fn eq(&self, other: &Self) -> bool {
        self.encoded == other.encoded
    }
}

impl<P: ParameterSet> Eq for VerifyingKey<P> {}

impl<P: ParameterSet> Hash for VerifyingKey<P> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.encoded.as_ref().hash(state);
    }
}

impl<P: ParameterSet> AsRef<[u8]> for VerifyingKey<P> {
    fn as_ref(&self) -> &[u8] {
        self.encoded.as_ref()
    }
}

impl<P: ParameterSet> fmt::Debug for VerifyingKey<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "VerifyingKey({}, tr ", P::NAME)?;
        self.tr[..8]
            .iter()
            .try_for_each(|byte| write!(f, "{byte:02x}"))?;
        f.write_str("..)")
    }
}

/// Memory for [`VerifyingKey::prepare_in`]: 20, 36 or 64 KiB, for a static or a
/// caller's arena.
#[derive(Debug)]
pub struct PreparedMemory<P: ParameterSet>(P::VerifyMatrix<NttPoly>);

impl<P: ParameterSet> PreparedMemory<P> {
    /// Zeros, as a constant: can initialise a static.
    pub const ZERO: Self = Self(<P::VerifyMatrix<NttPoly> as Zeroed>::ZEROED);
    /// Bytes: 20480, 36864 or 65536.
    pub const LEN: usize = core::mem::size_of::<Self>();
}

/// A public key with A and t1 expanded, on the heap. Made only from a
/// [`VerifyingKey`], so it is always the expansion of an encoded key.
#[cfg(feature = "alloc")]
pub struct PreparedVerifyingKey<P: ParameterSet> {
    rows: alloc::boxed::Box<[NttPoly]>,
    tr: [u8; CRH_LEN],
    backend: Backend,
    set: PhantomData<P>,
}

#[cfg(feature = "alloc")]
impl<P: ParameterSet> PreparedVerifyingKey<P> {
    /// `tr = H(pk, 64)`.
    pub fn tr(&self) -> &[u8; CRH_LEN] {
        &self.tr
    }

    /// The borrowed form.
    pub fn as_prepared_ref(&self) -> PreparedVerifyingKeyRef<'_, P> {
        PreparedVerifyingKeyRef {
            rows: Expansion::Wide(&self.rows),
            tr: &self.tr,
            backend: self.backend,
            set: PhantomData,
        }
    }

    /// Bytes held, on the heap and in the value itself.
    pub fn memory_bytes(&self) -> usize {
        core::mem::size_of_val(&*self.rows) + core::mem::size_of::<Self>()
    }

    /// The backend whose order the expansion has.
    pub fn backend(&self) -> Backend {
        self.backend
    }

    fn job_key(&self) -> JobKey<'_> {
        JobKey::Prepared(Expansion::Wide(&self.rows), &self.tr)
    }

    verify_methods!();
}

#[cfg(feature = "alloc")]
impl<P: ParameterSet> fmt::Debug for PreparedVerifyingKey<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PreparedVerifyingKey({})", P::NAME)
    }
}

/// A public key expanded in caller memory.
#[derive(Clone, Copy)]
pub struct PreparedVerifyingKeyRef<'a, P: ParameterSet> {
    rows: Expansion<'a>,
    tr: &'a [u8; CRH_LEN],
    backend: Backend,
    set: PhantomData<P>,
}

impl<'a, P: ParameterSet> PreparedVerifyingKeyRef<'a, P> {
    /// `tr = H(pk, 64)`.
    pub fn tr(&self) -> &[u8; CRH_LEN] {
        self.tr
    }

    /// The backend whose order the expansion has.
    pub fn backend(&self) -> Backend {
        self.backend
    }

    pub(crate) fn job_key(&self) -> JobKey<'a> {
        JobKey::Prepared(self.rows, self.tr)
    }

    verify_methods!();
}

impl<P: ParameterSet> fmt::Debug for PreparedVerifyingKeyRef<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PreparedVerifyingKeyRef({})", P::NAME)
    }
}

/// A private key: the 32-byte seed where it is known, the expanded encoding and
/// the public key. 4.0, 6.2 or 7.7 kB by value; wiped on drop; not `Clone`.
pub struct SigningKey<P: ParameterSet> {
    seed: Secret<[u8; SEED_LEN]>,
    has_seed: bool,
    expanded: Secret<P::SecretKeyBytes>,
    verifying_key: VerifyingKey<P>,
    self_verification: bool,
}

impl<P: ParameterSet> SigningKey<P> {
    #[inline]
    fn empty() -> Self {
        Self {
            seed: Secret::zeroed(),
            has_seed: false,
            expanded: Secret::zeroed(),
            verifying_key: VerifyingKey {
                encoded: P::PublicKeyBytes::zeroed(),
                tr: [0; CRH_LEN],
                backend: Backend::detect(),
            },
            self_verification: false,
        }
    }

    /// Key generation from the 32-byte seed xi (FIPS 204 algorithm 6): the seed
    /// is the private key, and must come from a generator of the set's strength.
    ///
    /// Stack: row keygen of the [crate's table](crate#stack).
    pub fn from_seed(xi: &[u8; SEED_LEN]) -> Self {
        let mut key = Self::empty();
        key.set_seed(xi);
        key
    }

    fn set_seed(&mut self, xi: &[u8; SEED_LEN]) {
        *self.seed.expose_mut() = *xi;
        self.has_seed = true;
        let vk = &mut self.verifying_key;
        keygen_internal::<P>(vk.backend, xi, &mut vk.encoded, self.expanded.expose_mut());
        // Key generation has just hashed the public key.
        if let Ok(parts) = SecretKeyParts::parse(&P::PARAMS, self.expanded.expose().as_ref()) {
            vk.tr = *parts.tr;
        }
    }

    /// Generates a key with the operating system's generator (FIPS 204 algorithm
    /// 1).
    ///
    /// Stack: row keygen of the [crate's table](crate#stack).
    ///
    /// # Errors
    /// [`RngError`](crate::RngError) if the generator fails.
    #[cfg(feature = "getrandom")]
    pub fn generate() -> Result<Self, crate::error::RngError> {
        Self::generate_with_rng(&mut getrandom::SysRng)
    }

    /// Generates a key with `rng` (FIPS 204 algorithm 1 ML-DSA.KeyGen).
    ///
    /// Stack: row keygen of the [crate's table](crate#stack).
    ///
    /// # Errors
    /// [`RngError`](crate::RngError) if the generator fails.
    #[cfg(feature = "rand_core")]
    pub fn generate_with_rng<R: rand_core::TryCryptoRng + ?Sized>(
        rng: &mut R,
    ) -> Result<Self, crate::error::RngError> {
        let mut xi = Secret::<[u8; SEED_LEN]>::zeroed();
        rng.try_fill_bytes(xi.expose_mut())
            .map_err(|_| crate::error::RngError::Failed)?;
        Ok(Self::from_seed(xi.expose()))
    }

    /// Imports an expanded private key (FIPS 204 algorithm 25) with every check:
    /// s1 and s2 in range, t0 and `tr` recomputed and compared. Costs a key
    /// generation. The seed of such a key is not known.
    ///
    /// Stack: row import of the [crate's table](crate#stack).
    ///
    /// # Errors
    /// Every [`KeyError`].
    pub fn from_expanded(sk: &[u8]) -> Result<Self, KeyError> {
        let mut key = Self::empty();
        let vk = &mut key.verifying_key;
        check_expanded::<P>(vk.backend, sk, &mut vk.encoded)?;
        vk.tr = transcript::tr(vk.backend, vk.encoded.as_ref());
        key.expanded.expose_mut().as_mut().copy_from_slice(sk);
        Ok(key)
    }

    /// The seed, unless the key was imported in expanded form. Secret.
    pub fn seed(&self) -> Option<&[u8; SEED_LEN]> {
        self.has_seed.then(|| self.seed.expose())
    }

    /// The expanded encoding (FIPS 204 algorithm 24), `SK_LEN` bytes. Secret.
    pub fn expanded(&self) -> &P::SecretKeyBytes {
        self.expanded.expose()
    }

    /// The public key.
    pub fn verifying_key(&self) -> &VerifyingKey<P> {
        &self.verifying_key
    }

    /// The same key on a chosen backend. Signatures do not change.
    #[must_use]
    pub fn with_backend(mut self, backend: Backend) -> Self {
        self.verifying_key.backend = backend;
        self
    }

    /// Whether every signature is verified before it is released, against
    /// faults. Off by default; costs one verification.
    pub fn set_self_verification(&mut self, on: bool) {
        self.self_verification = on;
    }

    #[cfg(feature = "alloc")]
    pub(crate) fn self_verification(&self) -> bool {
        self.self_verification
    }

    /// [`Self::sign_mu_into`] that reports every rejected attempt, for tests and
    /// statistics. The number of attempts is public.
    ///
    /// # Errors
    /// As [`Self::sign_into`].
    pub(crate) fn sign_mu_observed(
        &self,
        mu: &Mu,
        hedge: Hedge<'_>,
        out: &mut [u8],
        observe: &mut dyn FnMut(Rejection),
    ) -> Result<(), SignError> {
        let backend = self.verifying_key.backend;
        sign_expanded::<P>(
            backend,
            self.expanded.expose().as_ref(),
            mu,
            hedge.rnd(),
            out,
            observe,
        )?;
        self.verifying_key.release(self.self_verification, mu, out)
    }

    sign_methods!();
}

impl<P: ParameterSet> VerifyingKey<P> {
    /// The last step of signing: verifies if asked to, and wipes what fails.
    pub(crate) fn release(
        &self,
        verify: bool,
        mu: &Mu,
        signature: &mut [u8],
    ) -> Result<(), SignError> {
        if verify && self.verify_mu(mu, signature).is_err() {
            signature.wipe();
            return Err(SignError::SelfVerification);
        }
        Ok(())
    }
}

impl<P: ParameterSet> ConstantTimeEq for SigningKey<P> {
    fn ct_eq(&self, other: &Self) -> Choice {
        self.expanded
            .expose()
            .as_ref()
            .ct_eq(other.expanded.expose().as_ref())
    }
}

impl<P: ParameterSet> PartialEq for SigningKey<P> {
    fn eq(&self, other: &Self) -> bool {
        self.ct_eq(other).into()
    }
}

impl<P: ParameterSet> Eq for SigningKey<P> {}

impl<P: ParameterSet> ZeroizeOnDrop for SigningKey<P> {}

impl<P: ParameterSet> fmt::Debug for SigningKey<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKey({}, ..)", P::NAME)
    }
}

/// A signature of `SIG_LEN` bytes. Made by signing, or by a decoder that checked
/// its length, its hint and the norm of z.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature<P: ParameterSet>(pub(crate) P::SignatureBytes);

impl<P: ParameterSet> Signature<P> {
    /// Reads a signature (FIPS 204 algorithm 27).
    ///
    /// # Errors
    /// [`VerifyError::SignatureLength`], [`VerifyError::HintEncoding`],
    /// [`VerifyError::ResponseNorm`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, VerifyError> {
        check_signature(&P::PARAMS, bytes)?;
        let mut signature = Self(P::SignatureBytes::zeroed());
        signature.0.as_mut().copy_from_slice(bytes);
        Ok(signature)
    }

    /// The encoding.
    pub fn as_bytes(&self) -> &P::SignatureBytes {
        &self.0
    }
}

impl<P: ParameterSet> AsRef<[u8]> for Signature<P> {
    fn as_ref(&self) -> &[u8] {
        self.0.as_ref()
    }
}

/// The scheme on plain encodings: no allocation, no value larger than a hash
/// returned. Lengths are in the types.
pub mod bytes {
    use super::{
        Backend, CRH_LEN, Context, Hedge, Job, JobKey, JobMessage, KeyError, Mu, ParameterSet,
        SEED_LEN, SignError, VerifyError, check_expanded, keygen_internal, sign_expanded,
        transcript, verify_one,
    };

    /// Key generation from the seed xi (FIPS 204 algorithm 6) into the caller's
    /// buffers. The private key is the expanded encoding; wipe it after use.
    ///
    /// Stack: row keygen of the [crate's table](crate#stack).
    pub fn keygen<P: ParameterSet>(
        xi: &[u8; SEED_LEN],
        pk: &mut P::PublicKeyBytes,
        sk: &mut P::SecretKeyBytes,
    ) {
        keygen_internal::<P>(Backend::detect(), xi, pk, sk);
    }

    /// Checks an expanded private key as [`SigningKey::from_expanded`] does and
    /// writes its public key.
    ///
    /// [`SigningKey::from_expanded`]: crate::SigningKey::from_expanded
    ///
    /// Stack: row import of the [crate's table](crate#stack).
    ///
    /// # Errors
    /// Every [`KeyError`].
    pub fn public_key<P: ParameterSet>(
        sk: &P::SecretKeyBytes,
        pk: &mut P::PublicKeyBytes,
    ) -> Result<(), KeyError> {
        check_expanded::<P>(Backend::detect(), sk.as_ref(), pk)
    }

    /// `tr = H(pk, 64)`, from which [`MuBuilder`](crate::MuBuilder) starts.
    pub fn tr<P: ParameterSet>(pk: &P::PublicKeyBytes) -> [u8; CRH_LEN] {
        transcript::tr(Backend::detect(), pk.as_ref())
    }

    /// Signs `mu` with an expanded private key, into the caller's buffer. Only
    /// the range of s1 and s2 is checked, not that t0 and `tr` belong to them.
    ///
    /// Stack: row sign of the [crate's table](crate#stack).
    ///
    /// # Errors
    /// [`SignError::Key`], [`SignError::AttemptsExhausted`].
    pub fn sign_mu<P: ParameterSet>(
        sk: &P::SecretKeyBytes,
        mu: &Mu,
        hedge: Hedge<'_>,
        out: &mut P::SignatureBytes,
    ) -> Result<(), SignError> {
        sign_expanded::<P>(
            Backend::detect(),
            sk.as_ref(),
            mu,
            hedge.rnd(),
            out.as_mut(),
            &mut |_| {},
        )
    }

    /// Verifies a signature over `mu` under an encoded public key.
    ///
    /// Stack: row verify of the [crate's table](crate#stack).
    ///
    /// # Errors
    /// Every [`VerifyError`], in the order of its variants.
    pub fn verify_mu<P: ParameterSet>(
        pk: &P::PublicKeyBytes,
        mu: &Mu,
        signature: &[u8],
    ) -> Result<(), VerifyError> {
        verify_job::<P>(pk, JobMessage::Mu(mu.as_bytes()), signature)
    }

    /// Verifies a signature over `message` under an encoded public key, in one
    /// call: `tr` is computed beside the expansion of A where that is faster.
    ///
    /// Stack: row verify of the [crate's table](crate#stack).
    ///
    /// # Errors
    /// Every [`VerifyError`], in the order of its variants.
    pub fn verify<P: ParameterSet>(
        pk: &P::PublicKeyBytes,
        message: &[u8],
        ctx: Context<'_>,
        signature: &[u8],
    ) -> Result<(), VerifyError> {
        verify_job::<P>(pk, JobMessage::Pure(ctx.as_bytes(), message), signature)
    }

    fn verify_job<P: ParameterSet>(
        pk: &P::PublicKeyBytes,
        message: JobMessage<'_>,
        signature: &[u8],
    ) -> Result<(), VerifyError> {
        let key = JobKey::Cold(pk.as_ref(), None);
        verify_one::<P>(
            Backend::detect(),
            Job {
                key,
                message,
                signature,
            },
        )
    }
}
