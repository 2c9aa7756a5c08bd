//! WebAssembly exports: keys in numbered slots, messages in pieces through a fixed window.
//!
//! JavaScript writes arguments into two windows of this module's memory ([`data`], [`message`])
//! and calls functions of numbers. Every function checks every number: a wrong one gets a
//! [`Status`]. No function keeps an address, so that memory may grow at any time.

#![no_std]
#![cfg(target_arch = "wasm32")]

extern crate alloc;

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::cell::{RefCell, UnsafeCell};

use mldsa_core::{AnyVerifyingKey, Context, Mu, MuBuilder, PreHash, PreHashed, Set, with_set};

#[cfg(feature = "full")]
mod committee;
#[cfg(feature = "files")]
mod files;
#[cfg(any(feature = "full", feature = "files"))]
mod private;
mod status;

use status::{Status, or_code};

#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

/// Ends the call by a trap. The caller discards the instance.
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    core::arch::wasm32::unreachable()
}

/// Bytes of a window.
const WINDOW: usize = 65_536;

/// Keys, one at a number.
enum Slot {
    Free,
    Public(Box<AnyVerifyingKey>),
    #[cfg(feature = "full")]
    Prepared(committee::Keys),
    #[cfg(any(feature = "full", feature = "files"))]
    Private(private::Private),
}

struct State {
    slots: Vec<Slot>,
    builder: Option<MuBuilder>,
    mu: Option<Mu>,
    #[cfg(feature = "full")]
    votes: Vec<committee::Vote>,
}

impl State {
    /// Puts keys into the first free slot.
    fn keep(&mut self, slot: Slot) -> Result<usize, Status> {
        if let Some(free) = self
            .slots
            .iter()
            .position(|slot| matches!(slot, Slot::Free))
        {
            self.slots[free] = slot;
            return Ok(free);
        }
        self.slots.try_reserve(1).map_err(|_| Status::Memory)?;
        self.slots.push(slot);
        Ok(self.slots.len() - 1)
    }

    /// Returns the set and `tr` of the key in a slot, or of a member of the committee there.
    fn tr(&self, slot: usize, member: usize) -> Result<(Set, &[u8; 64]), Status> {
        let _ = member;
        match self.slots.get(slot) {
            Some(Slot::Public(key)) => Ok((key.set(), key.tr())),
            #[cfg(feature = "full")]
            Some(Slot::Prepared(keys)) => keys.tr(member),
            #[cfg(any(feature = "full", feature = "files"))]
            Some(Slot::Private(key)) => Ok(key.tr()),
            _ => Err(Status::Slot),
        }
    }
}

/// Memory of the only thread.
struct Single<T>(T);

// SAFETY: the module is compiled without threads, and its memory is not shared.
unsafe impl<T> Sync for Single<T> {}

static STATE: Single<RefCell<State>> = Single(RefCell::new(State {
    slots: Vec::new(),
    builder: None,
    mu: None,
    #[cfg(feature = "full")]
    votes: Vec::new(),
}));

static DATA: Single<UnsafeCell<[u8; WINDOW]>> = Single(UnsafeCell::new([0; WINDOW]));
static MESSAGE: Single<UnsafeCell<[u8; WINDOW]>> = Single(UnsafeCell::new([0; WINDOW]));

fn with_state(step: impl FnOnce(&mut State) -> Result<usize, Status>) -> i32 {
    or_code(match STATE.0.try_borrow_mut() {
        Ok(mut state) => step(&mut state),
        Err(_) => Err(Status::Internal),
    })
}

/// Returns the first `len` bytes of a window, to read and to write.
#[allow(clippy::mut_from_ref, reason = "a cell, borrowed as the comment says")]
fn window(
    of: &'static Single<UnsafeCell<[u8; WINDOW]>>,
    len: usize,
) -> Result<&'static mut [u8], Status> {
    // SAFETY: there is one thread, and each exported function borrows each window once, until it
    // returns; JavaScript does not run meanwhile.
    let window = unsafe { &mut *of.0.get() };
    window.get_mut(..len).ok_or(Status::Length)
}

/// Returns the address of the window of keys, signatures and results, 65,536 bytes.
#[unsafe(no_mangle)]
pub extern "C" fn data() -> *mut u8 {
    DATA.0.get().cast()
}

/// Returns the address of the window of messages, digests and contexts, 65,536 bytes.
#[unsafe(no_mangle)]
pub extern "C" fn message() -> *mut u8 {
    MESSAGE.0.get().cast()
}

