//! Ours and the peers in one process, on one pinned thread, in ticks.
//!
//! `cargo run --release -p benches --bin scorecard -- --json out.json`

use core::{error::Error, fmt::Write as _, time::Duration};
use std::{fs, path::PathBuf, rc::Rc, time::UNIX_EPOCH};

use benches::{
    Budget, Contender, Inputs, Op, Part, Samples, Set, Stream, UNIT, contenders, hz, mean_attempts,
    measure,
};
use clap::Parser;
use serde::Serialize;

/// Compares ML-DSA implementations on random distinct messages and keys.
#[derive(Parser)]
struct Options {
    /// Write the rows to this file as JSON.
    #[arg(long)]
    json: Option<PathBuf>,
    /// Run one part only.
    #[arg(long)]
    only: Option<Part>,
    /// Distinct keys; prepared keys of all of them are in use at once.
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..))]
    validators: u16,
    /// Seconds per part and parameter set; signing does one whole pass even if
    /// that takes longer.
    #[arg(long, default_value_t = 12)]
    seconds: u64,
    /// Seed of the inputs; taken from the clock if absent.
    #[arg(long)]
    seed: Option<u64>,
}

/// One row of the JSON file.
#[derive(Serialize)]
struct Row {
    op: &'static str,
    set: &'static str,
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
    /// Mean over all messages; only for signers, whose cost depends on them.
    cycles_mean: Option<u64>,
    /// Mean signing attempts over the cases; unknown for a hedged signer, absent
    /// elsewhere.
    attempts: Option<f64>,
    /// The operation of a reference that ratios compare with.
    #[serde(skip)]
    reference: &'static str,
}

/// The references of the ratio columns.
const REFERENCES: [&str; 2] = ["aws-lc-rs", "libcrux-ml-dsa"];

fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::parse();
    let core = core_affinity::get_core_ids().and_then(|cores| cores.last().copied());
    let pinned = core.filter(|&core| core_affinity::set_for_current(core));
    match pinned {
        Some(core) => eprintln!("pinned to core {}", core.id),
        None => eprintln!("warning: the thread could not be pinned"),
    }
    let clock = UNIX_EPOCH.elapsed().unwrap_or_default().subsec_nanos();
    let seed = options.seed.unwrap_or_else(|| u64::from(clock));
    eprintln!("inputs from seed {seed}");

    let mut rows = Vec::new();
    for set in Set::ALL {
        for part in options.only.map_or(Part::ALL.to_vec(), |part| vec![part]) {
            eprintln!("{} {part:?}", set.name());
            rows.extend(run(set, part, &options, seed));
        }
    }
    print!("{}", table(&rows));
    if let Some(path) = options.json {
        fs::write(path, serde_json::to_string_pretty(&rows)?)?;
    }
    Ok(())
}

/// Cases of the parts whose cost hardly depends on the message.
const CASES: usize = 256;
/// Messages a signer has to sign: the attempts vary as much as their mean.
const SIGN_CASES: usize = 1000;

/// One part on one parameter set, all contenders interleaved.
fn run(set: Set, part: Part, options: &Options, seed: u64) -> Vec<Row> {
    let mut stream = Stream::new(seed);
    let validators = usize::from(options.validators);
    let cases = if part == Part::Sign {
        SIGN_CASES
    } else {
        CASES
    };
    let inputs = Rc::new(Inputs::random(set, validators, cases, &mut stream));
    let mut all = contenders(part, &inputs);
    let mut keys = vec![validators; all.len()];
    if part != Part::Sign {
        // Nothing is kept between calls: a new key for every case. Signers stay
        // on the same messages, since the attempts belong to them.
        let inputs = Rc::new(Inputs::random(set, cases, cases, &mut stream));
        let distinct = contenders(part, &inputs);
        for ((contender, keys), distinct) in all.iter_mut().zip(&mut keys).zip(distinct) {
            if !contender.op.prepared() {
                (*contender, *keys) = (distinct, cases);
            }
        }
    }
    let time = Duration::from_secs(options.seconds);
    let samples = measure(
        &mut all,
        Budget {
            time,
            cases,
            passes: 1,
        },
    );
    let attempts = (part == Part::Sign).then(|| mean_attempts(&inputs));
    all.iter()
        .zip(keys)
        .zip(samples)
        .map(|((contender, keys), samples)| {
            let attempts = attempts.filter(|_| contender.deterministic);
            row(set, contender, keys, &samples, attempts)
        })
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
        set: set.name(),
        backend: contender.backend,
        peer: contender.peer,
        unit: UNIT,
        per: contender.op.per(),
        tsc_hz: (UNIT == "tsc").then(|| hz() as u64),
        threads: 1,
        n: samples.len(),
        validators,
        cycles_min: samples.min(),
        cycles_median: samples.median(),
        cycles_mean: signs.then(|| samples.mean() as u64),
        attempts,
        reference: contender.op.reference().name(),
    }
}

/// Markdown, one table per parameter set. A ratio above 1 means faster than the
/// reference at the same job; signing is compared by means, the rest by minima.
fn table(rows: &[Row]) -> String {
    let mut text = String::new();
    for set in Set::ALL {
        let rows: Vec<_> = rows.iter().filter(|row| row.set == set.name()).collect();
        let [first, second] = REFERENCES;
        let _ = writeln!(
            text,
            "\n### {} ({UNIT} per operation)\n\n\
             | op | implementation | backend | keys | min | median | mean | x {first} | x {second} |\n\
             |---|---|---|--:|--:|--:|--:|--:|--:|",
            set.name(),
        );
        for row in &rows {
            let [first, second] = REFERENCES.map(|peer| {
                let reference = rows
                    .iter()
                    .find(|r| r.peer == peer && r.op == row.reference);
                reference.map_or_else(String::new, |r| format!("{:.2}", r.figure() / row.figure()))
            });
            let _ = writeln!(
                text,
                "| {} | {} | {} | {} | {} | {} | {} | {first} | {second} |",
                row.op,
                row.peer,
                row.backend,
                row.validators,
                row.cycles_min,
                row.cycles_median,
                row.cycles_mean
                    .map_or_else(String::new, |mean| mean.to_string()),
            );
        }
    }
    text
}

impl Row {
    /// What ratios are taken of.
    fn figure(&self) -> f64 {
        self.cycles_mean.unwrap_or(self.cycles_min) as f64
    }
}
