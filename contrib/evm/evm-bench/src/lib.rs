//! The contracts of `evm/contracts`, deployed in revm, and signed cases for them.

pub mod abi;
pub mod cases;
pub mod chain;
pub mod contracts;
pub mod gas;
pub mod rows;
