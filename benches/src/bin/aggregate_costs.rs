//! `cargo run --release -p benches --bin aggregate_costs`: time, cumulative
//! allocation, peak heap and wire bytes of aggregates.

use benches::committee::{Committee, SIZES};
use cpu_time::ThreadTime;
use mladsa_aggregate::{COMMITMENT_LEN, Error, RESPONSE_LEN};

#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

/// Heap figures of one call.
struct Heap {
    bytes: u64,
    blocks: u64,
    peak: usize,
}

fn heap(call: impl FnOnce() -> Result<(), Error>) -> Result<Heap, Error> {
    let profiler = dhat::Profiler::builder().testing().build();
    call()?;
    let stats = dhat::HeapStats::get();
    drop(profiler);
    Ok(Heap {
        bytes: stats.total_bytes,
        blocks: stats.total_blocks,
        peak: stats.max_bytes,
    })
}

/// The median of several runs, in milliseconds of this thread's CPU time.
fn milliseconds(mut call: impl FnMut() -> Result<(), Error>) -> Result<f64, Error> {
    let mut times = Vec::new();
    for _ in 0..15 {
        let start = ThreadTime::now();
        call()?;
        times.push(start.elapsed().as_secs_f64() * 1e3);
    }
    times.sort_by(f64::total_cmp);
    Ok(times[times.len() / 2])
}

fn main() -> Result<(), Error> {
    println!("backend {}", mldsa_core::Backend::detect().name());
    println!(
        "{:>4} {:<12} {:>9} {:>12} {:>12} {:>10}",
        "n", "call", "ms", "bytes", "allocations", "peak heap"
    );
    for n in SIZES {
        let committee = Committee::new(n)?;
        // A payload whose first attempt succeeds, so that runs are alike.
        let payload = (0u64..)
            .map(u64::to_be_bytes)
            .find(|payload| {
                let aggregate = committee.one_party(payload);
                aggregate.is_ok_and(|aggregate| aggregate.label().attempt() == 0)
            })
            .ok_or(Error::AttemptsExhausted)?;
        let one_party = || committee.one_party(&payload).map(drop);
        let interactive = || committee.interactive().map(drop);
        for (name, ms, heap) in [
            ("one-party", milliseconds(one_party)?, heap(one_party)?),
            (
                "interactive",
                milliseconds(interactive)?,
                heap(interactive)?,
            ),
        ] {
            println!(
                "{n:>4} {name:<12} {ms:>9.3} {:>12} {:>12} {:>10}",
                heap.bytes, heap.blocks, heap.peak
            );
        }
    }
    println!();
    println!(
        "{:>4} {:>12} {:>12} {:>12} {:>12} {:>14} {:>12}",
        "n", "opening", "commitment", "response", "aggregate", "with openings", "signatures"
    );
    for n in SIZES {
        let committee = Committee::new(n)?;
        let object = committee.interactive()?.to_bytes().len();
        // A tree of the four attempts of one content; 32 bytes for each further
        // level.
        let opening = 6144 + 4 + 2 * 32;
        println!(
            "{n:>4} {opening:>12} {COMMITMENT_LEN:>12} {RESPONSE_LEN:>12} {object:>12} {:>14} {:>12}",
            object + n * opening,
            n * 4627
        );
    }
    Ok(())
}
