//! Signed notes (c2sp.org/signed-note).

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use sha2::{Digest, Sha256};

use crate::error::Error;
use crate::message::Cosignature;

/// The most bytes of a note, a policy, a proof or a request: 300 cosignatures of ML-DSA-44.
pub const MAX_BYTES: usize = 1_000_000;

/// The most signatures of a note.
pub const MAX_SIGNATURES: usize = 100;

/// The type of ML-DSA-44 cosignatures.
pub(crate) const TYPE: u8 = 6;

const DASH: &str = "\u{2014} ";

/// A text and its signatures. Nothing in it is verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Note<'a> {
    text: &'a str,
    lines: &'a str,
}

impl<'a> Note<'a> {
    /// Parses a note. Text is what precedes the last empty line.
    ///
    /// # Errors
    /// [`Error::TooLarge`] above [`MAX_BYTES`] or [`MAX_SIGNATURES`], and [`Error::Malformed`].
    pub fn parse(note: &'a [u8]) -> Result<Self, Error> {
        let malformed = Error::Malformed("note");
        if note.len() > MAX_BYTES {
            return Err(Error::TooLarge);
        }
        let note = core::str::from_utf8(note).map_err(|_| malformed)?;
        // Without an early exit the compiler looks at many bytes at a time.
        let control = |byte| byte < b' ' && byte != b'\n';
        if note.bytes().fold(false, |any, byte| any | control(byte)) {
            return Err(malformed);
        }
        let (text, lines) = split(note).ok_or(malformed)?;
        if lines.is_empty() {
            return Err(malformed);
        }
        check_lines(lines)?;
        Ok(Self { text, lines })
    }

    /// Returns the text, with its last newline.
    #[must_use]
    pub fn text(&self) -> &'a str {
        self.text
    }

    /// Returns the lines with signatures.
    pub fn signatures(&self) -> impl Iterator<Item = SignatureLine<'a>> + use<'a> {
        signatures(self.lines)
    }

    /// Returns the first signature of a key. Further ones are never looked at, so that a note
    /// costs at most one verification for each known key.
    #[must_use]
    pub fn signature_of(&self, name: &str, id: [u8; 4]) -> Option<SignatureLine<'a>> {
        self.signatures()
            .find(|line| line.name == name && line.id == id)
    }
}

/// Splits a note at its last empty line.
fn split(note: &str) -> Option<(&str, &str)> {
    let mut end = note.len();
    loop {
        let at = note[..end].rfind('\n')?;
        if note[at + 1..].starts_with('\n') {
            return Some((&note[..at + 1], &note[at + 2..]));
        }
        end = at;
    }
}

/// Checks lines with signatures, of which there may be none.
pub(crate) fn check_lines(lines: &str) -> Result<(), Error> {
    let malformed = Error::Malformed("signature line");
    if lines.is_empty() {
        return Ok(());
    }
    for (n, line) in lines
        .strip_suffix('\n')
        .ok_or(malformed)?
        .split('\n')
        .enumerate()
    {
        if n == MAX_SIGNATURES {
            return Err(Error::TooLarge);
        }
        SignatureLine::parse(line)
            .filter(SignatureLine::is_valid)
            .ok_or(malformed)?;
    }
    Ok(())
}

/// Returns the signatures of lines that have been checked.
pub(crate) fn signatures(lines: &str) -> impl Iterator<Item = SignatureLine<'_>> + use<'_> {
    lines.lines().filter_map(SignatureLine::parse)
}

/// A line of a note: the name and the ID of a key, and a signature of any algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignatureLine<'a> {
    /// The name of the key.
    pub name: &'a str,
    /// The ID of the key.
    pub id: [u8; 4],
    /// ID and signature in base64.
    encoded: &'a str,
}

impl<'a> SignatureLine<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let (name, encoded) = line.strip_prefix(DASH)?.split_once(' ')?;
        let mut start = [0; 6];
        // The ID has four bytes, and a signature at least one.
        let len = BASE64.decode_slice(encoded.get(..8)?, &mut start).ok()?;
        let id = *start.first_chunk()?;
        (len > 4).then_some(Self { name, id, encoded })
    }

    /// Returns whether the name may be one, and everything else is base64, whoever signed it.
    fn is_valid(&self) -> bool {
        let mut bytes = [0; 1536];
        let mut chunks = self.encoded.as_bytes().chunks(2048).peekable();
        while let Some(chunk) = chunks.next() {
            let decoded = BASE64.decode_slice(chunk, &mut bytes);
            // Padding ends it.
            if decoded.is_err() || (chunks.peek().is_some() && decoded != Ok(bytes.len())) {
                return false;
            }
        }
        is_name(self.name)
    }

    /// Returns ID and signature in base64, for a device without room for a [`Cosignature`].
    #[must_use]
    pub fn encoded(&self) -> &'a str {
        self.encoded
    }

    /// Returns time and signature of an ML-DSA-44 cosignature.
    ///
    /// # Errors
    /// [`Error::Malformed`] for a signature of another length.
    pub fn cosignature(&self) -> Result<Cosignature, Error> {
        let mut bytes = [0; 4 + Cosignature::LEN];
        let len = BASE64.decode_slice(self.encoded, &mut bytes);
        if len != Ok(bytes.len()) {
            return Err(Error::Malformed("cosignature"));
        }
        Cosignature::from_bytes(&bytes[4..])
    }
}

/// Returns the ID of an ML-DSA-44 key, of its name and its 1312 bytes.
#[must_use]
pub fn key_id(name: &str, key: &[u8; 1312]) -> [u8; 4] {
    id_of(name, TYPE, key)
}

pub(crate) fn id_of(name: &str, kind: u8, key: &[u8]) -> [u8; 4] {
    let hash = Sha256::new()
        .chain_update(name)
        .chain_update([b'\n', kind])
        .chain_update(key)
        .finalize();
    core::array::from_fn(|at| hash[at])
}

/// Returns whether a key may have this name: it is not empty, and has neither spaces nor `+`.
pub(crate) fn is_name(name: &str) -> bool {
    !name.is_empty()
        && !name.contains(|character: char| character.is_whitespace() || character == '+')
}
