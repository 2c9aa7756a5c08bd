//! The scheme: FIPS 204 section 6, algorithms 6 to 8.

pub(crate) mod zeroize_kernels;
mod incremental_tr;
pub(crate) mod seal;
pub(crate) mod keygen;
#[cfg(any(feature = "alloc", feature = "unstable-internals"))]
pub(crate) mod keygen_many;
pub(crate) mod sign;
pub(crate) mod verify;
pub(crate) mod sign_many;
