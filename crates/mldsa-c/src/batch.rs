//! Batches of signatures under keys that are in no committee.

use batch_verify::{AnyBatchVerifier, Item as CoreItem, Threads};
use mldsa_core::Set;

use crate::boundary::{free, guard, handle, items, output, store};
use crate::messages::context;
use crate::public_key::set;
use crate::status::{Verdict, verdict_byte};
use crate::{Status, VERDICT_VALID};

/// Verification on the threads of a pool that all handles of the process share.
pub const THREADS_SHARED: u32 = 0;
/// Verification on the calling thread.
pub const THREADS_CALLING: u32 = 1;

pub(crate) fn threads_of(number: u32) -> Result<Threads, Status> {
    match number {
        THREADS_SHARED => Ok(Threads::Shared),
        THREADS_CALLING => Ok(Threads::Inline),
        _ => Err(Status::Argument),
    }
}

/// One signature with its public key.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Item {
    /// The encoded public key.
    pub public_key: *const u8,
    /// Length of `public_key` in bytes.
    pub public_key_len: usize,
    /// The message.
    pub message: *const u8,
    /// Length of `message` in bytes.
    pub message_len: usize,
    /// The signature.
    pub signature: *const u8,
    /// Length of `signature` in bytes.
    pub signature_len: usize,
}

/// One signature with its public key, as offsets into one buffer.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct PackedItem {
    /// Offset of the encoded public key from the start of the data, in bytes.
    pub public_key: u32,
    /// Length of `public_key` in bytes.
    pub public_key_len: u32,
    /// Offset of the message from the start of the data, in bytes.
    pub message: u32,
    /// Length of `message` in bytes.
    pub message_len: u32,
    /// Offset of the signature from the start of the data, in bytes.
    pub signature: u32,
    /// Length of `signature` in bytes.
    pub signature_len: u32,
}

pub(crate) fn part(data: &[u8], offset: u32, len: u32) -> Result<&[u8], Status> {
    let rest = data.get(offset as usize..).ok_or(Status::OutOfBounds)?;
    rest.get(..len as usize).ok_or(Status::OutOfBounds)
}

/// Verifies batches of signatures. Keys that sign often are expanded once. Any number of threads at
/// once.
#[derive(Debug)]
pub struct BatchHandle {
    verifier: AnyBatchVerifier,
    /// The set of all items, unless each key has its own.
    set: Option<Set>,
}

impl BatchHandle {
    fn verify<'a>(&self, items: &mut dyn Iterator<Item = CoreItem<'a>>) -> Vec<Verdict> {
        let report = match self.set {
            Some(set) => self.verifier.verify_batch(items.map(|item| (set, item))),
            None => self.verifier.verify_batch(items),
        };
        report.into_verdicts()
    }
}

/// Returns the verdicts of the caller, each of them "not verified" whatever error follows.
///
/// # Safety
/// `verdicts` is null or valid for reads and writes of `count` bytes.
pub(crate) unsafe fn verdicts_out<'a>(
    verdicts: *mut u8,
    count: usize,
) -> Result<&'a mut [u8], Status> {
    // SAFETY: the contract of this function.
    let out = unsafe { output(verdicts, count) }?;
    out.fill(0);
    Ok(out)
}

/// Writes one byte per item to `out`, whose bytes are 0: the verdicts of `verify` for the items that can be read, and the
/// status of the others. Success if there is an item and all are valid.
pub(crate) fn each<T>(
    items: impl Iterator<Item = Result<T, Status>>,
    out: &mut [u8],
    verify: impl FnOnce(&mut dyn Iterator<Item = T>) -> Vec<Verdict>,
) -> Result<(), Status> {
    if out.is_empty() {
        return Err(Status::EmptyBatch);
    }
    let mut readable = Vec::with_capacity(out.len());
    let mut items = items.enumerate().filter_map(|(index, item)| match item {
        Ok(item) => {
            readable.push(index);
            Some(item)
        }
        Err(status) => {
            out[index] = status as u8;
            None
        }
    });
    let verdicts = verify(&mut items);
    drop(items);
    for (index, verdict) in readable.into_iter().zip(verdicts) {
        out[index] = verdict_byte(verdict);
    }
    match out.iter().all(|byte| *byte == VERDICT_VALID) {
        true => Ok(()),
        false => Err(Status::Rejected),
    }
}

/// In place of a parameter set: the length of each public key tells its set.
pub const SET_ANY: u32 = 1;

/// Makes a verifier of batches of one parameter set, or of `MLDSA_ANY`. `threads` is one of
/// `MLDSA_THREADS`; expanded keys of each set take at most `cache_bytes` bytes. Free it with
/// `mldsa_batch_free`.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_batch_new(
    set: u32,
    threads: u32,
    cache_bytes: usize,
    batch: *mut *mut BatchHandle,
) -> Status {
    let make = || {
        let set = match set {
            SET_ANY => None,
            set => Some(self::set(set)?),
        };
        let builder = AnyBatchVerifier::builder().threads(threads_of(threads)?);
        let verifier = builder.key_cache_bytes(cache_bytes).build()?;
        Ok(BatchHandle { verifier, set })
    };
    // SAFETY: the contract of the crate.
    unsafe { store(batch, make) }
}

/// Frees a batch verifier. Null is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_batch_free(batch: *mut BatchHandle) {
    // SAFETY: the contract of the crate.
    unsafe { free(batch) }
}

/// Verifies `count` items under one context and writes one verdict for each: `MLDSA_VERDICT_VALID`
/// or the status of the rejection. Each verdict is the one that the item alone would have.
/// 0 if there is an item and all are valid; `MLDSA_STATUS_REJECTED` if some are not.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_batch_verify(
    batch: *const BatchHandle,
    context: *const u8,
    context_len: usize,
    items: *const Item,
    count: usize,
    verdicts: *mut u8,
) -> Status {
    // SAFETY: the contract of the crate.
    guard(|| unsafe {
        let out = verdicts_out(verdicts, count)?;
        let batch = handle(batch)?;
        let (context, list) = (
            self::items(context, context_len)?,
            self::items(items, count)?,
        );
        let context = self::context(context)?;
        let parts = list.iter().map(|item| {
            let key = self::items(item.public_key, item.public_key_len)?;
            let message = self::items(item.message, item.message_len)?;
            let signature = self::items(item.signature, item.signature_len)?;
            Ok(CoreItem::new(key, message, context, signature))
        });
        each(parts, out, |parts| batch.verify(parts))
    })
}

/// Verifies, as `mldsa_batch_verify`, items whose parts are in one buffer, for languages whose
/// memory must not contain pointers. A part outside of `data` is `MLDSA_STATUS_OUT_OF_BOUNDS`.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_batch_verify_packed(
    batch: *const BatchHandle,
    context: *const u8,
    context_len: usize,
    data: *const u8,
    data_len: usize,
    items: *const PackedItem,
    count: usize,
    verdicts: *mut u8,
) -> Status {
    // SAFETY: the contract of the crate.
    guard(|| unsafe {
        let out = verdicts_out(verdicts, count)?;
        let batch = handle(batch)?;
        let context = self::items(context, context_len)?;
        let (data, list) = (self::items(data, data_len)?, self::items(items, count)?);
        let context = self::context(context)?;
        let parts = list.iter().map(|item| {
            let key = part(data, item.public_key, item.public_key_len)?;
            let message = part(data, item.message, item.message_len)?;
            let signature = part(data, item.signature, item.signature_len)?;
            Ok(CoreItem::new(key, message, context, signature))
        });
        each(parts, out, |parts| batch.verify(parts))
    })
}
