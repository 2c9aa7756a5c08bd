//! ML-DSA libraries side by side: times, memory of calls and keys, tails.

use core::error::Error;
use core::time::Duration;
use std::rc::Rc;

use mldsa_core::Backend;

use super::plot::{Axis, Panel, Plot};
use super::table::{Lines, Table};
use super::{Effort, Section};
use crate::inputs::Case;
use crate::ours::Accepts;
use crate::{
    Budget, Contender, Footprint, Inputs, Op, Part, Plan, Score, Set, Stream, cells, contenders,
    in_rust, lowmem, lowmem_contenders, measure, ours, peers, score, us,
};

/// The parts of single operations.
const PARTS: [Part; 3] = [Part::Keygen, Part::Sign, Part::Verify];
/// Whom ratios compare with: the most widely used.
const REFERENCE: &str = "aws-lc-rs";
/// Keys of all inputs.
const KEYS: usize = 8;
/// What is drawn.
const DRAWN: [(Op, &str); 3] = [
    (Op::VerifyPrepared, "verify, key prepared"),
    (Op::VerifyCold, "verify, key encoded"),
    (Op::Sign, "sign"),
];
/// Backends of ours for this architecture.
const BACKENDS: &[&str] = if cfg!(target_arch = "x86_64") {
    &["portable", "avx2", "avx512"]
} else if cfg!(target_arch = "aarch64") {
    &["portable", "neon", "neon-sha3"]
} else {
    &["portable"]
};

/// Everything about the libraries.
///
/// # Errors
/// None.
pub fn section(effort: &Effort) -> Result<Section, Box<dyn Error>> {
    let (times, panels) = times(effort);
    let plot = Plot {
        name: "libraries",
        title: "One signature",
        x: "ML-DSA",
        y: "us",
        across: Axis::Named(&["44", "65", "87"]),
        up: Axis::Logarithmic,
        panels,
    };
    Ok(Section {
        title: "ML-DSA libraries",
        parts: vec![
            format!(
                "One pinned thread, messages of 32 bytes, call by call in turn on the same inputs. \
                 `time us` is the mean of signing, whose attempts differ from message to message, \
                 and the least of all others. `x {REFERENCE}` above 1 is faster than that library at \
                 the same job; it keeps no prepared keys, and signs with fresh randomness only. \
                 `batch` and `multi` are many operations in one call, the time that of one. {}",
                backends(),
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

/// Which backends of ours are in the tables.
fn backends() -> String {
    let (run, lacked): (Vec<&str>, Vec<&str>) = BACKENDS
        .iter()
        .partition(|name| Backend::from_name(name).is_some());
    let lacked = match lacked.join(", ") {
        none if none.is_empty() => String::new(),
        some => format!(" Left out, since this CPU has no instructions for it: {some}."),
    };
    format!("Ours runs on its backends {}.{lacked}", run.join(", "))
}

fn times(effort: &Effort) -> (Table, Vec<Panel>) {
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
    let mut panels = DRAWN.map(|(_, caption)| (caption, Lines::new()));
    let plan = Plan {
        validators: KEYS,
        messages: effort.choose(100, 1000),
        time: effort.time(Duration::from_secs(4)),
        seed: effort.seed,
    };
    let figure = |one: &Score| match one.contender.op.reference() {
        Op::Sign => us(one.samples.mean()),
        _ => us(one.samples.min() as f64),
    };
    for (place, set) in Set::ALL.into_iter().enumerate() {
        for part in PARTS {
            let scores = score(set, part, plan, |_| true);
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
                let panel = DRAWN.iter().position(|(drawn, _)| *drawn == op);
                if let Some(panel) = panel {
                    let line = panels[panel].1.entry(one.contender.title()).or_default();
                    line.push((place as f64, figure(one)));
                }
            }
        }
    }
    (table, panels.into())
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

/// Verification that is checked for its answer.
fn verifiers(inputs: &Rc<Inputs>, valid: bool) -> Vec<Contender> {
    let checked = |op, peer: &'static str, backend, accepts: Accepts| {
        let inputs = Rc::clone(inputs);
        let call = move |i| {
            let (_, case) = inputs.case(i);
            assert_eq!(accepts(case), valid, "{peer} {backend}");
        };
        Contender::new(op, peer, call).backend(backend)
    };
    let ours = Backend::available().flat_map(|backend| {
        let both = ours::verifiers(inputs, backend);
        both.map(|(op, accepts)| checked(op, "ours", backend.name(), accepts))
    });
    let peers = ["aws-lc-rs", "libcrux-ml-dsa", "ml-dsa", "fips204"];
    let peers = peers.into_iter().filter_map(|peer| {
        let (verify, inputs) = (peers::verifier(peer, inputs.set)?, Rc::clone(inputs));
        let accepts = move |case: &Case| {
            let key = &inputs.keys[case.key];
            verify(&key.public, &case.message, &case.signature)
        };
        let accepts = Box::new(accepts);
        Some(checked(Op::VerifyCold, peer, "default", accepts))
    });
    ours.chain(peers).collect()
}
