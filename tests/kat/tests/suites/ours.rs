//! The crates under test as implementations of the suite traits: every calling form of
//! `mldsa-core`, on every backend of this machine, and every memory tier of
//! `mldsa-lowmem`. A suite that takes
//! [`schemes`] or [`verifiers`] thereby tests them all.

use core::marker::PhantomData;

use batch_verify::KeyStorage;
use mldsa_core::internals::{
    Zeroed, check_expanded, keygen_internal, mu_from_m_prime, sign_internal, sign_mu_encoded, tr,
    verify_internal,
};
use mldsa_core::no_alloc::SignInto;
use mldsa_core::{
    AnyDecodedSignature, AnyVerifyingKey, Backend, Context, DecodedSignature, KeyError, MlDsa44,
    MlDsa65, MlDsa87, Mu, MuBuilder, ParameterSet, PreHash, PreHashed, Randomness, SignError,
    Signature, SigningKey, VerifyError, VerifyingKey, no_alloc::PreparedVerifyingKeyStorage,
};
use mldsa_kat::hash::Hash;
use mldsa_kat::scheme::{KeyPair, Message, PrivateKey, Reason, Scheme, Verifier};
use mldsa_kat::set::Set;
use mldsa_lowmem::{Balanced, CacheMatrix, CacheW0, Minimal, Tier};

/// Name and set of a form for the parameter set `P`.
macro_rules! named {
    ($this:ident => $name:expr) => {
        fn name(&$this) -> String {
            $name
        }

        fn set(&self) -> &'static Set {
            Set::named(P::NAME)
        }
    };
}

/// Verification with a key object.
macro_rules! verify_with {
    ($key:ident, $backend:expr, $tr:expr, $message:expr, $sig:expr) => {
        match $message {
            Message::Pure { ctx, msg } => $key.verify_with_context(msg, context(ctx)?, $sig),
            Message::PreHashed { ctx, hash, digest } => {
                $key.verify_prehashed(&prehashed(hash, digest)?, context(ctx)?, $sig)
            }
            other => $key.verify_mu(&mu_of::<P>($backend, $tr, other)?, $sig),
        }
        .map_err(verify_reason)
    };
}

mod batch;
mod lowmem;

use batch::{Batch, BatchKeys};
use lowmem::Lowmem;

/// Every form of signing on every backend.
pub(crate) fn schemes(set: &Set) -> Vec<Box<dyn Scheme>> {
    selected(match set.lambda {
        128 => all_schemes::<MlDsa44>(),
        192 => all_schemes::<MlDsa65>(),
        _ => all_schemes::<MlDsa87>(),
    })
}

/// The ordinary form on every backend: for the long suites.
pub(crate) fn backends(set: &Set) -> Vec<Box<dyn Scheme>> {
    selected(match set.lambda {
        128 => each_backend(Keys::<MlDsa44>),
        192 => each_backend(Keys::<MlDsa65>),
        _ => each_backend(Keys::<MlDsa87>),
    })
}

/// Every form of verification on every backend.
pub(crate) fn verifiers(set: &Set) -> Vec<Box<dyn Verifier>> {
    selected(match set.lambda {
        128 => all_verifiers::<MlDsa44>(),
        192 => all_verifiers::<MlDsa65>(),
        _ => all_verifiers::<MlDsa87>(),
    })
}

/// All whose name has none of the words of `MLDSA_WITHOUT`, which are separated by commas: an
/// emulated CPU is slow, and only its own backends need tests there.
fn selected<T: Verifier + ?Sized>(mut all: Vec<Box<T>>) -> Vec<Box<T>> {
    let without = std::env::var("MLDSA_WITHOUT").unwrap_or_default();
    let words: Vec<&str> = without.split(',').filter(|word| !word.is_empty()).collect();
    all.retain(|one| !words.iter().any(|word| one.name().contains(word)));
    assert!(!all.is_empty(), "MLDSA_WITHOUT={without} leaves nothing");
    all
}

