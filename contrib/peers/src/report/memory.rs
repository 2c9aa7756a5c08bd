//! Memory of single calls and of key sets.

use core::error::Error;
use core::time::Duration;
use std::rc::Rc;

use batch_verify::{Committee, KeyStorage, Threads};
use mldsa_core::{MlDsa44, MlDsa65, MlDsa87, ParameterSet, SigningKey};

use super::libraries::{KEYS, PARTS};
use super::table::Table;
use super::{Run, Section};
use crate::{
    Budget, Footprint, Inputs, Op, Samples, Set, Stream, cells, contenders, heap, in_rust,
    lowmem_contenders, measure, us,
};

/// Measures memory.
///
/// # Errors
/// None.
pub fn section(run: &Run) -> Result<Section, Box<dyn Error>> {
    let sizes = run.choose(&[64][..], &[16, 64, 1024]);
    let mut sets = Table::new(
        "key_sets",
        &[
            "set",
            "keys",
            "form",
            "held_bytes",
            "key_bytes",
            "peak_bytes",
        ],
    );
    key_sets::<MlDsa44>(&mut sets, sizes);
    key_sets::<MlDsa65>(&mut sets, sizes);
    key_sets::<MlDsa87>(&mut sets, sizes);
    Ok(Section {
        title: "Memory",
        parts: vec![
            "Memory of one call of the implementations in Rust, the largest of all inputs: stack below \
             the caller, workspace included, heap held at once, and blocks allocated. Keys, message and \
             signature in FIPS encoding belong to the caller and are not counted. `x fips204` is the \
             time over that of `fips204`, of means for signing and of minima for everything else."
                .into(),
            footprints(run).into(),
            "Key sets of `batch-verify`: heap held, heap for each key, and the maximum while the set \
             is built."
                .into(),
            sets.into(),
        ],
    })
}

fn footprints(run: &Run) -> Table {
    let columns = [
        "set",
        "operation",
        "implementation",
        "stack_bytes",
        "heap_bytes",
        "heap_blocks",
        "time_us",
        "x_fips204",
    ];
    let mut table = Table::new("footprints", &columns);
    let cases = run.choose(16, 128);
    let budget = Budget {
        time: run.time(Duration::from_secs(4)),
        cases,
    };
    let mut stream = Stream::new(run.seed);
    for set in Set::ALL {
        let inputs = Rc::new(Inputs::random(set, KEYS, cases, &mut stream));
        for part in PARTS {
            let mut all = lowmem_contenders(&inputs);
            all.extend(contenders(part, &inputs));
            // Calls on many cases are given buffers by the caller.
            all.retain(|one| part.contains(one.op) && one.width == 1 && in_rust(one));
            let samples = measure(&mut all, budget);
            let ticks = |op: Op, samples: &Samples| match op.reference() {
                Op::Sign => samples.mean(),
                _ => samples.min() as f64,
            };
            let pairs = || all.iter().zip(&samples);
            let reference = pairs().find(|(one, _)| one.peer == "fips204");
            let reference = reference.map_or(f64::NAN, |(one, samples)| ticks(one.op, samples));
            for (one, samples) in all.iter_mut().zip(&samples) {
                let Footprint {
                    stack,
                    heap,
                    blocks,
                } = Footprint::of(one, cases);
                let ticks = ticks(one.op, samples);
                table.push(cells![
                    set.name(),
                    one.op.name(),
                    one.title(),
                    stack,
                    heap,
                    blocks,
                    us(ticks),
                    ticks / reference,
                ]);
            }
        }
    }
    table
}

fn key_sets<P: ParameterSet>(table: &mut Table, sizes: &[usize]) {
    let seed = |n: usize| {
        let mut seed = [0x4d; 32];
        seed[..8].copy_from_slice(&(n as u64).to_le_bytes());
        seed
    };
    let most = sizes.iter().copied().max().unwrap_or(0);
    let seeds: Vec<_> = (0..most).map(seed).collect();
    let keys: Vec<SigningKey<P>> = SigningKey::from_seeds(&seeds);
    let forms = [
        ("wide", KeyStorage::Wide),
        ("packed", KeyStorage::Packed),
        ("compact", KeyStorage::Compact),
    ];
    for &size in sizes {
        for (form, storage) in forms {
            let builder = Committee::<P>::builder(b"").key_storage(storage);
            let builder = builder.threads(Threads::Inline);
            let members = keys[..size].iter().map(|key| (key.verifying_key(), 1));
            let (committee, stats) = heap(|| builder.build(members));
            committee.expect("distinct keys");
            let held = stats.curr_bytes;
            table.push(cells![
                P::NAME,
                size,
                form,
                held,
                held / size,
                stats.max_bytes
            ]);
        }
    }
}
