//! Messages between members: every part says whose it is and what for.

use alloc::vec::Vec;

use crate::error::Error;
use crate::member_id::MemberId;
use crate::wire::framing::{Reader, lp};
use crate::wire::label::ContentLabel;

/// What a message carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// An [`Opening`](crate::Opening).
    Opening,
    /// A [`Commitment`](crate::Commitment).
    Commitment,
    /// A [`Response`](crate::Response).
    Response,
}

const ENVELOPE: &[u8; 8] = b"MLADSAM1";

impl Part {
    fn code(self) -> u8 {
        match self {
            Self::Opening => 1,
            Self::Commitment => 2,
            Self::Response => 3,
        }
    }

    /// `"MLADSAM1" || part || lp(id, C) || body`, to be sent over an authenticated
    /// channel: the envelope itself proves nothing.
    pub fn seal(self, id: &MemberId, label: &ContentLabel, body: &[u8]) -> Vec<u8> {
        let mut out = ENVELOPE.to_vec();
        out.push(self.code());
        out.extend(lp(&[id.as_bytes(), label.as_bytes()]));
        out.extend_from_slice(body);
        out
    }

    /// The body of a message that has to be this part, of this member, for this
    /// content and attempt.
    ///
    /// # Errors
    /// [`Error::BadLength`] for another form or part, [`Error::UnknownMember`] for
    /// another sender, [`Error::CohortMismatch`] for another content or attempt.
    pub fn open<'a>(
        self,
        id: &MemberId,
        label: &ContentLabel,
        message: &'a [u8],
    ) -> Result<&'a [u8], Error> {
        let mut reader = Reader::new(message, ENVELOPE)?;
        if reader.array()? != [self.code()] {
            return Err(Error::BadLength);
        }
        if reader.part()? != id.as_bytes() {
            return Err(Error::UnknownMember);
        }
        if reader.part()? != label.as_bytes() {
            return Err(Error::CohortMismatch);
        }
        Ok(reader.rest())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::label::BaseLabel;

    #[test]
    fn only_what_was_asked_for_opens() {
        let id = MemberId::new(b"a").unwrap();
        let label = BaseLabel::new(b"slot").unwrap().attempt(0).unwrap();
        let message = Part::Commitment.seal(&id, &label, b"body");
        assert_eq!(
            Part::Commitment.open(&id, &label, &message),
            Ok(&b"body"[..])
        );
        assert_eq!(
            Part::Response.open(&id, &label, &message),
            Err(Error::BadLength)
        );
        let other = MemberId::new(b"b").unwrap();
        assert_eq!(
            Part::Commitment.open(&other, &label, &message),
            Err(Error::UnknownMember)
        );
        let next = label.next().unwrap();
        assert_eq!(
            Part::Commitment.open(&id, &next, &message),
            Err(Error::CohortMismatch)
        );
        for len in 0..message.len() - 4 {
            assert!(Part::Commitment.open(&id, &label, &message[..len]).is_err());
        }
    }
}
