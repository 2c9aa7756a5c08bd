//! ML-DSA libraries side by side: times, memory of calls and keys, tails.

use core::error::Error;
use core::time::Duration;
use std::rc::Rc;

use super::plot::{Axis, Plot};
use super::table::{Lines, Table};
use super::{Effort, Section};
use crate::ours::{prepared_verifier, verifier};
use crate::{
    Budget, Contender, Footprint, Inputs, Op, Part, Plan, Score, Set, Stream, best_or_portable,
    cells, contenders, in_rust, lowmem, lowmem_contenders, measure, ours, peers, score, us,
};

/// The parts of single operations.
const PARTS: [Part; 3] = [Part::Keygen, Part::Sign, Part::Verify];
/// Whom ratios compare with: the most widely used.
const REFERENCE: &str = "aws-lc-rs";
/// Keys of all inputs.
const KEYS: usize = 8;

/// Everything about the libraries.
///
/// # Errors
/// None.
pub fn section(effort: &Effort) -> Result<Section, Box<dyn Error>> {
    let (times, lines) = times(effort);
    let plot = Plot {
        name: "libraries",
        title: "Verification of one signature",
        x: "category: 2 is ML-DSA-44, 3 ML-DSA-65, 5 ML-DSA-87",
        y: "us",
        across: Axis::Linear,
        up: Axis::Logarithmic,
        lines,
    };
    Ok(Section {
        title: "ML-DSA libraries",
        parts: vec![
            format!(
                "One pinned thread, messages of 32 bytes, call by call in turn on the same inputs. \
                 `time us` is the mean of signing, whose attempts differ from message to message, \
                 and the least of all others. `x {REFERENCE}` above 1 is faster than that library at \
                 the same job; it keeps no prepared keys, and signs with fresh randomness only. \
                 `batch` and `multi` are many operations in one call, the time that of one."
            )
            .into(),
            times.into(),
            plot.into(),
            "Memory of one call, of implementations in Rust, since others take theirs where it is \
             not seen: stack below the caller, what the call holds on the heap at most, and blocks \
             it takes there. Keys, message and signature in FIPS encoding are the caller's."
                .into(),
            footprints(effort).into(),
            "A key in memory, itself and what it holds on the heap, and the encoding that it was \
             loaded from. Keys of `mldsa-lowmem` point to their encoding, which is counted."
                .into(),
            keys(effort).into(),
            "The tail of verification, us: valid signatures, random bytes of the right length, and \
             signatures with one bit of the challenge flipped, which cost as much as valid ones. The \
             most is what the machine did meanwhile."
                .into(),
            tails(effort).into(),
        ],
    })
}

fn times(effort: &Effort) -> (Table, Lines) {
    let mut table = Table::new(
        "libraries",
        &[
            "set",
            "operation",
            "implementation",
            "time_us",
            "median_us",
            "x_aws-lc-rs",
            "calls",
        ],
    );
    let mut lines = Lines::new();
    let plan = Plan {
        validators: KEYS,
        messages: effort.choose(100, 1000),
        time: effort.time(Duration::from_secs(4)),
        seed: effort.seed,
    };
    let chosen = |one: &Contender| one.peer != "ours" || best_or_portable(one);
    let figure = |one: &Score| match one.contender.op.reference() {
        Op::Sign => us(one.samples.mean()),
        _ => us(one.samples.min() as f64),
    };
    for set in Set::ALL {
        for part in PARTS {
            let scores = score(set, part, plan, chosen);
            for one in &scores {
                let op = one.contender.op;
                let reference = scores.iter().find(|other| {
                    other.contender.peer == REFERENCE && other.contender.op == op.reference()
                });
                table.push(cells![
                    set.name(),
                    op.name(),
                    one.contender.title(),
                    figure(one),
                    us(one.samples.median() as f64),
                    reference.map(|reference| figure(reference) / figure(one)),
                    one.samples.len(),
                ]);
                if matches!(op, Op::VerifyCold | Op::VerifyPrepared) {
                    let legend = format!("{} {}", one.contender.title(), op.name());
                    let legend = legend.replace('_', " ");
                    let line = lines.entry(legend).or_default();
                    line.push((f64::from(set.category()), figure(one)));
                }
            }
        }
    }
    (table, lines)
}

