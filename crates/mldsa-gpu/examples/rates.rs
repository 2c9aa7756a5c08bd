//! Rates and latencies of a device beside the CPU of the same machine, for its `README.md`.
//!
//! `cargo run --release -p mldsa-gpu --example rates -- [cuda | opencl | cpu] [ITEMS] [MS]`: ITEMS
//! signatures (8,192) of each kind and set, MS milliseconds (500) for each figure. Filling of the
//! batches, both copies and all checks are included.

use core::error::Error;
use core::time::Duration;
use std::thread::{available_parallelism, scope};
use std::time::Instant;

use batch_verify::{BatchVerifier, Committee, Item, Report, Threads, Vote};
use mldsa_core::{
    Context, MlDsa44, MlDsa65, MlDsa87, ParameterSet, Randomness, Signature, SigningKey,
    VerifyingKey,
};
use mldsa_gpu::{Batch, Choice, Gpu, GpuError, GpuOptions, Key, Signed, Table};

const CONTEXT: &[u8] = b"chain/v1/tx";

struct Entry<P: ParameterSet> {
    key: usize,
    message: [u8; 32],
    signature: Signature<P>,
}

/// Keys, and signatures under them in turn.
struct Data<P: ParameterSet> {
    keys: Vec<VerifyingKey<P>>,
    entries: Vec<Entry<P>>,
}

fn context() -> Context<'static> {
    Context::new(CONTEXT).unwrap_or(Context::EMPTY)
}

fn data<P: ParameterSet>(keys: usize, items: usize) -> Result<Data<P>, Box<dyn Error>> {
    let number = |n: usize| -> [u8; 32] { core::array::from_fn(|at| (n >> (8 * (at % 4))) as u8) };
    let seeds: Vec<_> = (0..keys).map(number).collect();
    let signers = SigningKey::<P>::from_seeds(&seeds);
    let sign = |n: usize| {
        let (key, message) = (n % keys, number(n));
        let signature =
            signers[key].sign_with_context(&message, context(), Randomness::Deterministic)?;
        Ok(Entry {
            key,
            message,
            signature,
        })
    };
    let entries: Result<_, mldsa_core::SignError> = (0..items).map(sign).collect();
    let keys = signers
        .iter()
        .map(|signer| signer.verifying_key().clone())
        .collect();
    Ok(Data {
        keys,
        entries: entries?,
    })
}

/// Items in a second: `run` verifies so many, on `threads` threads at a time.
fn rate(threads: usize, time: Duration, run: &(dyn Fn() -> usize + Sync)) -> f64 {
    run();
    let start = Instant::now();
    let work = || {
        let mut items = 0;
        while start.elapsed() < time {
            items += run();
        }
        items
    };
    let items: usize = scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers
            .into_iter()
            .map(|worker| worker.join().expect("a worker"))
            .sum()
    });
    items as f64 / start.elapsed().as_secs_f64()
}

/// A batch of `items`, from a pool that other threads use too.
fn fill<'a, P: ParameterSet>(
    empty: &dyn Fn() -> Result<Batch<P>, GpuError>,
    key: &dyn Fn(usize) -> Key<'a>,
    data: &Data<P>,
    items: usize,
) -> Batch<P> {
    let mut batch = loop {
        match empty() {
            Ok(batch) => break batch,
            Err(GpuError::Busy) => std::thread::yield_now(),
            Err(error) => panic!("{error}"),
        }
    };
    for entry in data.entries.iter().cycle().take(items) {
        let signed = Signed::Message(context(), &entry.message);
        batch
            .push(key(entry.key), signed, entry.signature.as_ref())
            .expect("room");
    }
    batch
}

fn valid(report: &Report) -> usize {
    assert!(report.all_valid(), "{:?}", report.first_rejected());
    report.verdicts().len()
}

