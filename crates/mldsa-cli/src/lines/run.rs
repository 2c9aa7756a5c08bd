//! Shared parts of the commands over JSON lines: arguments, input, workers, output.

use core::iter;
use core::sync::atomic::{AtomicUsize, Ordering};
use std::fs::File;
#[cfg(feature = "progress")]
use std::io::IsTerminal;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use batch_verify::ThreadPool;
#[cfg(feature = "progress")]
use indicatif::{ProgressBar, ProgressStyle};

use crate::file::input;
use crate::file::paths::Files;
use crate::lines::fields::{Fields, LineError, LineReader};
use crate::terminal::{escaped, output_error};

#[derive(clap::Args)]
pub(crate) struct BatchArgs {
    /// One JSON object a line; - is standard input. Lines are answered as soon as
    /// no more input is ready
    file: PathBuf,

    /// Worker threads [default: one per processor]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,

    /// Accept HashML-DSA with a hash that is weaker than the parameter set
    #[arg(long)]
    pub(crate) allow_weak_prehash: bool,

    /// Lines with more bytes than this are errors; bounds the memory
    #[arg(long, value_name = "BYTES", default_value_t = 1 << 20,
          value_parser = clap::value_parser!(u32).range(1..=1 << 30))]
    max_line: u32,
}

/// The form of an answer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// `{"line":n,`, the `id` of the line if it has one, the answer and `}`.
    Json,
    /// `line n: `, or `line n (id): `, and the answer. An empty answer takes no line.
    Text,
}

/// A run over the lines of one input.
pub(crate) struct LineBatch {
    pub(crate) pool: ThreadPool,
    path: PathBuf,
    reader: LineReader<File>,
    output: BufWriter<File>,
    #[cfg(feature = "progress")]
    progress: ProgressBar,
    started: Instant,
    lines: u64,
}

impl BatchArgs {
    pub(crate) fn files(&self) -> Files<'_> {
        Files::default().read([&*self.file]).print()
    }

    /// Opens the input and starts the workers. Chunks have at most `max_lines` lines. Answers go to
    /// `output`.
    pub(crate) fn open(&self, max_lines: usize, output: io::Result<File>) -> io::Result<LineBatch> {
        let output = output.map_err(|error| output_error(&error))?;
        let cpus = || thread::available_parallelism().map_or(1, usize::from);
        let threads = self.threads.map_or_else(cpus, usize::from);
        let pool = ThreadPool::new(threads)
            .map_err(|_| io::Error::other(format!("{threads} threads could not be started")))?;
        let file = input::open(&self.file)?;
        // A chunk has all lines that have arrived: more than fit into a pipe of the default size.
        #[cfg(all(target_os = "linux", feature = "files"))]
        let _ = rustix::pipe::fcntl_setpipe_size(&file, 1 << 20);
        Ok(LineBatch {
            pool,
            path: self.file.clone(),
            #[cfg(feature = "progress")]
            progress: progress_bar(&file),
            reader: LineReader::new(file, self.max_line as usize, max_lines),
            output: BufWriter::new(output),
            started: Instant::now(),
            lines: 0,
        })
    }
}

/// Calls `work` with each number below `count` on as many threads as the pool has, and returns the
/// results in order.
pub(crate) fn map<T: Send>(
    pool: &ThreadPool,
    count: usize,
    work: impl Fn(usize) -> T + Sync,
) -> Vec<T> {
    let (next, results) = (AtomicUsize::new(0), Mutex::new(Vec::with_capacity(count)));
    let run = || {
        let numbers = || Some(next.fetch_add(1, Ordering::Relaxed)).filter(|n| *n < count);
        let mut own: Vec<_> = iter::from_fn(numbers).map(|n| (n, work(n))).collect();
        let mut results = results.lock().unwrap_or_else(PoisonError::into_inner);
        results.append(&mut own);
    };
    thread::scope(|scope| {
        for _ in 1..pool.threads().min(count) {
            // What a thread that is refused would do is left to the others.
            let _ = thread::Builder::new().spawn_scoped(scope, run);
        }
        run();
    });
    let results = results.into_inner();
    let mut results = results.unwrap_or_else(PoisonError::into_inner);
    results.sort_unstable_by_key(|(n, _)| *n);
    results.into_iter().map(|(_, result)| result).collect()
}

