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

    pub(crate) fn item(&self, signer: SignerId, signature: &'a [u8]) -> Item<'a> {
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
    /// The weight does not suffice: of all votes in strict, of the valid ones and those
    /// that might still have been valid in lenient.
    Insufficient {
        /// The threshold.
        needed: u128,
        /// The weight of all known signers who have a vote there, valid or not.
        claimed: u128,
        /// The weight that was verified before it was clear: 0 in strict.
        verified: u128,
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
            Self::Insufficient {
                needed,
                claimed,
                verified,
            } => write!(
                f,
                "a weight of {needed} is needed, {claimed} has votes, {verified} was verified"
            ),
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
    /// ```
    /// use batch_verify::{
    ///     BatchVerifier, Duplicates, KeySet, Policy, QuorumError, Threshold, Vote, Weights,
    /// };
    /// use mldsa_core::{Context, Randomness, MlDsa44, SigningKey};
    ///
    /// let signers: Vec<_> = (0..4).map(|i| SigningKey::<MlDsa44>::from_seed(&[i; 32])).collect();
    /// let sign = |key: &SigningKey<_>| key.sign(b"block 7", Context::EMPTY, Randomness::Deterministic);
    /// let signatures = signers.iter().map(sign).collect::<Result<Vec<_>, _>>()?;
    ///
    /// let keys = KeySet::<MlDsa44>::from_public_keys(signers.iter().map(|key| key.verifying_key()))?;
    /// let engine = BatchVerifier::builder().keys(keys).build()?;
    /// let weights = Weights::equal(4);
    /// let votes: Vec<_> =
    ///     (0u32..).zip(&signatures).map(|(signer, vote)| Vote::new(signer, vote.as_ref())).collect();
    /// let verify = |block: &[u8; 7], votes: &[Vote]| {
    ///     let needed = Threshold::two_thirds(&weights);
    ///     engine.verify_quorum(block, votes, &weights, needed, Policy::Strict, Duplicates::Reject)
    /// };
    /// assert_eq!(verify(b"block 7", &votes[1..])?.weight, 3);
    /// assert!(matches!(verify(b"block 7", &votes[2..]), Err(QuorumError::Insufficient { needed: 3, claimed: 2, .. })));
    /// assert!(matches!(verify(b"block 8", &votes), Err(QuorumError::Invalid { vote: 0, .. })));
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
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
        let rule = Rule {
            weights,
            threshold,
            policy,
            duplicates,
        };
        self.quorum(subject.into(), votes, rule, |request, items| {
            self.outcomes(items, |_, item| *item, request).0
        })
    }

    /// [`verify_quorum`](Self::verify_quorum), whoever verifies the items.
    pub(crate) fn quorum<'a>(
        &self,
        subject: Subject<'a>,
        votes: &'a [Vote<'a>],
        rule: Rule<'_>,
        verify: impl Fn(Request<'_>, &[Item<'a>]) -> Vec<Outcome>,
    ) -> Result<QuorumReport, QuorumError> {
        let mut count = self.count(&subject, votes, rule)?;
        let request = Request {
            mode: match rule.policy {
                Policy::Strict => Mode::FirstInvalid,
                Policy::Lenient => Mode::Full,
            },
            ..Request::FULL
        };
        loop {
            if let Some(report) = count.step(votes, rule)? {
                return Ok(report);
            }
            let item = |&vote: &usize| subject.item(votes[vote].signer, votes[vote].signature);
            let items: Vec<Item<'a>> = count.window().iter().map(item).collect();
            count.told(votes, rule, &verify(request, &items))?;
        }
    }

    /// Everything that is checked before any cryptography.
    pub(crate) fn count(
        &self,
        subject: &Subject<'_>,
        votes: &[Vote<'_>],
        rule: Rule<'_>,
    ) -> Result<Count, QuorumError> {
        self.usable(core::slice::from_ref(subject), rule.weights)?;
        if rule.weights.total() < rule.threshold.weight() {
            return Err(QuorumError::Unreachable);
        }
        if rule.policy == Policy::Strict
            && let Some(vote) = votes.iter().position(|vote| !self.knows(vote.signer))
        {
            return Err(QuorumError::UnknownSigner { vote });
        }
        if rule.duplicates == Duplicates::Reject {
            distinct(votes.iter().map(|vote| (0, vote)))?;
        }
        match rule.policy {
            Policy::Strict => Strict::new(votes, rule).map(Count::Strict),
            Policy::Lenient => {
                let knows = |signer| self.knows(signer);
                Ok(Count::Lenient(Lenient::new(votes, rule, knows)))
            }
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
        self.tally_by(subjects, votes, weights, duplicates, |request, items| {
            self.outcomes(items, |_, item| *item, request).0
        })
    }

    /// [`tally`](Self::tally), whoever verifies the items.
    pub(crate) fn tally_by<'a>(
        &self,
        subjects: &'a [Subject<'a>],
        votes: &'a [VoteFor<'a>],
        weights: &Weights,
        duplicates: Duplicates,
        verify: impl FnOnce(Request<'_>, &[Item<'a>]) -> Vec<Outcome>,
    ) -> Result<Tally, QuorumError> {
        self.usable(subjects, weights)?;
        if let Some(vote) = votes.iter().position(|vote| vote.subject >= subjects.len()) {
            return Err(QuorumError::UnknownSubject { vote });
        }
        if duplicates == Duplicates::Reject {
            distinct(votes.iter().map(|vote| (vote.subject, &vote.vote)))?;
        }
        let item =
            |vote: &VoteFor<'a>| subjects[vote.subject].item(vote.vote.signer, vote.vote.signature);
        let items: Vec<Item<'a>> = votes.iter().map(item).collect();
        // Equal votes share a verdict here, whatever the verifier does with repeats.
        let request = Request {
            duplicates: Some(Duplicates::Once),
            ..Request::FULL
        };
        let mut signers = vec![Vec::new(); subjects.len()];
        let (mut all, mut invalid) = (Vec::new(), Vec::new());
        for (index, (vote, outcome)) in votes.iter().zip(verify(request, &items)).enumerate() {
            match outcome {
                Outcome::Valid => {
                    signers[vote.subject].push(vote.vote.signer);
                    all.push(vote.vote.signer);
                }
                Outcome::Invalid(reason) => invalid.push((index, reason)),
                // Everything is verified.
                Outcome::Skipped => {}
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
            invalid,
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

    fn knows(&self, signer: SignerId) -> bool {
        self.keys().is_some_and(|keys| keys.key(signer).is_some())
    }
}

/// What makes votes a quorum.
#[derive(Clone, Copy)]
pub(crate) struct Rule<'r> {
    pub(crate) weights: &'r Weights,
    pub(crate) threshold: Threshold,
    pub(crate) policy: Policy,
    pub(crate) duplicates: Duplicates,
}

/// A quorum being counted, whoever verifies the votes: step by step the window of
/// those to verify next, until the answer is clear. Votes and rule are the same in
/// every call.
pub(crate) enum Count {
    Strict(Strict),
    Lenient(Lenient),
}

impl Count {
    /// The answer, or `None` and a [`window`](Self::window).
    pub(crate) fn step(
        &mut self,
        votes: &[Vote<'_>],
        rule: Rule<'_>,
    ) -> Result<Option<QuorumReport>, QuorumError> {
        match self {
            Self::Strict(strict) => Ok(strict.step(votes)),
            Self::Lenient(lenient) => lenient.step(votes, rule),
        }
    }

    /// The indices of the votes to verify next.
    pub(crate) fn window(&self) -> &[usize] {
        match self {
            Self::Strict(strict) => &strict.distinct,
            Self::Lenient(lenient) => &lenient.window,
        }
    }

    /// Takes the outcomes of the window in; under the strict policy what follows the
    /// first that is not valid may be missing.
    pub(crate) fn told(
        &mut self,
        votes: &[Vote<'_>],
        rule: Rule<'_>,
        outcomes: &[Outcome],
    ) -> Result<(), QuorumError> {
        match self {
            Self::Strict(strict) => strict.told(outcomes),
            Self::Lenient(lenient) => {
                lenient.told(votes, rule.weights, outcomes);
                Ok(())
            }
        }
    }
}

/// See [`Policy::Strict`].
pub(crate) struct Strict {
    distinct: Vec<usize>,
    weight: u128,
    proven: bool,
}

impl Strict {
    fn new(votes: &[Vote<'_>], rule: Rule<'_>) -> Result<Self, QuorumError> {
        let mut seen = vec![None::<usize>; rule.weights.0.len()];
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
                    weight += rule.weights.of(vote.signer);
                }
                Some(first) if votes[first].signature == vote.signature => {}
                Some(first) => return Err(QuorumError::Contradiction { first, second }),
            }
        }
        if weight < rule.threshold.weight() {
            return Err(QuorumError::Insufficient {
                needed: rule.threshold.weight(),
                claimed: weight,
                verified: 0,
            });
        }
        Ok(Self {
            distinct,
            weight,
            proven: false,
        })
    }

    fn step(&self, votes: &[Vote<'_>]) -> Option<QuorumReport> {
        self.proven.then(|| QuorumReport {
            weight: self.weight,
            signers: self
                .distinct
                .iter()
                .map(|&vote| votes[vote].signer)
                .collect(),
            examined: votes.len(),
        })
    }

    fn told(&mut self, outcomes: &[Outcome]) -> Result<(), QuorumError> {
        for (at, &vote) in self.distinct.iter().enumerate() {
            let reason = match outcomes.get(at) {
                Some(Outcome::Valid) => continue,
                Some(Outcome::Invalid(reason)) => *reason,
                // Not looked at is refused too.
                Some(Outcome::Skipped) | None => Reason::Other,
            };
            return Err(QuorumError::Invalid { vote, reason });
        }
        self.proven = true;
        Ok(())
    }
}

/// See [`Policy::Lenient`].
pub(crate) struct Lenient {
    /// The last vote of each known signer.
    last: Vec<Option<usize>>,
    proven: Vec<bool>,
    /// The round in which a vote of the signer was hoped for.
    hoped: Vec<usize>,
    signers: Vec<SignerId>,
    weight: u128,
    next: usize,
    round: usize,
    window: Vec<usize>,
}

impl Lenient {
    fn new(votes: &[Vote<'_>], rule: Rule<'_>, knows: impl Fn(SignerId) -> bool) -> Self {
        let ids = rule.weights.0.len();
        let mut last = vec![None; ids];
        for (index, vote) in votes.iter().enumerate() {
            if knows(vote.signer)
                && let Some(last) = last.get_mut(vote.signer.index() as usize)
            {
                *last = Some(index);
            }
        }
        Self {
            last,
            proven: vec![false; ids],
            hoped: vec![0; ids],
            signers: Vec::new(),
            weight: 0,
            next: 0,
            round: 0,
            window: Vec::new(),
        }
    }

    /// Whether the vote's signer is known and not proven yet.
    fn open(&self, vote: &Vote<'_>) -> Option<usize> {
        let place = vote.signer.index() as usize;
        let known = self.last.get(place).is_some_and(Option::is_some);
        (known && !self.proven[place]).then_some(place)
    }

    fn step(
        &mut self,
        votes: &[Vote<'_>],
        rule: Rule<'_>,
    ) -> Result<Option<QuorumReport>, QuorumError> {
        let threshold = rule.threshold.weight();
        if self.weight >= threshold {
            return Ok(Some(QuorumReport {
                weight: self.weight,
                signers: core::mem::take(&mut self.signers),
                examined: self.next,
            }));
        }
        let ahead = |last: &Option<usize>| last.is_some_and(|last| last >= self.next);
        let weight_of = |counts: &dyn Fn(&Option<usize>, bool) -> bool| -> u128 {
            (0..)
                .zip(self.last.iter().zip(&self.proven))
                .filter(|(_, (last, proven))| counts(last, **proven))
                .map(|(id, _)| rule.weights.of(SignerId::new(id)))
                .sum()
        };
        let open = weight_of(&|last, proven| !proven && ahead(last));
        if self.weight + open < threshold {
            return Err(QuorumError::Insufficient {
                needed: threshold,
                claimed: weight_of(&|last, _| last.is_some()),
                verified: self.weight,
            });
        }
        // As many votes as could close the gap if all are valid.
        self.window.clear();
        self.round += 1;
        let mut hoped = self.weight;
        while self.next < votes.len() && hoped < threshold && self.window.len() < LENIENT_WINDOW {
            let vote = &votes[self.next];
            if let Some(place) = self.open(vote) {
                self.window.push(self.next);
                if self.hoped[place] != self.round {
                    self.hoped[place] = self.round;
                    hoped += rule.weights.of(vote.signer);
                }
            }
            self.next += 1;
        }
        Ok(None)
    }

    fn told(&mut self, votes: &[Vote<'_>], weights: &Weights, outcomes: &[Outcome]) {
        for (at, outcome) in outcomes.iter().enumerate() {
            let Some(&vote) = self.window.get(at) else {
                return;
            };
            let vote = &votes[vote];
            if *outcome == Outcome::Valid
                && let Some(place) = self.open(vote)
            {
                self.proven[place] = true;
                self.weight += weights.of(vote.signer);
                self.signers.push(vote.signer);
            }
        }
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
