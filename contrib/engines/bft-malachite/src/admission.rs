//! Vote admission: verification of arrived messages and of the engine's questions.

use std::collections::BTreeMap;
use std::mem;
use std::sync::Arc;

use batch_verify::{Pending, RejectReason, ServiceError, Source, VerificationService, Vote};
use harness::{Kind, Meter, Strategy, ThreadTime};
use mldsa_core::ParameterSet;

/// Verdict on a message.
type Verdict = Result<(), RejectReason>;

use crate::chain::Height;
use crate::epochs::Epochs;
use crate::message::{Message, Signed};

/// Messages rejected and admitted by a validator.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rejections {
    /// On arrival, by sender and reason. The sender is the network peer, not the claimed signer.
    pub by_peer: BTreeMap<(u64, RejectReason), u64>,
    /// On request of the engine.
    pub on_request: u64,
    /// Dropped without verification, by sender: heights already decided, or after the next epoch.
    pub unverified: BTreeMap<u64, u64>,
    /// Verified and admitted, by sender.
    pub admitted: BTreeMap<u64, u64>,
    /// Of the unverified ones: submitted to the queue of the service and found valid.
    pub late_valid: u64,
    /// The same, found invalid.
    pub late_invalid: u64,
    /// The same, of an epoch that the service does not retain: no verdict, and no fault of the
    /// sender.
    pub other_epoch: u64,
}

/// Vote admission of one validator.
#[derive(Debug)]
pub(crate) struct VoteAdmission<P: ParameterSet> {
    pub(crate) strategy: Strategy,
    pub(crate) epochs: Epochs<P>,
    /// Verdict cache and batches of [`Strategy::Batched`]; its calls run on the calling thread.
    pub(crate) service: VerificationService<P>,
    height: Height,
    meter: Arc<Meter>,
    rejections: Rejections,
    /// Answers to late messages.
    late: Vec<Pending<Result<(), ServiceError>>>,
}

impl<P: ParameterSet> VoteAdmission<P> {
    pub(crate) fn new(
        strategy: Strategy,
        epochs: Epochs<P>,
        meter: Arc<Meter>,
    ) -> anyhow::Result<Self> {
        let first = epochs.at(Height(1)).committee.clone();
        // Votes of a few heights. The previous, the current and the next epoch are verifiable.
        let cache = 8 * first.len() * (P::SIG_LEN + 512);
        let service = VerificationService::builder(first)
            .threads(1)
            .cache_bytes(cache)
            .retained_committees(2)
            .build()?;
        let admission = Self {
            strategy,
            epochs,
            service,
            height: Height::default(),
            meter,
            rejections: Rejections::default(),
            late: Vec::new(),
        };
        Ok(admission)
    }

    /// The counts, after the answers to all late messages.
    pub(crate) fn rejections(&mut self) -> Rejections {
        for answer in mem::take(&mut self.late) {
            self.count_late(answer.wait());
        }
        self.rejections.clone()
    }

    /// Submits a message of another height with the lowest priority. Its verdict changes nothing
    /// for the engine.
    fn submit_late(&mut self, peer: u64, message: &Message<P>) {
        let Some(signed) = message.signed() else {
            return;
        };
        let Some(vote) = self.vote(&signed) else {
            return;
        };
        match self.service.submit(Source::peer(peer).catch_up(), &vote) {
            Ok(answer) => self.late.push(answer),
            Err(error) => self.count_late(Err(error)),
        }
    }

    fn count_late(&mut self, answer: Result<(), ServiceError>) {
        let rejections = &mut self.rejections;
        *match answer {
            Ok(()) => &mut rejections.late_valid,
            Err(ServiceError::OtherEpoch) => &mut rejections.other_epoch,
            Err(ServiceError::Rejected(_)) => &mut rejections.late_invalid,
            Err(error) => panic!("a late message has no answer: {error}"),
        } += 1;
    }

    /// Filters arrived messages, each with its sender: drops heights below `height` or after the
    /// next epoch, and with [`Strategy::Batched`] messages with invalid signatures.
    pub(crate) fn admit(
        &mut self,
        height: Height,
        arrived: Vec<(u64, Message<P>)>,
    ) -> Vec<Message<P>> {
        if height > self.height {
            let next = self.epochs.after(height);
            if self.service.committee().epoch() < next.number {
                let set = self.service.set_committee(next.committee.clone());
                set.expect("the epoch is later");
            }
            self.height = height;
        }
        let last_epoch = self.epochs.after(height).number;
        let (mut arrived, dropped): (Vec<_>, Vec<_>) =
            arrived.into_iter().partition(|(_, message)| {
                let of_message = message.height();
                of_message >= height && self.epochs.at(of_message).number <= last_epoch
            });
        for (peer, message) in dropped {
            if message.kind().is_none() {
                continue;
            }
            *self.rejections.unverified.entry(peer).or_default() += 1;
            if self.strategy == Strategy::Batched && self.epochs.change() {
                self.submit_late(peer, &message);
            }
        }
        if self.strategy == Strategy::Batched {
            let mut verdicts = self.verify_arrived(&arrived).into_iter();
            arrived.retain(|(_, message)| {
                message.kind().is_none() || verdicts.next().is_some_and(|v| v.is_ok())
            });
        }
        arrived.into_iter().map(|(_, message)| message).collect()
    }

