//! What an engine hands over together, or asks for and waits: the verdicts of a verifier
//! without memory, one batch, one answer for each item.

use core::panic::AssertUnwindSafe;
use core::sync::atomic::{AtomicUsize, Ordering};
use std::panic::catch_unwind;
use std::sync::{Arc, Mutex};

use crate::votes::{CONTEXT, KEYS, MEMBERS, VOTES, expected, forged, held, set, verifier};
use batch_verify::{
    Admission, Answered, CallerPool, Duplicates, Intake, IntakeBuilder, IntakeError, IntakeLimits,
    IntakeMetrics, Item, Origin, Outcome, OwnedItem, Policy, Priority, QuorumError, Reason,
    Subject, Threads, Threshold, Verified, Vote, VoteFor, Weights,
};
use mldsa_core::{Context, MlDsa44, Mu, Randomness};

/// Sizes of batches, and answers.
#[derive(Clone, Default)]
struct Log {
    batches: Arc<Mutex<Vec<usize>>>,
    answers: Arc<Mutex<Vec<Answered>>>,
}

impl IntakeMetrics for Log {
    fn answered(&self, item: &Answered) {
        self.answers.lock().unwrap().push(*item);
    }

    fn verified(&self, batch: &Verified) {
        self.batches.lock().unwrap().push(batch.items);
    }
}

impl Log {
    fn batches(&self) -> Vec<usize> {
        self.batches.lock().unwrap().split_off(0)
    }
}

fn builder(threads: Threads) -> (IntakeBuilder<MlDsa44>, Log) {
    let log = Log::default();
    (Intake::builder(verifier(threads)).metrics(log.clone()), log)
}

/// A pool that runs what it is given at once, on the thread that gives it.
fn at_once(workers: usize) -> Threads {
    let pool = CallerPool::new(workers, |_, _| {});
    pool.spawning(|job| job(), || true).into_threads()
}

fn from(priority: Priority) -> impl Fn((usize, &OwnedItem)) -> (Origin, OwnedItem) {
    move |(n, vote)| (Origin::peer(n as u64, priority), vote.clone())
}

#[test]
fn what_arrives_together_is_one_batch() {
    let (builder, log) = builder(at_once(3));
    let intake = builder.build();
    // One by one, each would be a batch.
    for vote in &VOTES[..3] {
        intake.submit(vote.clone()).unwrap().detach();
    }
    assert_eq!(log.batches(), [1, 1, 1]);
    let votes = VOTES.iter().enumerate();
    let answers = intake.submit_all(votes.map(from(Priority::OwnRound)));
    // Three are remembered.
    assert_eq!(log.batches(), [57]);
    assert_eq!(answers.len(), 60);
    for (n, pending) in answers.into_iter().enumerate() {
        assert_eq!(pending.unwrap().wait(), Ok(expected(n)), "{n}");
    }
    let stats = intake.stats();
    assert_eq!((stats.items, stats.verified), (63, 60));
    assert_eq!((stats.memory.hits, stats.memory.misses), (3, 60));
    assert_eq!(log.answers.lock().unwrap().len(), 63);
    assert!(intake.submit_all::<OwnedItem>([]).is_empty());
    // More than a batch holds.
    let limits = IntakeLimits {
        batch: 8,
        memory_bytes: 0,
        ..IntakeLimits::default()
    };
    let intake = Intake::builder(verifier(at_once(3))).limits(limits).build();
    let votes = VOTES.iter().enumerate();
    let answers = intake.submit_all(votes.map(from(Priority::Sync)));
    for (n, pending) in answers.into_iter().enumerate() {
        assert_eq!(pending.unwrap().wait(), Ok(expected(n)), "{n}");
    }
    assert_eq!(intake.stats().batches, 8);
}

/// The first of an awaited batch does not go alone, either.
#[cfg(feature = "async")]
#[test]
fn what_is_awaited_together_is_one_batch() {
    use core::future::Future;
    use core::pin::pin;
    use core::task::{Context, Poll, Waker};

    let (builder, log) = builder(at_once(3));
    let intake = batch_verify::AsyncIntake::new(builder.build());
    let future = pin!(intake.submit_batch(Origin::default(), &VOTES[..]));
    let Poll::Ready(Ok(report)) = future.poll(&mut Context::from_waker(Waker::noop())) else {
        panic!("a pool that runs jobs at once has answered");
    };
    assert!((0..60).all(|n| report.outcomes()[n] == expected(n)));
    assert_eq!(log.batches(), [60]);
}

