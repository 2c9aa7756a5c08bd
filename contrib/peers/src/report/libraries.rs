//! Times of single operations of every ML-DSA implementation.

use core::error::Error;
use core::time::Duration;

use charts::Bar;
use mldsa_core::Backend;

use super::table::Table;
use super::{Part, Run, Section};
use crate::{Op, Part as Operations, Plan, Score, Set, cells, score, us};

/// Parts of single operations.
pub(super) const PARTS: [Operations; 3] =
    [Operations::Keygen, Operations::Sign, Operations::Verify];
/// Implementation that ratios compare with: the most widely used one.
const REFERENCE: &str = "aws-lc-rs";
/// Number of keys.
pub(super) const KEYS: usize = 8;
/// Groups of bars in the chart.
const DRAWN: [(Op, &str); 4] = [
    (
        Op::VerifyPrepared,
        "Verify, prepared key (aws-lc-rs: encoded key)",
    ),
    (Op::VerifyCold, "Verify, encoded key"),
    (Op::Sign, "Sign"),
    (Op::Keygen, "Generate a key"),
];
/// Parameter set of the chart.
const DRAWN_SET: Set = Set::MlDsa65;

/// Measures all implementations.
///
/// # Errors
/// If the chart cannot be drawn.
pub fn section(run: &Run) -> Result<Section, Box<dyn Error>> {
    let columns = [
        "set",
        "operation",
        "implementation",
        "time_us",
        "median_us",
        "x_aws-lc-rs",
        "calls",
    ];
    let mut table = Table::new("libraries", &columns);
    let mut groups = DRAWN.map(|(_, name)| (name.to_owned(), Vec::new()));
    let plan = Plan {
        validators: KEYS,
        messages: run.choose(100, 1000),
        time: run.time(Duration::from_secs(4)),
        seed: run.seed,
    };
    for set in Set::ALL {
        for part in PARTS {
            let scores = score(set, part, plan, |_| true);
            for one in &scores {
                let op = one.contender.op;
                let is_reference = |other: &&Score| {
                    other.contender.peer == REFERENCE && other.contender.op == op.reference()
                };
                let reference = scores.iter().find(is_reference);
                let ratio = reference.map(|reference| figure(reference) / figure(one));
                table.push(cells![
                    set.name(),
                    op.name(),
                    one.contender.title(),
                    figure(one),
                    us(one.samples.median() as f64),
                    ratio,
                    one.samples.len(),
                ]);
                let group = DRAWN.iter().position(|(drawn, _)| *drawn == op);
                if let (Some(group), Some(value), DRAWN_SET) = (group, ratio, set) {
                    groups[group].1.push(Bar {
                        label: one.contender.title(),
                        value,
                        highlighted: one.contender.peer == "ours",
                    });
                }
            }
        }
    }
    let title = format!(
        "{}, times as fast as {REFERENCE} (longer is faster)",
        DRAWN_SET.name()
    );
    let mut caption = String::new();
    let frame = run.frame(&title, &mut caption);
    let svg = charts::bars(frame, &format!("times as fast as {REFERENCE}"), &groups)?;
    let backends = Backend::available()
        .map(Backend::name)
        .collect::<Vec<_>>()
        .join(", ");
    let text = format!(
        "One pinned thread, messages of 32 bytes, calls interleaved on the same inputs. `time us` is \
         the mean for signing, because the number of attempts depends on the message, and the minimum \
         for everything else. `x {REFERENCE}` above 1 is faster than the same operation of that \
         library, which has no prepared keys and signs hedged only. `batch` and `multi` are many \
         operations in one call; the time is that of one operation. Backends of `mldsa-core` on this \
         CPU: {backends}."
    );
    let chart = Part::Chart {
        name: "libraries",
        svg,
    };
    Ok(Section {
        title: "ML-DSA libraries",
        parts: vec![Part::Text(text), table.into(), chart],
    })
}

/// Microseconds that ratios are made of.
fn figure(one: &Score) -> f64 {
    match one.contender.op.reference() {
        Op::Sign => us(one.samples.mean()),
        _ => us(one.samples.min() as f64),
    }
}
