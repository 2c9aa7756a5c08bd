//! `cargo bench -p benches --bench lowmem`: the tiers of the low-memory signer.
#![allow(missing_docs)]

use benches::{bench_with, lowmem_contenders};
use criterion::{Criterion, criterion_group, criterion_main};

fn lowmem(criterion: &mut Criterion) {
    bench_with(criterion, lowmem_contenders);
}

criterion_group!(group, lowmem);
criterion_main!(group);
