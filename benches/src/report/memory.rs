//! What the batch verifier and the aggregate hold: key sets, batches, the cache of keys,
//! the queue, the intake.

use core::error::Error;
use std::sync::{Arc, Mutex};

use batch_verify::{
    BatchQueue, BatchVerifier, CallerPool, Intake, IntakeLimits, Item, KeyPolicy, KeySet,
    KeyStorage, Outcome, QueueLimits, SignerId, Threads,
};
use mldsa_core::{
    Context, MlDsa44, MlDsa65, MlDsa87, ParameterSet, Randomness, Signature, SigningKey,
};
use mldsa_gates::painted;

use super::plot::{Axis, Plot};
use super::table::Table;
use super::{Effort, Section};
use crate::committee::{Committee, SIZES};
use crate::{STACK, cells, heap};

/// Everything about memory of the upper crates.
///
/// # Errors
/// If a key set or a verifier cannot be built.
pub fn section(effort: &Effort) -> Result<Section, Box<dyn Error>> {
    let sizes = effort.choose(&[16, 64, 256][..], &[16, 64, 256, 1024, 4096]);
    let mut sets = Table::new(
        "key_sets",
        &[
            "set",
            "keys",
            "form",
            "held_bytes",
            "a_key_bytes",
            "says_bytes",
            "peak_bytes",
        ],
    );
    key_sets::<MlDsa44>(&mut sets, sizes)?;
    key_sets::<MlDsa65>(&mut sets, sizes)?;
    key_sets::<MlDsa87>(&mut sets, sizes)?;
    let plot = Plot {
        name: "key_sets",
        title: "A key set in memory",
        x: "keys",
        y: "bytes",
        across: Axis::Logarithmic,
        up: Axis::Logarithmic,
        panels: vec![("", sets.lines(&["set", "form"], "keys", "held_bytes"))],
    };
    let sizes = effort.choose(&[1, 8, 64, 256][..], &[1, 8, 64, 256, 1024, 4096]);
    let mut batches = Table::new(
        "batch_memory",
        &[
            "set",
            "signatures",
            "keys",
            "stack_bytes",
            "first_heap_bytes",
            "heap_bytes",
            "heap_blocks",
        ],
    )
    .detail();
    batch_memory::<MlDsa44>(&mut batches, sizes)?;
    batch_memory::<MlDsa65>(&mut batches, sizes)?;
    batch_memory::<MlDsa87>(&mut batches, sizes)?;
    Ok(Section {
        title: "Memory of the batch verifier and the aggregate",
        parts: vec![
            "Heap as dhat counts it. Stack and heap of `mldsa-core` and `mldsa-lowmem` are in the \
             section on libraries."
                .into(),
            "Key sets by size and form: what they hold, what `KeySet::memory_bytes` says, and the \
             most while they are built. The first set that is large and `auto` measures which form is \
             faster on this machine."
                .into(),
            sets.into(),
            plot.into(),
            "A batch of valid signatures on the calling thread, which is what each worker of a pool \
             needs too: its stack, and the heap it takes for its own work, items and outcomes being \
             the caller's. Under a key set, and with encoded keys in the items and no cache. The first \
             call of a verifier, and a later one."
                .into(),
            batches.into(),
            "The cache of keys that are in no set, bounded in bytes, after three signatures by each \
             of so many senders, ML-DSA-65. They come one after another in the same order, so that a \
             bound far below all of them forgets each before it comes again."
                .into(),
            cache(effort)?.into(),
            "Items that wait, ML-DSA-65, 32-byte messages by members of a key set: in a `BatchQueue`, \
             and in an `Intake` whose workers are busy elsewhere, which remembers afterwards what was \
             valid."
                .into(),
            waiting(effort)?.into(),
            "Aggregates of so many signers, in one process on one thread.".into(),
            aggregates(effort)?.into(),
        ],
    })
}

/// Key pairs of the seeds 0, 1, 2, ...
fn key_pairs<P: ParameterSet>(count: usize) -> Vec<SigningKey<P>> {
    let seed = |n: usize| {
        let mut seed = [0x4d; 32];
        seed[..8].copy_from_slice(&(n as u64).to_le_bytes());
        seed
    };
    SigningKey::from_seeds(&(0..count).map(seed).collect::<Vec<_>>())
}

