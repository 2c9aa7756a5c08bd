//! The master seed, and the keys and nonces that are derived from it.

pub(crate) mod matrix;
pub(crate) mod label;
pub(crate) mod seed;
pub(crate) mod nonce;
pub(crate) mod one_time_key;
