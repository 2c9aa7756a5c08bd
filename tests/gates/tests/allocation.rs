//! The heap of `batch-verify`, counted by dhat: a batch allocates only its report; prepared keys, cached
//! verdicts and queued votes take no more than their bounds; a cached quorum copies no signatures.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::sync::{Mutex, MutexGuard, PoisonError};

use batch_verify::{
    BatchVerifier, Committee, CommitteeVerifier, Item, KeyStorage, Mode, QuorumRule, Source,
    Threads, VerificationService, Vote,
};
use dhat::{HeapStats, Profiler};
use mldsa_core::{Context, MlDsa44, Randomness, SigningKey};

#[global_allocator]
static HEAP: dhat::Alloc = dhat::Alloc;

/// Counts the heap for one test at a time, because all threads of a process are counted.
fn counted() -> (Profiler, MutexGuard<'static, ()>) {
    static ALONE: Mutex<()> = Mutex::new(());
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    (Profiler::builder().testing().build(), alone)
}

/// The state of the heap at the start of a part of a test.
struct Region(HeapStats);

/// What was allocated since: blocks and bytes, and the bytes that are in use.
#[derive(Debug)]
struct Change {
    blocks: u64,
    bytes: u64,
    in_use: usize,
}

impl Region {
    fn new() -> Self {
        Self(HeapStats::get())
    }

    fn change(&self) -> Change {
        let now = HeapStats::get();
        Change {
            blocks: now.total_blocks - self.0.total_blocks,
            bytes: now.total_bytes - self.0.total_bytes,
            in_use: now.curr_bytes.saturating_sub(self.0.curr_bytes),
        }
    }
}

const CONTEXT: &[u8] = b"quiet";

fn signers() -> Vec<SigningKey<MlDsa44>> {
    (0..10).map(|n| SigningKey::from_seed(&[n; 32])).collect()
}

fn committee(storage: KeyStorage) -> Committee<MlDsa44> {
    let builder = Committee::builder(CONTEXT)
        .key_storage(storage)
        .threads(Threads::Inline);
    builder
        .build(signers().iter().map(|key| (key.verifying_key(), 1)))
        .unwrap()
}

fn sign(key: &SigningKey<MlDsa44>, message: &[u8]) -> Vec<u8> {
    let context = Context::new(CONTEXT).unwrap();
    key.sign_with_context(message, context, Randomness::Deterministic)
        .unwrap()
        .as_ref()
        .to_vec()
}

#[test]
fn a_batch_allocates_its_report() {
    let _counted = counted();
    let signers = signers();
    let messages: Vec<[u8; 8]> = (0..300_usize).map(usize::to_le_bytes).collect();
    let mut signatures: Vec<Vec<u8>> = (0..300)
        .map(|n| sign(&signers[n % 10], &messages[n]))
        .collect();
    // Rejections, early exits and duplicates must allocate nothing too.
    signatures[250][0] ^= 1;
    *signatures[260].last_mut().unwrap() = 0xff;
    signatures[270].pop();
    let mut batches = 0;
    for storage in [KeyStorage::BySize, KeyStorage::Compact] {
        let committee = committee(storage);
        let members: Vec<_> = committee.members().collect();
        for mode in [Mode::Full, Mode::FirstInvalid, Mode::AnyInvalid] {
            let builder = CommitteeVerifier::builder()
                .mode(mode)
                .threads(Threads::Inline);
            let verifier = builder.build(committee.clone()).unwrap();
            let round = || {
                let places = (0..300).map(|n| if n == 299 { 0 } else { n });
                let votes = places
                    .map(|n| Vote::new(members[n % 10], messages[n].as_slice(), &signatures[n]));
                let report = verifier.verify_batch(votes);
                assert!(report.first_rejected().is_some());
            };
            (0..3).for_each(|_| round());
            let region = Region::new();
            (0..5).for_each(|_| round());
            let allocated = region.change().blocks;
            // Verdicts, and the list of duplicates.
            assert!(allocated <= 2 * 5, "{storage:?} {mode:?}: {allocated}");
            batches += 5;
        }
    }
    assert_eq!(batches, 30);
    println!("allocations in each of {batches} batches of 300 votes: at most 2");
}

