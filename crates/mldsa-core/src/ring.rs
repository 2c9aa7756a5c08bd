//! Z_q and its polynomials: FIPS 204 sections 2.3, 7.4, 7.5, algorithms 35 to 49.

pub(crate) mod field;
pub(crate) mod poly;
pub(crate) mod ntt;
pub(crate) mod rounding;
