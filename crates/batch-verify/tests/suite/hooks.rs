//! Hooks, executors and futures of every mood at once: everything is answered, once, and
//! the figures add up.

use core::future::Future;
use core::pin::Pin;
use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use core::task::{Context, Poll, Waker};
use core::time::Duration;
use std::sync::{Arc, LazyLock, Mutex, mpsc};
use std::thread;

use crate::votes::{CONTEXT, Held, KEYS, MEMBERS, Moody, VOTES, expected, held, set, verifier};
use crate::waiting::{block_on, hang_limit};
use batch_verify::{
    Admission, Answered, AsyncIntake, CallerPool, Duplicates, Intake, IntakeError, IntakeLimits,
    IntakeMetrics, KeySet, Origin, Outcome, OwnedItem, OwnedQuorum, OwnedSubject, OwnedVote,
    Policy, Priority, QuorumFailure, SignerId, Subject, Threads, Threshold, Weights,
};
use mldsa_core::{MlDsa44, Randomness};

#[derive(Default)]
struct World {
    seed: AtomicU64,
    intake: Mutex<Option<Intake<MlDsa44>>>,
    admits: AtomicU64,
    admitted: AtomicU64,
    released: AtomicU64,
    panicked: AtomicU64,
    answered: AtomicU64,
    depth: AtomicUsize,
    quiet: AtomicBool,
    done: AtomicU64,
    shuts: bool,
    epochs: bool,
}

impl World {
    fn dice(&self, sides: u64) -> u64 {
        let state = self
            .seed
            .fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
        let state = (state ^ state >> 31).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (state ^ state >> 27) % sides
    }

    /// What a hook does that thinks of nobody.
    fn mischief(&self) {
        // Or hooks would feed the intake for ever: each item has several.
        let done = self.done.fetch_add(1, Ordering::Relaxed) > 4000;
        if done || self.quiet.load(Ordering::Relaxed) {
            return;
        }
        let intake = self.intake.lock().unwrap().clone();
        let Some(intake) = intake else { return };
        if self.depth.fetch_add(1, Ordering::Relaxed) < 4 {
            let n = self.dice(60) as usize;
            match self.dice(40) {
                0 => drop(intake.submit(VOTES[n].clone())),
                1 => drop(intake.submit(VOTES[n].clone()).map(|it| it.detach())),
                2 => drop(
                    intake
                        .submit_from(7, Priority::Sync, VOTES[n].clone())
                        .map(|it| it.detach()),
                ),
                3 => drop(intake.verify(VOTES[n].as_item())),
                4 => drop(intake.remembers(VOTES[n].as_item())),
                5 => thread::sleep(Duration::from_micros(300)),
                6 if self.epochs => drop(intake.replace_keys(set(0..MEMBERS))),
                7 if self.shuts && self.dice(20) == 0 => intake.shutdown(),
                8 => {
                    let origin = Origin::peer(9, Priority::OwnRound);
                    let mut batch = AsyncIntake::new(intake).submit_batch(origin, &VOTES[n / 2..n]);
                    let _ = Pin::new(&mut batch).poll(&mut Context::from_waker(Waker::noop()));
                }
                9 => drop(intake.stats()),
                _ => {}
            }
        }
        self.depth.fetch_sub(1, Ordering::Relaxed);
    }
}

struct Hooks(Arc<World>);

impl Admission for Hooks {
    fn admits(&self, _: u64, _: usize) -> bool {
        let world = &*self.0;
        world.admits.fetch_add(1, Ordering::Relaxed);
        world.mischief();
        if world.dice(50) == 0 {
            world.panicked.fetch_add(1, Ordering::Relaxed);
            panic!("mischief");
        }
        let admits = world.dice(20) > 0;
        world
            .admitted
            .fetch_add(u64::from(admits), Ordering::Relaxed);
        admits
    }

    fn verdict(&self, _: u64, _: Outcome) {
        self.0.mischief();
        assert!(self.0.dice(50) > 0, "mischief");
    }

    fn released(&self, _: u64, _: usize, _: Result<Outcome, IntakeError>) {
        self.0.released.fetch_add(1, Ordering::Relaxed);
        self.0.mischief();
        assert!(self.0.dice(50) > 0, "mischief");
    }
}

impl IntakeMetrics for Hooks {
    fn answered(&self, _: &Answered) {
        self.0.answered.fetch_add(1, Ordering::Relaxed);
        self.0.mischief();
        assert!(self.0.dice(50) > 0, "mischief");
    }
}

