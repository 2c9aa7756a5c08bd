//! Public keys and verification of one signature.

use core::fmt;
use std::sync::OnceLock;

use mldsa_core::internals::is_joined_private_key;
use mldsa_core::spki::{DecodePublicKey, EncodePublicKey};
use mldsa_core::{
    Context, MlDsa44, MlDsa65, MlDsa87, Mu, PreHash, PreHashed, PreparedVerifyingKey, VerifyingKey,
};

use crate::Status;
use crate::boundary::{copy_out, free, guard, handle, items, store};
use crate::messages::{context, hash, mu};
use crate::set::{Numbered, with_set};

/// A public key of any parameter set. Any number of threads at once.
#[derive(Debug)]
pub struct PublicKey(pub(crate) Box<dyn Verifier>);

pub(crate) enum Signed<'a> {
    Pure(&'a [u8], Context<'a>),
    PreHashed(PreHash, &'a [u8], Context<'a>),
    Mu(Mu),
}

/// A public key without its type.
pub(crate) trait Verifier: Send + Sync + fmt::Debug {
    fn set(&self) -> u32;
    fn encoded(&self) -> &[u8];
    fn tr(&self) -> &[u8; 64];
    fn spki(&self) -> Result<Vec<u8>, Status>;
    fn prepare(&self);
    fn verify(&self, message: &Signed<'_>, signature: &[u8]) -> Result<(), Status>;
}

#[derive(Debug)]
struct Key<P: Numbered> {
    key: VerifyingKey<P>,
    prepared: OnceLock<PreparedVerifyingKey<P>>,
}

impl<P: Numbered> Verifier for Key<P> {
    fn set(&self) -> u32 {
        P::NUMBER
    }

    fn encoded(&self) -> &[u8] {
        self.key.as_ref()
    }

    fn tr(&self) -> &[u8; 64] {
        self.key.tr()
    }

    fn spki(&self) -> Result<Vec<u8>, Status> {
        let document = self.key.to_public_key_der();
        Ok(document.map_err(|_| Status::Encoding)?.into_vec())
    }

    fn prepare(&self) {
        self.prepared.get_or_init(|| self.key.prepare());
    }

    fn verify(&self, message: &Signed<'_>, signature: &[u8]) -> Result<(), Status> {
        macro_rules! verify {
            ($key:expr) => {
                match message {
                    Signed::Pure(message, context) => {
                        $key.verify_with_context(message, *context, signature)
                    }
                    Signed::Mu(mu) => $key.verify_mu(mu, signature),
                    Signed::PreHashed(hash, digest, context) => {
                        let digest = PreHashed::new(*hash, digest)?;
                        $key.verify_prehashed(&digest, *context, signature)
                    }
                }
            };
        }
        Ok(match self.prepared.get() {
            Some(key) => verify!(key),
            None => verify!(self.key),
        }?)
    }
}

impl PublicKey {
    pub(crate) fn new<P: Numbered>(key: VerifyingKey<P>) -> Self {
        let prepared = OnceLock::new();
        Self(Box::new(Key { key, prepared }))
    }
}

/// Makes a public key from its encoding. A joined private key of ML-DSA-44 (seed and expanded key),
/// which has the length of a public key of ML-DSA-87, is `MLDSA_STATUS_KEY`. Free it with `mldsa_public_key_free`.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_public_key_new(
    set: u32,
    encoded: *const u8,
    encoded_len: usize,
    key: *mut *mut PublicKey,
) -> Status {
    // SAFETY: the contract of the crate.
    unsafe {
        store(key, || {
            let encoded = items(encoded, encoded_len)?;
            if is_joined_private_key::<MlDsa44>(encoded) {
                return Err(Status::Key);
            }
            with_set!(set, P => Ok(PublicKey::new(VerifyingKey::<P>::from_bytes(encoded)?)))
        })
    }
}

