//! Hostile mixed load: every reject class, every form of message and signer, duplicates,
//! messages of many lengths. The verdicts are those of single verification for every number of
//! workers, batch size, key storage and backend, in batches of votes and of items with keys.

mod entries;

use std::sync::LazyLock;

use batch_verify::{
    BatchVerifier, Committee, CommitteeBuilder, CommitteeVerifier, KeyStorage, MemberId, Mode,
    RejectReason, Report, ThreadPool, Threads, VerifierBuilder, Vote,
};
use mldsa_core::{Backend, MlDsa44, MlDsa65, MlDsa87, ParameterSet, SigningKey, VerifyingKey};

use self::entries::{Entry, Form, Shown, alone, entries};
use crate::fixture::{Verdict, assert_report};

const CONTEXT: &[u8] = b"load/v1";
const MEMBERS: u8 = 5;

struct Load<P: ParameterSet> {
    entries: Vec<Entry>,
    /// Verdicts in the order of the entries.
    verdicts: Vec<Verdict>,
    /// An id that names no member.
    stranger: MemberId,
    members: Vec<VerifyingKey<P>>,
}

impl<P: ParameterSet> Load<P> {
    fn new() -> Self {
        let entries = entries::<P>();
        let verdicts: Vec<Verdict> = entries.iter().map(alone::<P>).collect();
        assert!(verdicts[..40].iter().all(|verdict| verdict.is_ok()));
        for reason in [
            RejectReason::PublicKeyLength,
            RejectReason::SignatureLength,
            RejectReason::DigestLength,
            RejectReason::HintEncoding,
            RejectReason::ResponseNorm,
            RejectReason::ChallengeMismatch,
        ] {
            let seen = verdicts.contains(&Err(reason));
            assert!(seen, "{reason} {}", P::NAME);
        }
        let key = |seed| {
            SigningKey::<P>::from_seed(&[seed; 32])
                .verifying_key()
                .clone()
        };
        let members: Vec<_> = (0..MEMBERS).map(key).collect();
        let other = Committee::<P>::builder(b"other").threads(Threads::Inline);
        let other = other.build(members.iter().map(|key| (key, 1))).unwrap();
        Self {
            entries,
            verdicts,
            stranger: other.member(0).unwrap(),
            members,
        }
    }

    fn committee(&self, builder: CommitteeBuilder<Committee<P>>) -> Committee<P> {
        builder
            .build(self.members.iter().map(|key| (key, 1)))
            .unwrap()
    }

    /// `len` entries at random, the honest ones more often.
    fn picks(&self, len: usize, seed: u64) -> Vec<usize> {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        (0..len)
            .map(|_| {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                let bound = if state & 0x300 == 0 {
                    self.entries.len()
                } else {
                    40
                };
                (state >> 16) as usize % bound
            })
            .collect()
    }

    /// Checks the items of all picks, and the votes among them.
    fn check(&self, verifiers: &Both<P>, mode: Mode, picks: &[usize]) {
        let shown: Vec<Shown<'_>> = picks
            .iter()
            .map(|&pick| Shown::new(&self.entries[pick]))
            .collect();
        let report = verifiers.items.verify_batch(shown.iter().map(Shown::item));
        self.check_report(mode, picks, &self.verdicts, &report);

        let committee = verifiers.votes.committee();
        let is_vote = |pick: &usize| {
            let entry = &self.entries[*pick];
            entry.signer.is_ok() && !matches!(entry.form, Form::Mu)
        };
        let voted: Vec<usize> = picks.iter().copied().filter(is_vote).collect();
        let shown: Vec<Shown<'_>> = voted
            .iter()
            .map(|&pick| Shown::new(&self.entries[pick]))
            .collect();
        let votes = shown.iter().map(|shown| {
            let index = shown.entry.signer.unwrap();
            let member = committee.member(index).unwrap_or(self.stranger);
            Vote::new(member, shown.message().unwrap(), &shown.entry.signature)
        });
        let report = verifiers.votes.verify_batch(votes.clone());
        let verdicts: Vec<Verdict> = self
            .entries
            .iter()
            .zip(&self.verdicts)
            .map(|(entry, verdict)| match entry.signer {
                Ok(index) if index >= MEMBERS.into() => Err(RejectReason::UnknownMember),
                _ => *verdict,
            })
            .collect();
        self.check_report(mode, &voted, &verdicts, &report);
        if picks.len() < 30 {
            for (vote, pick) in votes.zip(voted) {
                assert_eq!(committee.verify(&vote), verdicts[pick]);
            }
        }
    }
}

impl<P: ParameterSet> Load<P> {
    fn check_report(&self, mode: Mode, picks: &[usize], verdicts: &[Verdict], report: &Report) {
        let alone: Vec<Verdict> = picks.iter().map(|&pick| verdicts[pick]).collect();
        assert_report(mode, report, &alone);
        for duplicate in report.duplicates() {
            let &(index, first) = duplicate;
            assert!(first < index);
            let [first, index] = [first, index].map(|n| &self.entries[picks[n]]);
            assert!(first.is_one_item_with(index));
        }
    }
}

/// Verifiers of votes and of items with the same options.
struct Both<P: ParameterSet> {
    votes: CommitteeVerifier<P>,
    items: BatchVerifier<P>,
}

