//! Results as numbers. `src/errors.js` has the same list.

use alloc::vec::Vec;

#[cfg(feature = "full")]
use mldsa_core::SignError;
use mldsa_core::{KeyError, MessageError, VerifyError};

/// Reason why a call failed, as a negative number.
#[derive(Clone, Copy)]
pub(crate) enum Status {
    SignatureLength = 1,
    HintEncoding = 2,
    ResponseNorm = 3,
    ChallengeMismatch = 4,
    KeyLength = 5,
    #[cfg(any(feature = "full", feature = "files"))]
    SecretRange = 6,
    #[cfg(any(feature = "full", feature = "files"))]
    Inconsistent = 7,
    ContextLength = 8,
    DigestLength = 9,
    WeakHash = 10,
    Hash = 11,
    #[cfg(feature = "full")]
    Signing = 12,
    Set = 13,
    Slot = 14,
    #[cfg(feature = "full")]
    Member = 15,
    Length = 16,
    Order = 17,
    Memory = 18,
    Internal = 19,
    #[cfg(feature = "files")]
    KeyEncoding = 20,
    #[cfg(any(feature = "full", feature = "files"))]
    ConstantK = 21,
}

/// Returns a number that is not negative, or the reason.
pub(crate) fn or_code(result: Result<usize, Status>) -> i32 {
    match result {
        Ok(value) => i32::try_from(value).unwrap_or(-(Status::Internal as i32)),
        Err(status) => -(status as i32),
    }
}

impl From<VerifyError> for Status {
    fn from(error: VerifyError) -> Self {
        match error {
            VerifyError::SignatureLength => Self::SignatureLength,
            VerifyError::HintEncoding => Self::HintEncoding,
            VerifyError::ResponseNorm => Self::ResponseNorm,
            VerifyError::ChallengeMismatch => Self::ChallengeMismatch,
            _ => Self::Internal,
        }
    }
}

impl From<KeyError> for Status {
    fn from(error: KeyError) -> Self {
        match error {
            KeyError::Length => Self::KeyLength,
            #[cfg(any(feature = "full", feature = "files"))]
            KeyError::SecretRange => Self::SecretRange,
            #[cfg(any(feature = "full", feature = "files"))]
            KeyError::Inconsistent => Self::Inconsistent,
            #[cfg(any(feature = "full", feature = "files"))]
            KeyError::ConstantK => Self::ConstantK,
            _ => Self::Internal,
        }
    }
}

impl From<MessageError> for Status {
    fn from(error: MessageError) -> Self {
        match error {
            MessageError::ContextLength => Self::ContextLength,
            MessageError::DigestLength => Self::DigestLength,
            MessageError::WeakPreHash => Self::WeakHash,
            _ => Self::Internal,
        }
    }
}

#[cfg(feature = "full")]
impl From<SignError> for Status {
    fn from(_: SignError) -> Self {
        Self::Signing
    }
}

/// Bytes of the largest key with everything that is prepared of it, and more.
const KEY: usize = 256 * 1024;

/// Asks for memory first: a failed allocation inside the library would end the module.
pub(crate) fn room_for_a_key() -> Result<(), Status> {
    let mut room = Vec::<u8>::new();
    room.try_reserve_exact(KEY).map_err(|_| Status::Memory)
}
