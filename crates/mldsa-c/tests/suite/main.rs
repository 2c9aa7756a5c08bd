//! Tests of the C interface: the header, and C and C++ programs that are linked with the library.

mod header;
mod link;
mod pem;
mod programs;
mod stack;
mod vectors;