/// Refuses odd peers and panics for peer 4; counts what it has admitted and got back.
#[derive(Clone, Default)]
struct Budget(Arc<[AtomicUsize; 2]>);

impl Admission for Budget {
    fn admits(&self, peer: u64, _: usize) -> bool {
        assert!(peer != 4, "the operator's fault");
        self.0[0].fetch_add(usize::from(peer.is_multiple_of(2)), Ordering::Relaxed);
        peer.is_multiple_of(2)
    }

    fn released(&self, _: u64, _: usize, _: Result<Outcome, IntakeError>) {
        self.0[1].fetch_add(1, Ordering::Relaxed);
    }
}

/// Limits, budgets and shutdown are those of items that come alone.
#[test]
fn what_arrives_together_keeps_to_the_limits() {
    let (held, threads) = held();
    let (builder, log) = builder(threads);
    let budget = Budget::default();
    let limits = IntakeLimits {
        items: 4,
        ..IntakeLimits::default()
    };
    let intake = builder.limits(limits).admission(budget.clone()).build();
    let full = Err(IntakeError::QueueFull);
    // Peers 0, 2, 6 and 8 have places, 10 and later even ones do not.
    let votes = VOTES.iter().enumerate().take(14);
    let answers = intake.submit_all(votes.map(from(Priority::NextRound)));
    for (n, answer) in answers.iter().enumerate() {
        let error = answer.as_ref().map(drop).map_err(|error| *error);
        let wanted = match n {
            4 => Err(IntakeError::HookPanicked),
            _ if n % 2 == 1 => Err(IntakeError::PeerBudget),
            0..9 => Ok(()),
            _ => full,
        };
        assert_eq!(error, wanted, "{n}");
    }
    // Another priority has places of its own; the node is under no budget.
    let own = VOTES.iter().take(5).map(|vote| (Origin::default(), vote));
    let own = intake.submit_all(own.map(|(origin, vote)| (origin, vote.as_item())));
    assert_eq!(own.iter().filter(|answer| answer.is_err()).count(), 1);
    assert_eq!(own[4].as_ref().map(drop).map_err(|error| *error), full);
    // An iterator that panics has taken nothing.
    let panics = VOTES.iter().enumerate().map(|(n, vote)| {
        assert!(n < 3, "the caller's fault");
        (Origin::peer(2, Priority::Sync), vote.clone())
    });
    let before = intake.stats();
    assert!(catch_unwind(AssertUnwindSafe(|| intake.submit_all(panics))).is_err());
    assert_eq!(intake.stats(), before);
    held.release();
    let valid = answers.into_iter().enumerate();
    for (n, pending) in valid.filter_map(|(n, answer)| Some((n, answer.ok()?))) {
        assert_eq!(pending.wait(), Ok(expected(n)));
    }
    drop(own);
    intake.shutdown();
    let votes = VOTES.iter().enumerate().take(3);
    for answer in intake.submit_all(votes.map(from(Priority::Sync))) {
        assert_eq!(answer.map(drop), Err(IntakeError::ShuttingDown));
    }
    held.release();
    assert_eq!(budget.0[0].load(Ordering::Relaxed), 6);
    assert_eq!(budget.0[1].load(Ordering::Relaxed), 6);
    assert_eq!(log.answers.lock().unwrap().len() as u64, 14 + 5 + 3);
    assert_eq!(intake.stats().items, 14 + 5 + 3);
}

