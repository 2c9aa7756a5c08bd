//! Whole batches on one and on several threads: by `batch-verify`, and by a plain `par_iter` over the
//! verification of another implementation.

use core::time::Duration;
use std::sync::Arc;
use std::time::Instant;

use batch_verify::{Committee, CommitteeVerifier, KeyStorage, MemberId, Mode, Threads, Vote};
use mldsa_core::internals::{Expansion, JobMessage, NttPoly, Verification, verify_lanes};
use mldsa_core::{Context, MlDsa44, MlDsa65, MlDsa87, ParameterSet, VerifyError, VerifyingKey};
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::{Inputs, Set, Stream, ThreadTime, competitors, now};

/// A batch of signatures under the keys of a validator set.
#[derive(Debug)]
pub struct Round {
    inputs: Inputs,
    /// Indices of cases, in batch order.
    order: Vec<usize>,
    /// Index of the invalid signature, if there is one.
    broken: Option<usize>,
}

impl Round {
    /// `signatures` valid signatures, one after another by each of `validators`.
    #[must_use]
    pub fn new(set: Set, validators: usize, signatures: usize, stream: &mut Stream) -> Self {
        Self {
            inputs: Inputs::random(set, validators, signatures, stream),
            order: (0..signatures).collect(),
            broken: None,
        }
    }

    /// Shuffles the batch.
    #[must_use]
    pub fn shuffled(mut self, stream: &mut Stream) -> Self {
        for last in (1..self.order.len()).rev() {
            self.order.swap(last, stream.below(last + 1));
        }
        self
    }

    /// Flips a bit of the challenge of the signature at `index`: the invalid signature that takes
    /// longest to verify.
    #[must_use]
    pub fn broken_at(mut self, index: usize) -> Self {
        self.broken = Some(index);
        self.inputs.cases[self.order[index]].signature[0] ^= 1;
        self
    }

    /// Number of signatures.
    #[must_use]
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// Whether the batch is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }
}

/// Way to verify a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// `CommitteeVerifier` with prepared keys.
    Batch(Mode, KeyStorage),
    /// The lanes of `mldsa-core` alone, over the batch sorted by key: without checks, plan and
    /// verdicts.
    Lanes,
    /// `VerifyingKey::verify`, one signature after another.
    Sequential,
    /// Another implementation under `par_iter`.
    Competitor(&'static str),
}

impl Strategy {
    /// All items, in the key storage that the library chooses.
    pub const FULL: Self = Self::Batch(Mode::Full, KeyStorage::BySize);
}

/// One strategy on one batch.
pub struct BenchFn {
    call: Box<dyn FnMut() -> bool + Send>,
    pool: Arc<ThreadPool>,
    batch: usize,
    valid: bool,
}

impl BenchFn {
    /// A pool of `threads`. Make it before the thread is pinned: new threads inherit that.
    ///
    /// # Panics
    /// If the threads cannot be started.
    #[must_use]
    pub fn pool(threads: usize) -> Arc<ThreadPool> {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build();
        Arc::new(pool.expect("threads"))
    }

    /// Prepares keys and verifier, which is not timed.
    #[must_use]
    pub fn new(strategy: Strategy, round: &Arc<Round>, pool: &Arc<ThreadPool>) -> Self {
        let call = match round.inputs.set {
            Set::MlDsa44 => call::<MlDsa44>(strategy, round, pool),
            Set::MlDsa65 => call::<MlDsa65>(strategy, round, pool),
            Set::MlDsa87 => call::<MlDsa87>(strategy, round, pool),
        };
        Self {
            call,
            pool: Arc::clone(pool),
            batch: round.len(),
            valid: round.broken.is_none(),
        }
    }

    /// Verifies the batch once.
    ///
    /// # Panics
    /// If the verdict is wrong.
    pub fn call(&mut self) {
        assert_eq!((self.call)(), self.valid, "a wrong verdict");
    }

    /// Ticks of one call.
    ///
    /// # Panics
    /// As [`call`](Self::call).
    pub fn time(&mut self) -> u64 {
        let start = now();
        self.call();
        now() - start
    }