fn key_sets<P: ParameterSet>(table: &mut Table, sizes: &[usize]) -> Result<(), Box<dyn Error>> {
    let most = sizes.iter().copied().max().unwrap_or(0);
    let keys = key_pairs::<P>(most);
    let public: Vec<_> = keys
        .iter()
        .map(|key| key.verifying_key().as_ref())
        .collect();
    let forms = [
        ("wide", KeyPolicy::Expanded, KeyStorage::Wide),
        ("packed", KeyPolicy::Expanded, KeyStorage::Packed),
        ("auto", KeyPolicy::Expanded, KeyStorage::Auto),
        ("compact", KeyPolicy::Compact, KeyStorage::Auto),
    ];
    for &size in sizes {
        for (form, policy, storage) in forms {
            let builder = KeySet::<P>::builder().policy(policy).storage(storage);
            let builder = builder.threads(Threads::Inline);
            let (set, stats) = heap(|| builder.build(public[..size].iter().copied()));
            table.push(cells![
                P::NAME,
                size,
                form,
                stats.curr_bytes,
                stats.curr_bytes / size,
                set?.memory_bytes(),
                stats.max_bytes,
            ]);
        }
    }
    Ok(())
}

/// Signers and what they have signed, `count` times one message.
struct Signed<P: ParameterSet> {
    keys: Vec<SigningKey<P>>,
    signatures: Vec<Signature<P>>,
}

const MESSAGE: &[u8; 32] = b"thirty-two bytes of some message";

impl<P: ParameterSet> Signed<P> {
    fn new(count: usize) -> Self {
        let keys = key_pairs::<P>(count);
        let sign = |key: &SigningKey<P>| {
            let signature = key.sign(MESSAGE, Context::EMPTY, Randomness::Deterministic);
            signature.expect("signing")
        };
        let signatures = keys.iter().map(sign).collect();
        Self { keys, signatures }
    }

    fn public(&self) -> impl Iterator<Item = &[u8]> {
        self.keys.iter().map(|key| key.verifying_key().as_ref())
    }

    /// By members of a set of all keys.
    fn by_id(&self) -> Vec<Item<'_>> {
        let ids = (0..).map(SignerId::new);
        let items = ids.zip(self.signatures.iter().map(AsRef::as_ref));
        items
            .map(|(id, signature)| Item::new(id, MESSAGE, signature))
            .collect()
    }

    /// By anybody.
    fn by_key(&self) -> Vec<Item<'_>> {
        let items = self.public().zip(self.signatures.iter().map(AsRef::as_ref));
        items
            .map(|(key, signature)| Item::new(key, MESSAGE, signature))
            .collect()
    }
}

fn batch_memory<P: ParameterSet>(table: &mut Table, sizes: &[usize]) -> Result<(), Box<dyn Error>> {
    for &size in sizes {
        let signed = Signed::<P>::new(size);
        let builder = || BatchVerifier::<P>::builder().threads(Threads::Inline);
        let set = KeySet::builder()
            .threads(Threads::Inline)
            .build(signed.public())?;
        let verifiers = [
            ("of a set", builder().keys(set).build()?, signed.by_id()),
            (
                "encoded",
                builder().key_cache_bytes(0).build()?,
                signed.by_key(),
            ),
        ];
        for (keys, verifier, items) in verifiers {
            let mut outcomes = vec![Outcome::Skipped; size];
            let mut verify = || {
                let summary = verifier.verify_into(&items, &mut outcomes);
                assert!(summary.expect("places").all_valid());
            };
            let ((), first) = heap(&mut verify);
            let ((), later) = heap(&mut verify);
            let stack = painted::depth_of(STACK, &mut verify);
            table.push(cells![
                P::NAME,
                size,
                keys,
                stack,
                first.max_bytes,
                later.max_bytes,
                later.total_blocks,
            ]);
        }
    }
    Ok(())
}

