//! Private keys of any parameter set, and their exports.

use alloc::boxed::Box;

use mldsa_core::no_alloc::SigningKeyStorage;
use mldsa_core::{
    MlDsa44, MlDsa65, MlDsa87, Mu, ParameterSet, PreparedSigningKey, Randomness, SigningKey,
    zeroize_stack,
};

use crate::public::{Public, with_set};
use crate::status::{Status, room_for_a_key};
use crate::{DATA, Slot, State, window, with_state};

/// Bytes of stack that may hold parts of a private key while it is made or prepared. Signing wipes its
/// own.
const STACK: usize = 40 * 1024;

/// A private key without its type.
pub(crate) trait Private {
    fn public(&self) -> &dyn Public;
    fn public_bytes(&self) -> &[u8];
    fn expanded(&self) -> &[u8];
    fn sign(&self, mu: &Mu, randomness: Randomness<'_>, out: &mut [u8]) -> Result<usize, Status>;
}

struct Key<P: ParameterSet> {
    memory: SigningKeyStorage<P>,
    prepared: Option<PreparedSigningKey<P>>,
}

impl<P: ParameterSet> Key<P> {
    fn key(&self) -> &SigningKey<P> {
        // `open` fills the memory before it hands out a key.
        match self.memory.key() {
            Some(key) => key,
            None => unreachable!(),
        }
    }
}

impl<P: ParameterSet> Private for Key<P> {
    fn public(&self) -> &dyn Public {
        self.key().verifying_key()
    }

    fn public_bytes(&self) -> &[u8] {
        self.key().verifying_key().as_bytes().as_ref()
    }

    fn expanded(&self) -> &[u8] {
        self.key().expanded().as_ref()
    }

    fn sign(&self, mu: &Mu, randomness: Randomness<'_>, out: &mut [u8]) -> Result<usize, Status> {
        let signature = match &self.prepared {
            Some(key) => key.sign_mu(mu, randomness)?,
            None => self.key().sign_mu(mu, randomness)?,
        };
        let bytes = signature.as_ref();
        out[..bytes.len()].copy_from_slice(bytes);
        Ok(bytes.len())
    }
}

fn open(set: u32, bytes: &[u8], seed: bool, prepare: bool) -> Result<Box<dyn Private>, Status> {
    fn open<P: ParameterSet>(
        bytes: &[u8],
        seed: bool,
        prepare: bool,
    ) -> Result<Box<dyn Private>, Status> {
        let mut key = Box::new(Key::<P> {
            memory: SigningKeyStorage::new(),
            prepared: None,
        });
        let made = if seed {
            let seed = bytes.try_into().map_err(|_| Status::KeyLength)?;
            SigningKey::from_seed_in(seed, &mut key.memory)
        } else {
            SigningKey::from_expanded_bytes_in(bytes, &mut key.memory)?
        };
        key.prepared = if prepare { Some(made.prepare()) } else { None };
        Ok(key)
    }
    with_set!(set, open(bytes, seed, prepare))
}

/// Takes a private key of `len` bytes, a seed or in expanded form, and wipes the window. Returns its
/// slot.
#[unsafe(no_mangle)]
pub extern "C" fn private_key(set: u32, len: usize, seed: u32, prepare: u32) -> i32 {
    with_state(|state| {
        let bytes = window(&DATA, len)?;
        let key = room_for_a_key()
            .and_then(|()| zeroize_stack::<STACK, _>(|| open(set, bytes, seed != 0, prepare != 0)));
        bytes.fill(0);
        state.keep(Slot::Private(key?))
    })
}

/// Writes a part of the private key in a slot, the public key (0) or the expanded key (1). Returns its
/// length.
#[unsafe(no_mangle)]
pub extern "C" fn private_part(slot: usize, part: u32) -> i32 {
    with_state(|state| {
        let Some(Slot::Private(key)) = state.slots.get(slot) else {
            return Err(Status::Slot);
        };
        let bytes = match part {
            0 => key.public_bytes(),
            1 => key.expanded(),
            _ => return Err(Status::Length),
        };
        window(&DATA, bytes.len())?.copy_from_slice(bytes);
        Ok(bytes.len())
    })
}

/// Signs the message, with the 32 random bytes of the window if `hedged` is not 0, which are wiped.
/// Returns the length of the signature in the window.
#[unsafe(no_mangle)]
pub extern "C" fn sign(slot: usize, hedged: u32) -> i32 {
    with_state(|state| {
        let data = window(&DATA, crate::WINDOW)?;
        let (random, out) = data.split_at_mut(32);
        let len = sign_with(state, slot, (hedged != 0).then_some(&*random), out);
        random.fill(0);
        let len = len?;
        data.copy_within(32..32 + len, 0);
        Ok(len)
    })
}

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
    key.sign(&mu, randomness, out)
}
