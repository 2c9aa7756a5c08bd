//! Outsiders that send messages derived from the votes they see.

use arc_malachitebft_core_consensus::SignedConsensusMsg;
use arc_malachitebft_core_types::{NilOrVal, SignedMessage};
use batch_verify::RejectReason;
use harness::{Signer, flip_bit};
use mldsa_core::ParameterSet;

use crate::chain::{Address, Value, Vote};
use crate::message::{Message, vote_bytes};
use crate::scheme::Signature;

/// Context under which the validators sign with the same keys on another chain.
const OTHER_CONTEXT: &[u8] = b"example/malachite-testnet/v1";

/// Message derived from a vote. Each kind is sent by an outsider of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forgery {
    /// The first vote heard.
    Old,
    /// The vote again.
    Repeated,
    /// A vote for another value, signed with the same key on another chain. If accepted, its
    /// signer would be an equivocator.
    OtherChain,
    /// Signature without its last byte.
    Truncated,
    /// Signature of 64 KiB.
    Oversized,
    /// Address outside of the validator set.
    UnknownSigner,
    /// Signature with one bit flipped.
    Flipped,
}

impl Forgery {
    /// All kinds, in the order in which they are sent.
    pub const ALL: [Self; 7] = [
        Self::Repeated,
        Self::OtherChain,
        Self::Truncated,
        Self::Oversized,
        Self::UnknownSigner,
        Self::Flipped,
        Self::Old,
    ];

    /// Peer that sends this kind next to `validators` validators.
    #[must_use]
    pub fn peer(self, validators: usize) -> u64 {
        (validators + self as usize) as u64
    }

    /// Expected reason of the rejection; `None` for copies of valid votes.
    #[must_use]
    pub fn reason(self) -> Option<RejectReason> {
        match self {
            Self::Old | Self::Repeated => None,
            Self::OtherChain | Self::Flipped => Some(RejectReason::ChallengeMismatch),
            Self::Truncated | Self::Oversized => Some(RejectReason::SignatureLength),
            Self::UnknownSigner => Some(RejectReason::UnknownMember),
        }
    }
}

/// Generator of forgeries.
#[derive(Debug)]
pub(crate) struct Forger<P: ParameterSet> {
    per_vote: usize,
    next: usize,
    first: Option<Message<P>>,
}

impl<P: ParameterSet> Forger<P> {
    /// Generator of `per_vote` messages for each vote.
    pub(crate) fn new(per_vote: usize) -> Self {
        Self {
            per_vote,
            next: 0,
            first: None,
        }
    }

    /// Forgeries derived from a message. `signer` is the key of its sender, used on another chain.
    pub(crate) fn forge(
        &mut self,
        message: &Message<P>,
        signer: &Signer<P>,
    ) -> Vec<(Forgery, Message<P>)> {
        let Message::Consensus(SignedConsensusMsg::Vote(vote)) = message else {
            return Vec::new();
        };
        let (vote, signature) = (&vote.message, vote.signature.as_ref());
        let first = self.first.get_or_insert_with(|| message.clone()).clone();
        let forge = |kind| match kind {
            Forgery::Old => first.clone(),
            Forgery::Repeated => message.clone(),
            Forgery::OtherChain => {
                let mut vote = vote.clone();
                vote.value = NilOrVal::Val(Value(u64::MAX));
                let bytes = vote_bytes(vote.kind, vote.height, vote.round, vote.value);
                signed(vote, signer.sign(OTHER_CONTEXT, &bytes))
            }
            Forgery::Truncated => signed(vote.clone(), signature[..signature.len() - 1].to_vec()),
            Forgery::Oversized => {
                let mut long = signature.to_vec();
                long.resize(1 << 16, 0);
                signed(vote.clone(), long)
            }
            Forgery::UnknownSigner => {
                let mut vote = vote.clone();
                vote.by = Address(u32::MAX);
                signed(vote, signature.to_vec())
            }
            Forgery::Flipped => signed(vote.clone(), flip_bit(signature)),
        };
        let kinds = (self.next..self.next + self.per_vote).map(|n| Forgery::ALL[n % 7]);
        self.next += self.per_vote;
        kinds.map(|kind| (kind, forge(kind))).collect()
    }
}

fn signed<P: ParameterSet>(vote: Vote, signature: Vec<u8>) -> Message<P> {
    let vote = SignedMessage::new(vote, Signature::from(signature));
    Message::Consensus(SignedConsensusMsg::Vote(vote))
}
