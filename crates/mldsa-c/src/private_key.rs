//! Private keys and signing.

use std::sync::OnceLock;

use mldsa_core::internals::hedged;
use mldsa_core::{
    AnyPreparedSigningKey, AnySigningKey, PrivateKeyForm, Randomness, SysRng, with_set,
    zeroize_stack,
};

use crate::boundary::{copy_out, fill_out, free, guard, handle, items, store};
use crate::key_file::{PemPlace, clear, read};
use crate::messages::{context, hash, mu};
use crate::public_key::{Signed, number, set};
use crate::{PublicKey, Status};

/// Bytes of a seed.
pub const SEED_LEN: usize = 32;

/// Bytes of stack that may hold parts of a private key while it is made or prepared.
/// `tests/c/wipe.c` searches what is left.
const STACK: usize = 48 * 1024;

/// A private key of any parameter set, wiped when it is freed. Any number of threads at once.
/// Each signature is verified before it is released, see
/// `mldsa_private_key_set_self_verification`.
#[derive(Debug)]
pub struct PrivateKey {
    key: AnySigningKey,
    prepared: OnceLock<AnyPreparedSigningKey>,
}

impl PrivateKey {
    /// Returns the key that `make` puts on the heap; the stack on which it was made is wiped.
    fn new(make: impl FnOnce() -> Result<AnySigningKey, Status>) -> Result<Self, Status> {
        let key = zeroize_stack::<STACK, _>(make)?;
        let prepared = OnceLock::new();
        Ok(Self { key, prepared })
    }

    fn prepare(&self) -> &AnyPreparedSigningKey {
        self.prepared
            .get_or_init(|| zeroize_stack::<STACK, _>(|| self.key.prepare()))
    }

    fn set_self_verification(&mut self, on: bool) {
        with_set!(AnySigningKey, &mut self.key, key => key.set_self_verification(on));
        if self.prepared.take().is_some() {
            self.prepare();
        }
    }

    fn sign(
        &self,
        message: &Signed<'_>,
        randomness: Option<&[u8; 32]>,
        out: &mut [u8],
    ) -> Result<(), Status> {
        // The matrix of a key that is not prepared has no place on the stack of a small thread.
        let once;
        let key = match self.prepared.get() {
            Some(key) => key,
            None => {
                once = zeroize_stack::<STACK, _>(|| self.key.prepare());
                &once
            }
        };
        let sign = |randomness: Randomness<'_>| -> Result<_, Status> {
            Ok(match message {
                Signed::Pure(message, context) => {
                    key.sign_with_context(message, *context, randomness)
                }
                Signed::Digest(hash, digest, context) => {
                    key.sign_prehashed(*hash, digest, *context, randomness)?
                }
                Signed::Mu(mu) => key.sign_mu(mu, randomness),
            }?)
        };
        // The buffer of the caller stays as it is after an error.
        let signature = match randomness {
            Some(randomness) => sign(Randomness::Hedged(randomness)),
            None => hedged(&mut SysRng, sign),
        }?;
        out.copy_from_slice(&signature);
        Ok(())
    }
}

/// Generates a private key with the operating system's generator. Free it with
/// `mldsa_private_key_free`.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_private_key_generate(set: u32, key: *mut *mut PrivateKey) -> Status {
    let make = || {
        let set = self::set(set)?;
        PrivateKey::new(|| Ok(AnySigningKey::generate(set)?))
    };
    // SAFETY: the contract of the crate.
    unsafe { store(key, make) }
}

/// Makes a private key from its seed of 32 bytes (FIPS 204 algorithm 6).
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_private_key_from_seed(
    set: u32,
    seed: *const u8,
    seed_len: usize,
    key: *mut *mut PrivateKey,
) -> Status {
    // SAFETY: the contract of the crate.
    unsafe {
        store(key, || {
            let seed = items(seed, seed_len)?;
            let seed: &[u8; SEED_LEN] = seed.try_into().map_err(|_| Status::KeyLength)?;
            let set = self::set(set)?;
            PrivateKey::new(|| Ok(AnySigningKey::from_seed(set, seed)))
        })
    }
}

