//! The service under many schedules of its threads: every lock, wait and atomic access is a point
//! at which `shuttle` may change to another thread. A schedule in which no thread can continue
//! fails the test.
//!
//! `MLDSA_SCHEDULES` sets the number of schedules of each scenario and scheduler.

use core::future::{Future, poll_fn};
use core::pin::Pin;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::task::{Context, Poll, Waker};
use std::sync::{Arc, LazyLock, mpsc};
use std::task::Wake;

use mldsa_core::{MlDsa44, Randomness, SigningKey};
use shuttle::future::block_on;
use shuttle::scheduler::{PctScheduler, RandomScheduler};
use shuttle::thread::{self, JoinHandle};
use shuttle::{Config, Runner};

use super::{Pending, RateLimiter, ServiceBuilder, ServiceError, Source};
use crate::{
    Committee, MemberId, QuorumError, QuorumReport, QuorumRule, RejectReason, Threads, Vote,
};

type Service = super::VerificationService<MlDsa44>;
type Verdict = Result<(), ServiceError>;

const CONTEXT: &[u8] = b"schedules";
const MESSAGE: &[u8] = b"block 7";
/// Bytes of a vote in the queue.
const VOTE_BYTES: usize = MESSAGE.len() + 2420 + 640;

/// Two members, their votes, and a forged vote of the second.
struct Fixture {
    committee: Committee<MlDsa44>,
    next: Committee<MlDsa44>,
    signatures: [Vec<u8>; 3],
}

static FIXTURE: LazyLock<Fixture> = LazyLock::new(|| {
    let keys = [1, 2].map(|seed| SigningKey::<MlDsa44>::from_seed(&[seed; 32]));
    let context = mldsa_core::Context::new(CONTEXT).unwrap();
    let sign = |n: usize| keys[n].sign_with_context(MESSAGE, context, Randomness::Deterministic);
    let signatures = [0, 1, 1].map(|n| sign(n).unwrap().as_ref().to_vec());
    let [first, second, mut forged] = signatures;
    forged[0] ^= 1;
    let members = keys.iter().map(|key| (key.verifying_key(), 1));
    let builder = Committee::builder(CONTEXT).threads(Threads::Inline);
    let committee = builder.build(members.clone()).unwrap();
    Fixture {
        next: committee.successor_ordered(1, members.rev()).unwrap(),
        committee,
        signatures: [first, second, forged],
    }
});

/// Vote `n` of the fixture: two valid ones and a forged one.
fn vote(n: usize) -> Vote<'static> {
    let member = FIXTURE.committee.member(n.min(1) as u32).unwrap();
    Vote::new(member, MESSAGE, &FIXTURE.signatures[n])
}

/// Submits a quorum of both members.
fn submit_quorum(
    service: &Service,
) -> Result<Pending<Result<QuorumReport, QuorumError>>, ServiceError> {
    let votes = [0, 1].map(|n| (vote(n).member, FIXTURE.signatures[n].clone().into()));
    let (committee, rule) = (&FIXTURE.committee, QuorumRule::Certificate);
    service.submit_quorum(Source::own(), committee, MESSAGE, votes.into(), rule)
}

fn expected(n: usize) -> Verdict {
    let forged = ServiceError::Rejected(RejectReason::ChallengeMismatch);
    if n == 2 { Err(forged) } else { Ok(()) }
}

/// Seed of the schedules: the same ones in every run. `SHUTTLE_RANDOM_SEED` names others.
const SEED: u64 = 204;

/// Runs a scenario under random schedules, and under schedules with few changes of thread.
fn explore(scenario: impl Fn() + Send + Sync + 'static) {
    LazyLock::force(&FIXTURE);
    let schedules = std::env::var("MLDSA_SCHEDULES").map_or(200, |text| text.parse().unwrap());
    let mut config = Config::new();
    // Verification takes more than the default of 32 KiB.
    config.stack_size = 1 << 20;
    let scenario = Arc::new(scenario);
    let again = Arc::clone(&scenario);
    let random = RandomScheduler::new_from_seed(SEED, schedules);
    Runner::new(random, config.clone()).run(move || scenario());
    let few_changes = PctScheduler::new_from_seed(SEED, 3, schedules);
    Runner::new(few_changes, config).run(move || again());
}

/// A service with worker threads of the model.
fn start(
    workers: usize,
    options: impl FnOnce(ServiceBuilder<MlDsa44>) -> ServiceBuilder<MlDsa44>,
) -> (Service, Workers) {
    let (send, receive) = mpsc::channel();
    let builder = Service::builder(FIXTURE.committee.clone()).threads(workers);
    let builder = builder.spawn(move |work| send.send(work).unwrap());
    let service = options(builder).build().unwrap();
    let workers = (0..workers).map(|_| thread::spawn(receive.recv().unwrap()));
    (service, Workers(workers.collect()))
}

