//! Whether votes for one message carry enough weight.

use core::fmt;
use core::num::NonZeroU128;

use mldsa_core::ParameterSet;

use crate::schedule::Request;
use crate::{BatchVerifier, Item, Message, Mode, Outcome, Reason, SignerId};

/// The voting power of every signer of a [`KeySet`](crate::KeySet), by id.
///
/// Sums are taken in 128 bits: 2^31 signers of weight 2^64 cannot overflow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Weights(Vec<u64>);

impl Weights {
    /// The weights of signer 0, 1, and so on; 0 for a vacant id.
    pub fn new(weights: impl IntoIterator<Item = u64>) -> Self {
        Self(weights.into_iter().collect())
    }

    /// One vote each for `signers` signers.
    #[must_use]
    pub fn equal(signers: usize) -> Self {
        Self(vec![1; signers])
    }

    /// The sum of all weights.
    #[must_use]
    pub fn total(&self) -> u128 {
        self.0.iter().map(|&weight| u128::from(weight)).sum()
    }

    /// The weight of a signer; 0 for one without.
    #[must_use]
    pub fn of(&self, signer: SignerId) -> u128 {
        let weight = self.0.get(signer.index() as usize);
        weight.map_or(0, |&weight| weight.into())
    }
}

/// The weight that a quorum needs; never zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Threshold(NonZeroU128);

impl Threshold {
    /// More than two thirds of the total: with less than a third of it faulty,
    /// two quorums share an honest signer.
    #[must_use]
    pub fn two_thirds(weights: &Weights) -> Self {
        Self::above(weights.total() / 3 * 2 + weights.total() % 3 * 2 / 3)
    }

    /// More than half of the total.
    #[must_use]
    pub fn majority(weights: &Weights) -> Self {
        Self::above(weights.total() / 2)
    }

    /// At least this weight; `None` for zero, which nobody would have to sign.
    #[must_use]
    pub const fn at_least(weight: u128) -> Option<Self> {
        match NonZeroU128::new(weight) {
            Some(weight) => Some(Self(weight)),
            None => None,
        }
    }

    /// The weight needed.
    #[must_use]
    pub const fn weight(self) -> u128 {
        self.0.get()
    }

    fn above(weight: u128) -> Self {
        Self(NonZeroU128::MIN.saturating_add(weight))
    }
}

/// What a quorum asks of its votes. The two answer different questions: never
/// use one where another node uses the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// For a certificate somebody made: **every** vote has to be valid, and
    /// their weight suffices. Weight, signers and contradictions are checked
    /// before any cryptography. Stops early on failure only.
    #[default]
    Strict,
    /// For votes as they come in: the valid ones suffice, whatever else is
    /// there. A signer counts at the first valid vote, so that forged votes
    /// under a name cannot silence its owner. Stops as soon as the answer is
    /// known, so which votes were looked at is no evidence about the others:
    /// never make certificates or penalties of it.
    Lenient,
}

/// One signer's signature over the message of the quorum.
#[derive(Clone, Copy, Debug)]
pub struct Vote<'a> {
    /// Who is said to have signed.
    pub signer: SignerId,
    /// The encoded signature.
    pub signature: &'a [u8],
}

impl<'a> Vote<'a> {
    /// A vote.
    pub fn new(signer: impl Into<SignerId>, signature: &'a [u8]) -> Self {
        Self {
            signer: signer.into(),
            signature,
        }
    }
}

/// A quorum that was reached.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct QuorumReport {
    /// The proven weight, each signer counted once.
    pub weight: u128,
    /// Who carries it, in the order of their votes.
    pub signers: Vec<SignerId>,
    /// Votes that were looked at.
    pub examined: usize,
}

/// Why there is no quorum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum QuorumError {
    /// The verifier has no key set.
    NoKeys,
    /// [`Message::Mu`] belongs to one key and cannot be signed by several.
    MessageForm,
    /// There is not one weight per id of the key set
    /// ([`KeySet::id_bound`](crate::KeySet::id_bound)).
    WeightsLength,
    /// All signers together do not reach the threshold.
    Unreachable,
    /// Strict: a vote by somebody who is not in the key set.
    UnknownSigner {
        /// The index of the vote.
        vote: usize,
    },
    /// Strict: two different signatures by one signer.
    Contradiction {
        /// The index of the earlier vote.
        first: usize,
        /// The index of the later vote.
        second: usize,
    },
    /// The weight does not suffice: of all votes in strict, of the valid ones
    /// found before it was clear in lenient.
    Insufficient {
        /// The weight found.
        weight: u128,
    },
    /// Strict: the lowest vote that is invalid.
    Invalid {
        /// Its index.
        vote: usize,
        /// Why.
        reason: Reason,
    },
}

impl fmt::Display for QuorumError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoKeys => f.write_str("the verifier has no key set"),
            Self::MessageForm => f.write_str("mu belongs to one key"),
            Self::WeightsLength => f.write_str("there is not one weight per signer"),
            Self::Unreachable => f.write_str("the threshold is above the total weight"),
            Self::UnknownSigner { vote } => write!(f, "vote {vote} is by an unknown signer"),
            Self::Contradiction { first, second } => {
                write!(f, "votes {first} and {second} differ and are by one signer")
            }
            Self::Insufficient { weight } => write!(f, "a weight of {weight} does not suffice"),
            Self::Invalid { vote, reason } => write!(f, "vote {vote} is invalid: {reason}"),
        }
    }
}

