//! `cargo bench -p benches --bench batch`
//!
//! The published grid of batch verifiers: sequential beside parallel, batch
//! sizes, early exit, vertices, key sets beyond the caches.
#![allow(missing_docs)]

use core::time::Duration;
use std::sync::Arc;

use batch_verify::{BatchSize, KeyStorage, Mode};
use benches::{Round, Runner, Set, Stream, Way};
use criterion::measurement::WallTime;
use criterion::{
    BenchmarkGroup, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main,
};

fn batch(criterion: &mut Criterion) {
    let pool = Runner::pool(std::thread::available_parallelism().map_or(1, usize::from));
    let one = Runner::pool(1);
    let mut stream = Stream::new(0);
    for set in Set::ALL {
        let mut group = group(criterion, format!("batch/{}", set.name()));
        for signatures in [8, 16, 32, 64, 128, 256, 1024] {
            let round = Arc::new(Round::new(set, 64, signatures, &mut stream));
            group.throughput(Throughput::Elements(signatures as u64));
            let mut bench = |name: &str, way, pool| {
                let mut runner = Runner::new(way, &round, pool);
                group.bench_function(BenchmarkId::new(name, signatures), |bencher| {
                    bencher.iter(|| assert!(runner.call()));
                });
            };
            bench("sequential", Way::Sequential, &one);
            bench("one-thread", Way::FULL, &one);
            bench("parallel", Way::FULL, &pool);
            for peer in Way::PEERS {
                let Way::Peer(name) = peer else { continue };
                bench(name, peer, &pool);
            }
        }
        group.finish();
    }

    let set = Set::MlDsa87;
    let mut sizes = group(criterion, "batch/size".to_owned());
    let round = Arc::new(Round::new(set, 64, 1024, &mut stream));
    sizes.throughput(Throughput::Elements(1024));
    for size in [8, 16, 32, 64, 128] {
        let way = Way::Batch(Mode::Full, BatchSize::Fixed(size), KeyStorage::BySize);
        let mut runner = Runner::new(way, &round, &pool);
        sizes.bench_function(BenchmarkId::from_parameter(size), |bencher| {
            bencher.iter(|| assert!(runner.call()));
        });
    }
    sizes.finish();

    let mut early = group(criterion, "batch/early_exit".to_owned());
    for (place, index) in [("start", 0), ("middle", 512), ("end", 1023)] {
        let round = Round::new(set, 64, 1024, &mut stream).broken_at(index);
        let round = Arc::new(round);
        for (name, mode) in [
            ("full", Mode::Full),
            ("first_invalid", Mode::FirstInvalid),
            ("any_invalid", Mode::AnyInvalid),
        ] {
            let mut runner = Runner::new(
                Way::Batch(mode, BatchSize::Auto, KeyStorage::BySize),
                &round,
                &pool,
            );
            early.bench_function(BenchmarkId::new(name, place), |bencher| {
                bencher.iter(|| assert!(!runner.call()));
            });
        }
    }
    early.finish();

    let mut vertices = group(criterion, "batch/vertices".to_owned());
    for count in [32, 64, 128] {
        let round = Arc::new(Round::new(set, count, count, &mut stream));
        vertices.throughput(Throughput::Elements(count as u64));
        for (name, way) in [("sequential", Way::Sequential), ("batch", Way::Vertices)] {
            let mut runner = Runner::new(way, &round, &pool);
            vertices.bench_function(BenchmarkId::new(name, count), |bencher| {
                bencher.iter(|| assert!(runner.call()));
            });
        }
    }
    vertices.finish();

    let mut keys = group(criterion, "batch/validators".to_owned());
    for validators in [8, 100, 300, 1000, 4000] {
        let signatures = validators.max(1024);
        let round = Round::new(set, validators, signatures, &mut stream).shuffled(&mut stream);
        let round = Arc::new(round);
        keys.throughput(Throughput::Elements(signatures as u64));
        let mut runner = Runner::new(Way::FULL, &round, &pool);
        keys.bench_function(BenchmarkId::from_parameter(validators), |bencher| {
            bencher.iter(|| assert!(runner.call()));
        });
    }
    keys.finish();
}

fn group(criterion: &mut Criterion, name: String) -> BenchmarkGroup<'_, WallTime> {
    let mut group = criterion.benchmark_group(name);
    group
        .sample_size(10)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_millis(800));
    group
}

criterion_group!(all, batch);
criterion_main!(all);
