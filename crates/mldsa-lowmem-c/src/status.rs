//! Results of calls.

use core::ffi::{CStr, c_char};

use mldsa_lowmem::{KeyError, MessageError, SignError, VerifyError};

/// Result of a call. 0 is success; for a verification, a valid signature. Numbers and names are
/// those of `mldsa-c`, where it has the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Status {
    /// Success; of a step: the signature is complete.
    Ok = 0,
    /// A pointer is null or misaligned.
    NullPointer = 2,
    /// A signer or a message that was not started, has ended, or is of another set.
    Argument = 3,
    /// A context of more than 255 bytes.
    ContextLength = 4,
    /// A key of the wrong length.
    KeyLength = 6,
    /// Signing failed, or the signature was not valid: a fault of the machine, or a damaged key.
    Signing = 11,
    /// A length above half of the address space.
    TooLarge = 17,
    /// A failure inside the library.
    Internal = 18,
    /// A coefficient of s1 or s2 of a private key is out of range.
    SecretRange = 19,
    /// A signature of the wrong length.
    SignatureLength = 34,
    /// The hint is not canonically encoded.
    HintEncoding = 37,
    /// A coefficient of z is out of range.
    ResponseNorm = 38,
    /// The signature is not of this key, message and context.
    ChallengeMismatch = 39,
    /// A saved state was altered, or is of another key, message or set.
    SavedState = 57,
    /// Of a step: there is more to do.
    Working = 58,
    /// Of a step: there is more to do, and the state has changed.
    WorkingState = 59,
}

const NAMES: [(Status, &CStr); 16] = [
    (Status::Ok, c"ok"),
    (Status::NullPointer, c"null_pointer"),
    (Status::Argument, c"argument"),
    (Status::ContextLength, c"context_length"),
    (Status::KeyLength, c"key_length"),
    (Status::Signing, c"signing"),
    (Status::TooLarge, c"too_large"),
    (Status::Internal, c"internal"),
    (Status::SecretRange, c"secret_range"),
    (Status::SignatureLength, c"signature_length"),
    (Status::HintEncoding, c"hint_encoding"),
    (Status::ResponseNorm, c"response_norm"),
    (Status::ChallengeMismatch, c"challenge_mismatch"),
    (Status::SavedState, c"saved_state"),
    (Status::Working, c"working"),
    (Status::WorkingState, c"working_state"),
];

/// Returns the name of a status in snake case; `unknown` for other numbers. Static, never null.
#[unsafe(no_mangle)]
pub extern "C" fn mldsa_lowmem_status_name(status: i32) -> *const c_char {
    let mut names = NAMES.iter().filter(|(named, _)| *named as i32 == status);
    names.next().map_or(c"unknown", |(_, name)| name).as_ptr()
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
            KeyError::SecretRange => Self::SecretRange,
            _ => Self::Internal,
        }
    }
}

impl From<MessageError> for Status {
    fn from(error: MessageError) -> Self {
        match error {
            MessageError::ContextLength => Self::ContextLength,
            _ => Self::Internal,
        }
    }
}

impl From<SignError> for Status {
    fn from(error: SignError) -> Self {
        match error {
            SignError::AttemptsExhausted | SignError::SelfVerification => Self::Signing,
            SignError::State => Self::SavedState,
            _ => Self::Internal,
        }
    }
}
