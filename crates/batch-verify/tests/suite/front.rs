//! The asynchronous front end: exactly one answer for every item, whatever drops,
//! panics, fills up, changes or shuts down.

use core::future::Future;
use core::pin::{Pin, pin};
use core::sync::atomic::{AtomicUsize, Ordering};
use core::task::{Context as Task, Poll, Waker};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::task::Wake;
use std::thread;

use crate::votes::{CONTEXT, KEYS, MEMBERS, Moody, VOTES, expected, forged, held, set, verifier};
use crate::waiting::{block_on, hang_limit};
use batch_verify::{
    Admission, Answered, AsyncIntake, Duplicates, Executor, Intake, IntakeError, IntakeLimits,
    IntakeMetrics, Item, Message, Origin, Outcome, OwnedItem, OwnedMessage, OwnedQuorum,
    OwnedSubject, OwnedVote, Policy, Priority, QuorumError, QuorumFailure, Reason, SignerId,
    Threads, Threshold, Verified, Vote, Weights,
};
use mldsa_core::{Context, Randomness};

/// Counts what it is told, by answer.
#[derive(Clone, Default)]
struct Counts(
    Arc<Mutex<HashMap<Result<Outcome, IntakeError>, usize>>>,
    Arc<AtomicUsize>,
);

impl IntakeMetrics for Counts {
    fn answered(&self, item: &Answered) {
        *self.0.lock().unwrap().entry(item.answer).or_default() += 1;
    }

    fn verified(&self, batch: &Verified) {
        self.1.fetch_add(batch.items, Ordering::Relaxed);
    }
}

impl Counts {
    fn of(&self, answer: Result<Outcome, IntakeError>) -> usize {
        self.0.lock().unwrap().get(&answer).copied().unwrap_or(0)
    }

    fn total(&self) -> usize {
        self.0.lock().unwrap().values().sum()
    }
}

fn poll<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    Pin::new(future).poll(&mut Task::from_waker(Waker::noop()))
}

/// Counts how often it is rung.
#[derive(Default)]
struct Bell(AtomicUsize);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

fn intake(threads: Threads, limits: IntakeLimits) -> (AsyncIntake<mldsa_core::MlDsa44>, Counts) {
    let counts = Counts::default();
    let builder = Intake::builder(verifier(threads)).limits(limits);
    let intake = builder.metrics(counts.clone()).build();
    (AsyncIntake::new(intake), counts)
}

#[test]
fn items_batches_and_memory() {
    for threads in [
        Threads::Inline,
        Threads::Dedicated(1),
        Threads::Dedicated(3),
    ] {
        let limits = IntakeLimits {
            items: 5,
            ..IntakeLimits::default()
        };
        let (intake, counts) = intake(threads, limits);
        block_on(async {
            for (n, vote) in VOTES.iter().enumerate().take(20) {
                let origin = Origin::peer(n as u64, Priority::NextRound);
                assert_eq!(intake.submit(origin, vote.clone()).await, Ok(expected(n)));
            }
            // More than the queue holds: in as places become free.
            let report = intake
                .submit_batch(Priority::Sync, &VOTES[..])
                .await
                .unwrap();
            for (n, outcome) in report.outcomes().iter().enumerate() {
                assert_eq!(*outcome, expected(n));
            }
            let invalid = (0..60).filter(|&n| forged(n)).count();
            assert_eq!(report.summary().refused(Reason::ChallengeMismatch), invalid);
            assert_eq!((report.valid(), report.skipped()), (60 - invalid, 0));
            intake.drain().await;
            let stats = intake.intake().stats();
            assert_eq!((stats.items, stats.waiting), (80, 0));
            // Those of the first twenty that are valid, from memory.
            assert_eq!(
                stats.memory.hits,
                (0..20).filter(|&n| !forged(n)).count() as u64
            );
            assert_eq!(counts.total(), 80);
            assert_eq!(counts.1.load(Ordering::Relaxed) as u64, stats.verified);
            assert!(
                intake
                    .submit_batch(Origin::default(), [])
                    .await
                    .unwrap()
                    .outcomes()
                    .is_empty()
            );
            intake.shutdown().await;
            let late = intake.submit(Origin::default(), VOTES[0].clone()).await;
            assert_eq!(late, Err(IntakeError::ShuttingDown));
            let late = intake
                .submit_batch(Origin::default(), &VOTES[..3])
                .await
                .unwrap_err();
            assert_eq!(
                late.errors,
                [0, 1, 2].map(|n| (n, IntakeError::ShuttingDown))
            );
            assert_eq!(late.report.skipped(), 3);
        });
    }
}

