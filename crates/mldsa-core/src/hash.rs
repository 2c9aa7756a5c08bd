//! Keccak, SHAKE, and every use that the scheme makes of them: FIPS 204 sections
//! 3.7 and 5.4.

pub(crate) mod keccak;
#[cfg_attr(
    not(feature = "unstable-internals"),
    allow(unreachable_pub, reason = "see lib.rs")
)]
pub(crate) mod xof;
#[cfg_attr(
    not(feature = "unstable-internals"),
    allow(unreachable_pub, reason = "see lib.rs")
)]
pub(crate) mod transcript;
#[cfg(feature = "hash-ml-dsa")]
pub(crate) mod prehash;
