//! Hooks that panic or re-enter, workers that vanish, wakers that panic, many threads at once:
//! every vote has one answer, and the counters add up.

use core::pin::Pin;
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use core::task::{Context, Poll, Waker};
use std::sync::{Arc, Mutex, OnceLock};
use std::task::Wake;
use std::thread;

use batch_verify::{RateLimiter, RejectReason, ServiceError, Source, VerificationService};
use mldsa_core::MlDsa44;

use crate::fixture::{
    COMMITTEE, MEMBERS, VOTES, answer, from_peer, held, member, own, returns, service,
};

/// Counts its calls, and panics or rejects now and then.
#[derive(Default)]
struct Moody {
    calls: AtomicUsize,
    acquired: Mutex<(u64, usize)>,
    released: Mutex<(u64, usize)>,
    verdicts: AtomicU64,
    panics: AtomicU64,
    service: OnceLock<VerificationService<MlDsa44>>,
}

impl Moody {
    fn panic_sometimes(&self, every: usize) {
        if self.calls.fetch_add(1, Ordering::Relaxed) % every == every - 1 {
            self.panics.fetch_add(1, Ordering::Relaxed);
            panic!("the hook's fault");
        }
        // Hooks may submit and ask.
        if let Some(service) = self.service.get() {
            let _ = service.is_cached(&VOTES[0].as_vote());
            let _ = service.stats();
        }
    }
}

struct Hook(Arc<Moody>);

impl RateLimiter for Hook {
    fn try_acquire(&self, peer: u64, bytes: usize) -> bool {
        self.0.panic_sometimes(17);
        if peer == 5 {
            return false;
        }
        let mut acquired = self.0.acquired.lock().unwrap();
        *acquired = (acquired.0 + 1, acquired.1 + bytes);
        true
    }

    fn on_verdict(&self, _: u64, _: Result<(), RejectReason>) {
        self.0.verdicts.fetch_add(1, Ordering::Relaxed);
        self.0.panic_sometimes(11);
    }

    fn release(&self, _: u64, bytes: usize) {
        {
            let mut released = self.0.released.lock().unwrap();
            *released = (released.0 + 1, released.1 + bytes);
        }
        self.0.panic_sometimes(13);
    }
}

/// Hides the messages of the panics that the tests cause.
fn quiet() {
    std::panic::set_hook(Box::new(|info| {
        let text = info.to_string();
        if !text.contains("'s fault") {
            eprintln!("{text}");
        }
    }));
}

#[test]
fn hooks_that_panic() {
    quiet();
    for threads in [1, 3] {
        let moody = Arc::new(Moody::default());
        let builder = VerificationService::builder(COMMITTEE.clone()).threads(threads);
        let service = builder
            .rate_limiter(Hook(Arc::clone(&moody)))
            .build()
            .unwrap();
        assert!(moody.service.set(service.clone()).is_ok());
        let counts: Vec<[u64; 3]> = thread::scope(|scope| {
            let submitters: Vec<_> = (0..4_u64)
                .map(|thread| {
                    let service = &service;
                    scope.spawn(move || {
                        let mut counts = [0; 3];
                        for n in 0..60 {
                            let peer = (n as u64 + thread) % 6;
                            match service.submit(from_peer(peer), &VOTES[n].as_vote()) {
                                Ok(pending) if n % 5 == 4 => drop(pending),
                                Ok(pending) => {
                                    assert_eq!(pending.wait(), answer(n));
                                    counts[0] += 1;
                                }
                                Err(ServiceError::PeerBudget) => {
                                    assert_eq!(peer, 5);
                                    counts[1] += 1;
                                }
                                Err(error) => {
                                    assert_eq!(error, ServiceError::HookPanicked);
                                    counts[2] += 1;
                                }
                            }
                        }
                        counts
                    })
                })
                .collect();
            submitters
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .collect()
        });
        service.drain().wait();
        let sum = |at: usize| counts.iter().map(|counts| counts[at]).sum::<u64>();
        let stats = service.stats();
        assert_eq!(stats.peer_budget, sum(1));
        assert!(sum(0) > 0 && sum(1) > 0 && sum(2) > 0);
        assert_eq!(stats.hook_panics, moody.panics.load(Ordering::Relaxed));
        assert_eq!(
            *moody.acquired.lock().unwrap(),
            *moody.released.lock().unwrap()
        );
        assert_eq!((stats.queued_votes, stats.queued_bytes), (0, 0));
        let answered = stats.verified + stats.cache_hits + stats.cancelled;
        assert_eq!(answered + stats.peer_budget + sum(2), stats.votes);
        // The service holds itself alive through its hook.
        service.shutdown();
    }
}

