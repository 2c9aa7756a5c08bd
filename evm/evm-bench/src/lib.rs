//! The contracts of `evm/contracts`, deployed in revm, and signed cases for them.

pub mod cases;
pub mod chain;
pub mod contracts;
