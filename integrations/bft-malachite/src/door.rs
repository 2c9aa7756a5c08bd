//! The door: what arrives is verified together, what the engine asks is answered from memory.

use core::mem;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use batch_verify::{
    AsyncIntake, BatchVerifier, CallerPool, Duplicates, Intake, IntakeLimits, Item, KeySet, Origin,
    Outcome, OwnedItem, OwnedMessage, OwnedQuorum, OwnedSigner, OwnedSubject, OwnedVote, Policy,
    Priority, QuorumError, QuorumFailure, Reason, SignerId, Subject, Threads, Threshold, Vote,
    VoteFor, Weights,
};
use futures::executor::block_on;
use measure::{How, Kind, Meter, ThreadTime, aws_lc_verify};
use mldsa_core::{Context, ParameterSet};

use crate::chain::{Address, Height};
use crate::message::{Message, Signed};
use crate::scheme::{CONTEXT, Signature};

/// What was refused, and what was not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refused {
    /// At the door, by the peer who sent it: never by who is said to have signed it.
    pub by_peer: BTreeMap<u64, u64>,
    /// At the door and when the engine asked, by reason.
    pub by_reason: BTreeMap<&'static str, u64>,
    /// Of heights that are over, which nobody verifies.
    pub late: u64,
    /// By peer, what the engine was shown.
    pub admitted: BTreeMap<u64, u64>,
}

/// A validator's door. One at a time is verified where the engine asks, on all others of [`How`]
/// but [`How::Batched`].
#[derive(Debug)]
pub struct Door<P: ParameterSet> {
    how: How,
    keys: KeySet<P>,
    intake: AsyncIntake<P>,
    jobs: Jobs,
    weights: Arc<Weights>,
    meter: Arc<Meter>,
    refused: Refused,
}

impl<P: ParameterSet> Door<P> {
    /// The door of one validator among the owners of `keys`, whose voting powers are `weights`.
    #[must_use]
    pub fn new(how: How, keys: KeySet<P>, weights: Arc<Weights>, meter: Arc<Meter>) -> Self {
        let jobs = Jobs::default();
        let verifier = BatchVerifier::builder()
            .keys(keys.clone())
            .context(CONTEXT)
            .threads(jobs.threads())
            .build();
        let limits = IntakeLimits {
            // The votes of a few heights: what is decided is not asked for again.
            memory_bytes: 16 * keys.len() * (P::SIG_LEN + 512),
            ..IntakeLimits::default()
        };
        Self {
            how,
            keys,
            intake: AsyncIntake::new(Intake::new(verifier.expect("a short context"), limits)),
            jobs,
            weights,
            meter,
            refused: Refused::default(),
        }
    }

    /// What was refused so far.
    #[must_use]
    pub fn refused(&self) -> &Refused {
        &self.refused
    }

    /// The voting power of everybody.
    #[must_use]
    pub fn weights(&self) -> &Weights {
        &self.weights
    }

    /// Takes in all that has arrived, each with the peer who sent it, and returns what the engine
    /// is to see: nothing of heights below `height`, nothing that is not valid.
    pub fn admit(
        &mut self,
        height: Height,
        mut arrived: Vec<(u64, Message<P>)>,
    ) -> Vec<Message<P>> {
        let before = arrived.len();
        arrived.retain(|(_, message)| message.height() >= height);
        self.refused.late += (before - arrived.len()) as u64;
        if self.how == How::Batched {
            arrived = self.verify_together(arrived);
            for (peer, _) in &arrived {
                *self.refused.admitted.entry(*peer).or_default() += 1;
            }
        }
        arrived.into_iter().map(|(_, message)| message).collect()
    }

    fn verify_together(&mut self, arrived: Vec<(u64, Message<P>)>) -> Vec<(u64, Message<P>)> {
        let start = ThreadTime::now();
        let mut counts = [(0, 0, 0); 3];
        let submitted: Vec<_> = arrived
            .into_iter()
            .map(|(peer, message)| {
                let pending = message.signed().map(|(kind, signed)| {
                    let (count, bytes, _) = &mut counts[kind as usize];
                    *count += 1;
                    *bytes += signed.len();
                    let origin = Origin::peer(peer, Priority::OwnRound);
                    (kind, self.intake.try_submit(origin, signed.into_item()))
                });
                (peer, message, pending)
            })
            .collect();
        let inside = ThreadTime::now();
        self.jobs.run();
        let inside = inside.elapsed();
        let mut admitted = Vec::with_capacity(submitted.len());
        for (peer, message, pending) in submitted {
            let Some((kind, pending)) = pending else {
                admitted.push((peer, message));
                continue;
            };
            // Both have been answered by now.
            match pending.and_then(|pending| pending.wait()) {
                Ok(Outcome::Valid) => admitted.push((peer, message)),
                answer => {
                    let reason = match answer {
                        Ok(Outcome::Invalid(reason)) => reason.name(),
                        _ => "unanswered",
                    };
                    counts[kind as usize].2 += 1;
                    *self.refused.by_peer.entry(peer).or_default() += 1;
                    *self.refused.by_reason.entry(reason).or_default() += 1;
                }
            }
        }
        let around = start.elapsed();
        self.meter.inside(inside);
        let all: u32 = counts.iter().map(|(count, ..)| count).sum();
        for kind in [Kind::Vote, Kind::Proposal] {
            let (count, bytes, invalid) = counts[kind as usize];
            if count > 0 {
                let share = around * count / all;
                self.meter
                    .verified(kind, count as usize, bytes, invalid, share);
            }
        }
        admitted
    }

