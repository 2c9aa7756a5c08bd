//! A batch gives every item the verdict of single verification: for every mode, thread count
//! and size.

use core::cell::Cell;
use std::sync::LazyLock;

use batch_verify::{
    BatchVerifier, BuildError, Committee, CommitteeVerifier, MemberId, Mode, RejectReason, Report,
    Threads, Vote,
};
use mldsa_core::{MlDsa44, MlDsa65, MlDsa87, ParameterSet};
use proptest::prelude::*;

use crate::fixture::{CONTEXT, Verdict, committee, context, keys, sign};

/// Votes with the expected verdicts.
struct Pool<P: ParameterSet> {
    committee: Committee<P>,
    entries: Vec<Entry>,
}

struct Entry {
    member: MemberId,
    message: Vec<u8>,
    signature: Vec<u8>,
    verdict: Verdict,
}

impl Entry {
    fn vote(&self) -> Vote<'_> {
        Vote::new(self.member, &self.message, &self.signature)
    }
}

impl<P: ParameterSet> Pool<P> {
    /// Four honest signatures, then eight for the reject classes.
    fn new() -> Self {
        let keys = keys::<P>(4);
        let committee = committee(&keys);
        let stranger = committee.successor(2, None::<(&[u8], u64)>).unwrap();
        let stranger = stranger.member(0).unwrap();
        let member = |n: usize| committee.member(n as u32 % 4).unwrap();
        let honest = |n: usize| {
            let message = format!("message of {}", n % 4).into_bytes();
            Entry {
                member: member(n),
                signature: sign(&keys[n % 4], &message),
                message,
                verdict: Ok(()),
            }
        };
        let mut entries: Vec<Entry> = (0..4).map(honest).collect();
        let mut bad = |reason: RejectReason, tamper: &dyn Fn(&mut Entry)| {
            let mut entry = honest(entries.len());
            tamper(&mut entry);
            entry.verdict = Err(reason);
            entries.push(entry);
        };
        bad(RejectReason::UnknownMember, &|entry| {
            entry.member = stranger
        });
        bad(RejectReason::SignatureLength, &|entry| {
            entry.signature.pop();
        });
        bad(RejectReason::SignatureLength, &|entry| {
            entry.signature.clear()
        });
        bad(RejectReason::HintEncoding, &|entry| {
            *entry.signature.last_mut().unwrap() = 0xff;
        });
        bad(RejectReason::ResponseNorm, &|entry| {
            let start = P::C_TILDE_LEN;
            entry.signature[start..start + 8].fill(0);
        });
        bad(RejectReason::ChallengeMismatch, &|entry| {
            entry.signature[0] ^= 1
        });
        bad(RejectReason::ChallengeMismatch, &|entry| {
            entry.message.push(b'!')
        });
        bad(RejectReason::ChallengeMismatch, &|entry| {
            entry.member = member(entry.member.index() as usize + 1);
        });
        Self { committee, entries }
    }

    fn verifier(&self, mode: Mode, threads: Threads) -> CommitteeVerifier<P> {
        let builder = CommitteeVerifier::builder().mode(mode).threads(threads);
        builder.build(self.committee.clone()).unwrap()
    }
}

static POOL: LazyLock<Pool<MlDsa44>> = LazyLock::new(Pool::new);

/// One verifier for each mode and number of threads.
static VERIFIERS: LazyLock<Vec<(Mode, CommitteeVerifier<MlDsa44>)>> = LazyLock::new(|| {
    let mut all = Vec::new();
    for mode in [Mode::Full, Mode::FirstInvalid, Mode::AnyInvalid] {
        for threads in [
            Threads::Inline,
            Threads::Shared,
            Threads::Dedicated(1),
            Threads::Dedicated(2),
            Threads::Dedicated(8),
        ] {
            all.push((mode, POOL.verifier(mode, threads)));
        }
    }
    all
});

