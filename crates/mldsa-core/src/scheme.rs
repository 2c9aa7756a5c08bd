//! The scheme: FIPS 204 section 6, algorithms 6 to 8.

pub(crate) mod zeroize_kernels;
mod incremental_tr;
mod masks;
#[cfg_attr(not(feature = "hazmat"), allow(unreachable_pub, reason = "see lib.rs"))]
pub(crate) mod keygen;
#[cfg_attr(not(feature = "hazmat"), allow(unreachable_pub, reason = "see lib.rs"))]
pub(crate) mod keygen_many;
#[cfg_attr(not(feature = "hazmat"), allow(unreachable_pub, reason = "see lib.rs"))]
pub(crate) mod sign;
pub(crate) mod verify;
pub(crate) mod sign_many;
