//! Quorums: votes for one message against the threshold of a committee.

mod any_valid;
mod certificate;
mod each_valid;
mod equivocation;
mod error;

use mldsa_core::ParameterSet;

use self::any_valid::AnyValid;
pub use self::certificate::{Certificate, CertificateError};
use self::each_valid::EachValid;
pub use self::equivocation::{Equivocation, EquivocationError};
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
    /// Returns the verified weight, each member counted once; at least the threshold.
    pub fn weight(&self) -> u128 {
        self.weight
    }

    /// Returns the indices of the verified votes that carry the quorum, one per member, ascending:
    /// the votes of a certificate.
    pub fn carried_by(&self) -> &[usize] {
        &self.carried_by
    }

    /// Returns the number of votes that were counted until the answer was known.
    pub fn examined(&self) -> usize {
        self.examined
    }
}

impl<P: ParameterSet> CommitteeVerifier<P> {
    /// Verifies that `votes`, pairs of member and signature, reach the threshold of the committee.
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
    /// Every [`QuorumError`] except `Abandoned`, in the order of its variants.
    pub fn verify_quorum<'a>(
        &self,
        message: impl Into<Message<'a>>,
        votes: &[(MemberId, &'a [u8])],
        rule: QuorumRule,
    ) -> Result<QuorumReport, QuorumError> {
        let message = message.into();
        let workers = self.scheduler.pool.workers();
        let mut count = count(self.committee(), votes, rule, self.threshold, workers)?;
        while !count.wanted().is_empty() {
            let wanted = count.wanted().iter().map(|&vote| votes[vote]);
            let wanted = wanted.map(|(member, signature)| Vote::new(member, message, signature));
            let report = self.report(count.mode(), wanted);
            count.take(&report.verdicts);
        }
        count.answer()
    }
}

/// Votes that are being counted: names the votes to verify, and takes their verdicts.
pub(crate) trait Count: Send {
    /// Returns how the wanted votes are to be verified.
    fn mode(&self) -> Mode;

    /// Returns the votes to verify next; none if the answer is known.
    fn wanted(&self) -> &[usize];

    /// Counts the verdicts on the first votes that are wanted.
    fn take(&mut self, verdicts: &[Verdict]);

    /// Returns the answer, once no vote is wanted.
    fn answer(self: Box<Self>) -> Result<QuorumReport, QuorumError>;
}

/// Begins a count, after everything that needs no cryptography. `workers` threads will verify.
pub(crate) fn count<P: ParameterSet, S: AsRef<[u8]>>(
    committee: &Committee<P>,
    votes: &[(MemberId, S)],
    rule: QuorumRule,
    threshold: Threshold,
    workers: usize,
) -> Result<Box<dyn Count>, QuorumError> {
    let needed = threshold.required_weight(committee.total_weight());
    Ok(match rule {
        QuorumRule::Certificate => Box::new(EachValid::new(committee, votes, needed, false)?),
        QuorumRule::CertificateWithDuplicates => {
            Box::new(EachValid::new(committee, votes, needed, true)?)
        }
        QuorumRule::AnyValid => Box::new(AnyValid::new(committee, votes, needed, workers)),
    })
}
