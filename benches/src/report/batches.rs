//! Batches of many sizes, and the number of signing attempts.

use core::error::Error;
use core::time::Duration;
use std::sync::Arc;

use charts::{Axis, Scale, Series};

use super::table::Table;
use super::{Part, Run, Section};
use crate::{
    BenchFn, Inputs, Round, Set, Strategy, Stream, cells, check_neighbours, medians, rejections,
};

/// Number of keys, each of which signs in turn.
const VALIDATORS: usize = 64;
const COMPETITOR: &str = "aws-lc-rs";
/// Parameter set of the chart.
const DRAWN_SET: Set = Set::MlDsa65;

/// Measures batches and counts attempts.
///
/// # Errors
/// If a figure differs by more than three times from those of the neighbouring batch sizes.
pub fn section(run: &Run) -> Result<Section, Box<dyn Error>> {
    let (batches, chart) = batches(run)?;
    Ok(Section {
        title: "Batches",
        parts: vec![
            Part::Text(format!(
                "Valid signatures by {VALIDATORS} validators in turn, whose keys are prepared. Medians of \
                 interleaved repetitions: CPU time of the thread for one thread, wall clock for several. \
                 `one by one` is `VerifyingKey::verify`, which prepares nothing; `{COMPETITOR}` is its \
                 verification under `par_iter`. A run fails if a figure differs by more than three times \
                 from those of the neighbouring batch sizes."
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

fn batches(run: &Run) -> Result<(Table, Part), Box<dyn Error>> {
    let columns = [
        "set",
        "signatures",
        "how",
        "threads",
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
    for (how, strategy) in [
        ("batch", Strategy::FULL),
        (COMPETITOR, Strategy::Competitor(COMPETITOR)),
    ] {
        strategies.extend(run.pools.iter().map(|pool| (how, strategy, pool)));
    }
    let mut drawn = Vec::new();
    for set in Set::ALL {
        let mut series = vec![Vec::new(); strategies.len()];
        for &signatures in sizes {
            let round = Arc::new(Round::new(set, VALIDATORS, signatures, &mut stream));
            let functions = strategies.iter();
            let functions =
                functions.map(|(_, strategy, pool)| BenchFn::new(*strategy, &round, pool));
            let times = medians(
                &mut functions.collect::<Vec<_>>(),
                run.time(Duration::from_secs(2)),
            );
            for (n, ((how, _, pool), us)) in strategies.iter().zip(&times).enumerate() {
                let each = us / signatures as f64;
                let alone = strategies.iter().position(|(other, ..)| other == how);
                series[n].push((signatures, each));
                table.push(cells![
                    set.name(),
                    signatures,
                    *how,
                    pool.current_num_threads(),
                    each,
                    1e6 / each,
                    alone.map(|alone| times[alone] / us),
                ]);
            }
        }
        for ((how, _, pool), series) in strategies.iter().zip(series) {
            let threads = pool.current_num_threads();
            let label = format!(
                "{how}, {threads} thread{}",
                if threads == 1 { "" } else { "s" }
            );
            check_neighbours(&series, threads == 1)
                .map_err(|error| format!("{}, {label}: {error}", set.name()))?;
            let ends = threads == 1 || threads == run.threads;
            if set == DRAWN_SET && ends {
                drawn.push(Series {
                    label,
                    points: series.iter().map(|(n, us)| (*n as f64, *us)).collect(),
                    reference: *how == COMPETITOR,
                });
            }
        }
    }
    let ticks: Vec<_> = sizes.iter().map(|size| *size as f64).collect();
    let x = Axis {
        label: "signatures in the batch",
        scale: Scale::Log,
        ticks: &ticks,
    };
    let y = Axis {
        label: "us for each signature",
        scale: Scale::Linear,
        ticks: &[],
    };
    let title = format!("Verification in batches, {}", DRAWN_SET.name());
    let mut caption = String::new();
    let svg = charts::lines(run.frame(&title, &mut caption), x, y, &drawn)?;
    Ok((
        table,
        Part::Chart {
            name: "batches",
            svg,
        },
    ))
}

/// Repetitions in FIPS 204, table 1.
const fn repetitions(set: Set) -> f64 {
    match set {
        Set::MlDsa44 => 4.25,
        Set::MlDsa65 => 5.1,
        Set::MlDsa87 => 3.85,
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
