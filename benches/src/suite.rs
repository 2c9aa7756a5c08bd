//! The body shared by the criterion benches.

use std::rc::Rc;

use criterion::Criterion;

use crate::{Contender, Inputs, Part, Set, Stream, contenders};

/// Runs every contender of a part under criterion.
pub fn bench_part(criterion: &mut Criterion, part: Part) {
    bench_with(criterion, |inputs| contenders(part, inputs));
}

/// Runs contenders under criterion as `area/op/params/impl`, round and round over
/// 64 random messages under 16 keys.
pub fn bench_with(criterion: &mut Criterion, contenders: impl Fn(&Rc<Inputs>) -> Vec<Contender>) {
    let mut stream = Stream::new(0);
    for set in Set::ALL {
        let inputs = Rc::new(Inputs::random(set, 16, 64, &mut stream));
        for mut contender in contenders(&inputs) {
            let (op, peer, backend) = (contender.op.name(), contender.peer, contender.backend);
            let name = match peer {
                "ours" => format!("mldsa/{op}/{}/ours-{backend}", set.name()),
                peer if backend == "default" => format!("mldsa/{op}/{}/{peer}", set.name()),
                peer => format!("mldsa/{op}/{}/{peer}-{backend}", set.name()),
            };
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
