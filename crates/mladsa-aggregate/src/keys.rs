//! What a master seed gives: content keys, nonces, offsets.

pub(crate) mod matrix;
pub(crate) mod seed;
pub(crate) mod scope;
pub(crate) mod member;
pub(crate) mod nonce;
pub(crate) mod content_key;
