//! Secrets of a member and everything derived from its master seed.

pub(crate) mod matrix;
pub(crate) mod seed;
pub(crate) mod scope;
pub(crate) mod member;
pub(crate) mod nonce;
pub(crate) mod one_time_key;
