//! `mldsa-archive verify`.

use core::num::NonZeroUsize;
use core::sync::atomic::{AtomicBool, Ordering};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;

use arrow_array::{ArrayRef, RecordBatch, StringArray, UInt64Array};
use indicatif::{ProgressBar, ProgressStyle};
#[cfg(feature = "gpu")]
use mldsa_arrow::mldsa_gpu::{Choice, GpuOptions};
use mldsa_arrow::{KeyTable, Options, Verifier};

use crate::columns::ColumnArgs;
use crate::files;
use crate::output::{self, Output, parts_of};
use crate::patterns;
use crate::reading::Read;
use crate::source::{self, Batches, Unit};
use crate::state::{self, State};
use crate::summary::Summary;
use crate::{Failure, Status, named, say};

/// Verify the signatures of files
#[derive(clap::Args, Debug)]
#[command(after_long_help = HELP)]
pub(crate) struct Args {
    /// Parquet files, CSV (.csv) and JSON lines (.json, .jsonl, .ndjson), whose bytes are hex; patterns
    /// with * and ? in quotes name many
    #[arg(required = true)]
    files: Vec<PathBuf>,

    /// Write a verdict for each row: file, row, key, valid, reason. A run that was ended resumes
    #[arg(long, value_name = "PARQUET")]
    out: Option<PathBuf>,

    #[command(flatten)]
    columns: ColumnArgs,

    /// Worker threads [default: one per processor]
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,

    /// Rows that a worker reads at once
    #[arg(long, value_name = "N", default_value = "4096")]
    batch_rows: NonZeroUsize,

    /// Memory for prepared keys of each parameter set
    #[arg(long, value_name = "MIB", default_value_t = 64)]
    key_cache: usize,

    /// Verify on a GPU (any, cuda or opencl; opencl-cpu is a test of the kernels); verdicts do not
    /// depend on it, and the CPU takes over where there is none
    #[cfg(feature = "gpu")]
    #[arg(long, value_name = "DEVICE", num_args = 0..=1, require_equals = true,
          default_missing_value = "any")]
    gpu: Option<Choice>,
}

const HELP: &str = "SUMMARY  On standard output, a name and a count a line: rows, valid, each reason, files and row
groups that are unreadable, keys; then the keys with most rejected rows. A key is its id, or the first 16 bytes of the
SHA-256 of its encoding.

RESUME  With --out, the verdicts of each file or row group that is complete are kept in PARQUET.parts until the output
is written. The same command continues after a crash, and the output is the same, byte for byte. If the options, the
files or the contents of the key table are others, it is refused.

EXAMPLES
  mldsa-archive verify 'history/*.parquet' --out verdicts.parquet
  mldsa-archive verify log.jsonl --set ML-DSA-65 --context 'audit/v1'
  mldsa-archive verify votes.parquet --keys validators.parquet --id-column validator

EXIT CODE  0 every row is valid, 1 some row is invalid, 2 some row or file is unusable, there was no row
at all, or the run could not finish.";

pub(crate) fn run(args: &Args) -> Result<Status, Failure> {
    let files = patterns::expand(&args.files)?;
    let table_file = args.columns.table_file();
    let inputs = || state::inputs(&files, table_file);
    let before = match &args.out {
        Some(out) => {
            let paths = files.iter().map(PathBuf::as_path).chain(table_file);
            files::check_outputs(out, paths)?;
            files::check_replaceable(out)?;
            inputs()?
        }
        None => String::new(),
    };
    let table = args.columns.table()?;
    let verifier = Options::default().key_cache_bytes(args.key_cache.saturating_mul(1 << 20));
    #[cfg(feature = "gpu")]
    let verifier = match args.gpu {
        Some(device) => verifier.gpu(&GpuOptions {
            // The thread that waits for the device has a batch of its own.
            threads: mldsa_arrow::batch_verify::Threads::Dedicated(1),
            on_fault: Some(|error| say(format_args!("on the CPU: {error}"))),
            ..GpuOptions::without_tables(device)
        }),
        None => verifier,
    };
    let verifier = verifier.build()?;
    let job = Job {
        args,
        table: table.as_ref(),
        verifier: &verifier,
    };
    let mut summary = Summary::default();
    let (mut units, mut places) = (Vec::new(), Vec::new());
    for path in &files {
        match job.open(path) {
            Ok(found) => {
                let mut row = 0;
                for unit in found {
                    let file = path.display().to_string();
                    places.push(Place { file, row });
                    row += unit.rows.unwrap_or(0);
                    units.push(unit);
                }
            }
            Err(error) => {
                say(error);
                summary.failures += 1;
            }
        }
    }
    let options = format!("{:?} {}", args.columns, args.batch_rows);
    let state = match &args.out {
        Some(out) => {
            let plan = format!("{before}{options} {places:?}\n");
            Some(State::open(out, &plan, units.len())?)
        }
        None => None,
    };
    let run = Run {
        job: &job,
        units: &units,
        state: state.as_ref(),
        queue: Mutex::new((0, Vec::new())),
        summary: Mutex::new(summary),
        progress: progress(&units),
        outcomes: Mutex::new(vec![None; units.len()]),
        stopped: Mutex::new(None),
    };
    run.all()?;
    run.progress.finish_and_clear();
    let outcomes = run
        .outcomes
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    let mut summary = run
        .summary
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    if let (Some(out), Some(state)) = (&args.out, state) {
        if inputs()? != before {
            let why = "an input has changed since the run began; remove the folder to begin again";
            return Err(named(parts_of(out).display(), why));
        }
        let parts: Vec<_> = places.iter().zip(&units).zip(&outcomes).collect();
        merge(out, &state, &parts, &mut summary)?;
        state.remove()?;
    }
    write!(std::io::stdout(), "{summary}")?;
    Ok(summary.status())
}

