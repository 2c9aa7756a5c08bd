//! Key sets over epochs, quorums, the collecting queue, vertices.

use core::pin::pin;
use core::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

use crate::waiting::{block_on, hang_limit};
use batch_verify::{
    BatchError, BatchQueue, BatchVerifier, Duplicates, EpochVerifier, Item, KeyPolicy, KeySet,
    KeySetError, KeyStorage, Message, Mode, Outcome, Policy, QueueFull, QueueLimits, QuorumError,
    Reason, SignedVertex, Signer, SignerId, Subject, Threads, Threshold, VertexVerdicts, Vote,
    VoteFor, Weights, verify_vertex_signatures_batch, verify_vertex_signatures_batch_async,
};
use mldsa_core::{
    Context, MlDsa44, MlDsa87, Mu, ParameterSet, PreHash, PreHashed, Randomness, SigningKey,
};

const CONTEXT: &[u8] = b"chain/v1";

fn context() -> Context<'static> {
    Context::new(CONTEXT).unwrap()
}

fn signers<P: ParameterSet>(count: u8) -> Vec<SigningKey<P>> {
    (0..count)
        .map(|n| SigningKey::from_seed(&[n; 32]))
        .collect()
}

fn public<P: ParameterSet>(key: &SigningKey<P>) -> &[u8] {
    key.verifying_key().as_bytes().as_ref()
}

fn sign<P: ParameterSet>(key: &SigningKey<P>, message: &[u8]) -> Vec<u8> {
    let signature = key.sign(message, context(), Randomness::Deterministic);
    signature.unwrap().as_ref().to_vec()
}

fn verifier<P: ParameterSet>(keys: KeySet<P>, threads: Threads) -> BatchVerifier<P> {
    BatchVerifier::builder()
        .keys(keys)
        .context(CONTEXT)
        .threads(threads)
        .build()
        .unwrap()
}

#[test]
fn epochs() {
    let keys = signers::<MlDsa44>(40);
    let (old, new) = keys.split_at(12);
    let signatures: Vec<Vec<u8>> = keys.iter().map(|key| sign(key, b"epoch")).collect();
    for (policy, storage) in [
        (KeyPolicy::Expanded, KeyStorage::Wide),
        (KeyPolicy::Expanded, KeyStorage::Packed),
        (KeyPolicy::Compact, KeyStorage::Auto),
        (KeyPolicy::Lru { max_bytes: 1 << 20 }, KeyStorage::Auto),
    ] {
        let mut set = KeySet::<MlDsa44>::builder()
            .policy(policy)
            .storage(storage)
            .build(old.iter().map(public))
            .unwrap();
        // By id: which of `keys`, if any.
        let mut owners: Vec<Option<usize>> = (0..12).map(Some).collect();
        let mut joined = new.iter();
        // Enough changes for arenas to be dropped, shared and merged.
        for epoch in 0..12 {
            let leaving = owners.iter().position(Option::is_some).unwrap();
            let joining: Vec<&SigningKey<MlDsa44>> = joined.by_ref().take(2).collect();
            let next = set
                .with_changes(
                    joining.iter().map(|key| public(key)),
                    [SignerId::new(leaving as u32)],
                )
                .unwrap();
            owners[leaving] = None;
            for _ in &joining {
                owners.push(Some(12 + 2 * epoch + owners.len() % 2));
            }
            assert_eq!(next.id_bound(), owners.len());
            assert_eq!(next.len(), owners.iter().flatten().count());
            assert_eq!(next.signers().count(), next.len());
            let engine = verifier(next.clone(), Threads::Inline);
            for (id, owner) in owners.iter().enumerate() {
                let id = SignerId::new(id as u32);
                match owner {
                    Some(owner) => {
                        assert_eq!(next.signer_of(public(&keys[*owner])), Some(id));
                        let item = Item::new(id, b"epoch", &signatures[*owner]);
                        assert!(
                            engine.verify(&[item]).all_valid(),
                            "{policy:?} {epoch} {id:?}"
                        );
                        let other = Item::new(id, b"epoch", &signatures[(owner + 1) % 40]);
                        assert!(!engine.verify(&[other]).all_valid());
                    }
                    None => {
                        assert!(next.key(id).is_none());
                        let item = Item::new(id, b"epoch", &signatures[0]);
                        let outcome = engine.verify(&[item]).outcomes()[0];
                        assert_eq!(outcome, Outcome::Invalid(Reason::UnknownSigner));
                    }
                }
            }
            set = next;
        }
        let packed = storage == KeyStorage::Packed;
        let expanded = if packed { 15 << 10 } else { 20 << 10 };
        assert_eq!(set.is_packed(), packed);
        match policy {
            KeyPolicy::Expanded => {
                assert!(set.memory_bytes() >= set.len() * expanded);
                assert!(set.memory_bytes() <= 3 * set.len() * expanded);
            }
            KeyPolicy::Compact => assert!(set.memory_bytes() < set.id_bound() * 2000),
            _ => assert!(set.memory_bytes() < (1 << 20) + set.id_bound() * 2000),
        }
        assert_eq!(set.policy(), policy);
    }
    let set = KeySet::<MlDsa44>::from_public_keys(old.iter().map(public)).unwrap();
    let error = set
        .with_changes(None::<&[u8]>, [SignerId::new(12)])
        .unwrap_err();
    assert_eq!(
        error,
        KeySetError::UnknownSigner {
            signer: SignerId::new(12)
        }
    );
    let error = set.with_changes([public(&old[3])], []).unwrap_err();
    assert_eq!(
        error,
        KeySetError::Duplicate {
            first: 3,
            second: 12
        }
    );
    let error = set.with_changes([&public(&new[0])[1..]], []).unwrap_err();
    assert_eq!(error, KeySetError::Length { index: 12 });
    // Leaving and joining again is a new id.
    let set = set
        .with_changes([public(&old[3])], [SignerId::new(3)])
        .unwrap();
    assert_eq!(set.signer_of(public(&old[3])), Some(SignerId::new(12)));
}