impl<P: ParameterSet> Both<P> {
    fn new(
        committee: &Committee<P>,
        votes: VerifierBuilder<CommitteeVerifier<P>>,
        items: VerifierBuilder<BatchVerifier<P>>,
    ) -> Self {
        Self {
            votes: votes.build(committee.clone()).unwrap(),
            items: items.build().unwrap(),
        }
    }
}

/// Both verifiers, with the options that `$builder` sets.
macro_rules! both {
    ($committee:expr, |$builder:ident| $options:expr) => {
        Both::new(
            $committee,
            {
                let $builder = CommitteeVerifier::builder();
                $options
            },
            {
                let $builder = BatchVerifier::builder();
                $options
            },
        )
    };
}

static LOAD: LazyLock<Load<MlDsa44>> = LazyLock::new(Load::new);

/// Every size from 1 to 257, as the batch and as a chunk, for 1, 2 and 8 workers; the modes with an
/// early exit at the sizes around multiples of a lane group.
#[test]
fn every_size_and_number_of_workers() {
    let committee = LOAD.committee(Committee::builder(CONTEXT));
    for threads in [
        Threads::Inline,
        Threads::Dedicated(1),
        Threads::Dedicated(2),
        Threads::Dedicated(8),
    ] {
        let build = |mode| {
            both!(&committee, |builder| builder
                .mode(mode)
                .threads(threads.clone())
                .inline_below(0))
        };
        let modes = [Mode::Full, Mode::FirstInvalid, Mode::AnyInvalid].map(|m| (m, build(m)));
        for size in 1..=257 {
            for (mode, verifiers) in &modes {
                if *mode != Mode::Full && !matches!(size % 8, 0 | 1 | 7) {
                    continue;
                }
                LOAD.check(verifiers, *mode, &LOAD.picks(size, size as u64));
            }
        }
    }
    let pool = ThreadPool::new(2).unwrap();
    for size in 1..=257 {
        let verifiers = both!(&committee, |builder| builder
            .threads(Threads::Pool(pool.clone()))
            .batch_size(size));
        LOAD.check(&verifiers, Mode::Full, &LOAD.picks(257, size as u64));
    }
}

/// Every size up to several windows, with one failure at each kind of place.
#[test]
fn every_size_with_one_failure() {
    let committee = LOAD.committee(Committee::builder(CONTEXT));
    for threads in [Threads::Inline, Threads::Shared, Threads::Dedicated(2)] {
        for mode in [Mode::Full, Mode::FirstInvalid, Mode::AnyInvalid] {
            let verifiers = both!(&committee, |builder| builder
                .mode(mode)
                .threads(threads.clone()));
            for size in (1..=40).chain([63, 64, 65, 100]) {
                let mut picks: Vec<usize> = (0..size).map(|n| n % 40).collect();
                LOAD.check(&verifiers, mode, &picks);
                for place in [0, size / 2, size - 1] {
                    let good = picks[place];
                    picks[place] = 40 + 7 * size % (LOAD.entries.len() - 40);
                    LOAD.check(&verifiers, mode, &picks);
                    picks[place] = good;
                }
            }
        }
    }
}

/// All sets, storages and backends; small caches, so that keys come and go.
#[test]
fn every_storage_and_backend() {
    fn check<P: ParameterSet>(load: &Load<P>) {
        let key_bytes = 1024 * P::K * (P::L + 1) + 8192;
        let lru = |max_bytes| KeyStorage::Lru { max_bytes };
        for backend in Backend::available() {
            for storage in [
                KeyStorage::Wide,
                KeyStorage::Packed,
                KeyStorage::Compact,
                lru(0),
                lru(2 * key_bytes),
                lru(64 << 20),
            ] {
                let builder = Committee::builder(CONTEXT)
                    .key_storage(storage)
                    .backend(backend);
                let committee = load.committee(builder);
                let verifiers = Both::new(
                    &committee,
                    CommitteeVerifier::builder().threads(Threads::Dedicated(2)),
                    BatchVerifier::builder()
                        .threads(Threads::Dedicated(2))
                        .key_cache_bytes(2 * key_bytes)
                        .backend(backend),
                );
                for (round, size) in [3, 20, 70, 70].into_iter().enumerate() {
                    load.check(&verifiers, Mode::Full, &load.picks(size, round as u64));
                }
            }
        }
    }
    check::<MlDsa44>(&LOAD);
    check::<MlDsa65>(&Load::new());
    check::<MlDsa87>(&Load::new());
}

/// Two committees of one parameter set share workers, at the same time.
#[test]
fn several_committees_at_once() {
    let pool = ThreadPool::new(2).unwrap();
    let verifiers = [KeyStorage::Wide, KeyStorage::Packed].map(|storage| {
        let committee = LOAD.committee(Committee::builder(CONTEXT).key_storage(storage));
        both!(&committee, |builder| builder
            .threads(Threads::Pool(pool.clone())))
    });
    std::thread::scope(|scope| {
        for n in 0..4 {
            let verifiers = &verifiers[n % 2];
            scope.spawn(move || {
                for round in 0..10 {
                    LOAD.check(
                        verifiers,
                        Mode::Full,
                        &LOAD.picks(97, 100 * n as u64 + round),
                    );
                }
            });
        }
    });
}
