//! Result of one run as a row.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use comfy_table::{Table, presets::ASCII_MARKDOWN};
use serde::Serialize;
use serde_json::Value;

use crate::{KindCounters, Meter, ProcessTime, Strategy};

/// Wall-clock and process CPU time since the start of a run.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch {
    wall: Instant,
    cpu: ProcessTime,
}

impl Stopwatch {
    /// Starts now.
    #[must_use]
    pub fn start() -> Self {
        Self {
            wall: Instant::now(),
            cpu: ProcessTime::now(),
        }
    }
}

/// Latencies from proposal to finalisation.
#[derive(Debug, Default)]
pub struct Finality(Vec<Duration>);

impl Finality {
    /// Adds the latency of one block at one validator.
    pub fn record(&mut self, latency: Duration) {
        self.0.push(latency);
    }

    /// Milliseconds at p50, p95 and p99; `None` without samples.
    #[must_use]
    pub fn quantiles(&self) -> Option<[f64; 3]> {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        let last = sorted.len().checked_sub(1)?;
        let at = |quantile: f64| sorted[(quantile * last as f64).ceil() as usize];
        Some([0.5, 0.95, 0.99].map(|quantile| rounded(at(quantile).as_secs_f64() * 1e3)))
    }
}

/// Description of a run.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// Engine and version.
    pub engine: &'a str,
    /// Network that carries the messages.
    pub network: &'a str,
    /// Parameter set.
    pub set: &'a str,
    /// Verification strategy.
    pub strategy: Strategy,
    /// Number of validators.
    pub validators: usize,
    /// Views, heights or items finalised.
    pub views: u64,
}

/// Cost of one run. Times are CPU times unless the name says otherwise.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Row {
    /// Engine and version.
    pub engine: String,
    /// Network that carries the messages.
    pub network: String,
    /// Parameter set.
    pub set: String,
    /// Verification strategy.
    pub strategy: String,
    /// Number of validators.
    pub validators: usize,
    /// Views, heights or items finalised.
    pub views: u64,
    /// Views per second of wall clock.
    pub views_per_second: f64,
    /// Seconds of CPU of the whole process.
    pub cpu_seconds: f64,
    /// Signatures verified: votes, in certificates, proposals.
    pub votes: [u64; 3],
    /// Bytes of them.
    pub bytes: [u64; 3],
    /// Signatures rejected.
    pub invalid: u64,
    /// Mean number of votes per call.
    pub mean_batch: f64,
    /// Largest number of votes in a call.
    pub largest_batch: u64,
    /// Microseconds per signature inside the verification library.
    pub us_library: f64,
    /// Microseconds per signature including decoding, lists and cache lookups.
    pub us_total: f64,
    /// Fraction of the process CPU time spent on verification, `us_total` times all signatures.
    pub verify_share: f64,
    /// Microseconds per signature made.
    pub us_sign: f64,
    /// Fraction of the process CPU time spent signing.
    pub sign_share: f64,
    /// Milliseconds from proposal to finalisation at p50, p95 and p99.
    pub finality_ms: Option<[f64; 3]>,
    /// Bytes of the largest certificate.
    pub certificate_bytes: Option<usize>,
    /// Bytes of the engine's journals, all validators.
    pub journal_bytes: Option<u64>,
    /// Members blocked by the engine.
    pub blocked: Vec<String>,
}

impl Row {
    /// Row of a run that ends now.
    #[must_use]
    pub fn new(run: &Run<'_>, stopwatch: Stopwatch, meter: &Meter) -> Self {
        let (wall, cpu) = (stopwatch.wall.elapsed(), stopwatch.cpu.elapsed());
        let ratio = |a: f64, b: f64| if b > 0.0 { rounded(a / b) } else { 0.0 };
        let microseconds = |time: Duration| time.as_secs_f64() * 1e6;
        let counters = meter.counters();
        let [vote, ..] = counters.kinds;
        let each = |of: fn(&KindCounters) -> u64| [0, 1, 2].map(|at| of(&counters.kinds[at]));
        let votes = each(|kind| kind.votes);
        let verified = votes.iter().sum::<u64>() as f64;
        let total: Duration = counters.kinds.iter().map(|kind| kind.total).sum();
        Self {
            engine: run.engine.into(),
            network: run.network.into(),
            set: run.set.into(),
            strategy: run.strategy.name().into(),
            validators: run.validators,
            views: run.views,
            views_per_second: ratio(run.views as f64, wall.as_secs_f64()),
            cpu_seconds: rounded(cpu.as_secs_f64()),
            votes,
            bytes: each(|kind| kind.bytes),
            invalid: counters.invalid(),
            mean_batch: ratio(vote.votes as f64, vote.calls as f64),
            largest_batch: vote.largest_call,
            us_library: ratio(microseconds(counters.library), verified),
            us_total: ratio(microseconds(total), verified),
            verify_share: ratio(microseconds(total), microseconds(cpu)),
            us_sign: ratio(microseconds(counters.signing), counters.signatures as f64),
            sign_share: ratio(microseconds(counters.signing), microseconds(cpu)),
            ..Self::default()
        }
    }
}

fn rounded(value: f64) -> f64 {
    (value * 1e4).round() / 1e4
}

/// Prints the rows of a program, or its error, and returns the exit code.
pub fn finish(rows: anyhow::Result<Vec<Row>>, json: bool) -> ExitCode {
    match rows.and_then(|rows| Ok(print(&rows, json)?)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn print(rows: &[Row], json: bool) -> serde_json::Result<()> {
    if json {
        for row in rows {
            println!("{}", serde_json::to_string(row)?);
        }
        return Ok(());
    }
    let mut table = Table::new();
    table.load_style(ASCII_MARKDOWN);
    for row in rows {
        let row = serde_json::to_value(row)?;
        let columns = row.as_object().into_iter().flatten();
        let columns = columns.filter(|(name, _)| *name != "engine" && *name != "bytes");
        table.set_header(columns.clone().map(|(name, _)| name.replace('_', " ")));
        table.add_row(columns.map(|(_, value)| cell(value)));
    }
    if let Some(first) = rows.first() {
        println!("{}\n{table}", first.engine);
    }
    Ok(())
}

/// Cell of a column: lists are joined, missing values shown as a dash.
fn cell(value: &Value) -> String {
    match value {
        Value::Null => "-".into(),
        Value::String(text) => text.clone(),
        Value::Array(values) => values.iter().map(cell).collect::<Vec<_>>().join("/"),
        other => other.to_string(),
    }
}
