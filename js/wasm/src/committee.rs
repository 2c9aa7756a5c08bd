//! Prepared keys of one parameter set, whose votes are verified together.

use alloc::boxed::Box;
use alloc::vec::Vec;

use mldsa_core::internals::{JobMessage, Verification, verify_lanes};
use mldsa_core::{MlDsa44, MlDsa65, MlDsa87, Mu, ParameterSet, PreparedVerifyingKey, VerifyingKey};

use crate::public::{Public, with_set};
use crate::status::{Status, or_code, room_for_a_key};
use crate::{DATA, Slot, WINDOW, window, with_state};

/// Votes that are verified together.
const VOTES: usize = 8;
/// Bytes of the window for each: the signature.
const PLACE: usize = WINDOW / VOTES;

/// A vote whose signature is in its place of the window.
pub(crate) struct Vote {
    slot: usize,
    member: usize,
    len: usize,
    mu: Mu,
}

/// Keys without their type.
pub(crate) trait Committee {
    fn add(&mut self, key: &[u8]) -> Result<usize, Status>;
    fn member(&self, member: usize) -> Option<&dyn Public>;
    fn verify(&self, votes: &[Vote], signatures: &[u8]) -> [i32; VOTES];
}

struct Keys<P: ParameterSet>(Vec<PreparedVerifyingKey<P>>);

impl<P: ParameterSet> Committee for Keys<P> {
    fn add(&mut self, key: &[u8]) -> Result<usize, Status> {
        room_for_a_key()?;
        self.0.try_reserve(1).map_err(|_| Status::Memory)?;
        self.0.push(VerifyingKey::from_bytes(key)?.prepare());
        Ok(self.0.len() - 1)
    }

    fn member(&self, member: usize) -> Option<&dyn Public> {
        self.0.get(member).map(|key| key as &dyn Public)
    }

    fn verify(&self, votes: &[Vote], signatures: &[u8]) -> [i32; VOTES] {
        let mut results = [Ok(()); VOTES];
        let count = votes.len().min(VOTES);
        verify_lanes(
            |n| {
                let vote = &votes[n];
                Verification::<P>::prepared(
                    self.0[vote.member].as_prepared_ref(),
                    JobMessage::Mu(&vote.mu),
                    &signatures[PLACE * n..PLACE * n + vote.len],
                )
            },
            &mut results[..count],
        );
        results.map(|result| or_code(result.map(|()| 0).map_err(Status::from)))
    }
}

/// Makes a committee without members. Returns its slot.
#[unsafe(no_mangle)]
pub extern "C" fn committee(set: u32) -> i32 {
    fn empty<P: ParameterSet>() -> Result<Box<dyn Committee>, Status> {
        Ok(Box::new(Keys::<P>(Vec::new())))
    }
    with_state(|state| {
        let keys = with_set!(set, empty())?;
        state.keep(Slot::Committee(keys))
    })
}

/// Adds a member by a public key of `len` bytes. Returns its number.
#[unsafe(no_mangle)]
pub extern "C" fn committee_add(slot: usize, len: usize) -> i32 {
    with_state(|state| match state.slots.get_mut(slot) {
        Some(Slot::Committee(keys)) => keys.add(window(&DATA, len)?),
        _ => Err(Status::Slot),
    })
}

/// Adds a vote on the message, whose signature of `len` bytes is at 8,192 times `place`. The first has
/// place 0, where the votes of an earlier group are dropped. Returns the number of votes.
#[unsafe(no_mangle)]
pub extern "C" fn vote(slot: usize, place: usize, member: usize, len: usize) -> i32 {
    with_state(|state| {
        let mu = state.mu.take().ok_or(Status::Order)?;
        if place == 0 {
            state.votes.clear();
        }
        state.public(slot, member)?;
        if len > PLACE || place >= VOTES {
            return Err(Status::Length);
        }
        if place != state.votes.len() {
            return Err(Status::Order);
        }
        state.votes.push(Vote {
            slot,
            member,
            len,
            mu,
        });
        Ok(state.votes.len())
    })
}

/// Verifies a group of `count` votes, whose results are numbers of 32 bits in the window. Returns
/// `count`.
#[unsafe(no_mangle)]
pub extern "C" fn committee_verify(slot: usize, count: usize) -> i32 {
    with_state(|state| {
        let votes = core::mem::take(&mut state.votes);
        let Some(Slot::Committee(keys)) = state.slots.get(slot) else {
            return Err(Status::Slot);
        };
        if votes.len() != count {
            return Err(Status::Order);
        }
        // The slot may have been freed since, and have another committee.
        if votes
            .iter()
            .any(|vote| vote.slot != slot || keys.member(vote.member).is_none())
        {
            return Err(Status::Member);
        }
        let data = window(&DATA, WINDOW)?;
        let results = keys.verify(&votes, data);
        for (out, result) in data.as_chunks_mut::<4>().0.iter_mut().zip(results) {
            *out = result.to_le_bytes();
        }
        Ok(votes.len())
    })
}
