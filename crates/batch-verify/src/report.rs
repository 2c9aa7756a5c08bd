//! Verdicts and reports.

use core::fmt;
use core::time::Duration;

use mldsa_core::{PreHashError, VerifyError};

/// Verdict on one item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[must_use = "a verdict that is not checked may hide a rejection"]
pub enum Verdict {
    /// The signature verifies.
    Valid,
    /// It does not, or the item is malformed.
    #[cfg_attr(feature = "serde", serde(rename = "invalid"))]
    Rejected(RejectReason),
    /// Not verified, or not to be relied on, because of an early exit.
    Skipped,
}

impl Verdict {
    /// Whether the signature verifies.
    #[must_use]
    pub const fn is_valid(self) -> bool {
        matches!(self, Self::Valid)
    }

    /// `Ok` for a valid signature only.
    ///
    /// # Errors
    /// The reason; [`RejectReason::NotVerified`] for a skipped item.
    pub const fn check(self) -> Result<(), RejectReason> {
        match self {
            Self::Valid => Ok(()),
            Self::Rejected(reason) => Err(reason),
            Self::Skipped => Err(RejectReason::NotVerified),
        }
    }

    /// One byte, for storage that workers share.
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Skipped => 0,
            Self::Valid => 1,
            Self::Rejected(reason) => 2 + reason as u8,
        }
    }

    /// Inverse of [`code`](Self::code).
    pub(crate) fn from_code(code: u8) -> Self {
        match code {
            0 => Self::Skipped,
            1 => Self::Valid,
            code => RejectReason::ALL
                .get(usize::from(code) - 2)
                .map_or(Self::Skipped, |reason| Self::Rejected(*reason)),
        }
    }
}

impl From<Result<(), RejectReason>> for Verdict {
    fn from(result: Result<(), RejectReason>) -> Self {
        match result {
            Ok(()) => Self::Valid,
            Err(reason) => Self::Rejected(reason),
        }
    }
}

macro_rules! reasons {
    ($($(#[$doc:meta])+ $reason:ident = $name:literal,)+) => {
        /// Reason of a rejection, for logs and peer accounting. Consensus decisions should
        /// depend on valid or not valid only.
        ///
        /// An item that is wrong in several ways reports the first of these, in the order
        /// of the variants.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        #[repr(u8)]
        pub enum RejectReason {
            $($(#[$doc])+ $reason,)+
        }

        impl RejectReason {
            /// Every reason, in the order of the checks.
            pub const ALL: &[Self] = &[$(Self::$reason,)+];

            /// A stable name in snake case, for logs, metrics and machine output.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$reason => $name,)+
                }
            }

            /// The reason with a given [`name`](Self::name).
            #[must_use]
            pub fn from_name(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$reason),)+
                    _ => None,
                }
            }
        }
    };
}

reasons! {
    /// The member id is of no committee of the verifier: of another epoch, chain or kind of
    /// message.
    UnknownMember = "unknown_signer",
    /// The public key does not have `P::PK_LEN` bytes.
    PublicKeyLength = "public_key_length",
    /// The signature does not have `P::SIG_LEN` bytes.
    SignatureLength = "signature_length",
    /// HashML-DSA: the digest does not have the length of the hash's output.
    DigestLength = "digest_length",
    /// HashML-DSA: the hash is too weak for the parameter set.
    WeakPreHash = "weak_prehash",
    /// A duplicate of an earlier item of the batch, under
    /// [`Duplicates::Reject`](crate::Duplicates::Reject) only.
    Duplicate = "duplicate",
    /// The hint part of the signature is not the one encoding of a hint.
    HintEncoding = "hint_encoding",
    /// A coefficient of z reaches gamma1 - beta.
    ResponseNorm = "response_norm",
    /// The recomputed challenge differs: the signature is for another message or context, by
    /// another key, or damaged.
    ChallengeMismatch = "challenge_mismatch",
    /// Rejected by `mldsa_core` for a reason this crate does not name yet.
    Other = "other",
    /// Not verified, because of an early exit: never a verdict on the signature.
    NotVerified = "not_verified",
}

