//! `cargo bench -p benches --bench aggregate`
//!
//! `docs/ml-adsa.md` compares the rows with the published Go reference (Apple M5).
#![allow(missing_docs)]

use benches::committee::{Committee, SIZES, member};
use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use mladsa_aggregate::test_util::Matrix;
use mladsa_aggregate::{EpochPlan, TaskId};
use mldsa_core::Randomness;

fn aggregate(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("aggregate");
    group.sample_size(20);
    group.bench_function("expand_a", |b| b.iter(|| Matrix::expand(&[7; 32])));

    let single = Committee::new(1).expect("a committee");
    let task = TaskId::new(b"one content").expect("an identifier");
    let plan = EpochPlan::with_attempts(1, vec![task], 1).expect("a plan");
    let one = member(0);
    // One key, its leaf and a tree of that leaf alone.
    group.bench_function("content_key_derive_and_leaf", |b| {
        b.iter(|| one.epoch_tree(&single.registry, &plan).expect("one leaf"));
    });
    let mut n = 0;
    group.bench_function("member_keygen_with_pop", |b| {
        b.iter(|| {
            n += 1;
            member(n)
                .register(Randomness::Deterministic)
                .expect("a signature")
        });
    });

    for n in SIZES {
        let committee = Committee::new(n).expect("a committee");
        if n == 1 {
            let aggregate = committee.interactive().expect("an aggregate");
            let round = committee.round();
            group.bench_function("verify", |b| {
                b.iter(|| {
                    let signature = aggregate.signature().as_ref();
                    let key = round.aggregate_key();
                    key.verify_mu(round.mu(), signature).expect("valid");
                });
            });
        }
        let mut payload = 0u64;
        group.bench_function(BenchmarkId::new("one_party_base", n), |b| {
            b.iter(|| {
                payload += 1;
                committee
                    .one_party(&payload.to_be_bytes())
                    .expect("an aggregate")
            });
        });
        group.bench_function(BenchmarkId::new("interactive_offset", n), |b| {
            b.iter(|| committee.interactive().expect("an aggregate"));
        });
    }
    group.finish();
}

criterion_group!(group, aggregate);
criterion_main!(group);
