//! Bytes as text: hexadecimal digits and base64. Conversions are constant time in valid
//! characters, which may be secret.

use std::io;
use std::path::Path;

use base64ct::{Base64, Base64Unpadded, Base64Url, Base64UrlUnpadded, Encoding};
use zeroize::Zeroizing;

use crate::file::input::{unusable, without_mark};
use crate::key::format::Format;

/// Decodes a text of hexadecimal digits. White space is ignored: `xxd -p` breaks lines.
pub(crate) fn from_hex(text: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    let digits = without_space(text)?;
    let mut bytes = Zeroizing::new(vec![0; digits.len() / 2]);
    base16ct::mixed::decode(&*digits, &mut bytes).ok()?;
    Some(bytes)
}

/// Decodes a text of base64 in either alphabet of RFC 4648, with or without padding. White space
/// is ignored. Constant time in characters that are valid.
pub(crate) fn from_base64(text: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    let characters = without_space(text)?;
    let mut bytes = Zeroizing::new(vec![0; characters.len()]);
    let decoders = [
        Base64::decode,
        Base64Unpadded::decode,
        Base64Url::decode,
        Base64UrlUnpadded::decode,
    ];
    let mut decoders = decoders.into_iter();
    let len = decoders.find_map(|decode| Some(decode(&characters, &mut bytes).ok()?.len()))?;
    bytes.truncate(len);
    Some(bytes)
}

/// Copies the characters of a text that are not white space; `None` if there are none.
fn without_space(text: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    // Allocated at once: a vector that grows leaves unwiped copies.
    let mut characters = Zeroizing::new(Vec::with_capacity(text.len()));
    characters.extend(text.iter().filter(|byte| !byte.is_ascii_whitespace()));
    (!characters.is_empty()).then_some(characters)
}

/// Returns whether there are only hexadecimal digits and white space. Fewer than 2^-100 of all raw seeds
/// look like this.
pub(crate) fn is_digits(text: &[u8]) -> bool {
    let mut digits = text.iter().filter(|byte| !byte.is_ascii_whitespace());
    let first = digits.next();
    first.is_some_and(u8::is_ascii_hexdigit) && digits.all(u8::is_ascii_hexdigit)
}

/// Reads the `N` bytes of a file, raw, in hexadecimal digits or in base64. Digits are never raw bytes.
pub(crate) fn exactly<const N: usize>(
    path: &Path,
    bytes: &[u8],
    what: &str,
) -> io::Result<Zeroizing<[u8; N]>> {
    let text = without_mark(bytes);
    let decoded = if is_digits(text) {
        from_hex(text).unwrap_or_default()
    } else if bytes.len() == N {
        Zeroizing::new(bytes.to_vec())
    } else {
        from_base64(text).unwrap_or_default()
    };
    let mut array = Zeroizing::new([0; N]);
    if decoded.len() != N {
        let digits = 2 * N;
        let why = format!("not {N} bytes of {what}, nor {digits} hexadecimal digits, nor base64");
        return Err(unusable(path, why));
    }
    array.copy_from_slice(&decoded);
    Ok(array)
}

/// Encodes bytes in a format without a structure: raw, or text with an end of line.
pub(crate) fn encode_bytes(bytes: &[u8], format: Format) -> Zeroizing<Vec<u8>> {
    let len = match format {
        Format::Hex => 2 * bytes.len(),
        Format::Base64 => bytes.len().div_ceil(3) * 4,
        _ => return Zeroizing::new(bytes.to_vec()),
    };
    let mut text = Zeroizing::new(vec![b'\n'; len + 1]);
    // The buffer has the length of the text.
    let _ = match format {
        Format::Hex => base16ct::lower::encode(bytes, &mut text).is_ok(),
        _ => Base64::encode(bytes, &mut text).is_ok(),
    };
    text
}
