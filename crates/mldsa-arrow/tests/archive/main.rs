//! Tests of the program `mldsa-archive`.

mod damage;
mod inputs;
mod resume;
mod safety;
mod sample;
mod tool;
