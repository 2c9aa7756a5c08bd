//! Tests of the program `mldsa-archive`.

mod damage;
#[cfg(feature = "gpu")]
mod gpu;
mod hand;
mod hostile;
mod inputs;
mod resume;
mod safety;
mod sample;
mod tool;
