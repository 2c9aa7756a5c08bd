//! Private keys and signing.

use core::fmt;
use std::sync::OnceLock;

use mldsa_core::no_alloc::SignInto;
use mldsa_core::pkcs8::DecodePrivateKey;
use mldsa_core::{
    MlDsa44, MlDsa65, MlDsa87, PreHashed, PreparedSigningKey, PrivateKeyForm, Randomness,
    SigningKey, zeroize_stack,
};

use crate::boundary::{copy_out, free, guard, handle, items, sized_buffer, store};
use crate::messages::{context, hash, mu};
use crate::public_key::Signed;
use crate::set::{Numbered, with_set};
use crate::{PublicKey, Status};

/// Bytes of a seed.
pub const SEED_LEN: usize = 32;

/// Stack that may hold parts of a private key while it is made or used.
const STACK: usize = 128 * 1024;

/// A private key of any parameter set, wiped when it is freed. Any number of threads at once.
pub struct PrivateKey(Box<dyn Signer>);

impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PrivateKey").field(&self.0.set()).finish()
    }
}

/// A private key without its type.
trait Signer: Send + Sync {
    fn set(&self) -> u32;
    fn seed(&self) -> Option<&[u8; SEED_LEN]>;
    fn expanded(&self) -> &[u8];
    fn public_key(&self) -> PublicKey;
    fn pkcs8(
        &self,
        form: PrivateKeyForm,
        write: &mut dyn FnMut(&[u8]) -> Result<(), Status>,
    ) -> Result<(), Status>;
    fn prepare(&self);
    fn signature_len(&self) -> usize;
    fn sign(
        &self,
        message: &Signed<'_>,
        randomness: Option<&[u8; 32]>,
        out: &mut [u8],
    ) -> Result<(), Status>;
}

struct Key<P: Numbered> {
    key: SigningKey<P>,
    prepared: OnceLock<PreparedSigningKey<P>>,
}

impl<P: Numbered> Signer for Key<P> {
    fn set(&self) -> u32 {
        P::NUMBER
    }

    fn seed(&self) -> Option<&[u8; SEED_LEN]> {
        self.key.seed()
    }

    fn expanded(&self) -> &[u8] {
        self.key.expanded().as_ref()
    }

    fn public_key(&self) -> PublicKey {
        PublicKey::new(self.key.verifying_key().clone())
    }

    fn pkcs8(
        &self,
        form: PrivateKeyForm,
        write: &mut dyn FnMut(&[u8]) -> Result<(), Status>,
    ) -> Result<(), Status> {
        let document = self.key.to_pkcs8_der_as(form);
        write(document.map_err(|_| Status::NoSeed)?.as_bytes())
    }

    fn prepare(&self) {
        self.prepared.get_or_init(|| self.key.prepare());
    }

    fn signature_len(&self) -> usize {
        P::SIG_LEN
    }

    fn sign(
        &self,
        message: &Signed<'_>,
        randomness: Option<&[u8; 32]>,
        out: &mut [u8],
    ) -> Result<(), Status> {
        let mut fresh = [0; 32];
        if randomness.is_none() {
            fill_random(&mut fresh)?;
        }
        let randomness = Randomness::Hedged(randomness.unwrap_or(&fresh));
        let key: &dyn SignInto<P> = match self.prepared.get() {
            Some(key) => key,
            None => &self.key,
        };
        // The buffer of the caller stays as it is after an error.
        let mut signature = vec![0; P::SIG_LEN];
        match message {
            Signed::Pure(message, context) => {
                key.sign_into(message, *context, randomness, &mut signature)
            }
            Signed::Mu(mu) => key.sign_mu_into(mu, randomness, &mut signature),
            Signed::PreHashed(hash, digest, context) => {
                let digest = PreHashed::new(*hash, digest)?;
                key.sign_prehashed_into(&digest, *context, randomness, &mut signature)
            }
        }?;
        out.copy_from_slice(&signature);
        Ok(())
    }
}

/// Fills a buffer from the operating system's generator.
fn fill_random(bytes: &mut [u8; 32]) -> Result<(), Status> {
    use mldsa_core::rand_core::TryRng;
    let filled = mldsa_core::SysRng.try_fill_bytes(bytes);
    filled.map_err(|_| Status::Random)
}

