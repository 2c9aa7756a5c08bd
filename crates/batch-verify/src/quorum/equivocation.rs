//! Evidence of two conflicting signatures by one member.

use mldsa_core::ParameterSet;

use crate::{Committee, MemberId, RejectReason, Vote};

/// Two different messages for one slot of the protocol, signed by one member: evidence that any
/// holder of the committee can check.
///
/// Made by [`Committee::equivocation`] from two verified signatures only. To check evidence
/// that was received, pass its parts to the same call.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct Equivocation {
    member: MemberId,
    slot: Vec<u8>,
    votes: [(Vec<u8>, Vec<u8>); 2],
}

impl Equivocation {
    /// Returns the member that signed both; its id names the committee.
    pub fn member(&self) -> MemberId {
        self.member
    }

    /// Returns the slot that both messages are for, as the protocol encodes it.
    pub fn slot(&self) -> &[u8] {
        &self.slot
    }

    /// Returns both messages with their signatures.
    pub fn votes(&self) -> [(&[u8], &[u8]); 2] {
        let [first, second] = &self.votes;
        [(&first.0, &first.1), (&second.0, &second.1)]
    }
}

impl<P: ParameterSet> Committee<P> {
    /// Verifies two signatures of one member over different messages for one slot, each given as
    /// `(message, signature)`.
    ///
    /// `slot` decodes the part of a message in which an honest member signs once, such as height,
    /// round and step; `None` if the message is of another kind.
    ///
    /// # Errors
    /// `None` if the messages are equal (hedged signatures of one message differ) or not for one
    /// slot: votes for two heights are no equivocation. Otherwise the reason why a signature is
    /// rejected.
    pub fn equivocation<S: AsRef<[u8]>>(
        &self,
        member: MemberId,
        slot: impl Fn(&[u8]) -> Option<S>,
        first: (&[u8], &[u8]),
        second: (&[u8], &[u8]),
    ) -> Result<Equivocation, Option<RejectReason>> {
        if first.0 == second.0 {
            return Err(None);
        }
        let slot = match (slot(first.0), slot(second.0)) {
            (Some(one), Some(other)) if one.as_ref() == other.as_ref() => one.as_ref().to_vec(),
            _ => return Err(None),
        };
        for (message, signature) in [first, second] {
            self.verify(&Vote::new(member, message, signature))
                .map_err(Some)?;
        }
        let owned = |(message, signature): (&[u8], &[u8])| (message.to_vec(), signature.to_vec());
        Ok(Equivocation {
            member,
            slot,
            votes: [owned(first), owned(second)],
        })
    }
}
