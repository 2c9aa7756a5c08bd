//! What the gate of faults signs.

/// The seed of the key.
pub const SEED: [u8; 32] = [5; 32];
/// The messages of a batch; the others sign the first.
pub const MESSAGES: [&[u8]; 3] = [b"one", b"two", b"three"];
/// What HashML-DSA signs: an output of SHA-512.
pub const DIGEST: [u8; 64] = [3; 64];