#[test]
fn workers_that_never_start() {
    quiet();
    // Dropped, and panicking.
    for panics in [false, true] {
        let builder = VerificationService::builder(COMMITTEE.clone()).threads(2);
        let service = builder.spawn(move |work| {
            assert!(!panics, "the executor's fault");
            drop(work);
        });
        let service = service.build().unwrap();
        let submitted = service.submit(own(), &VOTES[0].as_vote());
        assert_eq!(submitted.unwrap_err(), ServiceError::Abandoned);
        let votes = (0..MEMBERS)
            .map(|n| (member(n), [0; 2420].into()))
            .collect();
        let quorum = batch_verify::QuorumRule::AnyValid;
        let quorum = service.submit_quorum(own(), &COMMITTEE, *b"b", votes, quorum);
        assert_eq!(quorum.unwrap_err(), ServiceError::Abandoned);
        service.drain().wait();
        assert_eq!(service.verify(&VOTES[0].as_vote()), Ok(()));
    }
    // Dropped after votes were queued.
    let (service, worker) = held(|builder| builder);
    let pending = service.submit(own(), &VOTES[0].as_vote()).unwrap();
    let drain = service.drain();
    drop(worker);
    assert_eq!(pending.wait(), Err(ServiceError::Abandoned));
    drain.wait();
    assert_eq!(service.stats().abandoned, 1);
}

/// One of two workers vanishes, and the other does the work.
#[test]
fn one_worker_of_two_vanishes() {
    let first = AtomicUsize::new(0);
    let builder = VerificationService::builder(COMMITTEE.clone()).threads(2);
    let builder = builder.spawn(move |work| {
        if first.fetch_add(1, Ordering::Relaxed) == 1 {
            thread::spawn(work);
        }
    });
    let service = builder.build().unwrap();
    for n in 0..20 {
        assert_eq!(
            service.submit(own(), &VOTES[n].as_vote()).unwrap().wait(),
            answer(n)
        );
    }
}

#[test]
fn wakers_that_panic() {
    quiet();
    struct Bad;
    impl Wake for Bad {
        fn wake(self: Arc<Self>) {
            panic!("the waker's fault");
        }
    }
    let (service, worker) = held(|builder| builder);
    let waker = Waker::from(Arc::new(Bad));
    let mut pending: Vec<_> = (0..20)
        .map(|n| service.submit(own(), &VOTES[n].as_vote()).unwrap())
        .collect();
    let mut drain = service.drain();
    let mut context = Context::from_waker(&waker);
    for pending in &mut pending {
        assert!(Pin::new(pending).poll(&mut context).is_pending());
    }
    assert!(Pin::new(&mut drain).poll(&mut context).is_pending());
    worker.start();
    let last = service.submit(own(), &VOTES[30].as_vote()).unwrap();
    assert_eq!(last.wait(), answer(30));
    service.drain().wait();
    let mut context = Context::from_waker(Waker::noop());
    for (n, pending) in pending.iter_mut().enumerate() {
        assert_eq!(Pin::new(pending).poll(&mut context), Poll::Ready(answer(n)));
    }
    assert!(Pin::new(&mut drain).poll(&mut context).is_ready());
}

