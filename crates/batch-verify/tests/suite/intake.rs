//! The intake: one answer for every item, whatever drops, panics, fills up, changes
//! or shuts down; nothing but verified items in its memory.

use core::future::Future;
use core::pin::pin;
use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use core::task::{Context as Task, Poll, Waker};
use std::sync::{Arc, mpsc};

use crate::votes::{CONTEXT, KEYS, MEMBERS, Moody, VOTES, expected, forged, held, set, verifier};
use crate::waiting::{block_on, hang_limit};
use batch_verify::{
    Admission, Executor, Intake, IntakeError, IntakeLimits, Item, Message, Origin, Outcome,
    Priority, Reason, Threads,
};
use mldsa_core::Context;

#[test]
fn votes_are_verified_and_remembered() {
    for threads in [
        Threads::Inline,
        Threads::Dedicated(1),
        Threads::Dedicated(3),
    ] {
        let intake = Intake::new(verifier(threads), IntakeLimits::default());
        // Awaited, waited for, and for nobody in particular.
        let pending: Vec<_> = VOTES
            .iter()
            .map(|vote| intake.submit(vote.clone()).unwrap())
            .collect();
        for (n, pending) in pending.into_iter().enumerate() {
            match n % 3 {
                0 => assert_eq!(block_on(pending), Ok(expected(n))),
                1 => assert_eq!(pending.wait(), Ok(expected(n))),
                _ => pending.detach(),
            }
        }
        intake.drain();
        let stats = intake.stats();
        assert_eq!((stats.items, stats.verified, stats.waiting), (60, 60, 0));
        let valid = (0..60).filter(|&n| !forged(n)).count();
        assert_eq!(stats.memory.items, valid);
        assert!(stats.memory.bytes > valid * 2420);
        // Asked for one by one: the valid ones from memory, the others never.
        for (n, vote) in VOTES.iter().enumerate() {
            assert_eq!(intake.verify(vote.as_item()), expected(n), "{n}");
        }
        let again = intake.stats();
        // To ask what is remembered is nothing that happens to an item.
        assert!(intake.remembers(VOTES[0].as_item()) && !intake.remembers(VOTES[3].as_item()));
        assert_eq!(intake.stats(), again);
        assert_eq!(again.memory.hits - stats.memory.hits, valid as u64);
        assert_eq!(again.verified - stats.verified, 60 - valid as u64);
        // In any form that is signed the same; not under other bytes.
        let item = VOTES[0].as_item();
        let Message::Bytes(message) = item.message else {
            unreachable!()
        };
        let parts = [&message[..3], &[], &message[3..]];
        let same = Item::new(item.signer, Message::Parts(&parts), item.signature);
        assert!(intake.remembers(same));
        assert!(intake.remembers(same.with_context(Context::new(CONTEXT).unwrap())));
        let key = KEYS[0].verifying_key().as_bytes().as_slice();
        assert!(intake.remembers(Item::new(key, item.message, item.signature)));
        assert!(!intake.remembers(same.with_context(Context::EMPTY)));
        assert!(!intake.remembers(Item::new(1, item.message, item.signature)));
        let parts = [&message[..3], &message[3..], &[0]];
        let other = Item::new(item.signer, Message::Parts(&parts), item.signature);
        assert!(!intake.remembers(other));
        let mut signature = item.signature.to_vec();
        signature[2000] ^= 1;
        assert!(!intake.remembers(Item::new(item.signer, item.message, &signature)));
    }
}

/// The memory keeps to its bytes, and none is none.
#[test]
fn memory_is_bounded() {
    for memory_bytes in [0, 1000, 10_000, 50_000] {
        let limits = IntakeLimits {
            memory_bytes,
            ..IntakeLimits::default()
        };
        let intake = Intake::new(verifier(Threads::Inline), limits);
        for _ in 0..2 {
            for (n, vote) in VOTES.iter().enumerate() {
                assert_eq!(intake.verify(vote.as_item()), expected(n));
                let memory = intake.stats().memory;
                assert!(memory.bytes <= memory_bytes);
                assert!(memory.items <= memory_bytes / 2420);
            }
        }
        let remembered = VOTES.iter().filter(|vote| intake.remembers(vote.as_item()));
        assert_eq!(remembered.count(), intake.stats().memory.items);
    }
}