#[test]
fn places_are_waited_for_in_order() {
    let (held, threads) = held();
    let limits = IntakeLimits {
        items: 2,
        workers: 1,
        ..IntakeLimits::default()
    };
    let (intake, counts) = intake(threads, limits);
    let submit = |n: usize| intake.submit(Origin::default(), VOTES[n].clone());
    let mut inside = [submit(0), submit(1)];
    assert!(inside.iter_mut().all(|submit| poll(submit).is_pending()));
    let full = intake
        .try_submit(Origin::default(), VOTES[2].clone())
        .map(drop);
    assert_eq!(full, Err(IntakeError::QueueFull));
    let bells: Vec<Arc<Bell>> = (0..3).map(|_| Arc::default()).collect();
    let mut waiting = [submit(2), submit(4), submit(5)];
    for (submit, bell) in waiting.iter_mut().zip(&bells) {
        let waker = Waker::from(Arc::clone(bell));
        for _ in 0..2 {
            assert!(
                Pin::new(&mut *submit)
                    .poll(&mut Task::from_waker(&waker))
                    .is_pending()
            );
        }
    }
    let rung = || [0, 1, 2].map(|n: usize| bells[n].0.load(Ordering::Relaxed));
    assert_eq!(rung(), [0, 0, 0]);
    held.release();
    // Two places, and who has waited longest for them.
    assert_eq!(rung(), [1, 1, 0]);
    // Nobody overtakes who waits, though there are places.
    let full = intake
        .try_submit(Origin::default(), VOTES[6].clone())
        .map(drop);
    assert_eq!(full, Err(IntakeError::QueueFull));
    // The first leaves: the next is told.
    let [first, mut second, mut third] = waiting;
    drop(first);
    assert_eq!(rung(), [1, 1, 1]);
    assert!(poll(&mut third).is_pending());
    assert!(poll(&mut second).is_pending());
    assert_eq!(rung(), [1, 1, 1]);
    held.release();
    for (n, submit) in [(4, &mut second), (5, &mut third), (0, &mut inside[0])] {
        assert_eq!(poll(submit), Poll::Ready(Ok(expected(n))));
        assert_eq!(poll(submit), Poll::Ready(Err(IntakeError::Abandoned)));
    }
    // Shutting down wakes and answers those who wait, too.
    let mut inside = [submit(7), submit(8), submit(9)];
    assert!(inside.iter_mut().all(|submit| poll(submit).is_pending()));
    let mut shutdown = intake.shutdown();
    assert_eq!(poll(&mut shutdown), Poll::Ready(()));
    for submit in &mut inside {
        assert_eq!(poll(submit), Poll::Ready(Err(IntakeError::ShuttingDown)));
    }
    held.release();
    assert_eq!(counts.of(Err(IntakeError::QueueFull)), 2);
    assert_eq!(counts.of(Err(IntakeError::Cancelled)), 1);
    assert_eq!(counts.total() as u64, intake.intake().stats().items);

    // What is larger than the queue is never waited for.
    let limits = IntakeLimits {
        bytes: 1000,
        ..limits
    };
    let (small, counts) = self::intake(Threads::Inline, limits);
    let never = block_on(small.submit(Origin::default(), VOTES[0].clone()));
    assert_eq!(never, Err(IntakeError::QueueFull));
    assert_eq!(counts.of(Err(IntakeError::QueueFull)), 1);
}