fn all_verifiers<P: ParameterSet>() -> Vec<Box<dyn Verifier>>
where
    CacheW0: Tier<P>,
    Balanced: Tier<P>,
    CacheMatrix: Tier<P>,
{
    let schemes = all_schemes::<P>().into_iter();
    let mut all: Vec<Box<dyn Verifier>> = schemes.map(|scheme| scheme as _).collect();
    for backend in Backend::available() {
        all.push(Box::new(InMemory::<P>(backend, PhantomData)));
        all.push(Box::new(Steps::<P>(backend, PhantomData)));
    }
    all.push(Box::new(Decoded::<P>(PhantomData)));
    for backend in Backend::available() {
        for keys in [
            BatchKeys::Committee(KeyStorage::BySize),
            BatchKeys::Committee(KeyStorage::Compact),
            BatchKeys::InItem,
        ] {
            all.push(Box::new(Batch::<P>(backend, keys, PhantomData)));
        }
    }
    all
}

fn each_backend<S: Scheme + 'static, P>(
    form: fn(Backend, PhantomData<P>) -> S,
) -> Vec<Box<dyn Scheme>> {
    Backend::available()
        .map(|backend| Box::new(form(backend, PhantomData)) as Box<dyn Scheme>)
        .collect()
}

fn all_schemes<P: ParameterSet>() -> Vec<Box<dyn Scheme>>
where
    CacheW0: Tier<P>,
    Balanced: Tier<P>,
    CacheMatrix: Tier<P>,
{
    let mut all = each_backend(Keys::<P>);
    all.extend(each_backend(Prepared::<P>));
    all.push(Box::new(Encodings::<P>(PhantomData)));
    all.push(Box::new(Lowmem::<P, Minimal>("minimal", PhantomData)));
    all.push(Box::new(Lowmem::<P, CacheW0>("cache-w0", PhantomData)));
    all.push(Box::new(Lowmem::<P, Balanced>("balanced", PhantomData)));
    all.push(Box::new(Lowmem::<P, CacheMatrix>(
        "cache-matrix",
        PhantomData,
    )));
    all
}

/// `SigningKey` and `VerifyingKey`.
struct Keys<P>(Backend, PhantomData<P>);

/// `PreparedSigningKey` and `PreparedVerifyingKey`, signing into a buffer.
struct Prepared<P>(Backend, PhantomData<P>);

/// `PreparedVerifyingKeyRef` in the caller's memory.
struct InMemory<P>(Backend, PhantomData<P>);

/// `Signature`, decoded before it is verified.
struct Decoded<P>(PhantomData<P>);

/// A prepared key and a `DecodedSignature`, verified with both.
struct Steps<P>(Backend, PhantomData<P>);

/// The functions on encoded keys, on the detected backend.
struct Encodings<P>(PhantomData<P>);

fn name<P: ParameterSet>(form: &str, backend: Backend) -> String {
    format!("{form} {} {}", P::NAME, backend.name())
}

fn key_reason(error: KeyError) -> Reason {
    match error {
        KeyError::Length => Reason::KeyLength,
        KeyError::SecretRange => Reason::SecretRange,
        KeyError::Inconsistent => Reason::Inconsistent,
        _ => Reason::Other,
    }
}

fn verify_reason(error: VerifyError) -> Reason {
    match error {
        VerifyError::SignatureLength => Reason::SignatureLength,
        VerifyError::HintEncoding => Reason::HintEncoding,
        VerifyError::ResponseNorm => Reason::ResponseNorm,
        VerifyError::ChallengeMismatch => Reason::ChallengeMismatch,
        _ => Reason::Other,
    }
}

fn sign_reason(error: SignError) -> Reason {
    match error {
        SignError::Key => Reason::SecretRange,
        _ => Reason::Other,
    }
}

fn context(ctx: &[u8]) -> Result<Context<'_>, Reason> {
    Context::new(ctx).map_err(|_| Reason::Context)
}

/// The suites use all hashes with all sets; the strength rule has its own test.
fn prehashed<'a, P: ParameterSet>(
    hash: &Hash,
    digest: &'a [u8],
) -> Result<PreHashed<'a, P>, Reason> {
    let hash = hash
        .name
        .parse::<PreHash>()
        .ok()
        .ok_or(Reason::Unsupported)?;
    PreHashed::new_allow_weak(hash, digest).map_err(|_| Reason::Digest)
}

