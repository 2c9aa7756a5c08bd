//! Workers that verify the units of a run.

use core::sync::atomic::{AtomicBool, Ordering};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;

use arrow_array::RecordBatch;
use indicatif::{ProgressBar, ProgressStyle};
use mldsa_arrow::{KeyTable, Verifier};

use crate::columns::ColumnArgs;
use crate::output::{self, Output};
use crate::reading::Read;
use crate::source::{self, Batches, Unit};
use crate::state::State;
use crate::summary::Summary;
use crate::{Failure, named, say};

/// What is verified, and how.
pub(crate) struct Job<'a> {
    pub(crate) columns: &'a ColumnArgs,
    pub(crate) table: Option<&'a KeyTable>,
    pub(crate) verifier: &'a Verifier,
    pub(crate) batch_rows: usize,
    pub(crate) workers: usize,
}

impl Job<'_> {
    /// Opens a file and checks its columns.
    pub(crate) fn open(&self, path: &Path) -> Result<Vec<Unit>, Failure> {
        let source = source::open(path)?;
        if let Some(empty) = source.empty() {
            let inputs = self.columns.inputs(self.table)?;
            let checked = self.verifier.verify_batch(&empty, inputs);
            checked.map_err(|error| named(path.display(), error))?;
        }
        Ok(source.units())
    }

    fn verify(&self, read: &Read) -> Result<RecordBatch, Failure> {
        let inputs = self.columns.inputs(self.table)?;
        let verdicts = self.verifier.verify_batch(&read.batch, inputs)?;
        let signers = self.columns.signers(&read.batch)?;
        output::rows(&verdicts, &read.malformed, &signers)
    }
}

/// A unit that workers are verifying. They take batches in turn, so that one large row group has
/// all of them.
struct Active {
    unit: usize,
    reader: Mutex<Reader>,
    /// Whether there are no more batches.
    exhausted: AtomicBool,
    results: Mutex<Results>,
}

enum Reader {
    New,
    Open { batches: Batches, next: usize },
    Ended,
}

/// Where the verdicts of a unit go.
enum Sink {
    Part(Box<Output>),
    Summary(Summary),
}

impl Sink {
    fn add(&mut self, rows: &RecordBatch) -> Result<(), Failure> {
        match self {
            Self::Part(output) => output.write(rows),
            Self::Summary(summary) => summary.add(rows),
        }
    }
}

struct Results {
    /// Verdicts that wait for those of earlier batches.
    waiting: BTreeMap<usize, RecordBatch>,
    /// Takes the verdicts in order. It is dropped when the unit has failed.
    sink: Option<Sink>,
    /// Batches, and rows, that the sink has.
    batches: usize,
    rows: u64,
    failed: Option<Failure>,
    /// Batches that workers have.
    pending: usize,
    closed: bool,
}

impl Results {
    fn new(sink: Sink) -> Self {
        Self {
            waiting: BTreeMap::new(),
            sink: Some(sink),
            batches: 0,
            rows: 0,
            failed: None,
            pending: 0,
            closed: false,
        }
    }

    /// Takes the verdicts of a batch, and gives the sink those that are next.
    fn accept(&mut self, n: usize, rows: RecordBatch) -> Result<(), Failure> {
        let Some(sink) = &mut self.sink else {
            return Ok(());
        };
        self.waiting.insert(n, rows);
        while let Some(rows) = self.waiting.remove(&self.batches) {
            sink.add(&rows)?;
            self.batches += 1;
            self.rows += rows.num_rows() as u64;
        }
        Ok(())
    }

    /// Gives up the verdicts of the unit.
    fn discard(&mut self) {
        self.sink = None;
        self.waiting.clear();
    }
}

/// What became of a unit in this run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Failed,
    /// The verdicts of so many rows are there.
    Rows(u64),
}

