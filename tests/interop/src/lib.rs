//! The bodies of the fuzz targets as ordinary functions: `fuzz/` feeds them from
//! libFuzzer, `tests/replay.rs` from the committed corpora, both on the backend that the
//! environment variable `MLDSA_BACKEND` names. Interoperability tests with other implementations
//! are in `tests/`.

#![forbid(unsafe_code)]

pub mod aggregate;
pub mod encodings;
pub mod lines;
pub mod verify;

/// The set that a byte chooses.
pub(crate) fn set(choice: u8) -> mldsa_core::Set {
    mldsa_core::Set::ALL[usize::from(choice % 3)]
}

/// The input after its first byte.
pub(crate) fn split(data: &[u8]) -> (u8, &[u8]) {
    data.split_first()
        .map_or((0, data), |(&first, rest)| (first, rest))
}

/// Applies `data` to `target` in steps of three bytes: a 16-bit place and a
/// byte to exclusive-or there. Returns whether anything changed.
pub(crate) fn damage(target: &mut [u8], data: &[u8]) -> bool {
    let before = target.to_vec();
    for step in data.chunks_exact(3) {
        let place = usize::from(u16::from_le_bytes([step[0], step[1]])) % target.len().max(1);
        if let Some(byte) = target.get_mut(place) {
            *byte ^= step[2];
        }
    }
    before != target
}
