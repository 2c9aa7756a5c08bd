//! Bytes as long as a public key that may hold a private one.

use mldsa_core::pkcs8::der::asn1::AnyRef;
use mldsa_core::pkcs8::der::{Decode, Reader as _, SliceReader, Tag, Tagged};

use crate::structure::{SEED_LEN, is_der};

/// What no encoded public key has inside by chance: DER of a key, text, small
/// coefficients. Public keys are as good as random; of 2592 bytes, what is refused for
/// each reason stands below. The whole as DER, 2^-32, is the most of it, and PEM is
/// there for that one.
pub(crate) fn is_suspect(bytes: &[u8]) -> bool {
    // With their headers, 2^-80 at each place: joint-iso-itu-t(2) country(16) us(840)
    // organization(1) gov(101) csor(3) nistAlgorithm(4) sigAlgs(3), and iso(1)
    // member-body(2) us(840) rsadsi(113549) pkcs(1) 5, which encrypts private keys.
    const ALGORITHMS: [&[u8]; 2] = [
        b"\x06\x09\x60\x86\x48\x01\x65\x03\x04\x03",
        b"\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x05",
    ];
    let names = |algorithm: &&[u8]| memchr::memmem::find(bytes, algorithm).is_some();
    is_der(bytes)
        || begins_like_a_key(bytes)
        || ALGORITHMS.iter().any(names)
        || has_text(bytes)
        || has_small_coefficients(bytes)
}

/// PKCS#8, PKCS#1, SEC 1, EncryptedPrivateKeyInfo or the two parts of RFC 9881 in a
/// SEQUENCE, whatever comes behind it. Four given bytes and more, and a length that fits
/// to the byte: less than 2^-37.
fn begins_like_a_key(bytes: &[u8]) -> bool {
    let parse = || {
        let outer = AnyRef::decode(&mut SliceReader::new(bytes).ok()?).ok()?;
        let mut inside = SliceReader::new(outer.value()).ok()?;
        let first = AnyRef::decode(&mut inside).ok()?;
        let second = AnyRef::decode(&mut inside).ok()?.tag();
        // Everything else in there is DER too.
        while !inside.is_finished() {
            AnyRef::decode(&mut inside).ok()?;
        }
        let fits = match first.tag() {
            Tag::Integer => {
                matches!(first.value(), [0 | 1])
                    && matches!(second, Tag::Sequence | Tag::Integer | Tag::OctetString)
            }
            Tag::Sequence => first.value().first() == Some(&6) && second == Tag::OctetString,
            Tag::OctetString => first.value().len() == SEED_LEN && second == Tag::OctetString,
            _ => false,
        };
        Some(outer.tag() == Tag::Sequence && fits)
    };
    parse().unwrap_or(false)
}

/// 48 characters of ASCII in a row, zero bytes aside, as UTF-16 has them: a PEM line, a
/// seed in digits. (99/256)^48 at each place, 2^-54 in all.
fn has_text(bytes: &[u8]) -> bool {
    let mut run = 0u32;
    bytes.iter().fold(false, |found, &byte| {
        let character = matches!(byte, b' '..=b'~' | b'\t' | b'\n' | b'\r');
        run = (run + u32::from(character)) * u32::from(character || byte == 0);
        found | (run >= 48)
    })
}

/// A polynomial of s1 or s2, at whatever byte it begins: 256 coefficients in a row that
/// are in range, (5/8)^256 = 2^-173 at each place for eta = 2, (9/16)^256 = 2^-212 for
/// eta = 4. The bytes may be secret: nothing is looked up and nothing ends early.
fn has_small_coefficients(bytes: &[u8]) -> bool {
    let longest = |in_range: &mut dyn Iterator<Item = bool>| {
        let mut run = 0u32;
        in_range.fold(0, |longest, good| {
            run = (run + 1) * u32::from(good);
            longest.max(run)
        })
    };
    // Three bits are too many from 5 on, four from 9 on.
    let three = |bits: u32| bits >> 2 & (bits >> 1 | bits) & 0o1111_1111 == 0;
    let four = |bits: u8| bits >> 3 & (bits >> 2 | bits >> 1 | bits) & 0x11 == 0;
    let eta_2 = (0..3.min(bytes.len())).any(|begin| {
        let (groups, _) = bytes[begin..].as_chunks();
        longest(
            &mut groups
                .iter()
                .map(|&[a, b, c]| three(u32::from_le_bytes([a, b, c, 0]))),
        ) >= 32
    });
    eta_2 | (longest(&mut bytes.iter().map(|&byte| four(byte))) >= 128)
}

#[cfg(test)]
mod tests {
    use sha3::digest::{ExtendableOutput, Update, XofReader};

    use super::*;

    /// 3000 of each length that are as random as public keys, and the bounds of what
    /// is refused.
    #[test]
    fn random_bytes_are_no_suspect() {
        let mut hash = sha3::Shake128::default();
        hash.update(b"random_bytes_are_no_suspect");
        let mut random = hash.finalize_xof();
        for len in [1312, 1952, 2592] {
            let mut bytes = vec![0; len];
            for _ in 0..3000 {
                random.read(&mut bytes);
                assert!(!is_suspect(&bytes));
            }
            for (content, least) in [(b'\n', 48), (0x11, 128), (0x92, 96)] {
                for at in [0, 1, 2, 500, len - least] {
                    let mut changed = bytes.clone();
                    changed[at..at + least].fill(content);
                    if content == 0x92 {
                        // 2, 2, 2, .. in groups of three bytes.
                        let group = [0x92, 0x24, 0x49].iter().cycle();
                        changed[at..at + least]
                            .iter_mut()
                            .zip(group)
                            .for_each(|(to, from)| *to = *from);
                    }
                    assert!(is_suspect(&changed), "{content} at {at} of {len}");
                }
            }
        }
    }
}