/// What was valid under one set says nothing about another.
#[test]
fn memory_knows_its_epoch() {
    let intake = Intake::new(verifier(Threads::Inline), IntakeLimits::default());
    let vote = VOTES[0].as_item();
    assert_eq!(intake.verify(vote), Outcome::Valid);
    assert!(intake.remembers(vote));
    // Member 0 is somebody else now, and the old one has another id.
    let before = intake.replace_keys(set((0..MEMBERS).rev()));
    assert!(before.keys().is_some());
    assert!(!intake.remembers(vote));
    let refused = Outcome::Invalid(Reason::ChallengeMismatch);
    assert_eq!(intake.verify(vote), refused);
    let moved = Item::new(MEMBERS as u32 - 1, vote.message, vote.signature);
    assert!(intake.remembers(moved));
    assert_eq!(intake.verify(moved), Outcome::Valid);
    // Gone altogether.
    intake.replace_keys(set(1..MEMBERS));
    let gone = Item::new(MEMBERS as u32 - 1, vote.message, vote.signature);
    assert_eq!(intake.verify(gone), Outcome::Invalid(Reason::UnknownSigner));
    // Keys outside the set are verified and not kept.
    let key = KEYS[0].verifying_key().as_bytes().as_slice();
    let outside = Item::new(key, vote.message, vote.signature);
    assert_eq!(intake.verify(outside), Outcome::Valid);
    assert!(!intake.remembers(outside));
    intake.replace_keys(set(0..MEMBERS));
    assert!(intake.remembers(vote));
}

fn poll<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    pin!(future).poll(&mut Task::from_waker(Waker::noop()))
}

#[test]
fn full_queues_dropped_answers_and_shutdown() {
    let (held, threads) = held();
    let limits = IntakeLimits {
        items: 4,
        ..IntakeLimits::default()
    };
    let intake = Intake::new(verifier(threads), limits);
    let mut pending: Vec<_> = (0..4)
        .map(|n| intake.submit(VOTES[n].clone()).unwrap())
        .collect();
    let full = intake.submit(VOTES[4].clone()).map(drop);
    assert_eq!(full, Err(IntakeError::QueueFull));
    // Another priority has places of its own.
    let low = intake
        .submit_from(1, Priority::Sync, VOTES[4].clone())
        .unwrap();
    assert!(pending.iter_mut().all(|pending| poll(pending).is_pending()));
    // Called off before it is in a batch.
    drop(pending.remove(1));
    held.release();
    let stats = intake.stats();
    assert_eq!((stats.verified, stats.batches, stats.cancelled), (4, 1, 1));
    for (n, pending) in [0, 2, 3].into_iter().zip(pending) {
        assert_eq!(block_on(pending), Ok(expected(n)));
    }
    assert_eq!(low.wait(), Ok(expected(4)));

    // The executor drops its work: nobody waits for ever.
    let mut given_up = intake.submit(VOTES[5].clone()).unwrap();
    held.drop_all();
    assert_eq!(
        poll(&mut given_up),
        Poll::Ready(Err(IntakeError::Abandoned))
    );
    // Somebody who waits does the work instead.
    assert_eq!(
        intake.submit(VOTES[6].clone()).unwrap().wait(),
        Ok(expected(6))
    );
    held.release();
    // Who asks for one takes along what waits.
    let before = intake.stats();
    let waiting: Vec<_> = (7..10)
        .map(|n| intake.submit(VOTES[n].clone()).unwrap())
        .collect();
    assert_eq!(intake.verify(VOTES[10].as_item()), expected(10));
    assert_eq!(intake.stats().batches, before.batches + 1);
    for (n, mut pending) in (7..10).zip(waiting) {
        assert_eq!(poll(&mut pending), Poll::Ready(Ok(expected(n))));
        // Taken once.
        assert_eq!(poll(&mut pending), Poll::Ready(Err(IntakeError::Abandoned)));
    }

    let mut last = intake.submit(VOTES[11].clone()).unwrap();
    intake.shutdown();
    assert_eq!(poll(&mut last), Poll::Ready(Err(IntakeError::ShuttingDown)));
    let late = intake.submit(VOTES[12].clone()).map(drop);
    assert_eq!(late, Err(IntakeError::ShuttingDown));
    intake.drain();
    held.release();
    assert_eq!(intake.stats().shutting_down, 2);
    // What is remembered still is.
    assert!(intake.remembers(VOTES[0].as_item()));
}

