//! Reasons of rejected rows.

use core::fmt;
use core::str::FromStr;
use std::sync::{Arc, LazyLock};

use arrow_array::{ArrayRef, StringArray};
use batch_verify::RejectReason;

/// Reason why a row is not valid: the first that applies, in the order of the variants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Reason {
    /// The parameter set is null.
    MissingSet,
    /// The parameter set has another name than `ML-DSA-44`, `ML-DSA-65` and `ML-DSA-87`.
    UnknownSet,
    /// The key or its id is null.
    MissingKey,
    /// The key table lacks the id.
    UnknownKey,
    /// The message or `mu` is null.
    MissingMessage,
    /// `mu` does not have 64 bytes.
    MuLength,
    /// The signature is null.
    MissingSignature,
    /// The context has more than 255 bytes.
    ContextTooLong,
    /// The row has what it needs and its signature is rejected.
    Rejected(RejectReason),
}

/// The reasons of rows that lack something.
const UNUSABLE: [Reason; 7] = [
    Reason::MissingSet,
    Reason::UnknownSet,
    Reason::MissingKey,
    Reason::UnknownKey,
    Reason::MissingMessage,
    Reason::MuLength,
    Reason::MissingSignature,
];

impl Reason {
    /// Lists every reason, in the order of the values of the dictionary in
    /// [`Verdicts::reason`](crate::Verdicts::reason).
    pub fn all() -> impl Iterator<Item = Self> {
        let rejected = RejectReason::ALL.iter().copied().map(Self::Rejected);
        UNUSABLE
            .into_iter()
            .chain([Self::ContextTooLong])
            .chain(rejected)
    }

    /// Returns a stable name in snake case. Those of [`Rejected`](Self::Rejected) are the names of
    /// [`RejectReason`].
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::MissingSet => "missing_set",
            Self::UnknownSet => "unknown_set",
            Self::MissingKey => "missing_key",
            Self::UnknownKey => "unknown_key",
            Self::MissingMessage => "missing_message",
            Self::MuLength => "mu_length",
            Self::MissingSignature => "missing_signature",
            Self::ContextTooLong => "context_too_long",
            Self::Rejected(reason) => reason.name(),
        }
    }

    /// Returns whether the row lacks something, so that there was no signature to verify.
    #[must_use]
    pub fn is_unusable(self) -> bool {
        UNUSABLE.contains(&self)
    }

    /// Returns the position in [`all`](Self::all).
    pub(crate) fn code(self) -> i8 {
        let position = match self {
            Self::Rejected(reason) => UNUSABLE.len() + 1 + reason as usize,
            // `ContextTooLong` follows the others.
            unusable => UNUSABLE
                .iter()
                .position(|one| *one == unusable)
                .unwrap_or(UNUSABLE.len()),
        };
        position as i8
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Reason {
    type Err = &'static str;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let mut all = Self::all();
        all.find(|reason| reason.name() == name)
            .ok_or("an unknown reason")
    }
}

/// Returns the names, as the values of every dictionary of reasons.
pub(crate) fn names() -> ArrayRef {
    static NAMES: LazyLock<ArrayRef> = LazyLock::new(|| {
        Arc::new(StringArray::from_iter_values(
            Reason::all().map(Reason::name),
        ))
    });
    Arc::clone(&NAMES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_positions_and_names_are_unique() {
        for (position, reason) in Reason::all().enumerate() {
            assert_eq!(usize::try_from(reason.code()), Ok(position));
            assert_eq!(reason.name().parse(), Ok(reason));
        }
        assert!("".parse::<Reason>().is_err());
        assert_eq!(names().len(), Reason::all().count());
    }
}
