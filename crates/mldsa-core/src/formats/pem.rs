//! PEM (RFC 7468): one reader for keys, with the grammar that the RFC calls lax.
//!
//! A text contains one object, from a BEGIN line to its END line. Accepted around it: a byte
//! order mark, other text before and after it. Accepted inside: lines of any width, blank lines,
//! indentation, white space at ends of lines, LF, CR LF or CR, and all of it in one line. Labels
//! are compared exactly, and the base64 is canonical.

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use base64ct::{Base64, Encoding};
use zeroize::Zeroizing;

use crate::error::KeyError;
use crate::keys::{SigningKey, VerifyingKey};
use crate::params::ParameterSet;

/// Reason why a PEM text was rejected. Lines and columns count from 1, columns in bytes. No
/// variant holds a part of the key. Exhaustive, so that every interface names each reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PemError {
    /// No line begins with `-----BEGIN `.
    Missing,
    /// A second object begins in this line.
    Several {
        /// Line of the second BEGIN.
        line: usize,
    },
    /// A BEGIN or END line is malformed.
    Boundary {
        /// Its line.
        line: usize,
    },
    /// The object has another label than the wanted ones.
    Label {
        /// The label: printable ASCII, cut after 64 characters.
        found: String,
        /// The labels that were accepted.
        wanted: &'static [&'static str],
    },
    /// The END line is missing.
    End,
    /// The END line has another label than the BEGIN line.
    EndLabel {
        /// Line of the END.
        line: usize,
    },
    /// The object has headers, as OpenSSL's old encrypted keys do.
    Headers,
    /// A character is no base64.
    Base64 {
        /// Line of the character.
        line: usize,
        /// Column of the character.
        column: usize,
    },
    /// The base64 ends early, is padded wrongly, or sets bits beyond its last byte.
    Padding,
    /// The content is not such a key.
    Content(KeyError),
}

impl fmt::Display for PemError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("PEM without a line -----BEGIN LABEL-----"),
            Self::Several { line } => {
                write!(
                    f,
                    "PEM with more than one object: another begins in line {line}"
                )
            }
            Self::Boundary { line } => write!(f, "PEM with a malformed boundary in line {line}"),
            Self::Label { found, wanted } => {
                write!(f, "PEM of {found}, not of {}", wanted.join(", "))
            }
            Self::End => f.write_str("PEM without its END line"),
            Self::EndLabel { line } => {
                write!(
                    f,
                    "PEM whose END in line {line} has another label than its BEGIN"
                )
            }
            Self::Headers => f.write_str("PEM with headers, an old form of encrypted keys"),
            Self::Base64 { line, column } => {
                write!(
                    f,
                    "PEM with a bad base64 character in line {line}, column {column}"
                )
            }
            Self::Padding => f.write_str("PEM whose base64 is cut off or has wrong padding"),
            Self::Content(error) => write!(f, "PEM: {error}"),
        }
    }
}

impl core::error::Error for PemError {}

const BEGIN: &[u8] = b"-----BEGIN";
const END: &[u8] = b"-----END";
const DASHES: &[u8] = b"-----";
const MARK: &[u8] = b"\xef\xbb\xbf";

/// The encapsulated object of a text, still in base64.
struct Object<'t> {
    label: &'t str,
    /// The bytes between the boundaries.
    body: &'t [u8],
    /// Where the body begins in the text.
    at: usize,
}

/// Decodes the one object of a text, which must have one of the labels `wanted`. Returns its
/// label and its content, which is wiped on drop. Constant time in the content of a well-formed
/// text.
///
/// # Errors
/// Every [`PemError`] except [`PemError::Content`].
pub fn decode_pem<'t>(
    text: &'t [u8],
    wanted: &'static [&'static str],
) -> Result<(&'t str, Zeroizing<Vec<u8>>), PemError> {
    let object = find_object(text, wanted)?;
    // Allocated at once: a vector that grows leaves unwiped copies.
    let mut characters = Zeroizing::new(Vec::with_capacity(object.body.len()));
    characters.extend(object.body.iter().filter(|byte| !is_space(**byte)));
    let mut content = Zeroizing::new(vec![0; characters.len() / 4 * 3]);
    let len = match Base64::decode(&characters, &mut content) {
        Ok(decoded) if !decoded.is_empty() => decoded.len(),
        _ => return Err(explain(text, &object)),
    };
    content.truncate(len);
    Ok((object.label, content))
}