    /// What the engine asks: whether one signature is valid.
    pub fn verify(&mut self, kind: Kind, signed: &Signed) -> bool {
        let start = ThreadTime::now();
        let before = self.intake.intake().stats().verified;
        let (valid, verified) = match self.how {
            How::Batched => {
                let outcome = self.intake.intake().verify(signed.as_item());
                let after = self.intake.intake().stats().verified;
                (outcome.is_valid(), after > before)
            }
            _ => (
                self.alone(signed.by, &signed.bytes, &signed.signature),
                true,
            ),
        };
        let time = start.elapsed();
        if verified {
            self.meter.inside(time);
            let invalid = usize::from(!valid);
            self.meter.verified(kind, 1, signed.len(), invalid, time);
        } else {
            self.meter.beside(kind, time);
        }
        if !valid {
            *self.refused.by_reason.entry("asked").or_default() += 1;
        }
        valid
    }

    /// Whether `votes` for one message reach `threshold`, every one of them being valid and by
    /// somebody else: a certificate.
    ///
    /// # Errors
    /// Why they do not.
    pub fn quorum(
        &self,
        bytes: Vec<u8>,
        votes: &[(Address, &Signature)],
        threshold: Threshold,
    ) -> Result<(), QuorumError> {
        let start = ThreadTime::now();
        let before = self.intake.intake().stats().verified;
        let (answer, verified) = if self.how == How::Batched {
            let owned = |&(by, signature): &(Address, &Signature)| OwnedVote {
                signer: SignerId::new(by.0),
                signature: signature.as_ref().to_vec(),
            };
            let quorum = OwnedQuorum {
                subject: OwnedSubject {
                    message: OwnedMessage::Bytes(bytes),
                    context: None,
                },
                votes: votes.iter().map(owned).collect(),
                weights: Arc::clone(&self.weights),
                threshold,
                policy: Policy::Strict,
                duplicates: Duplicates::Reject,
            };
            // This thread is the executor's: it does the work while it waits.
            let answer = block_on(self.intake.submit_quorum(Origin::default(), quorum));
            self.jobs.run();
            let answer = match answer {
                Ok(_) => Ok(()),
                Err(QuorumFailure::Votes(error)) => Err(error),
                Err(QuorumFailure::Unanswered { vote, .. }) => Err(invalid(vote)),
                Err(_) => Err(invalid(0)),
            };
            let after = self.intake.intake().stats().verified;
            (answer, (after - before) as usize)
        } else {
            (self.quorum_alone(&bytes, votes, threshold), votes.len())
        };
        self.certificate(start, verified, answer.is_err());
        answer
    }

    /// The weight of those who have signed anything, each `(message, signer, signature)` being
    /// valid.
    ///
    /// # Errors
    /// As for [`BatchVerifier::tally`], and [`QuorumError::Invalid`].
    pub fn tally(&self, votes: &[(Vec<u8>, Address, &Signature)]) -> Result<u128, QuorumError> {
        let start = ThreadTime::now();
        let answer = if self.how == How::Batched {
            self.tally_together(votes)
        } else {
            let valid = |(bytes, by, signature): &(Vec<u8>, Address, &Signature)| {
                self.alone(*by, bytes, signature)
            };
            match votes.iter().position(|vote| !valid(vote)) {
                Some(vote) => Err(invalid(vote)),
                None => {
                    let mut signers: Vec<_> = votes.iter().map(|(_, by, _)| *by).collect();
                    signers.sort_unstable();
                    signers.dedup();
                    Ok(signers.iter().map(|&by| self.weight(by)).sum())
                }
            }
        };
        self.certificate(start, votes.len(), answer.is_err());
        answer
    }

