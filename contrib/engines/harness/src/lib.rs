//! Parts that the engine programs share.
//!
//! Each program runs an engine once per [`Strategy`], counts verified signatures and CPU time with
//! a [`Meter`], and prints one [`Row`] per run. [`Arguments`] are the options common to all
//! programs.

mod arguments;
mod cpu_time;
mod meter;
mod row;
mod signer;
mod strategy;

pub use arguments::{Arguments, check_faulty, hang_limit};
pub use cpu_time::{ProcessTime, ThreadTime};
pub use meter::{Counters, Kind, KindCounters, Meter};
pub use mldsa_core::{Set, with_set};
pub use row::{Finality, Row, Run, Stopwatch, finish};
pub use signer::{Signer, flip_bit, signing_key};
pub use strategy::Strategy;
