//! A batch says of every item what verifying it alone says: for every mode,
//! thread count and size.

use core::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

use batch_verify::{
    BatchError, BatchSize, BatchVerifier, BuildError, Item, KeySet, KeySetError, Message, Mode,
    Outcome, Reason, Report, Signer, SignerId, Threads,
};
use mldsa_core::{
    Context, MlDsa44, MlDsa65, MlDsa87, MuBuilder, ParameterSet, PreHash, PreHashed, Randomness,
    SigningKey,
};
use proptest::prelude::*;

const CONTEXT: &[u8] = b"test/v1";

/// Messages, keys and signatures to make items of, with the expected outcomes.
struct Pool<P: ParameterSet> {
    keys: KeySet<P>,
    entries: Vec<Entry>,
}

struct Entry {
    signer: u32,
    message: Vec<u8>,
    signature: Vec<u8>,
    outcome: Outcome,
}

impl Entry {
    fn item(&self) -> Item<'_> {
        Item::new(self.signer, self.message.as_slice(), &self.signature)
    }
}

fn context() -> Context<'static> {
    Context::new(CONTEXT).unwrap()
}

fn key<P: ParameterSet>(index: u8) -> SigningKey<P> {
    SigningKey::from_seed(&[index; 32])
}

fn key_set<P: ParameterSet>(count: u8) -> KeySet<P> {
    let keys: Vec<SigningKey<P>> = (0..count).map(key).collect();
    KeySet::from_public_keys(
        keys.iter()
            .map(|key| key.verifying_key().as_bytes().as_ref()),
    )
    .unwrap()
}

impl<P: ParameterSet> Pool<P> {
    /// Four honest signatures, then one for every reject class.
    fn new() -> Self {
        let honest = |signer: u32| {
            let message = format!("message of {signer}").into_bytes();
            let signature = key::<P>(signer as u8)
                .sign(&message, context(), Randomness::Deterministic)
                .unwrap()
                .as_ref()
                .to_vec();
            Entry {
                signer,
                message,
                signature,
                outcome: Outcome::Valid,
            }
        };
        let mut entries: Vec<Entry> = (0..4).map(honest).collect();
        let mut bad = |reason: Reason, tamper: &dyn Fn(&mut Entry)| {
            let mut entry = honest(entries.len() as u32 % 4);
            tamper(&mut entry);
            entry.outcome = Outcome::Invalid(reason);
            entries.push(entry);
        };
        bad(Reason::UnknownSigner, &|entry| entry.signer = 4);
        bad(Reason::SignatureLength, &|entry| {
            entry.signature.pop();
        });
        bad(Reason::SignatureLength, &|entry| entry.signature.clear());
        bad(Reason::HintEncoding, &|entry| {
            *entry.signature.last_mut().unwrap() = 0xff
        });
        bad(Reason::ResponseNorm, &|entry| {
            let start = P::C_TILDE_LEN;
            entry.signature[start..start + 8].fill(0);
        });
        bad(Reason::ChallengeMismatch, &|entry| entry.signature[0] ^= 1);
        bad(Reason::ChallengeMismatch, &|entry| entry.message.push(b'!'));
        bad(Reason::ChallengeMismatch, &|entry| {
            entry.signer = (entry.signer + 1) % 4
        });
        Self {
            keys: key_set(4),
            entries,
        }
    }

    fn verifier(&self, mode: Mode, threads: Threads) -> BatchVerifier<P> {
        BatchVerifier::builder()
            .keys(self.keys.clone())
            .context(CONTEXT)
            .mode(mode)
            .threads(threads)
            .build()
            .unwrap()
    }

    /// What core says of one entry alone.
    fn alone(&self, entry: &Entry) -> bool {
        self.keys
            .key(SignerId::new(entry.signer))
            .is_some_and(|key| {
                key.verify(&entry.message, context(), &entry.signature)
                    .is_ok()
            })
    }
}

static POOL: LazyLock<Pool<MlDsa44>> = LazyLock::new(Pool::new);

