//! One-time-key journal: durable record of the uses of a master seed.
//!
//! `states` holds the state-transition rules, `record` the encoding, `one_time` makes the
//! rules durable. The two storage traits are a log, and a high-water mark that detects a log
//! restored from an older copy. Custom storage cannot change the state-transition rules.

pub(crate) mod states;
pub(crate) mod record;
pub(crate) mod storage;
pub(crate) mod one_time;
#[cfg(feature = "std")]
pub(crate) mod file;
