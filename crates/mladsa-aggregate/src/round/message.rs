//! Messages between members, and evidence of equivocation.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use mldsa_core::{MlDsa87, Signature};

use crate::committee::epoch::AttemptId;
use crate::committee::full::SigningCommittee;
use crate::committee::member::{Member, is_signed};
use crate::committee::merkle::Node;
use crate::committee::tree::Opening;
use crate::error::RoundError;
use crate::member_id::MemberName;
use crate::round::combine::Response;
use crate::round::commitment::Commitment;
use crate::wire::framing::{Reader, hash_lp, lp};

/// Content type of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MessageKind {
    /// An opening of a one-time key.
    Opening = 1,
    /// The signers of an attempt, announced by its leader. Signed.
    Signers = 2,
    /// The hash of a commitment. Signed.
    CommitmentHash = 3,
    /// A commitment, revealed after the hashes of all commitments are known.
    Commitment = 4,
    /// A response to a challenge.
    Response = 5,
    /// The kind and the senders of messages that the sender of the request asks for.
    Request = 6,
}

impl MessageKind {
    const ALL: [Self; 6] = [
        Self::Opening,
        Self::Signers,
        Self::CommitmentHash,
        Self::Commitment,
        Self::Response,
        Self::Request,
    ];

    /// Returns whether messages of this kind are signed. Openings, commitments and responses need
    /// no signature: the step that uses them verifies the Merkle path, the signed hash, or the
    /// response against commitment and key.
    fn is_signed(self) -> bool {
        matches!(self, Self::CommitmentHash | Self::Signers)
    }

    /// Returns whether messages of this kind answer a value: see [`Message::about`].
    fn is_answer(self) -> bool {
        matches!(
            self,
            Self::CommitmentHash | Self::Commitment | Self::Response
        )
    }

    /// Returns whether a body of this kind can have this length, in a committee of any size.
    fn admits(self, len: usize) -> bool {
        const MOST_OF_SET: usize = SigningCommittee::MAX_MEMBERS / 8 + 1;
        match self {
            Self::Opening => len <= Opening::MAX_LEN,
            Self::Signers => len <= MOST_OF_SET,
            Self::CommitmentHash => len == 64,
            Self::Commitment => len == Commitment::LEN,
            Self::Response => len == Response::LEN,
            Self::Request => len <= 1 + MOST_OF_SET,
        }
    }

    pub(crate) fn from_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| *kind as u8 == code)
    }
}

/// Fields that all messages of one attempt have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Subject {
    /// Identity of the committee.
    pub(crate) committee: Node,
    pub(crate) attempt: AttemptId,
}

/// A message of a member. It names sender, committee, attempt and what it answers. Cheap to clone.
///
/// The signature of a value of this type is verified, if its kind is signed. A message of another
/// kind proves no fault of the named sender.
#[derive(Clone, PartialEq, Eq)]
pub struct Message(Arc<Content>);

#[derive(PartialEq, Eq)]
struct Content {
    kind: MessageKind,
    id: MemberName,
    subject: Subject,
    about: [u8; 64],
    body: Arc<[u8]>,
    signature: Option<Signature<MlDsa87>>,
}

const MESSAGE: &[u8; 8] = b"MLADSAM5";

impl Message {
    /// Decodes a message and verifies its signature, if its kind is signed.
    ///
    /// # Errors
    /// [`RoundError::Encoding`], [`RoundError::UnknownMember`], [`RoundError::InvalidMessage`];
    /// [`RoundError::OtherRound`] for another committee.
    pub fn receive(bytes: &[u8], committee: &SigningCommittee) -> Result<Self, RoundError> {
        Unverified::from_bytes(bytes)?.verify(committee)
    }

    /// Returns the content type.
    pub fn kind(&self) -> MessageKind {
        self.0.kind
    }

    /// Returns the sender.
    pub fn id(&self) -> &MemberName {
        &self.0.id
    }

    /// Returns the attempt.
    #[doc(hidden)]
    pub fn attempt_id(&self) -> AttemptId {
        self.0.subject.attempt
    }

    /// Returns the value that the message answers: `mu` for the hash of a commitment, the digest of
    /// all hashes for a commitment, `c_tilde` for a response, zeros for other kinds.
    pub fn about(&self) -> &[u8; 64] {
        &self.0.about
    }

    /// Returns the encoded content.
    pub fn body(&self) -> &[u8] {
        &self.0.body
    }

    /// Returns [`Self::body`], which a decoded value shares.
    pub(crate) fn shared_body(&self) -> &Arc<[u8]> {
        &self.0.body
    }

    pub(crate) fn subject(&self) -> &Subject {
        &self.0.subject
    }

    /// Encodes as `"MLADSAM5" || kind || lp(id) || BE32(slot) || attempt || committee || about ||
    /// lp(body)`, followed by the signature if the kind is signed.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = self.0.unsigned_bytes();
        if let Some(signature) = &self.0.signature {
            out.extend_from_slice(signature.as_bytes());
        }
        out
    }
}

impl Content {
    fn unsigned_bytes(&self) -> Vec<u8> {
        let mut out = MESSAGE.to_vec();
        out.push(self.kind as u8);
        out.extend(lp(&[self.id.as_bytes()]));
        out.extend_from_slice(&self.subject.attempt.to_bytes());
        out.extend_from_slice(&self.subject.committee);
        out.extend_from_slice(&self.about);
        out.extend(lp(&[&self.body]));
        out
    }

