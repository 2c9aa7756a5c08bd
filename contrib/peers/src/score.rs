//! One part of the scorecard on one parameter set.

use core::time::Duration;
use std::rc::Rc;

use mldsa_core::Backend;

use crate::{
    Budget, Contender, Inputs, Part, Samples, Set, Stream, contenders, mean_attempts, measure,
};

/// Cases of the parts whose time hardly depends on the message.
const CASES: usize = 256;

/// Extent of a measurement.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Distinct keys; prepared keys of all of them are in use at once.
    pub validators: usize,
    /// Messages of each signer. Many, because the standard deviation of the attempts is as large as
    /// their mean.
    pub messages: usize,
    /// Time of a part.
    pub time: Duration,
    /// Seed of the inputs.
    pub seed: u64,
}

/// A contender and its times.
#[derive(Debug)]
pub struct Score {
    /// The contender.
    pub contender: Contender,
    /// Distinct keys in use.
    pub keys: usize,
    /// Its times.
    pub samples: Samples,
    /// Mean signing attempts over the messages, where they are known.
    pub attempts: Option<f64>,
}

/// The chosen contenders of one part, interleaved.
#[must_use]
pub fn score(set: Set, part: Part, plan: Plan, chosen: impl Fn(&Contender) -> bool) -> Vec<Score> {
    let mut stream = Stream::new(plan.seed);
    let cases = if part == Part::Sign {
        plan.messages
    } else {
        CASES
    };
    let inputs = Rc::new(Inputs::random(set, plan.validators, cases, &mut stream));
    let mut all = contenders(part, &inputs);
    let mut keys = vec![plan.validators; all.len()];
    if part != Part::Sign {
        // Operations that keep nothing between calls get a new key for every case. Signers do not,
        // because the attempts belong to the messages.
        let inputs = Rc::new(Inputs::random(set, cases, cases, &mut stream));
        let distinct = contenders(part, &inputs);
        for ((contender, keys), distinct) in all.iter_mut().zip(&mut keys).zip(distinct) {
            if !contender.op.prepared() {
                (*contender, *keys) = (distinct, cases);
            }
        }
    }
    let all = all.into_iter().zip(keys);
    let (mut all, keys): (Vec<_>, Vec<_>) = all.filter(|(one, _)| chosen(one)).unzip();
    all.iter_mut().for_each(runs_on_its_backend);
    let samples = measure(
        &mut all,
        Budget {
            time: plan.time,
            cases,
        },
    );
    let attempts = (part == Part::Sign).then(|| mean_attempts(&inputs));
    let scores = all.into_iter().zip(keys).zip(samples);
    scores
        .map(|((contender, keys), samples)| Score {
            attempts: attempts.filter(|_| contender.deterministic),
            contender,
            keys,
            samples,
        })
        .collect()
}

/// Calls a contender of `mldsa-core` once and checks that the fastest backend that ran is its own. A
/// backend uses kernels of slower ones where it has none.
fn runs_on_its_backend(contender: &mut Contender) {
    if contender.peer != "ours" {
        return;
    }
    let dispatched = || {
        Backend::available()
            .map(Backend::dispatched)
            .collect::<Vec<_>>()
    };
    let before = dispatched();
    contender.call(0);
    let changed = before
        .iter()
        .zip(dispatched())
        .map(|(before, after)| *before != after);
    let fastest = Backend::available()
        .zip(changed)
        .filter(|(_, changed)| *changed);
    let fastest = fastest.last().map(|(backend, _)| backend.name());
    assert_eq!(fastest, Some(contender.backend), "{contender:?}");
}
