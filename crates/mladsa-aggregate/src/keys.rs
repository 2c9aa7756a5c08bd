//! What a master seed gives: content keys, nonces, offsets, proofs.

pub(crate) mod matrix;
pub(crate) mod seed;
pub(crate) mod member;
pub(crate) mod nonce;
pub(crate) mod content_key;
pub(crate) mod proof;