/// Returns the set of a number.
fn set_of(number: u32) -> Result<Set, Status> {
    let mut sets = [44, 65, 87].into_iter().zip(Set::ALL);
    let found = sets.find(|(known, _)| *known == number);
    Ok(found.ok_or(Status::Set)?.1)
}

/// Takes a public key of `len` bytes. Returns its slot. `prepare` other than 0 expands it for many
/// signatures.
#[unsafe(no_mangle)]
pub extern "C" fn public_key(set: u32, len: usize, prepare: u32) -> i32 {
    with_state(|state| {
        status::room_for_a_key()?;
        let (set, bytes) = (set_of(set)?, window(&DATA, len)?);
        #[cfg(feature = "full")]
        if prepare != 0 {
            let mut keys = committee::Keys::new(set);
            keys.add(bytes)?;
            return state.keep(Slot::Prepared(keys));
        }
        let _ = prepare;
        let key = AnyVerifyingKey::from_bytes_of(set, bytes)?;
        state.keep(Slot::Public(Box::new(key)))
    })
}

/// Frees a slot. What was secret in it is wiped.
#[unsafe(no_mangle)]
pub extern "C" fn close(slot: usize) -> i32 {
    with_state(|state| {
        match state.slots.get_mut(slot) {
            None | Some(Slot::Free) => return Err(Status::Slot),
            Some(used) => *used = Slot::Free,
        }
        Ok(0)
    })
}

/// Begins a message under a context of `context` bytes, for the key in a slot, or that of a member.
#[unsafe(no_mangle)]
pub extern "C" fn message_start(slot: usize, member: usize, context: usize) -> i32 {
    with_state(|state| {
        state.mu = None;
        let context = Context::new(window(&MESSAGE, context)?)?;
        let (_, tr) = state.tr(slot, member)?;
        state.builder = Some(MuBuilder::from_tr(tr, context));
        Ok(0)
    })
}

/// Continues the message with `len` bytes.
#[unsafe(no_mangle)]
pub extern "C" fn message_update(len: usize) -> i32 {
    with_state(|state| {
        let piece = window(&MESSAGE, len)?;
        state.builder.as_mut().ok_or(Status::Order)?.update(piece);
        Ok(0)
    })
}

/// Ends the message. The next call of `verify`, `sign` or `vote` takes it.
#[unsafe(no_mangle)]
pub extern "C" fn message_end() -> i32 {
    with_state(|state| {
        state.mu = Some(state.builder.take().ok_or(Status::Order)?.finish());
        Ok(0)
    })
}

/// Takes `mu` itself, 64 bytes.
#[unsafe(no_mangle)]
pub extern "C" fn message_mu() -> i32 {
    with_state(|state| {
        let mu = window(&MESSAGE, 64)?.try_into();
        state.mu = Some(Mu::from_bytes(mu.map_err(|_| Status::Length)?));
        Ok(0)
    })
}

/// Takes the digest of a message, `digest` bytes, and a context after it, for the key in a slot, or that
/// of a member: HashML-DSA. `hash` is the last number of the hash's object identifier.
#[unsafe(no_mangle)]
pub extern "C" fn message_digest(
    slot: usize,
    member: usize,
    hash: u32,
    digest: usize,
    context: usize,
) -> i32 {
    with_state(|state| {
        state.mu = None;
        let bytes = window(&MESSAGE, digest.saturating_add(context))?;
        let (digest, context) = bytes.split_at(digest);
        let hash = PreHash::ALL
            .into_iter()
            .find(|found| u32::from(found.oid()[10]) == hash)
            .ok_or(Status::Hash)?;
        let (set, tr) = state.tr(slot, member)?;
        let context = Context::new(context)?;
        state.mu = Some(with_set!(set, P => PreHashed::<P>::new(hash, digest)?.mu(tr, context)));
        Ok(0)
    })
}

/// Verifies a signature of `len` bytes over the message. Returns 0 or the reason.
#[unsafe(no_mangle)]
pub extern "C" fn verify(slot: usize, len: usize) -> i32 {
    with_state(|state| {
        let mu = state.mu.take().ok_or(Status::Order)?;
        let signature = window(&DATA, len)?;
        match state.slots.get(slot) {
            Some(Slot::Public(key)) => key.verify_mu(&mu, signature)?,
            #[cfg(feature = "full")]
            Some(Slot::Prepared(keys)) => keys.verify_first(&mu, signature)?,
            _ => return Err(Status::Slot),
        }
        Ok(0)
    })
}