/// An item that is dropped after its batch was cut is called off until it is in a lane;
/// one that is not even polled was never submitted.
#[test]
fn dropped_futures_call_off() {
    let (held, threads) = held();
    let (intake, counts) = intake(threads, IntakeLimits::default());
    drop(intake.submit(Origin::default(), VOTES[0].clone()));
    assert_eq!(intake.intake().stats().items, 0);
    let mut batch = intake.submit_batch(Origin::default(), &VOTES[..10]);
    assert!(poll(&mut batch).is_pending());
    let mut other = intake.submit(Origin::default(), VOTES[1].clone());
    assert!(poll(&mut other).is_pending());
    drop(batch);
    held.release();
    assert_eq!(poll(&mut other), Poll::Ready(Ok(expected(1))));
    let stats = intake.intake().stats();
    assert_eq!((stats.cancelled, stats.verified, stats.items), (10, 1, 11));
    assert_eq!(counts.of(Err(IntakeError::Cancelled)), 10);
    assert_eq!(counts.total(), 11);
    // The executor drops its work: everybody is told.
    let mut batch = intake.submit_batch(Origin::default(), &VOTES[10..14]);
    assert!(poll(&mut batch).is_pending());
    held.drop_all();
    let Poll::Ready(Err(lost)) = poll(&mut batch) else {
        panic!("no answer")
    };
    assert_eq!(
        lost.errors,
        [0, 1, 2, 3].map(|n| (n, IntakeError::Abandoned))
    );
    assert_eq!(intake.intake().stats().abandoned, 4);
    assert_eq!(counts.of(Err(IntakeError::Abandoned)), 4);
}

/// The keys of the first poll hold for an item and for a whole batch, whatever comes.
#[test]
fn an_epoch_change_in_the_middle() {
    let (held, threads) = held();
    let limits = IntakeLimits {
        items: 4,
        memory_bytes: 0,
        ..IntakeLimits::default()
    };
    let (intake, _) = intake(threads, limits);
    let mut batch = intake.submit_batch(Origin::default(), &VOTES[..]);
    let mut old = intake.submit(Priority::Sync, VOTES[0].clone());
    assert!(poll(&mut old).is_pending());
    let report = loop {
        match poll(&mut batch) {
            Poll::Ready(report) => break report.unwrap(),
            // Everybody has another id with every step.
            Poll::Pending => drop(intake.intake().replace_keys(set((0..MEMBERS).rev()))),
        }
        held.release();
    };
    for (n, outcome) in report.outcomes().iter().enumerate() {
        assert_eq!(*outcome, expected(n), "{n}");
    }
    assert_eq!(poll(&mut old), Poll::Ready(Ok(Outcome::Valid)));
    let mut new = intake.submit(Origin::default(), VOTES[0].clone());
    assert!(poll(&mut new).is_pending());
    held.release();
    let refused = Outcome::Invalid(Reason::ChallengeMismatch);
    assert_eq!(poll(&mut new), Poll::Ready(Ok(refused)));
}

/// Panics for peer 4, and on the verdict for peer 6; refuses peer 5.
struct Fussy;

impl Admission for Fussy {
    fn admits(&self, peer: u64, _: usize) -> bool {
        assert!(peer != 4, "the operator's fault");
        peer != 5
    }

    fn verdict(&self, peer: u64, _: Outcome) {
        assert!(peer != 6, "the operator's fault");
    }
}

/// Panics whatever it is told.
struct Broken;

impl IntakeMetrics for Broken {
    fn answered(&self, _: &Answered) {
        panic!("the operator's fault");
    }

    fn verified(&self, _: &Verified) {
        panic!("the operator's fault");
    }
}

#[test]
fn hooks_that_panic_cost_their_item_at_most() {
    let builder = Intake::builder(verifier(Threads::Dedicated(2)));
    let intake = AsyncIntake::new(builder.admission(Fussy).metrics(Broken).build());
    for peer in 3..8 {
        for (n, vote) in VOTES.iter().enumerate().take(8) {
            let origin = Origin::peer(peer, Priority::OwnRound);
            let answer = block_on(intake.submit(origin, vote.clone()));
            match peer {
                4 => assert_eq!(answer, Err(IntakeError::HookPanicked)),
                5 => assert_eq!(answer, Err(IntakeError::PeerBudget)),
                _ => assert_eq!(answer, Ok(expected(n))),
            }
        }
    }
    let origin = Origin::peer(4, Priority::OwnRound);
    let batch = block_on(intake.submit_batch(origin, &VOTES[..2])).unwrap_err();
    assert_eq!(batch.errors, [0, 1].map(|n| (n, IntakeError::HookPanicked)));
    assert!(intake.intake().stats().hook_panics >= 8 + 2 + 8 + 40);
}

