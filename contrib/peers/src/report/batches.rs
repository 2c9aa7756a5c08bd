//! Batches of many sizes, and the number of signing attempts.

use core::error::Error;
use core::time::Duration;
use std::sync::Arc;

use charts::Series;

use super::table::Table;
use super::{Part, Run, Section};
use crate::{BenchFn, Inputs, Round, Set, Strategy, Stream, cells, medians, outliers, rejections};

/// Number of keys, each of which signs in turn.
const VALIDATORS: usize = 64;
const COMPETITOR: &str = "aws-lc-rs";
/// Parameter set of the chart.
const DRAWN_SET: Set = Set::MlDsa65;

/// Measures batches and counts attempts.
///
/// # Errors
/// If the chart cannot be drawn.
pub fn section(run: &Run) -> Result<Section, Box<dyn Error>> {
    let (batches, rejected, chart) = batches(run)?;
    Ok(Section {
        title: "Batches",
        parts: vec![
            Part::Text(format!(
                "Valid signatures by {VALIDATORS} validators in turn, whose keys are prepared. Medians of \
                 interleaved repetitions: CPU time of the thread for one thread, wall clock for several, \
                 which includes waiting on a loaded machine. `one by one` is `VerifyingKey::verify`, which \
                 prepares nothing; `{COMPETITOR}` is its verification under `par_iter`. A figure that is more \
                 than three times those of the neighbouring batch sizes, or less than a third, is rejected: \
                 {}.",
                if rejected.is_empty() {
                    "none".to_owned()
                } else {
                    rejected.join(", ")
                }
            )),
            batches.into(),
            chart,
            "Attempts of deterministic signing. The expected values are those of a geometric \
             distribution with the mean of FIPS 204, table 1."
                .into(),
            attempts(run).into(),
        ],
    })
}

/// The table, the rejected figures, and the chart of one thread.
fn batches(run: &Run) -> Result<(Table, Vec<String>, Part), Box<dyn Error>> {
    let columns = [
        "set",
        "how",
        "threads",
        "signatures",
        "us_each",
        "per_second",
        "speed_up",
    ];
    let mut table = Table::new("batches", &columns);
    let sizes = run.choose(
        &[1, 8, 32, 128, 1024][..],
        &[1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024],
    );
    let mut stream = Stream::new(run.seed);
    let mut strategies = vec![("one by one", Strategy::Sequential, &run.pools[0])];
    let full = ("batch", Strategy::FULL);
    for (how, strategy) in [full, (COMPETITOR, Strategy::Competitor(COMPETITOR))] {
        strategies.extend(run.pools.iter().map(|pool| (how, strategy, pool)));
    }
    let (mut drawn, mut rejected) = (Vec::new(), Vec::new());
    for set in Set::ALL {
        let mut series = vec![Vec::new(); strategies.len()];
        for &size in sizes {
            let round = Arc::new(Round::new(set, VALIDATORS, size, &mut stream));
            let functions = strategies.iter();
            let functions =
                functions.map(|(_, strategy, pool)| BenchFn::new(*strategy, &round, pool));
            let mut functions: Vec<_> = functions.collect();
            let times = medians(&mut functions, run.time(Duration::from_secs(2)));
            for (series, us) in series.iter_mut().zip(times) {
                series.push(us / size as f64);
            }
        }
        for (n, (how, _, pool)) in strategies.iter().enumerate() {
            let threads = pool.current_num_threads();
            let outliers = outliers(&series[n], threads == 1);
            let alone = strategies
                .iter()
                .position(|(other, ..)| other == how)
                .unwrap_or(n);
            let mut points = Vec::new();
            for (i, (size, each)) in sizes.iter().zip(&series[n]).enumerate() {
                if outliers.contains(&i) {
                    rejected.push(format!(
                        "{}, {how}, {threads} threads, {size}: {each} us",
                        set.name()
                    ));
                    continue;
                }
                points.push((*size as f64, *each));
                let (per_second, speed_up) = (1e6 / each, series[alone][i] / each);
                table.push(cells![
                    set.name(),
                    *how,
                    threads,
                    *size,
                    *each,
                    per_second,
                    speed_up
                ]);
            }
            if set == DRAWN_SET && threads == 1 {
                let (label, reference) = ((*how).to_owned(), *how == COMPETITOR);
                drawn.push(Series {
                    label,
                    points,
                    reference,
                });
            }
        }
    }
    let axes = [
        "signatures in the batch",
        "us for each signature, one thread",
    ];
    let title = format!(
        "Verification in batches, {} (lower is faster)",
        DRAWN_SET.name()
    );
    let mut caption = String::new();
    let svg = charts::lines(run.frame(&title, &mut caption), axes, &drawn)?;
    Ok((
        table,
        rejected,
        Part::Chart {
            name: "batches",
            svg,
        },
    ))
}

/// Repetitions in FIPS 204, table 1, as NIST's list of updates corrects them.
const fn repetitions(set: Set) -> f64 {
    match set {
        Set::MlDsa44 => 4.36,
        Set::MlDsa65 => 5.14,
        Set::MlDsa87 => 3.91,
    }
}

fn attempts(run: &Run) -> Table {
    let columns = [
        "set",
        "messages",
        "mean",
        "expected_mean",
        "p50",
        "p99",
        "expected_p99",
        "most",
    ];
    let mut table = Table::new("attempts", &columns);
    let messages = run.choose(500, 5000);
    let mut stream = Stream::new(run.seed);
    for set in Set::ALL {
        let all = rejections(&Inputs::random(set, VALIDATORS, messages, &mut stream));
        let mut attempts: Vec<_> = all.iter().map(|rejected| rejected.len() + 1).collect();
        attempts.sort_unstable();
        let expected = repetitions(set);
        table.push(cells![
            set.name(),
            messages,
            attempts.iter().sum::<usize>() as f64 / messages as f64,
            expected,
            attempts[messages / 2],
            attempts[messages * 99 / 100],
            (0.01_f64.ln() / (1.0 - 1.0 / expected).ln()).ceil(),
            attempts[messages - 1],
        ]);
    }
    table
}
