//! Rates and latencies of a device beside the CPU of the same machine, for its `README.md`.
//!
//! `MLDSA_GPU_RATES="[cuda | opencl | cpu] [ITEMS] [BATCHES] [MS]" cargo test --release -p mldsa-gpu
//! --lib rates -- --nocapture`: ITEMS signatures in a batch (8,192), BATCHES at a time (32), MS milliseconds (500) for each
//! figure. Prints lines of fields separated by tabs: set, keys, who, items, p50 and p99 in
//! microseconds, millions of signatures a second. Both copies are included.

use core::error::Error;
use core::time::Duration;
use std::thread::{available_parallelism, scope};
use std::time::Instant;

use batch_verify::{BatchVerifier, Committee, CommitteeVerifier, Item, Report, Threads, Vote};
use mldsa_core::{
    Context, MlDsa44, MlDsa65, MlDsa87, ParameterSet, Randomness, SigningKey, VerifyingKey,
};

use crate::batch::{Batch, Key, Signed};
use crate::registry::{KeyId, Table};
use crate::{Choice, Gpu, GpuError, GpuOptions};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Index of the key, message, signature.
type Entry = (usize, [u8; 32], Vec<u8>);

struct Settings {
    device: Choice,
    items: usize,
    batches: usize,
    time: Duration,
    cores: usize,
}

fn number(n: usize) -> [u8; 32] {
    core::array::from_fn(|at| (n >> (8 * (at % 4))) as u8)
}

fn valid(report: &Report) -> usize {
    assert!(report.all_valid(), "{:?}", report.first_rejected());
    report.verdicts().len()
}

/// A device with data: prepared keys, or keys that go with the items.
struct Run<'a, P: ParameterSet> {
    settings: &'a Settings,
    gpu: &'a Gpu<P>,
    keys: Vec<VerifyingKey<P>>,
    entries: Vec<Entry>,
    ids: Option<Vec<KeyId>>,
}

impl<'a, P: ParameterSet> Run<'a, P> {
    fn new(settings: &'a Settings, gpu: &'a Gpu<P>, keys: usize, prepare: bool) -> Outcome<Self> {
        let seeds: Vec<_> = (0..keys).map(number).collect();
        let signers = SigningKey::<P>::from_seeds(&seeds);
        let sign = |n: usize| {
            let (key, random) = (n % keys, Randomness::Deterministic);
            let signature = signers[key].sign_with_context(&number(n), Context::EMPTY, random);
            (
                key,
                number(n),
                signature.expect("a signature").as_ref().to_vec(),
            )
        };
        let share = settings.items.div_ceil(settings.cores);
        let entries = scope(|scope| {
            let ranges = (0..settings.items).step_by(share);
            let threads: Vec<_> = ranges
                .map(|start| start..settings.items.min(start + share))
                .map(|range| scope.spawn(move || range.map(sign).collect::<Vec<_>>()))
                .collect();
            let parts = threads.into_iter().map(|thread| thread.join());
            parts.flat_map(|part| part.expect("signatures")).collect()
        });
        let keys: Vec<_> = signers
            .iter()
            .map(|key| key.verifying_key().clone())
            .collect();
        let (before, start) = (gpu.key_memory().bytes, Instant::now());
        let ids = prepare
            .then(|| gpu.register(Table::Prepared, &keys))
            .transpose()?;
        if prepare {
            let (each, time) = (
                gpu.key_memory().bytes - before,
                start.elapsed().as_secs_f64(),
            );
            println!(
                "# {} bytes a key, {:.0} registered a second",
                each / keys.len(),
                keys.len() as f64 / time
            );
        }
        Ok(Self {
            settings,
            gpu,
            keys,
            entries,
            ids,
        })
    }

    /// Times `run`, which verifies so many items, again and again, and prints the line.
    fn time(&self, who: &str, items: usize, mut run: impl FnMut() -> Duration) -> f64 {
        let (mut times, start) = (Vec::new(), Instant::now());
        run();
        while times.len() < 3 || start.elapsed() < self.settings.time {
            times.push(run().as_secs_f64() * 1e6);
        }
        times.sort_by(f64::total_cmp);
        let [p50, p99] = [50, 99].map(|share| times[(times.len() - 1) * share / 100]);
        let keys = if self.ids.is_some() {
            "prepared"
        } else {
            "own"
        };
        let rate = items as f64 / p50;
        println!(
            "{}\t{keys}\t{who}\t{items}\t{p50:.0}\t{p99:.0}\t{rate:.3}",
            P::NAME
        );
        rate
    }

    /// A batch from the pool, which other threads use too.
    fn fill(&self, items: usize) -> Batch<P> {
        let mut batch = loop {
            let batch = match &self.ids {
                Some(_) => self.gpu.batch(Table::Prepared),
                None => self.gpu.batch_with_keys(),
            };
            match batch {
                Err(GpuError::Busy) => std::thread::yield_now(),
                batch => break batch.expect("a batch"),
            }
        };
        for (key, message, signature) in &self.entries[..items] {
            let id = self.ids.as_ref().map(|ids| Key::from(ids[*key]));
            let key = id.unwrap_or_else(|| Key::from(&self.keys[*key]));
            let signed = Signed::Message(Context::EMPTY, message);
            batch.push(key, signed, signature).expect("room");
        }
        batch
    }