fn progress(units: &[Unit]) -> ProgressBar {
    let progress = ProgressBar::new(units.iter().map(|unit| unit.bytes).sum());
    let style = ProgressStyle::with_template("{wide_bar} {percent} % {msg}, {eta} left");
    style.map_or(ProgressBar::hidden(), |style| progress.with_style(style))
}

/// What is verified, and how.
struct Job<'a> {
    args: &'a Args,
    table: Option<&'a KeyTable>,
    verifier: &'a Verifier,
}

impl Job<'_> {
    /// Opens a file and checks its columns.
    fn open(&self, path: &Path) -> Result<Vec<Unit>, Failure> {
        let source = source::open(path)?;
        if let Some(empty) = source.empty() {
            let inputs = self.args.columns.inputs(self.table)?;
            let checked = self.verifier.verify_batch(&empty, inputs);
            checked.map_err(|error| named(path.display(), error))?;
        }
        Ok(source.units())
    }

    fn verify(&self, read: &Read) -> Result<RecordBatch, Failure> {
        let inputs = self.args.columns.inputs(self.table)?;
        let verdicts = self.verifier.verify_batch(&read.batch, inputs)?;
        let signers = self.args.columns.signers(&read.batch)?;
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
enum Outcome {
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

impl Run<'_> {
    /// Verifies every unit that has no verdicts yet.
    fn all(&self) -> Result<(), Failure> {
        let workers = match self.job.args.threads {
            Some(threads) => threads.get(),
            None => thread::available_parallelism().map_or(1, usize::from),
        };
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
            let args = self.job.args;
            let unit = &self.units[active.unit];
            *reader = Reader::Open {
                batches: unit.read(&args.columns.wanted(), args.batch_rows.get())?,
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

/// Where a unit begins.
#[derive(Debug)]
struct Place {
    file: String,
    row: u64,
}

/// Tells whether a unit has other than the promised number of rows.
fn miscounted(unit: &Unit, rows: u64) -> Option<Failure> {
    let promised = unit.rows.filter(|promised| *promised != rows)?;
    Some(format!("it is damaged: {rows} rows, of which the footer promises {promised}").into())
}

/// Writes the output from the verdicts of the units, in their order. All that have not failed must be
/// there.
fn merge(
    out: &Path,
    state: &State,
    parts: &[((&Place, &Unit), &Option<Outcome>)],
    summary: &mut Summary,
) -> Result<(), Failure> {
    let mut output = Output::create(out);
    output.write(&numbered(&output::none()?, "", 0)?)?;
    for (n, ((place, unit), outcome)) in parts.iter().enumerate() {
        let verified = match outcome {
            Some(Outcome::Failed) => continue,
            Some(Outcome::Rows(rows)) => Some(*rows),
            None => None,
        };
        let (stored, batches) = state.read(n)?;
        let expected = unit.rows.or(verified).unwrap_or(stored);
        let mut count = 0;
        for rows in batches {
            let rows = rows?;
            summary.add(&rows)?;
            output.write(&numbered(&rows, &place.file, place.row + count)?)?;
            count += rows.num_rows() as u64;
        }
        if count != expected {
            let why = format!(
                "it is damaged: verdicts of {count} rows instead of {expected}; remove it to verify them again"
            );
            return Err(named(state.name(n), why));
        }
        output.flush()?;
    }
    output.finish()
}

/// Makes rows of verdicts with their file and their numbers, of which `row` is the first.
fn numbered(rows: &RecordBatch, file: &str, row: u64) -> Result<RecordBatch, Failure> {
    let count = rows.num_rows();
    let files = StringArray::from_iter_values(core::iter::repeat_n(file, count));
    let numbers = UInt64Array::from_iter_values(row..row + count as u64);
    let mut columns: Vec<(String, ArrayRef, bool)> = vec![
        ("file".into(), Arc::new(files), false),
        ("row".into(), Arc::new(numbers), false),
    ];
    let schema = rows.schema();
    let fields = schema.fields().iter().zip(rows.columns());
    columns.extend(
        fields.map(|(field, array)| (field.name().clone(), Arc::clone(array), field.is_nullable())),
    );
    Ok(RecordBatch::try_from_iter_with_nullable(columns)?)
}