/// Checks a report against the verdicts that the items have alone.
fn assert_report(mode: Mode, report: &Report, alone: &[Verdict]) {
    let verdicts = report.verdicts();
    assert_eq!(verdicts.len(), alone.len());
    let lowest = alone.iter().position(|verdict| *verdict != Ok(()));
    match mode {
        Mode::Full => assert_eq!(verdicts, alone),
        Mode::FirstInvalid => {
            let end = lowest.map_or(alone.len(), |lowest| lowest + 1);
            assert_eq!(verdicts[..end], alone[..end]);
            assert!(
                verdicts[end..]
                    .iter()
                    .all(|verdict| *verdict == Err(RejectReason::NotVerified))
            );
        }
        Mode::AnyInvalid => {
            for (verdict, alone) in verdicts.iter().zip(alone) {
                assert!(verdict == alone || *verdict == Err(RejectReason::NotVerified));
            }
            assert_eq!(report.first_rejected().is_some(), lowest.is_some());
            assert!(lowest.is_some() || report.skipped() == 0);
        }
    }
    assert_eq!(report.all_valid(), lowest.is_none() && !alone.is_empty());
    assert_eq!(report.require_all().is_ok(), report.all_valid());
    assert_eq!(
        report.valid_items() + report.rejected().count() + report.skipped(),
        alone.len()
    );
}

fn check(picks: &[usize]) {
    let entries: Vec<&Entry> = picks.iter().map(|&pick| &POOL.entries[pick]).collect();
    let votes = || entries.iter().map(|entry| entry.vote());
    let alone: Vec<Verdict> = entries.iter().map(|entry| entry.verdict).collect();
    let lowest = alone.iter().position(|verdict| *verdict != Ok(()));
    for (mode, verifier) in VERIFIERS.iter() {
        assert_report(*mode, &verifier.verify_batch(votes()), &alone);
        if *mode == Mode::AnyInvalid {
            continue;
        }
        let report = verifier.verify_batch(votes());
        assert_eq!(report.first_rejected().map(|(index, _)| index), lowest);
        let expected = match (alone.len(), lowest) {
            (0, _) => Err(RejectReason::NotVerified),
            (_, None) => Ok(()),
            (_, Some(lowest)) => alone[lowest],
        };
        assert_eq!(report.require_all(), expected);
    }
}

#[test]
fn verdicts_are_those_of_the_core() {
    fn check<P: ParameterSet>() {
        let pool = Pool::<P>::new();
        for entry in &pool.entries {
            let key = pool.committee.key(entry.member);
            let alone =
                key.map(|key| key.verify_with_context(&entry.message, context(), &entry.signature));
            let valid = alone.is_some_and(|result| result.is_ok());
            assert_eq!(valid, entry.verdict.is_ok());
            let one = pool.committee.verify(&entry.vote());
            assert_eq!(one, entry.verdict);
            let verifier = pool.verifier(Mode::Full, Threads::Inline);
            assert_eq!(verifier.verify(&entry.vote()), one);
        }
        let report = pool.verifier(Mode::Full, Threads::Shared);
        let report = report.verify_batch(pool.entries.iter().map(Entry::vote));
        let expected: Vec<Verdict> = pool.entries.iter().map(|entry| entry.verdict).collect();
        assert_eq!(report.verdicts(), expected, "{}", P::NAME);
        for (reason, count) in [
            (RejectReason::UnknownMember, 1),
            (RejectReason::SignatureLength, 2),
            (RejectReason::HintEncoding, 1),
            (RejectReason::ResponseNorm, 1),
            (RejectReason::ChallengeMismatch, 3),
        ] {
            let found = report.rejected().filter(|(_, found)| *found == reason);
            assert_eq!(found.count(), count, "{reason}");
        }
    }
    check::<MlDsa44>();
    check::<MlDsa65>();
    check::<MlDsa87>();
}