struct Workers(Vec<JoinHandle<()>>);

impl Workers {
    /// The workers end.
    fn join(self) {
        for worker in self.0 {
            worker.join().unwrap();
        }
    }
}

fn answer(pending: Result<Pending<Verdict>, ServiceError>) -> Verdict {
    pending.and_then(block_on)
}

/// Wakes a thread of the model and lets it run: the wakers of `shuttle` are no point of change.
struct SwitchingWaker(Waker);

impl Wake for SwitchingWaker {
    fn wake(self: Arc<Self>) {
        self.0.wake_by_ref();
        thread::yield_now();
    }
}

/// Budget in use, in votes.
#[derive(Clone, Default)]
struct Budget(Arc<AtomicUsize>);

impl RateLimiter for Budget {
    fn try_acquire(&self, _: u64, _: usize) -> bool {
        self.0.fetch_add(1, Ordering::Relaxed);
        true
    }

    fn release(&self, _: u64, _: usize) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[test]
fn every_vote_has_one_answer_at_a_shutdown() {
    explore(|| {
        let budget = Budget::default();
        let (service, workers) = start(2, |builder| builder.rate_limiter(budget.clone()));
        let peers = [1, 2].map(|peer| {
            let service = service.clone();
            thread::spawn(move || {
                let votes = [0, 2];
                let answers = votes.map(|n| service.submit(Source::peer(peer), &vote(n)));
                for (n, pending) in votes.into_iter().zip(answers) {
                    let found = answer(pending);
                    let closed = found == Err(ServiceError::ShuttingDown);
                    assert!(closed || found == expected(n), "{found:?}");
                }
            })
        });
        // Cancelled, while a worker may have it.
        drop(service.submit(Source::own(), &vote(1)));
        service.shutdown();
        for peer in peers {
            peer.join().unwrap();
        }
        workers.join();
        let stats = service.stats();
        assert_eq!((stats.queued_votes, stats.queued_bytes), (0, 0));
        let answered = stats.verified + stats.cache_hits + stats.cancelled + stats.shutting_down;
        assert_eq!((stats.votes, answered), (5, 5), "{stats:?}");
        assert_eq!(budget.0.load(Ordering::Relaxed), 0);
    });
}

#[test]
fn a_drain_ends_after_the_votes_before_it() {
    explore(|| {
        let (service, workers) = start(2, |builder| builder.cache_bytes(0));
        let flood = thread::spawn({
            let service = service.clone();
            move || {
                for _ in 0..3 {
                    service.submit(Source::peer(9), &vote(2)).unwrap().detach();
                }
            }
        });
        let before = [0, 1].map(|n| service.submit(Source::peer(n as u64), &vote(n)).unwrap());
        let mut drain = service.drain();
        block_on(poll_fn(|context| {
            let waker = Waker::from(Arc::new(SwitchingWaker(context.waker().clone())));
            Pin::new(&mut drain).poll(&mut Context::from_waker(&waker))
        }));
        // At once, while the worker that has ended the drain may still be in the waker.
        for mut pending in before {
            let mut context = Context::from_waker(Waker::noop());
            let polled = Pin::new(&mut pending).poll(&mut context);
            assert_eq!(polled, Poll::Ready(Ok(())));
        }
        flood.join().unwrap();
        service.shutdown();
        workers.join();
    });
}

/// A full queue loses votes of the peer with most in it, at any time of the flood.
#[test]
fn a_flood_displaces_only_itself() {
    explore(|| {
        let options = |builder: ServiceBuilder<_>| builder.queue_bytes(8 * VOTE_BYTES);
        let (service, workers) = start(1, options);
        let flood = thread::spawn({
            let service = service.clone();
            move || {
                let submit = |_| service.submit(Source::peer(9), &vote(2));
                let lost = [0; 10].map(submit).map(|pending| match answer(pending) {
                    Err(ServiceError::Evicted | ServiceError::QueueFull) => 1,
                    found => {
                        assert_eq!(found, expected(2));
                        0
                    }
                });
                lost.into_iter().sum::<u64>()
            }
        });
        let honest = service.submit(Source::peer(1), &vote(0));
        assert_eq!(answer(honest), Ok(()));
        let lost = flood.join().unwrap();
        service.shutdown();
        workers.join();
        let stats = service.stats();
        assert_eq!(stats.evicted + stats.queue_full, lost);
        assert_eq!(stats.verified + lost, 11);
    });
}

#[test]
fn an_epoch_changes_with_votes_in_flight() {
    explore(|| {
        let (service, workers) = start(1, |builder| builder.retained_committees(0));
        let change = thread::spawn({
            let service = service.clone();
            move || service.set_committee(FIXTURE.next.clone()).unwrap()
        });
        let in_flight = answer(service.submit(Source::peer(1), &vote(0)));
        let known = [Ok(()), Err(ServiceError::OtherEpoch)];
        assert!(known.contains(&in_flight), "{in_flight:?}");
        let known = [Ok(()), Err(RejectReason::UnknownMember)];
        assert!(known.contains(&service.verify(&vote(1))));
        change.join().unwrap();
        // The cached vote belongs to an epoch that is over; the key and its vote do not.
        assert_eq!(service.verify(&vote(0)), Err(RejectReason::UnknownMember));
        let member: MemberId = FIXTURE.next.member(1).unwrap();
        let same = Vote::new(member, MESSAGE, &FIXTURE.signatures[0]);
        assert_eq!(service.verify(&same), Ok(()));
        service.shutdown();
        workers.join();
    });
}

#[test]
fn the_last_handle_ends_the_workers() {
    explore(|| {
        let (service, workers) = start(2, |builder| builder);
        let quorum = submit_quorum(&service);
        let submitter = thread::spawn({
            let service = service.clone();
            move || service.submit(Source::peer(1), &vote(0))
        });
        drop(service);
        let found = answer(submitter.join().unwrap());
        let known = [Ok(()), Err(ServiceError::ShuttingDown)];
        assert!(known.contains(&found), "{found:?}");
        match block_on(quorum.unwrap()) {
            Ok(report) => assert_eq!(report.weight(), 2),
            Err(error) => assert_eq!(error, QuorumError::Abandoned),
        }
        workers.join();
    });
}

/// The caller's `spawn` loses one worker, then the other, before or after a vote is queued.
#[test]
fn lost_workers_abandon_their_votes() {
    explore(|| {
        let (send, receive) = mpsc::channel();
        let builder = Service::builder(FIXTURE.committee.clone()).threads(2);
        let builder = builder.spawn(move |work| send.send(work).unwrap());
        let service = builder.build().unwrap();
        let works = [receive.recv().unwrap(), receive.recv().unwrap()];
        let lost = works.map(|work| thread::spawn(move || drop(work)));
        let pending = service.submit(Source::peer(1), &vote(0));
        assert_eq!(answer(pending), Err(ServiceError::Abandoned));
        block_on(service.drain());
        for thread in lost {
            thread.join().unwrap();
        }
        assert_eq!(service.stats().abandoned, 1);
    });
}

/// A quorum whose count panics has no answer and leaves nothing in the queue.
#[test]
fn a_quorum_that_panics_is_abandoned() {
    explore(|| {
        let (service, workers) = start(1, |builder| builder.cache_bytes(0));
        service.shared().panics.store(true, Ordering::Relaxed);
        let pending = submit_quorum(&service).unwrap();
        assert_eq!(block_on(pending), Err(QuorumError::Abandoned));
        block_on(service.drain());
        assert_eq!(answer(service.submit(Source::peer(1), &vote(1))), Ok(()));
        let stats = service.stats();
        assert_eq!((stats.queued_quorums, stats.queued_bytes), (0, 0));
        service.shutdown();
        workers.join();
    });
}

/// Waiters of a batch that panics get an error, and the worker continues. Each vote is counted once.
#[test]
fn a_batch_that_panics_is_abandoned() {
    explore(|| {
        let (service, workers) = start(1, |builder| builder.cache_bytes(0));
        service.shared().panics.store(true, Ordering::Relaxed);
        let answers = [1, 2].map(|peer| service.submit(Source::peer(peer), &vote(0)));
        drop(service.submit(Source::peer(3), &vote(0)));
        let found = answers.map(answer);
        let abandoned = found.iter().filter(|one| **one != Ok(())).count() as u64;
        assert!(found.contains(&Err(ServiceError::Abandoned)), "{found:?}");
        block_on(service.drain());
        assert_eq!(answer(service.submit(Source::peer(1), &vote(1))), Ok(()));
        service.shutdown();
        workers.join();
        let stats = service.stats();
        let counted = stats.abandoned + stats.verified + stats.cancelled;
        assert_eq!((stats.votes, counted), (4, 4));
        // The vote that was dropped may be any of the three.
        assert!((abandoned..=abandoned + 1).contains(&stats.abandoned));
        assert_eq!((stats.queued_votes, stats.queued_bytes), (0, 0));
    });
}