impl PrivateKey {
    /// The result of `make` in its final place; the stack on which it was made is wiped.
    fn new<P: Numbered>(
        make: impl FnOnce() -> Result<SigningKey<P>, Status>,
    ) -> Result<Self, Status> {
        zeroize_stack::<STACK, _>(|| {
            let (key, prepared) = (make()?, OnceLock::new());
            Ok(Self(Box::new(Key { key, prepared })))
        })
    }
}

/// Generates a private key with the operating system's generator. Free it with
/// `mldsa_private_key_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_private_key_generate(set: u32, key: *mut *mut PrivateKey) -> Status {
    let make = || {
        with_set!(set, P => PrivateKey::new(|| {
            SigningKey::<P>::generate().map_err(|_| Status::Random)
        }))
    };
    // SAFETY: the contract of the crate.
    unsafe { store(key, make) }
}

/// Makes a private key from its seed of 32 bytes (FIPS 204 algorithm 6).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_private_key_from_seed(
    set: u32,
    seed: *const u8,
    seed_len: usize,
    key: *mut *mut PrivateKey,
) -> Status {
    let make = || {
        // SAFETY: the contract of the crate.
        let seed = unsafe { items(seed, seed_len) }?;
        let seed: &[u8; SEED_LEN] = seed.try_into().map_err(|_| Status::KeyLength)?;
        with_set!(set, P => PrivateKey::new(|| Ok(SigningKey::<P>::from_seed(seed))))
    };
    // SAFETY: the contract of the crate.
    unsafe { store(key, make) }
}

/// Makes a private key from its expanded encoding of 2560, 4032 or 4896 bytes. Every part is
/// checked, at the cost of a key generation. The seed of such a key is not known.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_private_key_from_expanded(
    set: u32,
    expanded: *const u8,
    expanded_len: usize,
    key: *mut *mut PrivateKey,
) -> Status {
    let make = || {
        // SAFETY: the contract of the crate.
        let expanded = unsafe { items(expanded, expanded_len) }?;
        with_set!(set, P => PrivateKey::new(|| {
            Ok(SigningKey::<P>::from_expanded_bytes(expanded)?)
        }))
    };
    // SAFETY: the contract of the crate.
    unsafe { store(key, make) }
}

/// Makes a private key from PKCS#8 (RFC 9881: seed, expanded key or both), in DER or in PEM. The
/// parameter set is in it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_private_key_from_pkcs8(
    pkcs8: *const u8,
    pkcs8_len: usize,
    key: *mut *mut PrivateKey,
) -> Status {
    fn read<P: Numbered>(bytes: &[u8]) -> Option<PrivateKey> {
        let read = || match SigningKey::<P>::from_pkcs8_der(bytes) {
            Ok(key) => Ok(key),
            Err(_) => SigningKey::<P>::from_pkcs8_pem(bytes),
        };
        PrivateKey::new(|| read().map_err(|_| Status::Encoding)).ok()
    }
    let make = || {
        // SAFETY: the contract of the crate.
        let bytes = unsafe { items(pkcs8, pkcs8_len) }?;
        let key = read::<MlDsa44>(bytes).or_else(|| read::<MlDsa65>(bytes));
        key.or_else(|| read::<MlDsa87>(bytes))
            .ok_or(Status::Encoding)
    };
    // SAFETY: the contract of the crate.
    unsafe { store(key, make) }
}

/// Wipes and frees a private key. Null is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_private_key_free(key: *mut PrivateKey) {
    // SAFETY: the contract of the crate.
    unsafe { free(key) }
}

/// The parameter set of a private key; 0 for null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_private_key_set(key: *const PrivateKey) -> u32 {
    // SAFETY: the contract of the crate.
    unsafe { handle(key) }.map_or(0, |key| key.0.set())
}

/// Copies the seed: 32 secret bytes. `MLDSA_STATUS_NO_SEED` for a key that came without.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_private_key_seed(
    key: *const PrivateKey,
    buffer: *mut u8,
    len: *mut usize,
) -> Status {
    guard(|| {
        // SAFETY: the contract of the crate.
        let seed = unsafe { handle(key) }?.0.seed().ok_or(Status::NoSeed)?;
        // SAFETY: the contract of the crate.
        unsafe { copy_out(seed, buffer, len) }
    })
}

