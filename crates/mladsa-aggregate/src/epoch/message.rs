//! Messages between members, and evidence of equivocation.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use mldsa_core::{MlDsa87, Signature};

use crate::epoch::merkle::Node;
use crate::epoch::registry::Registry;
use crate::error::RoundError;
use crate::keys::member::{Member, is_signed};
use crate::member_id::MemberId;
use crate::wire::framing::{Reader, hash_lp, lp};
use crate::wire::task::AttemptId;

/// Content type of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MessageKind {
    /// An opening of a one-time key.
    Opening,
    /// The hash of a commitment.
    CommitmentHash,
    /// A commitment, revealed after the hashes of all commitments are known.
    Commitment,
    /// A response to a challenge.
    Response,
    /// The signers of an attempt, announced by its leader.
    Signers,
}

impl MessageKind {
    const ALL: [Self; 5] = [
        Self::Opening,
        Self::CommitmentHash,
        Self::Commitment,
        Self::Response,
        Self::Signers,
    ];

    /// Whether the step that uses a message of this kind also authenticates it.
    fn authenticates_itself(self) -> bool {
        matches!(self, Self::Opening | Self::Commitment | Self::Response)
    }

    fn code(self) -> u8 {
        match self {
            Self::Opening => 1,
            Self::CommitmentHash => 2,
            Self::Commitment => 3,
            Self::Response => 4,
            Self::Signers => 5,
        }
    }
}

/// Fields that all messages of one attempt have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Subject {
    pub(crate) epoch: u64,
    /// Digest of the list of roots.
    pub(crate) roots: Node,
    pub(crate) attempt: AttemptId,
}

/// A message of a member. It names sender, attempt, epoch, list of roots and what it answers.
/// Cheap to clone.
///
/// The signature of a value of this type is verified. Openings, commitments and responses need
/// none: the step that uses them verifies the Merkle path, the signed hash, or the response
/// against commitment and key. Without a signature they prove no fault of the named sender.
#[derive(Clone, PartialEq, Eq)]
pub struct SignedMessage(Arc<Content>);

#[derive(PartialEq, Eq)]
struct Content {
    kind: MessageKind,
    id: MemberId,
    subject: Subject,
    about: [u8; 64],
    body: Arc<[u8]>,
    signature: Option<Signature<MlDsa87>>,
}

const MESSAGE: &[u8; 8] = b"MLADSAM4";

impl SignedMessage {
    /// The content type.
    #[must_use]
    pub fn kind(&self) -> MessageKind {
        self.0.kind
    }

    /// The sender.
    #[must_use]
    pub fn id(&self) -> &MemberId {
        &self.0.id
    }

    /// The attempt.
    #[must_use]
    pub fn attempt_id(&self) -> &AttemptId {
        &self.0.subject.attempt
    }

    /// The value that the message answers: `mu` for the hash of a commitment, the digest of all
    /// hashes for a commitment, `c_tilde` for a response, zeros for an opening and
    /// for the signers of an attempt.
    #[must_use]
    pub fn about(&self) -> &[u8; 64] {
        &self.0.about
    }

    /// The encoded content.
    #[must_use]
    pub fn body(&self) -> &[u8] {
        &self.0.body
    }

    /// [`Self::body`], which a decoded value shares.
    pub(crate) fn shared_body(&self) -> &Arc<[u8]> {
        &self.0.body
    }

    pub(crate) fn subject(&self) -> &Subject {
        &self.0.subject
    }

    /// Whether the message has a signature.
    pub(crate) fn is_signed(&self) -> bool {
        self.0.signature.is_some()
    }

    /// The error for a wrong message: `fault` of the sender if it has signed the message.
    pub(crate) fn blame(&self, fault: RoundError) -> RoundError {
        if self.is_signed() {
            fault
        } else {
            RoundError::InvalidMessage
        }
    }

    /// Encodes as `"MLADSAM4" || kind || lp(id, C) || BE64(epoch) || roots || about || lp(body)`,
    /// followed by the signature if there is one.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = self.0.unsigned_bytes();
        if let Some(signature) = &self.0.signature {
            out.extend_from_slice(signature.as_bytes());
        }
        out
    }

    /// Decodes a message and verifies its signature.
    pub(crate) fn receive(bytes: &[u8], registry: &Registry) -> Result<Self, RoundError> {
        Unverified::from_bytes(bytes)?.verify(registry)
    }
}

impl Content {
    fn unsigned_bytes(&self) -> Vec<u8> {
        let mut out = MESSAGE.to_vec();
        out.push(self.kind.code());
        let attempt = self.subject.attempt.as_bytes();
        out.extend(lp(&[self.id.as_bytes(), attempt]));
        out.extend_from_slice(&self.subject.epoch.to_be_bytes());
        out.extend_from_slice(&self.subject.roots);
        out.extend_from_slice(&self.about);
        out.extend(lp(&[&self.body]));
        out
    }

    /// The signed value.
    fn digest(&self) -> [u8; 64] {
        hash_lp(&[], &[b"F.msg", &self.unsigned_bytes()])
    }
}

/// A decoded message whose signature is not verified.
pub(crate) struct Unverified(SignedMessage);

