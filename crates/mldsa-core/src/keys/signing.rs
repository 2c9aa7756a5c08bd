//! The private key, and the calls that sign.

mod storage;

use core::fmt;

use zeroize::ZeroizeOnDrop;

use crate::backend::Backend;
use crate::coding::encode::SecretKeyParts;
use crate::error::{KeyError, SignError};
#[cfg(feature = "hash-ml-dsa")]
use crate::hash::prehash::PreHashed;
use crate::hash::transcript::{Context, Mu, Randomness};
use crate::keys::sign_into::{SignInto, signature};
use crate::keys::signature::Signature;
use crate::keys::verifying::VerifyingKey;
use crate::memory::array::{Zeroed, sealed};
use crate::memory::ct::{difference, is_zero};
use crate::memory::secret::{Secret, declassify};
use crate::params::{CRH_LEN, ParameterSet, SEED_LEN};
use crate::scheme::keygen::{check_expanded, keygen_internal};
#[cfg(feature = "alloc")]
use crate::scheme::keygen_many::{MAX_KEYS, keygen_many};
use crate::scheme::seal::{Checksum, Seal, Secrets, checksum};
use crate::scheme::sign::{AttemptRejection, SelfVerification, sign_expanded};

pub use storage::SigningKeyStorage;

/// Signs with a `rnd` of `rng`, which does not leave its place: one that is returned leaves a copy.
///
/// # Errors
/// [`SignError::Rng`], [`SignError::ZeroRandomness`], and those of `sign`.
#[cfg(all(
    feature = "rand_core",
    any(feature = "getrandom", feature = "signature")
))]
#[cfg_attr(
    all(
        target_family = "wasm",
        target_os = "unknown",
        not(feature = "signature")
    ),
    allow(dead_code, reason = "there is no generator")
)]
pub fn hedged<R: rand_core::TryCryptoRng + ?Sized, T, E: From<SignError>>(
    rng: &mut R,
    sign: impl FnOnce(Randomness<'_>) -> Result<T, E>,
) -> Result<T, E> {
    let mut rnd = Secret::<[u8; SEED_LEN]>::zeroed();
    let filled = rng.try_fill_bytes(rnd.expose_mut());
    filled.map_err(|_| SignError::Rng)?;
    sign(Randomness::hedged(rnd.expose())?)
}

/// A private key: the 32-byte seed where it is known, the expanded encoding and
/// the public key. 4.0, 6.2 or 7.7 kB by value; wiped on drop; not `Clone`.
///
/// ```
/// use mldsa_core::{Context, MlDsa65, SigningKey};
///
/// let key = SigningKey::<MlDsa65>::generate()?;
/// // 32 bytes to back up: all of the key follows from them.
/// let seed = *key.seed().ok_or("imported without its seed")?;
/// let key = SigningKey::<MlDsa65>::from_seed(&seed);
/// let context = Context::new(b"example/v1")?;
/// let signature = key.sign_hedged(b"message", context)?;
/// assert_eq!(signature.as_bytes().len(), 3309);
///
/// // For a key that signs often: A and the secrets transformed once.
/// let prepared = key.prepare();
/// let signature = prepared.sign_hedged(b"message", context)?;
/// key.verifying_key().verify_with_context(b"message", context, &signature)?;
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
pub struct SigningKey<P: ParameterSet> {
    seed: Secret<[u8; SEED_LEN]>,
    has_seed: bool,
    expanded: Secret<P::SecretKeyBytes>,
    checksum: Checksum,
    verifying_key: VerifyingKey<P>,
    self_verification: bool,
}

impl<P: ParameterSet> SigningKey<P> {
    #[inline]
    pub(crate) fn empty() -> Self {
        Self {
            seed: Secret::zeroed(),
            has_seed: false,
            expanded: Secret::zeroed(),
            checksum: Secret::zeroed(),
            verifying_key: VerifyingKey {
                encoded: P::PublicKeyBytes::zeroed(),
                tr: [0; CRH_LEN],
                backend: Backend::detect(),
            },
            self_verification: true,
        }
    }

    /// Generates the key of the 32-byte seed xi (FIPS 204 algorithm 6): the seed
    /// is the private key, and must come from a generator of the set's strength.
    #[must_use]
    pub fn from_seed(xi: &[u8; SEED_LEN]) -> Self {
        let mut key = Self::empty();
        key.set_seed(xi);
        key
    }

    /// Generates a key as [`Self::from_seed`] does, in caller memory: the key is not moved, so the
    /// compiler makes no copies of it that outlive it.
    ///
    /// ```
    /// use mldsa_core::no_alloc::SigningKeyStorage;
    /// use mldsa_core::{Context, MlDsa44, Randomness, SigningKey};
    ///
    /// let mut storage = Box::new(SigningKeyStorage::<MlDsa44>::new());
    /// let key = SigningKey::from_seed_in(&[7; 32], &mut storage);
    /// key.sign_with_context(b"message", Context::EMPTY, Randomness::Deterministic)?;
    /// # Ok::<(), mldsa_core::SignError>(())
    /// ```
    pub fn from_seed_in<'m>(
        xi: &[u8; SEED_LEN],
        memory: &'m mut SigningKeyStorage<P>,
    ) -> &'m mut Self {
        let filled = memory.fill(|key| {
            key.set_seed(xi);
            Ok::<(), core::convert::Infallible>(())
        });
        match filled {
            Ok(key) => key,
            Err(never) => match never {},
        }
    }

    /// Returns the key that `fill` makes of an empty one on the heap: the key is not moved.
    #[cfg(feature = "alloc")]
    #[allow(dead_code, reason = "for keys of any set, which need all three")]
    pub(crate) fn boxed<E>(
        fill: impl FnOnce(&mut Self) -> Result<(), E>,
    ) -> Result<alloc::boxed::Box<Self>, E> {
        let mut key = alloc::boxed::Box::new(Self::empty());
        fill(&mut key)?;
        Ok(key)
    }

    /// Makes the key of a seed of an empty one.
    pub(crate) fn set_seed(&mut self, xi: &[u8; SEED_LEN]) {
        self.seed.expose_mut().copy_from_slice(xi);
        self.expand_seed();
    }

    fn expand_seed(&mut self) {
        self.has_seed = true;
        let vk = &mut self.verifying_key;
        let (xi, sk) = (self.seed.expose(), self.expanded.expose_mut());
        keygen_internal::<P>(vk.backend, xi, &mut vk.encoded, sk);
        self.finish();
    }

    /// Takes `tr` over and makes the checksum of a key that was just generated.
    fn finish(&mut self) {
        let parts = SecretKeyParts::of::<P>(self.expanded.expose());
        // Key generation has just hashed the public key.
        self.verifying_key.tr = *parts.tr;
        let secrets = Secrets::Packed([parts.s1, parts.s2]);
        checksum(parts.k_seed, parts.tr, secrets, &mut self.checksum);
    }

    /// Returns what the secrets are compared with before a signature is released.
    pub(super) fn seal(&self) -> Seal<'_> {
        let parts = SecretKeyParts::of::<P>(self.expanded.expose());
        Seal {
            checksum: &self.checksum,
            tr: &self.verifying_key.tr,
            secrets: Secrets::Packed([parts.s1, parts.s2]),
        }
    }

    /// Generates keys as [`Self::from_seed`] does: the same keys in the same order, several at a
    /// time where the backend has lanes. Eight with AVX-512, four with AVX2; the portable
    /// backend gains nothing.
    ///
    /// Memory: the keys.
    #[cfg(feature = "alloc")]
    pub fn from_seeds(seeds: &[[u8; SEED_LEN]]) -> alloc::vec::Vec<Self> {
        // All places first: a vector that grew would leave copies of keys.
        let mut keys = alloc::vec::Vec::with_capacity(seeds.len());
        keys.resize_with(seeds.len(), Self::empty);
        for (seeds, keys) in seeds.chunks(MAX_KEYS).zip(keys.chunks_mut(MAX_KEYS)) {
            let mut group = alloc::vec::Vec::with_capacity(MAX_KEYS);
            for (xi, key) in seeds.iter().zip(&mut *keys) {
                *key.seed.expose_mut() = *xi;
                key.has_seed = true;
                group.push((
                    xi,
                    &mut key.verifying_key.encoded,
                    key.expanded.expose_mut(),
                ));
            }
            keygen_many::<P>(Backend::detect(), &mut group);
            keys.iter_mut().for_each(Self::finish);
        }
        keys
    }

    /// Generates a key with the operating system's generator (FIPS 204 algorithm
    /// 1).
    ///
    /// # Errors
    /// As [`Self::generate_with_rng`].
    #[cfg(all(
        feature = "getrandom",
        not(all(target_family = "wasm", target_os = "unknown"))
    ))]
    pub fn generate() -> Result<Self, KeyError> {
        Self::generate_with_rng(&mut getrandom::SysRng)
    }

    /// Generates a key with `rng` (FIPS 204 algorithm 1 ML-DSA.KeyGen).
    ///
    /// # Errors
    /// [`KeyError::Rng`] if the generator fails, [`KeyError::ZeroSeed`] if all 32 bytes are
    /// zero.
    #[cfg(feature = "rand_core")]
    pub fn generate_with_rng<R: rand_core::TryCryptoRng + ?Sized>(
        rng: &mut R,
    ) -> Result<Self, KeyError> {
        let mut key = Self::empty();
        key.generate_seed(rng)?;
        Ok(key)
    }

    /// Generates a key as [`Self::generate_with_rng`] does, in caller memory: neither the seed nor
    /// the key is moved.
    ///
    /// # Errors
    /// As [`Self::generate_with_rng`].
    #[cfg(feature = "rand_core")]
    pub fn generate_with_rng_in<'m, R: rand_core::TryCryptoRng + ?Sized>(
        rng: &mut R,
        memory: &'m mut SigningKeyStorage<P>,
    ) -> Result<&'m mut Self, KeyError> {
        memory.fill(|key| key.generate_seed(rng))
    }

    #[cfg(feature = "rand_core")]
    pub(super) fn generate_seed<R: rand_core::TryCryptoRng + ?Sized>(
        &mut self,
        rng: &mut R,
    ) -> Result<(), KeyError> {
        let seed = self.seed.expose_mut();
        rng.try_fill_bytes(seed).map_err(|_| KeyError::Rng)?;
        Randomness::hedged(seed).map_err(|_| KeyError::ZeroSeed)?;
        self.expand_seed();
        Ok(())
    }

    /// Imports an expanded private key (FIPS 204 algorithm 25) with every check:
    /// s1 and s2 in range, t0 and `tr` recomputed and compared; K is only required not to be one
    /// repeated byte. Costs a key
    /// generation. The seed of such a key is not known.
    ///
    /// # Errors
    /// [`KeyError::Length`], [`KeyError::SecretRange`], [`KeyError::ConstantK`],
    /// [`KeyError::Inconsistent`].
    pub fn from_expanded_bytes(sk: &[u8]) -> Result<Self, KeyError> {
        let mut key = Self::empty();
        key.import(sk)?;
        Ok(key)
    }

    /// Imports a key as [`Self::from_expanded_bytes`] does, in caller memory: the key is not moved.
    ///
    /// # Errors
    /// As [`Self::from_expanded_bytes`].
    pub fn from_expanded_bytes_in<'m>(
        sk: &[u8],
        memory: &'m mut SigningKeyStorage<P>,
    ) -> Result<&'m mut Self, KeyError> {
        memory.fill(|key| key.import(sk))
    }

    pub(crate) fn import(&mut self, sk: &[u8]) -> Result<(), KeyError> {
        let vk = &mut self.verifying_key;
        check_expanded::<P>(vk.backend, sk, &mut vk.encoded)?;
        self.expanded.expose_mut().as_mut().copy_from_slice(sk);
        // Of the bytes that were checked, not of their copy.
        let parts = SecretKeyParts::parse(&P::PARAMS, sk)?;
        vk.tr = *parts.tr;
        let secrets = Secrets::Packed([parts.s1, parts.s2]);
        checksum(parts.k_seed, parts.tr, secrets, &mut self.checksum);
        Ok(())
    }

    /// Returns the seed, unless the key was imported in expanded form. Secret.
    pub fn seed(&self) -> Option<&[u8; SEED_LEN]> {
        self.has_seed.then(|| self.seed.expose())
    }

    /// Returns the expanded encoding (FIPS 204 algorithm 24), `SK_LEN` bytes. Secret.
    pub fn expanded(&self) -> &P::SecretKeyBytes {
        self.expanded.expose()
    }

    /// Returns the public key.
    pub fn verifying_key(&self) -> &VerifyingKey<P> {
        &self.verifying_key
    }

    /// Moves the key to a chosen backend. Signatures do not change.
    #[must_use]
    pub fn with_backend(mut self, backend: Backend) -> Self {
        self.verifying_key.backend = backend;
        self
    }

    /// Enables or disables self-verification, which is enabled by default. Keys prepared
    /// afterwards take the setting over.
    ///
    /// Before a signature is released, K, s1 and s2 are compared with a checksum that was made with
    /// the key, the masks are derived again and compared, the message is hashed again, and the
    /// signature is verified under the public key. So a single fault releases neither a signature
    /// that is invalid nor one whose masks others can compute, which would reveal the key.
    ///
    /// Not covered: a `mu` of the caller's is not hashed again, and a fault in the check of the low
    /// bits may release an attempt that should have been rejected. It is valid, and its low bits
    /// depend on s2; known attacks need many of them.
    ///
    /// It costs one verification without the expansion of A, the masks of one attempt and a second
    /// hash of the message.
    pub fn set_self_verification(&mut self, on: bool) {
        self.self_verification = on;
    }

    pub(crate) fn self_verification(&self) -> bool {
        self.self_verification
    }

    /// Signs `message` (FIPS 204 algorithm 2 ML-DSA.Sign).
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

    /// Signs as [`Self::sign_with_context`] does, with 32 fresh bytes of the operating system's
    /// generator: the form to prefer, since a fault that is repeated meets another mask each time.
    /// Two signatures of one message differ. A consensus vote that is sent again, and whose bytes
    /// the receivers compare, needs [`Randomness::Deterministic`].
    ///
    /// # Errors
    /// [`SignError::Rng`] if the generator fails, [`SignError::ZeroRandomness`] if it returns
    /// zeros, and those of [`Self::sign_with_context`].
    #[cfg(all(
        feature = "getrandom",
        not(all(target_family = "wasm", target_os = "unknown"))
    ))]
    pub fn sign_hedged(
        &self,
        message: &[u8],
        context: Context<'_>,
    ) -> Result<Signature<P>, SignError> {
        hedged(&mut getrandom::SysRng, |randomness| {
            self.sign_with_context(message, context, randomness)
        })
    }

    /// Signs an externally computed message representative.
    ///
    /// # Errors
    /// As [`Self::sign_with_context`].
    pub fn sign_mu(&self, mu: &Mu, randomness: Randomness<'_>) -> Result<Signature<P>, SignError> {
        signature(|out| self.sign_mu_into(mu, randomness, out))
    }

    /// Signs a digest (FIPS 204 algorithm 4, HashML-DSA).
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