/// Member n votes on `message`; those in `bad` do it wrong.
fn ballots(message: &[u8], members: &[usize], bad: &[usize]) -> Vec<OwnedVote> {
    let context = Context::new(CONTEXT).unwrap();
    let vote = |&n: &usize| {
        let signature = KEYS[n]
            .sign(message, context, Randomness::Deterministic)
            .unwrap();
        let mut vote = OwnedVote::from(Vote::new(n as u32, signature.as_ref()));
        vote.signature[9] ^= u8::from(bad.contains(&n));
        vote
    };
    members.iter().map(vote).collect()
}

/// What the intake says of a quorum is what the verifier says.
#[test]
fn quorums() {
    let (members, message) = ([0, 1, 2, 3, 4, 5], b"block 9".as_slice());
    let weights = Arc::new(Weights::new([1, 2, 3, 1, 2, 3]));
    let subject = OwnedSubject {
        message: OwnedMessage::from(Message::Bytes(message)),
        context: None,
    };
    let mut lists = Vec::new();
    for bad in [&[][..], &[2], &[5], &[0, 1, 3], &[0, 1, 2, 3, 4, 5]] {
        let votes = ballots(message, &members, bad);
        lists.push([&votes[..], &votes[..3]].concat());
        lists.push(votes[..4].to_vec());
        // Forged votes in somebody's name before the owner's.
        let mut votes = [ballots(message, &[2, 5, 5], &[2, 5]), votes].concat();
        lists.push(votes.clone());
        votes[1].signer = SignerId::new(77);
        lists.push(votes);
    }
    let mut answers = HashMap::new();
    for threads in [Threads::Inline, Threads::Dedicated(2)] {
        for items in [1, 3, 100] {
            let limits = IntakeLimits {
                items,
                ..IntakeLimits::default()
            };
            let (intake, counts) = intake(threads.clone(), limits);
            for votes in &lists {
                for policy in [Policy::Strict, Policy::Lenient] {
                    for duplicates in [Duplicates::Once, Duplicates::Reject] {
                        let threshold = Threshold::two_thirds(&weights);
                        let quorum = OwnedQuorum {
                            subject: subject.clone(),
                            votes: votes.clone(),
                            weights: Arc::clone(&weights),
                            threshold,
                            policy,
                            duplicates,
                        };
                        let borrowed: Vec<Vote<'_>> = votes.iter().map(|v| v.as_vote()).collect();
                        let now = verifier(Threads::Inline).verify_quorum(
                            message, &borrowed, &weights, threshold, policy, duplicates,
                        );
                        let later = block_on(intake.submit_quorum(Origin::default(), quorum));
                        let kind = match &now {
                            Ok(_) => 0,
                            Err(QuorumError::Invalid { .. }) => 1,
                            Err(QuorumError::Insufficient { .. }) => 2,
                            Err(_) => 3,
                        };
                        *answers.entry(kind).or_insert(0) += 1;
                        assert_eq!(later, now.map_err(QuorumFailure::from), "{policy:?}");
                    }
                }
            }
            block_on(intake.drain());
            assert_eq!(counts.total() as u64, intake.intake().stats().items);
            // Votes that were seen are not verified again.
            let before = intake.intake().stats().verified;
            let quorum = OwnedQuorum {
                subject: subject.clone(),
                votes: ballots(message, &members, &[]),
                weights: Arc::clone(&weights),
                threshold: Threshold::two_thirds(&weights),
                policy: Policy::Strict,
                duplicates: Duplicates::Reject,
            };
            let report = block_on(intake.submit_quorum(Origin::default(), quorum.clone()));
            assert_eq!(report.unwrap().weight, 12);
            assert_eq!(intake.intake().stats().verified, before);
            // A vote without a verdict is no vote.
            block_on(intake.shutdown());
            let fresh = OwnedQuorum {
                votes: ballots(message, &members, &[0]),
                ..quorum
            };
            let (vote, error) = (0, IntakeError::ShuttingDown);
            let late = block_on(intake.submit_quorum(Origin::default(), fresh));
            assert_eq!(late, Err(QuorumFailure::Unanswered { vote, error }));
        }
    }
    assert_eq!(answers.len(), 4, "{answers:?}");
}

