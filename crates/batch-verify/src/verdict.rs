//! What comes out of a batch.

use core::fmt;
use core::time::Duration;

use mldsa_core::{PreHashError, VerifyError};

/// The verdict on one item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Outcome {
    /// The signature verifies.
    Valid,
    /// It does not, or the item is malformed.
    Invalid(Reason),
    /// Not looked at, or not to be relied on, because of an early exit.
    Skipped,
}

impl Outcome {
    /// Whether the signature verifies.
    #[must_use]
    pub const fn is_valid(self) -> bool {
        matches!(self, Self::Valid)
    }

    /// One byte, for storage that workers share.
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Skipped => 0,
            Self::Valid => 1,
            Self::Invalid(reason) => 2 + reason as u8,
        }
    }

    /// The outcome of a [`code`](Self::code).
    pub(crate) fn of_code(code: u8) -> Self {
        match code {
            0 => Self::Skipped,
            1 => Self::Valid,
            code => Reason::ALL
                .get(usize::from(code) - 2)
                .map_or(Self::Skipped, |reason| Self::Invalid(*reason)),
        }
    }
}

macro_rules! reasons {
    ($($(#[$doc:meta])+ $reason:ident = $name:literal,)+) => {
        /// Why an item was refused: for logs and peer accounting. Consensus
        /// decisions should depend on valid or not valid only.
        ///
        /// An item that is wrong in several ways reports the first of these, in
        /// the order in which they stand here.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        #[repr(u8)]
        pub enum Reason {
            $($(#[$doc])+ $reason,)+
        }

        impl Reason {
            /// Every reason, in the order of the checks.
            pub const ALL: &[Self] = &[$(Self::$reason,)+];

            /// A stable name in snake case, for logs, metrics and machine output.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$reason => $name,)+
                }
            }

            /// The reason of a [`name`](Self::name).
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
    /// The signer is not in the verifier's key set.
    UnknownSigner = "unknown_signer",
    /// The public key does not have `P::PK_LEN` bytes.
    PublicKeyLength = "public_key_length",
    /// The signature does not have `P::SIG_LEN` bytes.
    SignatureLength = "signature_length",
    /// HashML-DSA: the digest does not have the length of the hash's output.
    DigestLength = "digest_length",
    /// HashML-DSA: the hash is too weak for the parameter set.
    WeakPreHash = "weak_prehash",
    /// A repeat of an earlier item of the batch, under
    /// [`Duplicates::Reject`](crate::Duplicates::Reject) only.
    Duplicate = "duplicate",
    /// The hint part of the signature is not the one encoding of a hint.
    HintEncoding = "hint_encoding",
    /// A coefficient of z reaches gamma1 - beta.
    ResponseNorm = "response_norm",
    /// The recomputed challenge differs: the signature is for something else,
    /// by somebody else, or damaged.
    ChallengeMismatch = "challenge_mismatch",
    /// Refused by `mldsa_core` for a reason this crate does not name yet.
    Other = "other",
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl core::error::Error for Reason {}

impl From<VerifyError> for Reason {
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

impl From<PreHashError> for Reason {
    fn from(error: PreHashError) -> Self {
        match error {
            PreHashError::DigestLength => Self::DigestLength,
            PreHashError::WeakPreHash => Self::WeakPreHash,
            _ => Self::Other,
        }
    }
}

/// The figures of one batch: counts, and how it was done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Summary {
    /// Items in the batch.
    pub items: usize,
    /// How many are valid, repeats of valid ones included.
    pub valid: usize,
    /// How many were skipped; zero under [`Mode::Full`](crate::Mode::Full)
    /// unless a projection panicked.
    pub skipped: usize,
    /// How many were recognised as repeats of an earlier item.
    pub repeats: usize,
    /// Workers the batch was cut for.
    pub threads: usize,
    /// Items a worker took at once.
    pub batch_size: usize,
    /// Wall-clock time.
    pub elapsed: Duration,
    /// Bytes of expanded keys held by the caches of the verifier.
    pub cache_bytes: usize,
    /// Look-ups in these caches, since they were made, that found an expanded key. The
    /// cache of a set is made with the set.
    pub cache_hits: u64,
    /// Look-ups that did not.
    pub cache_misses: u64,
    /// Panics of the projection that were caught; their elements are skipped.
    pub panicked: usize,
    #[cfg_attr(feature = "serde", serde(serialize_with = "serde_by_name::refused"))]
    pub(crate) refused: [usize; Reason::ALL.len()],
}

impl Summary {
    /// How many items were refused for that reason.
    #[must_use]
    pub fn refused(&self, reason: Reason) -> usize {
        self.refused[reason as usize]
    }

    /// How many items are invalid, for whatever reason.
    #[must_use]
    pub fn invalid(&self) -> usize {
        self.refused.iter().sum()
    }

    /// Whether there is at least one item and every item is valid.
    #[must_use]
    pub fn all_valid(&self) -> bool {
        self.items > 0 && self.valid == self.items
    }

    pub(crate) fn count(&mut self, outcomes: &[Outcome]) {
        self.items = outcomes.len();
        for outcome in outcomes {
            match outcome {
                Outcome::Valid => self.valid += 1,
                Outcome::Skipped => self.skipped += 1,
                Outcome::Invalid(reason) => self.refused[*reason as usize] += 1,
            }
        }
    }
}

/// An item that repeats an earlier one of the same batch: the same signer,
/// message, context and signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Repeat {
    /// The index of the repeat.
    pub index: usize,
    /// The lowest index with the same content.
    pub first: usize,
}

/// The verdicts on a batch, in input order.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Report {
    pub(crate) outcomes: Vec<Outcome>,
    pub(crate) repeats: Vec<Repeat>,
    pub(crate) summary: Summary,
}

impl Report {
    /// One outcome per item, in input order.
    #[must_use]
    pub fn outcomes(&self) -> &[Outcome] {
        &self.outcomes
    }

    /// The outcomes by value.
    #[must_use]
    pub fn into_outcomes(self) -> Vec<Outcome> {
        self.outcomes
    }

    /// The repeats that were recognised, by increasing index.
    #[must_use]
    pub fn repeats(&self) -> &[Repeat] {
        &self.repeats
    }

    /// Counts, and how the batch was done.
    #[must_use]
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    /// Whether there is at least one item and every item is valid: false for an
    /// empty report and when anything was skipped.
    #[must_use]
    pub fn all_valid(&self) -> bool {
        self.summary.all_valid()
    }

    /// How many items are valid.
    #[must_use]
    pub fn valid(&self) -> usize {
        self.summary.valid
    }

    /// How many items were skipped; zero under [`Mode::Full`](crate::Mode::Full).
    #[must_use]
    pub fn skipped(&self) -> usize {
        self.summary.skipped
    }

    /// The invalid items with their reasons, by increasing index.
    pub fn invalid(&self) -> impl Iterator<Item = (usize, Reason)> {
        self.outcomes
            .iter()
            .enumerate()
            .filter_map(|(index, outcome)| match outcome {
                Outcome::Invalid(reason) => Some((index, *reason)),
                Outcome::Valid | Outcome::Skipped => None,
            })
    }

    /// `None` only if [`all_valid`](Self::all_valid): what all-or-nothing calls
    /// decide by. Otherwise the first item that is not valid, and why; an item
    /// that was not looked at, or the lack of any, is refused too.
    pub(crate) fn refusal(&self) -> Option<(usize, Reason)> {
        if self.all_valid() {
            return None;
        }
        let at = self.outcomes.iter().position(|outcome| !outcome.is_valid());
        Some(match at.map(|at| (at, self.outcomes[at])) {
            Some((at, Outcome::Invalid(reason))) => (at, reason),
            Some((at, _)) => (at, Reason::Other),
            None => (0, Reason::Other),
        })
    }

    /// The invalid item with the lowest index, if any. Under
    /// [`Mode::AnyInvalid`](crate::Mode::AnyInvalid) an invalid item below it
    /// may have been skipped.
    #[must_use]
    pub fn first_invalid(&self) -> Option<(usize, Reason)> {
        self.invalid().next()
    }
}

/// Reasons go by their stable names.
#[cfg(feature = "serde")]
mod serde_by_name {
    use std::borrow::Cow;

    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::Reason;

    impl Serialize for Reason {
        fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
            to.serialize_str(self.name())
        }
    }

    impl<'de> Deserialize<'de> for Reason {
        fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
            let name = Cow::<str>::deserialize(from)?;
            Self::from_name(&name).ok_or_else(|| D::Error::custom("an unknown reason"))
        }
    }

    /// Those that occurred.
    pub(super) fn refused<S: Serializer>(counts: &[usize], to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(
            Reason::ALL
                .iter()
                .zip(counts)
                .filter(|(_, count)| **count > 0),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is not known to be valid is refused.
    #[test]
    fn refusals() {
        let report = |outcomes: &[Outcome]| {
            let mut summary = Summary::default();
            summary.count(outcomes);
            Report {
                outcomes: outcomes.to_vec(),
                repeats: Vec::new(),
                summary,
            }
        };
        use Outcome::{Invalid, Skipped, Valid};
        let wrong = Invalid(Reason::ChallengeMismatch);
        for (outcomes, refusal) in [
            (&[Valid, Valid][..], None),
            (&[], Some((0, Reason::Other))),
            (&[Valid, Skipped, Valid], Some((1, Reason::Other))),
            (
                &[Valid, wrong, Skipped],
                Some((1, Reason::ChallengeMismatch)),
            ),
            (&[Skipped, wrong], Some((0, Reason::Other))),
        ] {
            assert_eq!(report(outcomes).refusal(), refusal, "{outcomes:?}");
        }
        // Counts and outcomes that disagree.
        let mut odd = report(&[Valid, Valid]);
        odd.summary.valid = 1;
        assert_eq!(odd.refusal(), Some((0, Reason::Other)));
    }
}
