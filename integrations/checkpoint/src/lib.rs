//! Checkpoints: every k-th block that a committee has finalised, as one ML-DSA-87 signature.
//!
//! The committee of [`bft_simplex`] finalises blocks with lists of votes. [`Blocks`] listens and
//! takes every k-th; a [`Committee`] of the same members signs each of these together
//! (ML-ADSA, experimental), and the result is an ordinary ML-DSA-87 signature for whoever can
//! rebuild its key. [`Price`] says what that costs on the wire, with what a verifier needs besides.

mod blocks;
mod committee;
mod price;
mod round;

pub use blocks::Blocks;
pub use committee::{Committee, Member};
pub use price::Price;
pub use round::{Absence, Checkpoint, Trouble};