/// Makes a private key from its expanded encoding of 2560, 4032 or 4896 bytes. Every part is
/// checked, at the cost of a key generation. The seed of such a key is not known.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_private_key_from_expanded(
    set: u32,
    expanded: *const u8,
    expanded_len: usize,
    key: *mut *mut PrivateKey,
) -> Status {
    // SAFETY: the contract of the crate.
    unsafe {
        store(key, || {
            let (set, expanded) = (self::set(set)?, items(expanded, expanded_len)?);
            if expanded.len() != set.private_key_len() {
                return Err(Status::KeyLength);
            }
            PrivateKey::new(|| Ok(AnySigningKey::from_expanded_bytes(expanded)?))
        })
    }
}

/// Makes a private key from PKCS#8 (RFC 9881: seed, expanded key or both), in DER or in PEM. The
/// parameter set is in it. `place`: null, or where a PEM text is wrong.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_private_key_from_pkcs8(
    pkcs8: *const u8,
    pkcs8_len: usize,
    key: *mut *mut PrivateKey,
    place: *mut PemPlace,
) -> Status {
    let (der, pem) = (AnySigningKey::from_pkcs8_der, AnySigningKey::from_pkcs8_pem);
    // SAFETY: the contract of the crate.
    unsafe {
        clear(place);
        store(key, || {
            let pkcs8 = items(pkcs8, pkcs8_len)?;
            PrivateKey::new(|| read(pkcs8, der, pem, place))
        })
    }
}

/// Wipes and frees a private key. Null is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_private_key_free(key: *mut PrivateKey) {
    // SAFETY: the contract of the crate.
    unsafe { free(key) }
}

/// Returns the parameter set of a private key; 0 for null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_private_key_set(key: *const PrivateKey) -> u32 {
    // SAFETY: the contract of the crate.
    unsafe { handle(key) }.map_or(0, |key| number(key.key.set()))
}

/// Copies the seed: 32 secret bytes. `MLDSA_STATUS_NO_SEED` for a key that came without.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_private_key_seed(
    key: *const PrivateKey,
    buffer: *mut u8,
    len: *mut usize,
) -> Status {
    // SAFETY: the contract of the crate.
    guard(|| unsafe {
        let seed = handle(key)?.key.seed().ok_or(Status::NoSeed)?;
        copy_out(seed, buffer, len)
    })
}

/// Copies the expanded encoding: secret.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_private_key_expanded(
    key: *const PrivateKey,
    buffer: *mut u8,
    len: *mut usize,
) -> Status {
    // SAFETY: the contract of the crate.
    guard(|| unsafe { copy_out(handle(key)?.key.expanded(), buffer, len) })
}

/// PKCS#8 with the seed alone: 54 bytes.
pub const PKCS8_SEED: u32 = 0;
/// PKCS#8 with the expanded key alone.
pub const PKCS8_EXPANDED: u32 = 1;
/// PKCS#8 with seed and expanded key.
pub const PKCS8_BOTH: u32 = 2;

/// Copies PKCS#8 in DER, in one of the forms `MLDSA_PKCS8`: secret.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_private_key_pkcs8(
    key: *const PrivateKey,
    form: u32,
    buffer: *mut u8,
    len: *mut usize,
) -> Status {
    // SAFETY: the contract of the crate.
    guard(|| unsafe {
        let form = match form {
            PKCS8_SEED => PrivateKeyForm::Seed,
            PKCS8_EXPANDED => PrivateKeyForm::Expanded,
            PKCS8_BOTH => PrivateKeyForm::Both,
            _ => return Err(Status::Argument),
        };
        let document = handle(key)?.key.to_pkcs8_der_as(form);
        copy_out(
            document.map_err(|_| Status::NoSeed)?.as_bytes(),
            buffer,
            len,
        )
    })
}

/// Makes the public key of a private key. Free it with `mldsa_public_key_free`.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_private_key_public_key(
    key: *const PrivateKey,
    public_key: *mut *mut PublicKey,
) -> Status {
    // SAFETY: the contract of the crate.
    unsafe {
        store(public_key, || {
            Ok(PublicKey::new(handle(key)?.key.verifying_key()))
        })
    }
}

