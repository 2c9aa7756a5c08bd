//! Whether votes carry enough weight.

use core::fmt;
use core::num::NonZeroU128;

use mldsa_core::{Context, ParameterSet};

use crate::schedule::Request;
use crate::{BatchVerifier, Duplicates, Item, KeySet, Message, Mode, Outcome, Reason, SignerId};

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

    /// The weights of the set that [`KeySet::reordered`] makes of the same `order`;
    /// 0 for an id without weight.
    #[must_use]
    pub fn reordered(&self, order: &[SignerId]) -> Self {
        let weight = |signer: &SignerId| self.0.get(signer.index() as usize).copied();
        Self(order.iter().map(|id| weight(id).unwrap_or(0)).collect())
    }

    /// The weights of `to`, the set of a later epoch: everyone who is in `from` keeps
    /// the weight, whatever the id is now; `new` tells that of the others.
    pub fn carried<P: ParameterSet>(
        &self,
        from: &KeySet<P>,
        to: &KeySet<P>,
        mut new: impl FnMut(SignerId) -> u64,
    ) -> Self {
        let mut weights = vec![0; to.id_bound()];
        for signer in to.signers() {
            let before = to
                .key(signer)
                .and_then(|key| from.signer_of(key.as_bytes().as_ref()))
                .and_then(|before| self.0.get(before.index() as usize).copied());
            weights[signer.index() as usize] = before.unwrap_or_else(|| new(signer));
        }
        Self(weights)
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

/// What a vote is for.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Subject<'a> {
    /// What was signed; not [`Message::Mu`], which belongs to one key.
    pub message: Message<'a>,
    /// Its context; `None` takes the verifier's.
    pub context: Option<Context<'a>>,
}

impl<'a> Subject<'a> {
    /// A message under the verifier's context.
    pub fn new(message: impl Into<Message<'a>>) -> Self {
        Self {
            message: message.into(),
            context: None,
        }
    }

    /// The same message under its own context instead of the verifier's.
    #[must_use]
    pub fn with_context(self, context: Context<'a>) -> Self {
        Self {
            context: Some(context),
            ..self
        }
    }

    fn item(&self, signer: SignerId, signature: &'a [u8]) -> Item<'a> {
        let item = Item::new(signer, self.message, signature);
        match self.context {
            Some(context) => item.with_context(context),
            None => item,
        }
    }
}

impl<'a> From<Message<'a>> for Subject<'a> {
    fn from(message: Message<'a>) -> Self {
        Self::new(message)
    }
}

impl<'a> From<&'a [u8]> for Subject<'a> {
    fn from(message: &'a [u8]) -> Self {
        Self::new(message)
    }
}

impl<'a, const N: usize> From<&'a [u8; N]> for Subject<'a> {
    fn from(message: &'a [u8; N]) -> Self {
        Self::new(message)
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

/// A vote for one of several subjects.
#[derive(Clone, Copy, Debug)]
pub struct VoteFor<'a> {
    /// Which: an index into the list of subjects.
    pub subject: usize,
    /// Who, and the signature.
    pub vote: Vote<'a>,
}

