//! What comes out of a batch.

use core::fmt;

use mldsa_core::{PreHashError, VerifyError};

/// The verdict on one item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// The signature verifies.
    Valid,
    /// It does not, or the item is malformed.
    Invalid(Reason),
    /// Not looked at, or not to be relied on, because of an early exit.
    Skipped,
}

/// Why an item was refused: for logs and peer accounting. Consensus decisions
/// should depend on valid or not valid only.
///
/// An item that is wrong in several ways reports the first of these, in the
/// order in which they stand here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Reason {
    /// The signer is not in the verifier's key set.
    UnknownSigner,
    /// The public key does not have `P::PK_LEN` bytes.
    PublicKeyLength,
    /// The signature does not have `P::SIG_LEN` bytes.
    SignatureLength,
    /// HashML-DSA: the digest does not have the length of the hash's output.
    DigestLength,
    /// HashML-DSA: the hash is too weak for the parameter set.
    WeakPreHash,
    /// The hint part of the signature is not the one encoding of a hint.
    HintEncoding,
    /// A coefficient of z reaches gamma1 - beta.
    ResponseNorm,
    /// The recomputed challenge differs: the signature is for something else,
    /// by somebody else, or damaged.
    ChallengeMismatch,
    /// Refused by `mldsa_core` for a reason this crate does not name yet.
    Other,
}

impl Reason {
    /// A stable name in snake case, for logs, metrics and machine output.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::UnknownSigner => "unknown_signer",
            Self::PublicKeyLength => "public_key_length",
            Self::SignatureLength => "signature_length",
            Self::DigestLength => "digest_length",
            Self::WeakPreHash => "weak_prehash",
            Self::HintEncoding => "hint_encoding",
            Self::ResponseNorm => "response_norm",
            Self::ChallengeMismatch => "challenge_mismatch",
            Self::Other => "other",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

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

/// The verdicts on a batch, in input order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    outcomes: Vec<Outcome>,
}

impl Report {
    pub(crate) fn new(outcomes: Vec<Outcome>) -> Self {
        Self { outcomes }
    }

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

    /// Whether there is at least one item and every item is valid: false for an
    /// empty report and when anything was skipped.
    #[must_use]
    pub fn all_valid(&self) -> bool {
        !self.outcomes.is_empty() && self.valid() == self.outcomes.len()
    }

    /// How many items are valid.
    #[must_use]
    pub fn valid(&self) -> usize {
        self.outcomes
            .iter()
            .filter(|&&outcome| outcome == Outcome::Valid)
            .count()
    }

    /// How many items were skipped; zero under [`Mode::Full`](crate::Mode::Full).
    #[must_use]
    pub fn skipped(&self) -> usize {
        self.outcomes
            .iter()
            .filter(|&&outcome| outcome == Outcome::Skipped)
            .count()
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

    /// The invalid item with the lowest index, if any. Under
    /// [`Mode::AnyInvalid`](crate::Mode::AnyInvalid) an invalid item below it
    /// may have been skipped.
    #[must_use]
    pub fn first_invalid(&self) -> Option<(usize, Reason)> {
        self.invalid().next()
    }
}
