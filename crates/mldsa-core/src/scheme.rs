//! The scheme: FIPS 204 section 6, algorithms 6 to 8.

pub(crate) mod keygen;
pub(crate) mod sign;
pub(crate) mod verify;