/// Refuses all items by peer 0 but the first so many.
struct Few(AtomicUsize);

impl Admission for Few {
    fn admits(&self, _: u64, _: usize) -> bool {
        let admit = |left: usize| left.checked_sub(1);
        let relaxed = Ordering::Relaxed;
        self.0.fetch_update(relaxed, relaxed, admit).is_ok()
    }
}

/// A strict quorum has the answer of its lowest vote that is not valid: a later one that
/// could not be verified takes nothing from it, an earlier one leaves it open.
#[test]
fn a_vote_that_is_proven_invalid_is_an_answer() {
    let message = b"block 9".as_slice();
    for (bad, admitted) in [(0, 1), (1, 2), (1, 5), (2, 2), (3, 0), (5, 6)] {
        let (held, threads) = held();
        let few = Few(AtomicUsize::new(admitted));
        let builder = Intake::builder(verifier(threads)).admission(few);
        let intake = AsyncIntake::new(builder.build());
        let weights = Arc::new(Weights::equal(MEMBERS));
        let quorum = OwnedQuorum {
            subject: OwnedSubject {
                message: OwnedMessage::from(Message::Bytes(message)),
                context: None,
            },
            votes: ballots(message, &[0, 1, 2, 3, 4, 5], &[bad]),
            threshold: Threshold::two_thirds(&weights),
            weights,
            policy: Policy::Strict,
            duplicates: Duplicates::Reject,
        };
        let mut answer = intake.submit_quorum(Origin::peer(0, Priority::OwnRound), quorum);
        let answer = loop {
            match poll(&mut answer) {
                Poll::Ready(answer) => break answer,
                Poll::Pending => held.release(),
            }
        };
        assert_eq!(
            answer,
            Err(if bad < admitted {
                let reason = Reason::ChallengeMismatch;
                QuorumFailure::Votes(QuorumError::Invalid { vote: bad, reason })
            } else {
                let error = IntakeError::PeerBudget;
                QuorumFailure::Unanswered {
                    vote: admitted,
                    error,
                }
            }),
            "{bad} {admitted}"
        );
    }
}

/// Awaited on all the workers of the pool that is to answer, and through a queue of one
/// place: nobody waits for itself.
#[test]
fn workers_that_await_do_the_work() {
    for threads in [1, 2] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let pool = Arc::new(pool.unwrap());
        let limits = IntakeLimits {
            items: 1,
            memory_bytes: 0,
            ..IntakeLimits::default()
        };
        let (intake, counts) = intake(Threads::Pool(Arc::clone(&pool)), limits);
        let (send, receive) = std::sync::mpsc::channel();
        for task in 0..4 {
            let (inside, send) = (intake.clone(), send.clone());
            pool.spawn(move || {
                let vote = VOTES[task].clone();
                let one = block_on(inside.submit(Priority::Sync, vote));
                let all = block_on(inside.submit_batch(Origin::default(), &VOTES[..9]));
                block_on(inside.drain());
                send.send((task, one, all.unwrap())).unwrap();
            });
        }
        for _ in 0..4 {
            let (task, one, all) = receive.recv_timeout(hang_limit()).unwrap();
            assert_eq!(one, Ok(expected(task)));
            assert!((0..9).map(expected).eq(all.outcomes().iter().copied()));
        }
        assert_eq!(counts.total(), 40);
    }
}

