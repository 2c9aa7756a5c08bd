//! Interleaved timing of contenders.

use core::time::Duration;
use std::time::Instant;

use crate::{Contender, hz};

/// Duration of a measurement.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// Passes over the cases are repeated until this time has passed.
    pub time: Duration,
    /// Cases in one pass; at least one pass is measured.
    pub cases: usize,
}

/// The times of one contender, in ticks per operation.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    calls: Vec<u64>,
    operations: usize,
    processor: Duration,
}

impl Samples {
    /// Adds timed calls of `width` operations each.
    pub(crate) fn add(&mut self, calls: Vec<u64>, width: usize, processor: Duration) {
        self.operations += calls.len() * width;
        self.calls.extend(calls);
        self.processor += processor;
    }

    /// Number of timed calls.
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

    /// Mean over all cases, for signing, whose time depends on the message. Taken from the CPU time
    /// of the thread, because the wall clock includes the other work of a shared machine.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.processor.as_secs_f64() * hz() / self.operations.max(1) as f64
    }
}

/// Minimum number of operations of one contender in a row. Switching after each call would charge every
/// implementation for loading its code and tables into the caches.
const TURN: usize = 8;

/// Times every contender on the same cases, interleaved.
pub fn measure(contenders: &mut [Contender], budget: Budget) -> Vec<Samples> {
    let start = Instant::now();
    let mut samples = vec![Samples::default(); contenders.len()];
    loop {
        for first in (0..budget.cases).step_by(TURN) {
            for (contender, samples) in contenders.iter_mut().zip(&mut samples) {
                let width = contender.width.max(TURN);
                if first.is_multiple_of(width) {
                    contender.turn(first..budget.cases.min(first + width), samples);
                }
            }
        }
        if start.elapsed() >= budget.time {
            return samples;
        }
    }
}
