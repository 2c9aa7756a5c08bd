//! Comparison of ML-DSA implementations.
//!
//! A [`Contender`] is one operation of one implementation on shared, random, distinct [`Inputs`]. `scorecard`
//! and `report` run the same contenders. A new operation is one more
//! `Contender` in `mldsa.rs` or in the file of the competitor.

mod clock;
mod competitors;
mod contender;
mod cpu;
mod external;
mod inputs;
mod measure;
mod mldsa;
mod score;
pub mod table;

pub use clock::{ThreadTime, UNIT, hz, now, us};
pub use contender::{Contender, Op, Part};
pub use cpu::{cpu_name, pin};
pub use external::missing_peers;
pub use inputs::{Inputs, Stream};
pub use measure::{Budget, Samples, measure};
pub use mldsa::mean_attempts;
pub use mldsa_core::Set;
pub use score::{Plan, Score, score};

use std::rc::Rc;

/// Contenders of one part, those of `mldsa-core` first.
#[must_use]
pub fn contenders(part: Part, inputs: &Rc<Inputs>) -> Vec<Contender> {
    let mut all = mldsa::contenders(inputs);
    all.extend(competitors::contenders(inputs));
    all.extend(external::contenders(inputs));
    all.retain(|contender| part.contains(contender.op));
    all
}
