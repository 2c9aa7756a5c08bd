//! What the programs for emulated boards share: a meter of stack and instructions,
//! and a demonstration for parts with 16 kB of RAM. Printing goes through
//! semihosting, so all of it needs an emulator or a debugger.
#![no_std]

#[cfg(feature = "demo")]
pub mod demo;
pub mod meter;

pub use semihosting::{println, process::exit};