#[test]
fn items_that_are_asked_for_together() {
    for threads in [Threads::Inline, Threads::Dedicated(3), at_once(3)] {
        let (builder, log) = builder(threads);
        let intake = builder.build();
        assert_eq!(intake.verify_items([]), []);
        // A repeat, somebody unknown, a signature that is cut.
        let mut items: Vec<Item<'_>> = VOTES.iter().map(OwnedItem::as_item).collect();
        items.push(items[0]);
        items.push(Item::new(99, b"vote", items[1].signature));
        items.push(Item::new(1, b"vote", &items[1].signature[1..]));
        let mut wanted: Vec<Outcome> = (0..60).map(expected).collect();
        wanted.extend([
            Outcome::Valid,
            Outcome::Invalid(Reason::UnknownSigner),
            Outcome::Invalid(Reason::SignatureLength),
        ]);
        assert_eq!(intake.verify_items(items.iter().copied()), wanted);
        assert_eq!(log.batches(), [63]);
        let valid = (0..60).filter(|&n| !forged(n)).count();
        assert_eq!(intake.stats().memory.items, valid);
        // Again: refusals are verified, and nothing else.
        assert_eq!(intake.verify_items(items.iter().copied()), wanted);
        assert_eq!(log.batches(), [62 - valid]);
        let known = wanted.iter().filter(|outcome| outcome.is_valid()).count();
        let stats = intake.stats();
        assert_eq!((stats.items, stats.memory.hits), (126, known as u64));
        let answers = log.answers.lock().unwrap();
        assert_eq!(answers.len(), 126);
        let known = answers.iter().filter(|answer| answer.remembered).count();
        assert_eq!(known as u64, stats.memory.hits);
        drop(answers);
        // Not for another epoch.
        intake.replace_keys(set((0..MEMBERS).rev()));
        let outcomes = intake.verify_items(items[..6].iter().copied());
        assert!(outcomes.iter().all(|outcome| !outcome.is_valid()));
        // After a shutdown it takes nothing in, and this is not in.
        intake.shutdown();
        assert_eq!(intake.verify_items(items[..6].iter().copied()), outcomes);
    }
}

/// Members' signatures on three messages; `bad` says which are spoiled.
fn ballots(bad: impl Fn(usize, usize) -> bool) -> Vec<Vec<Vec<u8>>> {
    let context = Context::new(CONTEXT).unwrap();
    let sign = |subject: usize, member: usize| {
        let (key, hedge) = (&KEYS[member], Randomness::Deterministic);
        let signature = key.sign(&[subject as u8], context, hedge).unwrap();
        let mut signature = signature.as_ref().to_vec();
        signature[9] ^= u8::from(bad(subject, member));
        signature
    };
    let of = |subject| (0..MEMBERS).map(|member| sign(subject, member)).collect();
    (0..3).map(of).collect()
}

/// Whatever is remembered, whatever is asked: what the verifier says.
#[test]
fn quorums_and_tallies_are_those_of_the_verifier() {
    let signatures = ballots(|subject, member| subject == 2 && member % 3 == 1);
    let messages: Vec<[u8; 1]> = (0..3).map(|n| [n]).collect();
    let subjects: Vec<Subject<'_>> = messages.iter().map(Subject::from).collect();
    let weights = Weights::new([1, 2, 3, 1, 2, 3]);
    let mut state = 7_usize;
    let mut dice = |sides: usize| {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(11);
        (state >> 33) % sides
    };
    let (mut reached, mut refused, mut tallied) = (0, 0, 0);
    for round in 0..300 {
        let threads = [Threads::Inline, Threads::Dedicated(2)][round % 2].clone();
        let limits = IntakeLimits {
            memory_bytes: [0, 10_000, 1 << 20][dice(3)],
            ..IntakeLimits::default()
        };
        let (builder, log) = builder(threads);
        let intake = builder.limits(limits).build();
        let verifier = intake.verifier();
        // Members, now and then a repeat, a stranger or the vote of somebody else.
        let subject = dice(3);
        let votes: Vec<Vote<'_>> = (0..MEMBERS + dice(3))
            .map(|n| {
                let by = if dice(9) == 0 { dice(7) } else { n % MEMBERS };
                let wrong = usize::from(dice(12) == 0);
                let signature = &signatures[subject][(by + wrong) % MEMBERS];
                Vote::new(by as u32, signature)
            })
            .collect();
        for vote in votes.iter().filter(|_| dice(2) == 0) {
            let signed = Item::new(vote.signer, &messages[subject], vote.signature);
            intake.verify(signed);
        }
        let policy = [Policy::Strict, Policy::Lenient][dice(2)];
        let duplicates = [Duplicates::Once, Duplicates::Reject][dice(2)];
        let threshold = Threshold::at_least(dice(13) as u128 + 1).unwrap();
        let ask = || {
            let subject = subjects[subject];
            intake.verify_quorum(subject, &votes, &weights, threshold, policy, duplicates)
        };
        let alone = verifier.verify_quorum(
            subjects[subject],
            &votes,
            &weights,
            threshold,
            policy,
            duplicates,
        );
        assert_eq!(ask(), alone, "{round}");
        log.batches();
        assert_eq!(ask(), alone, "{round}");
        if alone.is_ok() && policy == Policy::Strict && limits.memory_bytes == 1 << 20 {
            assert!(log.batches().is_empty(), "{round}");
        }
        reached += usize::from(alone.is_ok());
        refused += usize::from(alone.is_err());

        let votes: Vec<VoteFor<'_>> = (0..dice(12))
            .map(|_| {
                let (subject, by) = (dice(3), dice(7));
                let signature = &signatures[dice(3).max(subject)][by % MEMBERS];
                let vote = Vote::new(by as u32, signature);
                VoteFor { subject, vote }
            })
            .collect();
        let alone = verifier.tally(&subjects, &votes, &weights, duplicates);
        assert_eq!(
            intake.tally(&subjects, &votes, &weights, duplicates),
            alone,
            "{round}"
        );
        log.batches();
        assert_eq!(
            intake.tally(&subjects, &votes, &weights, duplicates),
            alone,
            "{round}"
        );
        if let Ok(tally) = alone {
            tallied += 1;
            if limits.memory_bytes == 1 << 20 {
                let again: usize = log.batches().iter().sum();
                assert_eq!(again, tally.invalid.len(), "{round}");
            }
        }
        // Every item has its answer, those that a strict quorum left out, too.
        let stats = intake.stats();
        assert_eq!(log.answers.lock().unwrap().len() as u64, stats.items);
        assert_eq!(
            stats.items,
            stats.verified + stats.cancelled + stats.memory.hits
        );
        assert!(stats.memory.bytes <= limits.memory_bytes);
    }
    assert!(reached.min(refused).min(tallied) > 30);
}

