//! Tests of the program `mldsa-archive`.

mod damage;
mod inputs;
mod resume;
mod sample;
mod tool;
