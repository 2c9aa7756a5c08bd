//! Whole batches on several threads: ours, and what a user would write with a
//! peer, a plain `par_iter` over its verification.

use std::sync::Arc;

use batch_verify::{
    BatchSize, BatchVerifier, Committee, Duplicates, KeyStorage, MemberId, Message, Mode,
    SignedVertex, Threads, Vote, verify_vertex_signatures_batch,
};
use mldsa_core::hazmat::{Expansion, JobMessage, NttPoly, Verification, verify_lanes};
use mldsa_core::{Context, MlDsa44, MlDsa65, MlDsa87, ParameterSet, VerifyError, VerifyingKey};
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::{Inputs, Set, Stream, now, peers};

/// A batch of signatures under the keys of a validator set.
#[derive(Debug)]
pub struct Round {
    inputs: Inputs,
    /// Indices of cases, in batch order.
    order: Vec<usize>,
    /// Where a signature is broken, if one is.
    broken: Option<usize>,
}

impl Round {
    /// `signatures` valid ones by `validators` in turn.
    #[must_use]
    pub fn new(set: Set, validators: usize, signatures: usize, stream: &mut Stream) -> Self {
        Self {
            inputs: Inputs::random(set, validators, signatures, stream),
            order: (0..signatures).collect(),
            broken: None,
        }
    }

    /// The same in random order of keys.
    #[must_use]
    pub fn shuffled(mut self, stream: &mut Stream) -> Self {
        for last in (1..self.order.len()).rev() {
            self.order.swap(last, stream.below(last + 1));
        }
        self
    }

    /// The same with one bit of the challenge at `place` flipped: as dear as a
    /// bad signature gets.
    #[must_use]
    pub fn broken_at(mut self, place: usize) -> Self {
        self.broken = Some(place);
        self.inputs.cases[self.order[place]].signature[0] ^= 1;
        self
    }

    /// Signatures in the batch.
    #[must_use]
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// Distinct keys.
    #[must_use]
    pub fn validators(&self) -> usize {
        self.inputs.keys.len()
    }
}

/// How a batch is verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Ours, in a mode, with a batch size and a form of the keys.
    Batch(Mode, BatchSize, KeyStorage),
    /// Ours, through `verify_vertex_signatures_batch`.
    Vertices,
    /// The core's lanes alone, over the batch sorted by key: what a batch costs
    /// without screening, planning and verdicts.
    Lanes,
    /// Ours, one `VerifyingKey::verify` after another.
    Sequential,
    /// A peer under `par_iter().all(..)`.
    Peer(&'static str),
}

impl Way {
    /// Everything, with the batch size the library chooses.
    pub const FULL: Self = Self::Batch(Mode::Full, BatchSize::Auto, KeyStorage::BySize);
    /// The peers, by name.
    pub const PEERS: [Self; 2] = [Self::Peer("aws-lc-rs"), Self::Peer("libcrux-ml-dsa")];
}

/// One way of verifying one batch, ready to be called.
pub struct Runner(Box<dyn FnMut() -> bool>);

impl Runner {
    /// A pool of `threads`; to be made before the thread is pinned, which its
    /// threads would inherit.
    ///
    /// # Panics
    /// If the threads cannot be started.
    #[must_use]
    pub fn pool(threads: usize) -> Arc<ThreadPool> {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build();
        Arc::new(pool.expect("threads"))
    }

    /// Prepares keys and verifier; none of that is timed.
    #[must_use]
    pub fn new(way: Way, round: &Arc<Round>, pool: &Arc<ThreadPool>) -> Self {
        match round.inputs.set {
            Set::MlDsa44 => of::<MlDsa44>(way, round, pool),
            Set::MlDsa65 => of::<MlDsa65>(way, round, pool),
            Set::MlDsa87 => of::<MlDsa87>(way, round, pool),
        }
    }

    /// Verifies the batch once; whether all of it is valid.
    pub fn call(&mut self) -> bool {
        (self.0)()
    }

    /// The ticks of one call, whose answer is checked.
    ///
    /// # Panics
    /// If the answer is wrong.
    pub fn time(&mut self, valid: bool) -> u64 {
        let start = now();
        let answer = self.call();
        let ticks = now() - start;
        assert_eq!(answer, valid, "a wrong verdict");
        ticks
    }
}

