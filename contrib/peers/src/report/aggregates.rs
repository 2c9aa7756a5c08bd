//! Times, memory and bytes of ML-ADSA aggregates.

use core::error::Error;
use std::fs;
use std::time::Instant;

use mladsa_aggregate::errors::RoundError;
use mladsa_aggregate::test_util::Matrix;
use mladsa_aggregate::{
    AgreedRoots, EpochPlan, Error as AggregateError, MemoryWriteOnceStore, OneTimeKeyJournal,
    PinnedRoots, Registry, TaskId, Threshold,
};
use mldsa_core::{MlDsa87, ParameterSet as _, Randomness};

use super::table::Table;
use super::{Run, Section};
use crate::committee::{Channels, Committee, SIZES, member};
use crate::{ThreadTime, cells, heap};

/// Number of calls of which the least and the median are given.
const CALLS: usize = 31;

/// Measures aggregates.
///
/// # Errors
/// If an aggregate fails, or a journal cannot be written.
pub fn section(run: &Run) -> Result<Section, Box<dyn Error>> {
    let columns = [
        "call",
        "least_ms",
        "median_ms",
        "bytes",
        "allocations",
        "peak_heap_bytes",
    ];
    let mut calls = Table::new("aggregate_calls", &columns);
    parts(&mut calls)?;
    let columns = [
        "signers",
        "member_sends_bytes",
        "with_opening_bytes",
        "combiner_receives_bytes",
        "with_openings_bytes",
        "aggregate_bytes",
        "aggregate_with_openings_bytes",
        "list_bytes",
    ];
    let mut wire = Table::new("aggregate_wire", &columns);
    for &n in run.choose(&SIZES[..3], &SIZES[..]) {
        let committee = Committee::new(n)?;
        let payload = committee.payload_at_first_attempt()?;
        row(&mut calls, &format!("one party, open, n = {n}"), || {
            committee.one_party(&payload).map(drop)
        })?;
        for (name, channels) in [
            ("signed", Channels::Signed),
            ("authenticated channels", Channels::Authenticated),
        ] {
            let name = format!("interactive, {name}, n = {n}");
            row_with(
                &mut calls,
                &name,
                || committee.journals(),
                |journals| committee.interactive(channels, journals).map(drop),
            )?;
        }
        let aggregate = committee.interactive(Channels::Signed, &mut committee.journals()?)?;
        let aggregate = aggregate.to_bytes().len();
        let (sent, opening) = (committee.sent(), committee.opening_len());
        wire.push(cells![
            n,
            sent,
            sent + opening,
            n * sent,
            n * (sent + opening),
            aggregate,
            aggregate + n * opening,
            n * MlDsa87::SIG_LEN,
        ]);
    }
    Ok(Section {
        title: "Aggregates (experimental)",
        parts: vec![
            "ML-ADSA-87 on one thread, CPU time. `bytes` and `allocations` are cumulative over a call. One \
             party that holds all secrets, and a committee whose members all run in this process, with \
             journals in memory: the work of all members from the commitment to the aggregate, with signed \
             hashes of commitments or on authenticated channels. Openings, acknowledgements, proofs of \
             possession, tree signatures and the verification of received signatures are not included."
                .into(),
            calls.into(),
            "One-time-key journal in files, wall clock.".into(),
            journal()?.into(),
            "Bytes of one attempt. An opening belongs to a tree of four leaves. A verifier that does not \
             have the members' openings needs them in addition to the aggregate. `list` is one ML-DSA-87 \
             signature of each member."
                .into(),
            wire.into(),
        ],
    })
}

fn row(
    table: &mut Table,
    name: &str,
    mut call: impl FnMut() -> Result<(), AggregateError>,
) -> Result<(), AggregateError> {
    row_with(table, name, || Ok(()), |()| call())
}