/// Awaited and waited for on all the workers of the pool that is to answer.
#[test]
fn workers_that_wait_do_the_work() {
    for threads in [1, 2, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let pool = Arc::new(pool.unwrap());
        let intake = Intake::new(
            verifier(Threads::Pool(Arc::clone(&pool))),
            IntakeLimits {
                memory_bytes: 0,
                ..IntakeLimits::default()
            },
        );
        let (send, receive) = mpsc::channel();
        for task in 0..8 {
            let (inside, send) = (intake.clone(), send.clone());
            pool.spawn(move || {
                for n in 0..20 {
                    let vote = (n + 3 * task) % VOTES.len();
                    let pending = inside.submit(VOTES[vote].clone()).unwrap();
                    let answer = if n % 2 == 0 {
                        block_on(pending)
                    } else {
                        pending.wait()
                    };
                    send.send((vote, answer)).unwrap();
                }
                inside.drain();
            });
        }
        for _ in 0..160 {
            let (vote, answer) = receive.recv_timeout(hang_limit()).unwrap();
            assert_eq!(answer, Ok(expected(vote)));
        }
    }
}

/// Refuses odd peers, panics for peer 4 and on the verdict for peer 6; counts what
/// the others forge.
struct Budget(Arc<AtomicU64>);

impl Admission for Budget {
    fn admits(&self, peer: u64, bytes: usize) -> bool {
        assert!(peer != 4, "the operator's fault");
        assert!(bytes > 2420);
        peer.is_multiple_of(2)
    }

    fn verdict(&self, peer: u64, outcome: Outcome) {
        assert!(peer != 6, "the operator's fault");
        self.0
            .fetch_add(u64::from(!outcome.is_valid()), Ordering::Relaxed);
    }
}

#[test]
fn budgets_by_peer() {
    let forgeries = Arc::new(AtomicU64::new(0));
    let budget = Budget(Arc::clone(&forgeries));
    let intake = Intake::with_admission(
        verifier(Threads::Dedicated(1)),
        IntakeLimits::default(),
        budget,
    );
    for peer in 0..10 {
        for (n, vote) in VOTES.iter().enumerate().take(14) {
            let answer = intake.submit_from(peer, Priority::NextRound, vote.clone());
            let answer = answer.and_then(|pending| pending.wait());
            match peer {
                1 | 3 | 5 | 7 | 9 => assert_eq!(answer, Err(IntakeError::PeerBudget)),
                4 => assert_eq!(answer, Err(IntakeError::HookPanicked)),
                // A panic over a verdict takes no verdict away.
                _ => assert_eq!(answer, Ok(expected(n))),
            }
        }
    }
    let stats = intake.stats();
    assert_eq!((stats.peer_budget, stats.hook_panics), (70, 28));
    // Peers 0, 2 and 8, two forgeries each.
    assert_eq!(forgeries.load(Ordering::Relaxed), 6);
}

