//! Items that own their bytes: to send, to store, to wait in a queue.

use mldsa_core::{Context, Mu, PreHash};

use crate::{Item, Message, Signer, SignerId, Subject, Vote};

/// An [`Item`] that owns its bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct OwnedItem {
    /// Whose signature it is.
    pub signer: OwnedSigner,
    /// What was signed.
    pub message: OwnedMessage,
    /// The context of this item; `None` takes the verifier's.
    pub context: Option<OwnedContext>,
    /// The encoded signature.
    #[cfg_attr(feature = "serde", serde(with = "text"))]
    pub signature: Vec<u8>,
}

/// A [`Signer`] that owns its bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum OwnedSigner {
    /// A member of the verifier's [`KeySet`](crate::KeySet).
    Id(SignerId),
    /// An encoded public key.
    Key(#[cfg_attr(feature = "serde", serde(with = "text"))] Vec<u8>),
}

/// A [`Message`] that owns its bytes, in one piece.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum OwnedMessage {
    /// The message.
    Bytes(#[cfg_attr(feature = "serde", serde(with = "text"))] Vec<u8>),
    /// The message representative; see [`Message::Mu`].
    Mu(Mu),
    /// HashML-DSA.
    PreHashed {
        /// The hash function.
        #[cfg_attr(feature = "serde", serde(with = "hash_name"))]
        hash: PreHash,
        /// Its output.
        #[cfg_attr(feature = "serde", serde(with = "text"))]
        digest: Vec<u8>,
    },
}

impl OwnedMessage {
    /// The message, borrowed.
    #[must_use]
    pub fn as_message(&self) -> Message<'_> {
        match self {
            Self::Bytes(message) => Message::Bytes(message),
            Self::Mu(mu) => Message::Mu(mu),
            Self::PreHashed { hash, digest } => Message::PreHashed {
                hash: *hash,
                digest,
            },
        }
    }
}

impl From<Message<'_>> for OwnedMessage {
    /// Copies the bytes; a message in parts becomes one piece, which is signed the
    /// same.
    fn from(message: Message<'_>) -> Self {
        match message {
            Message::Bytes(message) => Self::Bytes(message.to_vec()),
            Message::Parts(parts) => Self::Bytes(parts.concat()),
            Message::Mu(mu) => Self::Mu(*mu),
            Message::PreHashed { hash, digest } => Self::PreHashed {
                hash,
                digest: digest.to_vec(),
            },
        }
    }
}

/// A [`Subject`] that owns its bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct OwnedSubject {
    /// What was signed; not [`OwnedMessage::Mu`], which belongs to one key.
    pub message: OwnedMessage,
    /// Its context; `None` takes the verifier's.
    pub context: Option<OwnedContext>,
}

impl OwnedSubject {
    /// The subject, borrowed.
    #[must_use]
    pub fn as_subject(&self) -> Subject<'_> {
        let subject = Subject::new(self.message.as_message());
        match &self.context {
            Some(context) => subject.with_context(context.as_context()),
            None => subject,
        }
    }
}

impl From<Subject<'_>> for OwnedSubject {
    fn from(subject: Subject<'_>) -> Self {
        Self {
            message: subject.message.into(),
            context: subject.context.map(OwnedContext::from),
        }
    }
}

/// A [`Vote`] that owns its bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct OwnedVote {
    /// Who is said to have signed.
    pub signer: SignerId,
    /// The encoded signature.
    #[cfg_attr(feature = "serde", serde(with = "text"))]
    pub signature: Vec<u8>,
}

impl OwnedVote {
    /// The vote, borrowed.
    #[must_use]
    pub fn as_vote(&self) -> Vote<'_> {
        Vote::new(self.signer, &self.signature)
    }
}

impl From<Vote<'_>> for OwnedVote {
    fn from(vote: Vote<'_>) -> Self {
        Self {
            signer: vote.signer,
            signature: vote.signature.to_vec(),
        }
    }
}

/// A [`Context`] that owns its bytes: at most 255.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct OwnedContext(Vec<u8>);

impl OwnedContext {
    /// The context.
    #[must_use]
    pub fn as_context(&self) -> Context<'_> {
        // Made from one only, so it is never too long.
        Context::new(&self.0).unwrap_or(Context::EMPTY)
    }
}