#[test]
fn thresholds() {
    for total in 0..50u64 {
        let weights = Weights::new([total]);
        let two_thirds = Threshold::two_thirds(&weights).weight();
        assert!(3 * two_thirds > 2 * u128::from(total));
        assert!(3 * (two_thirds - 1) <= 2 * u128::from(total));
        let majority = Threshold::majority(&weights).weight();
        assert!(2 * majority > total.into() && 2 * (majority - 1) <= total.into());
    }
    assert_eq!(Threshold::at_least(0), None);
    // No overflow at the top.
    let weights = Weights::new([u64::MAX; 9]);
    assert_eq!(weights.total(), 9 * u128::from(u64::MAX));
    assert_eq!(
        Threshold::two_thirds(&weights).weight(),
        6 * u128::from(u64::MAX) + 1
    );
    assert_eq!(Weights::equal(4).total(), 4);
    assert_eq!(weights.of(SignerId::new(9)), 0);
}

#[test]
fn quorums() {
    let keys = signers::<MlDsa44>(7);
    let set = KeySet::<MlDsa44>::from_public_keys(keys.iter().map(public)).unwrap();
    let message = Message::Bytes(b"block 9");
    let good: Vec<Vec<u8>> = keys.iter().map(|key| sign(key, b"block 9")).collect();
    let other: Vec<Vec<u8>> = keys.iter().map(|key| sign(key, b"block 8")).collect();
    let hedged = keys[0]
        .sign(b"block 9", context(), Randomness::Hedged(&[5; 32]))
        .unwrap();
    let vote = |n: usize| Vote::new(n as u32, &good[n]);
    let forged = |n: usize| Vote::new(n as u32, &other[n]);
    let weights = Weights::equal(7);
    let threshold = Threshold::two_thirds(&weights);
    assert_eq!(threshold.weight(), 5);
    for threads in [
        Threads::Inline,
        Threads::Dedicated(2),
        Threads::Dedicated(8),
    ] {
        for mode in [Mode::Full, Mode::AnyInvalid] {
            let engine = BatchVerifier::builder()
                .keys(set.clone())
                .context(CONTEXT)
                .threads(threads.clone())
                .inline_below(0)
                .mode(mode)
                .build()
                .unwrap();
            let ask = |votes: &[Vote<'_>], policy| {
                engine
                    .verify_quorum(
                        message,
                        votes,
                        &weights,
                        threshold,
                        policy,
                        Duplicates::Once,
                    )
                    .map(|report| (report.weight, report.signers.len()))
            };
            use Policy::{Lenient, Strict};
            let five: Vec<Vote<'_>> = (0..5).map(vote).collect();
            for policy in [Strict, Lenient] {
                assert_eq!(ask(&five, policy), Ok((5, 5)));
                let too_few = |votes: &[Vote<'_>]| {
                    ask(votes, policy)
                        == Err(QuorumError::Insufficient {
                            needed: 5,
                            claimed: 4,
                            verified: 0,
                        })
                };
                assert!(too_few(&five[..4]));
                assert!(matches!(
                    ask(&[], policy),
                    Err(QuorumError::Insufficient {
                        needed: 5,
                        claimed: 0,
                        verified: 0
                    })
                ));
                // One vote again and again is one vote.
                let repeated = [[vote(0); 6].as_slice(), &five[..4]].concat();
                assert!(too_few(&repeated));
                let repeated = [[vote(0); 6].as_slice(), &five].concat();
                assert_eq!(ask(&repeated, policy), Ok((5, 5)));
            }
            // One bad vote among enough good ones.
            let mixed = [vote(0), forged(6), vote(1), vote(2), vote(3), vote(4)];
            assert_eq!(
                ask(&mixed, Strict),
                Err(QuorumError::Invalid {
                    vote: 1,
                    reason: Reason::ChallengeMismatch
                })
            );
            assert_eq!(ask(&mixed, Lenient), Ok((5, 5)));
            // Forged votes under a name, before and after the true one.
            let framed = [
                forged(0),
                forged(0),
                vote(1),
                vote(2),
                vote(3),
                vote(4),
                vote(0),
            ];
            assert_eq!(
                ask(&framed, Strict),
                Err(QuorumError::Contradiction {
                    first: 0,
                    second: 6
                })
            );
            assert_eq!(ask(&framed, Lenient), Ok((5, 5)));
            let two = [
                vote(0),
                Vote::new(0, hedged.as_ref()),
                vote(1),
                vote(2),
                vote(3),
                vote(4),
            ];
            assert_eq!(
                ask(&two, Strict),
                Err(QuorumError::Contradiction {
                    first: 0,
                    second: 1
                })
            );
            assert_eq!(ask(&two, Lenient), Ok((5, 5)));
            // Votes for another block never add up.
            let split = [
                vote(0),
                vote(1),
                vote(2),
                vote(3),
                forged(4),
                forged(5),
                forged(6),
            ];
            assert_eq!(
                ask(&split, Lenient),
                Err(QuorumError::Insufficient {
                    needed: 5,
                    claimed: 7,
                    verified: 4
                })
            );
            let unknown = [
                vote(0),
                Vote::new(7, &good[0]),
                vote(1),
                vote(2),
                vote(3),
                vote(4),
            ];
            assert_eq!(
                ask(&unknown, Strict),
                Err(QuorumError::UnknownSigner { vote: 1 })
            );
            assert_eq!(ask(&unknown, Lenient), Ok((5, 5)));
        }
    }
    let engine = verifier(set, Threads::Inline);
    let ask = |message, weights: &Weights, threshold| {
        let votes = [vote(0)];
        engine
            .verify_quorum(
                message,
                &votes,
                weights,
                threshold,
                Policy::Strict,
                Duplicates::Once,
            )
            .map(|_| ())
    };
    let one = Threshold::at_least(1).unwrap();
    assert_eq!(ask(message, &weights, one), Ok(()));
    let mu = Mu::from_bytes([0; 64]);
    assert_eq!(
        ask(Message::Mu(&mu), &weights, one),
        Err(QuorumError::MessageForm)
    );
    assert_eq!(
        ask(message, &Weights::equal(6), one),
        Err(QuorumError::WeightsLength)
    );
    let eight = Threshold::at_least(8).unwrap();
    assert_eq!(ask(message, &weights, eight), Err(QuorumError::Unreachable));
    // A weight that would overflow 64 bits.
    let heavy = Weights::new([u64::MAX; 7]);
    let needed = Threshold::two_thirds(&heavy);
    let votes: Vec<Vote<'_>> = (0..5).map(vote).collect();
    for policy in [Policy::Strict, Policy::Lenient] {
        let report = engine
            .verify_quorum(message, &votes, &heavy, needed, policy, Duplicates::Once)
            .unwrap();
        assert_eq!(report.weight, 5 * u128::from(u64::MAX));
    }
    let bare = BatchVerifier::<MlDsa44>::builder().build().unwrap();
    let asked = bare.verify_quorum(
        message,
        &votes,
        &weights,
        one,
        Policy::Strict,
        Duplicates::Once,
    );
    assert_eq!(asked.unwrap_err(), QuorumError::NoKeys);
}