/// Every size up to several windows, with one failure at each kind of place.
#[test]
fn every_size_with_one_failure() {
    for size in (0..=40).chain([63, 64, 65, 100]) {
        check(&(0..size).map(|i| i % 4).collect::<Vec<_>>());
        for place in [0, size / 2, size.saturating_sub(1)] {
            let mut picks: Vec<usize> = (0..size).map(|i| i % 4).collect();
            if let Some(pick) = picks.get_mut(place) {
                *pick = 4 + size % 8;
                check(&picks);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn equal_to_one_by_one(picks in proptest::collection::vec(
        prop_oneof![12 => 0usize..4, 1 => 4usize..12], 0..140)) {
        check(&picks);
    }

    #[test]
    fn equal_to_one_by_one_when_most_fail(picks in proptest::collection::vec(0usize..12, 0..90)) {
        check(&picks);
    }
}

#[test]
fn a_pool_of_no_threads_is_rejected() {
    let build = |threads| BatchVerifier::<MlDsa44>::builder().threads(threads).build();
    assert!(build(Threads::Inline).is_ok());
    assert_eq!(
        build(Threads::Dedicated(0)).unwrap_err(),
        BuildError::ThreadPool
    );
}

#[test]
fn early_exit_skips_the_rest() {
    for (place, windows) in [(3, 32), (40, 96), (100, 224)] {
        for mode in [Mode::FirstInvalid, Mode::AnyInvalid] {
            let verifier = POOL.verifier(mode, Threads::Dedicated(2));
            let verified = Cell::new(0);
            let votes = (0..4000).map(|n| {
                let entry = &POOL.entries[if n == place { 9 } else { n % 4 }];
                verified.set(verified.get() + 1);
                entry.vote()
            });
            let report = verifier.verify_batch(votes);
            let rejected = Some((place, RejectReason::ChallengeMismatch));
            assert_eq!(report.first_rejected(), rejected);
            assert_eq!(report.verdicts().len(), 4000);
            assert!(report.skipped() >= 4000 - windows, "{place}");
        }
    }
    let empty = POOL
        .verifier(Mode::Full, Threads::Inline)
        .verify_batch([])
        .require_all();
    assert_eq!(empty, Err(RejectReason::NotVerified));
}

/// A panic of the caller's iterator reaches the caller; the verifier works on.
#[test]
fn a_panic_of_the_caller_is_the_callers() {
    let verifier = POOL.verifier(Mode::Full, Threads::Dedicated(2));
    for _ in 0..3 {
        let panicked = std::panic::catch_unwind(core::panic::AssertUnwindSafe(|| {
            let votes = (0..100).map(|n| {
                assert!(n != 60, "the caller's fault");
                POOL.entries[n % 4].vote()
            });
            verifier.verify_batch(votes).all_valid()
        }));
        assert!(panicked.is_err());
        let votes = (0..100).map(|n| POOL.entries[n % 4].vote());
        assert!(verifier.verify_batch(votes).all_valid());
    }
}

#[test]
fn names_are_stable() {
    let names = [
        (RejectReason::UnknownMember, "unknown_member"),
        (RejectReason::PublicKeyLength, "public_key_length"),
        (RejectReason::SignatureLength, "signature_length"),
        (RejectReason::DigestLength, "digest_length"),
        (RejectReason::WeakPreHash, "weak_prehash"),
        (RejectReason::HintEncoding, "hint_encoding"),
        (RejectReason::ResponseNorm, "response_norm"),
        (RejectReason::ChallengeMismatch, "challenge_mismatch"),
    ];
    for (reason, name) in names {
        assert_eq!(reason.name(), name);
        assert_eq!(reason.to_string(), name);
    }
    fn shared<T: Send + Sync + 'static>() {}
    shared::<BatchVerifier<MlDsa87>>();
    shared::<CommitteeVerifier<MlDsa87>>();
    shared::<Committee<MlDsa87>>();
    assert_eq!(CONTEXT, context().as_bytes());
}
