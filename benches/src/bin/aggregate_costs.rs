//! `cargo run --release -p benches --bin aggregate_costs [-- BACKEND]`: time,
//! cumulative allocation, peak heap and wire bytes of aggregates.

use std::fs;
use std::time::Instant;

use benches::committee::{Committee, SIZES, member};
use benches::heap;
use cpu_time::ThreadTime;
use mladsa_aggregate::errors::{RoundError, StorageError};
use mladsa_aggregate::test_util::Matrix;
use mladsa_aggregate::{
    AgreedRoots, EpochPlan, Error, MemoryWriteOnceStore, OneTimeKeyJournal, PinnedRoots, Registry,
    TaskId,
};
use mldsa_core::{Backend, Randomness};

#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

/// Smallest and median of several runs, in milliseconds of this thread's CPU time.
fn milliseconds(call: &mut impl FnMut() -> Result<(), Error>) -> Result<[f64; 2], Error> {
    let mut times = Vec::new();
    for _ in 0..31 {
        let start = ThreadTime::now();
        call()?;
        times.push(start.elapsed().as_secs_f64() * 1e3);
    }
    times.sort_by(f64::total_cmp);
    Ok([times[0], times[times.len() / 2]])
}

fn row(name: &str, mut call: impl FnMut() -> Result<(), Error>) -> Result<(), Error> {
    let [least, median] = milliseconds(&mut call)?;
    let (result, heap) = heap(call);
    result?;
    println!(
        "{name:<28} {least:>9.3} {median:>9.3} {:>11} {:>11} {:>10}",
        heap.total_bytes, heap.total_blocks, heap.max_bytes
    );
    Ok(())
}

fn main() -> Result<(), Error> {
    if let Some(name) = std::env::args().nth(1) {
        let backend = Backend::from_name(&name).expect("a backend of this CPU");
        mldsa_core::internals::set_default_backend(backend);
    }
    println!("backend {}, one thread", Backend::detect().name());
    println!(
        "{:<28} {:>9} {:>9} {:>11} {:>11} {:>10}",
        "call", "least ms", "median ms", "bytes", "allocations", "peak heap"
    );
    parts()?;
    for n in SIZES {
        let committee = Committee::new(n)?;
        let payload = committee.payload_at_first_attempt()?;
        row(&format!("one party, open, n = {n}"), || {
            committee.one_party(&payload).map(drop)
        })?;
        row(&format!("interactive, offset, n = {n}"), || {
            committee.interactive().map(drop)
        })?;
    }
    println!();
    journals()?;
    println!();
    wire()
}

/// Wall-clock time of a journal in files, most of which is spent in flushes.
fn journals() -> Result<(), Error> {
    let place = std::env::temp_dir().join(format!("aggregate-costs-{}", std::process::id()));
    fs::create_dir(&place).map_err(StorageError::from)?;
    let tasks: Result<Vec<_>, _> = (0..31u8).map(|n| TaskId::new(&[n])).collect();
    let tasks = tasks?;
    let one = member(0);
    let registry = Registry::new(&[7; 32], [one.register(Randomness::Deterministic)?])?;
    let plan = EpochPlan::with_attempts(1, tasks.clone(), 8)?;
    let tree = one.epoch_tree(&registry, &plan)?;
    println!(
        "{:<44} {:>9} {:>9}",
        "journal in files, wall clock", "least ms", "median ms"
    );
    for (name, last) in [
        ("one record, log and mark flushed", 0),
        ("eight records in one flush", 7),
    ] {
        let log = place.join(format!("log-{last}"));
        let mark = place.join(format!("mark-{last}"));
        let mut journal = OneTimeKeyJournal::create_files(&log, &mark, one.seed())?;
        let root = one.announce(&tree, &mut journal, Randomness::Deterministic)?;
        let mut store = MemoryWriteOnceStore::default();
        let pinned = PinnedRoots::pin(&mut store, &registry, &plan, &[root])?;
        let acknowledgement = one.acknowledge(&pinned, &mut journal, Randomness::Deterministic)?;
        let agreed = AgreedRoots::new(&pinned, &[acknowledgement])?;
        let mut times = Vec::new();
        for task in &tasks {
            let attempt = task.attempt(last)?;
            let start = Instant::now();
            one.retire(&agreed, &attempt, &mut journal)?;
            times.push(start.elapsed().as_secs_f64() * 1e3);
        }
        times.sort_by(f64::total_cmp);
        println!(
            "{name:<44} {:>9.3} {:>9.3}",
            times[0],
            times[times.len() / 2]
        );
    }
    Ok(fs::remove_dir_all(&place).map_err(StorageError::from)?)
}

/// The parts of a committee's work.
fn parts() -> Result<(), Error> {
    row("ExpandA", || {
        drop(Matrix::expand(&[7; 32]));
        Ok(())
    })?;
    let one = member(0);
    let registry = Registry::new(&[7; 32], [one.register(Randomness::Deterministic)?])?;
    let plan = EpochPlan::with_attempts(1, vec![TaskId::new(b"one content")?], 1)?;
    row("ContentKeyDerive, leaf", || {
        Ok(one.epoch_tree(&registry, &plan).map(drop)?)
    })?;
    let plan = EpochPlan::with_attempts(1, vec![TaskId::new(b"eight contents")?], 8)?;
    row("8 x ContentKeyDerive, leaf", || {
        Ok(one.epoch_tree(&registry, &plan).map(drop)?)
    })?;
    // The number of signing attempts varies, so every run uses another member.
    let mut n = 0;
    row("MemberKeyGen, proof", || {
        n += 1;
        Ok(member(n).register(Randomness::Deterministic).map(drop)?)
    })?;
    let committee = Committee::new(1)?;
    let (round, aggregate) = (committee.round(), committee.interactive()?);
    row("Verify", || {
        let signature = aggregate.signature().as_ref();
        let verdict = round.aggregate_key().verify_mu(round.mu(), signature);
        verdict.map_err(|_| RoundError::Fault.into())
    })?;
    row("commit", || {
        let member = &committee.members[0];
        let mut journal = committee.journal(member)?;
        Ok(member.commit(round, &mut journal).map(drop)?)
    })
}

/// Bytes sent and received for one attempt.
fn wire() -> Result<(), Error> {
    println!("bytes; an opening is that of a tree of four leaves");
    println!(
        "{:>4} {:>12} {:>12} {:>12} {:>12} {:>12} {:>12} {:>12}",
        "", "member", "", "combiner", "", "verifier", "", ""
    );
    println!(
        "{:>4} {:>12} {:>12} {:>12} {:>12} {:>12} {:>12} {:>12}",
        "n", "sends", "+ opening", "receives", "+ openings", "receives", "+ openings", "signatures"
    );
    for n in SIZES {
        let committee = Committee::new(n)?;
        let object = committee.interactive()?.to_bytes().len();
        let opening = committee.opening_len();
        let sent = committee.sent();
        println!(
            "{n:>4} {sent:>12} {:>12} {:>12} {:>12} {object:>12} {:>12} {:>12}",
            sent + opening,
            n * sent,
            n * (sent + opening),
            object + n * opening,
            n * 4627
        );
    }
    Ok(())
}