impl From<Context<'_>> for OwnedContext {
    fn from(context: Context<'_>) -> Self {
        Self(context.as_bytes().to_vec())
    }
}

impl TryFrom<Vec<u8>> for OwnedContext {
    type Error = mldsa_core::ContextError;

    fn try_from(bytes: Vec<u8>) -> Result<Self, Self::Error> {
        Context::new(&bytes)?;
        Ok(Self(bytes))
    }
}

impl OwnedItem {
    /// The item, borrowed.
    #[must_use]
    pub fn as_item(&self) -> Item<'_> {
        let signer = match &self.signer {
            OwnedSigner::Id(id) => Signer::Id(*id),
            OwnedSigner::Key(key) => Signer::Key(key),
        };
        let item = Item::new(signer, self.message.as_message(), &self.signature);
        match &self.context {
            Some(context) => item.with_context(context.as_context()),
            None => item,
        }
    }

    /// Bytes of key, message, context and signature.
    #[must_use]
    pub fn len(&self) -> usize {
        self.as_item().bytes()
    }

    /// Gives back what its buffers hold in excess, so that [`len`](Self::len) is about
    /// what the item takes.
    pub(crate) fn trim(&mut self) {
        let key = match &mut self.signer {
            OwnedSigner::Id(_) => None,
            OwnedSigner::Key(key) => Some(key),
        };
        let message = match &mut self.message {
            OwnedMessage::Mu(_) => None,
            OwnedMessage::Bytes(bytes) | OwnedMessage::PreHashed { digest: bytes, .. } => {
                Some(bytes)
            }
        };
        let context = self.context.as_mut().map(|context| &mut context.0);
        let buffers = [key, message, context, Some(&mut self.signature)];
        for buffer in buffers.into_iter().flatten() {
            if buffer.capacity() > buffer.len() + buffer.len() / 8 {
                buffer.shrink_to_fit();
            }
        }
    }

    /// Whether there is not a single byte.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl From<Item<'_>> for OwnedItem {
    /// Copies the bytes; a message in parts becomes one piece, which is signed the
    /// same.
    fn from(item: Item<'_>) -> Self {
        Self {
            signer: match item.signer {
                Signer::Id(id) => OwnedSigner::Id(id),
                Signer::Key(key) => OwnedSigner::Key(key.to_vec()),
            },
            message: item.message.into(),
            context: item.context.map(OwnedContext::from),
            signature: item.signature.to_vec(),
        }
    }
}

#[cfg(feature = "serde")]
mod hash_name {
    use std::borrow::Cow;

    use mldsa_core::PreHash;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(hash: &PreHash, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(hash.name())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<PreHash, D::Error> {
        let name = Cow::<str>::deserialize(from)?;
        PreHash::from_name(&name).ok_or_else(|| D::Error::custom("an unknown hash"))
    }
}

/// Hex in formats for people, bytes in others.
#[cfg(feature = "serde")]
mod text {
    use std::borrow::Cow;

    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::OwnedContext;

    pub(super) fn serialize<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
        if to.is_human_readable() {
            to.serialize_str(&hex::encode(bytes))
        } else {
            bytes.serialize(to)
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
        if from.is_human_readable() {
            hex::decode(&*Cow::<str>::deserialize(from)?).map_err(D::Error::custom)
        } else {
            Vec::deserialize(from)
        }
    }

    impl Serialize for OwnedContext {
        fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
            serialize(&self.0, to)
        }
    }

    impl<'de> Deserialize<'de> for OwnedContext {
        fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
            Self::try_from(deserialize(from)?).map_err(D::Error::custom)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trimmed_buffers_hold_what_they_say() {
        let big = || {
            let mut bytes = Vec::with_capacity(1 << 20);
            bytes.extend([7; 100]);
            bytes
        };
        let mut item = OwnedItem {
            signer: OwnedSigner::Key(big()),
            message: OwnedMessage::Bytes(big()),
            context: Some(OwnedContext(big())),
            signature: big(),
        };
        let before = item.clone();
        item.trim();
        assert_eq!(item, before);
        let OwnedMessage::Bytes(message) = item.message else {
            unreachable!()
        };
        let OwnedSigner::Key(key) = item.signer else {
            unreachable!()
        };
        let context = item.context.unwrap().0;
        for buffer in [key, message, context, item.signature] {
            assert!(buffer.capacity() < 200);
        }
    }
}