#[test]
fn queue() {
    let keys = signers::<MlDsa87>(3);
    let set = KeySet::<MlDsa87>::from_public_keys(keys.iter().map(public)).unwrap();
    let engine = Arc::new(verifier(set, Threads::Dedicated(2)));
    let limits = QueueLimits {
        items: 20,
        bytes: 200_000,
    };
    let mut queue = BatchQueue::new(Arc::clone(&engine), limits);
    assert!(queue.verify_batch_parallel().outcomes().is_empty());
    let stranger = SigningKey::<MlDsa87>::from_seed(&[99; 32]);
    for round in 0..3u8 {
        for n in 0..17usize {
            let message = vec![round; n];
            let signature = sign(&keys[n % 3], &message);
            let index = queue
                .add_signature((n % 3) as u32, &message, &signature)
                .unwrap();
            assert_eq!(index, n);
        }
        let signature = sign(&stranger, b"here");
        queue
            .add_signature(public(&stranger), b"here", &signature)
            .unwrap();
        queue.add_signature(0, b"here", &signature).unwrap();
        // Far too long: refused at its turn, not copied.
        queue.add_signature(0, b"here", &vec![0; 1 << 20]).unwrap();
        assert_eq!(queue.len(), 20);
        assert_eq!(queue.add_signature(0, b"", &signature), Err(QueueFull));
        let report = queue.verify_batch_parallel();
        assert!(
            report.outcomes()[..18]
                .iter()
                .all(|outcome| outcome.is_valid())
        );
        assert_eq!(
            report.outcomes()[18],
            Outcome::Invalid(Reason::ChallengeMismatch)
        );
        assert_eq!(
            report.outcomes()[19],
            Outcome::Invalid(Reason::SignatureLength)
        );
        assert_eq!((report.summary().valid, report.all_valid()), (18, false));
        assert!(queue.is_empty());
    }
    assert_eq!(
        queue.add_signature(0, &vec![0; 200_000], &[0; 4627]),
        Err(QueueFull)
    );
    assert!(queue.is_empty());
}

