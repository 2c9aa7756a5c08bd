//! Interleaved timing: every contender gets its turn in every round.

use core::{hint::black_box, ops::Range, time::Duration};
use std::time::Instant;

use cpu_time::ThreadTime;

use crate::{Contender, hz, now};

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
    operations: usize,
    processor: Duration,
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

    /// The call that so large a share of all was not slower than.
    #[must_use]
    pub fn quantile(&self, share: f64) -> u64 {
        let mut sorted = self.calls.clone();
        sorted.sort_unstable();
        let rank = (share * sorted.len() as f64).ceil() as usize;
        sorted.get(rank.max(1) - 1).copied().unwrap_or(0)
    }

    /// The mean over all cases: the figure for signing, whose cost depends on
    /// the message. It is taken from the thread's processor time, since on a
    /// shared machine the wall clock counts everyone's work.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.processor.as_secs_f64() * hz() / self.operations.max(1) as f64
    }
}

/// Times `call` on the cases 0, 1, 2, ... until the time is used, at least once, after
/// one untimed call.
pub fn measure_alone<T>(time: Duration, mut call: impl FnMut(usize) -> T) -> Samples {
    let mut samples = Samples::default();
    call(0);
    let (start, processor) = (Instant::now(), ThreadTime::now());
    while samples.is_empty() || start.elapsed() < time {
        let begin = now();
        black_box(call(samples.operations));
        samples.calls.push(now() - begin);
        samples.operations += 1;
    }
    samples.processor = processor.elapsed();
    samples
}

/// Operations of one contender in a row, or those of one call. Switching after each call would charge
/// every implementation for reloading its code and tables.
const TURN: usize = 8;

/// Times every contender on the same cases, turn by turn.
pub fn measure(contenders: &mut [Contender], budget: Budget) -> Vec<Samples> {
    let start = Instant::now();
    let mut samples = vec![Samples::default(); contenders.len()];
    let mut pass = 0;
    while pass < budget.passes || start.elapsed() < budget.time {
        for first in (0..budget.cases).step_by(TURN) {
            for (contender, samples) in contenders.iter_mut().zip(&mut samples) {
                let width = contender.width.max(TURN);
                if first.is_multiple_of(width) {
                    turn(contender, first..budget.cases.min(first + width), samples);
                }
            }
        }
        pass += 1;
    }
    samples
}

/// One untimed call on a case that is not about to be timed, then every case,
/// each call timed alone.
fn turn(contender: &mut Contender, cases: Range<usize>, samples: &mut Samples) {
    contender.call(cases.end);
    let processor = ThreadTime::now();
    for i in cases.step_by(contender.width) {
        let begin = now();
        contender.call(i);
        samples.calls.push((now() - begin) / contender.width as u64);
        samples.operations += contender.width;
    }
    samples.processor += processor.elapsed();
}
