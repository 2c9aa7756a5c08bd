//! Evidence of two signatures by one member.

use mldsa_core::ParameterSet;

use crate::{Committee, MemberId, RejectReason, Vote};

/// Two different messages signed by one member: evidence that any holder of the committee can
/// check. Whether the messages exclude each other is for the protocol to decide.
///
/// Made by [`Committee::equivocation`] from two verified signatures only. To check evidence
/// that was received, pass its parts to the same call.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct Equivocation {
    member: MemberId,
    committee: [u8; 32],
    votes: [(Vec<u8>, Vec<u8>); 2],
}

impl Equivocation {
    /// The member that signed both.
    #[must_use]
    pub fn member(&self) -> MemberId {
        self.member
    }

    /// [`Committee::digest`] of the committee that verified the signatures.
    #[must_use]
    pub fn committee_digest(&self) -> [u8; 32] {
        self.committee
    }

    /// Both messages with their signatures.
    #[must_use]
    pub fn votes(&self) -> [(&[u8], &[u8]); 2] {
        let [first, second] = &self.votes;
        [(&first.0, &first.1), (&second.0, &second.1)]
    }
}

impl<P: ParameterSet> Committee<P> {
    /// Verifies two signatures of one member over different messages, each given as
    /// `(message, signature)`.
    ///
    /// # Errors
    /// [`RejectReason::Duplicate`] if the messages are equal: hedged signatures of one message
    /// differ and are no equivocation. Otherwise the reason why a signature is rejected.
    pub fn equivocation(
        &self,
        member: MemberId,
        first: (&[u8], &[u8]),
        second: (&[u8], &[u8]),
    ) -> Result<Equivocation, RejectReason> {
        if first.0 == second.0 {
            return Err(RejectReason::Duplicate);
        }
        for (message, signature) in [first, second] {
            self.verify(&Vote::new(member, message, signature))?;
        }
        let owned = |(message, signature): (&[u8], &[u8])| (message.to_vec(), signature.to_vec());
        Ok(Equivocation {
            member,
            committee: self.digest(),
            votes: [owned(first), owned(second)],
        })
    }
}
