//! Vote backend with a selectable strategy, faults and counters.

use std::sync::Arc;

use bytes::Bytes;
use commonware_codec::{DecodeExt as _, Encode as _};
use commonware_mldsa::{Operation, Prepared, Signature, Validators, Vote, VoteBackend};
use commonware_parallel::Strategy as Parallelism;
use harness::{Kind, Meter, Strategy, ThreadTime, flip_bit};
use mldsa_core::{Context, ParameterSet, PreparedSigningKey};

/// Vote backend of one member. All members of a process share the counters.
#[derive(Clone, Debug)]
pub(crate) struct Metered {
    pub(crate) strategy: Strategy,
    pub(crate) meter: Arc<Meter>,
    /// Sends wrong signatures and skips their verification.
    pub(crate) byzantine: bool,
    /// Signs with fresh randomness.
    pub(crate) hedged: bool,
}

impl<P: ParameterSet> VoteBackend<P> for Metered {
    fn sign(
        &self,
        key: &PreparedSigningKey<P>,
        context: Context<'_>,
        message: &[u8],
    ) -> Option<Signature<P>> {
        let (context, message) = self.strategy.frame(context, message);
        let signature = if self.hedged {
            key.sign_hedged(&message, context).ok()?.into()
        } else {
            Prepared.sign(key, context, &message)?
        };
        if !self.byzantine {
            return Some(signature);
        }
        let wrong = flip_bit(&signature.encode());
        Signature::decode(Bytes::from(wrong)).ok()
    }

    fn verify(
        &self,
        validators: &Validators<P>,
        operation: Operation,
        votes: &[Vote<'_, P>],
        parallelism: &impl Parallelism,
    ) -> Vec<bool> {
        let kind = match operation {
            Operation::Sign if self.byzantine => return vec![true; votes.len()],
            Operation::Sign => return self.verdicts(validators, votes, parallelism),
            Operation::VerifyVotes => Kind::Vote,
            Operation::VerifyCertificates => Kind::Certificate,
        };
        let start = ThreadTime::now();
        let verdicts = self.verdicts(validators, votes, parallelism);
        let library = start.elapsed();
        let bytes = votes.iter().map(|vote| vote.signature.len()).sum();
        let invalid = verdicts.iter().filter(|valid| !**valid).count();
        self.meter
            .record_call(kind, votes.len(), bytes, invalid, library);
        verdicts
    }

    fn instrument<R>(&self, operation: Operation, call: impl FnOnce() -> R) -> R {
        let start = ThreadTime::now();
        let result = call();
        let time = start.elapsed();
        match operation {
            Operation::Sign => self.meter.record_signature(time),
            Operation::VerifyVotes => self.meter.record_total(Kind::Vote, time),
            Operation::VerifyCertificates => self.meter.record_total(Kind::Certificate, time),
        }
        result
    }
}

impl Metered {
    fn verdicts<P: ParameterSet>(
        &self,
        validators: &Validators<P>,
        votes: &[Vote<'_, P>],
        parallelism: &impl Parallelism,
    ) -> Vec<bool> {
        let verify_one = |vote: &Vote<'_, P>| {
            let (committee, message) = (vote.committee, vote.message);
            vote.member().is_some_and(|member| {
                self.strategy
                    .verify_one(committee, member, message, vote.signature)
            })
        };
        match self.strategy {
            Strategy::Batched => validators.verify(votes, parallelism),
            Strategy::PerVote => votes.iter().map(verify_one).collect(),
            Strategy::ColdKeys | Strategy::AwsLc => parallelism.map_collect_vec(votes, verify_one),
        }
    }
}
