//! Keys without a structure around them, recognised by their length.

use mldsa_core::{AnyVerifyingKey, Set};

use crate::key::format::SEED_LEN;
use crate::key::parts::{KeyContent, PrivateParts};

/// Recognises a key by its length; `None` if no key has it. A seed needs the set.
pub(crate) fn bare(bytes: &[u8], set: Option<Set>) -> Option<Result<KeyContent, &'static str>> {
    if bytes.len() == SEED_LEN && set.is_none() {
        return Some(Err("a bare seed does not tell its set: use --set"));
    }
    // A joined key of one set may be as long as a public key of another.
    let mut sets = set.into_iter().chain(Set::ALL);
    if let Some(parts) = sets.find_map(|set| PrivateParts::from_bare(set, bytes)) {
        return Some(Ok(KeyContent::Private(parts)));
    }
    if let Some(set) = Set::from_public_key_len(bytes.len()) {
        // Before the bytes are copied to memory that is not wiped.
        let key =
            (!holds_private_key(bytes)).then(|| AnyVerifyingKey::from_bytes_of(set, bytes).ok());
        return Some(key.flatten().map(KeyContent::Public).ok_or(
            "as long as a raw public key, but it seems to hold a private one: give a public key as \
             PEM or DER, a private key without anything around it",
        ));
    }
    let is_joined = |set: Set| bytes.len() == SEED_LEN + set.private_key_len();
    (Set::ALL.into_iter().any(is_joined)).then_some(Err(
        "as long as a seed and an expanded key, but not one seed and its expanded key",
    ))
}

/// Returns whether bytes with the length of a public key hold a private one: text with padding,
/// DER with padding, or an expanded key between other bytes. Without branches on the bytes, which
/// may be secret.
fn holds_private_key(bytes: &[u8]) -> bool {
    has_text(bytes) | has_algorithm(bytes) | has_secret_polynomial(bytes)
}

/// Returns whether there are 48 characters of ASCII in a row, zero bytes not counted (UTF-16).
/// Random bytes of a public key have them with a probability of 2^-54: (99/256)^48 a position.
fn has_text(bytes: &[u8]) -> bool {
    let mut run = 0u32;
    bytes.iter().fold(false, |found, &byte| {
        let character = matches!(byte, b' '..=b'~' | b'\t' | b'\n' | b'\r');
        run = (run + u32::from(character)) * u32::from(character || byte == 0);
        found | (run >= 48)
    })
}

/// Returns whether there is the DER of an object identifier of ML-DSA: 2^-68 of random bytes.
fn has_algorithm(bytes: &[u8]) -> bool {
    const ARC: &[u8] = b"\x06\x09\x60\x86\x48\x01\x65\x03\x04\x03";
    let differing = |window: &[u8]| {
        let pairs = window.iter().zip(ARC);
        pairs.fold(0, |differing, (a, b)| differing | (a ^ b))
    };
    let windows = bytes.windows(ARC.len());
    windows.fold(false, |found, window| found | (differing(window) == 0))
}

/// Returns whether there is a polynomial of s1 or s2 in its encoding: 96 bytes of fields of three
/// bits that are at most 4 (eta = 2), or 128 bytes of fields of four bits that are at most 8
/// (eta = 4), at least half of them different from their neighbour. Random bytes of a public key
/// have one with a probability of 2^-160.
fn has_secret_polynomial(bytes: &[u8]) -> bool {
    // Fields of three bits repeat every three bytes: one run for each alignment.
    let mut runs = [(0u32, 0u32); 4];
    let mut found = false;
    let mut extend = |(run, changes): &mut (u32, u32), fits: bool, changed: bool, enough: u32| {
        *run = (*run + 1) * u32::from(fits);
        *changes = (*changes + u32::from(changed)) * u32::from(fits);
        found |= (*run >= enough) & (*changes >= enough / 2);
    };
    for (at, three) in bytes.windows(3).enumerate() {
        let word = u32::from(three[0]) | u32::from(three[1]) << 8 | u32::from(three[2]) << 16;
        // A field is above 4 if its highest bit and another one are set.
        let above = (word >> 2) & ((word >> 1) | word) & 0o11_111_111;
        extend(&mut runs[at % 3], above == 0, three[0] != three[1], 32);
    }
    for two in bytes.windows(2) {
        let above = (two[0] >> 3) & ((two[0] >> 2) | (two[0] >> 1) | two[0]) & 0x11;
        extend(&mut runs[3], above == 0, two[0] != two[1], 128);
    }
    found
}
