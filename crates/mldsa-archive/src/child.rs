//! The verification of one file, in a process of its own: what a hostile file does to a decoder costs that file.

use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{self, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;

use arrow_array::RecordBatch;
use bytes::Bytes;
use mldsa_arrow::{Column, ContextOf, Id, Inputs, KeyOf, MessageOf, SetOf, Verifier};
use serde::{Deserialize, Serialize};

use crate::columns::Wanted;
use crate::input::{Identity, Opened, memory};
use crate::output::{self, Output};
use crate::source::{Read, Source, Unit};
use crate::state::part;
use crate::summary::Summary;
use crate::verify::Options;
use crate::{Failure, named, names, say};

/// The argument that makes a process verify a file, as a line of its standard input says.
pub(crate) const COMMAND: &str = "verify-one-file";

/// A file that is to be verified.
#[derive(Serialize, Deserialize)]
pub(crate) struct Job {
    /// Paths are no text: they are arguments.
    #[serde(skip)]
    pub(crate) path: PathBuf,
    pub(crate) identity: Identity,
    pub(crate) options: Options,
    /// SHA-256 of the table of keys.
    pub(crate) table: Option<String>,
    /// The output, of which verdicts are parts, and the number of the file.
    #[serde(skip)]
    pub(crate) out: Option<PathBuf>,
    pub(crate) number: usize,
    pub(crate) threads: usize,
}

/// What a process reports, one a line.
#[derive(Serialize, Deserialize)]
pub(crate) enum Event {
    /// So many bytes are verified.
    Progress(u64),
    /// The file, or a row group of it, has no verdicts.
    Failed(String),
    /// The run cannot go on.
    Stopped(String),
    /// The file is verified.
    Done(Done),
}

#[derive(Default, Serialize, Deserialize)]
pub(crate) struct Done {
    pub(crate) units: Vec<Outcome>,
    /// Counts of all units; with parts, only of pages.
    pub(crate) summary: Summary,
}

/// What became of a unit.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) enum Outcome {
    #[default]
    Failed,
    /// Its verdicts are there, of so many rows where that is known.
    Verified(Option<u64>),
}

/// Verifies a file in a process. Where the system refuses one, that is done here.
///
/// # Errors
/// The process ended before it was done.
pub(crate) fn run(job: &Job, events: &(dyn Fn(Event) + Sync)) -> Result<(), Failure> {
    let line = serde_json::to_string(job)?;
    let program = match cfg!(target_os = "linux") {
        // The program that runs, even if its file has been replaced.
        true => PathBuf::from("/proc/self/exe"),
        false => std::env::current_exe()?,
    };
    let optional = |path: &Option<PathBuf>| path.clone().unwrap_or_default();
    let mut command = Command::new(program);
    command
        .arg(COMMAND)
        .args([
            job.path.clone(),
            optional(&job.options.columns.keys),
            optional(&job.out),
        ])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            let file = job.path.display();
            eprintln!(
                "mldsa-archive: {file} is verified in this process, without --memory: {error}"
            );
            verify(job, events);
            return Ok(());
        }
    };
    let mut is_done = false;
    let mut talk = || {
        let (Some(mut input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Ok(());
        };
        writeln!(input, "{line}")?;
        for line in BufReader::new(output).lines() {
            let event = serde_json::from_str(&line?)?;
            is_done |= !matches!(event, Event::Progress(_) | Event::Failed(_));
            events(event);
        }
        // The process lives no longer than its standard input.
        drop(input);
        Ok::<_, io::Error>(())
    };
    let talked = talk();
    if talked.is_err() {
        let _ = child.kill();
    }
    let status = child.wait()?;
    match is_done && status.success() {
        true => Ok(()),
        false => {
            Err(format!("the process that verified it ended: {status}; is --memory enough?").into())
        }
    }
}

/// Runs in the process of a file. The arguments are the file, the table of keys and the output, or empty.
pub(crate) fn main(mut paths: impl Iterator<Item = OsString>) -> Result<(), Failure> {
    let mut line = String::new();
    io::stdin().read_line(&mut line)?;
    let mut job: Job = serde_json::from_str(&line)?;
    let [path, keys, out] = [(); 3].map(|()| paths.next().map(PathBuf::from).unwrap_or_default());
    let named = |path: PathBuf| Some(path).filter(|path| !path.as_os_str().is_empty());
    job.path = path;
    job.options.columns.keys = named(keys);
    job.out = named(out);
    limit(job.options.memory_bytes());
    // A panic of a decoder is an error, which is reported.
    std::panic::set_hook(Box::new(|_| {}));
    // When the run is gone, nobody else may write the verdicts.
    let watch = thread::Builder::new().spawn(|| {
        let _ = io::stdin().read_line(&mut String::new());
        process::exit(2);
    });
    drop(watch);
    verify(&job, &|event| {
        if let Ok(line) = serde_json::to_string(&event) {
            let _ = writeln!(io::stdout(), "{line}");
        }
    });
    Ok(())
}