/// Memory in which a test makes faults: the expanded key, and `tr` of the public key.
#[cfg(test)]
impl<P: ParameterSet> SigningKey<P> {
    #[allow(dead_code, reason = "not on targets with one backend")]
    pub(crate) fn memory(&mut self) -> (&mut [u8], &mut [u8; CRH_LEN]) {
        let expanded = self.expanded.expose_mut().as_mut();
        (expanded, &mut self.verifying_key.tr)
    }
}

impl<P: ParameterSet> sealed::Sealed for SigningKey<P> {}

impl<P: ParameterSet> SignInto<P> for SigningKey<P> {
    fn public_key(&self) -> &VerifyingKey<P> {
        &self.verifying_key
    }

    fn is_self_verifying(&self) -> bool {
        self.self_verification
    }

    fn sign_mu_observed(
        &self,
        mu: &Mu,
        randomness: Randomness<'_>,
        out: &mut [u8],
        observe: &mut dyn FnMut(AttemptRejection),
    ) -> Result<(), SignError> {
        let backend = self.verifying_key.backend;
        sign_expanded::<P>(
            backend,
            self.expanded.expose().as_ref(),
            mu,
            randomness.rnd(),
            self.self_verification.then(|| SelfVerification {
                key: self.verifying_key.job_key(),
                seal: Some(self.seal()),
            }),
            out,
            observe,
        )
    }
}

/// Compares the expanded encodings in constant time.
impl<P: ParameterSet> PartialEq for SigningKey<P> {
    fn eq(&self, other: &Self) -> bool {
        let (own, other) = (self.expanded().as_ref(), other.expanded().as_ref());
        declassify(
            is_zero(difference(own, other)),
            "verdict of a key comparison",
        )
    }
}

impl<P: ParameterSet> Eq for SigningKey<P> {}

/// Compares the expanded encodings.
#[cfg(feature = "subtle")]
impl<P: ParameterSet> subtle::ConstantTimeEq for SigningKey<P> {
    fn ct_eq(&self, other: &Self) -> subtle::Choice {
        self.expanded().as_ref().ct_eq(other.expanded().as_ref())
    }
}

impl<P: ParameterSet> ZeroizeOnDrop for SigningKey<P> {}

impl<P: ParameterSet> fmt::Debug for SigningKey<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKey({}, ..)", P::NAME)
    }
}