fn hedge(rnd: Option<&[u8; 32]>) -> Randomness<'_> {
    rnd.map_or(Randomness::Deterministic, Randomness::Hedged)
}

fn seed(bytes: &[u8]) -> Result<&[u8; 32], Reason> {
    bytes.try_into().map_err(|_| Reason::KeyLength)
}

/// Bytes in the array of their set.
fn sized<B: Zeroed + AsMut<[u8]>>(bytes: &[u8]) -> Result<B, Reason> {
    let mut array = B::zeroed();
    if array.as_mut().len() != bytes.len() {
        return Err(Reason::KeyLength);
    }
    array.as_mut().copy_from_slice(bytes);
    Ok(array)
}

fn signing_key<P: ParameterSet>(key: PrivateKey<'_>) -> Result<SigningKey<P>, Reason> {
    match key {
        PrivateKey::Seed(bytes) => Ok(SigningKey::from_seed(seed(bytes)?)),
        PrivateKey::Expanded(sk) => SigningKey::from_expanded_bytes(sk).map_err(key_reason),
    }
}

fn verifying_key<P: ParameterSet>(backend: Backend, pk: &[u8]) -> Result<VerifyingKey<P>, Reason> {
    Ok(VerifyingKey::from_bytes(pk)
        .map_err(key_reason)?
        .with_backend(backend))
}

fn pair(pk: impl AsRef<[u8]>, sk: impl AsRef<[u8]>) -> KeyPair {
    KeyPair {
        pk: pk.as_ref().to_vec(),
        sk: sk.as_ref().to_vec(),
    }
}

/// `mu`, the message in uneven pieces.
fn mu_of<P: ParameterSet>(
    backend: Backend,
    tr: &[u8; 64],
    message: Message<'_>,
) -> Result<Mu, Reason> {
    Ok(match message {
        Message::Mu(mu) => Mu::from_bytes(*mu),
        Message::Formatted(m_prime) => {
            let (head, tail) = m_prime.split_at(m_prime.len() / 3);
            mu_from_m_prime(backend.permutation(), tr, &[head, tail])
        }
        Message::PreHashed { ctx, hash, digest } => {
            prehashed::<P>(hash, digest)?.mu(tr, context(ctx)?)
        }
        Message::Pure { ctx, msg } => {
            let mut builder = MuBuilder::from_tr(tr, context(ctx)?);
            let (mut rest, mut len) = (msg, 0);
            while !rest.is_empty() {
                let (piece, tail) = rest.split_at(len.min(rest.len()));
                builder.update(piece);
                (rest, len) = (tail, 2 * len + 1);
            }
            builder.finish()
        }
    })
}

impl<P: ParameterSet> Verifier for Keys<P> {
    named!(self => name::<P>("keys", self.0));

    fn verify(&self, pk: &[u8], message: Message<'_>, sig: &[u8]) -> Result<(), Reason> {
        let key = verifying_key::<P>(self.0, pk)?;
        match message {
            Message::Pure { ctx, msg } => key.verify_with_context(msg, context(ctx)?, sig),
            Message::PreHashed { ctx, hash, digest } => {
                key.verify_prehashed(&prehashed(hash, digest)?, context(ctx)?, sig)
            }
            Message::Formatted(m_prime) => verify_internal(&key, m_prime, sig),
            Message::Mu(mu) => key.verify_mu(&Mu::from_bytes(*mu), sig),
        }
        .map_err(verify_reason)
    }
}

impl<P: ParameterSet> Scheme for Keys<P> {
    fn load(&self, key: PrivateKey<'_>) -> Result<KeyPair, Reason> {
        // The functions below the types, which take a backend.
        let mut pk = P::PublicKeyBytes::zeroed();
        match key {
            PrivateKey::Seed(bytes) => {
                let mut sk = P::SecretKeyBytes::zeroed();
                keygen_internal::<P>(self.0, seed(bytes)?, &mut pk, &mut sk);
                Ok(pair(pk, sk))
            }
            PrivateKey::Expanded(sk) => {
                check_expanded::<P>(self.0, sk, &mut pk).map_err(key_reason)?;
                Ok(pair(pk, sk))
            }
        }
    }

