//! Results of calls and verdicts on items.

use core::ffi::{CStr, c_char};

use batch_verify::{BuildError, RejectReason};
use mldsa_core::{KeyError, MessageError, SignError, VerifyError};

use crate::boundary::guard;

/// Verdict of a valid item, which is no number of a status. 0: not verified. Any other value is
/// the status of the rejection. After an error of the whole call no verdict is valid.
pub const VERDICT_VALID: u8 = 1;

/// Result of a call. 0 is success; for a verification, a valid signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Status {
    /// Success.
    Ok = 0,
    /// A null pointer with a length other than 0, a null handle or a null output.
    NullPointer = 2,
    /// An unknown hash, rule, form, kind of threads or threshold.
    Argument = 3,
    /// A context of more than 255 bytes.
    ContextLength = 4,
    /// The output buffer is too small. The needed length was written.
    BufferLength = 5,
    /// A private or public key of the wrong length.
    KeyLength = 6,
    /// The seed of this private key is not known.
    NoSeed = 9,
    /// The operating system's random number generator failed.
    Random = 10,
    /// Signing failed, or the signature was not valid: almost certainly a fault of the machine.
    Signing = 11,
    /// A self-test failed.
    SelfTest = 12,
    /// A committee without members.
    EmptyCommittee = 13,
    /// One public key with two weights, or a duplicate in a new committee.
    DuplicateKey = 14,
    /// A member of a new committee has weight 0.
    ZeroWeight = 15,
    /// The epoch of a successor is not later.
    Epoch = 16,
    /// A length above the limit of the interface.
    TooLarge = 17,
    /// A coefficient of s1 or s2 of a private key is out of range.
    SecretRange = 19,
    /// The parts of a private key do not belong together.
    Inconsistent = 20,
    /// A private key where a public one belongs.
    Private = 21,
    /// A parameter set other than 44, 65 and 87, or another algorithm in a key file.
    UnknownSet = 22,
    /// A key of another parameter set.
    OtherSet = 23,
    /// A key file that is not SubjectPublicKeyInfo, or not PKCS#8, in DER.
    Structure = 24,
    /// The algorithm identifier of a key file has parameters.
    AlgorithmParameters = 25,
    /// The random number generator returned zeros: it does not work.
    ZeroRandomness = 26,
    /// All bytes of K of a private key are equal: signatures would reveal the key.
    ConstantK = 27,
    /// PKCS#8 of version 0 with a public key, or of version 1 without one.
    Version = 28,
    /// The attributes of PKCS#8 are no set of attributes in DER.
    Attributes = 29,
    /// PKCS#8 with a private key in none of the three forms of RFC 9881.
    Form = 30,
    /// A failure inside the library. The handles of the call may only be freed. Memory that runs
    /// out ends the process instead.
    Internal = 18,
    /// The committee does not have this public key or index.
    UnknownMember = 32,
    /// The public key has the wrong length for the parameter set.
    PublicKeyLength = 33,
    /// The signature has the wrong length for the parameter set.
    SignatureLength = 34,
    /// The digest does not have the output length of its hash.
    DigestLength = 35,
    /// The hash is weaker than the parameter set.
    WeakPrehash = 36,
    /// The hint is not canonically encoded.
    HintEncoding = 37,
    /// A coefficient of z is out of range.
    ResponseNorm = 38,
    /// The signature is not of this key, message and context.
    ChallengeMismatch = 39,
    /// A rejection for another reason.
    Rejected = 40,
    /// A part of a packed item is outside of the data.
    OutOfBounds = 41,
    /// The item was not verified because an earlier one was rejected.
    NotVerified = 42,
    /// A vote of a certificate has a duplicate.
    DuplicateVote = 43,
    /// A certificate has two different votes of one member.
    ConflictingVotes = 44,
    /// The votes do not reach the threshold.
    InsufficientWeight = 45,
    /// The gas limit is below the price.
    OutOfGas = 46,
    /// A batch without items.
    EmptyBatch = 47,
    /// A text without a line `-----BEGIN LABEL-----`.
    PemMissing = 48,
    /// PEM with more than one object.
    PemSeveral = 49,
    /// PEM with a malformed BEGIN or END line.
    PemBoundary = 50,
    /// PEM with another label.
    PemLabel = 51,
    /// PEM without an END line.
    PemEnd = 52,
    /// PEM with another label in the END line.
    PemEndLabel = 53,
    /// PEM with headers, as of OpenSSL's old encrypted keys.
    PemHeaders = 54,
    /// PEM with a character that is no base64.
    PemBase64 = 55,
    /// PEM whose base64 ends early or is padded wrongly.
    PemPadding = 56,
}

