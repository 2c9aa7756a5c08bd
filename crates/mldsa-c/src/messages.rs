//! Message representatives, and the input of EIP-8355.

use mldsa_core::{Context, Mu, MuBuilder, PreHash};
use mldsa_evm_precompile::Precompile as _;

use crate::boundary::{free, guard, handle, items, output, store, write};
use crate::{PublicKey, Status};

/// Bytes of a message representative.
pub const MU_LEN: usize = 64;

/// A message representative in the making: it streams a message of any length. One thread at a
/// time uses it.
#[derive(Debug)]
pub struct MuState(MuBuilder);

pub(crate) fn context(bytes: &[u8]) -> Result<Context<'_>, Status> {
    Context::new(bytes).map_err(|_| Status::ContextLength)
}

pub(crate) fn mu(bytes: &[u8]) -> Result<Mu, Status> {
    let bytes: &[u8; MU_LEN] = bytes.try_into().map_err(|_| Status::DigestLength)?;
    Ok(Mu::from_bytes(*bytes))
}

/// Returns the hash with a number from 1: the last byte of its object identifier.
pub(crate) fn hash(number: u32) -> Result<PreHash, Status> {
    let hashes = PreHash::ALL.into_iter();
    let mut hashes = hashes.filter(|hash| u32::from(hash.oid()[10]) == number);
    hashes.next().ok_or(Status::Argument)
}

/// Begins a message representative under a public key. Free it with `mldsa_mu_free`.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_mu_new(
    key: *const PublicKey,
    context: *const u8,
    context_len: usize,
    mu: *mut *mut MuState,
) -> Status {
    // SAFETY: the contract of the crate.
    unsafe {
        store(mu, || {
            let (key, bytes) = (handle(key)?, items(context, context_len)?);
            let context = self::context(bytes)?;
            Ok(MuState(MuBuilder::from_tr(key.key.tr(), context)))
        })
    }
}

/// Appends a piece of the message.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_mu_update(
    mu: *mut MuState,
    message: *const u8,
    message_len: usize,
) -> Status {
    // SAFETY: the contract of the crate: no other thread uses the handle.
    guard(|| unsafe {
        let mu = mu.as_mut().ok_or(Status::NullPointer)?;
        mu.0.update(items(message, message_len)?);
        Ok(())
    })
}

/// Writes the representative of the message so far: exactly 64 bytes.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_mu_finish(
    mu: *const MuState,
    out: *mut u8,
    out_len: usize,
) -> Status {
    guard(|| {
        // SAFETY: the contract of the crate.
        let (mu, out) = unsafe { (handle(mu)?, output(out, out_len)?) };
        if out.len() != MU_LEN {
            return Err(Status::BufferLength);
        }
        out.copy_from_slice(mu.0.clone().finish().as_bytes());
        Ok(())
    })
}

/// Frees and wipes the state. Null is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_mu_free(mu: *mut MuState) {
    // SAFETY: the contract of the crate.
    unsafe { free(mu) }
}

/// Executes the precompile of EIP-8355: `input` is public key, signature and message, concatenated.
/// Writes the price in gas and whether the signature is valid (1 or 0); a malformed input is not
/// valid. `MLDSA_STATUS_OUT_OF_GAS` if the limit is below the price: nothing was verified.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_eip8355(
    set: u32,
    input: *const u8,
    input_len: usize,
    gas_limit: u64,
    gas_used: *mut u64,
    valid: *mut u8,
) -> Status {
    // SAFETY: the contract of the crate.
    guard(|| unsafe {
        write(gas_used, 0)?;
        write(valid, 0)?;
        let input = items(input, input_len)?;
        let set = crate::public_key::set(set)?;
        write(gas_used, set.gas(input.len()))?;
        let output = set.execute(input, gas_limit).ok_or(Status::OutOfGas)?;
        write(valid, output.valid.into())
    })
}

/// SHA-256.
pub const HASH_SHA2_256: u32 = 1;
/// SHA-384.
pub const HASH_SHA2_384: u32 = 2;
/// SHA-512.
pub const HASH_SHA2_512: u32 = 3;
/// SHA-224.
pub const HASH_SHA2_224: u32 = 4;
/// SHA-512/224.
pub const HASH_SHA2_512_224: u32 = 5;
/// SHA-512/256.
pub const HASH_SHA2_512_256: u32 = 6;
/// SHA3-224.
pub const HASH_SHA3_224: u32 = 7;
/// SHA3-256.
pub const HASH_SHA3_256: u32 = 8;
/// SHA3-384.
pub const HASH_SHA3_384: u32 = 9;
/// SHA3-512.
pub const HASH_SHA3_512: u32 = 10;
/// SHAKE128 with 32 bytes of output.
pub const HASH_SHAKE128: u32 = 11;
/// SHAKE256 with 64 bytes of output.
pub const HASH_SHAKE256: u32 = 12;
