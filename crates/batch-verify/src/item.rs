//! Signatures to verify, borrowed from the caller.

use mldsa_core::{Context, Mu, PreHash};

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
    /// [`allow_weak_prehash`](crate::VerifierBuilder::allow_weak_prehash) is on.
    PreHashed {
        /// The hash function.
        hash: PreHash,
        /// Its output (`hash.digest_len()` bytes when well formed).
        digest: &'a [u8],
    },
}

impl Message<'_> {
    /// Returns the number of bytes, of the digest if it is pre-hashed.
    pub(crate) fn len(&self) -> usize {
        let mut len = 0;
        self.pieces(|piece| len += piece.len());
        len
    }

    /// Passes the bytes, in order.
    pub(crate) fn pieces(&self, mut act: impl FnMut(&[u8])) {
        match self {
            Self::Bytes(message) => act(message),
            Self::Parts(parts) => parts.iter().for_each(|part| act(part)),
            Self::PreHashed { digest, .. } => act(digest),
        }
    }
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
    /// Makes a vote by `member`.
    pub fn new(member: MemberId, message: impl Into<Message<'a>>, signature: &'a [u8]) -> Self {
        Self {
            member,
            message: message.into(),
            signature,
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
    pub(crate) signed: Signed<'a>,
    pub(crate) signature: &'a [u8],
}

impl<'a> Item<'a> {
    /// Makes a signature over `message` under `context`. The key is encoded (`P::PK_LEN` bytes
    /// when well formed) or a [`VerifyingKey`](mldsa_core::VerifyingKey).
    pub fn new(
        key: &'a (impl AsRef<[u8]> + ?Sized),
        message: impl Into<Message<'a>>,
        context: Context<'a>,
        signature: &'a [u8],
    ) -> Self {
        Self {
            key: key.as_ref(),
            signed: Signed::Message(context, message.into()),
            signature,
        }
    }

    /// Makes a signature over a message representative, which contains key and context already:
    /// only for a `mu` that was computed locally.
    pub fn from_mu(key: &'a (impl AsRef<[u8]> + ?Sized), mu: &'a Mu, signature: &'a [u8]) -> Self {
        Self {
            key: key.as_ref(),
            signed: Signed::Mu(mu),
            signature,
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Signed<'a> {
    Message(Context<'a>, Message<'a>),
    Mu(&'a Mu),
}