fn footprints(effort: &Effort) -> Table {
    let mut table = Table::new(
        "footprints",
        &[
            "set",
            "operation",
            "implementation",
            "stack_bytes",
            "heap_bytes",
            "heap_blocks",
        ],
    )
    .detail();
    let cases = effort.choose(16, 128);
    let mut stream = Stream::new(effort.seed);
    for set in Set::ALL {
        let inputs = Rc::new(Inputs::random(set, KEYS, cases, &mut stream));
        for part in PARTS {
            let mut all = lowmem_contenders(&inputs);
            all.extend(contenders(part, &inputs));
            // Calls on many cases are given the buffers that they fill.
            all.retain(|one| part.contains(one.op) && one.width == 1 && in_rust(one));
            for one in &mut all {
                let footprint = Footprint::of(one, cases);
                table.push(cells![
                    set.name(),
                    one.op.name(),
                    one.title(),
                    footprint.stack,
                    footprint.heap,
                    footprint.blocks,
                ]);
            }
        }
    }
    table
}

fn keys(effort: &Effort) -> Table {
    let mut table = Table::new(
        "keys",
        &[
            "set",
            "implementation",
            "key",
            "encoded_bytes",
            "memory_bytes",
        ],
    )
    .detail();
    let mut stream = Stream::new(effort.seed);
    for set in Set::ALL {
        let inputs = Inputs::random(set, 1, 1, &mut stream);
        let mut all = ours::loaded(&inputs);
        all.extend(lowmem::loaded(&inputs));
        all.extend(peers::loaded(&inputs));
        for key in all {
            table.push(cells![
                set.name(),
                key.implementation,
                key.object,
                key.encoded,
                key.memory,
            ]);
        }
    }
    table
}

/// Makes something else of a valid signature.
type Spoil = fn(&mut [u8], &mut Stream);

/// What is verified.
const KINDS: [(&str, Spoil); 3] = [
    ("valid", |_, _| ()),
    ("random", |signature, stream| stream.fill(signature)),
    ("tampered", |signature, _| signature[0] ^= 1),
];

fn tails(effort: &Effort) -> Table {
    let mut table = Table::new(
        "tails",
        &[
            "set",
            "implementation",
            "key",
            "signatures",
            "p50_us",
            "p99_us",
            "p99.9_us",
            "most_us",
            "calls",
        ],
    );
    let mut stream = Stream::new(effort.seed);
    let budget = Budget {
        time: Duration::ZERO,
        cases: 256,
        passes: effort.choose(8, 80),
    };
    for set in Set::ALL {
        for (kind, spoil) in KINDS {
            let mut inputs = Inputs::random(set, KEYS, budget.cases, &mut stream);
            for case in &mut inputs.cases {
                spoil(&mut case.signature, &mut stream);
            }
            let mut all = verifiers(&Rc::new(inputs), kind == "valid");
            let samples = measure(&mut all, budget);
            for (one, samples) in all.iter().zip(samples) {
                let at = |share| us(samples.quantile(share) as f64);
                table.push(cells![
                    set.name(),
                    one.title(),
                    if one.op.prepared() {
                        "prepared"
                    } else {
                        "encoded"
                    },
                    kind,
                    at(0.5),
                    at(0.99),
                    at(0.999),
                    at(1.0),
                    samples.len(),
                ]);
            }
        }
    }
    table
}

/// Verification that is checked for its answer, ours on the fastest backend.
fn verifiers(inputs: &Rc<Inputs>, valid: bool) -> Vec<Contender> {
    let best = mldsa_core::Backend::detect().name();
    let prepared = {
        let (inputs, accepts) = (Rc::clone(inputs), prepared_verifier(inputs));
        move |i| {
            let (_, case) = inputs.case(i);
            assert_eq!(accepts(case.key, &case.message, &case.signature), valid);
        }
    };
    let prepared = Contender::new(Op::VerifyPrepared, "ours", prepared).backend(best);
    let ours = ("ours", best, verifier(inputs.set));
    let peers = ["aws-lc-rs", "libcrux-ml-dsa", "ml-dsa", "fips204"];
    let peers = peers
        .into_iter()
        .filter_map(|peer| Some((peer, "default", peers::verifier(peer, inputs.set)?)));
    let encoded = [ours]
        .into_iter()
        .chain(peers)
        .map(|(peer, backend, accepts)| {
            let inputs = Rc::clone(inputs);
            let call = move |i| {
                let (key, case) = inputs.case(i);
                let verdict = accepts(&key.public, &case.message, &case.signature);
                assert_eq!(verdict, valid, "{peer}");
            };
            Contender::new(Op::VerifyCold, peer, call).backend(backend)
        });
    [prepared].into_iter().chain(encoded).collect()
}
