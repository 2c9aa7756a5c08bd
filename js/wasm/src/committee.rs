//! Prepared keys of one parameter set, whose votes are verified together.

use alloc::vec::Vec;

use mldsa_core::internals::{JobMessage, Verification, verify_lanes};
use mldsa_core::{
    MlDsa44, MlDsa65, MlDsa87, Mu, ParameterSet, PreparedVerifyingKey, Set, VerifyingKey, with_set,
};

use crate::status::{Status, or_code, room_for_a_key};
use crate::{DATA, Slot, WINDOW, set_of, window, with_state};

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

/// Prepared keys of one set.
pub(crate) enum Keys {
    MlDsa44(Vec<PreparedVerifyingKey<MlDsa44>>),
    MlDsa65(Vec<PreparedVerifyingKey<MlDsa65>>),
    MlDsa87(Vec<PreparedVerifyingKey<MlDsa87>>),
}

impl Keys {
    pub(crate) fn new(set: Set) -> Self {
        match set {
            Set::MlDsa44 => Self::MlDsa44(Vec::new()),
            Set::MlDsa65 => Self::MlDsa65(Vec::new()),
            Set::MlDsa87 => Self::MlDsa87(Vec::new()),
        }
    }

    /// Adds a key. Returns its number.
    pub(crate) fn add(&mut self, key: &[u8]) -> Result<usize, Status> {
        room_for_a_key()?;
        with_set!(Self, self, keys => {
            keys.try_reserve(1).map_err(|_| Status::Memory)?;
            keys.push(VerifyingKey::from_bytes(key)?.prepare());
            Ok(keys.len() - 1)
        })
    }

    pub(crate) fn tr(&self, member: usize) -> Result<(Set, &[u8; 64]), Status> {
        fn tr<P: ParameterSet>(
            keys: &[PreparedVerifyingKey<P>],
            member: usize,
        ) -> Option<(Set, &[u8; 64])> {
            Some((P::SET, keys.get(member)?.tr()))
        }
        with_set!(Self, self, keys => tr(keys, member)).ok_or(Status::Member)
    }

    /// Verifies with the only key, or the first one.
    pub(crate) fn verify_first(&self, mu: &Mu, signature: &[u8]) -> Result<(), Status> {
        let verify =
            with_set!(Self, self, keys => keys.first().map(|key| key.verify_mu(mu, signature)));
        Ok(verify.ok_or(Status::Member)??)
    }

    fn verify(&self, votes: &[Vote], signatures: &[u8]) -> [i32; VOTES] {
        let mut results = [Ok(()); VOTES];
        let count = votes.len().min(VOTES);
        with_set!(Self, self, keys => verify_lanes(
            |n| {
                let vote = &votes[n];
                Verification::prepared(
                    keys[vote.member].as_prepared_ref(),
                    JobMessage::Mu(&vote.mu),
                    &signatures[PLACE * n..PLACE * n + vote.len],
                )
            },
            &mut results[..count],
        ));
        results.map(|result| or_code(result.map(|()| 0).map_err(Status::from)))
    }
}

/// Makes a committee without members. Returns its slot.
#[unsafe(no_mangle)]
pub extern "C" fn committee(set: u32) -> i32 {
    with_state(|state| state.keep(Slot::Prepared(Keys::new(set_of(set)?))))
}

/// Adds a member by a public key of `len` bytes. Returns its number.
#[unsafe(no_mangle)]
pub extern "C" fn committee_add(slot: usize, len: usize) -> i32 {
    with_state(|state| match state.slots.get_mut(slot) {
        Some(Slot::Prepared(keys)) => keys.add(window(&DATA, len)?),
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
        state.tr(slot, member)?;
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
        let Some(Slot::Prepared(keys)) = state.slots.get(slot) else {
            return Err(Status::Slot);
        };
        if votes.len() != count {
            return Err(Status::Order);
        }
        // The slot may have been freed since, and have another committee.
        if votes
            .iter()
            .any(|vote| vote.slot != slot || keys.tr(vote.member).is_err())
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