fn cache(effort: &Effort) -> Result<Table, Box<dyn Error>> {
    let mut table = Table::new(
        "cache",
        &[
            "bound_bytes",
            "senders",
            "says_bytes",
            "held_bytes",
            "peak_bytes",
        ],
    );
    for senders in effort.choose([64, 256], [256, 4096]) {
        let signed = Signed::<MlDsa65>::new(senders);
        let items = signed.by_key();
        for bound in [1 << 20, 8 << 20, 64 << 20] {
            let (says, stats) = heap(|| {
                let verifier = BatchVerifier::<MlDsa65>::builder()
                    .threads(Threads::Inline)
                    .key_cache_bytes(bound)
                    .build()?;
                let mut says = 0;
                for _ in 0..3 {
                    let report = verifier.verify(&items);
                    assert!(report.all_valid());
                    says = report.summary().cache_bytes;
                }
                let held = dhat::HeapStats::get().curr_bytes;
                drop(verifier);
                Ok::<_, Box<dyn Error>>((says, held))
            });
            let (says, held) = says?;
            table.push(cells![bound, senders, says, held, stats.max_bytes]);
        }
    }
    Ok(table)
}

fn waiting(effort: &Effort) -> Result<Table, Box<dyn Error>> {
    let mut table = Table::new(
        "waiting",
        &[
            "where",
            "items",
            "waiting_bytes",
            "an_item_bytes",
            "peak_bytes",
            "held_afterwards_bytes",
        ],
    );
    for size in effort.choose(&[64, 256][..], &[64, 1024, 4096]) {
        let size = *size;
        let signed = Signed::<MlDsa65>::new(size);
        let keys = KeySet::<MlDsa65>::builder().threads(Threads::Inline);
        let keys = keys.build(signed.public())?;
        let items = signed.by_id();
        let verifier = BatchVerifier::builder().keys(keys.clone());
        let verifier = Arc::new(verifier.threads(Threads::Inline).build()?);
        let mut push = |place: &str, waiting: usize, stats: dhat::HeapStats| {
            table.push(cells![
                place,
                size,
                waiting,
                waiting / size,
                stats.max_bytes,
                stats.curr_bytes,
            ]);
        };
        let mut queue = BatchQueue::new(verifier, QueueLimits::default());
        let (waiting, stats) = heap(|| {
            for item in &items {
                queue.add(*item).expect("a place");
            }
            let waiting = dhat::HeapStats::get().curr_bytes;
            assert!(queue.verify_batch_parallel().all_valid());
            waiting
        });
        push("queue", waiting, stats);

        // Jobs that are never run: the thread that drains does the work.
        let jobs = Mutex::new(Vec::new());
        let busy = CallerPool::new(1, |_, task| task(0)).spawning(
            move |job| jobs.lock().expect("no panic").push(job),
            || false,
        );
        let verifier = BatchVerifier::builder().keys(keys);
        let verifier = verifier.threads(busy.into_threads()).build()?;
        let intake = Intake::new(verifier, IntakeLimits::default());
        let (waiting, stats) = heap(|| {
            for item in &items {
                intake.submit(*item).expect("a place").detach();
            }
            let waiting = dhat::HeapStats::get().curr_bytes;
            intake.drain();
            waiting
        });
        assert_eq!(intake.stats().verified, size as u64);
        push("intake", waiting, stats);
    }
    Ok(table)
}

fn aggregates(effort: &Effort) -> Result<Table, Box<dyn Error>> {
    let mut table = Table::new(
        "aggregate_memory",
        &[
            "signers",
            "call",
            "stack_bytes",
            "heap_bytes",
            "heap_blocks",
        ],
    )
    .detail();
    for &n in effort.choose(&SIZES[..3], &SIZES[..]) {
        let committee = Committee::new(n)?;
        let payload = committee.payload_at_first_attempt()?;
        let aggregate = committee.interactive()?;
        let (round, signature) = (committee.round(), aggregate.signature().as_ref());
        let mut push = |name: &str, call: &mut (dyn FnMut() -> bool + Send)| {
            let (done, stats) = heap(&mut *call);
            assert!(done, "{name}");
            let stack = painted::depth_of(STACK, || assert!(call(), "{name}"));
            table.push(cells![n, name, stack, stats.max_bytes, stats.total_blocks]);
        };
        push("one party", &mut || committee.one_party(&payload).is_ok());
        push("interactive", &mut || committee.interactive().is_ok());
        push("verify", &mut || {
            let key = round.aggregate_key();
            key.verify_mu(round.mu(), signature).is_ok()
        });
    }
    Ok(table)
}
