//! Checkpoints: every k-th finalised block as one ML-DSA-87 signature of the committee.
//!
//! The committee of [`bft_simplex`] finalises blocks with lists of votes. [`Blocks`] selects every
//! k-th block; a [`Committee`] of the same members signs it jointly (ML-ADSA, experimental). The
//! result is an ordinary ML-DSA-87 signature under a key that a verifier rebuilds from the
//! openings. [`CertificateSize`] compares the sizes.

mod blocks;
mod committee;
mod round;
mod size;

pub use blocks::Blocks;
pub use committee::{Committee, Member};
pub use round::{Checkpoint, Fault};
pub use size::CertificateSize;