    /// Verifies the votes and proposals of `arrived` in one batch.
    fn verify_arrived(&mut self, arrived: &[(u64, Message<P>)]) -> Vec<Verdict> {
        let start = ThreadTime::now();
        let sender = |(peer, message): &(u64, Message<P>)| Some((*peer, message.kind()?));
        let senders: Vec<(u64, Kind)> = arrived.iter().filter_map(sender).collect();
        let signed = arrived.iter().filter_map(|(_, message)| message.signed());
        let signed: Vec<Signed> = signed.collect();
        let library = ThreadTime::now();
        let verdicts = self.verdicts(&signed);
        let library = library.elapsed();
        for ((peer, _), verdict) in senders.iter().zip(&verdicts) {
            let count = match *verdict {
                Ok(()) => self.rejections.admitted.entry(*peer).or_default(),
                Err(reason) => self.rejections.by_peer.entry((*peer, reason)).or_default(),
            };
            *count += 1;
        }
        let total = start.elapsed();
        for kind in [Kind::Vote, Kind::Proposal] {
            let of_kind = |at: &usize| senders[*at].1 == kind;
            let of_kind: Vec<usize> = (0..signed.len()).filter(of_kind).collect();
            if of_kind.is_empty() {
                continue;
            }
            let bytes = of_kind.iter().map(|at| signed[*at].len()).sum();
            let invalid = of_kind.iter().filter(|at| verdicts[**at].is_err());
            let invalid = invalid.count();
            let share = of_kind.len() as f64 / signed.len() as f64;
            let library = library.mul_f64(share);
            let meter = &self.meter;
            meter.record_call(kind, of_kind.len(), bytes, invalid, library);
            meter.record_total(kind, total.mul_f64(share));
        }
        verdicts
    }

    /// Verdicts on signatures, in one batch with [`Strategy::Batched`].
    pub(crate) fn verdicts(&self, signed: &[Signed]) -> Vec<Verdict> {
        let unknown = Err(RejectReason::UnknownMember);
        let votes: Vec<Option<Vote<'_>>> = signed.iter().map(|s| self.vote(s)).collect();
        if self.strategy == Strategy::Batched {
            let report = self.service.verify_batch(votes.iter().copied().flatten());
            let mut of_members = report.into_verdicts().into_iter();
            let mut next = || of_members.next().unwrap_or(Err(RejectReason::NotVerified));
            let verdict = |vote: &Option<_>| if vote.is_some() { next() } else { unknown };
            return votes.iter().map(verdict).collect();
        }
        let invalid = Err(RejectReason::ChallengeMismatch);
        let verdict = |signed| {
            if self.is_valid(signed) {
                Ok(())
            } else {
                invalid
            }
        };
        signed.iter().map(verdict).collect()
    }

    /// The vote of a committee member; `None` for an address outside of the committee.
    fn vote<'a>(&self, signed: &'a Signed) -> Option<Vote<'a>> {
        let member = self.epochs.at(signed.height).member(signed.by)?;
        let signature = signed.signature.as_ref();
        Some(Vote::new(member, &signed.bytes[..], signature))
    }

    /// Number of signatures verified so far by the service, without cache hits.
    pub(crate) fn verified_by_service(&self) -> u64 {
        self.service.stats().verified
    }

    /// Whether the signature is valid.
    pub(crate) fn is_valid(&self, signed: &Signed) -> bool {
        let Some(vote) = self.vote(signed) else {
            return false;
        };
        if self.strategy == Strategy::Batched {
            return self.service.verify(&vote).is_ok();
        }
        let committee = &self.epochs.at(signed.height).committee;
        self.strategy
            .verify_one(committee, vote.member, &signed.bytes, vote.signature)
    }

    /// Answers the engine: whether one signature is valid.
    pub(crate) fn verify(&mut self, kind: Kind, signed: &Signed) -> bool {
        let (start, before) = (ThreadTime::now(), self.verified_by_service());
        let valid = self.is_valid(signed);
        let time = start.elapsed();
        if self.strategy != Strategy::Batched || self.verified_by_service() > before {
            let invalid = usize::from(!valid);
            self.meter.record_call(kind, 1, signed.len(), invalid, time);
            self.rejections.on_request += u64::from(!valid);
        }
        self.meter.record_total(kind, time);
        valid
    }

    /// Verifies and records the signatures of a certificate. Returns the first invalid one.
    pub(crate) fn first_invalid(&self, votes: &[Signed]) -> Option<usize> {
        let (start, before) = (ThreadTime::now(), self.verified_by_service());
        let verdicts = self.verdicts(votes);
        let time = start.elapsed();
        let first = verdicts.iter().position(|verdict| verdict.is_err());
        let verified = match self.strategy {
            Strategy::Batched => (self.verified_by_service() - before) as usize,
            _ => votes.len(),
        };
        if verified > 0 {
            let bytes = votes.iter().map(Signed::len).sum();
            let invalid = usize::from(first.is_some());
            let kind = Kind::Certificate;
            self.meter.record_call(kind, verified, bytes, invalid, time);
        }
        self.meter.record_total(Kind::Certificate, time);
        first
    }
}
