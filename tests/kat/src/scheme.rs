//! The traits through which every implementation runs the same suites. All
//! values are bytes, so a suite is written once for the three sets, for every
//! backend and for every calling form.

use crate::hash::Hash;
use crate::set::Set;

/// The input of signing.
#[derive(Debug, Clone, Copy)]
pub enum Message<'a> {
    /// Message and context of ML-DSA.
    Pure {
        /// Context, at most 255 bytes to be accepted.
        ctx: &'a [u8],
        /// Message.
        msg: &'a [u8],
    },
    /// Digest and context of HashML-DSA.
    PreHashed {
        /// Context, at most 255 bytes to be accepted.
        ctx: &'a [u8],
        /// Hash that made the digest.
        hash: &'static Hash,
        /// Digest.
        digest: &'a [u8],
    },
    /// The formatted message `M'` of the internal interface.
    Formatted(&'a [u8]),
    /// The message representative.
    Mu(&'a [u8; 64]),
}

impl<'a> Message<'a> {
    /// ML-DSA.
    #[must_use]
    pub const fn pure(ctx: &'a [u8], msg: &'a [u8]) -> Self {
        Self::Pure { ctx, msg }
    }

    /// HashML-DSA.
    #[must_use]
    pub const fn hashed(ctx: &'a [u8], hash: &'static Hash, digest: &'a [u8]) -> Self {
        Self::PreHashed { ctx, hash, digest }
    }
}

/// A private key in one of its two forms.
#[derive(Debug, Clone, Copy)]
pub enum PrivateKey<'a> {
    /// The seed `xi`, 32 bytes to be accepted.
    Seed(&'a [u8]),
    /// The encoding of FIPS 204, algorithm 24.
    Expanded(&'a [u8]),
}

/// A loaded private key, as its two encodings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyPair {
    /// Public key.
    pub pk: Vec<u8>,
    /// Expanded private key.
    pub sk: Vec<u8>,
}

/// Reason for a rejection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// Context of more than 255 bytes.
    Context,
    /// Digest length that does not belong to the hash.
    Digest,
    /// Seed, private or public key of a wrong length.
    KeyLength,
    /// Coefficient of `s1` or `s2` outside `[-eta, eta]`.
    SecretRange,
    /// `t0` or `tr` does not belong to the rest of the key.
    Inconsistent,
    /// Signature of a wrong length.
    SignatureLength,
    /// Hint encoding that is not the unique one.
    HintEncoding,
    /// Coefficient of `z` at or above `gamma1 - beta`.
    ResponseNorm,
    /// Commitment hash differs.
    ChallengeMismatch,
    /// Another error of the implementation, or a rejection without a reason.
    Other,
    /// The implementation has no such call. No implementation of this workspace returns this.
    Unsupported,
}

impl From<Reason> for String {
    fn from(reason: Reason) -> Self {
        format!("{reason:?}")
    }
}

/// An implementation that verifies.
pub trait Verifier {
    /// Name for failure messages.
    fn name(&self) -> String;

    /// Parameter set.
    fn set(&self) -> &'static Set;

    /// Verify.
    ///
    /// # Errors
    /// The first rule that is broken, where the implementation reports it.
    fn verify(&self, pk: &[u8], message: Message<'_>, sig: &[u8]) -> Result<(), Reason>;
}

/// An implementation that generates keys, signs and verifies.
pub trait Scheme: Verifier {
    /// Load a private key; with a seed this is key generation.
    ///
    /// # Errors
    /// Length, range or consistency.
    fn load(&self, key: PrivateKey<'_>) -> Result<KeyPair, Reason>;

    /// Sign; without `rnd`, deterministically.
    ///
    /// # Errors
    /// Inputs that [`Scheme::load`] rejects, and lengths of contexts and digests.
    fn sign(
        &self,
        key: PrivateKey<'_>,
        message: Message<'_>,
        rnd: Option<&[u8; 32]>,
    ) -> Result<Vec<u8>, Reason>;

    /// The message representative, from the public key alone, if there is such a call.
    ///
    /// # Errors
    /// Key length, context or digest length.
    fn mu(&self, _pk: &[u8], _message: Message<'_>) -> Result<[u8; 64], Reason> {
        Err(Reason::Unsupported)
    }
}
