//! The door: what comes in, what the engine asks, what is refused.

use core::fmt;
use std::collections::BTreeMap;
use std::sync::Arc;

use batch_verify::{Outcome, QuorumError, Reason, Threshold, Weights};
use harness::{Kind, Meter, ThreadTime};
use mldsa_core::ParameterSet;

use crate::chain::Height;
use crate::message::{Message, Signed};
use crate::mode::Mode;
use crate::verifier::{Committee, Verifier};

/// What was refused, and what was not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rejections {
    /// At the door, by the peer who sent it, never by who is said to have signed it, and reason.
    pub by_peer: BTreeMap<(u64, Reason), u64>,
    /// When the engine asked.
    pub asked: u64,
    /// Signed for heights that are over, which nobody verifies, by peer.
    pub late: BTreeMap<u64, u64>,
    /// What passed the door verified, by peer.
    pub admitted: BTreeMap<u64, u64>,
}

/// A validator's door.
pub(crate) struct VoteAdmission {
    verdicts: Box<dyn Verifier>,
    weights: Arc<Weights>,
    height: Height,
    meter: Arc<Meter>,
    refused: Rejections,
}

impl VoteAdmission {
    /// The door of one member.
    pub(crate) fn new<P: ParameterSet>(
        way: Mode,
        committee: Committee<P>,
        meter: Arc<Meter>,
    ) -> Self {
        Self {
            weights: Arc::clone(&committee.weights),
            verdicts: committee.verdicts(way),
            height: Height::default(),
            meter,
            refused: Rejections::default(),
        }
    }

    /// What was refused so far.
    pub(crate) fn refused(&self) -> &Rejections {
        &self.refused
    }

    /// The voting power of everybody.
    pub(crate) fn weights(&self) -> &Weights {
        &self.weights
    }

    /// Takes in all that has arrived, each with the peer who sent it, and returns what the engine
    /// is to see: nothing of heights below `height`, and, if this door verifies what arrives,
    /// nothing that is not valid.
    pub(crate) fn admit<P: ParameterSet>(
        &mut self,
        height: Height,
        mut arrived: Vec<(u64, Message<P>)>,
    ) -> Vec<Message<P>> {
        if height > self.height {
            self.height = height;
            self.verdicts.forget(height);
        }
        arrived.retain(|(peer, message)| {
            let late = message.height() < height;
            if late && message.kind().is_some() {
                *self.refused.late.entry(*peer).or_default() += 1;
            }
            !late
        });
        let start = ThreadTime::now();
        let signed = |(peer, message): &(u64, Message<P>)| Some((*peer, message.signed()?));
        let signed: Vec<(u64, Signed)> = arrived.iter().filter_map(signed).collect();
        let inside = ThreadTime::now();
        let outcomes = match self.verdicts.arrived(&signed) {
            Some(outcomes) if !signed.is_empty() => outcomes,
            _ => return arrived.into_iter().map(|(_, message)| message).collect(),
        };
        let library = inside.elapsed();
        self.count(&arrived, &signed, &outcomes, start, library);
        let mut outcomes = outcomes.into_iter();
        arrived.retain(|(_, message)| {
            message.kind().is_none() || outcomes.next().is_some_and(Outcome::is_valid)
        });
        arrived.into_iter().map(|(_, message)| message).collect()
    }

    fn count<P: ParameterSet>(
        &mut self,
        arrived: &[(u64, Message<P>)],
        signed: &[(u64, Signed)],
        outcomes: &[Outcome],
        start: ThreadTime,
        library: std::time::Duration,
    ) {
        for ((peer, _), outcome) in signed.iter().zip(outcomes) {
            let count = match outcome {
                Outcome::Valid => self.refused.admitted.entry(*peer).or_default(),
                Outcome::Invalid(reason) => {
                    self.refused.by_peer.entry((*peer, *reason)).or_default()
                }
                // A door verifies everything.
                Outcome::Skipped => continue,
            };
            *count += 1;
        }
        let kinds = arrived.iter().filter_map(|(_, message)| message.kind());
        let kinds: Vec<Kind> = kinds.collect();
        let time = start.elapsed();
        for kind in [Kind::Vote, Kind::Proposal] {
            let of = |at: &usize| kinds[*at] == kind;
            let of: Vec<usize> = (0..signed.len()).filter(of).collect();
            let invalid = of.iter().filter(|at| !outcomes[**at].is_valid()).count();
            let bytes = of.iter().map(|at| signed[*at].1.len()).sum();
            let share = of.len() as f64 / signed.len() as f64;
            if !of.is_empty() {
                let library = library.mul_f64(share);
                self.meter
                    .record_call(kind, of.len(), bytes, invalid, library);
                self.meter.record_total(kind, time.mul_f64(share));
            }
        }
    }

    /// What the engine asks: whether one signature is valid.
    pub(crate) fn verify(&mut self, kind: Kind, signed: &Signed) -> bool {
        let look = ThreadTime::now();
        if self.verdicts.knows(signed) {
            self.meter.record_total(kind, look.elapsed());
            return true;
        }
        let start = ThreadTime::now();
        let valid = self.verdicts.verify(signed);
        let time = start.elapsed();
        let invalid = usize::from(!valid);
        self.meter.record_call(kind, 1, signed.len(), invalid, time);
        self.meter.record_total(kind, time);
        if !valid {
            self.refused.asked += 1;
        }
        valid
    }

    /// Whether `votes`, which are for one message, reach `threshold`, all of them valid and each
    /// by somebody else: a certificate.
    ///
    /// # Errors
    /// Why they do not.
    pub(crate) fn quorum(
        &mut self,
        votes: &[Signed],
        threshold: Threshold,
    ) -> Result<(), QuorumError> {
        let start = ThreadTime::now();
        let (verdict, verified) = self.verdicts.quorum(votes, threshold);
        self.certificate(votes, verified, verdict.is_err(), start);
        verdict
    }

    /// The weight of those who have signed anything of `votes`, if all of them are valid.
    ///
    /// # Errors
    /// Why there is none.
    pub(crate) fn tally(&mut self, votes: &[Signed]) -> Result<u128, QuorumError> {
        let start = ThreadTime::now();
        let (tally, verified) = self.verdicts.tally(votes);
        self.certificate(votes, verified, tally.is_err(), start);
        tally
    }

    fn certificate(&self, votes: &[Signed], verified: usize, refused: bool, start: ThreadTime) {
        let (time, kind) = (start.elapsed(), Kind::Certificate);
        if verified == 0 {
            return self.meter.record_total(kind, time);
        }
        let bytes = votes.iter().map(Signed::len).sum();
        let invalid = usize::from(refused);
        self.meter.record_call(kind, verified, bytes, invalid, time);
        self.meter.record_total(kind, time);
    }
}

impl fmt::Debug for VoteAdmission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VoteAdmission")
            .field("refused", &self.refused)
            .finish_non_exhaustive()
    }
}