/// Expands the key once, for keys that sign often. Idempotent.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_private_key_prepare(key: *const PrivateKey) -> Status {
    // SAFETY: the contract of the crate.
    guard(|| {
        // SAFETY: the contract of the crate.
        let _ = unsafe { handle(key) }?.prepare();
        Ok(())
    })
}

/// Turns the verification of each signature before its release on (1, the default) or off (0).
/// It detects faults of the machine during signing, after which a signature can reveal the key;
/// such a signature is `MLDSA_STATUS_SIGNING`. No other thread uses the handle meanwhile.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_private_key_set_self_verification(
    key: *mut PrivateKey,
    on: u32,
) -> Status {
    // SAFETY: the contract of the crate: no other thread uses the handle.
    guard(|| unsafe {
        let key = key.as_mut().ok_or(Status::NullPointer)?;
        if on > 1 {
            return Err(Status::Argument);
        }
        key.set_self_verification(on == 1);
        Ok(())
    })
}

/// Signs into a buffer of the caller.
///
/// # Safety
/// The contract of the crate.
unsafe fn sign(
    key: *const PrivateKey,
    randomness: *const u8,
    signature: *mut u8,
    signature_len: *mut usize,
    message: Signed<'_>,
) -> Result<(), Status> {
    // SAFETY: the contract of this function.
    unsafe {
        let (key, randomness) = (handle(key)?, randomness.cast::<[u8; 32]>().as_ref());
        let len = key.key.set().signature_len();
        fill_out(len, signature, signature_len, |out| {
            key.sign(&message, randomness, out)
        })
    }
}

/// Signs a message (FIPS 204 algorithm 2). `randomness`: null for 32 fresh bytes of the operating
/// system (hedged, recommended), or 32 bytes; 32 zero bytes are deterministic signing. A generator
/// that fails is `MLDSA_STATUS_RANDOM`, one that returns zeros `MLDSA_STATUS_ZERO_RANDOMNESS`.
/// `*signature_len` is the size of the buffer before and of the signature after the call. After an
/// error both are as before, except that `*signature_len` is the needed size after
/// `MLDSA_STATUS_BUFFER_LENGTH`.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_sign(
    key: *const PrivateKey,
    message: *const u8,
    message_len: usize,
    context: *const u8,
    context_len: usize,
    randomness: *const u8,
    signature: *mut u8,
    signature_len: *mut usize,
) -> Status {
    // SAFETY: the contract of the crate.
    guard(|| unsafe {
        let (message, context) = (items(message, message_len)?, items(context, context_len)?);
        let message = Signed::Pure(message, self::context(context)?);
        sign(key, randomness, signature, signature_len, message)
    })
}

/// Signs a digest (HashML-DSA, FIPS 204 algorithm 4). `hash` is an `MLDSA_HASH` number; a hash
/// weaker than the parameter set is rejected. The rest as `mldsa_sign`.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_sign_prehashed(
    key: *const PrivateKey,
    hash: u32,
    digest: *const u8,
    digest_len: usize,
    context: *const u8,
    context_len: usize,
    randomness: *const u8,
    signature: *mut u8,
    signature_len: *mut usize,
) -> Status {
    // SAFETY: the contract of the crate.
    guard(|| unsafe {
        let (digest, context) = (items(digest, digest_len)?, items(context, context_len)?);
        let (hash, context) = (self::hash(hash)?, self::context(context)?);
        let message = Signed::Digest(hash, digest, context);
        sign(key, randomness, signature, signature_len, message)
    })
}

/// Signs a message representative of 64 bytes. The rest as `mldsa_sign`.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_sign_mu(
    key: *const PrivateKey,
    mu: *const u8,
    mu_len: usize,
    randomness: *const u8,
    signature: *mut u8,
    signature_len: *mut usize,
) -> Status {
    // SAFETY: the contract of the crate.
    guard(|| unsafe {
        let message = Signed::Mu(self::mu(items(mu, mu_len)?)?);
        sign(key, randomness, signature, signature_len, message)
    })
}
