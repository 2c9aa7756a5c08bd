//! Private keys of any parameter set, and their exports.

#[cfg(feature = "full")]
use alloc::boxed::Box;

#[cfg(feature = "full")]
use mldsa_core::{AnyPreparedSigningKey, Randomness};
use mldsa_core::{AnySigningKey, AnyVerifyingKey, Set, zeroize_stack};

use crate::status::{Status, room_for_a_key};
use crate::{DATA, Slot, set_of, window, with_state};
#[cfg(feature = "full")]
use crate::{State, WINDOW};

/// Bytes of stack that may hold parts of a private key while it is made or prepared. Signing wipes its
/// own.
pub(crate) const STACK: usize = 40 * 1024;

/// A private key, or its expanded form.
pub(crate) enum Private {
    Plain(AnySigningKey),
    #[cfg(feature = "full")]
    Prepared(Box<AnyPreparedSigningKey>),
}

impl Private {
    pub(crate) fn tr(&self) -> (Set, &[u8; 64]) {
        match self {
            Self::Plain(key) => (key.set(), key.tr()),
            #[cfg(feature = "full")]
            Self::Prepared(key) => (key.set(), key.tr()),
        }
    }
}

fn open(set: Set, bytes: &[u8], seed: bool, prepare: bool) -> Result<Private, Status> {
    let key = match seed {
        true => AnySigningKey::from_seed(set, bytes.try_into().map_err(|_| Status::KeyLength)?),
        false => AnySigningKey::from_expanded_bytes(bytes)?,
    };
    if key.set() != set {
        return Err(Status::KeyLength);
    }
    #[cfg(feature = "full")]
    if prepare {
        return Ok(Private::Prepared(Box::new(key.prepare())));
    }
    let _ = prepare;
    Ok(Private::Plain(key))
}

/// Takes a private key of `len` bytes, a seed or in expanded form, and wipes the window. Returns its
/// slot.
#[unsafe(no_mangle)]
pub extern "C" fn private_key(set: u32, len: usize, seed: u32, prepare: u32) -> i32 {
    with_state(|state| {
        let (set, bytes) = (set_of(set)?, window(&DATA, len)?);
        let key = room_for_a_key()
            .and_then(|()| zeroize_stack::<STACK, _>(|| open(set, bytes, seed != 0, prepare != 0)));
        bytes.fill(0);
        state.keep(Slot::Private(key?))
    })
}

/// Writes a part of the key in a slot: the public key (0), in DER (2) or PEM (3); the expanded private
/// key (1), the private key in DER (4) or PEM (5). Returns its length.
#[unsafe(no_mangle)]
pub extern "C" fn key_part(slot: usize, part: u32) -> i32 {
    with_state(|state| {
        let (public, private) = match state.slots.get(slot) {
            Some(Slot::Public(key)) => (AnyVerifyingKey::clone(key), None),
            Some(Slot::Private(Private::Plain(key))) => (key.verifying_key(), Some(key)),
            #[cfg(feature = "full")]
            Some(Slot::Private(Private::Prepared(key))) => (key.verifying_key(), None),
            _ => return Err(Status::Slot),
        };
        let private = private.ok_or(Status::Length);
        match part {
            0 => put(public.as_ref()),
            1 => put(private?.expanded()),
            #[cfg(feature = "files")]
            _ => crate::files::put_part(&public, private, part),
            #[cfg(not(feature = "files"))]
            _ => Err(Status::Length),
        }
    })
}

/// Writes bytes to the window. Returns their number.
pub(crate) fn put(bytes: &[u8]) -> Result<usize, Status> {
    window(&DATA, bytes.len())?.copy_from_slice(bytes);
    Ok(bytes.len())
}

/// Signs the message, with the 32 random bytes of the window if `hedged` is not 0, which are wiped.
/// Returns the length of the signature in the window.
#[cfg(feature = "full")]
#[unsafe(no_mangle)]
pub extern "C" fn sign(slot: usize, hedged: u32) -> i32 {
    with_state(|state| {
        let data = window(&DATA, WINDOW)?;
        let (random, out) = data.split_at_mut(32);
        let len = sign_with(state, slot, (hedged != 0).then_some(&*random), out);
        random.fill(0);
        let len = len?;
        data.copy_within(32..32 + len, 0);
        Ok(len)
    })
}

#[cfg(feature = "full")]
fn sign_with(
    state: &mut State,
    slot: usize,
    random: Option<&[u8]>,
    out: &mut [u8],
) -> Result<usize, Status> {
    let mu = state.mu.take().ok_or(Status::Order)?;
    let Some(Slot::Private(key)) = state.slots.get(slot) else {
        return Err(Status::Slot);
    };
    let randomness = match random {
        None => Randomness::Deterministic,
        Some(random) => Randomness::Hedged(random.try_into().map_err(|_| Status::Internal)?),
    };
    let out = out
        .get_mut(..key.tr().0.signature_len())
        .ok_or(Status::Length)?;
    match key {
        Private::Plain(key) => key.sign_mu_into(&mu, randomness, out)?,
        Private::Prepared(key) => key.sign_mu_into(&mu, randomness, out)?,
    }
    Ok(out.len())
}