/// A strict certificate fails at its first bad vote; what was verified beside it was work.
#[test]
fn good_votes_of_a_bad_certificate_are_remembered() {
    let bad = 2;
    let signatures = &ballots(|subject, member| subject == 0 && member == bad)[0];
    let (builder, log) = builder(Threads::Inline);
    let intake = builder.build();
    let votes: Vec<Vote<'_>> = (0..MEMBERS as u32)
        .map(|member| Vote::new(member, &signatures[member as usize]))
        .collect();
    let (weights, once) = (Weights::equal(MEMBERS), Duplicates::Once);
    let threshold = Threshold::majority(&weights);
    let refused = intake.verify_quorum(&[0], &votes, &weights, threshold, Policy::Strict, once);
    let reason = Reason::ChallengeMismatch;
    assert_eq!(refused, Err(QuorumError::Invalid { vote: bad, reason }));
    // Six share lanes.
    assert_eq!(log.batches(), [MEMBERS]);
    assert_eq!(intake.stats().cancelled, 0);
    for (member, vote) in votes.iter().enumerate() {
        let item = Item::new(vote.signer, &[0], vote.signature);
        assert_eq!(intake.remembers(item), member != bad, "{member}");
    }
}

/// What cannot be a question is an error here as there, with nothing verified.
#[test]
fn questions_that_are_none() {
    let (builder, log) = builder(Threads::Inline);
    let intake = builder.build();
    let (weights, once) = (Weights::equal(MEMBERS), Duplicates::Once);
    let threshold = Threshold::majority(&weights);
    let vote = [Vote::new(0, b"signature")];
    let mu = Mu::from_bytes([0; 64]);
    let of_one_key = Subject::new(&mu);
    let few = Weights::equal(2);
    let ask = |subject, weights: &_| {
        intake.verify_quorum(subject, &vote, weights, threshold, Policy::Strict, once)
    };
    assert_eq!(ask(of_one_key, &weights), Err(QuorumError::MessageForm));
    let subject = Subject::from(b"vote");
    assert_eq!(ask(subject, &few), Err(QuorumError::WeightsLength));
    let (subject, vote) = (1, vote[0]);
    let lost = [VoteFor { subject, vote }];
    assert_eq!(
        intake.tally(&[Subject::from(b"vote")], &lost, &weights, once),
        Err(QuorumError::UnknownSubject { vote: 0 })
    );
    assert!(log.batches().is_empty());
    assert_eq!(intake.stats().items, 0);
}

