//! `mldsa-archive verify`.

use core::num::NonZeroUsize;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use indicatif::{ProgressBar, ProgressStyle};
use mldsa_arrow::Verifier;
#[cfg(feature = "gpu")]
use mldsa_arrow::mldsa_gpu::{Choice, GpuOptions};
use serde::{Deserialize, Serialize};

use crate::child::{self, Done, Event, Job, Outcome};
use crate::columns::{ColumnArgs, digest};
use crate::input::{Identity, memory};
use crate::output::{self, parts_of};
use crate::state::{self, State, part};
use crate::summary::Summary;
use crate::{Failure, Status, files, named, names, say};

/// Verify the signatures of files
#[derive(clap::Args, Debug)]
#[command(after_long_help = HELP)]
pub(crate) struct Args {
    /// Parquet files, CSV (.csv) and JSON lines (.json, .jsonl, .ndjson), whose bytes are hex; patterns
    /// with * and ? in quotes name many, and a folder is its .parquet files
    #[arg(required = true)]
    files: Vec<PathBuf>,

    /// Write a verdict for each row: file, row, key, valid, reason. A run that was ended resumes
    #[arg(long, value_name = "PARQUET")]
    out: Option<PathBuf>,

    /// Worker threads [default: one per processor]
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,

    #[command(flatten)]
    options: Options,
}

/// What the process of each file gets.
#[derive(clap::Args, Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Options {
    #[command(flatten)]
    pub(crate) columns: ColumnArgs,

    /// Rows that a worker reads at once
    #[arg(long, value_name = "N", default_value = "4096")]
    pub(crate) batch_rows: NonZeroUsize,

    /// Memory for prepared keys of each parameter set
    #[arg(long, value_name = "MIB", default_value_t = 64)]
    key_cache: usize,

    /// Memory of the process that verifies a file, on Linux; a GPU needs more
    #[arg(long, value_name = "MIB", default_value_t = 4096)]
    memory: u64,

    /// Verify on a GPU (any, cuda or opencl; opencl-cpu is a test of the kernels); verdicts do not
    /// depend on it, and the CPU takes over where there is none
    #[cfg(feature = "gpu")]
    #[arg(long, value_name = "DEVICE", num_args = 0..=1, require_equals = true,
          default_missing_value = "any", value_parser = names::checked::<Choice>)]
    gpu: Option<String>,
}

impl Options {
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.memory.saturating_mul(1 << 20)
    }

    pub(crate) fn verifier(&self) -> Result<Verifier, Failure> {
        let bytes = self.key_cache.saturating_mul(1 << 20);
        let verifier = mldsa_arrow::Options::default().key_cache_bytes(bytes);
        #[cfg(feature = "gpu")]
        let verifier = match &self.gpu {
            Some(device) => verifier.gpu(&GpuOptions {
                // The thread that waits for the device has a batch of its own.
                threads: mldsa_arrow::batch_verify::Threads::Dedicated(1),
                on_fault: Some(|error| say(format_args!("on the CPU: {error}"))),
                ..GpuOptions::without_tables(device.parse()?)
            }),
            None => verifier,
        };
        Ok(verifier.build()?)
    }
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
    let files = names::expand(&args.files)?;
    let columns = &args.options.columns;
    let table_file = columns.table_file();
    if let Some(out) = &args.out {
        let paths = files.iter().map(PathBuf::as_path).chain(table_file);
        files::check_outputs(out, paths)?;
        files::check_replaceable(out)?;
    }
    let table = table_file.map(|file| Ok::<_, Failure>(digest(&memory(file)?)));
    let table = table.transpose()?;
    // Each file is read as it is now, or not at all.
    let identity = |path: &PathBuf| Identity::of(&fs::metadata(path)?);
    let identities = files.iter().map(identity).collect();
    let inputs = || state::inputs(&files, table.as_deref());
    let before = inputs();
    let state = match &args.out {
        Some(out) => {
            let plan = format!("{before}{columns:?} {}\n", args.options.batch_rows);
            Some(State::open(out, &plan)?)
        }
        None => None,
    };
    let threads = match args.threads {
        Some(threads) => threads.get(),
        None => thread::available_parallelism().map_or(1, usize::from),
    };
    let run = Run {
        args,
        files: &files,
        identities,
        table: &table,
        threads,
        next: AtomicUsize::new(0),
        done: Mutex::new(files.iter().map(|_| Done::default()).collect()),
        failures: AtomicUsize::new(0),
        stopped: Mutex::new(None),
        progress: progress(&files),
        started: Instant::now(),
    };
    run.all()?;
    let mut summary = Summary::default();
    summary.failures = run.failures.load(Relaxed) as u64;
    let done = core::mem::take(&mut *lock(&run.done));
    if inputs() != before {
        let error = "an input has changed since the run began";
        return Err(match &args.out {
            Some(out) => named(
                parts_of(out).display(),
                format!("{error}; remove the folder to begin again"),
            ),
            None => error.into(),
        });
    }
    let mut parts = Vec::new();
    for (file, done) in done.into_iter().enumerate() {
        summary.absorb(done.summary);
        for (unit, outcome) in done.units.into_iter().enumerate() {
            if let (Outcome::Verified(rows), Some(out)) = (outcome, &args.out) {
                parts.push((part(out, file, unit), rows));
            }
        }
    }
    if let (Some(out), Some(state)) = (&args.out, state) {
        let parts = parts
            .iter()
            .map(|(part, rows)| state.read(part, *rows, &mut summary));
        output::concatenate(out, parts)?;
        state.remove()?;
    }
    write!(std::io::stdout(), "{summary}")?;
    Ok(summary.status())
}

