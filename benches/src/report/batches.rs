//! Many signatures together: batches, threads, early exit, attempts of signing, aggregates.

use core::error::Error;
use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use batch_verify::{BatchSize, KeyStorage, Mode};
use cpu_time::ProcessTime;
use mldsa_core::{MlDsa87, ParameterSet as _};
use rayon::ThreadPool;

use super::plot::{Axis, Plot};
use super::table::{Lines, Table};
use super::{Effort, Section};
use crate::committee::{Committee, SIZES};
use crate::{
    Inputs, Round, Runner, Samples, Set, Stream, Way, cells, measure_alone, rejections, us,
};

/// Validators whose signatures the batches hold.
const VALIDATORS: usize = 64;
/// Signatures of a large batch.
const LARGE: usize = 1024;
const PEER: &str = "aws-lc-rs";

/// Everything about many signatures.
///
/// # Errors
/// If an aggregate fails.
pub fn section(effort: &Effort) -> Result<Section, Box<dyn Error>> {
    let batches = batches(effort);
    let sizes = Plot {
        name: "batches",
        title: "A signature in a batch, ML-DSA-65",
        x: "signatures in the batch",
        y: "us each",
        across: Axis::Logarithmic,
        up: Axis::Logarithmic,
        panels: vec![(
            "",
            only(
                &batches.lines(&["set", "how", "threads"], "signatures", "us_each"),
                65,
            ),
        )],
    };
    let threads = threads(effort);
    let speed_up = Plot {
        name: "threads",
        title: "A batch of 1024 on several threads",
        x: "threads",
        y: "times as fast as on one",
        across: Axis::Linear,
        up: Axis::Linear,
        panels: vec![("", threads.lines(&["set", "how"], "threads", "speed_up"))],
    };
    let early_exit = early_exit(effort);
    let (attempts, reasons) = attempts(effort);
    let histogram = Plot {
        name: "attempts",
        title: "Attempts of a signature",
        x: "attempts",
        y: "% of the messages",
        across: Axis::Linear,
        up: Axis::Linear,
        panels: vec![("", attempts.lines(&["set"], "attempts", "messages_percent"))],
    };
    let aggregates = aggregates(effort)?;
    let bytes = Plot {
        name: "aggregates",
        title: "What a verifier receives",
        x: "signers",
        y: "bytes",
        across: Axis::Logarithmic,
        up: Axis::Logarithmic,
        panels: vec![(
            "",
            aggregates.columns(
                "signers",
                &["aggregate_bytes", "with_openings_bytes", "list_bytes"],
            ),
        )],
    };
    let times = Plot {
        name: "aggregate_times",
        title: "An aggregate, all of it on one thread",
        x: "signers",
        y: "ms",
        across: Axis::Logarithmic,
        up: Axis::Logarithmic,
        panels: vec![(
            "",
            aggregates.columns("signers", &["one_party_ms", "interactive_ms"]),
        )],
    };
    Ok(Section {
        title: "Batches and aggregates",
        parts: vec![
            format!(
                "Batches of valid signatures by {VALIDATORS} validators in turn, whose keys are \
                 prepared; the least of calls in turn with the others, on one thread \
                 of the processor's time, on several by the clock. `one by one` is \
                 `VerifyingKey::verify`, which prepares nothing, and `{PEER}` a plain `par_iter` \
                 over its verification."
            )
            .into(),
            batches.into(),
            sizes.into(),
            "Speed-up against threads, each way against itself on one thread.".into(),
            threads.into(),
            speed_up.into(),
            "Early exit on one thread, ML-DSA-65: a batch of 1024 with one bad signature, as dear as \
             one gets, and how long the answer takes beside a batch without it."
                .into(),
            early_exit.into(),
            "Attempts of deterministic signing. What is expected is the geometric distribution with \
             the mean of FIPS 204, table 1."
                .into(),
            attempts.into(),
            histogram.into(),
            "Why attempts were rejected: the norm of z, of the low bits of w - c s2, of c t0, or too \
             many hints."
                .into(),
            reasons.into(),
            "Aggregates of ML-ADSA-87, experimental: `one party` holds all secrets; `interactive` is \
             both steps of all members and the combination, in one process on one thread; means. A \
             verifier without the members' one-time keys needs their openings too. `list` is a \
             signature of ML-DSA-87 by each."
                .into(),
            aggregates.into(),
            bytes.into(),
            times.into(),
        ],
    })
}