/// What [`BatchVerifier::tally`] counted. It judges nothing: compare the weight that
/// the protocol names with a [`Threshold`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tally {
    /// For each subject, the weight of those with a valid vote for it.
    pub weights: Vec<u128>,
    /// For each subject, who they are, by increasing id.
    pub signers: Vec<Vec<SignerId>>,
    /// The weight of those with a valid vote for any subject, each counted once: less
    /// than the sum of `weights` if somebody has voted for several.
    pub distinct: u128,
    /// The votes that are not valid, by increasing index.
    pub invalid: Vec<(usize, Reason)>,
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
    /// A vote for a subject that is not in the list.
    UnknownSubject {
        /// The index of the vote.
        vote: usize,
    },
    /// Under [`Duplicates::Reject`]: one vote stands twice, byte for byte.
    Duplicate {
        /// The index of the earlier.
        first: usize,
        /// The index of the later.
        second: usize,
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
            Self::UnknownSubject { vote } => write!(f, "vote {vote} is for an unknown subject"),
            Self::Duplicate { first, second } => {
                write!(f, "votes {first} and {second} are the same")
            }
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
    /// Whether `votes` for one `subject` reach `threshold`. One subject for all, so
    /// that votes for different blocks can never add up. The answer does not depend
    /// on threads or scheduling.
    ///
    /// `duplicates` says what a vote that stands twice, byte for byte, means:
    /// [`Duplicates::Reject`] refuses the votes as a whole, the others count it once.
    /// Like the policy, it is a rule of the protocol: never use one where another
    /// node uses the other.
    ///
    /// # Errors
    /// Every [`QuorumError`] but `UnknownSubject`, in the order of its variants.
    pub fn verify_quorum<'a>(
        &self,
        subject: impl Into<Subject<'a>>,
        votes: &'a [Vote<'a>],
        weights: &Weights,
        threshold: Threshold,
        policy: Policy,
        duplicates: Duplicates,
    ) -> Result<QuorumReport, QuorumError> {
        let subject = subject.into();
        self.usable(&[subject], weights)?;
        if weights.total() < threshold.weight() {
            return Err(QuorumError::Unreachable);
        }
        if policy == Policy::Strict
            && let Some(vote) = votes.iter().position(|vote| !self.knows(vote.signer))
        {
            return Err(QuorumError::UnknownSigner { vote });
        }
        if duplicates == Duplicates::Reject {
            distinct(votes.iter().map(|vote| (0, vote)))?;
        }
        match policy {
            Policy::Strict => self.strict(subject, votes, weights, threshold),
            Policy::Lenient => self.lenient(subject, votes, weights, threshold),
        }
    }

    /// The verified weight of each of several subjects, for rules that add weights up
    /// across them: a certificate of a round that has failed, say. Everything is
    /// verified; nothing is judged, and nothing here is a quorum before the caller
    /// has compared the right one of the weights with a threshold.
    ///
    /// A signer counts once for each subject, at the first valid vote. `duplicates`
    /// as in [`verify_quorum`](Self::verify_quorum).
    ///
    /// # Errors
    /// [`QuorumError::NoKeys`], [`QuorumError::MessageForm`],
    /// [`QuorumError::WeightsLength`], [`QuorumError::UnknownSubject`],
    /// [`QuorumError::Duplicate`].
    pub fn tally<'a>(
        &self,
        subjects: &'a [Subject<'a>],
        votes: &'a [VoteFor<'a>],
        weights: &Weights,
        duplicates: Duplicates,
    ) -> Result<Tally, QuorumError> {
        self.usable(subjects, weights)?;
        if let Some(vote) = votes.iter().position(|vote| vote.subject >= subjects.len()) {
            return Err(QuorumError::UnknownSubject { vote });
        }
        if duplicates == Duplicates::Reject {
            distinct(votes.iter().map(|vote| (vote.subject, &vote.vote)))?;
        }
        let project = |_: usize, vote: &'a VoteFor<'a>| {
            subjects[vote.subject].item(vote.vote.signer, vote.vote.signature)
        };
        // Equal votes share a verdict here, whatever the verifier does with repeats.
        let request = Request {
            duplicates: Some(Duplicates::Once),
            ..Request::FULL
        };
        let (report, _) = self.report(request, votes, &project);
        let mut signers = vec![Vec::new(); subjects.len()];
        let mut all = Vec::new();
        for (vote, outcome) in votes.iter().zip(report.outcomes()) {
            if outcome.is_valid() {
                signers[vote.subject].push(vote.vote.signer);
                all.push(vote.vote.signer);
            }
        }
        let once = |signers: &mut Vec<SignerId>| -> u128 {
            signers.sort_unstable();
            signers.dedup();
            signers.iter().map(|&signer| weights.of(signer)).sum()
        };
        Ok(Tally {
            weights: signers.iter_mut().map(once).collect(),
            signers,
            distinct: once(&mut all),
            invalid: report.invalid().collect(),
        })
    }

    fn usable(&self, subjects: &[Subject<'_>], weights: &Weights) -> Result<(), QuorumError> {
        let keys = self.keys().ok_or(QuorumError::NoKeys)?;
        let of_one_key = |subject: &Subject<'_>| matches!(subject.message, Message::Mu(_));
        if subjects.iter().any(of_one_key) {
            return Err(QuorumError::MessageForm);
        }
        if weights.0.len() != keys.id_bound() {
            return Err(QuorumError::WeightsLength);
        }
        Ok(())
    }

    fn strict<'a>(
        &self,
        subject: Subject<'a>,
        votes: &'a [Vote<'a>],
        weights: &Weights,
        threshold: Threshold,
    ) -> Result<QuorumReport, QuorumError> {
        let mut seen = vec![None::<usize>; weights.0.len()];
        let mut distinct = Vec::with_capacity(votes.len().min(seen.len()));
        let mut weight = 0;
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
            ..Request::FULL
        };
        let project =
            |_: usize, &vote: &usize| subject.item(votes[vote].signer, votes[vote].signature);
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

    fn lenient<'a>(
        &self,
        subject: Subject<'a>,
        votes: &'a [Vote<'a>],
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
            let project =
                |_: usize, &vote: &usize| subject.item(votes[vote].signer, votes[vote].signature);
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

/// # Errors
/// The first vote that equals an earlier one.
fn distinct<'a>(votes: impl Iterator<Item = (usize, &'a Vote<'a>)>) -> Result<(), QuorumError> {
    let mut order: Vec<_> = votes
        .map(|(subject, vote)| (subject, vote.signer, vote.signature))
        .zip(0..)
        .collect();
    order.sort_unstable();
    // By the index of the later: what a reader of the list would meet first.
    let twice = order.windows(2).filter(|pair| pair[0].0 == pair[1].0);
    match twice.map(|pair| (pair[1].1, pair[0].1)).min() {
        Some((second, first)) => Err(QuorumError::Duplicate { first, second }),
        None => Ok(()),
    }
}