    /// Microseconds of one call, of the mean of as many calls as verify 64 signatures.
    ///
    /// One thread is measured by its CPU time, read on the thread that does the work. The CPU time
    /// of the process must not be used: the kernel credits the time of other threads late, so that
    /// work on a pool can appear to take almost none. Several threads are measured by the wall
    /// clock.
    fn sample(&mut self) -> f64 {
        let calls = 64_usize.div_ceil(self.batch);
        let pool = Arc::clone(&self.pool);
        let mut calls_in_a_row = || (0..calls).for_each(|_| self.call());
        let elapsed = if pool.current_num_threads() == 1 {
            pool.install(|| {
                let start = ThreadTime::now();
                calls_in_a_row();
                start.elapsed()
            })
        } else {
            let start = Instant::now();
            calls_in_a_row();
            start.elapsed()
        };
        elapsed.as_secs_f64() * 1e6 / calls as f64
    }
}

impl core::fmt::Debug for BenchFn {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("BenchFn")
    }
}

fn call<P: ParameterSet>(
    strategy: Strategy,
    round: &Arc<Round>,
    pool: &Arc<ThreadPool>,
) -> Box<dyn FnMut() -> bool + Send> {
    let (round, pool) = (Arc::clone(round), Arc::clone(pool));
    let public = round.inputs.keys.iter().map(|key| key.public.as_slice());
    let loaded = || {
        public
            .clone()
            .map(|key| VerifyingKey::<P>::from_bytes(key).expect("a key"))
    };
    match strategy {
        Strategy::Batch(mode, storage) => {
            let builder = Committee::<P>::builder(b"").key_storage(storage);
            let builder = builder.threads(Threads::Dedicated(pool.current_num_threads()));
            let committee = builder.build(public.map(|key| (key, 1))).expect("keys");
            let members: Vec<MemberId> = committee.members().collect();
            let verifier = CommitteeVerifier::builder()
                .mode(mode)
                .threads(Threads::Dedicated(pool.current_num_threads()))
                .build(committee)
                .expect("a verifier");
            Box::new(move || {
                let vote = |case: &usize| {
                    let case = &round.inputs.cases[*case];
                    Vote::new(members[case.key], case.message.as_slice(), &case.signature)
                };
                let votes = round.order.iter().map(vote);
                verifier.verify_batch(votes).all_valid()
            })
        }
        Strategy::Lanes => {
            let keys: Vec<_> = loaded().collect();
            let len = VerifyingKey::<P>::PREPARED_POLYS;
            let mut arena = Vec::new();
            arena.resize_with(keys.len() * len, || NttPoly([0; 256]));
            for (key, polys) in keys.iter().zip(arena.chunks_exact_mut(len)) {
                assert!(key.prepare_polys(polys));
            }
            let mut order = round.order.clone();
            order.sort_by_key(|&case| round.inputs.cases[case].key);
            let mut results = vec![Err(VerifyError::SignatureLength); order.len()];
            Box::new(move || {
                let item = |n: usize| {
                    let case = &round.inputs.cases[order[n]];
                    let polys = Expansion::Wide(&arena[case.key * len..][..len]);
                    Verification::prepared(
                        keys[case.key].prepared_at(polys).expect("length"),
                        JobMessage::Pure(Context::EMPTY, &case.message),
                        &case.signature,
                    )
                };
                verify_lanes(item, &mut results);
                results.iter().all(Result::is_ok)
            })
        }
        Strategy::Sequential => {
            let keys: Vec<_> = loaded().collect();
            Box::new(move || {
                let mut all = true;
                for &case in &round.order {
                    let case = &round.inputs.cases[case];
                    let key = &keys[case.key];
                    all &= key
                        .verify_with_context(&case.message, Context::EMPTY, &case.signature)
                        .is_ok();
                }
                all
            })
        }
        Strategy::Competitor(name) => {
            let verify = competitors::verifier(name, round.inputs.set).expect("a known name");
            let stops = round.broken.is_some();
            Box::new(move || {
                let one = |&case: &usize| {
                    let (key, case) = round.inputs.case(case);
                    verify(&key.public, &case.message, &case.signature)
                };
                pool.install(|| {
                    if stops {
                        round.order.par_iter().all(one)
                    } else {
                        let verdicts: Vec<bool> = round.order.par_iter().map(one).collect();
                        verdicts.iter().all(|&verdict| verdict)
                    }
                })
            })
        }
    }
}