/// After a panic of the caller's iterator no vote is left in the queue without a worker for it.
#[test]
fn a_list_that_panics() {
    quiet();
    for _ in 0..20 {
        let service = service();
        let panicked = std::panic::catch_unwind(core::panic::AssertUnwindSafe(|| {
            let votes = VOTES.iter().enumerate().map(|(n, vote)| {
                assert!(n < 10, "the caller's fault");
                (own(), vote.as_vote())
            });
            service.submit_batch(votes).len()
        }));
        assert!(panicked.is_err());
        returns(move || service.drain().wait());
    }
}

/// Submitters, cancellations, drains, epochs and a shutdown at once, in many orders: each vote
/// has one answer, the right one, and no call hangs.
#[test]
fn everything_at_once() {
    for seed in 0..40_u64 {
        returns(move || {
            let builder = VerificationService::builder(COMMITTEE.clone());
            let builder = builder.threads(1 + seed as usize % 3).batch(8);
            let builder = builder.queue_bytes([25_000, 40_000, 10_000_000][seed as usize % 3]);
            let builder = builder.cache_bytes([0, 25_000, 1 << 20][seed as usize / 3 % 3]);
            let service = builder.build().unwrap();
            let dice = |thread: u64, n: u64| {
                let mut state = (seed << 32 | thread << 16 | n).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                state ^= state >> 29;
                state.wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 33
            };
            thread::scope(|scope| {
                for thread in 0..4_u64 {
                    let (service, dice) = (&service, &dice);
                    scope.spawn(move || {
                        for n in 0..60_u64 {
                            let roll = dice(thread, n);
                            let vote = &VOTES[(roll % 60) as usize];
                            let source = match thread {
                                0 => Source::own(),
                                _ => Source::peer(thread),
                            };
                            let source = [source, source.next_round(), source.catch_up()]
                                [(roll / 60 % 3) as usize];
                            let right = answer((roll % 60) as usize);
                            match service.submit(source, &vote.as_vote()) {
                                Ok(pending) if roll % 7 == 0 => drop(pending),
                                Ok(pending) if roll % 7 == 1 => pending.detach(),
                                Ok(pending) => {
                                    let found = pending.wait();
                                    let lost = [ServiceError::Evicted, ServiceError::ShuttingDown];
                                    let lost = found.is_err_and(|error| lost.contains(&error));
                                    assert!(found == right || lost, "{found:?}");
                                }
                                Err(ServiceError::QueueFull | ServiceError::ShuttingDown) => {}
                                Err(error) => panic!("{error}"),
                            }
                            match roll % 101 {
                                0 => service.drain().wait(),
                                1 => service.set_committee(COMMITTEE.clone()).unwrap(),
                                2 if seed % 2 == 0 && n > 30 => service.shutdown(),
                                _ => {}
                            }
                        }
                    });
                }
            });
            service.drain().wait();
            let stats = service.stats();
            assert_eq!((stats.queued_votes, stats.queued_bytes), (0, 0));
            assert_eq!(
                (stats.abandoned, stats.hook_panics, stats.other_epoch),
                (0, 0, 0)
            );
            let answered = stats.verified + stats.cache_hits + stats.cancelled;
            let lost = stats.queue_full + stats.evicted + stats.shutting_down;
            assert_eq!(answered + lost, stats.votes, "{stats:?}");
        });
    }
}

/// A vote is verified once, however often it is queued.
#[test]
fn copies_in_the_queue_share_a_verification() {
    let (service, worker) = held(|builder| builder.batch(8));
    let vote = &VOTES[0];
    let copies: Vec<_> = (0..50)
        .map(|n| service.submit(from_peer(n), &vote.as_vote()).unwrap())
        .collect();
    worker.start();
    for copy in copies {
        assert_eq!(copy.wait(), Ok(()));
    }
    // One batch of eight, in which copies are duplicates; the others hit the cache.
    let stats = service.stats();
    assert_eq!((stats.verified, stats.cache_hits), (8, 42));
}
