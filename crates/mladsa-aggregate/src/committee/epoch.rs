//! Parameters of an epoch, which are fixed before members register for it.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use crate::committee::merkle::depth;
use crate::error::{CommitteeError, EncodingError};
use crate::keys::label::Label;
use crate::keys::matrix::Matrix;
use crate::wire::framing::{Reader, hash_lp, lp};

/// Greatest number of attempts for each slot.
pub(crate) const MAX_ATTEMPTS: u8 = 64;

/// Parameters of an epoch, the same for all members: domain, number, slots and attempts. Each
/// slot is one decision, and each attempt at it has its own one-time key of every member.
///
/// The matrix A of all aggregate keys is expanded from a hash of the domain: 56 KiB.
pub struct Epoch {
    domain: Box<[u8]>,
    number: u64,
    slots: u32,
    attempts: u8,
    pub(crate) matrix: Matrix,
}

impl Epoch {
    /// Greatest number of one-time keys of a member: slots times attempts.
    pub const MAX_KEYS: u32 = 1 << 20;

    /// Returns the number of attempts that a slot needs in a committee of `n` members of equal
    /// weight of which f, fewer than a third, are faulty: each of them can end one attempt as its
    /// leader, one as a signer, and one more by the time of a message. 3 f + 4, which leaves three
    /// attempts for misses; at most 64, which is enough for f = 20.
    pub fn attempts_for(n: usize) -> u8 {
        let faulty = n.saturating_sub(1) / 3;
        u8::try_from(3 * faulty)
            .unwrap_or(u8::MAX)
            .saturating_add(4)
            .min(MAX_ATTEMPTS)
    }

    /// Creates the parameters of epoch `number` of a domain of 0 to 223 bytes, which is a part of
    /// the FIPS 204 context of every aggregate.
    ///
    /// # Errors
    /// [`EncodingError::Length`] for a longer domain; [`EncodingError::Range`] for no slots, no
    /// attempts, more than 64 attempts, or more than [`Self::MAX_KEYS`] keys.
    pub fn new(
        domain: &[u8],
        number: u64,
        slots: u32,
        attempts: u8,
    ) -> Result<Arc<Self>, EncodingError> {
        let rho = hash_lp(b"MLADSA rho", &[domain]);
        Self::with_rho(domain, number, slots, attempts, &rho)
    }

    pub(crate) fn with_rho(
        domain: &[u8],
        number: u64,
        slots: u32,
        attempts: u8,
        rho: &[u8; 32],
    ) -> Result<Arc<Self>, EncodingError> {
        if domain.len() > 223 {
            return Err(EncodingError::Length);
        }
        let keys = slots.checked_mul(u32::from(attempts));
        if !keys.is_some_and(|keys| (1..=Self::MAX_KEYS).contains(&keys)) || attempts > MAX_ATTEMPTS
        {
            return Err(EncodingError::Range);
        }
        Ok(Arc::new(Self {
            domain: domain.into(),
            number,
            slots,
            attempts,
            matrix: Matrix::expand(rho),
        }))
    }

    /// Returns the domain.
    pub fn domain(&self) -> &[u8] {
        &self.domain
    }

    /// Returns the number of the epoch.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Returns the number of slots, which are the decisions of the epoch.
    pub fn slots(&self) -> u32 {
        self.slots
    }

    /// Returns the number of attempts for each slot.
    pub fn attempts(&self) -> u8 {
        self.attempts
    }

    /// Returns the number of levels above the leaves of the tree of every member.
    pub(crate) fn depth(&self) -> usize {
        depth(self.slots as usize * usize::from(self.attempts))
    }

    /// Returns the position of an attempt in every tree.
    pub(crate) fn index(&self, attempt: AttemptId) -> Result<u32, CommitteeError> {
        if attempt.slot >= self.slots {
            return Err(CommitteeError::UnknownSlot);
        }
        if attempt.number >= self.attempts {
            return Err(CommitteeError::AttemptsExhausted);
        }
        Ok(attempt.slot * u32::from(self.attempts) + u32::from(attempt.number))
    }

    /// Returns all attempts in tree order.
    pub(crate) fn attempt_ids(&self) -> impl Iterator<Item = AttemptId> {
        let attempts = self.attempts;
        (0..self.slots)
            .flat_map(move |slot| (0..attempts).map(move |number| AttemptId { slot, number }))
    }