const NAMES: [(Status, &CStr); 53] = [
    (Status::Ok, c"ok"),
    (Status::NullPointer, c"null_pointer"),
    (Status::Argument, c"argument"),
    (Status::ContextLength, c"context_length"),
    (Status::BufferLength, c"buffer_length"),
    (Status::KeyLength, c"key_length"),
    (Status::NoSeed, c"no_seed"),
    (Status::Random, c"random"),
    (Status::Signing, c"signing"),
    (Status::SelfTest, c"self_test"),
    (Status::EmptyCommittee, c"empty_committee"),
    (Status::DuplicateKey, c"duplicate_key"),
    (Status::ZeroWeight, c"zero_weight"),
    (Status::Epoch, c"epoch"),
    (Status::TooLarge, c"too_large"),
    (Status::SecretRange, c"secret_range"),
    (Status::Inconsistent, c"inconsistent"),
    (Status::Private, c"private"),
    (Status::UnknownSet, c"unknown_set"),
    (Status::OtherSet, c"other_set"),
    (Status::Structure, c"structure"),
    (Status::AlgorithmParameters, c"algorithm_parameters"),
    (Status::ZeroRandomness, c"zero_randomness"),
    (Status::ConstantK, c"constant_k"),
    (Status::Version, c"version"),
    (Status::Attributes, c"attributes"),
    (Status::Form, c"form"),
    (Status::Internal, c"internal"),
    (Status::UnknownMember, c"unknown_member"),
    (Status::PublicKeyLength, c"public_key_length"),
    (Status::SignatureLength, c"signature_length"),
    (Status::DigestLength, c"digest_length"),
    (Status::WeakPrehash, c"weak_prehash"),
    (Status::HintEncoding, c"hint_encoding"),
    (Status::ResponseNorm, c"response_norm"),
    (Status::ChallengeMismatch, c"challenge_mismatch"),
    (Status::Rejected, c"rejected"),
    (Status::OutOfBounds, c"out_of_bounds"),
    (Status::NotVerified, c"not_verified"),
    (Status::DuplicateVote, c"duplicate_vote"),
    (Status::ConflictingVotes, c"conflicting_votes"),
    (Status::InsufficientWeight, c"insufficient_weight"),
    (Status::OutOfGas, c"out_of_gas"),
    (Status::EmptyBatch, c"empty_batch"),
    (Status::PemMissing, c"pem_missing"),
    (Status::PemSeveral, c"pem_several"),
    (Status::PemBoundary, c"pem_boundary"),
    (Status::PemLabel, c"pem_label"),
    (Status::PemEnd, c"pem_end"),
    (Status::PemEndLabel, c"pem_end_label"),
    (Status::PemHeaders, c"pem_headers"),
    (Status::PemBase64, c"pem_base64"),
    (Status::PemPadding, c"pem_padding"),
];

/// Returns the name of a status in snake case; `unknown` for other numbers. Static, never null.
#[unsafe(no_mangle)]
pub extern "C" fn mldsa_status_name(status: i32) -> *const c_char {
    let mut names = NAMES.iter().filter(|(named, _)| *named as i32 == status);
    names.next().map_or(c"unknown", |(_, name)| name).as_ptr()
}

/// Returns the version of this interface: `MLDSA_ABI_VERSION` of the header that fits the library. It changes
/// when a program that was compiled with another header must not use the library.
#[unsafe(no_mangle)]
pub extern "C" fn mldsa_abi_version() -> u32 {
    ABI_VERSION
}

/// The version of the interface that a header describes.
pub const ABI_VERSION: u32 = 2;

/// Bytes of stack that a function takes at most, except those that sign.
pub const STACK_BYTES: usize = 56 * 1024;
/// Bytes of stack that a function that signs takes at most: `mldsa_sign`, `mldsa_sign_prehashed`,
/// `mldsa_sign_mu` and `mldsa_self_test`.
pub const SIGN_STACK_BYTES: usize = 96 * 1024;

/// Compares key generation, signing and verification of all parameter sets with known answers.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn mldsa_self_test() -> Status {
    guard(|| mldsa_core::self_test().map_err(|_| Status::SelfTest))
}