/// The lines of one parameter set, without its name.
fn only(lines: &Lines, set: u8) -> Lines {
    let prefix = format!("ML-DSA-{set}, ");
    lines
        .iter()
        .filter_map(|(legend, points)| {
            let legend = legend.strip_prefix(&prefix)?;
            let s = if legend.ends_with(", 1") { "" } else { "s" };
            Some((format!("{legend} thread{s}"), points.clone()))
        })
        .collect()
}

/// The least time of each runner in microseconds, one after another in turn: other work on
/// the machine only ever adds. On one thread that is the processor's time where it is less
/// than the clock's.
fn least(runners: &mut [(Runner, usize)], valid: bool, time: Duration) -> Vec<f64> {
    let begin = Instant::now();
    let mut least = vec![f64::INFINITY; runners.len()];
    let mut turns = 0;
    while turns < 3 || begin.elapsed() < time {
        for ((runner, threads), least) in runners.iter_mut().zip(&mut least) {
            // The first call after another's turn reloads the caches.
            runner.call();
            let processor = ProcessTime::now();
            *least = us(runner.time(valid) as f64).min(*least);
            if *threads == 1 {
                *least = (processor.elapsed().as_secs_f64() * 1e6).min(*least);
            }
        }
        turns += 1;
    }
    least
}

/// A way of verifying a round on a pool.
fn runner(way: Way, round: &Arc<Round>, pool: &Arc<ThreadPool>) -> (Runner, usize) {
    (Runner::new(way, round, pool), pool.current_num_threads())
}

fn batches(effort: &Effort) -> Table {
    let mut table = Table::new(
        "batches",
        &[
            "set",
            "signatures",
            "how",
            "threads",
            "us_each",
            "per_second",
        ],
    );
    let sizes = effort.choose(
        &[1, 8, 32, 128, LARGE][..],
        &[1, 2, 4, 8, 16, 32, 64, 128, 256, 512, LARGE],
    );
    let mut stream = Stream::new(effort.seed);
    let mut ways = vec![("one by one", Way::Sequential, &effort.pools[0])];
    let ends = [effort.pools.first(), effort.pools.last()];
    let ends = &ends[..effort.pools.len().min(2)];
    for pool in ends.iter().copied().flatten() {
        ways.extend([("batch", Way::FULL, pool), (PEER, Way::Peer(PEER), pool)]);
    }
    for set in Set::ALL {
        for &signatures in sizes {
            let round = Arc::new(Round::new(set, VALIDATORS, signatures, &mut stream));
            let runners = ways.iter().map(|(_, way, pool)| runner(*way, &round, pool));
            let time = effort.time(Duration::from_secs(2));
            let times = least(&mut runners.collect::<Vec<_>>(), true, time);
            for ((how, _, pool), us) in ways.iter().zip(times) {
                let each = us / signatures as f64;
                table.push(cells![
                    set.name(),
                    signatures,
                    *how,
                    pool.current_num_threads(),
                    each,
                    1e6 / each,
                ]);
            }
        }
    }
    table
}

fn threads(effort: &Effort) -> Table {
    let mut table = Table::new("threads", &["set", "how", "threads", "us_each", "speed_up"]);
    let mut stream = Stream::new(effort.seed);
    for set in Set::ALL {
        let round = Arc::new(Round::new(set, VALIDATORS, LARGE, &mut stream));
        for (how, way) in [("batch", Way::FULL), (PEER, Way::Peer(PEER))] {
            let runners = effort.pools.iter().map(|pool| runner(way, &round, pool));
            let time = effort.time(Duration::from_secs(4));
            let times = least(&mut runners.collect::<Vec<_>>(), true, time);
            for (pool, us) in effort.pools.iter().zip(&times) {
                table.push(cells![
                    set.name(),
                    how,
                    pool.current_num_threads(),
                    us / LARGE as f64,
                    times[0] / us,
                ]);
            }
        }
    }
    table
}

