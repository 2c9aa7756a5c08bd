//! Rates and latencies of a device beside the CPU of the same machine, for its `README.md`.
//!
//! `cargo run --release -p mldsa-gpu --example rates -- [cuda | opencl | cpu] [ITEMS] [MS]`: ITEMS
//! signatures (8,192) of each kind and set, MS milliseconds (500) for each figure. Filling of the
//! batches, both copies and all checks are included.

use core::error::Error;
use core::time::Duration;
use std::thread::{available_parallelism, scope};
use std::time::Instant;

use batch_verify::{BatchVerifier, Committee, CommitteeVerifier, Report, Threads, Vote};
use mldsa_core::{Context, MlDsa44, MlDsa65, MlDsa87, ParameterSet, Randomness, SigningKey};
use mldsa_gpu::{Batch, Choice, Gpu, GpuError, GpuOptions, Key, KeyId, Signed, Table};

/// Most items of a batch.
const LARGEST: usize = 16_384;

/// Index of the key, message, signature.
type Entry = (usize, [u8; 32], Vec<u8>);

fn number(n: usize) -> [u8; 32] {
    core::array::from_fn(|at| (n >> (8 * (at % 4))) as u8)
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
        let ended = workers.into_iter().map(|worker| worker.join());
        ended.map(|items| items.expect("a worker")).sum()
    });
    items as f64 / start.elapsed().as_secs_f64()
}

fn valid(report: &Report) -> usize {
    assert!(report.all_valid(), "{:?}", report.first_rejected());
    report.verdicts().len()
}

/// A device with data: prepared keys, or keys that go with the items.
struct Run<P: ParameterSet> {
    gpu: Gpu<P>,
    signers: Vec<SigningKey<P>>,
    entries: Vec<Entry>,
    ids: Vec<KeyId>,
    is_prepared: bool,
}

impl<P: ParameterSet> Run<P> {
    fn new(
        gpu: &Gpu<P>,
        keys: usize,
        items: usize,
        is_prepared: bool,
    ) -> Result<Self, Box<dyn Error>> {
        let seeds: Vec<_> = (0..keys).map(number).collect();
        let signers = SigningKey::<P>::from_seeds(&seeds);
        let mut entries = Vec::new();
        for n in 0..items {
            let (key, random) = (n % keys, Randomness::Deterministic);
            let signature = signers[key].sign_with_context(&number(n), Context::EMPTY, random)?;
            entries.push((key, number(n), signature.as_ref().to_vec()));
        }
        let public: Vec<_> = signers
            .iter()
            .map(|key| key.verifying_key().clone())
            .collect();
        let (before, start) = (gpu.key_memory().bytes, Instant::now());
        let mut ids = Vec::new();
        if is_prepared {
            ids = gpu.register(Table::Prepared, &public)?;
            let (bytes, time) = (
                gpu.key_memory().bytes - before,
                start.elapsed().as_secs_f64(),
            );
            println!(
                "a key takes {} bytes, {:.0} registered a second",
                bytes / keys,
                keys as f64 / time
            );
        }
        Ok(Self {
            gpu: gpu.clone(),
            signers,
            entries,
            ids,
            is_prepared,
        })
    }

    /// A batch from the pool, which other threads use too.
    fn fill(&self, items: usize) -> Batch<P> {
        let mut batch = loop {
            let batch = match self.is_prepared {
                true => self.gpu.batch(Table::Prepared),
                false => self.gpu.batch_with_keys(),
            };
            match batch {
                Err(GpuError::Busy) => std::thread::yield_now(),
                batch => break batch.expect("a batch"),
            }
        };
        for (key, message, signature) in self.entries.iter().cycle().take(items) {
            let id = self.ids.get(*key).map(|id| Key::from(*id));
            let key = id.unwrap_or_else(|| self.signers[*key].verifying_key().into());
            let signed = Signed::Message(Context::EMPTY, message);
            batch.push(key, signed, signature).expect("room");
        }
        batch
    }

    fn cpu(&self, threads: Threads, time: Duration) -> Result<f64, Box<dyn Error>> {
        let items = || {
            self.entries.iter().map(|(key, message, signature)| {
                let key = self.signers[*key].verifying_key();
                batch_verify::Item::new(key, Context::EMPTY, message, signature)
            })
        };
        if !self.is_prepared {
            let builder = BatchVerifier::<P>::builder().threads(threads);
            let verifier = builder.key_cache_bytes(0).build()?;
            return Ok(rate(1, time, &|| valid(&verifier.verify_batch(items()))));
        }
        let keys = self.signers.iter().map(|key| (key.verifying_key(), 1));
        let committee = Committee::<P>::builder([]).build(keys)?;
        let builder = CommitteeVerifier::builder().threads(threads);
        let verifier = builder.build(committee.clone())?;
        let votes = || {
            self.entries.iter().filter_map(|(key, message, signature)| {
                Some(Vote::new(
                    committee.member(*key as u32)?,
                    message,
                    signature,
                ))
            })
        };
        Ok(rate(1, time, &|| valid(&verifier.verify_batch(votes()))))
    }

    fn measure(&self, cores: usize, time: Duration) -> Result<(), Box<dyn Error>> {
        let full = self.entries.len().min(LARGEST);
        let device = rate(cores, time, &|| {
            let verdicts = self.fill(full).submit().wait();
            assert!(verdicts.iter().all(Result::is_ok));
            verdicts.len()
        });
        let (all, one) = (
            self.cpu(Threads::Dedicated(cores), time)?,
            self.cpu(Threads::Inline, time)?,
        );
        println!(
            "{}: device {:.3} M/s, CPU {:.3} with {cores} threads and {:.3} with one: {:.1} and {:.1} times",
            if self.is_prepared {
                "prepared keys"
            } else {
                "a key for each signature"
            },
            device / 1e6,
            all / 1e6,
            one / 1e6,
            device / all,
            device / one
        );
        for size in [1, 256, 1024, 4096, LARGEST]
            .into_iter()
            .filter(|size| *size <= full)
        {
            let (mut times, begin) = (Vec::new(), Instant::now());
            while times.len() < 5 || begin.elapsed() < time && times.len() < 1000 {
                let batch = self.fill(size);
                let start = Instant::now();
                assert!(batch.submit().wait().iter().all(Result::is_ok));
                times.push(start.elapsed().as_secs_f64() * 1e6);
            }
            times.sort_by(f64::total_cmp);
            let [p50, p99] = [50, 99].map(|share| times[(times.len() - 1) * share / 100]);
            let cpu = size as f64 / all * 1e6;
            println!(
                "  {size} items: p50 {p50:.0} us, p99 {p99:.0} us; CPU {cpu:.0} us with {cores} threads"
            );
        }
        self.gpu.evict(&self.ids);
        Ok(())
    }
}

fn set<P: ParameterSet>(
    device: Choice,
    items: usize,
    time: Duration,
) -> Result<(), Box<dyn Error>> {
    let (cores, start) = (available_parallelism()?.get(), Instant::now());
    let (batch_items, batches) = (items.min(LARGEST), (cores + 2).min(24));
    let gpu = Gpu::<P>::open(GpuOptions {
        device,
        batch_items,
        batches,
        ..GpuOptions::default()
    })?;
    let first = start.elapsed().as_secs_f64();
    println!("\n{}: {:?}", P::NAME, gpu.device());
    println!(
        "first use {first:.2} s, threshold {} items",
        gpu.threshold()
    );
    Run::new(&gpu, 1000.min(items), items, true)?.measure(cores, time)?;
    Run::new(&gpu, items, items, false)?.measure(cores, time)?;
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
