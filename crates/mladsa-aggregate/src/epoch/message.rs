//! Messages between members. Every one is signed and says whose it is, for which
//! content of which epoch, under which list of roots, and what it answers.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use mldsa_core::{Context, MlDsa87, ParameterSet, Randomness, Signature};

use crate::epoch::merkle::Hash;
use crate::epoch::registry::Registry;
use crate::error::Error;
use crate::keys::member::Member;
use crate::member_id::MemberId;
use crate::wire::framing::{Reader, hash_lp, lp};
use crate::wire::label::ContentLabel;

/// What a message carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// An [`Opening`](crate::Opening).
    Opening,
    /// A [`Commitment`](crate::Commitment).
    Commitment,
    /// A [`Response`](crate::Response).
    Response,
}

impl Part {
    const ALL: [Self; 3] = [Self::Opening, Self::Commitment, Self::Response];

    fn code(self) -> u8 {
        match self {
            Self::Opening => 1,
            Self::Commitment => 2,
            Self::Response => 3,
        }
    }
}

/// What all messages of one content have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Subject {
    pub(crate) epoch: u64,
    /// The digest of the list of roots.
    pub(crate) roots: Hash,
    pub(crate) label: ContentLabel,
}

/// A message whose signature was checked: made by a member's own steps and by
/// [`AgreedRoots::receive`](crate::AgreedRoots::receive). Cheap to clone.
#[derive(Clone, PartialEq, Eq)]
pub struct Message(Arc<Signed>);

#[derive(PartialEq, Eq)]
struct Signed {
    part: Part,
    id: MemberId,
    subject: Subject,
    about: [u8; 64],
    body: Vec<u8>,
    signature: Signature<MlDsa87>,
}

const MESSAGE: &[u8; 8] = b"MLADSAM2";

impl Message {
    /// What it carries.
    pub fn part(&self) -> Part {
        self.0.part
    }

    /// Its sender.
    pub fn id(&self) -> &MemberId {
        &self.0.id
    }

    /// The content, with the attempt.
    pub fn label(&self) -> &ContentLabel {
        &self.0.subject.label
    }

    /// What it answers: `mu` for a commitment, `c_tilde` for a response, zeros for
    /// an opening.
    pub fn about(&self) -> &[u8; 64] {
        &self.0.about
    }

    /// The encoding of what it carries.
    pub fn body(&self) -> &[u8] {
        &self.0.body
    }

    pub(crate) fn subject(&self) -> &Subject {
        &self.0.subject
    }

    /// `"MLADSAM2" || part || lp(id, C) || BE64(epoch) || roots || about || lp(body) ||
    /// signature`.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = self.0.signed_part();
        out.extend_from_slice(self.0.signature.as_bytes());
        out
    }

    /// Reads and checks a message.
    pub(crate) fn receive(bytes: &[u8], registry: &Registry) -> Result<Self, Error> {
        let mut reader = Reader::new(bytes, MESSAGE)?;
        let [code] = reader.array()?;
        let part = Part::ALL.into_iter().find(|part| part.code() == code);
        let part = part.ok_or(Error::BadLength)?;
        let id = MemberId::new(reader.part()?)?;
        let label = ContentLabel::from_bytes(reader.part()?)?;
        let subject = Subject {
            label,
            epoch: u64::from_be_bytes(reader.array()?),
            roots: reader.array()?,
        };
        let about = reader.array()?;
        let body = reader.part()?;
        let signature = reader.take(MlDsa87::SIG_LEN)?;
        reader.end()?;
        let key = registry.key(&id)?;
        let signed = Signed {
            part,
            id,
            subject,
            about,
            body: body.into(),
            signature: Signature::from_bytes(signature).map_err(|_| Error::BadMessage)?,
        };
        key.verify(&digest(&signed.signed_part()), context()?, signature)
            .map_err(|_| Error::BadMessage)?;
        Ok(Self(Arc::new(signed)))
    }
}

impl Signed {
    fn signed_part(&self) -> Vec<u8> {
        signed_part(self.part, &self.id, &self.subject, &self.about, &self.body)
    }
}

/// All of a message but its signature.
fn signed_part(
    part: Part,
    id: &MemberId,
    subject: &Subject,
    about: &[u8; 64],
    body: &[u8],
) -> Vec<u8> {
    let mut out = MESSAGE.to_vec();
    out.push(part.code());
    out.extend(lp(&[id.as_bytes(), subject.label.as_bytes()]));
    out.extend_from_slice(&subject.epoch.to_be_bytes());
    out.extend_from_slice(&subject.roots);
    out.extend_from_slice(about);
    out.extend(lp(&[body]));
    out
}

fn digest(signed_part: &[u8]) -> [u8; 64] {
    hash_lp(&[], &[b"F.msg", signed_part])
}

fn context() -> Result<Context<'static>, Error> {
    Context::new(b"F.msg").map_err(|_| Error::BadLength)
}

impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Message({:?} of {})", self.0.part, self.0.id)
    }
}

impl Member {
    /// Signs a message. Deterministically, because one that is sent again has to be
    /// the same one; so it is verified before it leaves, against faults.
    pub(crate) fn seal(
        &self,
        part: Part,
        subject: Subject,
        about: &[u8; 64],
        body: Vec<u8>,
    ) -> Result<Message, Error> {
        let key = self.registration_key.verifying_key();
        let digest = digest(&signed_part(part, &self.id, &subject, about, &body));
        let signature = self.sign(b"F.msg", &digest, Randomness::Deterministic)?;
        key.verify(&digest, context()?, signature.as_ref())
            .map_err(|_| Error::Fault)?;
        Ok(Message(Arc::new(Signed {
            part,
            id: self.id,
            subject,
            about: *about,
            body,
            signature,
        })))
    }
}

/// Two different messages that one member has signed where it may sign one. Anybody
/// with the registry can check it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Equivocation {
    first: Message,
    second: Message,
}

const EQUIVOCATION: &[u8; 8] = b"MLADSAE1";

impl Equivocation {
    /// The evidence that two messages are, if they are: same sender, part, epoch and
    /// content, but another body, another answer or another list of roots.
    pub fn new(first: &Message, second: &Message) -> Option<Self> {
        let same = |a: &Signed, b: &Signed| {
            a.part == b.part
                && a.id == b.id
                && a.subject.epoch == b.subject.epoch
                && a.subject.label == b.subject.label
        };
        let differ = |a: &Signed, b: &Signed| {
            a.body != b.body || a.about != b.about || a.subject.roots != b.subject.roots
        };
        (same(&first.0, &second.0) && differ(&first.0, &second.0)).then(|| Self {
            first: first.clone(),
            second: second.clone(),
        })
    }

    /// Who did it.
    pub fn id(&self) -> &MemberId {
        self.first.id()
    }

    /// `"MLADSAE1" || lp(message, message)`.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = EQUIVOCATION.to_vec();
        out.extend(lp(&[&self.first.to_bytes(), &self.second.to_bytes()]));
        out
    }

    /// Reads evidence and checks it: what comes back is proven.
    ///
    /// # Errors
    /// [`Error::BadLength`], [`Error::UnknownMember`], [`Error::BadMessage`];
    /// [`Error::CohortMismatch`] for two messages that do not contradict each other.
    pub fn from_bytes(bytes: &[u8], registry: &Registry) -> Result<Self, Error> {
        let mut reader = Reader::new(bytes, EQUIVOCATION)?;
        let first = Message::receive(reader.part()?, registry)?;
        let second = Message::receive(reader.part()?, registry)?;
        reader.end()?;
        Self::new(&first, &second).ok_or(Error::CohortMismatch)
    }
}
