//! Shared code of the conformance suites: parameter sets, the traits every
//! implementation is tested through, a slow model of verification, vector
//! files and the counting of cases.
//!
//! Nothing here uses the crates under test. The suites are in `tests/`.

#![forbid(unsafe_code)]

pub mod hash;
pub mod model;
pub mod scheme;
pub mod set;
pub mod tally;
pub mod vectors;
