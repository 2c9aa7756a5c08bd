//! Commands over JSON lines: [`run`] reads the lines and writes the answers, [`fields`] parses a line,
//! [`request`] its message, and [`signer`] signs groups of lines.

mod check;
mod fields;
#[cfg(feature = "gpu")]
mod gpu;
pub(crate) mod request;
mod run;
pub(crate) mod sign;
mod signer;
pub(crate) mod verify;

pub use check::check_lines;