impl core::error::Error for QuorumError {}

/// Votes verified at once under [`Policy::Lenient`], at most.
const LENIENT_WINDOW: usize = 4096;

impl<P: ParameterSet> BatchVerifier<P> {
    /// Whether `votes` for one `message` reach `threshold`. One message for all,
    /// so that votes for different blocks can never add up. The answer does not
    /// depend on threads or scheduling.
    ///
    /// # Errors
    /// Every [`QuorumError`], in the order of its variants.
    pub fn verify_quorum(
        &self,
        message: Message<'_>,
        votes: &[Vote<'_>],
        weights: &Weights,
        threshold: Threshold,
        policy: Policy,
    ) -> Result<QuorumReport, QuorumError> {
        let keys = self.keys().ok_or(QuorumError::NoKeys)?;
        if let Message::Mu(_) = message {
            return Err(QuorumError::MessageForm);
        }
        if weights.0.len() != keys.id_bound() {
            return Err(QuorumError::WeightsLength);
        }
        if weights.total() < threshold.weight() {
            return Err(QuorumError::Unreachable);
        }
        match policy {
            Policy::Strict => self.strict(message, votes, weights, threshold),
            Policy::Lenient => self.lenient(message, votes, weights, threshold),
        }
    }

    fn strict(
        &self,
        message: Message<'_>,
        votes: &[Vote<'_>],
        weights: &Weights,
        threshold: Threshold,
    ) -> Result<QuorumReport, QuorumError> {
        let mut seen = vec![None::<usize>; weights.0.len()];
        let mut distinct = Vec::with_capacity(votes.len().min(seen.len()));
        let mut weight = 0;
        if let Some(vote) = votes.iter().position(|vote| !self.knows(vote.signer)) {
            return Err(QuorumError::UnknownSigner { vote });
        }
        for (second, vote) in votes.iter().enumerate() {
            let Some(seen) = seen.get_mut(vote.signer.index() as usize) else {
                return Err(QuorumError::UnknownSigner { vote: second });
            };
            match *seen {
                None => {
                    *seen = Some(second);
                    distinct.push(second);
                    weight += weights.of(vote.signer);
                }
                Some(first) if votes[first].signature == vote.signature => {}
                Some(first) => return Err(QuorumError::Contradiction { first, second }),
            }
        }
        if weight < threshold.weight() {
            return Err(QuorumError::Insufficient { weight });
        }
        let request = Request {
            mode: Mode::FirstInvalid,
            cancel: None,
        };
        let project = |_: usize, &vote: &usize| ballot(message, &votes[vote]);
        let (report, _) = self.report(request, &distinct, &project);
        if let Some((at, reason)) = report.refusal() {
            let vote = distinct[at];
            return Err(QuorumError::Invalid { vote, reason });
        }
        Ok(QuorumReport {
            weight,
            signers: distinct.iter().map(|&vote| votes[vote].signer).collect(),
            examined: votes.len(),
        })
    }

    fn lenient(
        &self,
        message: Message<'_>,
        votes: &[Vote<'_>],
        weights: &Weights,
        threshold: Threshold,
    ) -> Result<QuorumReport, QuorumError> {
        let place = |vote: &Vote<'_>| vote.signer.index() as usize;
        // The last vote of each signer, while that signer is not proven.
        let mut last = vec![None::<usize>; weights.0.len()];
        for (index, vote) in votes.iter().enumerate() {
            if self.knows(vote.signer) {
                last[place(vote)] = Some(index);
            }
        }
        let mut proven = vec![false; last.len()];
        let mut signers = Vec::new();
        let mut weight = 0u128;
        let mut next = 0;
        let mut window = Vec::new();
        let mut pending = vec![0; last.len()];
        let mut round = 0;
        loop {
            if weight >= threshold.weight() {
                return Ok(QuorumReport {
                    weight,
                    signers,
                    examined: next,
                });
            }
            let open: u128 = (0..)
                .zip(&last)
                .filter(|&(id, last)| !proven[id as usize] && last.is_some_and(|last| last >= next))
                .map(|(id, _)| weights.of(SignerId::new(id)))
                .sum();
            if weight + open < threshold.weight() {
                return Err(QuorumError::Insufficient { weight });
            }
            // As many votes as could close the gap if all are valid.
            window.clear();
            round += 1;
            let mut hoped = weight;
            while next < votes.len() && hoped < threshold.weight() && window.len() < LENIENT_WINDOW
            {
                let vote = &votes[next];
                if self.knows(vote.signer) && !proven[place(vote)] {
                    window.push(next);
                    if pending[place(vote)] != round {
                        pending[place(vote)] = round;
                        hoped += weights.of(vote.signer);
                    }
                }
                next += 1;
            }
            let project = |_: usize, &vote: &usize| ballot(message, &votes[vote]);
            let (report, _) = self.report(Request::FULL, &window, &project);
            for (&vote, outcome) in window.iter().zip(report.outcomes()) {
                let vote = &votes[vote];
                if *outcome == Outcome::Valid && !proven[place(vote)] {
                    proven[place(vote)] = true;
                    weight += weights.of(vote.signer);
                    signers.push(vote.signer);
                }
            }
        }
    }

    fn knows(&self, signer: SignerId) -> bool {
        self.keys().is_some_and(|keys| keys.key(signer).is_some())
    }
}

fn ballot<'a>(message: Message<'a>, vote: &Vote<'a>) -> Item<'a> {
    Item::new(vote.signer, message, vote.signature)
}
