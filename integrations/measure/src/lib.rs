//! What an engine with ML-DSA votes spends on them, and how that is printed.
//!
//! The programs of this workspace run an engine once for each [`How`], count with a [`Meter`]
//! and print one [`Row`] a run: as a table, or as lines of JSON.

mod how;
mod meter;
mod row;

pub use cpu_time::{ProcessTime, ThreadTime};
pub use how::{How, Set};
pub use meter::{Kind, Meter};
pub use row::{Finality, Row, finish, print};
