//! Bytes and bits: FIPS 204 sections 7.1 and 7.2, algorithms 9 to 13 and 16 to 28.

pub(crate) mod hint;
pub(crate) mod pack;
pub(crate) mod encode;
pub(crate) mod expansion;