/// Polls a future now and then, and forgets it, or waits for it.
fn live<F: Future + Unpin>(world: &World, mut future: F) -> Option<F::Output> {
    for _ in 0..world.dice(4) {
        let mut context = Context::from_waker(Waker::noop());
        if let Poll::Ready(output) = Pin::new(&mut future).poll(&mut context) {
            return Some(output);
        }
        if world.dice(2) == 0 {
            thread::yield_now();
        }
    }
    (world.dice(3) > 0).then(|| block_on(future))
}

fn quorum(world: &World) -> OwnedQuorum {
    let context = mldsa_core::Context::new(CONTEXT).unwrap();
    let message = [world.dice(3) as u8; 2];
    let bad = world.dice(12) as usize;
    let votes = (0..MEMBERS)
        .map(|n| {
            let signature = KEYS[n]
                .sign(&message, context, Randomness::Deterministic)
                .unwrap();
            let mut signature = signature.as_ref().to_vec();
            signature[5] ^= u8::from(n == bad);
            OwnedVote {
                signer: SignerId::new(n as u32),
                signature,
            }
        })
        .collect();
    let weights = Weights::equal(MEMBERS);
    OwnedQuorum {
        subject: OwnedSubject::from(Subject::new(&message)),
        votes,
        threshold: Threshold::two_thirds(&weights),
        weights: Arc::new(weights),
        policy: [Policy::Strict, Policy::Lenient][world.dice(2) as usize],
        duplicates: Duplicates::Once,
    }
}

fn act(world: &World, intake: &Intake<MlDsa44>, peer: u64, shuts: bool) {
    let front = AsyncIntake::new(intake.clone());
    for _ in 0..12 {
        let n = world.dice(60) as usize;
        let priority = Priority::ALL[world.dice(3) as usize];
        let origin = if world.dice(4) == 0 {
            priority.into()
        } else {
            Origin::peer(peer, priority)
        };
        let right = |answer: Result<Outcome, IntakeError>, n| {
            if let Ok(outcome) = answer {
                assert_eq!(outcome, expected(n));
            }
        };
        match world.dice(9) {
            0 => drop(live(world, front.submit(origin, VOTES[n].clone())).map(|it| right(it, n))),
            1 | 2 => {
                let last = (n + 1 + world.dice(40) as usize).min(60);
                let batch = front.submit_batch(origin, &VOTES[n..last]);
                match live(world, batch) {
                    Some(Ok(report)) => {
                        for (at, outcome) in report.outcomes().iter().enumerate() {
                            assert_eq!(*outcome, expected(n + at));
                        }
                    }
                    Some(Err(failed)) => {
                        assert!(!failed.errors.is_empty());
                        for (at, outcome) in failed.report.outcomes().iter().enumerate() {
                            let error = failed.errors.iter().any(|error| error.0 == at);
                            let skipped = *outcome == Outcome::Skipped;
                            assert!(error == skipped && (skipped || *outcome == expected(n + at)));
                        }
                    }
                    None => {}
                }
            }
            3 => {
                let asked = quorum(world);
                match live(world, front.submit_quorum(origin, asked.clone())) {
                    Some(Err(QuorumFailure::Unanswered { .. })) | None => {}
                    Some(got) => {
                        let votes: Vec<_> = asked.votes.iter().map(OwnedVote::as_vote).collect();
                        let alone = intake.verifier().verify_quorum(
                            asked.subject.as_subject(),
                            &votes,
                            &asked.weights,
                            asked.threshold,
                            asked.policy,
                            asked.duplicates,
                        );
                        let got = got.map_err(|failure| match failure {
                            QuorumFailure::Votes(error) => error,
                            _ => unreachable!(),
                        });
                        assert_eq!(got, alone);
                    }
                }
            }
            4 => {
                let own = VOTES[n..(n + 9).min(60)]
                    .iter()
                    .map(|vote| (origin, vote.clone()));
                for (at, answer) in intake.submit_all(own).into_iter().enumerate() {
                    match (answer, world.dice(3)) {
                        (Ok(pending), 0) => right(pending.wait(), n + at),
                        (Ok(pending), 1) => pending.detach(),
                        _ => {}
                    }
                }
            }
            5 => assert_eq!(intake.verify(VOTES[n].as_item()), expected(n)),
            6 => {
                let items = VOTES[n..].iter().map(OwnedItem::as_item);
                for (at, outcome) in intake.verify_items(items).into_iter().enumerate() {
                    assert_eq!(outcome, expected(n + at));
                }
            }
            7 if world.dice(3) == 0 => {
                let _ = live(world, front.drain());
            }
            8 if world.dice(6) == 0 => intake.drain(),
            8 if shuts && world.dice(12) == 0 => {
                let _ = live(world, front.shutdown());
            }
            _ => drop(
                intake
                    .submit_from(peer, priority, VOTES[n].clone())
                    .map(|it| {
                        if world.dice(2) == 0 {
                            it.detach()
                        } else {
                            right(it.wait(), n)
                        }
                    }),
            ),
        }
        let memory = intake.stats().memory;
        assert!(memory.bytes <= 20_000);
    }
}