impl Unverified {
    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Self, RoundError> {
        let mut reader = Reader::new(bytes, MESSAGE)?;
        let [code] = reader.array()?;
        let mut kinds = MessageKind::ALL.into_iter();
        let content = Content {
            kind: kinds
                .find(|kind| kind.code() == code)
                .ok_or(RoundError::InvalidMessage)?,
            id: MemberId::new(reader.part()?)?,
            subject: {
                let attempt = AttemptId::from_bytes(reader.part()?)?;
                Subject {
                    epoch: u64::from_be_bytes(reader.array()?),
                    roots: reader.array()?,
                    attempt,
                }
            },
            about: reader.array()?,
            body: reader.part()?.into(),
            signature: match reader.is_empty() {
                true => None,
                false => Some(reader.signature()?),
            },
        };
        reader.end()?;
        Ok(Self(SignedMessage(Arc::new(content))))
    }

    /// Whether a verified message has the same bytes.
    pub(crate) fn is_copy_of(&self, verified: &SignedMessage) -> bool {
        self.0 == *verified
    }

    /// The content. Nothing in it is authenticated.
    pub(crate) fn content(&self) -> &SignedMessage {
        &self.0
    }

    /// Verifies the signature. A message without one must be of a kind that needs none.
    pub(crate) fn verify(self, registry: &Registry) -> Result<SignedMessage, RoundError> {
        let content = &*self.0.0;
        let key = registry.key(&content.id).ok_or(RoundError::UnknownMember)?;
        let valid = match &content.signature {
            Some(signature) => is_signed(key, b"F.msg", &content.digest(), signature.as_ref()),
            None => content.kind.authenticates_itself(),
        };
        valid.then_some(self.0).ok_or(RoundError::InvalidMessage)
    }

    /// [`Self::verify`] for a message that arrived from `peer` on an authenticated channel.
    pub(crate) fn verify_from(
        self,
        peer: &MemberId,
        registry: &Registry,
    ) -> Result<SignedMessage, RoundError> {
        if self.0.is_signed() || self.0.id() != peer {
            return self.verify(registry);
        }
        registry.key(peer).ok_or(RoundError::UnknownMember)?;
        Ok(self.0)
    }
}

impl fmt::Debug for SignedMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SignedMessage({:?} of {})", self.0.kind, self.0.id)
    }
}

impl Member {
    /// A message without a signature.
    pub(crate) fn message(
        &self,
        kind: MessageKind,
        subject: Subject,
        about: &[u8; 64],
        body: impl Into<Arc<[u8]>>,
    ) -> SignedMessage {
        SignedMessage(Arc::new(Content {
            kind,
            id: self.id,
            subject,
            about: *about,
            body: body.into(),
            signature: None,
        }))
    }

    /// Signs a message of this member deterministically, because a message that is sent again must
    /// have the same bytes. Verifies the signature before release, against faults.
    pub(crate) fn seal(&self, message: &SignedMessage) -> Result<SignedMessage, RoundError> {
        let Content {
            kind,
            subject,
            about,
            body,
            ..
        } = &*message.0;
        let mut content = Content {
            kind: *kind,
            id: self.id,
            subject: subject.clone(),
            about: *about,
            body: Arc::clone(body),
            signature: None,
        };
        let signature = self.sign_verified(b"F.msg", &content.digest());
        content.signature = Some(signature.ok_or(RoundError::Fault)?);
        Ok(SignedMessage(Arc::new(content)))
    }
}

/// Evidence of equivocation: two different messages that one member has signed where it may
/// sign one. Any holder of the registry can verify it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Equivocation {
    first: SignedMessage,
    second: SignedMessage,
}

const EQUIVOCATION: &[u8; 8] = b"MLADSAE1";

impl Equivocation {
    /// Evidence from two signed messages with the same sender, kind, epoch and attempt, but
    /// another body, another answer or another list of roots. `None` for other messages.
    #[must_use]
    pub fn new(first: &SignedMessage, second: &SignedMessage) -> Option<Self> {
        let (a, b) = (&*first.0, &*second.0);
        let conflict = first.is_signed()
            && second.is_signed()
            && a.kind == b.kind
            && a.id == b.id
            && a.subject.epoch == b.subject.epoch
            && a.subject.attempt == b.subject.attempt
            && (a.body != b.body || a.about != b.about || a.subject.roots != b.subject.roots);
        conflict.then(|| Self {
            first: first.clone(),
            second: second.clone(),
        })
    }

    /// The sender.
    #[must_use]
    pub fn id(&self) -> &MemberId {
        self.first.id()
    }

    /// Encodes as `"MLADSAE1" || lp(message, message)`.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = EQUIVOCATION.to_vec();
        out.extend(lp(&[&self.first.to_bytes(), &self.second.to_bytes()]));
        out
    }

    /// Decodes evidence and verifies both signatures.
    ///
    /// # Errors
    /// [`RoundError::Encoding`], [`RoundError::UnknownMember`], [`RoundError::InvalidMessage`],
    /// [`RoundError::NotConflicting`].
    pub fn from_bytes(bytes: &[u8], registry: &Registry) -> Result<Self, RoundError> {
        let mut reader = Reader::new(bytes, EQUIVOCATION)?;
        let first = SignedMessage::receive(reader.part()?, registry)?;
        let second = SignedMessage::receive(reader.part()?, registry)?;
        reader.end()?;
        Self::new(&first, &second).ok_or(RoundError::NotConflicting)
    }
}
