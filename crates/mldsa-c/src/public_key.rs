//! Public keys and verification of one signature.

use std::sync::OnceLock;

use mldsa_core::spki::EncodePublicKey;
use mldsa_core::{
    AnyDecodedSignature, AnyPreparedVerifyingKey, AnyVerifyingKey, AsSignature, Context, Mu,
    PreHash, Set,
};

use crate::Status;
use crate::boundary::{copy_out, free, guard, handle, items, store};
use crate::key_file::{PemPlace, clear, read};
use crate::messages::{context, hash, mu};

/// ML-DSA-44.
pub const SET_44: u32 = 44;
/// ML-DSA-65.
pub const SET_65: u32 = 65;
/// ML-DSA-87.
pub const SET_87: u32 = 87;

/// Returns the parameter set of a number.
pub(crate) fn set(number: u32) -> Result<Set, Status> {
    match number {
        SET_44 => Ok(Set::MlDsa44),
        SET_65 => Ok(Set::MlDsa65),
        SET_87 => Ok(Set::MlDsa87),
        _ => Err(Status::UnknownSet),
    }
}

/// Returns the number of a parameter set.
pub(crate) const fn number(set: Set) -> u32 {
    match set {
        Set::MlDsa44 => SET_44,
        Set::MlDsa65 => SET_65,
        Set::MlDsa87 => SET_87,
    }
}

/// Returns the length of a public key in bytes: 1312, 1952 or 2592; 0 for an unknown parameter set.
#[unsafe(no_mangle)]
pub extern "C" fn mldsa_public_key_len(set: u32) -> usize {
    self::set(set).map_or(0, Set::public_key_len)
}

/// Returns the length of an expanded private key in bytes: 2560, 4032 or 4896; 0 for an unknown parameter set.
#[unsafe(no_mangle)]
pub extern "C" fn mldsa_expanded_key_len(set: u32) -> usize {
    self::set(set).map_or(0, Set::private_key_len)
}

/// Returns the length of a signature in bytes: 2420, 3309 or 4627; 0 for an unknown parameter set.
#[unsafe(no_mangle)]
pub extern "C" fn mldsa_signature_len(set: u32) -> usize {
    self::set(set).map_or(0, Set::signature_len)
}

/// A public key of any parameter set. Any number of threads at once.
#[derive(Debug)]
pub struct PublicKey {
    pub(crate) key: AnyVerifyingKey,
    prepared: OnceLock<AnyPreparedVerifyingKey>,
}

/// What is signed.
pub(crate) enum Signed<'a> {
    Pure(&'a [u8], Context<'a>),
    Digest(PreHash, &'a [u8], Context<'a>),
    Mu(Mu),
}

impl PublicKey {
    pub(crate) const fn new(key: AnyVerifyingKey) -> Self {
        let prepared = OnceLock::new();
        Self { key, prepared }
    }

    fn verify(
        &self,
        message: &Signed<'_>,
        signature: &(impl AsSignature + ?Sized),
    ) -> Result<(), Status> {
        let prepared = self.prepared.get();
        let verify_mu = |mu| match prepared {
            Some(key) => key.verify_mu(mu, signature),
            None => self.key.verify_mu(mu, signature),
        };
        let verified = match (prepared, message) {
            (Some(key), Signed::Pure(message, context)) => {
                key.verify_with_context(message, *context, signature)
            }
            (None, Signed::Pure(message, context)) => {
                self.key.verify_with_context(message, *context, signature)
            }
            (_, Signed::Digest(hash, digest, context)) => {
                verify_mu(&self.key.prehashed_mu(*hash, digest, *context)?)
            }
            (_, Signed::Mu(mu)) => verify_mu(mu),
        };
        Ok(verified?)
    }
}

/// Makes a public key from its encoding. A joined private key of ML-DSA-44 (seed and expanded key),
/// which has the length of a public key of ML-DSA-87, is `MLDSA_STATUS_PRIVATE`. Free it with `mldsa_public_key_free`.
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
            let (set, encoded) = (self::set(set)?, items(encoded, encoded_len)?);
            Ok(PublicKey::new(AnyVerifyingKey::from_bytes_of(
                set, encoded,
            )?))
        })
    }
}

/// Makes a public key from SubjectPublicKeyInfo (RFC 9881), in DER or in PEM. The parameter set
/// is in it. `place`: null, or where a PEM text is wrong.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_public_key_from_spki(
    spki: *const u8,
    spki_len: usize,
    key: *mut *mut PublicKey,
    place: *mut PemPlace,
) -> Status {
    let (der, pem) = (
        AnyVerifyingKey::from_public_key_der,
        AnyVerifyingKey::from_public_key_pem,
    );
    // SAFETY: the contract of the crate.
    unsafe {
        clear(place);
        store(key, || {
            read(items(spki, spki_len)?, der, pem, place).map(PublicKey::new)
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
    unsafe { handle(key) }.map_or(0, |key| number(key.key.set()))
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
    guard(|| unsafe { copy_out(handle(key)?.key.as_ref(), buffer, len) })
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
    guard(|| unsafe {
        let spki = handle(key)?.key.to_public_key_der();
        copy_out(spki.map_err(|_| Status::Internal)?.as_bytes(), buffer, len)
    })
}

/// Expands the key once, for keys that verify often: 20, 36 or 64 KiB, and a third of the time
/// or less for each later verification. Idempotent.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_public_key_prepare(key: *const PublicKey) -> Status {
    // SAFETY: the contract of the crate.
    guard(|| {
        // SAFETY: the contract of the crate.
        let key = unsafe { handle(key) }?;
        key.prepared.get_or_init(|| key.key.prepare());
        Ok(())
    })
}

/// A decoded signature of any parameter set. Any number of threads at once.
#[derive(Debug)]
pub struct Decoded(AnyDecodedSignature);

/// Decodes a signature (FIPS 204 algorithm 27): length and hint. Hosts that charge for
/// each step call `mldsa_public_key_new` and `mldsa_public_key_prepare`, this function and
/// `mldsa_verify_decoded`. Free it with `mldsa_signature_free`.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_signature_decode(
    set: u32,
    signature: *const u8,
    signature_len: usize,
    decoded: *mut *mut Decoded,
) -> Status {
    // SAFETY: the contract of the crate.
    unsafe {
        store(decoded, || {
            let (set, signature) = (self::set(set)?, items(signature, signature_len)?);
            Ok(Decoded(AnyDecodedSignature::decode(set, signature)?))
        })
    }
}

/// Frees a decoded signature. Null is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_signature_free(decoded: *mut Decoded) {
    // SAFETY: the contract of the crate.
    unsafe { free(decoded) }
}

/// Verifies as `mldsa_verify` does, with a decoded signature.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_verify_decoded(
    key: *const PublicKey,
    message: *const u8,
    message_len: usize,
    context: *const u8,
    context_len: usize,
    decoded: *const Decoded,
) -> Status {
    // SAFETY: the contract of the crate.
    guard(|| unsafe {
        let (message, context) = (items(message, message_len)?, items(context, context_len)?);
        let signed = Signed::Pure(message, self::context(context)?);
        handle(key)?.verify(&signed, &handle(decoded)?.0)
    })
}

/// Verifies a signature.
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
    key.verify(message, signature)
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
        let (hash, context) = (self::hash(hash)?, self::context(context)?);
        let signed = Signed::Digest(hash, digest, context);
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
