//! `cargo bench --manifest-path contrib/peers/Cargo.toml --bench batch [-- FILTER]`: batches by size, early exit, and key sets
//! larger than the caches.
#![allow(missing_docs)]

use core::time::Duration;
use std::sync::Arc;

use batch_verify::{KeyStorage, Mode};
use benches::{BenchFn, Round, Set, Strategy, Stream};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

fn batch(criterion: &mut Criterion) {
    let pool = BenchFn::pool(std::thread::available_parallelism().map_or(1, usize::from));
    let one = BenchFn::pool(1);
    let mut stream = Stream::new(0);
    let mut bench = |name: String, strategies: &[(&str, Strategy)], round: Round| {
        let round = Arc::new(round);
        let mut group = criterion.benchmark_group(name);
        group
            .sample_size(10)
            .warm_up_time(Duration::from_millis(200));
        group.measurement_time(Duration::from_millis(800));
        group.throughput(Throughput::Elements(round.len() as u64));
        for (name, strategy) in strategies {
            for (threads, pool) in [("one-thread", &one), ("all-threads", &pool)] {
                let mut function = BenchFn::new(*strategy, &round, pool);
                group.bench_function(BenchmarkId::new(*name, threads), |bencher| {
                    bencher.iter(|| function.call());
                });
            }
        }
        group.finish();
    };
    let batch = [("batch", Strategy::FULL)];
    let all = [
        ("sequential", Strategy::Sequential),
        batch[0],
        ("aws-lc-rs", Strategy::Competitor("aws-lc-rs")),
        ("libcrux-ml-dsa", Strategy::Competitor("libcrux-ml-dsa")),
    ];
    for set in Set::ALL {
        for size in [8, 16, 32, 64, 128, 256, 1024] {
            let round = Round::new(set, 64, size, &mut stream);
            bench(format!("batch/{}/{size}", set.name()), &all, round);
        }
    }
    let exits = [Mode::Full, Mode::FirstInvalid, Mode::AnyInvalid];
    let names = ["full", "first-invalid", "any-invalid"];
    let exits = exits.map(|mode| Strategy::Batch(mode, KeyStorage::BySize));
    let exits: Vec<_> = names.into_iter().zip(exits).collect();
    for index in [0, 512, 1023] {
        let round = Round::new(Set::MlDsa87, 64, 1024, &mut stream).broken_at(index);
        bench(format!("early-exit/{index}"), &exits, round);
    }
    for validators in [8, 100, 300, 1000, 4000] {
        let round = Round::new(Set::MlDsa87, validators, validators.max(1024), &mut stream);
        let round = round.shuffled(&mut stream);
        bench(format!("validators/{validators}"), &batch, round);
    }
}

criterion_group!(all, batch);
criterion_main!(all);
