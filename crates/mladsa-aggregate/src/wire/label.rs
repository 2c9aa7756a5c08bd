//! Labels: the names of what is decided.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::error::Error;
use crate::member_id::MemberId;
use crate::wire::framing::hash_lp;

/// Attempts at one content: the attempt byte is 0 to 63.
pub const MAX_ATTEMPTS: u8 = 64;

impl MemberId {
    /// Checks the length.
    ///
    /// # Errors
    /// [`Error::BadLength`] outside 1 to 64 bytes.
    pub fn new(id: &[u8]) -> Result<Self, Error> {
        Self::from_slice(id).ok_or(Error::BadLength)
    }
}

/// What names a decision, 1 to 1,024 bytes. It must never come back with the
/// same master seed, in no other epoch, domain, registry or mode: everything
/// that makes it unique belongs inside.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BaseLabel(Box<[u8]>);

impl BaseLabel {
    /// Checks the length.
    ///
    /// # Errors
    /// [`Error::BadLength`] outside 1 to 1,024 bytes.
    pub fn new(label: &[u8]) -> Result<Self, Error> {
        if (1..=1024).contains(&label.len()) {
            Ok(Self(label.into()))
        } else {
            Err(Error::BadLength)
        }
    }

    /// The recommended label of a slot: 32 bytes that bind domain, epoch, slot
    /// and committee.
    pub fn slot(ctx: &[u8], epoch: u64, slot: u64, committee: u32) -> Self {
        let hash: [u8; 32] = hash_lp(
            &[],
            &[
                b"F.label",
                ctx,
                &epoch.to_be_bytes(),
                &slot.to_be_bytes(),
                &committee.to_be_bytes(),
            ],
        );
        Self(hash.into())
    }

    /// A label good for one message only: what base mode demands.
    #[cfg(any(test, feature = "transparent-commitments"))]
    pub fn bound(&self, ctx: &[u8], payload: &[u8], reg_root: &[u8; 32], epoch: u64) -> Self {
        let hash: [u8; 32] = hash_lp(
            &[],
            &[
                b"F.bound",
                &self.0,
                ctx,
                payload,
                reg_root,
                &epoch.to_be_bytes(),
            ],
        );
        Self(hash.into())
    }

    /// The content label of one attempt.
    ///
    /// # Errors
    /// [`Error::AttemptsExhausted`] above 63.
    pub fn attempt(&self, attempt: u8) -> Result<ContentLabel, Error> {
        if attempt >= MAX_ATTEMPTS {
            return Err(Error::AttemptsExhausted);
        }
        let mut bytes = Vec::with_capacity(self.0.len() + 1);
        bytes.extend_from_slice(&self.0);
        bytes.push(attempt);
        Ok(ContentLabel(bytes.into()))
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

/// A base label with its attempt byte: what one content key belongs to. Cheap to
/// clone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContentLabel(Arc<[u8]>);

impl ContentLabel {
    /// Reads a label as it travels.
    ///
    /// # Errors
    /// [`Error::BadLength`], [`Error::AttemptsExhausted`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let (&attempt, base) = bytes.split_last().ok_or(Error::BadLength)?;
        BaseLabel::new(base)?.attempt(attempt)
    }

    /// The label without its attempt byte.
    pub fn base(&self) -> &[u8] {
        self.0.split_last().map_or(&[], |(_, base)| base)
    }

    /// The attempt, 0 to 63.
    pub fn attempt(&self) -> u8 {
        self.0.last().copied().unwrap_or(0)
    }

    /// The label of the next attempt.
    ///
    /// # Errors
    /// [`Error::AttemptsExhausted`] after 63.
    pub fn next(&self) -> Result<Self, Error> {
        BaseLabel(self.base().into()).attempt(self.attempt() + 1)
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_and_order() {
        assert_eq!(MemberId::new(b""), Err(Error::BadLength));
        assert_eq!(MemberId::new(&[1; 65]), Err(Error::BadLength));
        assert!(MemberId::new(&[1; 64]).is_ok());
        let mut ids =
            [&b"b"[..], b"a\xff", b"ab", b"a", b"a\x00"].map(|id| MemberId::new(id).unwrap());
        ids.sort();
        assert_eq!(
            ids.map(|id| id.as_bytes().to_vec()),
            [&b"a"[..], b"a\x00", b"ab", b"a\xff", b"b"].map(<[u8]>::to_vec)
        );
        assert_eq!(BaseLabel::new(b""), Err(Error::BadLength));
        assert_eq!(BaseLabel::new(&[0; 1025]), Err(Error::BadLength));
        let label = BaseLabel::new(&[7; 1024]).unwrap();
        assert_eq!(label.attempt(64), Err(Error::AttemptsExhausted));
        let last = label.attempt(63).unwrap();
        assert_eq!(last.next(), Err(Error::AttemptsExhausted));
        assert_eq!(ContentLabel::from_bytes(last.as_bytes()), Ok(last));
        assert_eq!(
            ContentLabel::from_bytes(b"a\x40"),
            Err(Error::AttemptsExhausted)
        );
        assert_eq!(ContentLabel::from_bytes(b"\x00"), Err(Error::BadLength));
        let next = label.attempt(0).unwrap().next().unwrap();
        assert_eq!((next.base(), next.attempt()), (label.as_bytes(), 1));
    }
}
