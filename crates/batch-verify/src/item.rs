//! Signatures to verify, borrowed from the caller.

use mldsa_core::{Context, Mu, ParameterSet, PreHash, VerifyingKey};

use crate::MemberId;

/// A signed message.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Message<'a> {
    /// The message in one piece.
    Bytes(&'a [u8]),
    /// The message in pieces; equal to `Bytes` of their concatenation.
    Parts(&'a [&'a [u8]]),
    /// HashML-DSA: the digest of the message under `hash`. Pairs of hash and
    /// parameter set that are too weak are rejected unless
    /// [`allow_weak_prehash`](crate::BatchVerifierBuilder::allow_weak_prehash) is on.
    PreHashed {
        /// The hash function.
        hash: PreHash,
        /// Its output (`hash.digest_len()` bytes when well formed).
        digest: &'a [u8],
    },
}

impl<'a> From<&'a [u8]> for Message<'a> {
    fn from(message: &'a [u8]) -> Self {
        Self::Bytes(message)
    }
}

impl<'a, const N: usize> From<&'a [u8; N]> for Message<'a> {
    fn from(message: &'a [u8; N]) -> Self {
        Self::Bytes(message)
    }
}

impl<'a> From<&'a Vec<u8>> for Message<'a> {
    fn from(message: &'a Vec<u8>) -> Self {
        Self::Bytes(message)
    }
}

/// A committee member's signature over a message, under the context of the committee.
#[derive(Clone, Copy, Debug)]
pub struct Vote<'a> {
    /// The claimed signer.
    pub member: MemberId,
    /// The signed message.
    pub message: Message<'a>,
    /// The encoded signature (`P::SIG_LEN` bytes when well formed).
    pub signature: &'a [u8],
}

impl<'a> Vote<'a> {
    /// A vote by `member`.
    pub fn new(member: MemberId, message: impl Into<Message<'a>>, signature: &'a [u8]) -> Self {
        Self {
            member,
            message: message.into(),
            signature,
        }
    }
}

/// A committee member's signature over the message of a quorum, which is passed apart.
#[derive(Clone, Copy, Debug)]
pub struct Attestation<'a> {
    /// The claimed signer.
    pub member: MemberId,
    /// The encoded signature.
    pub signature: &'a [u8],
}

impl<'a> Attestation<'a> {
    /// A signature by `member`.
    #[must_use]
    pub fn new(member: MemberId, signature: &'a [u8]) -> Self {
        Self { member, signature }
    }

    pub(crate) fn vote(&self, message: Message<'a>) -> Vote<'a> {
        Vote {
            member: self.member,
            message,
            signature: self.signature,
        }
    }
}

/// A signature under a public key that is passed with it, for a
/// [`BatchVerifier`](crate::BatchVerifier).
///
/// A valid item proves that the owner of that key signed, and nothing about who the owner is.
#[derive(Clone, Copy, Debug)]
pub struct Item<'a> {
    pub(crate) key: &'a [u8],
    pub(crate) context: Context<'a>,
    pub(crate) payload: Payload<'a>,
    pub(crate) signature: &'a [u8],
}

impl<'a> Item<'a> {
    /// A signature over `message` under `context`. The key is encoded (`P::PK_LEN` bytes
    /// when well formed) or decoded.
    pub fn new(
        key: impl Into<PublicKeyBytes<'a>>,
        context: Context<'a>,
        message: impl Into<Message<'a>>,
        signature: &'a [u8],
    ) -> Self {
        Self {
            key: key.into().0,
            context,
            payload: message.into().into(),
            signature,
        }
    }

    /// A signature over a message representative, which contains key and context already:
    /// only for a `mu` that was computed locally.
    pub fn from_mu(key: impl Into<PublicKeyBytes<'a>>, mu: &'a Mu, signature: &'a [u8]) -> Self {
        Self {
            key: key.into().0,
            context: Context::EMPTY,
            payload: Payload::Mu(mu),
            signature,
        }
    }
}

/// An encoded public key, from bytes, an array or a [`VerifyingKey`].
#[derive(Clone, Copy, Debug)]
pub struct PublicKeyBytes<'a>(&'a [u8]);

impl<'a> From<&'a [u8]> for PublicKeyBytes<'a> {
    fn from(key: &'a [u8]) -> Self {
        Self(key)
    }
}

impl<'a> From<&'a Vec<u8>> for PublicKeyBytes<'a> {
    fn from(key: &'a Vec<u8>) -> Self {
        Self(key)
    }
}

impl<'a, const N: usize> From<&'a [u8; N]> for PublicKeyBytes<'a> {
    fn from(key: &'a [u8; N]) -> Self {
        Self(key)
    }
}

impl<'a, P: ParameterSet> From<&'a VerifyingKey<P>> for PublicKeyBytes<'a> {
    fn from(key: &'a VerifyingKey<P>) -> Self {
        Self(key.as_ref())
    }
}

/// A message in the forms the core accepts.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Payload<'a> {
    Bytes(&'a [u8]),
    Parts(&'a [&'a [u8]]),
    PreHashed(PreHash, &'a [u8]),
    Mu(&'a Mu),
}

impl<'a> From<Message<'a>> for Payload<'a> {
    fn from(message: Message<'a>) -> Self {
        match message {
            Message::Bytes(message) => Self::Bytes(message),
            Message::Parts(parts) => Self::Parts(parts),
            Message::PreHashed { hash, digest } => Self::PreHashed(hash, digest),
        }
    }
}