/// A row of calls with an input that is made outside of the measurement.
fn row_with<T>(
    table: &mut Table,
    name: &str,
    input: impl Fn() -> Result<T, AggregateError>,
    mut call: impl FnMut(&mut T) -> Result<(), AggregateError>,
) -> Result<(), AggregateError> {
    let mut times = Vec::new();
    for _ in 0..CALLS {
        let mut input = input()?;
        let start = ThreadTime::now();
        call(&mut input)?;
        times.push(start.elapsed().as_secs_f64() * 1e3);
    }
    times.sort_by(f64::total_cmp);
    let mut input = input()?;
    let (result, heap) = heap(|| call(&mut input));
    result?;
    let (least, median) = (times[0], times[CALLS / 2]);
    table.push(cells![
        name,
        least,
        median,
        heap.total_bytes,
        heap.total_blocks,
        heap.max_bytes
    ]);
    Ok(())
}

/// Steps of a committee.
fn parts(table: &mut Table) -> Result<(), AggregateError> {
    row(table, "ExpandA", || {
        drop(Matrix::expand(&[7; 32]));
        Ok(())
    })?;
    let one = member(0);
    let registry = Registry::new(
        &[7; 32],
        [one.register(Randomness::Deterministic)?],
        &Threshold::TwoThirds,
    )?;
    for (name, attempts) in [
        ("ContentKeyDerive, leaf", 1),
        ("8 x ContentKeyDerive, leaf", 8),
    ] {
        let label = TaskId::new(b"one content")?;
        let plan = EpochPlan::with_attempts(1, vec![label], attempts)?;
        row(table, name, || {
            Ok(one.epoch_tree(&registry, &plan).map(drop)?)
        })?;
    }
    // Each call signs for another member, because the number of attempts depends on the key.
    let mut n = 0;
    row(table, "MemberKeyGen, proof of possession", || {
        n += 1;
        Ok(member(n).register(Randomness::Deterministic).map(drop)?)
    })?;
    let committee = Committee::new(1)?;
    let aggregate = committee.interactive(Channels::Signed, &mut committee.journals()?)?;
    let round = committee.round();
    row(table, "Verify", || {
        let verdict = round
            .aggregate_key()
            .verify_mu(round.mu(), &aggregate.signature());
        verdict.map_err(|_| RoundError::Fault.into())
    })?;
    row_with(
        table,
        "commit",
        || committee.journals(),
        |journals| {
            let member = &committee.members[0];
            Ok(member.commit(round, &mut journals[0]).map(drop)?)
        },
    )
}

/// Records in files. Most of the time is spent waiting for the disk.
fn journal() -> Result<Table, Box<dyn Error>> {
    let mut table = Table::new("aggregate_journal", &["record", "least_ms", "median_ms"]);
    let folder = std::env::temp_dir().join(format!("benches-journal-{}", std::process::id()));
    fs::create_dir(&folder)?;
    let labels: Result<Vec<_>, _> = (0..CALLS as u8).map(|n| TaskId::new(&[n])).collect();
    let labels = labels?;
    let one = member(0);
    let registry = Registry::new(
        &[7; 32],
        [one.register(Randomness::Deterministic)?],
        &Threshold::TwoThirds,
    )?;
    let plan = EpochPlan::with_attempts(1, labels.clone(), 8)?;
    let tree = one.epoch_tree(&registry, &plan)?;
    for (name, last) in [
        ("one record, log and mark flushed", 0),
        ("eight records in one flush", 7),
    ] {
        let log = folder.join(format!("log-{last}"));
        let mark = folder.join(format!("mark-{last}"));
        let mut journal = OneTimeKeyJournal::create_files(&log, &mark, one.seed())?;
        let root = one.announce(&tree, &mut journal, Randomness::Deterministic)?;
        let mut store = MemoryWriteOnceStore::default();
        let pinned = PinnedRoots::pin(&mut store, &registry, &plan, &[root])?;
        let acknowledgement = one.acknowledge(&pinned, &mut journal, Randomness::Deterministic)?;
        let agreed = AgreedRoots::from_pin(
            &registry.identity(plan.epoch()),
            &pinned,
            &[acknowledgement],
        )?;
        let mut times = Vec::new();
        for label in &labels {
            let label = label.attempt(last)?;
            let start = Instant::now();
            one.retire(&agreed, &label, &mut journal)?;
            times.push(start.elapsed().as_secs_f64() * 1e3);
        }
        times.sort_by(f64::total_cmp);
        table.push(cells![name, times[0], times[CALLS / 2]]);
    }
    fs::remove_dir_all(&folder)?;
    Ok(table)
}