/// Bounds the memory of this process, and what is written when it is ended.
fn limit(bytes: u64) {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        #[cfg(target_os = "linux")]
        let memory = Resource::Data;
        #[cfg(not(target_os = "linux"))]
        let memory = Resource::As;
        for (resource, most) in [(memory, bytes), (Resource::Core, 0)] {
            let maximum = getrlimit(resource)
                .maximum
                .map_or(most, |known| known.min(most));
            let limit = Rlimit {
                current: Some(maximum),
                maximum: Some(maximum),
            };
            if let Err(error) = setrlimit(resource, limit) {
                say(format_args!("without a limit of memory: {error}"));
            }
        }
    }
    #[cfg(not(unix))]
    let _ = bytes;
}

/// Verifies a file.
fn verify(job: &Job, events: &(dyn Fn(Event) + Sync)) {
    let failed = |error| events(Event::Failed(named(job.path.display(), error).to_string()));
    let done = Opened::new(&job.path, &job.identity).and_then(|opened| {
        let bytes = job
            .options
            .columns
            .table_file()
            .map(|file| table(file, job))
            .transpose()?;
        let table = job.options.columns.table(bytes.unwrap_or_default())?;
        let inputs = job
            .options
            .columns
            .inputs(table.as_ref().map(|table| &table.keys))?;
        let has_integers = table.as_ref().is_some_and(|table| table.has_integers);
        let wanted = Wanted::of(&inputs);
        let source = Source::open(opened.input(), &job.path, wanted, has_integers)?;
        let verifier = job.options.verifier()?;
        if let Some(empty) = source.empty()? {
            verifier.verify_batch(&empty, inputs)?;
        }
        let units = source.units();
        opened.check()?;
        let run = Run {
            job,
            events,
            opened: &opened,
            inputs,
            source: &source,
            verifier: &verifier,
            units: &units,
            next: AtomicUsize::new(0),
            done: Mutex::new(Done {
                units: vec![Outcome::Failed; units.len()],
                ..Done::default()
            }),
            without_checksum: AtomicU64::new(0),
            stopped: Mutex::new(None),
        };
        run.all()
    });
    match done {
        Ok(Ok(done)) => events(Event::Done(done)),
        Ok(Err(stopped)) => events(Event::Stopped(stopped.to_string())),
        Err(error) => {
            failed(error);
            events(Event::Done(Done::default()));
        }
    }
}

/// Reads the table of keys, which is the one that the run began with.
fn table(file: &std::path::Path, job: &Job) -> Result<Bytes, Failure> {
    let bytes = memory(file)?;
    match job.table == Some(crate::columns::digest(&bytes)) {
        true => Ok(bytes),
        false => Err(named(file.display(), "it has changed since the run began")),
    }
}

/// Where the verdicts of a unit go.
enum Sink {
    Part(Box<Output>),
    Summary(Summary),
}

struct Run<'a> {
    job: &'a Job,
    events: &'a (dyn Fn(Event) + Sync),
    opened: &'a Opened<'a>,
    inputs: Inputs<'a, &'a str>,
    source: &'a Source,
    verifier: &'a Verifier,
    units: &'a [Unit],
    /// The next unit to begin.
    next: AtomicUsize,
    done: Mutex<Done>,
    without_checksum: AtomicU64,
    /// Why the run cannot go on.
    stopped: Mutex<Option<Failure>>,
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Why a unit has no verdicts.
enum Why {
    Unreadable(Failure),
    Stopped(Failure),
}

impl<E: Into<Failure>> From<E> for Why {
    fn from(error: E) -> Self {
        Self::Unreadable(error.into())
    }
}

