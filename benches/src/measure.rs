//! Interleaved timing: every contender gets its turn in every round.

use core::time::Duration;
use std::time::Instant;

use crate::{Contender, now};

/// How long to measure.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// Whole passes over the cases go on until this time is used.
    pub time: Duration,
    /// Cases in one pass.
    pub cases: usize,
    /// Passes that are done even if time runs out.
    pub passes: usize,
}

/// The times of one contender, in ticks per operation.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    calls: Vec<u64>,
    passes: Vec<f64>,
}

impl Samples {
    /// Calls timed.
    #[must_use]
    pub fn len(&self) -> usize {
        self.calls.len()
    }

    /// Whether nothing was timed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// The fastest call.
    #[must_use]
    pub fn min(&self) -> u64 {
        self.calls.iter().copied().min().unwrap_or(0)
    }

    /// The middle call.
    #[must_use]
    pub fn median(&self) -> u64 {
        let mut sorted = self.calls.clone();
        sorted.sort_unstable();
        sorted.get(sorted.len() / 2).copied().unwrap_or(0)
    }

    /// The mean over all cases in the quietest pass: the figure for signing,
    /// whose cost depends on the message.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.passes.iter().copied().reduce(f64::min).unwrap_or(0.0)
    }
}

/// Calls of one contender in a row. Switching after each call would charge
/// every implementation for reloading its code and tables.
const TURN: usize = 8;

/// Times every contender on the same cases, turn by turn.
pub fn measure(contenders: &mut [Contender], budget: Budget) -> Vec<Samples> {
    let start = Instant::now();
    let mut samples = vec![Samples::default(); contenders.len()];
    let mut pass = 0;
    while pass < budget.passes || start.elapsed() < budget.time {
        let mut sums = vec![(0.0, 0.0); contenders.len()];
        for first in (0..budget.cases).step_by(TURN) {
            for ((contender, samples), sum) in
                contenders.iter_mut().zip(&mut samples).zip(&mut sums)
            {
                turn(contender, first, budget.cases, samples, sum);
            }
        }
        for (samples, (ticks, calls)) in samples.iter_mut().zip(sums) {
            samples.passes.push(ticks / calls);
        }
        pass += 1;
    }
    samples
}

/// One untimed call, then the cases from `first` on, each timed alone.
fn turn(
    contender: &mut Contender,
    first: usize,
    cases: usize,
    samples: &mut Samples,
    sum: &mut (f64, f64),
) {
    contender.call(first);
    let last = cases.min(first + TURN);
    for i in (first..last).step_by(contender.width) {
        let begin = now();
        contender.call(i);
        let ticks = (now() - begin) / contender.width as u64;
        samples.calls.push(ticks);
        sum.0 += ticks as f64;
        sum.1 += 1.0;
    }
}