/// The files of a run. Each is verified in a process of its own.
struct Run<'a> {
    args: &'a Args,
    files: &'a [PathBuf],
    identities: Vec<Result<Identity, Failure>>,
    table: &'a Option<String>,
    threads: usize,
    /// The next file to begin.
    next: AtomicUsize,
    /// What became of each file.
    done: Mutex<Vec<Done>>,
    failures: AtomicUsize,
    /// Why the run cannot go on.
    stopped: Mutex<Option<Failure>>,
    progress: ProgressBar,
    started: Instant,
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn progress(files: &[PathBuf]) -> ProgressBar {
    let sizes = files
        .iter()
        .filter_map(|file| Some(fs::metadata(file).ok()?.len()));
    let progress = ProgressBar::new(sizes.sum());
    let style = ProgressStyle::with_template("{wide_bar} {percent} % {msg}, {eta} left");
    style.map_or(ProgressBar::hidden(), |style| progress.with_style(style))
}

impl Run<'_> {
    fn all(&self) -> Result<(), Failure> {
        thread::scope(|scope| {
            for _ in 1..self.processes() {
                // Where the system refuses a thread, the others do the work.
                let _ = thread::Builder::new().spawn_scoped(scope, || self.work());
            }
            self.work();
        });
        self.progress.finish_and_clear();
        match lock(&self.stopped).take() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    /// Returns how many files are verified at once.
    fn processes(&self) -> usize {
        #[cfg(feature = "gpu")]
        if self.args.options.gpu.is_some() {
            return 1;
        }
        self.threads.min(self.files.len()).max(1)
    }

    fn work(&self) {
        while lock(&self.stopped).is_none() {
            let n = self.next.fetch_add(1, Relaxed);
            let Some(path) = self.files.get(n) else {
                return;
            };
            let verified = self.file(n, path);
            if let Err(error) = verified {
                self.fail(named(path.display(), error));
                lock(&self.done)[n] = Done::default();
            }
        }
    }

    /// Counts a file or row group without verdicts.
    fn fail(&self, error: impl core::fmt::Display) {
        self.failures.fetch_add(1, Relaxed);
        self.progress.suspend(|| say(error));
    }

    fn file(&self, number: usize, path: &Path) -> Result<(), Failure> {
        let identity = self.identities[number].as_ref();
        let job = Job {
            path: path.to_owned(),
            identity: identity.map_err(ToString::to_string)?.clone(),
            options: self.args.options.clone(),
            table: self.table.clone(),
            out: self.args.out.clone(),
            number,
            threads: self.threads.div_ceil(self.processes()),
        };
        child::run(&job, &|event| match event {
            Event::Progress(bytes) => {
                self.progress.inc(bytes);
                let done = self.progress.position() as f64;
                let rate = done / self.started.elapsed().as_secs_f64().max(1e-9);
                self.progress.set_message(format!("{:.1} MB/s", rate / 1e6));
            }
            Event::Failed(error) => self.fail(error),
            Event::Stopped(error) => drop(lock(&self.stopped).get_or_insert(error.into())),
            Event::Done(done) => lock(&self.done)[number] = done,
        })
    }
}
