//! Certificates, by the engine's rules: everybody in them is a validator, once, and signed.

use arc_malachitebft_core_consensus::ThresholdParams;
use arc_malachitebft_core_types::{
    BoxError, CertificateError, CommitCertificate, ExtendedCommitCertificate, NilOrVal,
    PolkaCertificate, Round, RoundCertificate, RoundCertificateType, ThresholdParam, VoteType,
};
use batch_verify::{QuorumError, Threshold};
use mldsa_core::ParameterSet;

use crate::admission::VoteAdmission;
use crate::chain::{Address, Chain, Height, Value};
use crate::message::{Signed, vote_bytes};
use crate::scheme::Signature;

type Verdict<P> = Result<(), CertificateError<Chain<P>>>;

impl VoteAdmission {
    /// Precommits for a value that was decided.
    pub(crate) fn commit<P: ParameterSet>(
        &mut self,
        certificate: &CommitCertificate<Chain<P>>,
        thresholds: ThresholdParams,
    ) -> Verdict<P> {
        let (height, round) = (certificate.height, certificate.round);
        let signatures = &certificate.commit_signatures;
        let of = votes(VoteType::Precommit, height, round, certificate.value_id);
        let votes: Vec<_> = signatures
            .iter()
            .map(|s| of(s.address, &s.signature))
            .collect();
        self.enough(&votes, thresholds.quorum, |vote| {
            CertificateError::InvalidCommitSignature(signatures[vote].clone())
        })
    }

    /// The same with what each vote was extended by, which on this chain is nothing.
    pub(crate) fn extended_commit<P: ParameterSet>(
        &mut self,
        certificate: &ExtendedCommitCertificate<Chain<P>>,
        thresholds: ThresholdParams,
    ) -> Verdict<P> {
        let mut signatures = certificate.commit_signatures.iter();
        match signatures.find(|signature| signature.extension.is_some()) {
            Some(s) => Err(CertificateError::UnexpectedVoteExtension(s.address)),
            None => self.commit(&certificate.trim_vote_extensions(), thresholds),
        }
    }

    /// Prevotes for a value.
    pub(crate) fn polka<P: ParameterSet>(
        &mut self,
        certificate: &PolkaCertificate<Chain<P>>,
        thresholds: ThresholdParams,
    ) -> Verdict<P> {
        let (height, round) = (certificate.height, certificate.round);
        let signatures = &certificate.polka_signatures;
        let of = votes(VoteType::Prevote, height, round, certificate.value_id);
        let votes: Vec<_> = signatures
            .iter()
            .map(|s| of(s.address, &s.signature))
            .collect();
        self.enough(&votes, thresholds.quorum, |vote| {
            CertificateError::InvalidPolkaSignature(signatures[vote].clone())
        })
    }

    /// Votes of one round for anything: precommits by a quorum, which end it, or votes of any kind
    /// by one honest validator at least, which begin it.
    pub(crate) fn round<P: ParameterSet>(
        &mut self,
        certificate: &RoundCertificate<Chain<P>>,
        thresholds: ThresholdParams,
    ) -> Verdict<P> {
        let (height, round) = (certificate.height, certificate.round);
        let signatures = &certificate.round_signatures;
        let needed = match certificate.cert_type {
            RoundCertificateType::Skip => thresholds.honest,
            RoundCertificateType::Precommit => {
                let prevote = |vote| vote == VoteType::Prevote;
                if let Some(s) = signatures.iter().find(|s| prevote(s.vote_type)) {
                    return Err(CertificateError::InvalidVoteType(s.address));
                }
                thresholds.quorum
            }
        };
        // Stricter than to count each signer once: the engine wants one vote of each.
        let mut signers: Vec<_> = signatures.iter().map(|s| s.address).collect();
        signers.sort_unstable();
        if let Some(pair) = signers.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(CertificateError::DuplicateVote(pair[0]));
        }
        let votes: Vec<_> = signatures
            .iter()
            .map(|s| {
                let bytes = vote_bytes(s.vote_type, height, round, s.value_id);
                Signed::new(s.address, height, bytes, &s.signature)
            })
            .collect();
        let threshold = self.threshold(needed);
        let verdict = self.tally(&votes).and_then(|weight| {
            let needed = threshold.weight();
            let insufficient = QuorumError::Insufficient {
                needed,
                claimed: weight,
                verified: weight,
            };
            (weight >= needed).then_some(()).ok_or(insufficient)
        });
        verdict.map_err(|error| {
            self.explain(error, &votes, threshold, |vote| {
                CertificateError::InvalidRoundSignature(signatures[vote].clone())
            })
        })
    }

    fn enough<P: ParameterSet>(
        &mut self,
        votes: &[Signed],
        needed: ThresholdParam,
        invalid: impl FnOnce(usize) -> CertificateError<Chain<P>>,
    ) -> Verdict<P> {
        let threshold = self.threshold(needed);
        let verdict = self.quorum(votes, threshold);
        verdict.map_err(|error| self.explain(error, votes, threshold, invalid))
    }

    /// The weight that the engine asks for.
    fn threshold(&self, needed: ThresholdParam) -> Threshold {
        let least = needed.min_expected(power(self.weights().total()));
        Threshold::at_least(u128::from(least)).expect("the engine asks for at least one")
    }

    /// In the engine's words.
    fn explain<P: ParameterSet>(
        &self,
        error: QuorumError,
        votes: &[Signed],
        threshold: Threshold,
        invalid: impl FnOnce(usize) -> CertificateError<Chain<P>>,
    ) -> CertificateError<Chain<P>> {
        let by = |vote: usize| votes[vote].claim.by;
        match error {
            QuorumError::UnknownSigner { vote } => CertificateError::UnknownValidator(by(vote)),
            QuorumError::Duplicate { second, .. } | QuorumError::Contradiction { second, .. } => {
                CertificateError::DuplicateVote(by(second))
            }
            QuorumError::Insufficient { claimed, .. } => CertificateError::NotEnoughVotingPower {
                signed: power(claimed),
                total: power(self.weights().total()),
                expected: power(threshold.weight()),
            },
            QuorumError::Invalid { vote, .. } => invalid(vote),
            other => CertificateError::VerificationError(Some(BoxError::new(Box::new(other)))),
        }
    }
}

/// What signatures of a certificate for one value are for.
fn votes(
    kind: VoteType,
    height: Height,
    round: Round,
    value: Value,
) -> impl Fn(Address, &Signature) -> Signed {
    let bytes = vote_bytes(kind, height, round, NilOrVal::Val(value));
    move |by, signature| Signed::new(by, height, bytes.clone(), signature)
}

/// The engine counts in 64 bits.
fn power(weight: u128) -> u64 {
    u64::try_from(weight).unwrap_or(u64::MAX)
}