/// Copies the expanded encoding: secret.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_private_key_expanded(
    key: *const PrivateKey,
    buffer: *mut u8,
    len: *mut usize,
) -> Status {
    // SAFETY: the contract of the crate.
    guard(|| unsafe { copy_out(handle(key)?.0.expanded(), buffer, len) })
}

/// PKCS#8 with the seed alone: 54 bytes.
pub const PKCS8_SEED: u32 = 0;
/// PKCS#8 with the expanded key alone.
pub const PKCS8_EXPANDED: u32 = 1;
/// PKCS#8 with seed and expanded key.
pub const PKCS8_BOTH: u32 = 2;

/// Copies PKCS#8 in DER, in one of the forms `MLDSA_PKCS8`: secret.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_private_key_pkcs8(
    key: *const PrivateKey,
    form: u32,
    buffer: *mut u8,
    len: *mut usize,
) -> Status {
    guard(|| {
        let form = match form {
            PKCS8_SEED => PrivateKeyForm::Seed,
            PKCS8_EXPANDED => PrivateKeyForm::Expanded,
            PKCS8_BOTH => PrivateKeyForm::Both,
            _ => return Err(Status::Argument),
        };
        // SAFETY: the contract of the crate.
        let key = unsafe { handle(key) }?;
        // SAFETY: the contract of the crate.
        key.0
            .pkcs8(form, &mut |bytes| unsafe { copy_out(bytes, buffer, len) })
    })
}

/// Makes the public key of a private key. Free it with `mldsa_public_key_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_private_key_public_key(
    key: *const PrivateKey,
    public_key: *mut *mut PublicKey,
) -> Status {
    // SAFETY: the contract of the crate.
    unsafe { store(public_key, || Ok(handle(key)?.0.public_key())) }
}

/// Expands the key once, for keys that sign often. Idempotent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_private_key_prepare(key: *const PrivateKey) -> Status {
    guard(|| {
        // SAFETY: the contract of the crate.
        let key = unsafe { handle(key) }?;
        zeroize_stack::<STACK, _>(|| key.0.prepare());
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
    let key = unsafe { handle(key) }?;
    // SAFETY: the contract of this function.
    let randomness = unsafe { randomness.cast::<[u8; 32]>().as_ref() };
    // SAFETY: the contract of this function.
    let out = unsafe { sized_buffer(key.0.signature_len(), signature, signature_len) }?;
    key.0.sign(&message, randomness, out)
}

/// Signs a message (FIPS 204 algorithm 2). `randomness`: null for 32 fresh bytes of the operating
/// system (hedged, recommended), or 32 bytes; 32 zero bytes are deterministic signing.
/// `*signature_len` is the size of the buffer before and of the signature after the call.
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
    guard(|| {
        // SAFETY: the contract of the crate.
        let (message, context) =
            unsafe { (items(message, message_len)?, items(context, context_len)?) };
        let message = Signed::Pure(message, self::context(context)?);
        // SAFETY: the contract of the crate.
        unsafe { sign(key, randomness, signature, signature_len, message) }
    })
}

/// Signs a digest (HashML-DSA, FIPS 204 algorithm 4). `hash` is an `MLDSA_HASH` number; a hash
/// weaker than the parameter set is rejected. The rest as `mldsa_sign`.
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
    guard(|| {
        // SAFETY: the contract of the crate.
        let (digest, context) =
            unsafe { (items(digest, digest_len)?, items(context, context_len)?) };
        let message = Signed::PreHashed(self::hash(hash)?, digest, self::context(context)?);
        // SAFETY: the contract of the crate.
        unsafe { sign(key, randomness, signature, signature_len, message) }
    })
}

/// Signs a message representative of 64 bytes. The rest as `mldsa_sign`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_sign_mu(
    key: *const PrivateKey,
    mu: *const u8,
    mu_len: usize,
    randomness: *const u8,
    signature: *mut u8,
    signature_len: *mut usize,
) -> Status {
    guard(|| {
        // SAFETY: the contract of the crate.
        let message = Signed::Mu(self::mu(unsafe { items(mu, mu_len) }?)?);
        // SAFETY: the contract of the crate.
        unsafe { sign(key, randomness, signature, signature_len, message) }
    })
}
