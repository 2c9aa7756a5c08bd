//! `cargo bench -p benches --bench sign`
#![allow(missing_docs)]

use benches::{Part, bench_part};
use criterion::{Criterion, criterion_group, criterion_main};

fn sign(criterion: &mut Criterion) {
    bench_part(criterion, Part::Sign);
}

criterion_group!(group, sign);
criterion_main!(group);
