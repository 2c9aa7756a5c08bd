//! Certificates, by the engine's rules: everybody in them is a validator, once, and signed.

use arc_malachitebft_core_consensus::ThresholdParams;
use arc_malachitebft_core_types::{
    BoxError, CertificateError, CommitCertificate, ExtendedCommitCertificate,
    ExtendedCommitSignature, NilOrVal, PolkaCertificate, RoundCertificate, RoundCertificateType,
    RoundSignature, ThresholdParam, VoteType,
};
use batch_verify::{QuorumError, Threshold};
use mldsa_core::ParameterSet;

use crate::chain::{Address, Chain};
use crate::door::Door;
use crate::message::vote_bytes;
use crate::scheme::Signature;

type Verdict<P> = Result<(), CertificateError<Chain<P>>>;

impl<P: ParameterSet> Door<P> {
    /// Precommits for a value that was decided.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn commit(
        &self,
        certificate: &CommitCertificate<Chain<P>>,
        thresholds: ThresholdParams,
    ) -> Verdict<P> {
        let value = NilOrVal::Val(certificate.value_id);
        let (height, round) = (certificate.height, certificate.round);
        let signatures = &certificate.commit_signatures;
        let votes: Vec<_> = signatures
            .iter()
            .map(|s| (s.address, &s.signature))
            .collect();
        let bytes = vote_bytes(VoteType::Precommit, height, round, value);
        self.enough(bytes, &votes, thresholds.quorum, |vote| {
            CertificateError::InvalidCommitSignature(signatures[vote].clone())
        })
    }

    /// The same with what each vote was extended by, which on this chain is nothing.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn extended_commit(
        &self,
        certificate: &ExtendedCommitCertificate<Chain<P>>,
        thresholds: ThresholdParams,
    ) -> Verdict<P> {
        let extended = |s: &&ExtendedCommitSignature<Chain<P>>| s.extension.is_some();
        if let Some(signature) = certificate.commit_signatures.iter().find(extended) {
            let address = signature.address;
            return Err(CertificateError::UnexpectedVoteExtension(address));
        }
        self.commit(&certificate.trim_vote_extensions(), thresholds)
    }

    /// Prevotes for a value.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn polka(
        &self,
        certificate: &PolkaCertificate<Chain<P>>,
        thresholds: ThresholdParams,
    ) -> Verdict<P> {
        let value = NilOrVal::Val(certificate.value_id);
        let (height, round) = (certificate.height, certificate.round);
        let signatures = &certificate.polka_signatures;
        let votes: Vec<_> = signatures
            .iter()
            .map(|s| (s.address, &s.signature))
            .collect();
        let bytes = vote_bytes(VoteType::Prevote, height, round, value);
        self.enough(bytes, &votes, thresholds.quorum, |vote| {
            CertificateError::InvalidPolkaSignature(signatures[vote].clone())
        })
    }

    /// Votes of any kind for anything, which make a round end (only precommits, by a quorum) or
    /// begin (by one honest validator at least).
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn round(
        &self,
        certificate: &RoundCertificate<Chain<P>>,
        thresholds: ThresholdParams,
    ) -> Verdict<P> {
        let (height, round) = (certificate.height, certificate.round);
        let signatures = &certificate.round_signatures;
        let needed = match certificate.cert_type {
            RoundCertificateType::Skip => thresholds.honest,
            RoundCertificateType::Precommit => {
                let prevote = |s: &&RoundSignature<Chain<P>>| s.vote_type == VoteType::Prevote;
                if let Some(signature) = signatures.iter().find(prevote) {
                    return Err(CertificateError::InvalidVoteType(signature.address));
                }
                thresholds.quorum
            }
        };
        // Stricter than counting each signer once: the engine wants one vote of each.
        let mut signers: Vec<_> = signatures.iter().map(|s| s.address).collect();
        signers.sort_unstable();
        if let Some(pair) = signers.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(CertificateError::DuplicateVote(pair[0]));
        }
        let votes: Vec<_> = signatures
            .iter()
            .map(|s| {
                let bytes = vote_bytes(s.vote_type, height, round, s.value_id);
                (bytes, s.address, &s.signature)
            })
            .collect();
        let addresses: Vec<_> = signatures.iter().map(|s| s.address).collect();
        let threshold = self.threshold(needed);
        let weighed = match self.tally(&votes) {
            Ok(weight) if weight < threshold.weight() => Err(QuorumError::Insufficient { weight }),
            Ok(_) => Ok(()),
            Err(error) => Err(error),
        };
        weighed.map_err(|error| {
            self.explain(error, &addresses, threshold, |vote| {
                CertificateError::InvalidRoundSignature(signatures[vote].clone())
            })
        })
    }

    fn enough(
        &self,
        bytes: Vec<u8>,
        votes: &[(Address, &Signature)],
        needed: ThresholdParam,
        invalid: impl FnOnce(usize) -> CertificateError<Chain<P>>,
    ) -> Verdict<P> {
        let threshold = self.threshold(needed);
        let addresses: Vec<_> = votes.iter().map(|(by, _)| *by).collect();
        self.quorum(bytes, votes, threshold)
            .map_err(|error| self.explain(error, &addresses, threshold, invalid))
    }

    /// The weight that the engine asks for.
    fn threshold(&self, needed: ThresholdParam) -> Threshold {
        let least = needed.min_expected(self.total());
        Threshold::at_least(u128::from(least)).expect("the engine asks for at least one")
    }

    fn total(&self) -> u64 {
        u64::try_from(self.weights().total()).unwrap_or(u64::MAX)
    }

    /// In the engine's words.
    fn explain(
        &self,
        error: QuorumError,
        addresses: &[Address],
        threshold: Threshold,
        invalid: impl FnOnce(usize) -> CertificateError<Chain<P>>,
    ) -> CertificateError<Chain<P>> {
        let power = |weight| u64::try_from(weight).unwrap_or(u64::MAX);
        match error {
            QuorumError::UnknownSigner { vote } => {
                CertificateError::UnknownValidator(addresses[vote])
            }
            QuorumError::Duplicate { second, .. } | QuorumError::Contradiction { second, .. } => {
                CertificateError::DuplicateVote(addresses[second])
            }
            QuorumError::Insufficient { weight } => CertificateError::NotEnoughVotingPower {
                signed: power(weight),
                total: self.total(),
                expected: power(threshold.weight()),
            },
            QuorumError::Invalid { vote, .. } => invalid(vote),
            other => CertificateError::VerificationError(Some(BoxError::new(Box::new(other)))),
        }
    }
}