    /// Returns the signed value.
    fn digest(&self) -> [u8; 64] {
        hash_lp(&[], &[b"F.msg", &self.unsigned_bytes()])
    }
}

/// A decoded message whose signature is not verified.
pub(crate) struct Unverified(Message);

impl Unverified {
    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Self, RoundError> {
        let mut reader = Reader::new(bytes, MESSAGE)?;
        let [code] = reader.array()?;
        let kind = MessageKind::from_code(code).ok_or(RoundError::InvalidMessage)?;
        let id = MemberName::new(reader.part()?)?;
        let attempt = AttemptId::read(&mut reader)?;
        let content = Content {
            kind,
            id,
            subject: Subject {
                committee: reader.array()?,
                attempt,
            },
            about: reader.array()?,
            body: reader.part()?.into(),
            signature: match kind.is_signed() {
                true => Some(reader.signature()?),
                false => None,
            },
        };
        reader.end()?;
        if !kind.admits(content.body.len()) {
            return Err(RoundError::InvalidMessage);
        }
        Ok(Self(Message(Arc::new(content))))
    }

    /// Returns whether a verified message has the same bytes.
    pub(crate) fn is_copy_of(&self, verified: &Message) -> bool {
        self.0 == *verified
    }

    /// Returns the content. Nothing in it is authenticated.
    pub(crate) fn content(&self) -> &Message {
        &self.0
    }

    /// Verifies committee and signature, and that a message that answers nothing names nothing:
    /// else anyone could change an opening.
    pub(crate) fn verify(self, committee: &SigningCommittee) -> Result<Message, RoundError> {
        let content = &*self.0.0;
        if content.subject.committee != *committee.identity() {
            return Err(RoundError::OtherRound);
        }
        let key = committee
            .key(&content.id)
            .ok_or(RoundError::UnknownMember)?;
        let signature = content.signature.as_ref();
        let valid = content.kind.is_answer() || content.about == [0; 64];
        let valid = valid
            && signature.is_none_or(|signature| {
                is_signed(key, b"F.msg", &content.digest(), signature.as_ref())
            });
        valid.then_some(self.0).ok_or(RoundError::InvalidMessage)
    }
}

impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Message({:?} of {})", self.0.kind, self.0.id)
    }
}

impl Member {
    /// Makes a message of this member. A signature is deterministic, because a message that is sent
    /// again must have the same bytes, and is verified before release, against faults.
    pub(crate) fn message(
        &self,
        kind: MessageKind,
        subject: &Subject,
        about: &[u8; 64],
        body: impl Into<Arc<[u8]>>,
    ) -> Result<Message, RoundError> {
        let mut content = Content {
            kind,
            id: self.id,
            subject: *subject,
            about: *about,
            body: body.into(),
            signature: None,
        };
        if kind.is_signed() {
            let signature = self.sign_verified(b"F.msg", &content.digest());
            content.signature = Some(signature.ok_or(RoundError::Fault)?);
        }
        Ok(Message(Arc::new(content)))
    }
}

/// Evidence of equivocation: two different messages that one member has signed where it may
/// sign one. Any holder of the committee can verify it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConflictingMessages {
    first: Message,
    second: Message,
}

const EQUIVOCATION: &[u8; 8] = b"MLADSAE3";

impl ConflictingMessages {
    /// Creates evidence from two signed messages with the same sender, kind, committee and attempt,
    /// but another body or another answer. `None` for other messages.
    #[doc(hidden)]
    pub fn new(first: &Message, second: &Message) -> Option<Self> {
        let (a, b) = (&*first.0, &*second.0);
        let conflict = a.signature.is_some()
            && a.kind == b.kind
            && a.id == b.id
            && a.subject == b.subject
            && (a.body != b.body || a.about != b.about);
        conflict.then(|| Self {
            first: first.clone(),
            second: second.clone(),
        })
    }

    /// Returns the sender.
    pub fn id(&self) -> &MemberName {
        self.first.id()
    }

    /// Returns the attempt.
    pub fn attempt_id(&self) -> AttemptId {
        self.first.attempt_id()
    }

    /// Encodes as `"MLADSAE3" || lp(message, message)`.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = EQUIVOCATION.to_vec();
        out.extend(lp(&[&self.first.to_bytes(), &self.second.to_bytes()]));
        out
    }

    /// Returns the sender and the attempt that evidence names. Nothing is verified.
    pub(crate) fn subject(bytes: &[u8]) -> Result<(MemberName, AttemptId), RoundError> {
        let mut reader = Reader::new(bytes, EQUIVOCATION)?;
        let first = Unverified::from_bytes(reader.part()?)?.0;
        Ok((*first.id(), first.attempt_id()))
    }

    /// Decodes evidence and verifies both signatures.
    ///
    /// # Errors
    /// [`RoundError::Encoding`], [`RoundError::UnknownMember`], [`RoundError::InvalidMessage`],
    /// [`RoundError::OtherRound`], [`RoundError::NotConflicting`].
    pub fn from_bytes(bytes: &[u8], committee: &SigningCommittee) -> Result<Self, RoundError> {
        let mut reader = Reader::new(bytes, EQUIVOCATION)?;
        let first = Message::receive(reader.part()?, committee)?;
        let second = Message::receive(reader.part()?, committee)?;
        reader.end()?;
        Self::new(&first, &second).ok_or(RoundError::NotConflicting)
    }
}