fn one_world(seed: u64) {
    let world = World {
        seed: AtomicU64::new(seed.wrapping_mul(0x1234_5678_9abc_def1)),
        shuts: seed.is_multiple_of(5),
        epochs: seed.is_multiple_of(3),
        ..World::default()
    };
    let world = Arc::new(world);
    let threads = match world.dice(5) {
        0 => Threads::Executor(Arc::new(Moody::new(seed as usize, false))),
        1 => Threads::Executor(Arc::new(Moody::new(seed as usize, true))),
        2 => {
            let workers = 1 + world.dice(3) as usize;
            CallerPool::new(workers, |_, _| {})
                .spawning(|job| job(), || true)
                .into_threads()
        }
        3 => {
            let workers = 1 + world.dice(3) as usize;
            let late = |job: Box<dyn FnOnce() + Send>| {
                thread::spawn(move || {
                    thread::sleep(Duration::from_micros(500));
                    job();
                });
            };
            CallerPool::new(workers, |_, _| {})
                .spawning(late, || false)
                .into_threads()
        }
        _ => Threads::Dedicated(1 + world.dice(2) as usize),
    };
    let limits = IntakeLimits {
        items: [1, 2, 20, 4096][world.dice(4) as usize],
        bytes: [5000, 64 << 20][world.dice(2) as usize],
        item_bytes: 1 << 14,
        batch: [1, 16, 128][world.dice(3) as usize],
        workers: world.dice(3) as usize,
        memory_bytes: [0, 3000, 20_000][world.dice(3) as usize],
    };
    let builder = Intake::builder(verifier(threads)).limits(limits);
    let builder = builder.admission(Hooks(Arc::clone(&world)));
    let intake = builder.metrics(Hooks(Arc::clone(&world))).build();
    *world.intake.lock().unwrap() = Some(intake.clone());
    thread::scope(|scope| {
        for peer in 0..3 {
            let (world, intake) = (&world, &intake);
            scope.spawn(move || act(world, intake, peer, world.shuts));
        }
    });
    world.quiet.store(true, Ordering::Relaxed);
    intake.drain();
    // Batches that hooks left behind are gone with their futures; nothing waits.
    let stats = intake.stats();
    assert_eq!(stats.waiting, 0, "{stats:?}");
    let all = stats.verified
        + stats.cancelled
        + stats.memory.hits
        + stats.queue_full
        + stats.too_large
        + stats.peer_budget
        + stats.shutting_down
        + stats.abandoned
        + world.panicked.load(Ordering::Relaxed);
    assert_eq!(stats.items, all, "{stats:?}");
    assert_eq!(
        world.answered.load(Ordering::Relaxed),
        stats.items,
        "{stats:?}"
    );
    assert_eq!(
        world.admitted.load(Ordering::Relaxed),
        world.released.load(Ordering::Relaxed)
    );
    // It still works, unless it was shut down.
    let last =
        block_on(AsyncIntake::new(intake.clone()).submit(Priority::OwnRound, VOTES[0].clone()));
    assert!(matches!(
        last,
        Ok(Outcome::Valid) | Err(IntakeError::ShuttingDown | IntakeError::Abandoned)
    ));
    *world.intake.lock().unwrap() = None;
}

#[test]
fn everything_is_answered_once() {
    std::panic::set_hook(Box::new(|info| {
        let info = info.to_string();
        if !info.contains("mischief") {
            eprintln!("{info}");
        }
    }));
    for seed in 0..60 {
        let (send, receive) = mpsc::channel();
        thread::spawn(move || {
            one_world(seed);
            send.send(()).unwrap();
        });
        let ended = receive.recv_timeout(hang_limit());
        assert!(ended.is_ok(), "world {seed}: {ended:?}");
    }
}

