//! `cargo bench --manifest-path contrib/peers/Cargo.toml --bench operations [-- FILTER]`: every operation of every implementation,
//! and the memory tiers of `mldsa-lowmem`, as `OPERATION/SET/IMPLEMENTATION`.
#![allow(missing_docs)]

use std::rc::Rc;

use benches::{Inputs, Part, Set, Stream, contenders, lowmem_contenders};
use criterion::{Criterion, criterion_group, criterion_main};

fn operations(criterion: &mut Criterion) {
    let mut stream = Stream::new(0);
    for set in Set::ALL {
        let inputs = Rc::new(Inputs::random(set, 16, 64, &mut stream));
        let mut all = lowmem_contenders(&inputs);
        all.extend(Part::ALL.iter().flat_map(|part| contenders(*part, &inputs)));
        for mut contender in all {
            let title = contender.title().replace(' ', "-");
            let name = format!("{}/{}/{title}", contender.op.name(), set.name());
            let mut i = 0;
            criterion.bench_function(&name, |bencher| {
                bencher.iter(|| {
                    contender.call(i);
                    i += contender.width;
                });
            });
        }
    }
}

criterion_group!(group, operations);
criterion_main!(group);