/// Whoever shares a batch with a long message waits until it is hashed.
#[test]
fn a_long_item_is_neither_taken_in_nor_remembered() {
    let limits = IntakeLimits {
        item_bytes: 1 << 14,
        ..IntakeLimits::default()
    };
    let log = Log::default();
    let builder = Intake::builder(verifier(Threads::Inline)).limits(limits);
    let intake = builder.metrics(log.clone()).build();
    let message = vec![0; 1 << 14];
    let context = Context::new(CONTEXT).unwrap();
    let signature = KEYS[5]
        .sign(&message, context, Randomness::Deterministic)
        .unwrap();
    let long = Item::new(5, &message[..], signature.as_ref());
    let refused = intake.submit(long).map(drop);
    assert_eq!(refused, Err(IntakeError::TooLarge));
    let together = intake.submit_all([(Origin::peer(1, Priority::Sync), long)]);
    let together: Vec<_> = together
        .into_iter()
        .map(|answer| answer.map(drop))
        .collect();
    assert_eq!(together, [Err(IntakeError::TooLarge)]);
    // Who asks and waits has its answer, and others keep their places in memory.
    assert_eq!(intake.verify(long), Outcome::Valid);
    assert_eq!(intake.verify_items([long]), [Outcome::Valid]);
    assert!(!intake.remembers(long));
    let stats = intake.stats();
    assert_eq!((stats.items, stats.too_large, stats.verified), (4, 2, 2));
    assert_eq!(stats.memory.items, 0);
    assert_eq!(log.answers.lock().unwrap().len(), 4);
}

#[test]
fn nobody_is_told_of_a_batch_without_items() {
    let (held, threads) = held();
    let log = Log::default();
    let builder = Intake::builder(verifier(threads));
    let intake = builder.metrics(log.clone()).build();
    drop(intake.submit(VOTES[0].clone()).unwrap());
    held.release();
    assert_eq!((intake.stats().cancelled, intake.stats().batches), (1, 0));
    assert_eq!(log.batches(), [0; 0]);
}

/// Answers that were told, and by how many they were more than the items.
#[derive(Clone, Default)]
struct Balance(Arc<Mutex<Told>>);

#[derive(Clone, Default)]
struct Told {
    answers: u64,
    ahead: u64,
    intake: Option<Intake<MlDsa44>>,
}

impl IntakeMetrics for Balance {
    fn answered(&self, _: &Answered) {
        let told = &mut *self.0.lock().unwrap();
        told.answers += 1;
        if let Some(intake) = &told.intake {
            let ahead = told.answers.saturating_sub(intake.stats().items);
            told.ahead = told.ahead.max(ahead);
        }
    }
}

#[test]
fn items_are_counted_before_their_answers() {
    let balance = Balance::default();
    let builder = Intake::builder(verifier(Threads::Inline));
    let intake = builder.metrics(balance.clone()).build();
    balance.0.lock().unwrap().intake = Some(intake.clone());
    for _ in 0..2 {
        intake.verify_items(VOTES.iter().map(OwnedItem::as_item));
    }
    // Each holds the other.
    let told = core::mem::take(&mut *balance.0.lock().unwrap());
    assert_eq!((told.answers, told.ahead), (2 * VOTES.len() as u64, 0));
}

/// Holds up whoever tells it of a refusal until a worker has been started.
struct Patient(Arc<AtomicUsize>, Arc<AtomicUsize>);

impl IntakeMetrics for Patient {
    fn answered(&self, item: &Answered) {
        if item.answer == Err(IntakeError::QueueFull) {
            self.1
                .fetch_max(self.0.load(Ordering::Relaxed), Ordering::Relaxed);
        }
    }
}

/// What has a place does not wait for the hooks of what has none.
#[test]
fn workers_begin_before_refusals_are_told() {
    let (started, seen) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
    let count = Arc::clone(&started);
    let spawn = move |job: Box<dyn FnOnce() + Send>| {
        count.fetch_add(1, Ordering::Relaxed);
        job();
    };
    let pool = CallerPool::new(1, |_, _| {}).spawning(spawn, || true);
    let limits = IntakeLimits {
        items: 3,
        ..IntakeLimits::default()
    };
    let builder = Intake::builder(verifier(pool.into_threads())).limits(limits);
    let patient = Patient(started, Arc::clone(&seen));
    let intake = builder.metrics(patient).build();
    let answers = intake.submit_all(VOTES.iter().map(|vote| (Origin::default(), vote.clone())));
    let refused = answers.iter().filter(|answer| answer.is_err()).count();
    assert_eq!(
        (refused, seen.load(Ordering::Relaxed)),
        (VOTES.len() - 3, 1)
    );
}
