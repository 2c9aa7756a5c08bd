//! What an intake tells, in the text format of Prometheus.

use core::fmt;
use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use batch_verify::{Answered, IntakeError, IntakeMetrics, Outcome, Priority, Verified};

/// Counters that a scraper reads.
#[derive(Clone, Default)]
pub(crate) struct Figures(Arc<Mutex<Inner>>);

#[derive(Default)]
struct Inner {
    items: BTreeMap<&'static str, u64>,
    rejects: BTreeMap<&'static str, u64>,
    batches: Histogram,
    waits: Histogram,
    /// Seconds of verification, and the items verified in them.
    verifying: (f64, u64),
    last: Option<Verified>,
}

const BOUNDS: usize = 5;
const BATCHES: [f64; BOUNDS] = [1.0, 8.0, 16.0, 32.0, 64.0];
const WAITS: [f64; BOUNDS] = [1e-5, 1e-4, 1e-3, 1e-2, 1e-1];

/// How many values were at most each of some bounds, of how many, and their sum.
#[derive(Default)]
struct Histogram {
    below: [u64; BOUNDS],
    count: u64,
    sum: f64,
}

impl Histogram {
    fn add(&mut self, bounds: &[f64; BOUNDS], value: f64) {
        for (below, bound) in self.below.iter_mut().zip(bounds) {
            *below += u64::from(value <= *bound);
        }
        self.count += 1;
        self.sum += value;
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, name: &str, bounds: &[f64; BOUNDS]) -> fmt::Result {
        writeln!(f, "# TYPE vote_intake_{name} histogram")?;
        for (below, bound) in self.below.iter().zip(bounds) {
            writeln!(f, "vote_intake_{name}_bucket{{le=\"{bound}\"}} {below}")?;
        }
        let Self { count, sum, .. } = self;
        writeln!(f, "vote_intake_{name}_bucket{{le=\"+Inf\"}} {count}")?;
        writeln!(f, "vote_intake_{name}_sum {sum}")?;
        writeln!(f, "vote_intake_{name}_count {count}")
    }
}

impl IntakeMetrics for Figures {
    fn answered(&self, item: &Answered) {
        let inner = &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let result = match item.answer {
            Ok(Outcome::Valid) if item.remembered => "remembered",
            Ok(Outcome::Valid) => "valid",
            Ok(Outcome::Invalid(reason)) => {
                *inner.rejects.entry(reason.name()).or_default() += 1;
                "invalid"
            }
            Ok(Outcome::Skipped) => "skipped",
            Err(IntakeError::QueueFull) => "queue_full",
            Err(IntakeError::TooLarge) => "too_large",
            Err(IntakeError::PeerBudget) => "peer_budget",
            Err(IntakeError::ShuttingDown) => "shutting_down",
            Err(IntakeError::HookPanicked) => "hook_panicked",
            Err(IntakeError::Cancelled) => "cancelled",
            Err(_) => "abandoned",
        };
        *inner.items.entry(result).or_default() += 1;
        if item.answer.is_ok() {
            inner.waits.add(&WAITS, item.waited.as_secs_f64());
        }
    }

    fn verified(&self, batch: &Verified) {
        let inner = &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        inner.batches.add(&BATCHES, batch.items as f64);
        inner.verifying.0 += Duration::as_secs_f64(&batch.elapsed);
        inner.verifying.1 += batch.items as u64;
        inner.last = Some(*batch);
    }
}

fn labelled(
    f: &mut fmt::Formatter<'_>,
    name: &str,
    kind: &str,
    label: &str,
    values: impl IntoIterator<Item = (&'static str, u64)>,
) -> fmt::Result {
    writeln!(f, "# TYPE vote_intake_{name} {kind}")?;
    for (key, value) in values {
        writeln!(f, "vote_intake_{name}{{{label}=\"{key}\"}} {value}")?;
    }
    Ok(())
}

fn plain(f: &mut fmt::Formatter<'_>, name: &str, kind: &str, value: f64) -> fmt::Result {
    writeln!(
        f,
        "# TYPE vote_intake_{name} {kind}\nvote_intake_{name} {value}"
    )
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = &*self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let all = |of: &BTreeMap<&'static str, u64>| of.clone().into_iter();
        labelled(f, "items_total", "counter", "result", all(&inner.items))?;
        labelled(f, "rejects_total", "counter", "reason", all(&inner.rejects))?;
        inner.batches.write(f, "batch_items", &BATCHES)?;
        inner.waits.write(f, "wait_seconds", &WAITS)?;
        let (seconds, items) = inner.verifying;
        plain(f, "verifying_seconds_total", "counter", seconds)?;
        plain(f, "verified_total", "counter", items as f64)?;
        let Some(last) = inner.last else {
            return Ok(());
        };
        let waiting = Priority::ALL.map(|priority| {
            let name = match priority {
                Priority::OwnRound => "own_round",
                Priority::NextRound => "next_round",
                Priority::Sync => "sync",
            };
            (name, last.waiting[priority as usize] as u64)
        });
        labelled(f, "waiting", "gauge", "priority", waiting)?;
        plain(f, "memory_bytes", "gauge", last.memory.bytes as f64)?;
        plain(f, "memory_hits_total", "counter", last.memory.hits as f64)?;
        plain(
            f,
            "memory_misses_total",
            "counter",
            last.memory.misses as f64,
        )?;
        plain(f, "key_cache_bytes", "gauge", last.key_cache_bytes as f64)?;
        plain(
            f,
            "key_cache_hits_total",
            "counter",
            last.key_cache_hits as f64,
        )
    }
}
