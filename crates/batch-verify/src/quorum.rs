//! Quorums: votes for one message against the threshold of a committee.

mod any_valid;
mod certificate;
mod equivocation;
mod error;

use mldsa_core::ParameterSet;

use self::any_valid::AnyValid;
pub use self::equivocation::Equivocation;
pub use self::error::QuorumError;
use crate::batch::Mode;
use crate::reason::Verdict;
use crate::{Committee, CommitteeVerifier, MemberId, Message, Threshold, Vote};

/// Rule for the votes of a quorum. A rule of the protocol: the rules answer differently, so
/// all nodes must use the same one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuorumRule {
    /// For a certificate: every vote is valid, and each member has one. Ids, duplicates,
    /// conflicts and weight are checked before any cryptography. Stops early on failure.
    Certificate,
    /// [`Certificate`](Self::Certificate) in which a vote may have duplicates, byte for byte;
    /// it counts once.
    CertificateWithDuplicates,
    /// For votes as they arrive: the valid ones suffice. Votes that are invalid, duplicates or by
    /// unknown members do not count: a forged vote in a member's name does not exclude the vote
    /// of that member. Votes are counted in order until the answer is known, so later ones
    /// may be valid and carry no weight in the report.
    AnyValid,
}

/// A quorum that was reached.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct QuorumReport {
    weight: u128,
    carried_by: Vec<usize>,
    examined: usize,
}

impl QuorumReport {
    /// Verified weight, each member counted once; at least the threshold.
    #[must_use]
    pub fn weight(&self) -> u128 {
        self.weight
    }

    /// Indices of the verified votes that carry the quorum, one per member, ascending: the
    /// votes of a certificate.
    #[must_use]
    pub fn carried_by(&self) -> &[usize] {
        &self.carried_by
    }

    /// Number of votes that were counted until the answer was known.
    #[must_use]
    pub fn examined(&self) -> usize {
        self.examined
    }
}

/// Verifies the votes at the given indices, in a mode: all, or up to the first invalid one.
pub(crate) type Verify<'v> = &'v dyn Fn(Mode, &[usize]) -> Vec<Verdict>;

impl<P: ParameterSet> CommitteeVerifier<P> {
    /// Whether `votes`, pairs of member and signature, reach the threshold of the committee.
    /// One message for all votes, so that votes for different blocks never add up. No part of the
    /// answer depends on threads or scheduling.
    ///
    /// ```
    /// use batch_verify::{Committee, MemberId, QuorumError, QuorumRule};
    /// use mldsa_core::{Context, Randomness, MlDsa44, SigningKey};
    ///
    /// let keys: Vec<_> = (0..4).map(|i| SigningKey::<MlDsa44>::from_seed(&[i; 32])).collect();
    /// let context = Context::new(b"mychain/v1/vote")?;
    /// let sign = |key: &SigningKey<_>| key.sign_with_context(b"block 7", context, Randomness::Deterministic);
    /// let signatures = keys.iter().map(sign).collect::<Result<Vec<_>, _>>()?;
    ///
    /// let members = keys.iter().map(|key| (key.verifying_key(), 1));
    /// let committee = Committee::<MlDsa44>::builder(context).build(members)?;
    /// let votes: Vec<(MemberId, &[u8])> = committee
    ///     .members()
    ///     .zip(&signatures)
    ///     .map(|(member, signature)| (member, signature.as_ref()))
    ///     .collect();
    /// let verifier = committee.verifier();
    /// let verify = |block: &[u8; 7], votes: &[(MemberId, &[u8])]| {
    ///     verifier.verify_quorum(block, votes, QuorumRule::Certificate)
    /// };
    /// assert_eq!(verify(b"block 7", &votes[1..])?.weight(), 3);
    /// assert!(matches!(verify(b"block 7", &votes[2..]), Err(QuorumError::Insufficient { .. })));
    /// assert!(matches!(verify(b"block 8", &votes), Err(QuorumError::Rejected { vote: 0, .. })));
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Every [`QuorumError`] but `Abandoned`, in the order of its variants.
    pub fn verify_quorum<'a>(
        &self,
        message: impl Into<Message<'a>>,
        votes: &[(MemberId, &'a [u8])],
        rule: QuorumRule,
    ) -> Result<QuorumReport, QuorumError> {
        let threshold = self.committee().threshold();
        self.verify_threshold(message, votes, rule, threshold)
    }

    /// [`verify_quorum`](Self::verify_quorum) against another threshold of the same committee.
    ///
    /// # Errors
    /// As [`verify_quorum`](Self::verify_quorum).
    pub fn verify_threshold<'a>(
        &self,
        message: impl Into<Message<'a>>,
        votes: &[(MemberId, &'a [u8])],
        rule: QuorumRule,
        threshold: Threshold,
    ) -> Result<QuorumReport, QuorumError> {
        let message = message.into();
        let quorum = Quorum {
            committee: self.committee(),
            votes,
            threshold,
            workers: self.scheduler.pool.workers(),
        };
        quorum.verify(rule, &|mode, indices| {
            let votes = indices.iter().map(|&index| votes[index]);
            let votes = votes.map(|(member, signature)| Vote::new(member, message, signature));
            self.report(mode, votes).verdicts
        })
    }
}

/// Votes to be counted in a committee.
pub(crate) struct Quorum<'q, 'a, P: ParameterSet> {
    pub(crate) committee: &'q Committee<P>,
    pub(crate) votes: &'q [(MemberId, &'a [u8])],
    pub(crate) threshold: Threshold,
    /// Threads that verify.
    pub(crate) workers: usize,
}

impl<P: ParameterSet> Quorum<'_, '_, P> {
    pub(crate) fn verify(
        &self,
        rule: QuorumRule,
        verify: Verify<'_>,
    ) -> Result<QuorumReport, QuorumError> {
        match rule {
            QuorumRule::Certificate => self.certificate(false, verify),
            QuorumRule::CertificateWithDuplicates => self.certificate(true, verify),
            QuorumRule::AnyValid => AnyValid::new(self).verify(verify),
        }
    }

    fn required(&self) -> u128 {
        self.committee.required_weight(self.threshold)
    }

    /// Weight of a member of the committee.
    fn weight(&self, member: MemberId) -> u128 {
        self.committee.weight_at(member.index())
    }
}