/// One verifier for each mode and number of threads.
static VERIFIERS: LazyLock<Vec<(Mode, BatchVerifier<MlDsa44>)>> = LazyLock::new(|| {
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

/// Checks a report against the outcomes that the items have alone.
fn assert_report(mode: Mode, report: &Report, alone: &[Outcome]) {
    let outcomes = report.outcomes();
    assert_eq!(outcomes.len(), alone.len());
    let lowest = alone.iter().position(|outcome| *outcome != Outcome::Valid);
    match mode {
        Mode::Full => assert_eq!(outcomes, alone),
        Mode::FirstInvalid => {
            let end = lowest.map_or(alone.len(), |lowest| lowest + 1);
            assert_eq!(outcomes[..end], alone[..end]);
            assert!(
                outcomes[end..]
                    .iter()
                    .all(|outcome| *outcome == Outcome::Skipped)
            );
        }
        Mode::AnyInvalid => {
            for (outcome, alone) in outcomes.iter().zip(alone) {
                assert!(outcome == alone || *outcome == Outcome::Skipped);
            }
            assert_eq!(report.first_invalid().is_some(), lowest.is_some());
            assert!(lowest.is_some() || report.skipped() == 0);
        }
    }
    assert_eq!(report.all_valid(), lowest.is_none() && !alone.is_empty());
    assert_eq!(
        report.valid() + report.invalid().count() + report.skipped(),
        alone.len()
    );
}

fn check(picks: &[usize]) {
    let entries: Vec<&Entry> = picks.iter().map(|&pick| &POOL.entries[pick]).collect();
    let items: Vec<Item<'_>> = entries.iter().map(|entry| entry.item()).collect();
    let alone: Vec<Outcome> = entries.iter().map(|entry| entry.outcome).collect();
    for (mode, verifier) in VERIFIERS.iter() {
        let report = if picks.len().is_multiple_of(2) {
            verifier.verify(&items)
        } else {
            verifier
                .verify_by(&entries, |_, entry| entry.item())
                .unwrap()
        };
        assert_report(*mode, &report, &alone);
    }
}

#[test]
fn pool_is_what_it_says() {
    fn check<P: ParameterSet>() {
        let pool = Pool::<P>::new();
        for entry in &pool.entries {
            assert_eq!(pool.alone(entry), entry.outcome == Outcome::Valid);
        }
        let items: Vec<Item<'_>> = pool.entries.iter().map(Entry::item).collect();
        let outcomes: Vec<Outcome> = pool.entries.iter().map(|entry| entry.outcome).collect();
        let report = pool.verifier(Mode::Full, Threads::Shared).verify(&items);
        assert_eq!(report.outcomes(), outcomes, "{}", P::NAME);
        assert_eq!(report.valid(), 4);
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
    #![proptest_config(ProptestConfig {
        cases: 48,
        rng_seed: proptest::test_runner::RngSeed::Fixed(48),
        ..ProptestConfig::default()
    })]

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
fn verify_all_and_each_ignore_the_mode() {
    let entries = &POOL.entries;
    let items: Vec<Item<'_>> = [0, 1, 9, 2, 5]
        .into_iter()
        .map(|pick| entries[pick].item())
        .collect();
    for (_, verifier) in VERIFIERS.iter() {
        assert_eq!(
            verifier.verify_each(&items),
            [true, true, false, true, false]
        );
        assert_eq!(verifier.verify_all(&items[..2]), Ok(()));
        assert_eq!(verifier.verify_all(&[]), Err(BatchError::Empty));
        assert_eq!(
            verifier.verify_all(&items),
            Err(BatchError::Invalid {
                index: 2,
                reason: Reason::ChallengeMismatch
            })
        );
        assert!(verifier.verify_each(&[]).is_empty());
        assert!(!verifier.verify(&[]).all_valid());
    }
}

/// Every form of message and of signer, and an item's own context.
#[test]
fn forms() {
    fn check<P: ParameterSet>(strong: PreHash, weak: PreHash) {
        let key = key::<P>(1);
        let keys = key_set::<P>(3);
        let pk = key.verifying_key().as_bytes().as_ref();
        let other = Context::new(b"other").unwrap();
        let sign = |message: &[u8], context| {
            key.sign(message, context, Randomness::Deterministic)
                .unwrap()
                .as_ref()
                .to_vec()
        };
        let here = sign(b"one two", context());
        let there = sign(b"one two", other);
        let plain = sign(b"one two", Context::EMPTY);

        let mut mu = MuBuilder::from_tr(key.verifying_key().tr(), other);
        mu.update(b"one two");
        let mu = mu.finish();

        let digest = |hash: PreHash| vec![7; hash.digest_len()];
        let prehashed = |hash: PreHash, context| {
            let digest = digest(hash);
            let digest = PreHashed::new_allow_weak(hash, &digest).unwrap();
            let signature = key.sign_prehashed(&digest, context, Randomness::Deterministic);
            signature.unwrap().as_ref().to_vec()
        };
        let (strong_digest, weak_digest) = (digest(strong), digest(weak));
        let (strong_sig, weak_sig) = (prehashed(strong, context()), prehashed(weak, context()));
        let strong_message = Message::PreHashed {
            hash: strong,
            digest: &strong_digest,
        };
        let weak_message = Message::PreHashed {
            hash: weak,
            digest: &weak_digest,
        };
        let short = Message::PreHashed {
            hash: strong,
            digest: &strong_digest[1..],
        };

        use Outcome::{Invalid, Valid};
        use Reason::{
            ChallengeMismatch, DigestLength, PublicKeyLength, UnknownSigner, WeakPreHash,
        };
        let whole = Message::Bytes(b"one two");
        let parts = Message::Parts(&[b"one", b"", b" two"]);
        let cases: Vec<(Item<'_>, Outcome)> = vec![
            (Item::new(1, whole, &here), Valid),
            (Item::new(SignerId::new(1), whole, &here), Valid),
            (Item::new(pk, whole, &here), Valid),
            (Item::new(pk, parts, &here), Valid),
            (Item::new(1, parts, &here), Valid),
            (
                Item::new(1, Message::Parts(&[b"one", b"two"]), &here),
                Invalid(ChallengeMismatch),
            ),
            (Item::new(1, whole, &there), Invalid(ChallengeMismatch)),
            (Item::new(1, whole, &there).with_context(other), Valid),
            (Item::new(1, parts, &there).with_context(other), Valid),
            (
                Item::new(1, whole, &plain).with_context(Context::EMPTY),
                Valid,
            ),
            (Item::new(1, whole, &plain), Invalid(ChallengeMismatch)),
            // mu brings its own context.
            (Item::new(1, &mu, &there), Valid),
            (Item::new(pk, &mu, &there), Valid),
            (Item::new(1, &mu, &here), Invalid(ChallengeMismatch)),
            (Item::new(0, &mu, &there), Invalid(ChallengeMismatch)),
            (Item::new(1, strong_message, &strong_sig), Valid),
            (Item::new(pk, strong_message, &strong_sig), Valid),
            (
                Item::new(1, strong_message, &strong_sig).with_context(other),
                Invalid(ChallengeMismatch),
            ),
            (Item::new(1, short, &strong_sig), Invalid(DigestLength)),
            (Item::new(1, weak_message, &weak_sig), Invalid(WeakPreHash)),
            (Item::new(3, whole, &here), Invalid(UnknownSigner)),
            (Item::new(u32::MAX, whole, &here), Invalid(UnknownSigner)),
            (Item::new(&pk[1..], whole, &here), Invalid(PublicKeyLength)),
            (
                Item::new(b"".as_slice(), whole, b""),
                Invalid(PublicKeyLength),
            ),
        ];
        let items: Vec<Item<'_>> = cases.iter().map(|(item, _)| *item).collect();
        let outcomes: Vec<Outcome> = cases.iter().map(|(_, outcome)| *outcome).collect();
        let build = |allow| {
            BatchVerifier::<P>::builder()
                .keys(keys.clone())
                .context(CONTEXT)
                .allow_weak_prehash(allow)
                .build()
                .unwrap()
        };
        assert_eq!(
            build(false).verify(&items).outcomes(),
            outcomes,
            "{}",
            P::NAME
        );
        assert!(
            build(true)
                .verify(&[Item::new(1, weak_message, &weak_sig)])
                .all_valid()
        );

        // Without a key set nobody is known; keys in items still work.
        let bare = BatchVerifier::<P>::builder().build().unwrap();
        let report = bare.verify(&[Item::new(1, whole, &plain), Item::new(pk, whole, &plain)]);
        assert_eq!(report.outcomes(), [Invalid(UnknownSigner), Valid]);
    }
    check::<MlDsa44>(PreHash::Shake128, PreHash::Sha2_224);
    check::<MlDsa65>(PreHash::Sha3_384, PreHash::Sha2_256);
    check::<MlDsa87>(PreHash::Shake256, PreHash::Sha2_384);
}

#[test]
fn key_sets() {
    let keys: Vec<Vec<u8>> = (0..9)
        .map(|i| key::<MlDsa44>(i).verifying_key().as_bytes().to_vec())
        .collect();
    let set = KeySet::<MlDsa44>::from_public_keys(keys.iter().map(Vec::as_slice)).unwrap();
    assert_eq!((set.len(), set.is_empty()), (9, false));
    for (index, key) in keys.iter().enumerate() {
        let id = SignerId::new(index as u32);
        assert_eq!(set.signer_of(key), Some(id));
        assert_eq!(set.key(id).unwrap().as_bytes().as_slice(), key);
    }
    assert_eq!(set.signer_of(&keys[0][1..]), None);
    assert_eq!(set.signer_of(b""), None);
    assert!(set.key(SignerId::new(9)).is_none());

    let build =
        |keys: &[&[u8]]| KeySet::<MlDsa44>::from_public_keys(keys.iter().copied()).map(|_| ());
    assert_eq!(build(&[]), Ok(()));
    assert_eq!(
        build(&[&keys[0], &keys[1][1..]]),
        Err(KeySetError::Length { index: 1 })
    );
    assert_eq!(
        build(&[&keys[3], &keys[0], &keys[2], &keys[0]]),
        Err(KeySetError::Duplicate {
            first: 1,
            second: 3
        })
    );
}

#[test]
fn builder_refuses() {
    let build = |context: &[u8], threads| {
        BatchVerifier::<MlDsa44>::builder()
            .context(context)
            .threads(threads)
            .build()
            .map(|_| ())
    };
    assert_eq!(build(&[0; 255], Threads::Inline), Ok(()));
    assert_eq!(
        build(&[0; 256], Threads::Inline),
        Err(BuildError::ContextTooLong)
    );
    assert_eq!(
        build(b"", Threads::Dedicated(0)),
        Err(BuildError::ThreadPool)
    );
    let zero = BatchVerifier::<MlDsa44>::builder().batch_size(BatchSize::Fixed(0));
    assert_eq!(zero.build().map(|_| ()), Err(BuildError::BatchSize));
}

/// A pool of the caller serves, also when the call comes from inside it.
#[test]
fn callers_pool() {
    let pool = Arc::new(
        rayon::ThreadPoolBuilder::new()
            .num_threads(3)
            .build()
            .unwrap(),
    );
    let items: Vec<Item<'_>> = POOL.entries.iter().map(Entry::item).collect();
    let alone: Vec<Outcome> = POOL.entries.iter().map(|entry| entry.outcome).collect();
    for mode in [Mode::Full, Mode::FirstInvalid, Mode::AnyInvalid] {
        for threads in [Threads::Pool(pool.clone()), Threads::Shared] {
            let verifier = POOL.verifier(mode, threads);
            assert_report(mode, &verifier.verify(&items), &alone);
            assert_report(mode, &pool.install(|| verifier.verify(&items)), &alone);
        }
    }
}

/// A panic in the caller's projection is an error that names the element; the
/// others keep their verdicts and the pool works on.
#[test]
fn panic_is_no_verdict() {
    let bad_signature = 9;
    let picks: Vec<usize> = (0..100)
        .map(|n| if n == 90 { bad_signature } else { n % 4 })
        .collect();
    for threads in [Threads::Inline, Threads::Dedicated(2)] {
        let verifier = POOL.verifier(Mode::Full, threads);
        for _ in 0..3 {
            let panicked = verifier
                .verify_by(&picks, |index, pick| {
                    assert!(index != 17 && index != 60, "the caller's fault");
                    POOL.entries[*pick].item()
                })
                .unwrap_err();
            assert_eq!(panicked.index, 17);
            assert!(!panicked.report.all_valid());
            for (index, outcome) in panicked.report.outcomes().iter().enumerate() {
                let expected = match index {
                    17 | 60 => Outcome::Skipped,
                    _ => POOL.entries[picks[index]].outcome,
                };
                assert_eq!(*outcome, expected, "{index}");
            }
        }
        // Only when it comes to the verification, not while the batch is planned.
        let calls = AtomicUsize::new(0);
        let late = verifier.verify_by(&picks, |index, pick| {
            assert!(index != 3 || calls.fetch_add(1, Ordering::Relaxed) == 0);
            POOL.entries[*pick].item()
        });
        let late = late.unwrap_err();
        assert_eq!((late.index, late.report.valid()), (3, 98));
        assert!(
            verifier
                .verify_by(&picks[..8], |_, pick| POOL.entries[*pick].item())
                .unwrap()
                .all_valid()
        );
    }
}

/// A metrics hook sees every batch; its panic costs nobody anything.
#[test]
fn metrics() {
    let seen = Arc::new(std::sync::Mutex::new(Vec::new()));
    let told = Arc::clone(&seen);
    let verifier = BatchVerifier::<MlDsa44>::builder()
        .keys(POOL.keys.clone())
        .context(CONTEXT)
        .threads(Threads::Dedicated(2))
        .metrics(move |summary| {
            told.lock().unwrap().push(*summary);
            assert!(summary.items != 12, "the operator's fault");
        })
        .build()
        .unwrap();
    let items: Vec<Item<'_>> = POOL.entries.iter().map(Entry::item).collect();
    for _ in 0..2 {
        let outcomes: Vec<Outcome> = POOL.entries.iter().map(|entry| entry.outcome).collect();
        assert_eq!(verifier.verify(&items).outcomes(), outcomes);
    }
    assert!(verifier.verify(&items[..4]).all_valid());
    let seen = seen
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    assert_eq!(seen.len(), 3);
    let first = &seen[0];
    assert_eq!((first.items, first.valid, first.invalid()), (12, 4, 8));
    assert_eq!(first.threads, 2);
    for (reason, count) in [
        (Reason::UnknownSigner, 1),
        (Reason::SignatureLength, 2),
        (Reason::HintEncoding, 1),
        (Reason::ResponseNorm, 1),
        (Reason::ChallengeMismatch, 3),
        (Reason::Duplicate, 0),
    ] {
        assert_eq!(first.refused(reason), count, "{reason}");
    }
}

#[test]
fn early_exit_spares_work() {
    let looked_at = AtomicUsize::new(0);
    let picks: Vec<usize> = (0..4000).map(|i| if i == 3 { 9 } else { i % 4 }).collect();
    for mode in [Mode::FirstInvalid, Mode::AnyInvalid] {
        looked_at.store(0, Ordering::Relaxed);
        let report = POOL
            .verifier(mode, Threads::Dedicated(2))
            .verify_by(&picks, |_, pick| {
                looked_at.fetch_add(1, Ordering::Relaxed);
                POOL.entries[*pick].item()
            })
            .unwrap();
        assert_eq!(report.first_invalid(), Some((3, Reason::ChallengeMismatch)));
        // One window, planned, searched for repeats and verified.
        assert!(looked_at.load(Ordering::Relaxed) <= 6 * 32);
    }
}

#[test]
fn names_are_stable() {
    let names = [
        (Reason::UnknownSigner, "unknown_signer"),
        (Reason::PublicKeyLength, "public_key_length"),
        (Reason::SignatureLength, "signature_length"),
        (Reason::DigestLength, "digest_length"),
        (Reason::WeakPreHash, "weak_prehash"),
        (Reason::Duplicate, "duplicate"),
        (Reason::HintEncoding, "hint_encoding"),
        (Reason::ResponseNorm, "response_norm"),
        (Reason::ChallengeMismatch, "challenge_mismatch"),
    ];
    for (reason, name) in names {
        assert_eq!(reason.name(), name);
        assert_eq!(reason.to_string(), name);
    }
    fn shared<T: Send + Sync + 'static>() {}
    shared::<BatchVerifier<MlDsa87>>();
    shared::<KeySet<MlDsa87>>();
    shared::<Signer<'static>>();
    shared::<Report>();
}