/// Tasks that submit items, batches and quorums, lose patience, panic in hooks and wait
/// for places while keys change, work is dropped and the intake shuts down after as
/// many answers as the round says: each item is answered once, and every verdict is one
/// of a set that was there.
#[test]
fn every_item_is_answered_once() {
    let (even, odd) = (set(0..MEMBERS), set(0..MEMBERS - 1));
    let subject = OwnedSubject {
        message: OwnedMessage::Bytes(b"stress".to_vec()),
        context: None,
    };
    let ballots = ballots(b"stress", &[0, 1, 2, 3, 4], &[3]);
    for round in 0..40usize {
        let executor = Arc::new(Moody::new(round, round % 2 == 1));
        let limits = IntakeLimits {
            items: 1 + round % 7,
            batch: 8 << (round % 3),
            workers: round % 4,
            memory_bytes: 10_000 * (round % 3),
            ..IntakeLimits::default()
        };
        let counts = Counts::default();
        let threads = Threads::Executor(Arc::clone(&executor) as Arc<dyn Executor>);
        let builder = Intake::builder(verifier(threads)).limits(limits);
        let intake = builder.admission(Fussy).metrics(counts.clone()).build();
        let intake = AsyncIntake::new(intake);
        // What those who did not lose patience were told.
        let told = AtomicUsize::new(0);
        let check = |vote: usize, peer: u64, answer: Result<Outcome, IntakeError>| {
            told.fetch_add(1, Ordering::Relaxed);
            match answer {
                Ok(Outcome::Invalid(Reason::UnknownSigner)) => {
                    assert_eq!(vote % MEMBERS, MEMBERS - 1);
                }
                Ok(outcome) => assert_eq!(outcome, expected(vote)),
                Err(IntakeError::PeerBudget) => assert_eq!(peer, 5),
                Err(IntakeError::HookPanicked) => assert_eq!(peer, 4),
                Err(IntakeError::Abandoned) => assert!(executor.drops),
                Err(IntakeError::QueueFull | IntakeError::ShuttingDown) => {}
                Err(error) => panic!("{error}"),
            }
        };
        // Shut down at every point: from before the first answer on.
        let patience = round * round / 2;
        thread::scope(|scope| {
            let tasks: Vec<_> = (0..3usize)
                .map(|task| {
                    let (intake, executor, check) = (&intake, &executor, &check);
                    let (subject, ballots) = (&subject, &ballots);
                    scope.spawn(move || {
                        for n in 0..40usize {
                            let peer = executor.dice(8) as u64;
                            let origin = Origin::peer(peer, Priority::ALL[executor.dice(3)]);
                            let vote = (n * 7 + task * 13) % VOTES.len();
                            let item = VOTES[vote].clone();
                            match executor.dice(6) {
                                0 => check(vote, peer, block_on(intake.submit(origin, item))),
                                1 => match intake.try_submit(origin, item) {
                                    Ok(pending) => check(vote, peer, block_on(pending)),
                                    Err(error) => check(vote, peer, Err(error)),
                                },
                                2 => {
                                    // Loses patience.
                                    let mut submit = intake.submit(origin, item);
                                    for _ in 0..executor.dice(4) {
                                        if let Poll::Ready(answer) = poll(&mut submit) {
                                            check(vote, peer, answer);
                                            break;
                                        }
                                        thread::yield_now();
                                    }
                                }
                                3 => {
                                    let votes = [vote, (vote + 1) % 60, (vote + 2) % 60];
                                    let items = votes.map(|n| VOTES[n].clone());
                                    let batch = block_on(intake.submit_batch(origin, items));
                                    let (report, errors) = match batch {
                                        Ok(report) => (report, Vec::new()),
                                        Err(lost) => (*lost.report, lost.errors),
                                    };
                                    let mut errors: HashMap<_, _> = errors.into_iter().collect();
                                    for (at, outcome) in report.outcomes().iter().enumerate() {
                                        let error = errors.remove(&at);
                                        assert_eq!(error.is_some(), *outcome == Outcome::Skipped);
                                        check(votes[at], peer, error.map_or(Ok(*outcome), Err));
                                    }
                                    assert!(errors.is_empty());
                                }
                                4 => {
                                    let quorum = OwnedQuorum {
                                        subject: subject.clone(),
                                        votes: ballots.clone(),
                                        weights: Arc::new(Weights::equal(MEMBERS)),
                                        threshold: Threshold::at_least(4).unwrap(),
                                        policy: [Policy::Strict, Policy::Lenient][n % 2],
                                        duplicates: Duplicates::Once,
                                    };
                                    match (block_on(intake.submit_quorum(origin, quorum)), n % 2) {
                                        (Ok(report), 1) => assert_eq!(report.weight, 4),
                                        (Err(QuorumFailure::Votes(error)), 0) => assert!(matches!(
                                            error,
                                            QuorumError::Invalid { vote: 3, .. }
                                                | QuorumError::WeightsLength
                                        )),
                                        (Err(QuorumFailure::Votes(error)), _) => {
                                            assert_eq!(error, QuorumError::WeightsLength);
                                        }
                                        (Err(QuorumFailure::Unanswered { .. }), _) => {}
                                        (answer, _) => panic!("{answer:?}"),
                                    }
                                }
                                _ => check(vote, 0, Ok(intake.intake().verify(item.as_item()))),
                            }
                        }
                    })
                })
                .collect();
            let mut n = 0;
            while tasks.iter().any(|task| !task.is_finished()) {
                let keys = [&even, &odd][n % 2].clone();
                intake.intake().replace_keys(keys);
                n += 1;
                if round % 3 > 0 && told.load(Ordering::Relaxed) >= patience {
                    drop(intake.shutdown());
                }
                thread::yield_now();
            }
            tasks.into_iter().for_each(|task| task.join().unwrap());
        });
        block_on(intake.drain());
        let stats = intake.intake().stats();
        assert_eq!(stats.waiting, 0, "{round}");
        assert_eq!(counts.total() as u64, stats.items, "{round}");
        assert!(counts.total() >= told.into_inner(), "{round}");
        assert_eq!(counts.of(Ok(Outcome::Skipped)), 0);
        for (answer, counted) in [
            (IntakeError::QueueFull, stats.queue_full),
            (IntakeError::TooLarge, stats.too_large),
            (IntakeError::PeerBudget, stats.peer_budget),
            (IntakeError::ShuttingDown, stats.shutting_down),
            (IntakeError::Abandoned, stats.abandoned),
            (IntakeError::Cancelled, stats.cancelled),
        ] {
            assert_eq!(counts.of(Err(answer)) as u64, counted, "{round} {answer}");
        }
        intake.intake().replace_keys(even.clone());
        for (n, vote) in VOTES.iter().enumerate().filter(|(n, _)| forged(*n)) {
            assert!(!intake.intake().remembers(vote.as_item()), "{round} {n}");
        }
    }
}

/// Made of functions, and panicking: what is lent is no more than help.
#[test]
fn executors_that_panic() {
    let pool = batch_verify::CallerPool::new(3, |_, _| panic!("the pool's fault"))
        .spawning(|_| panic!("the pool's fault"), || false);
    let threads = pool.into_threads();
    let items: Vec<Item<'_>> = VOTES.iter().map(OwnedItem::as_item).collect();
    let verifier = verifier(threads.clone());
    assert!(
        (0..60)
            .map(expected)
            .eq(verifier.verify(&items).into_outcomes())
    );
    let (intake, counts) = intake(threads, IntakeLimits::default());
    let lost = block_on(intake.submit(Origin::default(), VOTES[0].clone()));
    assert_eq!(lost, Err(IntakeError::Abandoned));
    assert_eq!(intake.intake().verify(VOTES[0].as_item()), expected(0));
    block_on(intake.drain());
    assert_eq!(counts.total(), 2);
    let mut future = pin!(intake.submit(Origin::default(), VOTES[1].clone()));
    let again = future.as_mut().poll(&mut Task::from_waker(Waker::noop()));
    assert_eq!(again, Poll::Ready(Err(IntakeError::Abandoned)));
}