/// In its hook, stands still until somebody else's vote is answered, or not.
struct Slow {
    entered: mpsc::SyncSender<()>,
    answered: Mutex<mpsc::Receiver<()>>,
    waited: Arc<AtomicBool>,
    once: AtomicBool,
    asked: AtomicUsize,
    admits: bool,
}

impl Slow {
    fn stand(&self) {
        if !self.once.swap(true, Ordering::Relaxed) {
            self.entered.send(()).unwrap();
            let answer = self.answered.lock().unwrap().recv_timeout(hang_limit());
            self.waited.store(answer.is_ok(), Ordering::Relaxed);
        }
    }
}

impl Admission for Slow {
    fn admits(&self, peer: u64, _: usize) -> bool {
        // The item before this one waits by now.
        if self.admits && peer == 2 && self.asked.fetch_add(1, Ordering::Relaxed) == 1 {
            self.stand();
        }
        true
    }

    fn verdict(&self, _: u64, _: Outcome) {
        if !self.admits {
            self.stand();
        }
    }
}

/// Whether an own vote of another thread, awaited there, is answered while a hook of a
/// batch by others takes its time: `admits` the first hook, else that of the verdict.
fn answered_meanwhile(threads: Threads, limits: IntakeLimits, admits: bool) -> bool {
    let (entered, enters) = mpsc::sync_channel(1);
    let (answers, answered) = mpsc::channel();
    let waited = Arc::new(AtomicBool::new(false));
    let slow = Slow {
        entered,
        answered: Mutex::new(answered),
        waited: Arc::clone(&waited),
        once: AtomicBool::new(false),
        asked: AtomicUsize::new(0),
        admits,
    };
    let builder = Intake::builder(verifier(threads)).limits(limits);
    let intake = AsyncIntake::new(builder.admission(slow).build());
    thread::scope(|scope| {
        let other = intake.clone();
        scope.spawn(move || {
            enters.recv().unwrap();
            let own = other.submit(Priority::OwnRound, VOTES[0].clone());
            assert_eq!(block_on(own), Ok(Outcome::Valid));
            let _ = answers.send(());
        });
        // One by a peer whose hook is quick, one by another.
        if admits {
            let both = intake.clone();
            scope.spawn(move || {
                let origin = Origin::peer(2, Priority::OwnRound);
                assert!(block_on(both.submit_batch(origin, &VOTES[1..3])).is_ok());
            });
        } else {
            let origin = Origin::peer(2, Priority::OwnRound);
            assert!(block_on(intake.submit_batch(origin, &VOTES[4..9])).is_ok());
        }
    });
    waited.load(Ordering::Relaxed)
}

fn at_once(workers: usize) -> Threads {
    let own = || false;
    CallerPool::new(workers, |_, _| {})
        .spawning(|job| job(), own)
        .into_threads()
}

#[test]
fn others_are_served_while_admission_is_asked() {
    assert!(answered_meanwhile(
        at_once(1),
        IntakeLimits::default(),
        true
    ));
    assert!(answered_meanwhile(
        Threads::Dedicated(1),
        IntakeLimits::default(),
        true
    ));
}

/// The same where the batch's first item has the only place: whoever finds no place starts
/// no worker either, and nobody is left to make one.
#[test]
fn others_find_a_place_while_admission_is_asked() {
    let limits = IntakeLimits {
        items: 1,
        ..IntakeLimits::default()
    };
    assert!(answered_meanwhile(at_once(1), limits, true));
}

/// Three may work, one does, two are started when it has ended: who comes meanwhile
/// starts none.
#[test]
fn workers_that_are_to_start_do_not_count_while_the_first_runs() {
    assert!(answered_meanwhile(
        at_once(3),
        IntakeLimits::default(),
        false
    ));
}

/// Of two batches under way, the executor drops the worker of one: the other's are to be
/// started, and it is not given up.
struct Dropping(Mutex<Option<Intake<MlDsa44>>>, Arc<Held>);

