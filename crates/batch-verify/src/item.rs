//! What goes into a batch: borrowed, `Copy`, the same for every parameter set.

use mldsa_core::{Context, Mu, ParameterSet, PreHash, VerifyingKey};

use crate::SignerId;

/// One signature to check, borrowed from the caller.
///
/// ```
/// use batch_verify::{BatchVerifier, Item, KeySet};
/// use mldsa_core::{Context, MlDsa44, SigningKey};
///
/// let key = SigningKey::<MlDsa44>::from_seed(&[1; 32]);
/// let public = key.verifying_key();
/// let signature = key.sign_hedged(b"vote", Context::EMPTY)?;
/// let keys = KeySet::<MlDsa44>::from_public_keys([public])?;
/// let engine = BatchVerifier::builder().keys(keys).build()?;
///
/// // Keys are numbers in the set, or public keys that come along, decoded or not.
/// let report = engine.verify(&[
///     Item::new(0, b"vote", signature.as_ref()),
///     Item::new(public, b"vote", signature.as_ref()),
///     Item::new(public.as_bytes(), b"vote", signature.as_ref()),
///     Item::new(0, b"another", signature.as_ref()),
/// ]);
/// assert_eq!(report.first_invalid().map(|(index, _)| index), Some(3));
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Item<'a> {
    /// Whose signature it is.
    pub signer: Signer<'a>,
    /// What was signed.
    pub message: Message<'a>,
    /// The encoded signature (`P::SIG_LEN` bytes when well formed).
    pub signature: &'a [u8],
    /// The context of this item; `None` takes the verifier's.
    pub context: Option<Context<'a>>,
}

impl<'a> Item<'a> {
    /// An item under the verifier's context.
    pub fn new(
        signer: impl Into<Signer<'a>>,
        message: impl Into<Message<'a>>,
        signature: &'a [u8],
    ) -> Self {
        Self {
            signer: signer.into(),
            message: message.into(),
            signature,
            context: None,
        }
    }

    /// The same item under its own context instead of the verifier's.
    #[must_use]
    pub fn with_context(self, context: Context<'a>) -> Self {
        Self {
            context: Some(context),
            ..self
        }
    }

    /// Bytes of key, message, context and signature.
    pub(crate) fn bytes(&self) -> usize {
        let key = match self.signer {
            Signer::Id(_) => 0,
            Signer::Key(key) => key.len(),
        };
        let message = match self.message {
            Message::Bytes(message) => message.len(),
            // Pieces may be the same memory many times.
            Message::Parts(parts) => parts
                .iter()
                .fold(0, |sum: usize, part| sum.saturating_add(part.len())),
            Message::Mu(mu) => mu.as_bytes().len(),
            Message::PreHashed { digest, .. } => digest.len(),
        };
        let context = self.context.map_or(0, |context| context.as_bytes().len());
        message.saturating_add(key + context + self.signature.len())
    }
}

/// Who is said to have signed.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Signer<'a> {
    /// A member of the verifier's [`KeySet`](crate::KeySet).
    Id(SignerId),
    /// An encoded public key (`P::PK_LEN` bytes when well formed) that need
    /// not be in any set.
    Key(&'a [u8]),
}

impl From<SignerId> for Signer<'_> {
    fn from(id: SignerId) -> Self {
        Self::Id(id)
    }
}

impl From<u32> for Signer<'_> {
    fn from(index: u32) -> Self {
        Self::Id(SignerId::new(index))
    }
}

impl<'a> From<&'a [u8]> for Signer<'a> {
    fn from(key: &'a [u8]) -> Self {
        Self::Key(key)
    }
}

impl<'a, const N: usize> From<&'a [u8; N]> for Signer<'a> {
    fn from(key: &'a [u8; N]) -> Self {
        Self::Key(key)
    }
}

impl<'a, P: ParameterSet> From<&'a VerifyingKey<P>> for Signer<'a> {
    fn from(key: &'a VerifyingKey<P>) -> Self {
        Self::Key(key.as_ref())
    }
}

/// What was signed, in any form FIPS 204 knows.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Message<'a> {
    /// The message in one piece.
    Bytes(&'a [u8]),
    /// The message in pieces; equal to `Bytes` of their concatenation.
    Parts(&'a [&'a [u8]]),
    /// The message representative, computed beforehand. It already contains a
    /// context and a public key, so the contexts of the item and of the
    /// verifier are **not** applied: only for a `mu` that was computed locally.
    Mu(&'a Mu),
    /// HashML-DSA: the digest of the message under `hash`. Pairs of hash and
    /// parameter set that are too weak are refused unless
    /// [`allow_weak_prehash`](crate::Builder::allow_weak_prehash) is on.
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

impl<'a> From<&'a Mu> for Message<'a> {
    fn from(mu: &'a Mu) -> Self {
        Self::Mu(mu)
    }
}
