//! Z_q and its polynomials: FIPS 204 sections 2.3, 7.4, 7.5, algorithms 35 to 49.

#[cfg_attr(
    not(feature = "unstable-internals"),
    allow(unreachable_pub, reason = "see lib.rs")
)]
pub(crate) mod field;
#[cfg_attr(
    not(feature = "unstable-internals"),
    allow(unreachable_pub, reason = "see lib.rs")
)]
pub(crate) mod poly;
#[cfg_attr(
    not(feature = "unstable-internals"),
    allow(unreachable_pub, reason = "see lib.rs")
)]
pub(crate) mod ntt;
#[cfg_attr(
    not(feature = "unstable-internals"),
    allow(unreachable_pub, reason = "see lib.rs")
)]
pub(crate) mod rounding;