struct Run<'a> {
    job: &'a Job<'a>,
    units: &'a [Unit],
    state: Option<&'a State>,
    /// The next unit to begin, and those that are not exhausted.
    queue: Mutex<(usize, Vec<Arc<Active>>)>,
    summary: Mutex<Summary>,
    progress: ProgressBar,
    /// Outcome of each unit that was verified.
    outcomes: Mutex<Vec<Option<Outcome>>>,
    /// Why the run cannot go on.
    stopped: Mutex<Option<Failure>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Verifies every unit that has no verdicts yet. Returns the summary with theirs, and what became of each.
pub(crate) fn verify(
    job: &Job<'_>,
    units: &[Unit],
    state: Option<&State>,
    summary: Summary,
) -> Result<(Summary, Vec<Option<Outcome>>), Failure> {
    let run = Run {
        job,
        units,
        state,
        queue: Mutex::new((0, Vec::new())),
        summary: Mutex::new(summary),
        progress: progress(units),
        outcomes: Mutex::new(vec![None; units.len()]),
        stopped: Mutex::new(None),
    };
    run.all()?;
    run.progress.finish_and_clear();
    let outcomes = core::mem::take(&mut *lock(&run.outcomes));
    let summary = core::mem::take(&mut *lock(&run.summary));
    Ok((summary, outcomes))
}

fn progress(units: &[Unit]) -> ProgressBar {
    let progress = ProgressBar::new(units.iter().map(|unit| unit.bytes).sum());
    let style = ProgressStyle::with_template("{wide_bar} {percent} % {msg}, {eta} left");
    style.map_or(ProgressBar::hidden(), |style| progress.with_style(style))
}