impl core::fmt::Debug for Runner {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Runner")
    }
}

/// A case as a DAG knows it.
struct Vertex(Arc<Round>, usize, MemberId);

impl SignedVertex for Vertex {
    fn author(&self) -> MemberId {
        self.2
    }

    fn message(&self) -> Message<'_> {
        Message::Bytes(&self.0.inputs.cases[self.1].message)
    }

    fn signature(&self) -> &[u8] {
        &self.0.inputs.cases[self.1].signature
    }
}

fn committee<'a, P: ParameterSet>(
    public: impl Iterator<Item = &'a [u8]>,
    storage: KeyStorage,
    pool: &Arc<ThreadPool>,
) -> Committee<P> {
    let builder = Committee::builder(b"").key_storage(storage);
    let builder = builder.threads(Threads::Pool(Arc::clone(pool)));
    builder.build(public.map(|key| (key, 1))).expect("keys")
}

fn of<P: ParameterSet>(way: Way, round: &Arc<Round>, pool: &Arc<ThreadPool>) -> Runner {
    let (round, pool) = (Arc::clone(round), Arc::clone(pool));
    let public = round.inputs.keys.iter().map(|key| key.public.as_slice());
    match way {
        Way::Batch(mode, batch_size, storage) => {
            let committee = committee::<P>(public, storage, &pool);
            let members: Vec<MemberId> = committee.members().collect();
            let verifier = BatchVerifier::builder()
                .mode(mode)
                .batch_size(batch_size)
                .duplicates(Duplicates::Once)
                .threads(Threads::Pool(pool))
                .build_for(committee)
                .expect("a verifier");
            let mut verdicts = Vec::new();
            Runner(Box::new(move || {
                let cases = &round.inputs.cases;
                let votes = round.order.iter().map(|&case| {
                    let case = &cases[case];
                    Vote::new(members[case.key], case.message.as_slice(), &case.signature)
                });
                verifier.verify_into(votes, &mut verdicts).all_valid()
            }))
        }
        Way::Vertices => {
            let committee = committee::<P>(public, KeyStorage::BySize, &pool);
            let members: Vec<MemberId> = committee.members().collect();
            let verifier = BatchVerifier::builder().threads(Threads::Pool(pool));
            let verifier = verifier.build_for(committee).expect("a verifier");
            let vertices: Vec<Vertex> = round
                .order
                .iter()
                .map(|&case| {
                    Vertex(
                        Arc::clone(&round),
                        case,
                        members[round.inputs.cases[case].key],
                    )
                })
                .collect();
            Runner(Box::new(move || {
                verify_vertex_signatures_batch(&verifier, &vertices).all_valid()
            }))
        }
        Way::Lanes => {
            let keys: Vec<VerifyingKey<P>> = public
                .map(|key| VerifyingKey::from_bytes(key).expect("a key"))
                .collect();
            let len = VerifyingKey::<P>::PREPARED_POLYS;
            let mut arena = Vec::new();
            arena.resize_with(keys.len() * len, || NttPoly([0; 256]));
            for (key, polys) in keys.iter().zip(arena.chunks_exact_mut(len)) {
                assert!(key.prepare_polys(polys));
            }
            let mut order = round.order.clone();
            order.sort_by_key(|&case| round.inputs.cases[case].key);
            let mut results = vec![Err(VerifyError::SignatureLength); order.len()];
            Runner(Box::new(move || {
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
            }))
        }
        Way::Sequential => {
            let keys: Vec<VerifyingKey<P>> = public
                .map(|key| VerifyingKey::from_bytes(key).expect("a key"))
                .collect();
            Runner(Box::new(move || {
                let mut all = true;
                for &case in &round.order {
                    let case = &round.inputs.cases[case];
                    let key = &keys[case.key];
                    let verdict = key.verify(&case.message, Context::EMPTY, &case.signature);
                    all &= verdict.is_ok();
                }
                all
            }))
        }
        Way::Peer(name) => {
            let verify = peers::verifier(name, round.inputs.set).expect("a peer");
            let stops = round.broken.is_some();
            Runner(Box::new(move || {
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
            }))
        }
    }
}