impl Admission for Dropping {
    fn admits(&self, peer: u64, _: usize) -> bool {
        let mut place = self.0.lock().unwrap();
        if peer == 2 && place.as_ref().is_some_and(|it| it.stats().waiting == 1) {
            let intake = place.take().unwrap();
            let own = intake.submit(VOTES[0].clone()).unwrap();
            self.1.drop_all();
            own.detach();
        }
        true
    }
}

#[test]
fn a_batch_on_its_way_in_is_not_given_up_with_the_worker_of_another() {
    let (held, threads) = held();
    let slot = Dropping(Mutex::new(None), Arc::clone(&held));
    let hooks = Arc::new(slot);
    struct Shared(Arc<Dropping>);
    impl Admission for Shared {
        fn admits(&self, peer: u64, bytes: usize) -> bool {
            self.0.admits(peer, bytes)
        }
    }
    let builder = Intake::builder(verifier(threads)).admission(Shared(Arc::clone(&hooks)));
    let intake = builder.build();
    *hooks.0.lock().unwrap() = Some(intake.clone());
    let front = AsyncIntake::new(intake);
    let mut batch = front.submit_batch(Origin::peer(2, Priority::OwnRound), &VOTES[4..9]);
    let mut context = Context::from_waker(Waker::noop());
    assert!(Pin::new(&mut batch).poll(&mut context).is_pending());
    held.release();
    let Poll::Ready(result) = Pin::new(&mut batch).poll(&mut context) else {
        panic!("the worker has run")
    };
    assert!(result.is_ok(), "{:?}", result.err().map(|it| it.errors));
}

static SETS: LazyLock<[KeySet<MlDsa44>; 2]> =
    LazyLock::new(|| [set((0..MEMBERS).rev()), set(0..MEMBERS)]);

/// Replaces the keys whenever it is asked.
#[derive(Clone, Default)]
struct Turncoat(Arc<Mutex<Option<Intake<MlDsa44>>>>, Arc<AtomicU64>);

impl Turncoat {
    fn turn(&self) {
        let intake = self.0.lock().unwrap().clone();
        if let Some(intake) = intake {
            let odd = self.1.fetch_add(1, Ordering::Relaxed).is_multiple_of(3);
            drop(intake.replace_keys(SETS[usize::from(odd)].clone()));
        }
    }
}

impl Admission for Turncoat {
    fn admits(&self, _: u64, _: usize) -> bool {
        self.turn();
        true
    }

    fn verdict(&self, _: u64, _: Outcome) {
        self.turn();
    }
}

/// A batch is of one epoch, whatever happens to the keys between its items and its polls.
#[test]
fn a_batch_is_of_one_epoch() {
    for round in 0..18 {
        let threads = match round % 3 {
            0 => at_once(1 + round % 2),
            1 => Threads::Dedicated(2),
            _ => Threads::Executor(Arc::new(Moody::new(round, false))),
        };
        let hooks = Turncoat::default();
        let limits = IntakeLimits {
            items: [1, 7, 4096][round % 3],
            memory_bytes: [0, 8000, 1 << 20][round / 3 % 3],
            ..IntakeLimits::default()
        };
        let builder = Intake::builder(verifier(threads)).limits(limits);
        let intake = builder.admission(hooks.clone()).build();
        *hooks.0.lock().unwrap() = Some(intake.clone());
        thread::scope(|scope| {
            let asked: Vec<_> = (0..3_u64)
                .map(|peer| {
                    let front = AsyncIntake::new(intake.clone());
                    scope.spawn(move || {
                        let origin = Origin::peer(peer, Priority::OwnRound);
                        block_on(front.submit_batch(origin, &VOTES[..])).unwrap()
                    })
                })
                .collect();
            for report in asked {
                let report = report.join().unwrap();
                let first = (0..60).all(|n| report.outcomes()[n] == expected(n));
                let other = report.outcomes().iter().all(|outcome| !outcome.is_valid());
                assert_ne!(first, other, "{round}: {report:?}");
            }
        });
        *hooks.0.lock().unwrap() = None;
        // Without a hook that replaces them, the keys decide.
        for (keys, valid) in SETS.iter().zip([false, true]) {
            drop(intake.replace_keys(keys.clone()));
            let batch =
                AsyncIntake::new(intake.clone()).submit_batch(Origin::default(), &VOTES[..]);
            let report = block_on(batch).unwrap();
            let first = (0..60).all(|n| report.outcomes()[n] == expected(n));
            assert_eq!(first, valid, "{round}: {report:?}");
        }
    }
}