#[derive(Clone)]
struct Vertex {
    author: u32,
    payload: Vec<u8>,
    signature: Vec<u8>,
    panics: bool,
}

impl SignedVertex for Vertex {
    fn author(&self) -> Signer<'_> {
        assert!(!self.panics, "a vertex that cannot be shown");
        self.author.into()
    }

    fn message(&self) -> Message<'_> {
        Message::Bytes(&self.payload)
    }

    fn signature(&self) -> &[u8] {
        &self.signature
    }
}

fn vertices(keys: &[SigningKey<MlDsa44>], count: usize) -> Vec<Vertex> {
    (0..count)
        .map(|n| {
            let payload = n.to_le_bytes().to_vec();
            let mut signature = sign(&keys[n % keys.len()], &payload);
            signature[5] ^= u8::from(n % 7 == 3);
            Vertex {
                author: (n % keys.len()) as u32,
                payload,
                signature,
                panics: false,
            }
        })
        .collect()
}

#[test]
fn vertex_batches() {
    let keys = signers::<MlDsa44>(5);
    let set = KeySet::<MlDsa44>::from_public_keys(keys.iter().map(public)).unwrap();
    let expected: Vec<bool> = (0..64).map(|n| n % 7 != 3).collect();
    for threads in [Threads::Dedicated(2), Threads::Shared, Threads::Inline] {
        let engine = Arc::new(verifier(set.clone(), threads));
        let round = vertices(&keys, 64);
        assert_eq!(
            verify_vertex_signatures_batch(&engine, &round),
            Ok(expected.clone())
        );
        assert_eq!(
            verify_vertex_signatures_batch::<Vertex, _>(&engine, &[]),
            Ok(vec![])
        );
        // Several at once, then one that panics; the pool works on.
        let futures: Vec<_> = (0..4)
            .map(|_| verify_vertex_signatures_batch_async(&engine, vertices(&keys, 64)))
            .collect();
        for future in futures {
            assert_eq!(block_on(future), Ok(expected.clone()));
        }
        let mut broken = vertices(&keys, 20);
        broken[11].panics = true;
        let sync = verify_vertex_signatures_batch(&engine, &broken);
        assert_eq!(sync, Err(BatchError::Panicked { index: 11 }));
        let future = verify_vertex_signatures_batch_async(&engine, broken);
        assert_eq!(block_on(future), Err(BatchError::Panicked { index: 11 }));
        let future = verify_vertex_signatures_batch_async(&engine, round);
        assert_eq!(block_on(future), Ok(expected.clone()));
    }
}

/// Counts how often vertices are looked at.
struct Watched(Vertex, Arc<AtomicUsize>);

impl SignedVertex for Watched {
    fn author(&self) -> Signer<'_> {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0.author()
    }

    fn message(&self) -> Message<'_> {
        self.0.message()
    }

    fn signature(&self) -> &[u8] {
        self.0.signature()
    }
}

#[test]
fn a_dropped_future_calls_the_batch_off() {
    let keys = signers::<MlDsa44>(2);
    let set = KeySet::<MlDsa44>::from_public_keys(keys.iter().map(public)).unwrap();
    let pool = Arc::new(
        rayon::ThreadPoolBuilder::new()
            .num_threads(1)
            .build()
            .unwrap(),
    );
    let engine = Arc::new(verifier(set, Threads::Pool(Arc::clone(&pool))));
    let looked_at = Arc::new(AtomicUsize::new(0));
    let watched: Vec<Watched> = vertices(&keys, 40)
        .into_iter()
        .map(|vertex| Watched(vertex, Arc::clone(&looked_at)))
        .collect();
    let (release, gate) = std::sync::mpsc::channel::<()>();
    pool.spawn(move || {
        let _ = gate.recv();
    });
    drop(verify_vertex_signatures_batch_async(&engine, watched));
    release.send(()).unwrap();
    // The pool has one thread: this comes after the batch.
    pool.install(|| ());
    assert_eq!(looked_at.load(Ordering::Relaxed), 0);

    // Polled again after the answer: an error, not a hang.
    let mut future = pin!(verify_vertex_signatures_batch_async(
        &engine,
        vertices(&keys, 3)
    ));
    assert!(block_on(future.as_mut()).is_ok());
    assert_eq!(block_on(future.as_mut()), Err(BatchError::Abandoned));
}