impl LineBatch {
    /// Processes the input in chunks: `parse` converts each line on the workers, `answer` makes one
    /// answer of each in order, `print` writes one answer in the `style`.
    pub(crate) fn for_each_line<T: Send, A>(
        &mut self,
        style: Style,
        known: &'static [&'static str],
        parse: impl Fn(Result<Fields<'_>, LineError>) -> T + Sync,
        mut answer: impl FnMut(Vec<T>) -> Vec<A>,
        mut print: impl FnMut(&mut dyn Write, A) -> io::Result<()>,
    ) -> io::Result<()> {
        let explain = |error: io::Error| input::named(&self.path, &error);
        while let Some(chunk) = self.reader.next_chunk().map_err(explain)? {
            let parse_line = |index| {
                let fields = chunk.parse(index, known);
                let id = fields.as_ref().ok().and_then(|fields| fields.text("id"));
                (id.map(str::to_owned), parse(fields))
            };
            let lines = map(&self.pool, chunk.len(), parse_line);
            let (ids, parsed): (Vec<_>, Vec<_>) = lines.into_iter().unzip();
            let answers = answer(parsed);
            let (output, lines) = (&mut self.output, &mut self.lines);
            let write = || {
                let mut text = Vec::new();
                for (answer, id) in answers.into_iter().zip(ids) {
                    *lines += 1;
                    text.clear();
                    print(&mut text, answer)?;
                    let [before, after] = match style {
                        Style::Text if text.is_empty() => continue,
                        Style::Json => {
                            let id = id.map_or_else(String::new, |id| format!("\"id\":\"{id}\","));
                            [format!("{{\"line\":{lines},{id}"), "}\n".into()]
                        }
                        Style::Text => {
                            let id = id.map(|id| format!(" ({})", escaped(&id, |_| false)));
                            let id = id.unwrap_or_default();
                            [format!("line {lines}{id}: "), "\n".into()]
                        }
                    };
                    output.write_all(before.as_bytes())?;
                    output.write_all(&text)?;
                    output.write_all(after.as_bytes())?;
                }
                output.flush()
            };
            write().map_err(|error| output_error(&error))?;
            #[cfg(feature = "progress")]
            {
                let seconds = self.started.elapsed().as_secs_f64();
                let rate = self.lines as f64 / seconds.max(1e-9);
                self.progress.set_message(format!("{rate:.0} lines/s"));
                self.progress.set_position(self.reader.taken());
            }
        }
        Ok(())
    }

    /// Ends the run with a summary on standard error: the number of lines, `counts`, and
    /// `operations` as a rate.
    pub(crate) fn finish(self, counts: &[(u64, &str)], operations: u64) {
        #[cfg(feature = "progress")]
        self.progress.finish_and_clear();
        let seconds = self.started.elapsed().as_secs_f64();
        let counts: Vec<String> = counts
            .iter()
            .map(|(n, what)| format!("{n} {what}"))
            .collect();
        // Not `eprintln!`, which panics when standard error is closed.
        let _ = writeln!(
            io::stderr(),
            "{} line{}: {} in {seconds:.3} s ({:.0} signatures/s, {} threads)",
            self.lines,
            if self.lines == 1 { "" } else { "s" },
            counts.join(", "),
            operations as f64 / seconds.max(1e-9),
            self.pool.threads(),
        );
    }
}

/// Writes `"error":"…"`.
pub(crate) fn print_error(output: &mut dyn Write, error: &LineError) -> io::Result<()> {
    output.write_all(b"\"error\":")?;
    serde_json::to_writer(output, &error.to_string()).map_err(io::Error::from)
}

/// Makes a progress bar, visible if standard error is a terminal and standard output is not.
#[cfg(feature = "progress")]
fn progress_bar(file: &File) -> ProgressBar {
    if !io::stderr().is_terminal() || io::stdout().is_terminal() {
        return ProgressBar::hidden();
    }
    let metadata = file.metadata().ok().filter(std::fs::Metadata::is_file);
    let (bar, template) = match metadata {
        Some(metadata) => (
            ProgressBar::new(metadata.len()),
            "{wide_bar} {bytes}/{total_bytes} {msg} {eta}",
        ),
        None => (
            ProgressBar::no_length(),
            "{spinner} {bytes} {msg} {elapsed}",
        ),
    };
    bar.with_style(
        ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()),
    )
}