    fn tally_together(
        &self,
        votes: &[(Vec<u8>, Address, &Signature)],
    ) -> Result<u128, QuorumError> {
        let mut messages: Vec<&[u8]> = votes.iter().map(|(bytes, ..)| &bytes[..]).collect();
        messages.sort_unstable();
        messages.dedup();
        let subjects: Vec<Subject<'_>> = messages.iter().map(|&bytes| bytes.into()).collect();
        let votes: Vec<VoteFor<'_>> = votes
            .iter()
            .map(|(bytes, by, signature)| VoteFor {
                subject: messages.partition_point(|message| *message < &bytes[..]),
                vote: Vote::new(by.0, signature.as_ref()),
            })
            .collect();
        let verifier = self.intake.intake().verifier();
        let tally = verifier.tally(&subjects, &votes, &self.weights, Duplicates::Reject)?;
        match tally.invalid.first() {
            Some(&(vote, reason)) => Err(QuorumError::Invalid { vote, reason }),
            None => Ok(tally.distinct),
        }
    }

    fn certificate(&self, start: ThreadTime, verified: usize, refused: bool) {
        let time = start.elapsed();
        if verified > 0 {
            self.meter.inside(time);
            let bytes = verified * P::SIG_LEN;
            let invalid = usize::from(refused);
            let kind = Kind::Certificate;
            self.meter.verified(kind, verified, bytes, invalid, time);
        } else {
            self.meter.beside(Kind::Certificate, time);
        }
    }

    /// One signature, as the row says that is measured.
    fn alone(&self, by: Address, bytes: &[u8], signature: &Signature) -> bool {
        let (signer, signature) = (SignerId::new(by.0), signature.as_ref());
        let context = Context::new(CONTEXT).expect("a short context");
        if matches!(self.how, How::Batched | How::OneByOne) {
            let verdict = self.keys.verify_one(signer, context, bytes, signature);
            return verdict.is_ok();
        }
        self.keys.key(signer).is_some_and(|key| match self.how {
            How::AwsLc => aws_lc_verify(key, CONTEXT, bytes, signature),
            _ => key.verify(bytes, context, signature).is_ok(),
        })
    }

    /// What [`BatchVerifier::verify_quorum`] says under the strict policy, one vote at a time.
    fn quorum_alone(
        &self,
        bytes: &[u8],
        votes: &[(Address, &Signature)],
        threshold: Threshold,
    ) -> Result<(), QuorumError> {
        let mut seen = BTreeMap::new();
        for (vote, (by, _)) in votes.iter().enumerate() {
            if self.keys.key(SignerId::new(by.0)).is_none() {
                return Err(QuorumError::UnknownSigner { vote });
            }
            if let Some(first) = seen.insert(by, vote) {
                return Err(QuorumError::Contradiction {
                    first,
                    second: vote,
                });
            }
        }
        let weight = seen.keys().map(|by| self.weight(**by)).sum();
        if weight < threshold.weight() {
            return Err(QuorumError::Insufficient { weight });
        }
        let valid = |(by, signature): &(Address, &Signature)| self.alone(*by, bytes, signature);
        match votes.iter().position(|vote| !valid(vote)) {
            Some(vote) => Err(invalid(vote)),
            None => Ok(()),
        }
    }

    fn weight(&self, by: Address) -> u128 {
        self.weights.of(SignerId::new(by.0))
    }
}

fn invalid(vote: usize) -> QuorumError {
    QuorumError::Invalid {
        vote,
        reason: Reason::Other,
    }
}

impl Signed {
    fn len(&self) -> usize {
        self.bytes.len() + self.signature.as_ref().len()
    }

    fn as_item(&self) -> Item<'_> {
        Item::new(self.by.0, &self.bytes[..], self.signature.as_ref())
    }

    fn into_item(self) -> OwnedItem {
        OwnedItem {
            signer: OwnedSigner::Id(SignerId::new(self.by.0)),
            message: OwnedMessage::Bytes(self.bytes),
            context: None,
            signature: self.signature.as_ref().to_vec(),
        }
    }
}

/// What the intake wants done, on the engine's own thread: it runs when all that has arrived is
/// in, so that no batch begins with the first vote alone.
#[derive(Clone, Default)]
struct Jobs(Arc<Mutex<VecDeque<Job>>>);

type Job = Box<dyn FnOnce() + Send>;

impl Jobs {
    fn threads(&self) -> Threads {
        let jobs = self.clone();
        CallerPool::new(1, |_, _| {})
            .spawning(move |job| jobs.with(|queue| queue.push_back(job)), || true)
            .into_threads()
    }

    fn run(&self) {
        loop {
            let jobs = self.with(mem::take);
            if jobs.is_empty() {
                return;
            }
            jobs.into_iter().for_each(|job| job());
        }
    }

    fn with<R>(&self, act: impl FnOnce(&mut VecDeque<Job>) -> R) -> R {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl core::fmt::Debug for Jobs {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Jobs({})", self.with(|queue| queue.len()))
    }
}
