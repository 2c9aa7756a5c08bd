//! Base mode: commitments in the open. **Everybody who sees a round learns the
//! content key of every member in it.** So a key is good for one message only,
//! which its label must contain, and a verifier must refuse a second message
//! under the same label.

pub(crate) mod gate;
mod one_party;

pub use gate::{Gate, SignedKey};
