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
use mldsa_arrow::{KeyTable, Options, Verifier};

use crate::columns::ColumnArgs;
use crate::output::{self, Output};
use crate::reading::Read;
use crate::source::{self, Batches, Unit};
use crate::state::State;
use crate::summary::Summary;
use crate::{Failure, Status, named, say};

/// Verify the signatures of files
#[derive(clap::Args, Debug)]
#[command(after_long_help = HELP)]
pub(crate) struct Args {
    /// Parquet files, CSV (.csv) and JSON lines (.json, .jsonl, .ndjson), whose bytes are hex; patterns
    /// with * and ? in quotes name many
    #[arg(required = true)]
    files: Vec<String>,

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
}

const HELP: &str = "SUMMARY  On standard output, a name and a count a line: rows, valid, each reason, files and row
groups that are unreadable, keys; then the keys with most rejected rows. A key is its id, or the first 16 bytes of the
SHA-256 of its encoding.

RESUME  With --out, the verdicts of each file or row group that is complete are kept in PARQUET.parts until the output
is written. The same command continues after a crash, and the output is the same, byte for byte.

EXAMPLES
  mldsa-archive verify 'history/*.parquet' --out verdicts.parquet
  mldsa-archive verify log.jsonl --set ML-DSA-65 --context 'audit/v1'
  mldsa-archive verify votes.parquet --keys validators.parquet --id-column validator

EXIT CODE  0 every row is valid, 1 some row is invalid, 2 some row or file is unusable, there was no row
at all, or the run could not finish.";

pub(crate) fn run(args: &Args) -> Result<Status, Failure> {
    let files = expand(&args.files)?;
    let table = args.columns.table()?;
    let verifier = Options::default()
        .key_cache_bytes(args.key_cache << 20)
        .build()?;
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
        Some(out) => Some(State::open(out, &files, &format!("{options} {places:?}"))?),
        None => None,
    };
    let run = Run {
        job: &job,
        units: &units,
        state: state.as_ref(),
        queue: Mutex::new((0, Vec::new())),
        summary: Mutex::new(summary),
        progress: progress(&units),
        stopped: Mutex::new(None),
    };
    run.all()?;
    run.progress.finish_and_clear();
    let mut summary = run
        .summary
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    if let (Some(out), Some(state)) = (&args.out, state) {
        merge(out, &state, &places, &mut summary)?;
        state.remove()?;
    }
    write!(std::io::stdout(), "{summary}")?;
    Ok(summary.status())
}

/// The files of names and patterns, each once, in the order of their names for a pattern.
fn expand(patterns: &[String]) -> Result<Vec<PathBuf>, Failure> {
    let mut files = Vec::<PathBuf>::new();
    for pattern in patterns {
        let path = PathBuf::from(pattern);
        // A name with brackets is a name.
        let found = match path.exists() {
            true => vec![path],
            false => glob::glob(pattern)?.collect::<Result<_, _>>()?,
        };
        if found.is_empty() {
            return Err(named(pattern, "there is no such file"));
        }
        for path in found {
            if !files.contains(&path) {
                files.push(path);
            }
        }
    }
    Ok(files)
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

#[derive(Default)]
struct Results {
    rows: BTreeMap<usize, RecordBatch>,
    failed: Option<Failure>,
    /// Batches that workers have.
    pending: usize,
    closed: bool,
}

struct Run<'a> {
    job: &'a Job<'a>,
    units: &'a [Unit],
    state: Option<&'a State>,
    /// The next unit to begin, and those that are not exhausted.
    queue: Mutex<(usize, Vec<Arc<Active>>)>,
    summary: Mutex<Summary>,
    progress: ProgressBar,
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
                self.progress.inc(self.units[unit].bytes);
                continue;
            }
            let unit = Arc::new(Active {
                unit,
                reader: Mutex::new(Reader::New),
                exhausted: AtomicBool::new(false),
                results: Mutex::default(),
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
                Ok((n, rows)) => drop(results.rows.insert(n, rows)),
                Err(error) => {
                    active.exhausted.store(true, Ordering::Relaxed);
                    results.failed.get_or_insert(error);
                }
            }
        }
        let ended = active.exhausted.load(Ordering::Relaxed) && results.pending == 0;
        if !ended || core::mem::replace(&mut results.closed, true) {
            return Ok(());
        }
        let results = core::mem::take(&mut *results);
        let unit = &self.units[active.unit];
        if let Some(error) = results.failed {
            self.progress.suspend(|| say(named(unit.name(), error)));
            lock(&self.summary).failures += 1;
            return Ok(());
        }
        let rows: Vec<_> = results.rows.into_values().collect();
        match self.state {
            Some(state) => state.write(active.unit, &rows),
            None => rows
                .iter()
                .try_for_each(|rows| lock(&self.summary).add(rows)),
        }
    }

    /// The next batch of a unit, and its position. The batch is pending until its result is there, and
    /// so is an error.
    fn take(&self, active: &Active) -> Result<Option<(usize, Read)>, Failure> {
        let mut reader = lock(&active.reader);
        if active.exhausted.load(Ordering::Relaxed) {
            return Ok(None);
        }
        lock(&active.results).pending += 1;
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
        active.exhausted.store(true, Ordering::Relaxed);
        lock(&active.results).pending -= 1;
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

/// Writes the output from the verdicts of the units, in their order.
fn merge(
    out: &Path,
    state: &State,
    places: &[Place],
    summary: &mut Summary,
) -> Result<(), Failure> {
    let mut output = Output::create(out);
    output.write(&numbered(&output::none()?, "", 0)?)?;
    for (unit, Place { file, row }) in places
        .iter()
        .enumerate()
        .filter(|(unit, _)| state.has(*unit))
    {
        let mut row = *row;
        for rows in state.read(unit)? {
            let rows = rows?;
            summary.add(&rows)?;
            output.write(&numbered(&rows, file, row)?)?;
            row += rows.num_rows() as u64;
        }
        output.flush()?;
    }
    output.finish()
}

/// Rows of verdicts with their file and their numbers, of which `row` is the first.
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