/// Finds the only object of a text and checks its boundaries.
fn find_object<'t>(
    text: &'t [u8],
    wanted: &'static [&'static str],
) -> Result<Object<'t>, PemError> {
    let begin = next_begin(text, start_of(text), false).ok_or(PemError::Missing)?;
    let line = line_of(text, begin);
    let (label, at) = boundary(text, begin + BEGIN.len()).ok_or(PemError::Boundary { line })?;
    if !wanted.contains(&label) {
        let found = label.chars().take(64).collect();
        return Err(PemError::Label { found, wanted });
    }
    let body = text[at..].trim_ascii_start();
    let mut first = (0..body.len()).take_while(|&n| {
        let is_end = matches!(body[n], b'\n' | b'\r') || body[n..].starts_with(DASHES);
        !is_end
    });
    if first.any(|n| body[n] == b':') {
        return Err(PemError::Headers);
    }
    let dash = text[at..].iter().position(|byte| *byte == b'-');
    let dash = at + dash.ok_or(PemError::End)?;
    let rest = &text[dash..];
    if rest.starts_with(BEGIN) || END.starts_with(rest.trim_ascii_end()) {
        return Err(PemError::End);
    }
    if !rest.starts_with(END) {
        return Err(base64_error(text, dash));
    }
    let line = line_of(text, dash);
    let (end_label, end) = boundary(text, dash + END.len()).ok_or(PemError::Boundary { line })?;
    if end_label != label {
        return Err(PemError::EndLabel { line });
    }
    let after = text[end..]
        .iter()
        .find(|byte| !matches!(byte, b' ' | b'\t'));
    if after.is_some_and(|byte| !is_space(*byte)) {
        return Err(PemError::Boundary { line });
    }
    if let Some(second) = next_begin(text, end, true) {
        let line = line_of(text, second);
        return Err(PemError::Several { line });
    }
    let body = &text[at..dash];
    Ok(Object { label, body, at })
}

/// Returns whether the byte is white space of RFC 7468: no character of base64 is.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

/// Returns where the text begins after its byte order mark.
fn start_of(text: &[u8]) -> usize {
    if text.starts_with(MARK) {
        MARK.len()
    } else {
        0
    }
}

/// Finds the next BEGIN at the beginning of a line, after white space. `in_line` tells whether
/// other characters of its line are before `from`.
fn next_begin(text: &[u8], from: usize, mut in_line: bool) -> Option<usize> {
    (from..text.len()).find(|&at| {
        let found = !in_line && text[at..].starts_with(BEGIN);
        in_line = match text[at] {
            b'\n' | b'\r' => false,
            byte => in_line || !is_space(byte),
        };
        found
    })
}

/// Parses the rest of a boundary, ` LABEL-----`. Returns the label and where the boundary ends.
fn boundary(text: &[u8], at: usize) -> Option<(&str, usize)> {
    let rest = text[at..].strip_prefix(b" ")?;
    let len = rest
        .windows(DASHES.len())
        .position(|window| window == DASHES)?;
    let label = core::str::from_utf8(&rest[..len]).ok()?;
    // Printable characters; a hyphen or a space only between others.
    let mut parts = label.split([' ', '-']);
    let well_formed =
        parts.all(|part| !part.is_empty() && part.bytes().all(|c| c.is_ascii_graphic()));
    well_formed.then_some((label, at + 1 + len + DASHES.len()))
}

