//! Certificates by the rules of the engine: distinct validators of the height's epoch, all
//! signatures valid, voting power above the threshold.

use arc_malachitebft_core_consensus::ThresholdParams;
use arc_malachitebft_core_types::{
    CertificateError, CommitCertificate, CommitSignature, ExtendedCommitCertificate, NilOrVal,
    PolkaCertificate, PolkaSignature, RoundCertificate, RoundCertificateType, ThresholdParam,
    ValidatorSet as _, VoteType,
};
use mldsa_core::ParameterSet;

use crate::admission::VoteAdmission;
use crate::chain::{Chain, Height};
use crate::message::{Signed, vote_bytes};

type Verdict<P> = Result<(), CertificateError<Chain<P>>>;

impl<P: ParameterSet> VoteAdmission<P> {
    /// Verifies precommits for a decided value.
    pub(crate) fn commit(
        &self,
        certificate: &CommitCertificate<Chain<P>>,
        thresholds: ThresholdParams,
    ) -> Verdict<P> {
        let (height, signatures) = (certificate.height, &certificate.commit_signatures);
        let value = NilOrVal::Val(certificate.value_id);
        let bytes = vote_bytes(VoteType::Precommit, height, certificate.round, value);
        let vote =
            |s: &CommitSignature<_>| Signed::new(s.address, height, bytes.clone(), &s.signature);
        let votes: Vec<_> = signatures.iter().map(vote).collect();
        self.certificate(height, &votes, thresholds.quorum, |vote| {
            CertificateError::InvalidCommitSignature(signatures[vote].clone())
        })
    }

    /// Verifies precommits with extensions, which this chain does not have.
    pub(crate) fn extended_commit(
        &self,
        certificate: &ExtendedCommitCertificate<Chain<P>>,
        thresholds: ThresholdParams,
    ) -> Verdict<P> {
        let mut signatures = certificate.commit_signatures.iter();
        match signatures.find(|signature| signature.extension.is_some()) {
            Some(s) => Err(CertificateError::UnexpectedVoteExtension(s.address)),
            None => self.commit(&certificate.trim_vote_extensions(), thresholds),
        }
    }

    /// Verifies prevotes for a value.
    pub(crate) fn polka(
        &self,
        certificate: &PolkaCertificate<Chain<P>>,
        thresholds: ThresholdParams,
    ) -> Verdict<P> {
        let (height, signatures) = (certificate.height, &certificate.polka_signatures);
        let value = NilOrVal::Val(certificate.value_id);
        let bytes = vote_bytes(VoteType::Prevote, height, certificate.round, value);
        let vote =
            |s: &PolkaSignature<_>| Signed::new(s.address, height, bytes.clone(), &s.signature);
        let votes: Vec<_> = signatures.iter().map(vote).collect();
        self.certificate(height, &votes, thresholds.quorum, |vote| {
            CertificateError::InvalidPolkaSignature(signatures[vote].clone())
        })
    }

    /// Verifies votes of one round for any values: precommits of a quorum, which end the round, or
    /// votes of any type by at least one honest validator, which begin it.
    pub(crate) fn round(
        &self,
        certificate: &RoundCertificate<Chain<P>>,
        thresholds: ThresholdParams,
    ) -> Verdict<P> {
        let (height, round) = (certificate.height, certificate.round);
        let signatures = &certificate.round_signatures;
        let needed = match certificate.cert_type {
            RoundCertificateType::Skip => thresholds.honest,
            RoundCertificateType::Precommit => {
                let mut signatures = signatures.iter();
                if let Some(s) = signatures.find(|s| s.vote_type == VoteType::Prevote) {
                    return Err(CertificateError::InvalidVoteType(s.address));
                }
                thresholds.quorum
            }
        };
        let votes = signatures.iter().map(|s| {
            let bytes = vote_bytes(s.vote_type, height, round, s.value_id);
            Signed::new(s.address, height, bytes, &s.signature)
        });
        self.certificate(height, &votes.collect::<Vec<_>>(), needed, |vote| {
            CertificateError::InvalidRoundSignature(signatures[vote].clone())
        })
    }

    fn certificate(
        &self,
        height: Height,
        votes: &[Signed],
        needed: ThresholdParam,
        invalid: impl FnOnce(usize) -> CertificateError<Chain<P>>,
    ) -> Verdict<P> {
        let set = &self.epochs.at(height).set;
        let (mut signed, mut signers) = (0, Vec::new());
        for vote in votes {
            let power = set.power(vote.by);
            signed += power.ok_or(CertificateError::UnknownValidator(vote.by))?;
            signers.push(vote.by);
        }
        signers.sort_unstable();
        if let Some(pair) = signers.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(CertificateError::DuplicateVote(pair[0]));
        }
        let total = set.total_voting_power();
        if !needed.is_met(signed, total) {
            let expected = needed.min_expected(total);
            return Err(CertificateError::NotEnoughVotingPower {
                signed,
                total,
                expected,
            });
        }
        let mut verdicts = self.verdicts(votes).into_iter();
        let first_invalid = verdicts.position(|verdict| verdict.is_err());
        first_invalid.map_or(Ok(()), |vote| Err(invalid(vote)))
    }
}
