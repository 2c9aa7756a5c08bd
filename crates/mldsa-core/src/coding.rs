//! Bytes and bits: FIPS 204 sections 7.1 and 7.2, algorithms 9 to 13 and 16 to 28.

#[cfg_attr(
    not(feature = "unstable-internals"),
    allow(unreachable_pub, reason = "see lib.rs")
)]
pub(crate) mod hint;
#[cfg_attr(
    not(feature = "unstable-internals"),
    allow(unreachable_pub, reason = "see lib.rs")
)]
pub(crate) mod pack;
#[cfg_attr(
    not(feature = "unstable-internals"),
    allow(unreachable_pub, reason = "see lib.rs")
)]
pub(crate) mod encode;
#[cfg_attr(
    not(feature = "unstable-internals"),
    allow(unreachable_pub, reason = "see lib.rs")
)]
pub(crate) mod expansion;
