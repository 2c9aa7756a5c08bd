//! Tests of the program `mldsa-archive`.

mod damage;
#[cfg(feature = "gpu")]
mod gpu;
mod folders;
mod hand;
mod hostile;
mod inputs;
mod random;
mod resume;
mod safety;
mod sample;
mod tool;