    fn sign(
        &self,
        key: PrivateKey<'_>,
        message: Message<'_>,
        rnd: Option<&[u8; 32]>,
    ) -> Result<Vec<u8>, Reason> {
        let key = signing_key::<P>(key)?.with_backend(self.0);
        let hedge = hedge(rnd);
        match message {
            Message::Pure { ctx, msg } => key.sign_with_context(msg, context(ctx)?, hedge),
            Message::PreHashed { ctx, hash, digest } => {
                key.sign_prehashed(&prehashed(hash, digest)?, context(ctx)?, hedge)
            }
            Message::Formatted(m_prime) => {
                let mut sig = P::SignatureBytes::zeroed();
                sign_internal(&key, m_prime, hedge, sig.as_mut()).and_then(|()| {
                    Signature::from_bytes(sig.as_ref()).map_err(|_| SignError::SelfVerification)
                })
            }
            Message::Mu(mu) => key.sign_mu(&Mu::from_bytes(*mu), hedge),
        }
        .map(|sig| sig.as_ref().to_vec())
        .map_err(sign_reason)
    }

    fn mu(&self, pk: &[u8], message: Message<'_>) -> Result<[u8; 64], Reason> {
        let key = verifying_key::<P>(self.0, pk)?;
        mu_of::<P>(self.0, key.tr(), message).map(|mu| *mu.as_bytes())
    }
}

impl<P: ParameterSet> Verifier for Prepared<P> {
    named!(self => name::<P>("prepared", self.0));

    fn verify(&self, pk: &[u8], message: Message<'_>, sig: &[u8]) -> Result<(), Reason> {
        let key = verifying_key::<P>(self.0, pk)?.prepare();
        verify_with!(key, self.0, key.tr(), message, sig)
    }
}

impl<P: ParameterSet> Scheme for Prepared<P> {
    fn load(&self, key: PrivateKey<'_>) -> Result<KeyPair, Reason> {
        let key = signing_key::<P>(key)?;
        Ok(pair(key.verifying_key().as_bytes(), key.expanded()))
    }

    fn sign(
        &self,
        key: PrivateKey<'_>,
        message: Message<'_>,
        rnd: Option<&[u8; 32]>,
    ) -> Result<Vec<u8>, Reason> {
        let key = signing_key::<P>(key)?.with_backend(self.0).prepare();
        let (hedge, mut sig) = (hedge(rnd), vec![0; P::SIG_LEN]);
        match message {
            Message::Pure { ctx, msg } => key.sign_into(msg, context(ctx)?, hedge, &mut sig),
            Message::PreHashed { ctx, hash, digest } => {
                key.sign_prehashed_into(&prehashed(hash, digest)?, context(ctx)?, hedge, &mut sig)
            }
            other => {
                let mu = mu_of::<P>(self.0, key.verifying_key().tr(), other)?;
                key.sign_mu_into(&mu, hedge, &mut sig)
            }
        }
        .map_err(sign_reason)?;
        Ok(sig)
    }

    fn mu(&self, pk: &[u8], message: Message<'_>) -> Result<[u8; 64], Reason> {
        let key = verifying_key::<P>(self.0, pk)?.prepare();
        mu_of::<P>(self.0, key.tr(), message).map(|mu| *mu.as_bytes())
    }
}

impl<P: ParameterSet> Verifier for InMemory<P> {
    named!(self => name::<P>("prepared in memory", self.0));

    fn verify(&self, pk: &[u8], message: Message<'_>, sig: &[u8]) -> Result<(), Reason> {
        let key = verifying_key::<P>(self.0, pk)?;
        let mut memory = PreparedVerifyingKeyStorage::ZERO;
        let key = key.prepare_in(&mut memory);
        match message {
            Message::Pure { ctx, msg } => key.verify_with_context(msg, context(ctx)?, sig),
            other => key.verify_mu(&mu_of::<P>(self.0, key.tr(), other)?, sig),
        }
        .map_err(verify_reason)
    }
}

