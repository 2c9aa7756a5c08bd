//! Several signatures side by side: what a verification is given, hashing in
//! lanes, verification in lanes.

pub(crate) mod job;
#[cfg_attr(
    not(mldsa_simd),
    allow(dead_code, reason = "portable code hashes public data alone")
)]
pub(crate) mod sponge;
#[cfg_attr(
    not(mldsa_simd),
    allow(dead_code, reason = "portable code makes no key beside a hash")
)]
pub(crate) mod interleaved;
pub(crate) mod verify;