/// A future that waits on a worker of the pool that is to answer it: the worker
/// does the work itself.
#[test]
fn a_pool_that_waits_for_itself() {
    let keys = signers::<MlDsa44>(2);
    let set = KeySet::<MlDsa44>::from_public_keys(keys.iter().map(public)).unwrap();
    let pool = Arc::new(
        rayon::ThreadPoolBuilder::new()
            .num_threads(1)
            .build()
            .unwrap(),
    );
    let expected: Vec<bool> = (0..20).map(|n| n % 7 != 3).collect();
    for threads in [Threads::Pool(Arc::clone(&pool)), Threads::Shared] {
        let shared = matches!(threads, Threads::Shared);
        let engine = Arc::new(verifier(set.clone(), threads));
        let ask = || verify_vertex_signatures_batch_async(&engine, vertices(&keys, 20));
        // Started on the worker; and, where the pool is the engine's, elsewhere,
        // while the worker was busy.
        let (send, receive) = std::sync::mpsc::channel();
        let (tell, told) = std::sync::mpsc::channel();
        let here = Arc::clone(&engine);
        let on_worker = vertices(&keys, 20);
        pool.spawn(move || {
            let future = verify_vertex_signatures_batch_async(&here, on_worker);
            tell.send(block_on(future)).unwrap();
            if !shared {
                let elsewhere: VertexVerdicts = receive.recv().unwrap();
                tell.send(block_on(elsewhere)).unwrap();
            }
        });
        if !shared {
            send.send(ask()).unwrap();
        }
        for _ in 0..if shared { 1 } else { 2 } {
            assert_eq!(
                told.recv_timeout(hang_limit()).unwrap(),
                Ok(expected.clone())
            );
        }
        // And still from outside.
        assert_eq!(block_on(ask()), Ok(expected.clone()));
    }
}

fn sign_in<P: ParameterSet>(key: &SigningKey<P>, context: &[u8], message: &[u8]) -> Vec<u8> {
    let context = Context::new(context).unwrap();
    let signature = key.sign(message, context, Randomness::Deterministic);
    signature.unwrap().as_ref().to_vec()
}

/// A quorum in a namespace counts for no other; the rule for repeats is the caller's.
#[test]
fn quorums_in_contexts() {
    let keys = signers::<MlDsa44>(4);
    let set = KeySet::<MlDsa44>::from_public_keys(keys.iter().map(public)).unwrap();
    let weights = Weights::equal(4);
    let threshold = Threshold::two_thirds(&weights);
    let namespaces: [&[u8]; 3] = [b"notarize", b"nullify", b"finalize"];
    let signatures: Vec<Vec<Vec<u8>>> = namespaces
        .iter()
        .map(|context| keys.iter().map(|key| sign_in(key, context, b"7")).collect())
        .collect();
    // The verifier's own rule for repeats plays no part.
    for own in [Duplicates::Once, Duplicates::Verify, Duplicates::Reject] {
        let engine = BatchVerifier::builder()
            .keys(set.clone())
            .context(CONTEXT)
            .duplicates(own)
            .threads(Threads::Inline)
            .build()
            .unwrap();
        for (signed, signatures) in signatures.iter().enumerate() {
            let votes: Vec<Vote<'_>> = (0..)
                .zip(signatures)
                .map(|(n, s)| Vote::new(n, s))
                .collect();
            for (asked, context) in namespaces.iter().enumerate() {
                let subject = Subject::new(b"7").with_context(Context::new(context).unwrap());
                for policy in [Policy::Strict, Policy::Lenient] {
                    let ask = |votes, duplicates| {
                        engine
                            .verify_quorum(subject, votes, &weights, threshold, policy, duplicates)
                    };
                    let once = ask(&votes[..], Duplicates::Once);
                    assert_eq!(once.is_ok(), signed == asked);
                    let twice = [&votes[..], &[votes[2]], &[votes[1]]].concat();
                    assert_eq!(
                        ask(&twice[..], Duplicates::Once),
                        once.map(|mut report| {
                            // Lenient stops before it meets the repeats.
                            report.examined += 2 * usize::from(policy == Policy::Strict);
                            report
                        })
                    );
                    assert_eq!(
                        ask(&twice[..], Duplicates::Reject),
                        Err(QuorumError::Duplicate {
                            first: 2,
                            second: 4
                        })
                    );
                }
            }
            // Under the verifier's context nobody has signed.
            let ask = engine.verify_quorum(
                b"7",
                &votes,
                &weights,
                threshold,
                Policy::Lenient,
                Duplicates::Once,
            );
            let insufficient = QuorumError::Insufficient {
                needed: threshold.weight(),
                claimed: 4,
                verified: 0,
            };
            assert_eq!(ask, Err(insufficient));
        }
    }
}

