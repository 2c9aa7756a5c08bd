//! `cargo bench -p benches --bench verify`
#![allow(missing_docs)]

use benches::{Part, bench_part};
use criterion::{Criterion, criterion_group, criterion_main};

fn verify(criterion: &mut Criterion) {
    bench_part(criterion, Part::Verify);
}

criterion_group!(group, verify);
criterion_main!(group);