impl Run<'_> {
    /// Verifies every unit that has no verdicts yet: each on one thread, in order.
    fn all(self) -> Result<Result<Done, Failure>, Failure> {
        thread::scope(|scope| {
            for _ in 1..self.job.threads.min(self.units.len()) {
                // Where the system refuses a thread, the others do the work.
                let _ = thread::Builder::new().spawn_scoped(scope, || self.work());
            }
            self.work();
        });
        if let Some(error) = lock(&self.stopped).take() {
            return Ok(Err(error));
        }
        self.opened.check()?;
        let mut done = core::mem::take(&mut *lock(&self.done));
        done.summary.without_checksum = self.without_checksum.load(Relaxed);
        Ok(Ok(done))
    }

    fn work(&self) {
        // A file that has changed is reported once, by the caller.
        while lock(&self.stopped).is_none() && self.opened.check().is_ok() {
            let n = self.next.fetch_add(1, Relaxed);
            if n >= self.units.len() {
                return;
            }
            match self.unit(n) {
                Ok(rows) => lock(&self.done).units[n] = Outcome::Verified(rows),
                Err(Why::Stopped(error)) => drop(lock(&self.stopped).get_or_insert(error)),
                Err(Why::Unreadable(error)) if self.opened.check().is_ok() => {
                    let name = self.job.path.display().to_string() + &self.source.unit_name(n);
                    (self.events)(Event::Failed(named(name, error).to_string()));
                }
                Err(Why::Unreadable(_)) => return,
            }
        }
    }

    /// Verifies a unit, and returns how many rows it has, if that is known.
    fn unit(&self, n: usize) -> Result<Option<u64>, Why> {
        let unit = &self.units[n];
        let group = self.source.group(n)?;
        let unchecked = group.as_ref().map_or(0, |group| group.without_checksum());
        self.without_checksum.fetch_add(unchecked, Relaxed);
        let mut sink = match &self.job.out {
            None => Sink::Summary(Summary::default()),
            Some(out) => {
                let part = part(out, self.job.number, n);
                if part
                    .try_exists()
                    .map_err(|error| Why::Stopped(error.into()))?
                {
                    (self.events)(Event::Progress(unit.bytes));
                    return Ok(unit.rows);
                }
                let mut temporary = part.clone().into_os_string();
                // Another process may not have ended yet.
                temporary.push(format!(".{}.tmp", process::id()));
                let output = Output::create(&part, temporary.into(), output::schema());
                Sink::Part(Box::new(output.map_err(Why::Stopped)?))
            }
        };
        let before = self.units[..n].iter();
        let first: u64 = before.filter_map(|unit| unit.rows).sum();
        let mut count = 0;
        for read in self
            .source
            .read(group.as_ref(), self.job.options.batch_rows.get())?
        {
            let rows = self.rows(&read?, first + count)?;
            match &mut sink {
                Sink::Part(output) => output.write(&rows).map_err(Why::Stopped)?,
                Sink::Summary(summary) => summary.add(&rows)?,
            }
            count += rows.num_rows() as u64;
            // The rows of text are not known before they are read.
            let all = unit.rows.map_or(u128::MAX, u128::from).max(1);
            let done = u128::from(unit.bytes) * rows.num_rows() as u128 / all;
            (self.events)(Event::Progress(done as u64));
        }
        if let Some(promised) = unit.rows.filter(|promised| *promised != count) {
            let why =
                format!("it is damaged: {count} rows, of which the footer promises {promised}");
            return Err(Why::Unreadable(why.into()));
        }
        self.opened.check()?;
        match sink {
            Sink::Part(output) => output.finish().map_err(Why::Stopped)?,
            Sink::Summary(summary) => lock(&self.done).summary.absorb(summary),
        }
        Ok(Some(count))
    }

    fn rows(&self, read: &Read, first: u64) -> Result<RecordBatch, Failure> {
        self.charge(&read.batch)?;
        let verdicts = self.verifier.verify_batch(&read.batch, self.inputs)?;
        let signers = self.job.options.columns.signers(&read.batch)?;
        let file = names::label(&self.job.path);
        output::rows(&file, first, &verdicts, &read.malformed, &signers)
    }

    /// Counts the ids and texts of rows, which are compared, and the messages that are hashed. What is hashed once
    /// for rows that share it counts once where they follow each other.
    fn charge(&self, batch: &RecordBatch) -> Result<(), Failure> {
        let (KeyOf::Column(key) | KeyOf::Table(key, _)) = self.inputs.key;
        let column = |name| batch.column_by_name(name).ok_or("a column is missing");
        let mut compared = vec![key, self.job.options.columns.signer_column()];
        if let SetOf::Column(set) = self.inputs.set {
            compared.push(set);
        }
        compared.sort_unstable();
        compared.dedup();
        for name in compared {
            let ids = Column::new(name, column(name)?).ids()?.into_iter();
            let lens = ids.map(|id| match id {
                Some(Id::Bytes(id)) => id.len() as u64,
                _ => 0,
            });
            self.source.work.charge(lens.sum())?;
        }
        let MessageOf::Message(name, ContextOf::All(_) | ContextOf::Column(_)) =
            self.inputs.message
        else {
            return Ok(());
        };
        let messages = Column::new(name, column(name)?).bytes()?;
        let signers = Column::new(key, column(key)?).ids()?;
        let mut last = None;
        let mut sum = 0;
        for (message, signer) in messages.into_iter().zip(signers) {
            let Some(message) = message else { continue };
            let row = (message.as_ptr(), signer);
            if last.replace(row) != Some(row) {
                sum += message.len() as u64;
            }
        }
        self.source.work.charge(sum)
    }
}