/// Weights of several messages side by side, each signer once in the total.
#[test]
fn tallies() {
    let keys = signers::<MlDsa44>(5);
    let set = KeySet::<MlDsa44>::from_public_keys(keys.iter().map(public)).unwrap();
    let weights = Weights::new([1, 10, 100, 1000, u64::MAX]);
    let subjects = [
        Subject::new(b"value 1"),
        Subject::new(b"value 2"),
        Subject::new(b"value 1").with_context(Context::new(b"other").unwrap()),
    ];
    let signature = |subject: usize, signer: usize| {
        let context = [CONTEXT, CONTEXT, b"other"][subject];
        let message: &[u8] = [b"value 1", b"value 2", b"value 1"][subject];
        sign_in(&keys[signer], context, message)
    };
    // (for, by, signed): two are for another subject than they were signed for.
    let cast = [
        (0, 0, 0),
        (0, 1, 0),
        (1, 1, 1),
        (1, 2, 0),
        (2, 4, 2),
        (0, 3, 2),
        (1, 1, 1),
    ];
    let signatures: Vec<Vec<u8>> = cast.iter().map(|c| signature(c.2, c.1)).collect();
    let mut votes: Vec<VoteFor<'_>> = cast
        .iter()
        .zip(&signatures)
        .map(|(&(subject, signer, _), signature)| VoteFor {
            subject,
            vote: Vote::new(signer as u32, signature),
        })
        .collect();
    let engine = verifier(set, Threads::Dedicated(2));
    let tally = engine
        .tally(&subjects, &votes, &weights, Duplicates::Once)
        .unwrap();
    let heavy = u128::from(u64::MAX);
    assert_eq!(tally.weights, [11, 10, heavy]);
    assert_eq!(tally.distinct, heavy + 11);
    let ids = |list: &[u32]| list.iter().map(|&id| SignerId::new(id)).collect::<Vec<_>>();
    assert_eq!(tally.signers, [ids(&[0, 1]), ids(&[1]), ids(&[4])]);
    let wrong = Reason::ChallengeMismatch;
    assert_eq!(tally.invalid, [(3, wrong), (5, wrong)]);

    let ask = |votes: &[VoteFor<'_>], duplicates| {
        let tally = engine.tally(&subjects, votes, &weights, duplicates);
        tally.map(|tally| tally.distinct)
    };
    assert_eq!(
        ask(&votes, Duplicates::Reject),
        Err(QuorumError::Duplicate {
            first: 2,
            second: 6
        })
    );
    assert_eq!(ask(&votes[..6], Duplicates::Reject), Ok(heavy + 11));
    assert_eq!(ask(&[], Duplicates::Reject), Ok(0));
    votes[4].subject = 3;
    let unknown = QuorumError::UnknownSubject { vote: 4 };
    assert_eq!(ask(&votes, Duplicates::Once), Err(unknown));
    votes[4].subject = 2;
    votes[4].vote.signer = SignerId::new(5);
    let tally = engine.tally(&subjects, &votes, &weights, Duplicates::Once);
    assert_eq!(tally.unwrap().invalid[1], (4, Reason::UnknownSigner));
    let mu = Mu::from_bytes([0; 64]);
    let of_one_key = [subjects[0], Subject::new(&mu)];
    let tally = engine.tally(&of_one_key, &votes[..2], &weights, Duplicates::Once);
    assert_eq!(tally.unwrap_err(), QuorumError::MessageForm);
}

