//! A peer who is no validator and sends what it can make of the votes that it sees.

use arc_malachitebft_core_consensus::SignedConsensusMsg;
use arc_malachitebft_core_types::{NilOrVal, SignedMessage};
use batch_verify::Reason;
use mldsa_core::ParameterSet;

use crate::chain::{Address, Value, Vote};
use crate::message::{Message, vote_bytes};
use crate::scheme::{Signature, Signer};

/// What the validators have signed on another chain with the same keys.
const OTHER_CONTEXT: &[u8] = b"example/malachite-testnet/v1";

/// What an attacker makes of a vote, and sends as a peer of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attack {
    /// A vote that was heard long ago.
    Old,
    /// The vote once more.
    Repeated,
    /// For another value, signed with the same key on another chain: were it taken, its signer
    /// would be an equivocator.
    Elsewhere,
    /// A signature that is cut.
    Truncated,
    /// A signature of 64 KiB.
    Oversized,
    /// In the name of nobody.
    Unknown,
    /// A signature with one bit changed.
    Flipped,
}

impl Attack {
    /// All, in the order in which they are sent.
    pub const ALL: [Self; 7] = [
        Self::Repeated,
        Self::Elsewhere,
        Self::Truncated,
        Self::Oversized,
        Self::Unknown,
        Self::Flipped,
        Self::Old,
    ];

    /// Who sends it, where there are so many validators.
    #[must_use]
    pub fn peer(self, validators: usize) -> u64 {
        (validators + self as usize) as u64
    }

    /// Why it is refused; `None` for what somebody else has signed.
    #[must_use]
    pub fn reason(self) -> Option<Reason> {
        match self {
            Self::Old | Self::Repeated => None,
            Self::Elsewhere | Self::Flipped => Some(Reason::ChallengeMismatch),
            Self::Truncated | Self::Oversized => Some(Reason::SignatureLength),
            Self::Unknown => Some(Reason::UnknownSigner),
        }
    }
}

/// The attacker.
#[derive(Debug)]
pub(crate) struct Attacker<P: ParameterSet> {
    /// Messages for each vote.
    each: usize,
    next: usize,
    old: Option<Message<P>>,
}

impl<P: ParameterSet> Attacker<P> {
    /// One that sends `each` messages for each vote.
    #[must_use]
    pub(crate) fn new(each: usize) -> Self {
        Self {
            each,
            next: 0,
            old: None,
        }
    }

    /// What it makes of a message; `elsewhere` is what the voter signs on the other chain.
    pub(crate) fn hear(
        &mut self,
        message: &Message<P>,
        elsewhere: &Signer<P>,
    ) -> Vec<(Attack, Message<P>)> {
        let Message::Consensus(SignedConsensusMsg::Vote(vote)) = message else {
            return Vec::new();
        };
        let (vote, signature) = (&vote.message, vote.signature.as_ref());
        let old = self.old.get_or_insert_with(|| message.clone()).clone();
        let make = |attack| match attack {
            Attack::Old => old.clone(),
            Attack::Repeated => message.clone(),
            Attack::Elsewhere => {
                let mut vote = vote.clone();
                vote.value = NilOrVal::Val(Value(u64::MAX));
                let bytes = vote_bytes(vote.kind, vote.height, vote.round, vote.value);
                signed(vote, elsewhere.sign_under(OTHER_CONTEXT, &bytes))
            }
            Attack::Truncated => {
                let cut = signature.len() - 1;
                signed(vote.clone(), Signature::from(&signature[..cut]))
            }
            Attack::Oversized => {
                let mut long = signature.to_vec();
                long.resize(1 << 16, 0);
                signed(vote.clone(), Signature::from(&long[..]))
            }
            Attack::Unknown => {
                let mut vote = vote.clone();
                vote.by = Address(u32::MAX);
                signed(vote, Signature::from(signature))
            }
            Attack::Flipped => signed(vote.clone(), corrupted(signature)),
        };
        let attacks = (self.next..self.next + self.each).map(|n| Attack::ALL[n % 7]);
        self.next += self.each;
        attacks.map(|attack| (attack, make(attack))).collect()
    }
}

/// A signature with one bit of its challenge changed.
#[must_use]
pub(crate) fn corrupted(signature: &[u8]) -> Signature {
    let mut bytes = signature.to_vec();
    if let Some(byte) = bytes.first_mut() {
        *byte ^= 1;
    }
    Signature::from(&bytes[..])
}

fn signed<P: ParameterSet>(vote: Vote<P>, signature: Signature) -> Message<P> {
    let vote = SignedMessage::new(vote, signature);
    Message::Consensus(SignedConsensusMsg::Vote(vote))
}