fn early_exit(effort: &Effort) -> Table {
    let mut table = Table::new(
        "early_exit",
        &["mode", "bad_signature", "us_a_batch", "percent_of_valid"],
    );
    let set = Set::MlDsa65;
    let modes = [
        ("full", Mode::Full),
        ("first invalid", Mode::FirstInvalid),
        ("any invalid", Mode::AnyInvalid),
    ];
    let places = [
        ("none", None),
        ("first", Some(0)),
        ("in the middle", Some(LARGE / 2)),
        ("last", Some(LARGE - 1)),
    ];
    let mut whole = vec![0.0; modes.len()];
    for (where_, place) in places {
        let mut round = Round::new(set, VALIDATORS, LARGE, &mut Stream::new(effort.seed));
        if let Some(place) = place {
            round = round.broken_at(place);
        }
        let round = Arc::new(round);
        let mut runners = modes.map(|(_, mode)| {
            let way = Way::Batch(mode, BatchSize::Auto, KeyStorage::Auto);
            runner(way, &round, &effort.pools[0])
        });
        let time = effort.time(Duration::from_secs(2));
        let times = least(&mut runners, place.is_none(), time);
        if place.is_none() {
            whole.clone_from(&times);
        }
        for (((mode, _), us), whole) in modes.iter().zip(times).zip(&whole) {
            table.push(cells![*mode, where_, us, 100.0 * us / whole]);
        }
    }
    table
}

/// Repetitions in FIPS 204, table 1.
const fn repetitions(set: Set) -> f64 {
    match set {
        Set::MlDsa44 => 4.25,
        Set::MlDsa65 => 5.1,
        Set::MlDsa87 => 3.85,
    }
}

fn attempts(effort: &Effort) -> (Table, Table) {
    let mut table = Table::new(
        "attempts",
        &[
            "set",
            "attempts",
            "messages",
            "messages_percent",
            "expected_percent",
        ],
    )
    .detail();
    let mut reasons = Table::new(
        "rejections",
        &[
            "set",
            "messages",
            "mean_attempts",
            "reason",
            "rejections",
            "percent",
        ],
    )
    .detail();
    let messages = effort.choose(500, 5000);
    let mut stream = Stream::new(effort.seed);
    for set in Set::ALL {
        let all = rejections(&Inputs::random(set, VALIDATORS, messages, &mut stream));
        let (mut histogram, mut by_reason) = (BTreeMap::new(), BTreeMap::new());
        for rejections in &all {
            *histogram.entry(rejections.len() + 1).or_insert(0_usize) += 1;
            for rejection in rejections {
                *by_reason.entry(format!("{rejection:?}")).or_insert(0_usize) += 1;
            }
        }
        let percent = |part: usize, of: usize| 100.0 * part as f64 / of as f64;
        let accepted = 1.0 / repetitions(set);
        let most = histogram.keys().next_back().copied().unwrap_or(0);
        for attempts in 1..=most {
            let count = histogram.get(&attempts).copied().unwrap_or(0);
            let before = (1.0 - accepted).powi(attempts as i32 - 1);
            table.push(cells![
                set.name(),
                attempts,
                count,
                percent(count, messages),
                100.0 * before * accepted,
            ]);
        }
        let rejected = by_reason.values().sum();
        for (reason, count) in by_reason {
            reasons.push(cells![
                set.name(),
                messages,
                1.0 + rejected as f64 / messages as f64,
                reason,
                count,
                percent(count, rejected),
            ]);
        }
    }
    (table, reasons)
}

fn aggregates(effort: &Effort) -> Result<Table, Box<dyn Error>> {
    let mut table = Table::new(
        "aggregates",
        &[
            "signers",
            "one_party_ms",
            "interactive_ms",
            "verify_us",
            "member_sends_bytes",
            "aggregate_bytes",
            "with_openings_bytes",
            "list_bytes",
        ],
    );
    let sizes = effort.choose(&SIZES[..4], &SIZES[..]);
    for &n in sizes {
        let committee = Committee::new(n)?;
        let payload = committee.payload_at_first_attempt()?;
        let aggregate = committee.interactive()?;
        let (round, signature) = (committee.round(), aggregate.signature().as_ref());
        let time = effort.time(Duration::from_secs(2));
        let one_party = measure_alone(time, |_| committee.one_party(&payload).expect("an attempt"));
        let interactive = measure_alone(time, |_| committee.interactive().expect("an attempt"));
        let verify = measure_alone(time / 10, |_| {
            assert!(
                round
                    .aggregate_key()
                    .verify_mu(round.mu(), signature)
                    .is_ok()
            );
        });
        let mean = |samples: &Samples| us(samples.mean());
        let object = aggregate.to_bytes().len();
        table.push(cells![
            n,
            mean(&one_party) / 1e3,
            mean(&interactive) / 1e3,
            mean(&verify),
            committee.sent(),
            object,
            object + n * committee.opening_len(),
            n * MlDsa87::SIG_LEN,
        ]);
    }
    Ok(table)
}