impl fmt::Display for RejectReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl core::error::Error for RejectReason {}

impl From<VerifyError> for RejectReason {
    fn from(error: VerifyError) -> Self {
        match error {
            VerifyError::SignatureLength => Self::SignatureLength,
            VerifyError::HintEncoding => Self::HintEncoding,
            VerifyError::ResponseNorm => Self::ResponseNorm,
            VerifyError::ChallengeMismatch => Self::ChallengeMismatch,
            _ => Self::Other,
        }
    }
}

impl From<PreHashError> for RejectReason {
    fn from(error: PreHashError) -> Self {
        match error {
            PreHashError::DigestLength => Self::DigestLength,
            PreHashError::WeakPreHash => Self::WeakPreHash,
            _ => Self::Other,
        }
    }
}

/// Counts and figures of one batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[must_use = "a summary that is not checked may hide rejections"]
#[non_exhaustive]
pub struct Summary {
    /// Items in the batch.
    pub items: usize,
    /// Valid items, duplicates of valid ones included. Never a number of signers: one
    /// signer may have several.
    pub valid_items: usize,
    /// Skipped items; zero under [`Mode::Full`](crate::Mode::Full).
    pub skipped: usize,
    /// Detected duplicates.
    pub duplicates: usize,
    /// Workers the batch was divided among.
    pub threads: usize,
    /// Items a worker verified at once.
    pub batch_size: usize,
    /// Wall-clock time.
    pub elapsed: Duration,
    /// Bytes of prepared keys in the key caches of the verifier.
    pub cache_bytes: usize,
    /// Look-ups in these caches that found an prepared key, since they were made.
    pub cache_hits: u64,
    /// Look-ups that found none.
    pub cache_misses: u64,
    #[cfg_attr(feature = "serde", serde(serialize_with = "serde_by_name::rejected"))]
    pub(crate) rejected: [usize; RejectReason::ALL.len()],
}

impl Summary {
    /// Number of items rejected for that reason.
    #[must_use]
    pub fn rejected_for(&self, reason: RejectReason) -> usize {
        self.rejected[reason as usize]
    }

    /// Number of rejected items.
    #[must_use]
    pub fn rejected(&self) -> usize {
        self.rejected.iter().sum()
    }

    /// Whether there is at least one item and every item is valid.
    #[must_use]
    pub fn all_valid(&self) -> bool {
        self.items > 0 && self.valid_items == self.items
    }

    pub(crate) fn count(&mut self, verdicts: &[Verdict]) {
        self.items = verdicts.len();
        for verdict in verdicts {
            match verdict {
                Verdict::Valid => self.valid_items += 1,
                Verdict::Skipped => self.skipped += 1,
                Verdict::Rejected(reason) => self.rejected[*reason as usize] += 1,
            }
        }
    }
}

/// An item that equals an earlier one of the same batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Duplicate {
    /// Index of the duplicate.
    pub index: usize,
    /// Lowest index with the same content.
    pub first: usize,
}

/// The first item that keeps a batch from being valid as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// Index of the item; 0 for an empty batch.
    pub index: usize,
    /// Reason; [`RejectReason::NotVerified`] for an empty batch or a skipped item.
    pub reason: RejectReason,
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "item {} is rejected: {}", self.index, self.reason)
    }
}

impl core::error::Error for Rejection {}

/// Verdicts on a batch, in input order.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[must_use = "a report that is not checked may hide rejections"]
pub struct Report {
    pub(crate) verdicts: Vec<Verdict>,
    pub(crate) duplicates: Vec<Duplicate>,
    pub(crate) summary: Summary,
}

impl Report {
    /// One verdict per item, in input order.
    pub fn verdicts(&self) -> &[Verdict] {
        &self.verdicts
    }

    /// The verdicts by value.
    pub fn into_verdicts(self) -> Vec<Verdict> {
        self.verdicts
    }

    /// Detected duplicates, by increasing index.
    #[must_use]
    pub fn duplicates(&self) -> &[Duplicate] {
        &self.duplicates
    }

