//! Every ML-DSA implementation under the same timed calls.
//!
//! A [`Contender`] is one operation of one implementation on shared, random,
//! distinct [`Inputs`]. The criterion benches and the `scorecard` binary run the
//! same contenders, so a new operation is written once: one more `Contender` in
//! `ours.rs` or in a peer's file.

mod clock;
pub mod committee;
mod contender;
mod cpu;
mod footprint;
mod heap;
mod inputs;
#[cfg(target_os = "linux")]
pub mod instructions;
mod lowmem;
mod measure;
mod ours;
mod peers;
pub mod report;
mod rounds;
mod score;
mod suite;

pub use clock::{UNIT, hz, now, us};
pub use contender::{Contender, Op, Part};
pub use cpu::{cpu_name, pin};
pub use footprint::{Footprint, STACK, in_rust};
pub use heap::{heap, held};
pub use inputs::{Inputs, Set, Stream};
pub use lowmem::lowmem_contenders;
pub use measure::{Budget, Samples, measure, measure_alone};
pub use ours::{mean_attempts, rejections};
pub use rounds::{Round, Runner, Way};
pub use score::{Plan, Score, score};
pub use suite::{bench_part, bench_with};

use std::rc::Rc;

/// The contenders of one part on one set of inputs, ours first.
#[must_use]
pub fn contenders(part: Part, inputs: &Rc<Inputs>) -> Vec<Contender> {
    let mut all = ours::contenders(inputs);
    all.extend(peers::contenders(inputs));
    all.retain(|contender| part.contains(contender.op));
    all
}