/// Sets made from lists: ids are positions, expansions and weights follow.
#[test]
fn ordered_sets() {
    let keys = signers::<MlDsa44>(6);
    let signatures: Vec<Vec<u8>> = keys.iter().map(|key| sign(key, b"m")).collect();
    for policy in [
        KeyPolicy::Expanded,
        KeyPolicy::Compact,
        KeyPolicy::Lru { max_bytes: 1 << 20 },
    ] {
        let set = KeySet::<MlDsa44>::builder()
            .policy(policy)
            .build(keys[..4].iter().map(public))
            .unwrap();
        let check = |set: &KeySet<MlDsa44>, owners: &[usize]| {
            let engine = verifier(set.clone(), Threads::Inline);
            assert_eq!((set.len(), set.policy()), (owners.len(), policy));
            for (id, &owner) in (0..).zip(owners) {
                let item = Item::new(id, b"m", &signatures[owner]);
                let other = Item::new(id, b"m", &signatures[(owner + 1) % 6]);
                assert_eq!(engine.verify_each(&[item, other]), [true, false]);
                let one = |n: usize| set.verify_one(id.into(), b"m", context(), &signatures[n]);
                assert_eq!(one(owner), Ok(()));
                assert_eq!(one((owner + 1) % 6), Err(Reason::ChallengeMismatch));
            }
        };
        let weights = Weights::new([1, 2, 3, 4]);
        let order = [3, 0, 2].map(SignerId::new);
        let fewer = set.reordered(&order).unwrap();
        check(&fewer, &[3, 0, 2]);
        assert_eq!(weights.reordered(&order), Weights::new([4, 1, 3]));

        let list = [5, 2, 4, 0].map(|n: usize| public(&keys[n]));
        let next = fewer.with_ordered_keys(list).unwrap();
        check(&next, &[5, 2, 4, 0]);
        let carried = weights.carried(&set, &next, |new| 10 + u64::from(new.index()));
        assert_eq!(carried, Weights::new([10, 3, 12, 1]));

        // Equal sets: the same ids for the same keys, however they were made.
        let again = KeySet::<MlDsa44>::from_public_keys(list).unwrap();
        assert_eq!(next, again);
        assert_eq!(next, next.clone());
        assert_ne!(next, set);
        assert_ne!(set, fewer);
        let back = next
            .with_changes(None::<&[u8]>, [SignerId::new(3)])
            .unwrap();
        assert_ne!(next, back);
        assert_ne!(back, next.reordered(&[0, 1, 2].map(SignerId::new)).unwrap());

        let signer = SignerId::new(4);
        assert_eq!(
            set.reordered(&[signer]),
            Err(KeySetError::UnknownSigner { signer })
        );
        let twice = set.reordered(&[1, 0, 1].map(SignerId::new));
        assert_eq!(
            twice,
            Err(KeySetError::Duplicate {
                first: 0,
                second: 2
            })
        );
        let short = [public(&keys[4]), &public(&keys[5])[1..]];
        assert_eq!(
            set.with_ordered_keys(short),
            Err(KeySetError::Length { index: 1 })
        );
        let twice = [public(&keys[4]), public(&keys[0]), public(&keys[4])];
        assert_eq!(
            set.with_ordered_keys(twice),
            Err(KeySetError::Duplicate {
                first: 0,
                second: 2
            })
        );
        assert_eq!(set.reordered(&[]).unwrap().len(), 0);
    }
}

