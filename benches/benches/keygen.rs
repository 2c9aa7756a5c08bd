//! `cargo bench -p benches --bench keygen`
#![allow(missing_docs)]

use benches::{Part, bench_part};
use criterion::{Criterion, criterion_group, criterion_main};

fn keygen(criterion: &mut Criterion) {
    bench_part(criterion, Part::Keygen);
}

criterion_group!(group, keygen);
criterion_main!(group);
