//! Report on a batch.

use core::time::Duration;

use crate::RejectReason;
use crate::reason::Verdict;

/// Verdicts on a batch, in input order, and figures. The default is the report on an empty batch.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[must_use = "a report that is not checked may hide rejections"]
pub struct Report {
    #[cfg_attr(feature = "serde", serde(serialize_with = "json::verdicts"))]
    pub(crate) verdicts: Vec<Verdict>,
    pub(crate) duplicates: Vec<(usize, usize)>,
    pub(crate) threads: usize,
    pub(crate) batch_size: usize,
    pub(crate) elapsed: Duration,
}

impl Report {
    /// Returns one verdict per item, in input order. Skipped items are
    /// [`RejectReason::NotVerified`].
    pub fn verdicts(&self) -> &[Result<(), RejectReason>] {
        &self.verdicts
    }

    /// Returns the verdicts by value.
    #[must_use]
    pub fn into_verdicts(self) -> Vec<Result<(), RejectReason>> {
        self.verdicts
    }

    /// Returns whether there is at least one item and every item is valid: false for an empty
    /// report and when anything was skipped.
    #[must_use]
    pub fn all_valid(&self) -> bool {
        self.require_all().is_ok()
    }

    /// Returns `Ok` only if [`all_valid`](Self::all_valid) is true.
    ///
    /// # Errors
    /// The reason of [`first_rejected`](Self::first_rejected), or [`RejectReason::NotVerified`] for
    /// an empty batch or a skipped item.
    pub fn require_all(&self) -> Result<(), RejectReason> {
        match self.first_rejected() {
            Some((_, reason)) => Err(reason),
            None if self.verdicts.is_empty() || self.skipped() > 0 => {
                Err(RejectReason::NotVerified)
            }
            None => Ok(()),
        }
    }

    /// Returns the rejected items with their reasons, by increasing index, without the skipped
    /// ones.
    pub fn rejected(&self) -> impl Iterator<Item = (usize, RejectReason)> {
        let verdicts = self.verdicts.iter().enumerate();
        let rejected = verdicts.filter_map(|(index, verdict)| Some((index, verdict.err()?)));
        rejected.filter(|(_, reason)| *reason != RejectReason::NotVerified)
    }

    /// Returns the rejected item with the lowest index, if any. In
    /// [`Mode::AnyInvalid`](crate::Mode::AnyInvalid) an item below it may have been skipped.
    #[must_use]
    pub fn first_rejected(&self) -> Option<(usize, RejectReason)> {
        self.rejected().next()
    }

    /// Returns the number of valid items, duplicates of valid ones included. Never a number of
    /// signers: one signer may have several.
    pub fn valid_items(&self) -> usize {
        self.verdicts
            .iter()
            .filter(|verdict| verdict.is_ok())
            .count()
    }

    /// Returns the number of skipped items; zero under [`Mode::Full`](crate::Mode::Full).
    pub fn skipped(&self) -> usize {
        let skipped = Err(RejectReason::NotVerified);
        self.verdicts
            .iter()
            .filter(|verdict| **verdict == skipped)
            .count()
    }

    /// Returns the items that equal an earlier one in signer, message, context, signature and form,
    /// each with the lowest index of its content, by increasing index. They share its verdict. In
    /// the modes that stop early, duplicates far apart may go unnoticed.
    pub fn duplicates(&self) -> &[(usize, usize)] {
        &self.duplicates
    }

    /// Returns the workers that the batch was divided among.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Returns the items that a worker verified at once.
    pub fn batch_size(&self) -> usize {
        self.batch_size
    }

    /// Returns the wall-clock time.
    pub fn elapsed(&self) -> Duration {
        self.elapsed
    }
}

#[cfg(feature = "serde")]
mod json {
    use serde::{Serialize, Serializer};

    use super::{RejectReason, Verdict};

    #[derive(Serialize)]
    #[serde(rename_all = "snake_case")]
    enum Written {
        Valid,
        Invalid(RejectReason),
        Skipped,
    }

    pub(super) fn verdicts<S: Serializer>(verdicts: &[Verdict], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(verdicts.iter().map(|verdict| match *verdict {
            Ok(()) => Written::Valid,
            Err(RejectReason::NotVerified) => Written::Skipped,
            Err(reason) => Written::Invalid(reason),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn require_all_rejects_what_is_not_known_to_be_valid() {
        let (not, challenge) = (RejectReason::NotVerified, RejectReason::ChallengeMismatch);
        let (valid, skipped, wrong) = (Ok(()), Err(not), Err(challenge));
        for (verdicts, rejection) in [
            (&[valid, valid][..], Ok(())),
            (&[], Err(not)),
            (&[valid, skipped, valid], Err(not)),
            (&[valid, wrong, skipped], Err(challenge)),
            (&[skipped, wrong], Err(challenge)),
        ] {
            let report = Report {
                verdicts: verdicts.to_vec(),
                ..Report::default()
            };
            assert_eq!(report.require_all(), rejection, "{verdicts:?}");
            assert_eq!(report.all_valid(), rejection.is_ok());
        }
    }
}