    /// Derives the label of a slot: `SHAKE256(lp("F.label", domain, BE64(epoch), BE64(slot),
    /// BE32(0)), 32)`.
    pub(crate) fn slot_label(&self, slot: u32) -> Label {
        let (epoch, slot) = (self.number.to_be_bytes(), u64::from(slot).to_be_bytes());
        let parts: [&[u8]; 5] = [b"F.label", &self.domain, &epoch, &slot, &[0; 4]];
        Label::new(&hash_lp::<32>(&[], &parts))
    }

    /// Derives the label of an attempt: the label of its slot and the attempt byte.
    pub(crate) fn label(&self, attempt: AttemptId) -> Label {
        self.slot_label(attempt.slot).with_attempt(attempt.number)
    }

    /// Encodes `lp(domain) || BE64(number) || BE32(slots) || attempts`.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut out = lp(&[&self.domain]);
        out.extend_from_slice(&self.number.to_be_bytes());
        out.extend_from_slice(&self.slots.to_be_bytes());
        out.push(self.attempts);
        out
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Arc<Self>, EncodingError> {
        let domain = reader.part()?;
        let number = u64::from_be_bytes(reader.array()?);
        let slots = u32::from_be_bytes(reader.array()?);
        let [attempts] = reader.array()?;
        Self::new(domain, number, slots, attempts)
    }
}

impl PartialEq for Epoch {
    fn eq(&self, other: &Self) -> bool {
        self.to_bytes() == other.to_bytes() && self.matrix.rho == other.matrix.rho
    }
}

impl Eq for Epoch {}

impl fmt::Debug for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Epoch({})", self.number)
    }
}

/// One attempt at a slot. Each has its own one-time key of every member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AttemptId {
    /// The slot: 0 to the number of slots of the epoch less one.
    pub slot: u32,
    /// The number of the attempt: 0 to 63.
    pub number: u8,
}

impl AttemptId {
    /// Encodes `BE32(slot) || number`.
    pub(crate) fn to_bytes(self) -> [u8; 5] {
        let [a, b, c, d] = self.slot.to_be_bytes();
        [a, b, c, d, self.number]
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, EncodingError> {
        let slot = u32::from_be_bytes(reader.array()?);
        match reader.array()? {
            [number @ 0..MAX_ATTEMPTS] => Ok(Self { slot, number }),
            _ => Err(EncodingError::Range),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_have_bounds() {
        let new = |domain: usize, slots, attempts| {
            Epoch::new(&[7; 300][..domain], 1, slots, attempts).map(drop)
        };
        assert_eq!(new(223, 1, 1), Ok(()));
        assert_eq!(new(224, 1, 1), Err(EncodingError::Length));
        for (slots, attempts) in [(0, 1), (1, 0), (1, 65), (u32::MAX, 2), (1 << 20, 2)] {
            assert_eq!(new(0, slots, attempts), Err(EncodingError::Range));
        }
        assert_eq!(new(0, 1 << 14, 64), Ok(()));
    }

    #[test]
    fn attempts_have_one_position() {
        let epoch = Epoch::new(b"", 1, 3, 4).unwrap();
        for (at, attempt) in (0..).zip(epoch.attempt_ids()) {
            assert_eq!(epoch.index(attempt), Ok(at));
        }
        let at = |slot, number| epoch.index(AttemptId { slot, number });
        assert_eq!(at(2, 3), Ok(11));
        assert_eq!(at(2, 4), Err(CommitteeError::AttemptsExhausted));
        assert_eq!(at(3, 0), Err(CommitteeError::UnknownSlot));
    }

    #[test]
    fn labels_differ_by_domain_epoch_slot_and_attempt() {
        let label = |domain: &[u8], epoch, slot, number| {
            let epoch = Epoch::new(domain, epoch, 9, 9).unwrap();
            epoch.label(AttemptId { slot, number }).as_bytes().to_vec()
        };
        let labels = [
            label(b"a", 1, 1, 1),
            label(b"b", 1, 1, 1),
            label(b"a", 2, 1, 1),
            label(b"a", 1, 2, 1),
            label(b"a", 1, 1, 2),
        ];
        for (i, one) in labels.iter().enumerate() {
            assert!(labels[..i].iter().all(|other| other != one));
        }
    }
}