fn set<P: ParameterSet>(
    device: Choice,
    items: usize,
    time: Duration,
) -> Result<(), Box<dyn Error>> {
    let cores = available_parallelism()?.get();
    let start = Instant::now();
    let gpu = Gpu::<P>::open(GpuOptions {
        device,
        batch_items: items.min(16_384),
        batches: (cores + 2).min(24),
        ..GpuOptions::default()
    })?;
    println!(
        "\n{}: {:?}\nfirst use {:.2} s, threshold {} items",
        P::NAME,
        gpu.device(),
        start.elapsed().as_secs_f64(),
        gpu.threshold()
    );
    let full = items.min(16_384);
    for (kind, keys, table) in [
        ("prepared keys", 1000.min(items), Some(Table::Prepared)),
        (
            "registered encoded keys",
            1000.min(items),
            Some(Table::Encoded),
        ),
        ("a key for each signature", items, None),
    ] {
        let data = data::<P>(keys, items)?;
        let before = (gpu.key_memory().bytes, Instant::now());
        let ids = table.map_or(Ok(vec![]), |table| gpu.register(table, &data.keys))?;
        if table.is_some() {
            let (bytes, seconds) = (
                gpu.key_memory().bytes - before.0,
                before.1.elapsed().as_secs_f64(),
            );
            println!(
                "{kind}: {} bytes each, {:.0} registered a second",
                bytes / keys,
                keys as f64 / seconds
            );
        }
        let empty = || table.map_or_else(|| gpu.batch_with_keys(), |table| gpu.batch(table));
        let key = |n: usize| {
            ids.get(n)
                .map_or_else(|| Key::from(&data.keys[n]), |id| Key::from(*id))
        };
        let device = rate(cores, time, &|| {
            let verdicts = fill(&empty, &key, &data, full).submit().wait();
            assert!(verdicts.iter().all(Result::is_ok));
            verdicts.len()
        });
        let cpu = |threads: usize| -> Result<f64, Box<dyn Error>> {
            let choice = if threads == 1 {
                Threads::Inline
            } else {
                Threads::Dedicated(threads)
            };
            let builder = BatchVerifier::<P>::builder().threads(choice);
            if table == Some(Table::Prepared) {
                let committee = Committee::builder(context());
                let committee = committee.build(data.keys.iter().map(|key| (key, 1)))?;
                let verifier = builder.build_for(committee.clone())?;
                let votes = || {
                    data.entries.iter().filter_map(|entry| {
                        let member = committee.member(entry.key as u32)?;
                        Some(Vote::new(member, &entry.message, entry.signature.as_ref()))
                    })
                };
                return Ok(rate(1, time, &|| valid(&verifier.verify(votes()))));
            }
            let verifier = builder.key_cache_bytes(0).build()?;
            let items = || {
                data.entries.iter().map(|entry| {
                    let key = &data.keys[entry.key];
                    Item::new(key, context(), &entry.message, entry.signature.as_ref())
                })
            };
            Ok(rate(1, time, &|| valid(&verifier.verify(items()))))
        };
        let (all, one) = (cpu(cores)?, cpu(1)?);
        println!(
            "{kind}, batches of {full}: device {:.3} M/s, CPU {:.3} M/s with {cores} threads and \
             {:.3} M/s with one: {:.1} and {:.1} times",
            device / 1e6,
            all / 1e6,
            one / 1e6,
            device / all,
            device / one
        );
        for size in [1, 256, 1024, 4096, 16_384]
            .into_iter()
            .filter(|size| *size <= full)
        {
            let mut times = Vec::new();
            let begin = Instant::now();
            while times.len() < 5 || begin.elapsed() < time && times.len() < 1000 {
                let batch = fill(&empty, &key, &data, size);
                let start = Instant::now();
                let verdicts = batch.submit().wait();
                times.push(start.elapsed().as_secs_f64() * 1e6);
                assert!(verdicts.iter().all(Result::is_ok));
            }
            times.sort_by(f64::total_cmp);
            let at = |share: usize| times[(times.len() - 1) * share / 100];
            println!(
                "  {size} items: p50 {:.0} us, p99 {:.0} us; CPU {:.0} us with {cores} threads",
                at(50),
                at(99),
                size as f64 / all * 1e6
            );
        }
        gpu.evict(&ids);
    }
    println!("{:?}, fault: {:?}", gpu.counts(), gpu.fault());
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let argument = |n: usize| arguments.get(n).map(String::as_str);
    let device = match argument(0) {
        None => Choice::Any,
        Some("cuda") => Choice::Cuda(0),
        Some("opencl") => Choice::OpenCl(0),
        Some("cpu") => Choice::OpenClCpu(0),
        Some(other) => return Err(format!("{other} is not cuda, opencl or cpu").into()),
    };
    let items = argument(1).map_or(Ok(8192), str::parse)?;
    let time = Duration::from_millis(argument(2).map_or(Ok(500), str::parse)?);
    set::<MlDsa44>(device, items, time)?;
    set::<MlDsa65>(device, items, time)?;
    set::<MlDsa87>(device, items, time)
}