impl<P: ParameterSet> Verifier for Steps<P> {
    named!(self => name::<P>("three steps", self.0));

    fn verify(&self, pk: &[u8], message: Message<'_>, sig: &[u8]) -> Result<(), Reason> {
        let key = verifying_key::<P>(self.0, pk)?;
        let mu = mu_of::<P>(self.0, key.tr(), message)?;
        let prepared = key.prepare();
        let any = AnyVerifyingKey::from_bytes(pk).map_err(key_reason)?;
        let verdict = DecodedSignature::<P>::decode(sig);
        let of_any = AnyDecodedSignature::decode(any.set(), sig);
        assert_eq!(verdict.as_ref().err(), of_any.as_ref().err());
        let (sig, of_any) = (
            verdict.map_err(verify_reason)?,
            of_any.map_err(verify_reason)?,
        );
        let verdict = verify_with!(prepared, self.0, key.tr(), message, &sig);
        assert_eq!(key.verify_mu(&mu, &sig).map_err(verify_reason), verdict);
        for verified in [
            any.verify_mu(&mu, &of_any),
            any.prepare().verify_mu(&mu, &of_any),
        ] {
            assert_eq!(verified.map_err(verify_reason), verdict);
        }
        verdict
    }
}

impl<P: ParameterSet> Verifier for Decoded<P> {
    named!(self => name::<P>("decoded", Backend::detect()));

    fn verify(&self, pk: &[u8], message: Message<'_>, sig: &[u8]) -> Result<(), Reason> {
        let key = verifying_key::<P>(Backend::detect(), pk)?;
        let mu = mu_of::<P>(Backend::detect(), key.tr(), message)?;
        let sig = Signature::<P>::from_bytes(sig).map_err(verify_reason)?;
        // A signature that decodes can only fail the challenge.
        key.verify_mu(&mu, &sig).map_err(|error| match error {
            VerifyError::ChallengeMismatch => Reason::ChallengeMismatch,
            _ => Reason::Other,
        })
    }
}

impl<P: ParameterSet> Verifier for Encodings<P> {
    named!(self => name::<P>("encodings", Backend::detect()));

    fn verify(&self, pk: &[u8], message: Message<'_>, sig: &[u8]) -> Result<(), Reason> {
        let pk: P::PublicKeyBytes = sized(pk)?;
        if let Message::Pure { ctx, msg } = message {
            let verdict = VerifyingKey::<P>::verify_encoded(&pk, msg, context(ctx)?, sig);
            return verdict.map_err(verify_reason);
        }
        let mu = mu_of::<P>(
            Backend::detect(),
            &tr(Backend::detect().permutation(), pk.as_ref()),
            message,
        )?;
        mldsa_core::internals::verify_mu_encoded::<P>(&pk, &mu, sig).map_err(verify_reason)
    }
}

impl<P: ParameterSet> Scheme for Encodings<P> {
    fn load(&self, key: PrivateKey<'_>) -> Result<KeyPair, Reason> {
        Keys::<P>(Backend::detect(), PhantomData).load(key)
    }

    fn sign(
        &self,
        key: PrivateKey<'_>,
        message: Message<'_>,
        rnd: Option<&[u8; 32]>,
    ) -> Result<Vec<u8>, Reason> {
        let KeyPair { pk, sk } = self.load(key)?;
        let mu = mu_of::<P>(
            Backend::detect(),
            &tr(Backend::detect().permutation(), &pk),
            message,
        )?;
        let mut sig = P::SignatureBytes::zeroed();
        sign_mu_encoded::<P>(&sized(&sk)?, &mu, hedge(rnd), &mut sig, &mut |_| {})
            .map_err(sign_reason)?;
        Ok(sig.as_ref().to_vec())
    }

    fn mu(&self, pk: &[u8], message: Message<'_>) -> Result<[u8; 64], Reason> {
        let pk: P::PublicKeyBytes = sized(pk)?;
        let tr = tr(Backend::detect().permutation(), pk.as_ref());
        mu_of::<P>(Backend::detect(), &tr, message).map(|mu| *mu.as_bytes())
    }
}