#[test]
fn the_key_cache_keeps_its_bound() {
    let _counted = counted();
    let spent: Vec<_> = (0..120)
        .map(|n| {
            let key = SigningKey::<MlDsa44>::from_seed(&[n; 32]);
            (
                key.verifying_key().as_bytes().to_vec(),
                sign(&key, b"spent"),
            )
        })
        .collect();
    let context = Context::new(CONTEXT).unwrap();
    for max_bytes in [25_000, 160_000, 360_000, 400_000, 600_000] {
        let builder = BatchVerifier::<MlDsa44>::builder().threads(Threads::Inline);
        let verifier = builder.key_cache_bytes(max_bytes).build().unwrap();
        let region = Region::new();
        // Two expand a key while there is room, and eight otherwise.
        for times in [2, 1, 1, 8] {
            for (key, signature) in &spent {
                let item = Item::new(key, b"spent", context, signature);
                for _ in 0..times {
                    assert_eq!(verifier.verify(&item), Ok(()));
                }
            }
        }
        let taken = region.change().in_use;
        let said = verifier.key_cache().bytes;
        assert!(taken <= max_bytes, "{taken} of {max_bytes} bytes");
        assert!(said <= max_bytes && said > max_bytes / 2);
    }
}

/// Queue and cache of a service under a flood, and a quorum whose votes are cached.
#[test]
fn a_service_keeps_its_bounds() {
    let _counted = counted();
    let (signers, committee) = (signers(), committee(KeyStorage::BySize));
    let (send, receive) = std::sync::mpsc::channel();
    let (queue_bytes, cache_bytes) = (1_000_000, 500_000);
    let service = VerificationService::builder(committee.clone()).threads(1);
    let service = service.queue_bytes(queue_bytes).cache_bytes(cache_bytes);
    let service = service
        .spawn(move |work| send.send(work).unwrap())
        .build()
        .unwrap();
    let work = receive.recv().unwrap();
    let region = Region::new();
    for n in 0..10_000_u64 {
        let member = committee.member(n as u32 % 10).unwrap();
        let message = n.to_le_bytes();
        let vote = Vote::new(member, &message, &[1; 2420]);
        if let Ok(answer) = service.submit(Source::peer(n % 100), &vote) {
            answer.detach();
        }
    }
    let taken = region.change().in_use;
    // The queue, its tables, and one answer a vote.
    assert!(taken <= queue_bytes + queue_bytes / 5, "{taken} bytes");
    assert!(service.stats().queued_bytes <= queue_bytes);
    std::thread::spawn(work);
    service.drain().wait();

    let region = Region::new();
    for height in 0..60_u64 {
        for (member, key) in committee.members().zip(&signers) {
            let (message, signature) = (height.to_le_bytes(), sign(key, &height.to_le_bytes()));
            assert_eq!(
                service.verify(&Vote::new(member, &message, &signature)),
                Ok(())
            );
        }
    }
    let taken = region.change().in_use;
    assert!(taken <= cache_bytes + cache_bytes / 5, "{taken} bytes");

    let last = 59_u64.to_le_bytes();
    let signatures: Vec<Vec<u8>> = signers.iter().map(|key| sign(key, &last)).collect();
    let votes: Vec<_> = committee
        .members()
        .zip(&signatures)
        .map(|(member, signature)| (member, &signature[..]))
        .collect();
    let region = Region::new();
    let quorum = service.verify_quorum(&committee, &last, &votes, QuorumRule::Certificate);
    let change = region.change();
    assert_eq!(quorum.unwrap().weight(), 10);
    // Tables of the votes, and nothing for each signature.
    assert!(change.bytes < 10_000 && change.blocks <= 20, "{change:?}");
    // Signatures that the caller gives away are moved to the worker.
    let owned = votes
        .iter()
        .map(|(member, signature)| (*member, Box::from(*signature)))
        .collect();
    let message: std::sync::Arc<[u8]> = last.into();
    let region = Region::new();
    let quorum = service.submit_quorum(
        Source::own(),
        &committee,
        message,
        owned,
        QuorumRule::Certificate,
    );
    let quorum = quorum.unwrap().wait();
    let change = region.change();
    assert_eq!(quorum.unwrap().weight(), 10);
    assert!(change.bytes < 10_000 && change.blocks <= 40, "{change:?}");
}

/// The memory of a huge batch is not kept.
#[test]
fn huge_batches_leave_no_memory() {
    let _counted = counted();
    let committee = committee(KeyStorage::Compact);
    let builder = CommitteeVerifier::builder().threads(Threads::Inline);
    let verifier = builder.build(committee.clone()).unwrap();
    let service = VerificationService::builder(committee.clone()).threads(1);
    let service = service.build().unwrap();
    let member = committee.member(0).unwrap();
    // Malformed votes are rejected without cryptography.
    let votes = || (0..1_000_000).map(|_| Vote::new(member, b"", &[]));
    let region = Region::new();
    assert!(!verifier.verify_batch(votes()).all_valid());
    assert!(!service.verify_batch(votes()).all_valid());
    let change = region.change();
    // The end of another test can free memory in between.
    assert!(change.in_use < 1 << 20, "{change:?}");
}