/// Makes a public key from SubjectPublicKeyInfo (RFC 9881), in DER or in PEM. The parameter set
/// is in it.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_public_key_from_spki(
    spki: *const u8,
    spki_len: usize,
    key: *mut *mut PublicKey,
) -> Status {
    fn read<P: Numbered>(bytes: &[u8]) -> Option<PublicKey> {
        let key = match VerifyingKey::<P>::from_public_key_der(bytes) {
            Ok(key) => Ok(key),
            Err(_) => VerifyingKey::<P>::from_public_key_pem(bytes),
        };
        key.ok().map(PublicKey::new)
    }
    // SAFETY: the contract of the crate.
    unsafe {
        store(key, || {
            let bytes = items(spki, spki_len)?;
            let key = read::<MlDsa44>(bytes).or_else(|| read::<MlDsa65>(bytes));
            let key = key.or_else(|| read::<MlDsa87>(bytes));
            key.ok_or(Status::Encoding)
        })
    }
}

/// Frees a public key. Null is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_public_key_free(key: *mut PublicKey) {
    // SAFETY: the contract of the crate.
    unsafe { free(key) }
}

/// Returns the parameter set of a public key; 0 for null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_public_key_set(key: *const PublicKey) -> u32 {
    // SAFETY: the contract of the crate.
    unsafe { handle(key) }.map_or(0, |key| key.0.set())
}

/// Copies the encoding. `*len` is the size of the buffer before and of the encoding after the
/// call.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_public_key_bytes(
    key: *const PublicKey,
    buffer: *mut u8,
    len: *mut usize,
) -> Status {
    // SAFETY: the contract of the crate.
    guard(|| unsafe { copy_out(handle(key)?.0.encoded(), buffer, len) })
}

/// Copies SubjectPublicKeyInfo in DER: 1334, 1974 or 2614 bytes.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_public_key_spki(
    key: *const PublicKey,
    buffer: *mut u8,
    len: *mut usize,
) -> Status {
    // SAFETY: the contract of the crate.
    guard(|| unsafe { copy_out(&handle(key)?.0.spki()?, buffer, len) })
}

/// Expands the key once, for keys that verify often: 20, 36 or 64 KiB, and a third of the time
/// or less for each later verification. Idempotent.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_public_key_prepare(key: *const PublicKey) -> Status {
    // SAFETY: the contract of the crate.
    guard(|| unsafe { handle(key) }.map(|key| key.0.prepare()))
}

/// Verifies a signature of one of the three forms of message.
///
/// # Safety
/// The contract of the crate.
unsafe fn verify(
    key: *const PublicKey,
    signature: *const u8,
    signature_len: usize,
    message: &Signed<'_>,
) -> Result<(), Status> {
    // SAFETY: the contract of this function.
    let (key, signature) = unsafe { (handle(key)?, items(signature, signature_len)?) };
    key.0.verify(message, signature)
}

/// Verifies a signature (FIPS 204 algorithm 3). 0 for a valid one only.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_verify(
    key: *const PublicKey,
    message: *const u8,
    message_len: usize,
    context: *const u8,
    context_len: usize,
    signature: *const u8,
    signature_len: usize,
) -> Status {
    // SAFETY: the contract of the crate.
    guard(|| unsafe {
        let (message, context) = (items(message, message_len)?, items(context, context_len)?);
        let signed = Signed::Pure(message, self::context(context)?);
        verify(key, signature, signature_len, &signed)
    })
}

/// Verifies a HashML-DSA signature (FIPS 204 algorithm 5) from the digest. `hash` is an
/// `MLDSA_HASH` number; a hash weaker than the parameter set is rejected.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_verify_prehashed(
    key: *const PublicKey,
    hash: u32,
    digest: *const u8,
    digest_len: usize,
    context: *const u8,
    context_len: usize,
    signature: *const u8,
    signature_len: usize,
) -> Status {
    // SAFETY: the contract of the crate.
    guard(|| unsafe {
        let (digest, context) = (items(digest, digest_len)?, items(context, context_len)?);
        let signed = Signed::PreHashed(self::hash(hash)?, digest, self::context(context)?);
        verify(key, signature, signature_len, &signed)
    })
}

/// Verifies a signature of a message representative of 64 bytes.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_verify_mu(
    key: *const PublicKey,
    mu: *const u8,
    mu_len: usize,
    signature: *const u8,
    signature_len: usize,
) -> Status {
    // SAFETY: the contract of the crate.
    guard(|| unsafe {
        let signed = Signed::Mu(self::mu(items(mu, mu_len)?)?);
        verify(key, signature, signature_len, &signed)
    })
}
