//! Ticks of every operation of every implementation, in one process on one pinned thread.
//!
//! `cargo run --release --manifest-path contrib/peers/Cargo.toml --bin scorecard -- --json out.json`

mod lead;

use core::{error::Error, time::Duration};
use std::{fs, path::PathBuf, time::UNIX_EPOCH};

use benches::table::Table;
use benches::{Contender, Op, Part, Plan, Samples, Set, UNIT, cells, cpu_name, hz, pin, score};
use clap::Parser;
use serde::Serialize;

/// Compares ML-DSA implementations on random distinct messages and keys.
#[derive(Parser)]
struct Options {
    /// Write the rows to this file as JSON.
    #[arg(long)]
    json: Option<PathBuf>,
    /// Run this part only; can be repeated.
    #[arg(long)]
    only: Vec<Part>,
    /// One parameter set only, for example ML-DSA-65.
    #[arg(long)]
    set: Option<Set>,
    /// Distinct keys; prepared keys of all of them are in use at once.
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..))]
    validators: u16,
    /// Seconds per part and parameter set; signing does one whole pass even if
    /// that takes longer.
    #[arg(long, default_value_t = 3)]
    seconds: u64,
    /// Seed of the inputs; taken from the clock if absent.
    #[arg(long)]
    seed: Option<u64>,
}

impl Options {
    fn parts(&self) -> &[Part] {
        if self.only.is_empty() {
            &Part::ALL
        } else {
            &self.only
        }
    }

    fn sets(&self) -> Vec<Set> {
        self.set.map_or(Set::ALL.to_vec(), |set| vec![set])
    }
}

/// One row of the JSON file.
#[derive(Default, Serialize)]
struct Row {
    op: &'static str,
    set: &'static str,
    cpu: Option<&'static str>,
    backend: &'static str,
    peer: &'static str,
    unit: &'static str,
    per: &'static str,
    tsc_hz: Option<u64>,
    threads: usize,
    /// Calls timed.
    n: usize,
    /// Distinct keys.
    validators: usize,
    cycles_min: u64,
    cycles_median: u64,
    /// Mean over all messages, for signers only: their time depends on the message.
    cycles_mean: Option<u64>,
    /// Mean signing attempts, for deterministic signers only.
    attempts: Option<f64>,
    /// Operation of a reference that ratios compare with.
    #[serde(skip)]
    reference: &'static str,
}

/// Implementations that ratios compare with.
const REFERENCES: [&str; 2] = ["aws-lc-rs", "libcrux-ml-dsa"];

fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::parse();
    pin();
    let clock = UNIX_EPOCH.elapsed().unwrap_or_default().subsec_nanos();
    let seed = options.seed.unwrap_or_else(|| u64::from(clock));
    eprintln!("inputs from seed {seed}");
    let mut rows = Vec::new();
    for set in options.sets() {
        for &part in options.parts() {
            eprintln!("{} {part:?}", set.name());
            rows.extend(run(set, part, &options, seed));
        }
    }
    publish(&options, &rows)
}

fn publish(options: &Options, rows: &[Row]) -> Result<(), Box<dyn Error>> {
    print!("{}", table(rows));
    print!("{}", lead::lead(rows));
    if let Some(path) = &options.json {
        fs::write(path, serde_json::to_string_pretty(rows)?)?;
    }
    Ok(())
}

/// Messages of each signer.
const MESSAGES: usize = 1000;

/// One part on one parameter set.
fn run(set: Set, part: Part, options: &Options, seed: u64) -> Vec<Row> {
    let plan = Plan {
        validators: usize::from(options.validators),
        messages: MESSAGES,
        time: Duration::from_secs(options.seconds),
        seed,
    };
    let scores = score(set, part, plan, |_| true);
    scores
        .iter()
        .map(|one| row(set, &one.contender, one.keys, &one.samples, one.attempts))
        .collect()
}

fn row(
    set: Set,
    contender: &Contender,
    validators: usize,
    samples: &Samples,
    attempts: Option<f64>,
) -> Row {
    let signs = contender.op.reference() == Op::Sign;
    Row {
        op: contender.op.name(),
        backend: contender.backend,
        peer: contender.peer,
        per: contender.op.per(),
        threads: 1,
        n: samples.len(),
        validators,
        cycles_min: samples.min(),
        cycles_median: samples.median(),
        cycles_mean: signs.then(|| samples.mean() as u64),
        attempts,
        reference: contender.op.reference().name(),
        ..Row::new(set)
    }
}

/// Markdown, one table per parameter set. A ratio above 1 is faster than the reference at the same
/// job. Signing is compared by means, everything else by minima.
fn table(rows: &[Row]) -> String {
    let [first, second] = ["x_aws-lc-rs", "x_libcrux-ml-dsa"];
    let columns = [
        "op",
        "implementation",
        "backend",
        "keys",
        "min",
        "median",
        "mean",
        first,
        second,
    ];
    let mut text = String::new();
    for set in Set::ALL {
        let rows: Vec<_> = rows.iter().filter(|row| row.set == set.name()).collect();
        let Some(unit) = rows.first().map(|row| row.unit) else {
            continue;
        };
        let mut table = Table::new(&columns);
        for row in &rows {
            let [first, second] = REFERENCES.map(|peer| {
                let of_peer = |r: &&&Row| r.peer == peer && r.op == row.reference;
                let reference = rows.iter().find(of_peer);
                reference.map(|reference| reference.figure() / row.figure())
            });
            table.push(cells![
                row.op,
                row.peer,
                row.backend,
                row.validators,
                row.cycles_min,
                row.cycles_median,
                row.cycles_mean,
                first,
                second,
            ]);
        }
        let title = format!("\n### {} ({unit} per operation)\n\n", set.name());
        text += &(title + &table.markdown());
    }
    text
}

impl Row {
    fn new(set: Set) -> Self {
        Self {
            set: set.name(),
            cpu: cpu_name(),
            unit: UNIT,
            tsc_hz: (UNIT == "tsc").then(|| hz() as u64),
            ..Self::default()
        }
    }

    /// Figure that ratios are made of.
    fn figure(&self) -> f64 {
        self.cycles_mean.unwrap_or(self.cycles_min) as f64
    }

    /// The same with medians in the place of minima.
    fn middle(&self) -> f64 {
        self.cycles_mean.unwrap_or(self.cycles_median) as f64
    }
}
