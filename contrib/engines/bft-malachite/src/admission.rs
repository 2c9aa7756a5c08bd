//! Vote admission: verification of arrived messages and of the engine's questions.

use std::collections::BTreeMap;

use batch_verify::{RejectReason, VerificationService, Vote};
use mldsa_core::ParameterSet;

use crate::chain::Height;
use crate::epochs::Epochs;
use crate::message::{Message, Signed};

/// Vote admission of one validator.
#[derive(Debug)]
pub(crate) struct VoteAdmission<P: ParameterSet> {
    pub(crate) epochs: Epochs<P>,
    /// Verdict cache and batches; its calls run on the calling thread.
    pub(crate) service: VerificationService<P>,
    height: Height,
    /// Messages rejected on arrival, by sender and reason. The sender is the network peer, not the
    /// claimed signer.
    pub(crate) rejected: BTreeMap<(usize, RejectReason), u64>,
}

impl<P: ParameterSet> VoteAdmission<P> {
    pub(crate) fn new(epochs: Epochs<P>) -> anyhow::Result<Self> {
        let first = epochs.at(Height(1)).committee.clone();
        // Votes of a few heights. The previous, the current and the next epoch are verifiable.
        let cache = 8 * first.len() * (P::SIG_LEN + 512);
        let service = VerificationService::builder(first)
            .threads(1)
            .cache_bytes(cache)
            .retained_committees(2)
            .build()?;
        Ok(Self {
            epochs,
            service,
            height: Height::default(),
            rejected: BTreeMap::new(),
        })
    }

    /// Filters arrived messages, each with its sender: drops heights below `height` or after the
    /// next epoch, and messages with invalid signatures, which are verified in one batch.
    pub(crate) fn admit(
        &mut self,
        height: Height,
        mut arrived: Vec<(usize, Message<P>)>,
    ) -> Vec<Message<P>> {
        let next = self.epochs.after(height);
        if height > self.height {
            if self.service.committee().epoch() < next.number {
                let set = self.service.set_committee(next.committee.clone());
                set.expect("the epoch is later");
            }
            self.height = height;
        }
        arrived.retain(|(_, message)| {
            let of_message = message.height();
            of_message >= height && self.epochs.at(of_message).number <= next.number
        });
        let signed = arrived.iter().filter_map(|(_, message)| message.signed());
        let mut verdicts = self.verdicts(&signed.collect::<Vec<_>>()).into_iter();
        arrived.retain(|(peer, message)| {
            let verdict = message.signed().and_then(|_| verdicts.next());
            let Some(Err(reason)) = verdict else {
                return true;
            };
            *self.rejected.entry((*peer, reason)).or_default() += 1;
            false
        });
        arrived.into_iter().map(|(_, message)| message).collect()
    }

    /// Verdicts on signatures, in one batch.
    pub(crate) fn verdicts(&self, signed: &[Signed]) -> Vec<Result<(), RejectReason>> {
        let votes: Vec<Option<Vote<'_>>> = signed.iter().map(|s| self.vote(s)).collect();
        let report = self.service.verify_batch(votes.iter().copied().flatten());
        let mut of_members = report.into_verdicts().into_iter();
        let mut verdict = |vote: &Option<_>| match vote {
            Some(_) => of_members.next().unwrap_or(Err(RejectReason::NotVerified)),
            None => Err(RejectReason::UnknownMember),
        };
        votes.iter().map(&mut verdict).collect()
    }

    /// The vote of a committee member; `None` for an address outside of the committee.
    fn vote<'a>(&self, signed: &'a Signed) -> Option<Vote<'a>> {
        let member = self.epochs.at(signed.height).member(signed.by)?;
        let signature = signed.signature.as_ref();
        Some(Vote::new(member, &signed.bytes[..], signature))
    }

    /// Answers the engine, mostly from the verdict cache: whether one signature is valid.
    pub(crate) fn is_valid(&self, signed: &Signed) -> bool {
        let vote = self.vote(signed);
        vote.is_some_and(|vote| self.service.verify(&vote).is_ok())
    }
}