/// Finds the fault of a body that does not decode.
fn explain(text: &[u8], object: &Object<'_>) -> PemError {
    let is_base64 = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    let mut padding = 0;
    for (n, &byte) in object.body.iter().enumerate() {
        match byte {
            byte if is_space(byte) => {}
            b'=' if padding < 2 => padding += 1,
            byte if is_base64(byte) && padding == 0 => {}
            _ => return base64_error(text, object.at + n),
        }
    }
    PemError::Padding
}

fn base64_error(text: &[u8], at: usize) -> PemError {
    let start = line_start(text, at);
    PemError::Base64 {
        line: line_of(text, at),
        column: at - start + 1,
    }
}

/// Returns where the line that contains `at` begins. A byte order mark belongs to no line.
fn line_start(text: &[u8], at: usize) -> usize {
    let end = text[..at]
        .iter()
        .rposition(|byte| matches!(byte, b'\n' | b'\r'));
    end.map_or(start_of(text), |end| end + 1)
}

/// Counts the lines up to the one that contains `at`. CR LF is one end of line.
fn line_of(text: &[u8], at: usize) -> usize {
    let ends = text[..at].iter().enumerate();
    1 + ends
        .filter(|&(n, &byte)| byte == b'\n' || (byte == b'\r' && text.get(n + 1) != Some(&b'\n')))
        .count()
}

/// The label of public keys.
const PUBLIC: &[&str] = &["PUBLIC KEY"];
/// The label of private keys that are not encrypted.
const PRIVATE: &[&str] = &["PRIVATE KEY"];

/// Reads the one object of a text, which has the label `wanted`.
fn read<T>(
    text: &[u8],
    wanted: &'static [&'static str],
    from_der: impl FnOnce(&[u8]) -> Result<T, KeyError>,
) -> Result<T, PemError> {
    let (_, der) = decode_pem(text, wanted)?;
    from_der(&der).map_err(PemError::Content)
}

impl<P: ParameterSet> VerifyingKey<P> {
    /// Reads a public key from PEM with the label `PUBLIC KEY`: the text has this one object, in
    /// the lax grammar of RFC 7468. The trait's function of this name, which generic code calls,
    /// accepts the strict grammar only.
    ///
    /// # Errors
    /// Every [`PemError`].
    pub fn from_public_key_pem(text: impl AsRef<[u8]>) -> Result<Self, PemError> {
        read(text.as_ref(), PUBLIC, Self::from_spki)
    }
}

impl<P: ParameterSet> SigningKey<P> {
    /// Reads a private key from PEM with the label `PRIVATE KEY`: the text has this one object,
    /// in the lax grammar of RFC 7468. The trait's function of this name, which generic code
    /// calls, accepts the strict grammar only.
    ///
    /// # Errors
    /// Every [`PemError`].
    pub fn from_pkcs8_pem(text: impl AsRef<[u8]>) -> Result<Self, PemError> {
        read(text.as_ref(), PRIVATE, Self::from_pkcs8_der)
    }
}

#[cfg(all(feature = "ml-dsa-44", feature = "ml-dsa-65", feature = "ml-dsa-87"))]
impl crate::keys::AnyVerifyingKey {
    /// Reads a public key from PEM as [`VerifyingKey::from_public_key_pem`] does. The object
    /// identifier tells the set.
    ///
    /// # Errors
    /// Every [`PemError`].
    pub fn from_public_key_pem(text: impl AsRef<[u8]>) -> Result<Self, PemError> {
        read(text.as_ref(), PUBLIC, Self::from_public_key_der)
    }
}

#[cfg(all(feature = "ml-dsa-44", feature = "ml-dsa-65", feature = "ml-dsa-87"))]
impl crate::keys::AnySigningKey {
    /// Reads a private key from PEM as [`SigningKey::from_pkcs8_pem`] does. The object identifier
    /// tells the set.
    ///
    /// # Errors
    /// Every [`PemError`].
    pub fn from_pkcs8_pem(text: impl AsRef<[u8]>) -> Result<Self, PemError> {
        read(text.as_ref(), PRIVATE, Self::from_pkcs8_der)
    }
}
