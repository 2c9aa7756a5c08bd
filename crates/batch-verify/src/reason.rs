//! Verdicts and reasons of rejections.

use core::fmt;
use core::str::FromStr;

use mldsa_core::{MessageError, VerifyError};

pub(crate) type Verdict = Result<(), RejectReason>;

macro_rules! reasons {
    ($($(#[$doc:meta])+ $reason:ident = $name:literal,)+) => {
        /// Reason of a rejection, for logs and peer accounting. Consensus decisions should
        /// depend on valid or not valid only.
        ///
        /// `Display` prints the name, as logs have it. An item that is wrong in several ways
        /// reports the first of these, in the order of the variants.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        #[repr(u8)]
        pub enum RejectReason {
            $($(#[$doc])+ $reason,)+
        }

        impl RejectReason {
            /// Every reason, in the order of the checks.
            pub const ALL: &[Self] = &[$(Self::$reason,)+];

            /// Returns a stable name in snake case, for logs, metrics and machine output.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$reason => $name,)+
                }
            }
        }
    };
}

reasons! {
    /// The member id is of no committee of the verifier: of another epoch, chain or kind of
    /// message.
    UnknownMember = "unknown_member",
    /// The public key does not have `P::PK_LEN` bytes.
    PublicKeyLength = "public_key_length",
    /// The signature does not have `P::SIG_LEN` bytes.
    SignatureLength = "signature_length",
    /// HashML-DSA: the digest does not have the length of the hash's output.
    DigestLength = "digest_length",
    /// HashML-DSA: the hash is too weak for the parameter set.
    WeakPreHash = "weak_prehash",
    /// The hint part of the signature is not the one encoding of a hint.
    HintEncoding = "hint_encoding",
    /// A coefficient of z reaches gamma1 - beta.
    ResponseNorm = "response_norm",
    /// The recomputed challenge differs: the signature is for another message or context, by
    /// another key, or damaged.
    ChallengeMismatch = "challenge_mismatch",
    /// Rejected by `mldsa_core` for a reason this crate does not name yet.
    Other = "other",
    /// Not verified, because of an early exit: never a verdict on the signature. Skipped
    /// items and empty batches have it.
    NotVerified = "not_verified",
}

impl fmt::Display for RejectReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl core::error::Error for RejectReason {}

impl FromStr for RejectReason {
    type Err = &'static str;

    /// Parses a name. The error is a text for logs.
    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let mut reasons = Self::ALL.iter().copied();
        let found = reasons.find(|reason| reason.name() == name);
        found.ok_or("an unknown reason")
    }
}

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

impl From<MessageError> for RejectReason {
    fn from(error: MessageError) -> Self {
        match error {
            MessageError::DigestLength => Self::DigestLength,
            MessageError::WeakPreHash => Self::WeakPreHash,
            _ => Self::Other,
        }
    }
}

/// Encodes a verdict as one byte, for storage that workers share.
pub(crate) const fn code(verdict: Verdict) -> u8 {
    match verdict {
        Ok(()) => RejectReason::ALL.len() as u8,
        Err(reason) => reason as u8,
    }
}

/// Decodes the byte of [`code`].
pub(crate) fn verdict(code: u8) -> Verdict {
    match RejectReason::ALL.get(usize::from(code)) {
        Some(reason) => Err(*reason),
        None => Ok(()),
    }
}

/// Serialisation by the stable names.
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
            name.parse().map_err(D::Error::custom)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_names_round_trip() {
        let verdicts = RejectReason::ALL.iter().map(|&reason| Err(reason));
        for original in verdicts.chain([Ok(())]) {
            assert_eq!(verdict(code(original)), original);
        }
        for reason in RejectReason::ALL {
            assert_eq!(reason.to_string().parse(), Ok(*reason));
        }
        assert_eq!("".parse::<RejectReason>(), Err("an unknown reason"));
    }
}