impl Run<'_> {
    /// Verifies every unit that has no verdicts yet.
    fn all(&self) -> Result<(), Failure> {
        let workers = self.job.workers;
        let started = Instant::now();
        thread::scope(|scope| {
            for _ in 1..workers {
                // Where the system refuses a thread, the others do the work.
                let _ = thread::Builder::new().spawn_scoped(scope, || self.work(workers, started));
            }
            self.work(workers, started);
        });
        match lock(&self.stopped).take() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    fn work(&self, workers: usize, started: Instant) {
        let mut turn = 0;
        while let Some(active) = self.next_unit(workers, &mut turn) {
            if let Err(error) = self.step(&active, started) {
                lock(&self.stopped).get_or_insert(error);
            }
        }
    }

    /// Begins a unit, or takes part in one.
    fn next_unit(&self, workers: usize, turn: &mut usize) -> Option<Arc<Active>> {
        if lock(&self.stopped).is_some() {
            return None;
        }
        let mut queue = lock(&self.queue);
        let (next, active) = &mut *queue;
        active.retain(|unit| !unit.exhausted.load(Ordering::Relaxed));
        while active.len() < workers && *next < self.units.len() {
            let unit = *next;
            *next += 1;
            if self.state.is_some_and(|state| state.has(unit)) {
                // The rate and the remaining time are those of this run.
                self.progress.dec_length(self.units[unit].bytes);
                continue;
            }
            let unit = Arc::new(Active {
                unit,
                reader: Mutex::new(Reader::New),
                exhausted: AtomicBool::new(false),
                results: Mutex::new(Results::new(match self.state {
                    Some(state) => Sink::Part(Box::new(state.begin(unit))),
                    None => Sink::Summary(Summary::default()),
                })),
            });
            active.push(Arc::clone(&unit));
            return Some(unit);
        }
        *turn += 1;
        let count = active.len();
        (count > 0).then(|| Arc::clone(&active[*turn % count]))
    }

    /// Verifies one batch of a unit, and ends the unit after the last one.
    fn step(&self, active: &Active, started: Instant) -> Result<(), Failure> {
        let taken = self.take(active);
        let verified = match taken {
            Ok(None) => None,
            Ok(Some((n, read))) => {
                let rows = self.job.verify(&read);
                self.advance(
                    active,
                    rows.as_ref().map_or(0, RecordBatch::num_rows),
                    started,
                );
                Some(rows.map(|rows| (n, rows)))
            }
            Err(error) => Some(Err(error)),
        };
        let mut results = lock(&active.results);
        if let Some(verified) = verified {
            results.pending -= 1;
            match verified {
                Ok((n, rows)) => {
                    if let Err(error) = results.accept(n, rows) {
                        // The run stops, and no other worker completes the unit.
                        active.exhausted.store(true, Ordering::Relaxed);
                        results.closed = true;
                        results.discard();
                        return Err(error);
                    }
                }
                Err(error) => {
                    active.exhausted.store(true, Ordering::Relaxed);
                    results.discard();
                    results.failed.get_or_insert(error);
                }
            }
        }
        let ended = active.exhausted.load(Ordering::Relaxed) && results.pending == 0;
        if !ended || core::mem::replace(&mut results.closed, true) {
            return Ok(());
        }
        let (sink, rows) = (results.sink.take(), results.rows);
        let failed = results.failed.take();
        drop(results);
        self.close(active.unit, sink, rows, failed)
    }

    /// Ends a unit, of which `rows` rows are verified.
    fn close(
        &self,
        n: usize,
        sink: Option<Sink>,
        rows: u64,
        failed: Option<Failure>,
    ) -> Result<(), Failure> {
        let unit = &self.units[n];
        let failed = failed.or_else(|| miscounted(unit, rows));
        let outcome = match (failed, sink) {
            (Some(error), _) => {
                self.progress.suspend(|| say(named(unit.name(), error)));
                lock(&self.summary).failures += 1;
                Outcome::Failed
            }
            (None, Some(Sink::Part(mut output))) => {
                // A unit without rows has a part too.
                output.write(&output::none()?)?;
                (*output).finish()?;
                Outcome::Rows(rows)
            }
            (None, Some(Sink::Summary(summary))) => {
                lock(&self.summary).absorb(summary);
                Outcome::Rows(rows)
            }
            (None, None) => return Err(named(unit.name(), "its verdicts are lost")),
        };
        lock(&self.outcomes)[n] = Some(outcome);
        Ok(())
    }

    /// Takes the next batch of a unit, and its position. The batch is pending until its result is
    /// there, and so is an error.
    fn take(&self, active: &Active) -> Result<Option<(usize, Read)>, Failure> {
        let mut reader = lock(&active.reader);
        {
            // Who ends the unit has this lock too.
            let mut results = lock(&active.results);
            results.pending += 1;
            if active.exhausted.load(Ordering::Relaxed) {
                results.pending -= 1;
                return Ok(None);
            }
        }
        if matches!(*reader, Reader::New) {
            let unit = &self.units[active.unit];
            *reader = Reader::Open {
                batches: unit.read(&self.job.columns.wanted(), self.job.batch_rows)?,
                next: 0,
            };
        }
        if let Reader::Open { batches, next } = &mut *reader
            && let Some(read) = batches.next()
        {
            *next += 1;
            return Ok(Some((*next - 1, read?)));
        }
        *reader = Reader::Ended;
        let mut results = lock(&active.results);
        active.exhausted.store(true, Ordering::Relaxed);
        results.pending -= 1;
        Ok(None)
    }

    fn advance(&self, active: &Active, rows: usize, started: Instant) {
        let unit = &self.units[active.unit];
        // The rows of text are not known before they are read.
        let all = unit.rows.unwrap_or(u64::MAX).max(1);
        let bytes = unit.bytes as f64 * rows as f64 / all as f64;
        self.progress.inc(bytes as u64);
        let done = self.progress.position() as f64;
        let rate = done / started.elapsed().as_secs_f64().max(1e-9);
        self.progress.set_message(format!("{:.1} MB/s", rate / 1e6));
    }
}

/// Tells whether a unit has other than the promised number of rows.
fn miscounted(unit: &Unit, rows: u64) -> Option<Failure> {
    let promised = unit.rows.filter(|promised| *promised != rows)?;
    Some(format!("it is damaged: {rows} rows, of which the footer promises {promised}").into())
}