/// Verdict of `batch-verify`.
pub(crate) type Verdict = Result<(), RejectReason>;

/// Encodes a verdict as a byte.
pub(crate) fn verdict_byte(verdict: Verdict) -> u8 {
    match verdict {
        Ok(()) => VERDICT_VALID,
        Err(RejectReason::NotVerified) => 0,
        Err(reason) => Status::from(reason) as u8,
    }
}

impl From<RejectReason> for Status {
    /// The status with the name of the reason, which every reason but `other` has.
    fn from(reason: RejectReason) -> Self {
        let name = reason.name().as_bytes();
        let mut names = NAMES.iter().filter(|(_, known)| known.to_bytes() == name);
        names.next().map_or(Self::Rejected, |(status, _)| *status)
    }
}

impl From<VerifyError> for Status {
    fn from(error: VerifyError) -> Self {
        RejectReason::from(error).into()
    }
}

impl From<MessageError> for Status {
    fn from(error: MessageError) -> Self {
        RejectReason::from(error).into()
    }
}

impl From<KeyError> for Status {
    fn from(error: KeyError) -> Self {
        match error {
            KeyError::Length => Self::KeyLength,
            KeyError::SecretRange => Self::SecretRange,
            KeyError::Inconsistent => Self::Inconsistent,
            KeyError::ConstantK => Self::ConstantK,
            KeyError::Private => Self::Private,
            KeyError::UnknownSet => Self::UnknownSet,
            KeyError::OtherSet => Self::OtherSet,
            KeyError::Structure => Self::Structure,
            KeyError::Version => Self::Version,
            KeyError::Attributes => Self::Attributes,
            KeyError::Form => Self::Form,
            KeyError::AlgorithmParameters => Self::AlgorithmParameters,
            KeyError::Rng => Self::Random,
            KeyError::ZeroSeed => Self::ZeroRandomness,
            _ => Self::Internal,
        }
    }
}

impl From<SignError> for Status {
    fn from(error: SignError) -> Self {
        match error {
            SignError::Rng => Self::Random,
            SignError::ZeroRandomness => Self::ZeroRandomness,
            SignError::BufferLength => Self::BufferLength,
            SignError::AttemptsExhausted | SignError::SelfVerification | SignError::Key => {
                Self::Signing
            }
            _ => Self::Internal,
        }
    }
}

impl From<BuildError> for Status {
    fn from(error: BuildError) -> Self {
        match error {
            BuildError::Empty => Self::EmptyCommittee,
            BuildError::KeyLength { .. } => Self::KeyLength,
            BuildError::DuplicateKey { .. } => Self::DuplicateKey,
            BuildError::ZeroWeight { .. } => Self::ZeroWeight,
            BuildError::TooMany => Self::TooLarge,
            BuildError::ContextTooLong => Self::ContextLength,
            BuildError::Epoch { .. } => Self::Epoch,
            _ => Self::Internal,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// A new reason has a status of its own, or this fails: none hides behind that of another.
    #[test]
    fn every_reason_has_its_own_status() {
        let reasons = RejectReason::ALL.iter();
        for reason in reasons.filter(|reason| **reason != RejectReason::Other) {
            let name = NAMES
                .iter()
                .find(|(status, _)| *status == Status::from(*reason));
            assert_eq!(
                name.map(|(_, name)| name.to_bytes()),
                Some(reason.name().as_bytes())
            );
        }
        for reason in VerifyError::ALL {
            assert_ne!(Status::from(*reason), Status::Rejected, "{reason:?}");
        }
        let own: HashSet<i32> = (KeyError::ALL.iter())
            .map(|reason| Status::from(*reason) as i32)
            .collect();
        assert_eq!(own.len(), KeyError::ALL.len());
        assert!(!own.contains(&(Status::Internal as i32)));
        for reason in SignError::ALL {
            assert_ne!(Status::from(*reason), Status::Internal, "{reason:?}");
        }
    }

    #[test]
    fn statuses_have_names_of_their_own() {
        let names: HashSet<_> = NAMES.iter().map(|(_, name)| name).collect();
        let numbers: HashSet<_> = NAMES.iter().map(|(status, _)| *status as u8).collect();
        assert_eq!((names.len(), numbers.len()), (NAMES.len(), NAMES.len()));
        assert!(!numbers.contains(&VERDICT_VALID));
    }
}
