//! Shared code of the programs for emulated boards: a meter of stack and instructions,
//! and a demonstration for parts with 16 kB of RAM. Output is printed by semihosting, so
//! the programs need an emulator or a debugger.
#![no_std]

#[cfg(feature = "demo")]
pub mod demo;

pub use board_meter as meter;
pub use board_meter::{exit, println};
