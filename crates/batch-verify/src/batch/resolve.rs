//! Checks that need neither hint nor hash, and the form in which an item is stored.

use mldsa_core::internals::Array;
use mldsa_core::{ParameterSet, PreHashed};

use crate::item::{Item, Signed};
use crate::{AcceleratorJob, AcceleratorMessage, Committee, Message, RejectReason, Vote};

/// An item after the checks that need neither hint nor hash. Made once for each item.
pub(crate) struct Resolved<'a, P: ParameterSet> {
    pub(crate) key: Key<'a, P>,
    pub(crate) signed: Signed<'a>,
    pub(crate) signature: &'a [u8],
}

pub(crate) enum Key<'a, P: ParameterSet> {
    /// The key at an index of a committee.
    Member(&'a Committee<P>, u32),
    /// A key that is passed with the item.
    Encoded(&'a P::PublicKeyBytes),
}

impl<'a, P: ParameterSet> Resolved<'a, P> {
    /// Resolves a vote by a member of one of `committees`.
    ///
    /// # Errors
    /// The first check that fails, in the order of [`RejectReason`].
    pub(crate) fn vote(
        committees: &'a [Committee<P>],
        vote: &Vote<'a>,
        allow_weak_prehash: bool,
    ) -> Result<Self, RejectReason> {
        let member = vote.member;
        let mut committees = committees.iter();
        let committee = committees.find(|committee| committee.contains(member));
        let committee = committee.ok_or(RejectReason::UnknownMember)?;
        let resolved = Self {
            key: Key::Member(committee, member.index()),
            signed: Signed::Message(committee.core_context(), vote.message),
            signature: vote.signature,
        };
        resolved.checked(allow_weak_prehash)
    }

    /// Resolves an item with a key of its own.
    ///
    /// # Errors
    /// As [`vote`](Self::vote).
    pub(crate) fn item(item: &Item<'a>, allow_weak_prehash: bool) -> Result<Self, RejectReason> {
        let key = P::PublicKeyBytes::from_slice(item.key).ok_or(RejectReason::PublicKeyLength)?;
        let resolved = Self {
            key: Key::Encoded(key),
            signed: item.signed,
            signature: item.signature,
        };
        resolved.checked(allow_weak_prehash)
    }

    fn checked(self, allow_weak_prehash: bool) -> Result<Self, RejectReason> {
        if self.signature.len() != P::SIG_LEN {
            return Err(RejectReason::SignatureLength);
        }
        if let Signed::Message(_, Message::PreHashed { hash, digest }) = self.signed {
            if allow_weak_prehash {
                PreHashed::<P>::new_allow_weak(hash, digest)?;
            } else {
                PreHashed::<P>::new(hash, digest)?;
            }
        }
        Ok(self)
    }

    /// Returns the sort key: key, then first bytes of the signature. The upper half is the index of
    /// a member, or with its highest bit set the first bytes of an encoded key.
    pub(crate) fn order(&self) -> u64 {
        let append = |head, byte: &u8| head << 8 | u32::from(*byte);
        let head = |bytes: &[u8]| bytes.iter().take(4).fold(0, append);
        let key = match self.key {
            Key::Member(_, index) => index,
            Key::Encoded(key) => 1 << 31 | head(key.as_ref()) >> 1,
        };
        u64::from(key) << 32 | u64::from(head(self.signature))
    }

    /// Returns everything that makes the item, for comparison.
    pub(crate) fn content(&self) -> ItemBytes<'a> {
        let (context, form, head, parts): (_, u8, &[u8], &[&[u8]]) = match self.signed {
            Signed::Mu(mu) => (None, 2, mu.as_bytes(), &[]),
            Signed::Message(context, message) => {
                let context = Some(context.as_bytes());
                match message {
                    Message::Bytes(message) => (context, 0, message, &[]),
                    Message::Parts(parts) => (context, 1, &[], parts),
                    Message::PreHashed { hash, digest } => (context, 3 + hash as u8, digest, &[]),
                }
            }
        };
        ItemBytes {
            key: match self.key {
                Key::Member(committee, index) => committee.table().key(index).as_bytes().as_ref(),
                Key::Encoded(key) => key.as_ref(),
            },
            signature: self.signature,
            context,
            form,
            head,
            parts,
        }
    }

    /// Converts the item for an accelerator, unless the CPU has to hash the message.
    pub(crate) fn accelerator_job(&self) -> Option<AcceleratorJob<'a>> {
        let message = match self.signed {
            Signed::Message(context, Message::Bytes(message)) => {
                AcceleratorMessage::Pure { context, message }
            }
            Signed::Mu(mu) => AcceleratorMessage::Mu(mu),
            Signed::Message(_, Message::Parts(_) | Message::PreHashed { .. }) => return None,
        };
        let (key, member): (&[u8], _) = match self.key {
            Key::Member(committee, index) => {
                let key = committee.table().key(index).as_bytes();
                (key.as_ref(), committee.member(index))
            }
            Key::Encoded(key) => (key.as_ref(), None),
        };
        Some(AcceleratorJob {
            key,
            member,
            message,
            signature: self.signature,
        })
    }
}

/// Content of an item; equal for duplicates only.
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct ItemBytes<'a> {
    key: &'a [u8],
    signature: &'a [u8],
    context: Option<&'a [u8]>,
    form: u8,
    head: &'a [u8],
    parts: &'a [&'a [u8]],
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `docs/validity.md` states the memory of a call: this, 16 bytes of the plan and a code.
    #[test]
    fn size_of_an_item() {
        assert_eq!(size_of::<Option<Resolved<'_, mldsa_core::MlDsa65>>>(), 72);
    }
}
