//! The ways to verify that are compared, counted.

use std::sync::Arc;
use std::time::Duration;

use batch_verify::SignerId;
use bytes::Bytes;
use commonware_codec::{DecodeExt as _, Encode as _};
use commonware_mldsa::{Batched, Committee, Signature, Vote, Voting, Work};
use commonware_parallel::Strategy;
use measure::{How, Kind, Meter, ThreadTime};
use mldsa_core::{Context, ParameterSet, PreparedSigningKey};

/// One of the ways, with counters that all members of this process share.
#[derive(Clone, Debug)]
pub(crate) struct Measured {
    pub(crate) how: How,
    pub(crate) meter: Arc<Meter>,
    /// A faulty member, which spoils its signatures and does not look at them again.
    pub(crate) spoil: bool,
    /// A member whose votes have other bytes each time it signs them.
    pub(crate) hedged: bool,
}

impl<P: ParameterSet> Voting<P> for Measured {
    fn sign(
        &self,
        key: &PreparedSigningKey<P>,
        context: Context<'_>,
        message: &[u8],
    ) -> Option<Signature<P>> {
        let (context, message) = self.how.frame(context, message);
        let signature = if self.hedged {
            key.sign_hedged(&message, context).ok()?.into()
        } else {
            Batched.sign(key, context, &message)?
        };
        if !self.spoil {
            return Some(signature);
        }
        // The first byte belongs to the challenge: the form stays that of a signature.
        let mut bytes = signature.encode().to_vec();
        *bytes.first_mut()? ^= 1;
        Signature::decode(Bytes::from(bytes)).ok()
    }

    fn verify(
        &self,
        committee: &Committee<P>,
        work: Work,
        votes: &[Vote<'_>],
        strategy: &impl Strategy,
    ) -> Vec<bool> {
        let kind = match work {
            Work::Sign if self.spoil => return vec![true; votes.len()],
            Work::Sign => return self.judge(committee, votes, strategy),
            Work::Votes => Kind::Vote,
            Work::Certificates => Kind::Certificate,
        };
        let start = ThreadTime::now();
        let verdicts = self.judge(committee, votes, strategy);
        self.meter.inside(start.elapsed());
        let bytes = votes.iter().map(|vote| vote.signature.len()).sum();
        let invalid = verdicts.iter().filter(|valid| !**valid).count();
        // The time of the whole call follows when it ends.
        self.meter
            .verified(kind, votes.len(), bytes, invalid, Duration::ZERO);
        verdicts
    }

    fn around<R>(&self, work: Work, call: impl FnOnce() -> R) -> R {
        let start = ThreadTime::now();
        let result = call();
        let time = start.elapsed();
        match work {
            Work::Sign => self.meter.signed(time),
            Work::Votes => self.meter.beside(Kind::Vote, time),
            Work::Certificates => self.meter.beside(Kind::Certificate, time),
        }
        result
    }
}

impl Measured {
    fn judge<P: ParameterSet>(
        &self,
        committee: &Committee<P>,
        votes: &[Vote<'_>],
        strategy: &impl Strategy,
    ) -> Vec<bool> {
        let alone = |vote: &Vote<'_>| {
            let (keys, signer) = (committee.keys(), SignerId::new(vote.signer.get()));
            let how = self.how;
            how.verify_one(keys, signer, vote.context, vote.message, vote.signature)
        };
        match self.how {
            How::Batched => committee.verify(votes, strategy),
            How::OneByOne => votes.iter().map(alone).collect(),
            How::Cold | How::AwsLc => strategy.map_collect_vec(votes, alone),
        }
    }
}
