//! Evidence of two conflicting signatures by one member.

use core::fmt;

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

/// Reason why two votes are no evidence of equivocation. Indices are 0 for the first vote and 1 for
/// the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EquivocationError {
    /// The messages are equal: hedged signatures of one message differ.
    EqualMessages,
    /// A message has no slot.
    NoSlot {
        /// Index of the vote.
        vote: usize,
    },
    /// The messages are for two slots.
    OtherSlot,
    /// A signature is rejected.
    Rejected {
        /// Index of the vote.
        vote: usize,
        /// Reason.
        reason: RejectReason,
    },
}

impl fmt::Display for EquivocationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EqualMessages => f.write_str("the messages are equal"),
            Self::NoSlot { vote } => write!(f, "the message of vote {vote} has no slot"),
            Self::OtherSlot => f.write_str("the messages are for two slots"),
            Self::Rejected { vote, reason } => write!(f, "vote {vote} is rejected: {reason}"),
        }
    }
}

impl core::error::Error for EquivocationError {}

impl<P: ParameterSet> Committee<P> {
    /// Verifies two signatures of one member over different messages for one slot, each given as
    /// `(message, signature)`.
    ///
    /// `slot` decodes the part of a message in which an honest member signs once, such as height,
    /// round and step; `None` if the message is of another kind.
    ///
    /// ```
    /// use batch_verify::{Committee, EquivocationError};
    /// use mldsa_core::{Context, MlDsa44, SigningKey};
    ///
    /// let key = SigningKey::<MlDsa44>::from_seed(&[1; 32]);
    /// let context = Context::new(b"mychain/v1/vote")?;
    /// let committee = Committee::<MlDsa44>::builder(context).build([(key.verifying_key(), 1)])?;
    /// let member = committee.member(0).expect("one member");
    ///
    /// // A vote is a height in eight bytes, then the block.
    /// let vote = |height: u64, block: &[u8]| [&height.to_le_bytes(), block].concat();
    /// let (red, blue, next) = (vote(7, b"red"), vote(7, b"blue"), vote(8, b"blue"));
    /// let slot = |message: &[u8]| message.first_chunk::<8>().copied();
    /// let sign = |message: &[u8]| key.sign_hedged(message, context);
    /// let (signed_red, signed_blue, signed_next) = (sign(&red)?, sign(&blue)?, sign(&next)?);
    ///
    /// let first = (&*red, signed_red.as_ref());
    /// let evidence = committee.equivocation(member, slot, first, (&blue, signed_blue.as_ref()))?;
    /// assert_eq!(evidence.slot(), 7_u64.to_le_bytes());
    /// // Votes for two heights are none.
    /// let other = committee.equivocation(member, slot, first, (&next, signed_next.as_ref()));
    /// assert_eq!(other, Err(EquivocationError::OtherSlot));
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`EquivocationError`], of which only `Rejected` is found by verification.
    pub fn equivocation<S: AsRef<[u8]>>(
        &self,
        member: MemberId,
        slot: impl Fn(&[u8]) -> Option<S>,
        first: (&[u8], &[u8]),
        second: (&[u8], &[u8]),
    ) -> Result<Equivocation, EquivocationError> {
        if first.0 == second.0 {
            return Err(EquivocationError::EqualMessages);
        }
        let decoded = |vote, message| slot(message).ok_or(EquivocationError::NoSlot { vote });
        let slots = (decoded(0, first.0)?, decoded(1, second.0)?);
        if slots.0.as_ref() != slots.1.as_ref() {
            return Err(EquivocationError::OtherSlot);
        }
        for (vote, (message, signature)) in [first, second].into_iter().enumerate() {
            let verdict = self.verify(&Vote::new(member, message, signature));
            verdict.map_err(|reason| EquivocationError::Rejected { vote, reason })?;
        }
        let owned = |(message, signature): (&[u8], &[u8])| (message.to_vec(), signature.to_vec());
        Ok(Equivocation {
            member,
            slot: slots.0.as_ref().to_vec(),
            votes: [owned(first), owned(second)],
        })
    }
}
