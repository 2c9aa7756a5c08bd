//! A peer who is no validator and sends what it can make of the votes that it sees.

use arc_malachitebft_core_consensus::SignedConsensusMsg;
use arc_malachitebft_core_types::{NilOrVal, SignedMessage};
use mldsa_core::ParameterSet;

use crate::chain::{Address, Value, Vote};
use crate::message::{Message, vote_bytes};
use crate::scheme::{Signature, Signer};

/// What the validators have signed on another chain with the same keys.
const OTHER_CONTEXT: &[u8] = b"example/malachite-testnet/v1";

/// The attacker, with what it has sent.
#[derive(Debug)]
pub(crate) struct Attacker<P: ParameterSet> {
    /// Messages for each vote.
    each: usize,
    next: usize,
    old: Option<Message<P>>,
    /// Votes that were heard before, of a height that is over.
    pub stale: u64,
    /// Votes that were heard before.
    pub repeated: u64,
    /// All others, none of which is valid.
    pub forged: u64,
}

impl<P: ParameterSet> Attacker<P> {
    /// One that sends `each` messages for each vote.
    #[must_use]
    pub(crate) fn new(each: usize) -> Self {
        Self {
            each,
            next: 0,
            old: None,
            stale: 0,
            repeated: 0,
            forged: 0,
        }
    }

    /// What it makes of a message; `elsewhere` is what the voter signs on the other chain.
    pub(crate) fn hear(&mut self, message: &Message<P>, elsewhere: &Signer<P>) -> Vec<Message<P>> {
        let Message::Consensus(SignedConsensusMsg::Vote(vote)) = message else {
            return Vec::new();
        };
        let (vote, signature) = (&vote.message, vote.signature.as_ref());
        let old = self.old.get_or_insert_with(|| message.clone()).clone();
        let mut made = Vec::new();
        for _ in 0..self.each {
            self.next += 1;
            self.forged += 1;
            made.push(match self.next % 7 {
                0 if old.height() < message.height() => {
                    self.forged -= 1;
                    self.stale += 1;
                    old.clone()
                }
                1 => {
                    self.forged -= 1;
                    self.repeated += 1;
                    message.clone()
                }
                2 => {
                    // For another value: were it taken, its signer would be an equivocator.
                    let mut vote = vote.clone();
                    vote.value = NilOrVal::Val(Value(u64::MAX));
                    let bytes = vote_bytes(vote.kind, vote.height, vote.round, vote.value);
                    signed(vote, elsewhere.sign_under(OTHER_CONTEXT, &bytes))
                }
                3 => {
                    let cut = signature.len() - 1;
                    signed(vote.clone(), Signature::from(&signature[..cut]))
                }
                4 => {
                    let mut long = signature.to_vec();
                    long.resize(1 << 16, 0);
                    signed(vote.clone(), Signature::from(&long[..]))
                }
                5 => {
                    let mut vote = vote.clone();
                    vote.by = Address(u32::MAX);
                    signed(vote, Signature::from(signature))
                }
                _ => signed(vote.clone(), spoiled(signature)),
            });
        }
        made
    }
}

/// A signature with one bit changed.
#[must_use]
pub(crate) fn spoiled(signature: &[u8]) -> Signature {
    let mut bytes = signature.to_vec();
    if let Some(byte) = bytes.get_mut(40) {
        *byte ^= 1;
    }
    Signature::from(&bytes[..])
}

fn signed<P: ParameterSet>(vote: Vote<P>, signature: Signature) -> Message<P> {
    let vote = SignedMessage::new(vote, signature);
    Message::Consensus(SignedConsensusMsg::Vote(vote))
}