    /// Counts and figures.
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    /// Whether there is at least one item and every item is valid: false for an empty
    /// report and when anything was skipped.
    #[must_use]
    pub fn all_valid(&self) -> bool {
        self.summary.all_valid()
    }

    /// `Ok` only if [`all_valid`](Self::all_valid).
    ///
    /// # Errors
    /// The first item that is not valid. In [`Mode::AnyInvalid`](crate::Mode::AnyInvalid) an
    /// item below it may have been skipped.
    pub fn require_all(&self) -> Result<(), Rejection> {
        if self.all_valid() {
            return Ok(());
        }
        let first = self.rejected().next();
        let (index, reason) = first.unwrap_or_else(|| {
            let skipped = self.verdicts.iter().position(|verdict| !verdict.is_valid());
            (skipped.unwrap_or(0), RejectReason::NotVerified)
        });
        Err(Rejection { index, reason })
    }

    /// Rejected items with their reasons, by increasing index.
    pub fn rejected(&self) -> impl Iterator<Item = (usize, RejectReason)> {
        self.verdicts
            .iter()
            .enumerate()
            .filter_map(|(index, verdict)| match verdict {
                Verdict::Rejected(reason) => Some((index, *reason)),
                Verdict::Valid | Verdict::Skipped => None,
            })
    }

    /// The rejected item with the lowest index, if any.
    #[must_use]
    pub fn first_rejected(&self) -> Option<(usize, RejectReason)> {
        self.rejected().next()
    }
}

/// Serialisation of reasons by their stable names.
#[cfg(feature = "serde")]
mod serde_by_name {
    use std::borrow::Cow;

    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::RejectReason;

    impl Serialize for RejectReason {
        fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
            to.serialize_str(self.name())
        }
    }

    impl<'de> Deserialize<'de> for RejectReason {
        fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
            let name = Cow::<str>::deserialize(from)?;
            Self::from_name(&name).ok_or_else(|| D::Error::custom("an unknown reason"))
        }
    }

    /// Counts above zero, by name.
    pub(super) fn rejected<S: Serializer>(counts: &[usize], to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(
            RejectReason::ALL
                .iter()
                .zip(counts)
                .filter(|(_, count)| **count > 0),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn require_all_rejects_what_is_not_known_to_be_valid() {
        use Verdict::{Rejected, Skipped, Valid};
        let report = |verdicts: &[Verdict]| {
            let mut summary = Summary::default();
            summary.count(verdicts);
            Report {
                verdicts: verdicts.to_vec(),
                duplicates: Vec::new(),
                summary,
            }
        };
        let wrong = Rejected(RejectReason::ChallengeMismatch);
        let (not, challenge) = (RejectReason::NotVerified, RejectReason::ChallengeMismatch);
        for (verdicts, rejection) in [
            (&[Valid, Valid][..], Ok(())),
            (&[], Err((0, not))),
            (&[Valid, Skipped, Valid], Err((1, not))),
            (&[Valid, wrong, Skipped], Err((1, challenge))),
            (&[Skipped, wrong], Err((1, challenge))),
        ] {
            let rejection = rejection.map_err(|(index, reason)| Rejection { index, reason });
            assert_eq!(report(verdicts).require_all(), rejection, "{verdicts:?}");
        }
        // Counts and verdicts that disagree.
        let mut odd = report(&[Valid, Valid]);
        odd.summary.valid_items = 1;
        assert!(odd.require_all().is_err());
    }

    #[test]
    fn codes_round_trip() {
        let rejected = RejectReason::ALL
            .iter()
            .map(|&reason| Verdict::Rejected(reason));
        for verdict in rejected.chain([Verdict::Valid, Verdict::Skipped]) {
            assert_eq!(Verdict::from_code(verdict.code()), verdict);
            assert_eq!(verdict.check().is_ok(), verdict == Verdict::Valid);
        }
        for reason in RejectReason::ALL {
            assert_eq!(RejectReason::from_name(reason.name()), Some(*reason));
        }
    }
}
