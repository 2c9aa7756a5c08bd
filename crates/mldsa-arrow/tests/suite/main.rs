//! Tests of the crate, as its users see it.

mod columns;
mod encodings;
mod properties;
mod rows;