    /// Batches that were filled before the clock starts.
    fn filled_before(&self, batches: usize) {
        let items = self.settings.items;
        self.time("device, filled before", items * batches, || {
            let filled: Vec<_> = scope(|scope| {
                let threads: Vec<_> = (0..batches)
                    .map(|_| scope.spawn(|| self.fill(items)))
                    .collect();
                threads
                    .into_iter()
                    .map(|thread| thread.join().expect("a batch"))
                    .collect()
            });
            let start = Instant::now();
            let pending: Vec<_> = filled.into_iter().map(Batch::submit).collect();
            for pending in pending {
                assert!(pending.wait().iter().all(Result::is_ok));
            }
            start.elapsed()
        });
    }

    /// All cores fill batches, which the device verifies meanwhile.
    fn filled_meanwhile(&self) {
        let (items, rounds) = (self.settings.items, 4);
        self.time(
            "device, filled meanwhile",
            items * rounds * self.settings.cores,
            || {
                let start = Instant::now();
                scope(|scope| {
                    for _ in 0..self.settings.cores {
                        scope.spawn(|| {
                            let mut before = None;
                            for _ in 0..rounds {
                                let pending = self.fill(items).submit();
                                if let Some(before) = before.replace(pending) {
                                    assert!(before.wait().iter().all(Result::is_ok));
                                }
                            }
                            assert!(
                                before.is_none_or(|last| last.wait().iter().all(Result::is_ok))
                            );
                        });
                    }
                });
                start.elapsed()
            },
        );
    }

    fn one_batch(&self, who: &str, items: usize) {
        self.time(who, items, || {
            let batch = self.fill(items);
            let start = Instant::now();
            assert!(batch.submit().wait().iter().all(Result::is_ok));
            start.elapsed()
        });
    }

    fn cpu(&self, who: &str, threads: Threads) -> Outcome<()> {
        let verify: Box<dyn Fn() -> usize> = match &self.ids {
            None => {
                let builder = BatchVerifier::<P>::builder().threads(threads);
                let verifier = builder.key_cache_bytes(0).build()?;
                Box::new(move || {
                    valid(&verifier.verify_batch(self.entries.iter().map(
                        |(key, message, signature)| {
                            Item::new(&self.keys[*key], message, Context::EMPTY, signature)
                        },
                    )))
                })
            }
            Some(_) => {
                let keys = self.keys.iter().map(|key| (key, 1));
                let committee = Committee::<P>::builder([]).build(keys)?;
                let builder = CommitteeVerifier::builder().threads(threads);
                let verifier = builder.build(committee.clone())?;
                Box::new(move || {
                    valid(&verifier.verify_batch(self.entries.iter().map(
                        |(key, message, signature)| {
                            let member = committee.member(*key as u32).expect("a member");
                            Vote::new(member, message, signature)
                        },
                    )))
                })
            }
        };
        self.time(who, self.entries.len(), || {
            let start = Instant::now();
            verify();
            start.elapsed()
        });
        Ok(())
    }

    fn measure(&self) -> Outcome<()> {
        self.cpu("CPU, all threads", Threads::Dedicated(self.settings.cores))?;
        self.cpu("CPU, one thread", Threads::Inline)?;
        for batches in [self.settings.batches.div_ceil(4), self.settings.batches] {
            self.filled_before(batches);
        }
        self.filled_meanwhile();
        let sizes = [1, 64, 256, 1024, 4096, 16_384, 65_536];
        for items in sizes
            .into_iter()
            .filter(|size| *size <= self.settings.items)
        {
            self.one_batch("device, one batch", items);
        }
        self.gpu.evict(self.ids.as_deref().unwrap_or_default());
        Ok(())
    }
}

fn set<P: ParameterSet>(settings: &Settings) -> Outcome<()> {
    let start = Instant::now();
    let options = GpuOptions {
        device: settings.device,
        batch_items: settings.items,
        batches: settings.batches,
        ..GpuOptions::default()
    };
    let gpu = Gpu::<P>::open(options.clone())?;
    let first = start.elapsed().as_secs_f64();
    println!(
        "# {}: {:?}, opened in {first:.2} s, threshold {} items",
        P::NAME,
        gpu.device(),
        gpu.threshold()
    );
    Run::new(settings, &gpu, 1000.min(settings.items), true)?.measure()?;
    Run::new(settings, &gpu, settings.items, false)?.measure()?;
    let unchecked = Gpu::<P>::open(GpuOptions {
        cross_check: None,
        ..options
    })?;
    let items = 1024.min(settings.items);
    Run::new(settings, &unchecked, items, true)?.one_batch("device, without a cross-check", items);
    println!("# {gpu:?}");
    Ok(())
}

#[test]
fn rates() -> Outcome<()> {
    let Ok(arguments) = std::env::var("MLDSA_GPU_RATES") else {
        println!("not run: MLDSA_GPU_RATES is unset");
        return Ok(());
    };
    let arguments: Vec<&str> = arguments.split_whitespace().collect();
    let number = |n: usize, default| arguments.get(n).map_or(Ok(default), |text| text.parse());
    let device = match arguments.first().copied() {
        None => Choice::Any,
        Some("cuda") => Choice::Cuda(0),
        Some("opencl") => Choice::OpenCl(0),
        Some("cpu") => Choice::OpenClCpu(0),
        Some(other) => return Err(format!("{other} is not cuda, opencl or cpu").into()),
    };
    let settings = Settings {
        device,
        items: number(1, 8_192)?,
        batches: number(2, 32)?,
        time: Duration::from_millis(number(3, 500)? as u64),
        cores: available_parallelism()?.get(),
    };
    set::<MlDsa44>(&settings)?;
    set::<MlDsa65>(&settings)?;
    set::<MlDsa87>(&settings)
}
