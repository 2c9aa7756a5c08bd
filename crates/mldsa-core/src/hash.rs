//! Keccak, SHAKE, and every use that the scheme makes of them: FIPS 204 sections
//! 3.7 and 5.4.

pub(crate) mod complemented;
pub(crate) mod keccak;
pub(crate) mod lane;
pub(crate) mod xof;
pub(crate) mod transcript;
#[cfg(feature = "hash-ml-dsa")]
pub(crate) mod prehash;
