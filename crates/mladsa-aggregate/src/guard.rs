//! The one-time guard: what a master seed has been used for, durably.
//!
//! `states` holds the rules, `journal` makes them durable, and what it is durable
//! on are two media: a log, and a high-water mark that tells the log from an older
//! copy of itself. Whoever brings media of its own cannot bring rules of its own.

pub(crate) mod states;
pub(crate) mod medium;
pub(crate) mod memory;
pub(crate) mod journal;
#[cfg(feature = "std")]
pub(crate) mod file;