/// The set is replaced while batches run: each sees one set from beginning to end.
#[test]
fn a_batch_sees_one_epoch() {
    let keys = signers::<MlDsa44>(4);
    let signatures: Vec<Vec<u8>> = keys.iter().map(|key| sign(key, b"m")).collect();
    // In epoch n signer i is key (i + n) % 4.
    let epochs: Vec<KeySet<MlDsa44>> = (0..4)
        .map(|n| KeySet::from_public_keys((0..4).map(|i| public(&keys[(i + n) % 4]))).unwrap())
        .collect();
    let engine = EpochVerifier::new(verifier(epochs[0].clone(), Threads::Dedicated(2)));
    let items: Vec<Item<'_>> = (0..200u32)
        .map(|n| Item::new(n % 4, b"m", &signatures[n as usize / 4 % 4]))
        .collect();
    let stop = core::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for n in 0.. {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                engine.replace_keys(epochs[n % 4].clone());
                std::thread::yield_now();
            }
        });
        for _ in 0..60 {
            let verifier = engine.current();
            let epoch = epochs.iter().position(|set| Some(set) == verifier.keys());
            let epoch = epoch.unwrap();
            let report = verifier.verify(&items);
            for (n, outcome) in report.outcomes().iter().enumerate() {
                let valid = (n % 4 + epoch) % 4 == n / 4 % 4;
                assert_eq!(outcome.is_valid(), valid, "{epoch} {n}");
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    // The one that was replaced lives on with who holds it.
    let before = engine.replace_keys(epochs[1].clone());
    engine.replace(verifier(epochs[2].clone(), Threads::Inline));
    assert_eq!(engine.current().keys(), Some(&epochs[2]));
    assert!(before.keys().is_some());
}

/// Every form of item, under its own context or the verifier's.
#[test]
fn a_queue_takes_every_form() {
    let key = &signers::<MlDsa44>(1)[0];
    let set = KeySet::<MlDsa44>::from_public_keys([public(key)]).unwrap();
    let other = Context::new(b"other").unwrap();
    let here = sign(key, b"message");
    let there = sign_in(key, b"other", b"message");
    let mut mu = mldsa_core::MuBuilder::from_tr(key.verifying_key().tr(), other);
    mu.update(b"message");
    let mu = mu.finish();
    let digest = [3; 64];
    let checked = PreHashed::new(PreHash::Sha2_512, &digest).unwrap();
    let hashed = key
        .sign_prehashed(&checked, other, Randomness::Deterministic)
        .unwrap();
    let digest = Message::PreHashed {
        hash: PreHash::Sha2_512,
        digest: &digest,
    };
    let parts = Message::Parts(&[b"mess", b"", b"age"]);
    let items = [
        Item::new(0, b"message", &here),
        Item::new(public(key), b"message", &here),
        Item::new(0, b"message", &there),
        Item::new(0, b"message", &there).with_context(other),
        Item::new(0, parts, &there).with_context(other),
        Item::new(0, parts, &here),
        Item::new(0, &mu, &there),
        Item::new(0, digest, hashed.as_ref()).with_context(other),
        Item::new(0, digest, hashed.as_ref()),
        Item::new(0, b"message", &here).with_context(Context::EMPTY),
        Item::new(public(key), b"message", &there).with_context(other),
    ];
    let engine = Arc::new(verifier(set, Threads::Inline));
    let expected = engine.verify(&items);
    assert_eq!(expected.valid(), 8);
    let mut queue = BatchQueue::new(Arc::clone(&engine), QueueLimits::default());
    for _ in 0..2 {
        for (n, item) in items.iter().enumerate() {
            assert_eq!(queue.add(*item), Ok(n));
        }
        assert_eq!(
            queue.verify_batch_parallel().outcomes(),
            expected.outcomes()
        );
    }
    // To the byte.
    let bytes = 7 + 5 + 2420;
    for (bytes, fits) in [(bytes, true), (bytes - 1, false)] {
        let limits = QueueLimits { items: 1, bytes };
        let mut queue = BatchQueue::new(Arc::clone(&engine), limits);
        assert_eq!(queue.add(items[4]).is_ok(), fits);
        assert_eq!(queue.add(items[4]), Err(QueueFull));
        let report = queue.verify_batch_parallel();
        assert_eq!(report.outcomes().len(), usize::from(fits));
        assert_eq!(report.all_valid(), fits);
    }
}

/// The async form judges as the blocking one, repeats in other parts included.
#[test]
fn vertices_that_repeat() {
    let keys = signers::<MlDsa44>(3);
    let set = KeySet::<MlDsa44>::from_public_keys(keys.iter().map(public)).unwrap();
    for duplicates in [Duplicates::Once, Duplicates::Verify, Duplicates::Reject] {
        let engine = BatchVerifier::builder()
            .keys(set.clone())
            .context(CONTEXT)
            .duplicates(duplicates)
            .threads(Threads::Dedicated(3))
            .build()
            .unwrap();
        let engine = Arc::new(engine);
        let round = || -> Vec<Vertex> {
            let (a, b) = (vertices(&keys, 130), vertices(&keys, 40));
            a.into_iter().chain(b).collect()
        };
        let sync = verify_vertex_signatures_batch(&engine, &round()).unwrap();
        let valid = |n: usize| n % 7 != 3;
        for (n, verdict) in sync.iter().enumerate() {
            let repeat = n >= 130 && duplicates == Duplicates::Reject;
            assert_eq!(*verdict, valid(n % 130) && !repeat, "{duplicates:?} {n}");
        }
        let future = verify_vertex_signatures_batch_async(&engine, round());
        assert_eq!(block_on(future), Ok(sync));
        // The lowest panic, in whatever part.
        let mut broken = round();
        for n in [160, 91, 120, 45] {
            broken[n].panics = true;
        }
        let future = verify_vertex_signatures_batch_async(&engine, broken);
        assert_eq!(block_on(future), Err(BatchError::Panicked { index: 45 }));
    }
}

/// Workers that all wait for batches of their own pool, and for those of others.
#[test]
fn a_pool_full_of_waiting_workers() {
    let keys = signers::<MlDsa44>(2);
    let set = KeySet::<MlDsa44>::from_public_keys(keys.iter().map(public)).unwrap();
    let vertices = vertices(&keys, 100);
    for threads in [1, 2, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let pool = Arc::new(pool.unwrap());
        let engine = Arc::new(verifier(set.clone(), Threads::Pool(Arc::clone(&pool))));
        let (send, receive) = std::sync::mpsc::channel();
        for n in 0..12 {
            let (engine, send) = (Arc::clone(&engine), send.clone());
            let round = vertices.clone();
            let future = verify_vertex_signatures_batch_async(&engine, vertices.clone());
            pool.spawn(move || {
                let own = verify_vertex_signatures_batch_async(&engine, round);
                let both = if n % 2 == 0 {
                    [block_on(own), block_on(future)]
                } else {
                    [block_on(future), block_on(own)]
                };
                send.send(both).unwrap();
            });
        }
        let expected: Vec<bool> = (0..100).map(|n| n % 7 != 3).collect();
        for _ in 0..12 {
            for answer in receive.recv_timeout(hang_limit()).unwrap() {
                assert_eq!(answer.as_ref(), Ok(&expected));
            }
        }
    }
}