/// Threads that submit, await, wait, drop and detach while sets change, hooks panic,
/// work is dropped and, at some point, the intake shuts down: whoever asks is
/// answered once, and every verdict is one of a set that was there.
#[test]
fn everybody_is_answered() {
    let even = set(0..MEMBERS);
    // The same members but the last, who has left.
    let odd = set(0..MEMBERS - 1);
    for round in 0..24usize {
        let executor = Arc::new(Moody::new(round, round % 2 == 1));
        let limits = IntakeLimits {
            items: 12,
            batch: 8 << (round % 3),
            workers: round % 4,
            memory_bytes: 20_000,
            ..IntakeLimits::default()
        };
        let threads = Threads::Executor(Arc::clone(&executor) as Arc<dyn Executor>);
        let budget = Budget(Arc::default());
        let intake = Intake::with_admission(verifier(threads), limits, budget);
        let answers = AtomicUsize::new(0);
        let running = AtomicBool::new(true);
        let patience = if round % 4 == 3 { 40 } else { usize::MAX };
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..3u64)
                .map(|worker| {
                    let (intake, answers, executor) = (&intake, &answers, &executor);
                    scope.spawn(move || {
                        for n in 0..120usize {
                            let vote = (n * 7 + worker as usize * 13) % VOTES.len();
                            let peer = executor.dice(8) as u64;
                            let priority = Priority::ALL[n % 3];
                            let check = |answer: Result<Outcome, IntakeError>| {
                                answers.fetch_add(1, Ordering::Relaxed);
                                match answer {
                                    Ok(Outcome::Invalid(Reason::UnknownSigner)) => {
                                        assert_eq!(vote % MEMBERS, MEMBERS - 1);
                                    }
                                    Ok(outcome) => assert_eq!(outcome, expected(vote)),
                                    Err(IntakeError::PeerBudget) => assert_eq!(peer % 2, 1),
                                    Err(IntakeError::HookPanicked) => assert_eq!(peer, 4),
                                    Err(IntakeError::Abandoned) => assert!(executor.drops),
                                    Err(error) => assert!(
                                        matches!(
                                            error,
                                            IntakeError::QueueFull | IntakeError::ShuttingDown
                                        ),
                                        "{error}"
                                    ),
                                }
                            };
                            if n % 10 == 9 {
                                check(Ok(intake.verify(VOTES[vote].as_item())));
                                continue;
                            }
                            if n % 10 == 8 {
                                // Together with a few others.
                                let items = (vote..vote + 5).map(|n| &VOTES[n % VOTES.len()]);
                                let mut asked = intake.verify_items(items.map(|v| v.as_item()));
                                assert_eq!(asked.len(), 5);
                                check(Ok(asked.swap_remove(0)));
                                continue;
                            }
                            let origin = Origin::peer(peer, priority);
                            let other = (Origin::default(), VOTES[59].clone());
                            let answer = match n % 4 {
                                0 => intake.submit_from(peer, priority, VOTES[vote].clone()),
                                _ => {
                                    let item = (origin, VOTES[vote].clone());
                                    intake.submit_all([item, other]).swap_remove(0)
                                }
                            };
                            match answer {
                                Err(error) => check(Err(error)),
                                Ok(pending) => match n % 5 {
                                    0 => check(pending.wait()),
                                    1 => {
                                        drop(pending);
                                        answers.fetch_add(1, Ordering::Relaxed);
                                    }
                                    2 => {
                                        pending.detach();
                                        answers.fetch_add(1, Ordering::Relaxed);
                                    }
                                    _ => check(block_on(pending)),
                                },
                            }
                        }
                    })
                })
                .collect();
            let changing = scope.spawn(|| {
                let mut n = 0;
                while running.load(Ordering::Relaxed) {
                    intake.replace_keys(if n % 2 == 0 {
                        odd.clone()
                    } else {
                        even.clone()
                    });
                    n += 1;
                    if answers.load(Ordering::Relaxed) > patience {
                        intake.shutdown();
                    }
                    std::thread::yield_now();
                }
            });
            for worker in workers {
                worker.join().unwrap();
            }
            running.store(false, Ordering::Relaxed);
            changing.join().unwrap();
        });
        intake.drain();
        assert_eq!(answers.into_inner(), 360, "{round}");
        let stats = intake.stats();
        // 36 questions were for five items, and three in four of those that were submitted
        // came with another.
        let others = 4 * 36 + (0..120).filter(|n| n % 10 < 8 && n % 4 > 0).count() as u64 * 3;
        assert_eq!((stats.items, stats.waiting), (360 + others, 0), "{round}");
        assert!(stats.memory.bytes <= 20_000);
        // Nothing forged was remembered.
        intake.replace_keys(even.clone());
        for (n, vote) in VOTES.iter().enumerate().filter(|(n, _)| forged(*n)) {
            assert!(!intake.remembers(vote.as_item()), "{round} {n}");
        }
    }
}
