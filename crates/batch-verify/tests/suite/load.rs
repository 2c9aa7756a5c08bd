//! Hostile mixed load: every reject class, every form of message and signer,
//! repeats, messages of many lengths, two key sets. The verdicts are those of
//! one-by-one verification for every number of workers, batch size, key policy
//! and backend.

use std::sync::LazyLock;

use batch_verify::{
    BatchSize, BatchVerifier, Duplicates, Item, KeyPolicy, KeySet, KeySetBuilder, KeyStorage,
    Message, Mode, Outcome, Reason, Signer, Threads,
};
use mldsa_core::{
    Backend, Context, MlDsa44, MlDsa65, MlDsa87, Mu, MuBuilder, ParameterSet, PreHash, PreHashed,
    Randomness, SigningKey, VerifyingKey,
};

const CONTEXT: &[u8] = b"load/v1";
const MEMBERS: u8 = 5;

#[derive(Clone)]
enum Form {
    Bytes,
    Parts,
    Mu,
    Digest,
}

/// What an item is made of.
#[derive(Clone)]
struct Entry {
    /// `Ok` is a member of set A, `Err` the seed of a key that the item carries.
    signer: Result<u32, u8>,
    key: Vec<u8>,
    form: Form,
    message: Vec<u8>,
    parts: Vec<Vec<u8>>,
    mu: Mu,
    signature: Vec<u8>,
}

/// An entry with what borrows from it.
struct Shown<'a> {
    entry: &'a Entry,
    parts: Vec<&'a [u8]>,
}

impl<'a> Shown<'a> {
    fn item(&'a self) -> Item<'a> {
        let entry = self.entry;
        let signer = match entry.signer {
            Ok(id) => Signer::from(id),
            Err(_) => Signer::Key(&entry.key),
        };
        let message = match entry.form {
            Form::Bytes => Message::Bytes(&entry.message),
            Form::Parts => Message::Parts(&self.parts),
            Form::Mu => Message::Mu(&entry.mu),
            Form::Digest => Message::PreHashed {
                hash: PreHash::Sha2_512,
                digest: &entry.message,
            },
        };
        Item::new(signer, message, &entry.signature)
    }
}

fn context() -> Context<'static> {
    Context::new(CONTEXT).unwrap()
}

fn mu<P: ParameterSet>(key: &VerifyingKey<P>, message: &[u8]) -> Mu {
    let mut mu = MuBuilder::from_tr(key.tr(), context());
    mu.update(message);
    mu.finish()
}

/// The verdict on one entry, by the core alone.
fn alone<P: ParameterSet>(entry: &Entry) -> Outcome {
    if matches!(entry.signer, Ok(id) if id >= u32::from(MEMBERS)) {
        return Outcome::Invalid(Reason::UnknownSigner);
    }
    let Ok(key) = VerifyingKey::<P>::from_bytes(&entry.key) else {
        return Outcome::Invalid(Reason::PublicKeyLength);
    };
    let result = match entry.form {
        Form::Bytes | Form::Parts => key.verify(&entry.message, context(), &entry.signature),
        Form::Mu => key.verify_mu(&entry.mu, &entry.signature),
        Form::Digest => match PreHashed::new(PreHash::Sha2_512, &entry.message) {
            Ok(digest) => key.verify_prehashed(&digest, context(), &entry.signature),
            Err(error) if entry.signature.len() == P::SIG_LEN => {
                return Outcome::Invalid(error.into());
            }
            Err(_) => return Outcome::Invalid(Reason::SignatureLength),
        },
    };
    match result {
        Ok(()) => Outcome::Valid,
        Err(error) => Outcome::Invalid(error.into()),
    }
}

fn entries<P: ParameterSet>() -> Vec<Entry> {
    let honest = |n: usize| {
        // Members by id, members by key, strangers by key.
        let seed = (n % 9) as u8;
        let key = SigningKey::<P>::from_seed(&[seed; 32]);
        let len = [0, 1, 32, 64, 136, 137, 1000, 5000][n % 8];
        let mut message: Vec<u8> = (0..len).map(|at| (at * 31 + n) as u8).collect();
        let form = match n % 5 {
            0 | 1 => Form::Bytes,
            2 => Form::Parts,
            3 => Form::Mu,
            _ => Form::Digest,
        };
        if let Form::Digest = form {
            message.resize(64, 9);
        }
        let hedge = Randomness::Deterministic;
        let signature = match form {
            Form::Digest => {
                let digest = PreHashed::new(PreHash::Sha2_512, &message).unwrap();
                key.sign_prehashed(&digest, context(), hedge)
            }
            _ => key.sign(&message, context(), hedge),
        };
        let cut = message.len() / 3;
        Entry {
            signer: if seed < MEMBERS && n % 4 != 1 {
                Ok(seed.into())
            } else {
                Err(seed)
            },
            key: key.verifying_key().as_bytes().as_ref().to_vec(),
            form,
            parts: vec![message[..cut].to_vec(), Vec::new(), message[cut..].to_vec()],
            mu: mu(key.verifying_key(), &message),
            message,
            signature: signature.unwrap().as_ref().to_vec(),
        }
    };
    let mut entries: Vec<Entry> = (0..40).map(honest).collect();
    let z_at = P::C_TILDE_LEN;
    let hint_at = P::SIG_LEN - P::PARAMS.omega - P::PARAMS.k;
    let mut bad = |n: usize, tamper: &dyn Fn(&mut Entry)| {
        let mut entry = honest(n);
        tamper(&mut entry);
        entries.push(entry);
    };
    for n in 0..9 {
        bad(n, &|e| e.signature.truncate(P::SIG_LEN - 1));
        bad(n, &|e| e.signature.push(0));
        bad(n, &|e| e.signature.clear());
        // A counter above omega; unused hint bytes that are not zero.
        bad(n, &|e| *e.signature.last_mut().unwrap() = 0xff);
        bad(n, &|e| e.signature[P::SIG_LEN - P::PARAMS.k - 1] = 1);
        bad(n, &|e| e.signature[z_at..z_at + 8].fill(0));
        bad(n, &|e| e.signature[hint_at - 8..hint_at].fill(0));
        bad(n, &|e| e.signature[0] ^= 1);
        bad(n, &|e| e.signature[z_at + 40] ^= 4);
        bad(n, &|e| {
            e.message.push(b'!');
            e.parts.push(b"!".to_vec());
            e.mu = Mu::from_bytes([n as u8; 64]);
        });
        bad(n, &|e| match &mut e.signer {
            Ok(id) => *id += u32::from(MEMBERS),
            Err(_) => e.key.truncate(P::PK_LEN - 1),
        });
        bad(n, &|e| {
            if e.signer.is_err() {
                *e.key.last_mut().unwrap() ^= 1;
            } else {
                e.signature[1] ^= 1;
            }
        });
    }
    entries
}

struct Load {
    entries: Vec<Entry>,
    outcomes: Vec<Outcome>,
    members: Vec<Vec<u8>>,
}

impl Load {
    fn new<P: ParameterSet>() -> Self {
        let entries = entries::<P>();
        let outcomes: Vec<Outcome> = entries.iter().map(alone::<P>).collect();
        let seen = |outcome| outcomes.contains(&outcome);
        assert!(outcomes[..40].iter().all(|outcome| outcome.is_valid()));
        for reason in [
            Reason::UnknownSigner,
            Reason::PublicKeyLength,
            Reason::SignatureLength,
            Reason::DigestLength,
            Reason::HintEncoding,
            Reason::ResponseNorm,
            Reason::ChallengeMismatch,
        ] {
            assert!(seen(Outcome::Invalid(reason)), "{reason} {}", P::NAME);
        }
        let members = (0..MEMBERS)
            .map(|seed| {
                let key = SigningKey::<P>::from_seed(&[seed; 32]);
                key.verifying_key().as_bytes().as_ref().to_vec()
            })
            .collect();
        Self {
            entries,
            outcomes,
            members,
        }
    }

    fn keys<P: ParameterSet>(&self, policy: KeyPolicy, backend: Backend) -> KeySet<P> {
        self.stored(KeySet::builder().policy(policy).backend(backend))
    }

    fn stored<P: ParameterSet>(&self, builder: KeySetBuilder<P>) -> KeySet<P> {
        builder
            .build(self.members.iter().map(Vec::as_slice))
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

    fn check<P: ParameterSet>(&self, verifier: &BatchVerifier<P>, mode: Mode, picks: &[usize]) {
        let shown: Vec<Shown<'_>> = picks
            .iter()
            .map(|&pick| Shown {
                entry: &self.entries[pick],
                parts: self.entries[pick].parts.iter().map(Vec::as_slice).collect(),
            })
            .collect();
        let alone: Vec<Outcome> = picks.iter().map(|&pick| self.outcomes[pick]).collect();
        let report = verifier.verify_by(&shown, |_, shown| shown.item()).unwrap();
        let lowest = alone.iter().position(|outcome| !outcome.is_valid());
        let end = match (mode, lowest) {
            (Mode::FirstInvalid, Some(lowest)) => lowest + 1,
            _ => alone.len(),
        };
        let at = (P::NAME, mode, picks.len());
        if mode == Mode::AnyInvalid {
            let agrees = |(&outcome, &alone): (&Outcome, &Outcome)| {
                outcome == alone || outcome == Outcome::Skipped
            };
            assert!(report.outcomes().iter().zip(&alone).all(agrees), "{at:?}");
            assert_eq!(report.first_invalid().is_some(), lowest.is_some(), "{at:?}");
        } else {
            assert_eq!(report.outcomes()[..end], alone[..end], "{at:?}");
            let rest = &report.outcomes()[end..];
            assert!(
                rest.iter().all(|&outcome| outcome == Outcome::Skipped),
                "{at:?}"
            );
        }
        for repeat in report.repeats() {
            assert!(repeat.first < repeat.index, "{at:?}");
            assert_eq!(picks[repeat.first], picks[repeat.index], "{at:?}");
        }
    }
}

static LOAD: LazyLock<Load> = LazyLock::new(Load::new::<MlDsa44>);

/// Every size from 1 to 257, as the batch and as what a worker takes, for 1, 2
/// and 8 workers.
#[test]
fn every_size_and_number_of_workers() {
    let keys: KeySet<MlDsa44> = LOAD.keys(KeyPolicy::Expanded, Backend::detect());
    for threads in [
        Threads::Inline,
        Threads::Dedicated(1),
        Threads::Dedicated(2),
        Threads::Dedicated(8),
    ] {
        let build = |mode| {
            BatchVerifier::builder()
                .keys(keys.clone())
                .context(CONTEXT)
                .mode(mode)
                .threads(threads.clone())
                .inline_below(0)
                .build()
                .unwrap()
        };
        let modes = [Mode::Full, Mode::FirstInvalid, Mode::AnyInvalid].map(|m| (m, build(m)));
        for size in 1..=257 {
            for (mode, verifier) in &modes {
                LOAD.check(verifier, *mode, &LOAD.picks(size, size as u64));
            }
        }
    }
    let pool = std::sync::Arc::new(
        rayon::ThreadPoolBuilder::new()
            .num_threads(2)
            .build()
            .unwrap(),
    );
    for size in 1..=257 {
        let verifier = BatchVerifier::builder()
            .keys(keys.clone())
            .context(CONTEXT)
            .threads(Threads::Pool(pool.clone()))
            .batch_size(BatchSize::Fixed(size))
            .build()
            .unwrap();
        LOAD.check(&verifier, Mode::Full, &LOAD.picks(257, size as u64));
    }
}

/// All sets, key policies and backends; small caches, so that keys come and go.
#[test]
fn every_policy_and_backend() {
    fn check<P: ParameterSet>(load: &Load) {
        let key_bytes = 1024 * P::K * (P::L + 1) + 8192;
        for backend in Backend::available() {
            let set = || KeySet::<P>::builder().backend(backend);
            let lru = |max_bytes| set().policy(KeyPolicy::Lru { max_bytes });
            for builder in [
                set().storage(KeyStorage::Wide),
                set().storage(KeyStorage::Packed),
                set().policy(KeyPolicy::Compact),
                lru(0),
                lru(2 * key_bytes),
                lru(64 << 20),
            ] {
                let keys = load.stored(builder);
                for duplicates in [Duplicates::Once, Duplicates::Verify] {
                    let verifier = BatchVerifier::<P>::builder()
                        .keys(keys.clone())
                        .context(CONTEXT)
                        .threads(Threads::Dedicated(2))
                        .key_cache_bytes(2 * key_bytes)
                        .duplicates(duplicates)
                        .backend(backend)
                        .build()
                        .unwrap();
                    for (round, size) in [3, 20, 70, 70].into_iter().enumerate() {
                        load.check(&verifier, Mode::Full, &load.picks(size, round as u64));
                    }
                }
            }
        }
    }
    check::<MlDsa44>(&LOAD);
    check::<MlDsa65>(&Load::new::<MlDsa65>());
    check::<MlDsa87>(&Load::new::<MlDsa87>());
}

/// Two key sets of one parameter set share workers, at the same time.
#[test]
fn several_key_sets_at_once() {
    let pool = std::sync::Arc::new(
        rayon::ThreadPoolBuilder::new()
            .num_threads(2)
            .build()
            .unwrap(),
    );
    let reversed =
        KeySet::<MlDsa44>::from_public_keys(LOAD.members.iter().rev().map(Vec::as_slice)).unwrap();
    let keys = LOAD.keys::<MlDsa44>(KeyPolicy::Expanded, Backend::detect());
    let build = |keys| {
        BatchVerifier::builder()
            .keys(keys)
            .context(CONTEXT)
            .threads(Threads::Pool(pool.clone()))
            .build()
            .unwrap()
    };
    let (first, second) = (build(keys), build(reversed));
    let flipped: Vec<Entry> = LOAD
        .entries
        .iter()
        .map(|entry| Entry {
            signer: entry.signer.map(|id| match u32::from(MEMBERS) - 1 {
                last if id <= last => last - id,
                _ => id,
            }),
            ..entry.clone()
        })
        .collect();
    let flipped = Load {
        entries: flipped,
        outcomes: LOAD.outcomes.clone(),
        members: LOAD.members.clone(),
    };
    std::thread::scope(|scope| {
        for n in 0..4u64 {
            let (first, second, flipped) = (&first, &second, &flipped);
            scope.spawn(move || {
                for round in 0..10 {
                    let seed = 100 * n + round;
                    if n % 2 == 0 {
                        LOAD.check(first, Mode::Full, &LOAD.picks(97, seed));
                    } else {
                        flipped.check(second, Mode::Full, &LOAD.picks(97, seed));
                    }
                }
            });
        }
    });
}

/// Repeats: marked, verified once, refused or ignored, by choice; and a flood of
/// items that only look like repeats.
#[test]
fn duplicates() {
    let build = |duplicates, mode| {
        BatchVerifier::<MlDsa44>::builder()
            .keys(LOAD.keys(KeyPolicy::Expanded, Backend::detect()))
            .context(CONTEXT)
            .duplicates(duplicates)
            .mode(mode)
            .threads(Threads::Dedicated(2))
            .build()
            .unwrap()
    };
    // Entry 0 is by member 0, 50 is broken; 5 is by another member.
    let broken = LOAD
        .outcomes
        .iter()
        .position(|&outcome| outcome == Outcome::Invalid(Reason::ChallengeMismatch))
        .unwrap();
    let picks = [0, 5, 0, broken, 5, 0, broken, 10];
    let entries: Vec<&Entry> = picks.iter().map(|&pick| &LOAD.entries[pick]).collect();
    let shown: Vec<Shown<'_>> = entries
        .iter()
        .map(|entry| Shown {
            entry,
            parts: entry.parts.iter().map(Vec::as_slice).collect(),
        })
        .collect();
    let run = |duplicates, mode| {
        build(duplicates, mode)
            .verify_by(&shown, |_, shown| shown.item())
            .unwrap()
    };
    let alone: Vec<Outcome> = picks.iter().map(|&pick| LOAD.outcomes[pick]).collect();

    let once = run(Duplicates::Once, Mode::Full);
    assert_eq!(once.outcomes(), alone);
    let repeats: Vec<_> = once.repeats().iter().map(|r| (r.index, r.first)).collect();
    assert_eq!(repeats, [(2, 0), (4, 1), (5, 0), (6, 3)]);
    assert_eq!(once.summary().repeats, 4);

    let verify = run(Duplicates::Verify, Mode::Full);
    assert_eq!(verify.outcomes(), alone);
    assert!(verify.repeats().is_empty());

    let refused = Outcome::Invalid(Reason::Duplicate);
    let reject = run(Duplicates::Reject, Mode::Full);
    for (index, outcome) in reject.outcomes().iter().enumerate() {
        let expected = if [2, 4, 5, 6].contains(&index) {
            refused
        } else {
            alone[index]
        };
        assert_eq!(*outcome, expected, "{index}");
    }
    assert_eq!(reject.summary().refused(Reason::Duplicate), 4);
    let first = run(Duplicates::Reject, Mode::FirstInvalid);
    assert_eq!(first.first_invalid(), Some((2, Reason::Duplicate)));
    assert_eq!(first.skipped(), 5);
    // Far apart, where windows do not see both.
    let far: Vec<usize> = (0..200)
        .map(|n| if n == 190 { 0 } else { n % 36 })
        .collect();
    let distinct: Vec<Entry> = far
        .iter()
        .enumerate()
        .map(|(n, &pick)| {
            let mut entry = LOAD.entries[pick].clone();
            if n != 0 && n != 190 {
                entry.signature[9] ^= n as u8 | 1;
                entry.signature[10] ^= 1;
            }
            entry
        })
        .filter(|entry| matches!(entry.form, Form::Bytes))
        .collect();
    let verifier = build(Duplicates::Reject, Mode::Full);
    let items: Vec<Shown<'_>> = distinct
        .iter()
        .map(|entry| Shown {
            entry,
            parts: Vec::new(),
        })
        .collect();
    let report = verifier.verify_by(&items, |_, shown| shown.item()).unwrap();
    assert_eq!(report.summary().refused(Reason::Duplicate), 1);

    // Same first bytes, same signer, all different behind: none is a repeat.
    let near: Vec<Entry> = (0..100u32)
        .map(|n| {
            let mut entry = LOAD.entries[0].clone();
            entry.signature[100..104].copy_from_slice(&n.to_le_bytes());
            entry
        })
        .collect();
    let near: Vec<Shown<'_>> = near
        .iter()
        .map(|entry| Shown {
            entry,
            parts: Vec::new(),
        })
        .collect();
    let once = build(Duplicates::Once, Mode::Full);
    let report = once.verify_by(&near, |_, shown| shown.item()).unwrap();
    assert!(report.repeats().is_empty());
    assert!(report.valid() <= 1);
}

/// Keys in no set are expanded after their second valid signature, within the bound.
#[test]
fn ad_hoc_keys() {
    let verifier = BatchVerifier::<MlDsa44>::builder()
        .context(CONTEXT)
        .threads(Threads::Inline)
        .build()
        .unwrap();
    let entry = &LOAD.entries[0];
    let item = Item::new(
        entry.key.as_slice(),
        entry.message.as_slice(),
        &entry.signature,
    );
    let first = verifier.verify(&[item]);
    assert!(first.all_valid());
    assert_eq!(
        (first.summary().cache_bytes, first.summary().cache_hits),
        (0, 0)
    );
    let second = verifier.verify(&[item]);
    assert!(second.all_valid());
    assert!(second.summary().cache_bytes > 20 << 10);
    let third = verifier.verify(&[item]);
    assert_eq!(third.summary().cache_hits, 1);
    assert!(third.all_valid());

    // A malformed signature touches no cache and expands nothing.
    let mut malformed = entry.signature.clone();
    *malformed.last_mut().unwrap() = 0xff;
    for seed in 100..110 {
        let key = SigningKey::<MlDsa44>::from_seed(&[seed; 32]);
        let key = key.verifying_key().as_bytes().as_slice();
        let item = Item::new(key, entry.message.as_slice(), &malformed);
        for _ in 0..3 {
            let report = verifier.verify(&[item, item]);
            assert_eq!(report.summary().refused(Reason::HintEncoding), 2);
            assert_eq!(report.summary().cache_bytes, third.summary().cache_bytes);
        }
    }
}

/// A little more than an expanded key of ML-DSA-44 takes in the cache, less than two.
const PLACE: usize = 1024 * MlDsa44::K * (MlDsa44::L + 1) + 8192;

/// Verifies every item, with room for so many expanded keys.
fn with_room_for(keys: usize, threads: Threads) -> BatchVerifier<MlDsa44> {
    BatchVerifier::builder()
        .context(CONTEXT)
        .threads(threads)
        .mode(Mode::Full)
        .key_cache_bytes(keys * PLACE)
        .duplicates(Duplicates::Verify)
        .build()
        .unwrap()
}

/// Public keys, and a signature of `spent` under each.
fn spenders(count: u8) -> Vec<(Vec<u8>, Vec<u8>)> {
    (0..count)
        .map(|seed| {
            let key = SigningKey::<MlDsa44>::from_seed(&[seed; 32]);
            let signature = key
                .sign(b"spent", context(), Randomness::Deterministic)
                .unwrap();
            let public = key.verifying_key().as_bytes();
            (public.to_vec(), signature.as_ref().to_vec())
        })
        .collect()
}

/// With the cache full a key takes another's place with its eighth valid signature, so
/// that those that sign seldom do not push each other out, or earlier if that other one
/// was idle for long.
#[test]
fn a_full_cache() {
    let verifier = with_room_for(2, Threads::Inline);
    let signed = spenders(5);
    // Whether the cache had the key.
    let verify = |signer: usize| {
        let (key, signature) = &signed[signer];
        let before = verifier.verify(&[]).summary().cache_hits;
        let report = verifier.verify(&[Item::new(&key[..], &b"spent"[..], signature)]);
        assert!(report.all_valid());
        report.summary().cache_hits - before
    };
    for signer in [0, 0, 1, 1] {
        assert_eq!(verify(signer), 0);
    }
    assert_eq!((verify(0), verify(1)), (1, 1));

    // Many that sign a few times each.
    for _ in 0..7 {
        for signer in [2, 3, 4] {
            assert_eq!(verify(signer), 0);
        }
        assert_eq!((verify(0), verify(1)), (1, 1));
    }

    // One more by one of them: the least recently used one leaves.
    assert_eq!(verify(2), 0);
    assert_eq!((verify(2), verify(1), verify(0)), (1, 1, 0));
    // It begins again.
    for _ in 0..6 {
        assert_eq!(verify(0), 0);
    }
    assert_eq!((verify(2), verify(1)), (1, 1));
    assert_eq!((verify(0), verify(0)), (0, 1));

    // One of them is idle for long: three are enough of a key that comes often, and
    // not of one that does not.
    for _ in 0..20 {
        assert_eq!(verify(0), 1);
    }
    for signer in [2, 2, 2] {
        assert_eq!(verify(signer), 0);
    }
    assert_eq!((verify(2), verify(1)), (1, 0));
    for _ in 0..20 {
        assert_eq!((verify(0), verify(2)), (1, 1));
    }
    for _ in 0..5 {
        assert_eq!((verify(1), verify(0)), (0, 1));
    }
    assert_eq!((verify(0), verify(2)), (1, 1));
}

/// Signatures that do not verify are no use of a held key: it leaves before one under
/// which signatures verify, and no other becomes idle meanwhile.
#[test]
fn forged_signatures_hold_no_place() {
    let verifier = with_room_for(2, Threads::Inline);
    let signed = spenders(3);
    // Whether the cache had the key.
    let verify = |signer: usize, message: &[u8]| {
        let (key, signature) = &signed[signer];
        let before = verifier.verify(&[]).summary().cache_hits;
        let report = verifier.verify(&[Item::new(&key[..], message, signature)]);
        assert_eq!(report.all_valid(), message == b"spent");
        report.summary().cache_hits - before
    };
    for signer in [0, 0, 1, 1] {
        assert_eq!(verify(signer, b"spent"), 0);
    }
    assert_eq!((verify(0, b"spent"), verify(1, b"spent")), (1, 1));
    for _ in 0..100 {
        assert_eq!(verify(0, b"stolen"), 1);
    }
    // After three it would have a place if 0 or 1 were idle.
    for _ in 0..8 {
        assert_eq!(verify(2, b"spent"), 0);
    }
    assert_eq!((verify(2, b"spent"), verify(1, b"spent")), (1, 1));
    assert_eq!(verify(0, b"stolen"), 0);

    // Members of a set, one by one.
    let keys = signed.iter().map(|(key, _)| key);
    let policy = KeyPolicy::Lru {
        max_bytes: 2 * PLACE,
    };
    let keys = KeySet::<MlDsa44>::builder().policy(policy).build(keys);
    let keys = keys.unwrap();
    let verifier = BatchVerifier::builder().keys(keys.clone()).build().unwrap();
    let hits = || verifier.verify(&[]).summary().cache_hits;
    let verify = |signer: u32, message: &[u8]| {
        let signature = &signed[signer as usize].1;
        let verdict = keys.verify_one(signer.into(), message, context(), signature);
        assert_eq!(verdict.is_ok(), message == b"spent");
    };
    for signer in [0, 0, 1, 1, 0, 1] {
        verify(signer, b"spent");
    }
    (0..100).for_each(|_| verify(0, b"stolen"));
    (0..8).for_each(|_| verify(2, b"spent"));
    assert_eq!(hits(), 102);
    verify(1, b"spent");
    verify(2, b"spent");
    assert_eq!(hits(), 104);
    verify(0, b"stolen");
    assert_eq!(hits(), 104);
}

/// Valid signatures are counted for eight times as many keys as fit: what others sign
/// in between makes the verifier forget.
#[test]
fn a_count_that_is_forgotten() {
    let verifier = with_room_for(1, Threads::Inline);
    let signed = spenders(10);
    // Look-ups that found a key.
    let verify = |signer: usize, times: usize| {
        let (key, signature) = &signed[signer];
        let before = verifier.verify(&[]).summary().cache_hits;
        for _ in 0..times {
            let report = verifier.verify(&[Item::new(&key[..], &b"spent"[..], signature)]);
            assert!(report.all_valid());
        }
        verifier.verify(&[]).summary().cache_hits - before
    };
    assert_eq!(verify(0, 3), 1);
    for (others, hits) in [(2..9, 1), (2..10, 0)] {
        assert_eq!(verify(1, 7), 0);
        others.for_each(|other| assert_eq!(verify(other, 1), 0));
        assert_eq!(verify(1, 2), hits);
        // Key 0 takes the place again, or has it still.
        verify(0, 8);
    }
}

/// Several workers, several items of a key in a batch, room for one key or two.
#[test]
fn a_small_cache_and_many_workers() {
    let signed = spenders(6);
    for room in [1, 2] {
        let verifier = with_room_for(room, Threads::Dedicated(4));
        for round in 0..8 {
            let items: Vec<_> = (0..96)
                .map(|n| {
                    let (key, signature) = &signed[(n / 16 + round) % 6];
                    let message: &[u8] = if n % 7 == 0 { b"stolen" } else { b"spent" };
                    Item::new(&key[..], message, signature)
                })
                .collect();
            let report = verifier.verify(&items);
            for (n, outcome) in report.outcomes().iter().enumerate() {
                assert_eq!(*outcome == Outcome::Valid, n % 7 != 0, "item {n}");
            }
            assert!(report.summary().cache_bytes <= room * PLACE);
            assert!(report.summary().cache_bytes > 0);
        }
    }
}

/// Keys whose signatures do not verify are never expanded, however often they are
/// used, and push out nobody.
#[test]
fn junk_keys_evict_nobody() {
    let verifier = BatchVerifier::<MlDsa44>::builder()
        .context(CONTEXT)
        .threads(Threads::Inline)
        .key_cache_bytes(2 * PLACE)
        .build()
        .unwrap();
    let honest: Vec<Item<'_>> = [0, 1]
        .map(|n| {
            let entry = &LOAD.entries[n];
            Item::new(
                entry.key.as_slice(),
                entry.message.as_slice(),
                &entry.signature,
            )
        })
        .to_vec();
    for _ in 0..2 {
        assert!(verifier.verify(&honest).all_valid());
    }
    let before = *verifier.verify(&honest).summary();
    assert_eq!((before.cache_hits, before.valid), (2, 2));

    // Well formed, by nobody, many of them under each key and in several batches.
    let entry = &LOAD.entries[0];
    let junk: Vec<(Vec<u8>, Vec<u8>)> = (0..40u8)
        .map(|n| {
            let mut key = entry.key.clone();
            key[100] ^= n / 8 + 1;
            let mut signature = entry.signature.clone();
            signature[0] ^= n | 1;
            (key, signature)
        })
        .collect();
    let junk: Vec<Item<'_>> = junk
        .iter()
        .map(|(key, signature)| Item::new(key.as_slice(), entry.message.as_slice(), signature))
        .collect();
    for _ in 0..3 {
        let report = verifier.verify(&junk);
        assert_eq!(report.summary().refused(Reason::ChallengeMismatch), 40);
        assert_eq!(report.summary().cache_bytes, before.cache_bytes);
        assert_eq!(report.summary().cache_hits, before.cache_hits);
    }
    let after = verifier.verify(&honest);
    assert!(after.all_valid());
    assert_eq!(after.summary().cache_hits, before.cache_hits + 2);

    // The same for members of a set that keeps a few.
    let keys = LOAD.keys::<MlDsa44>(KeyPolicy::Lru { max_bytes: PLACE }, Backend::detect());
    let verifier = BatchVerifier::builder()
        .keys(keys)
        .context(CONTEXT)
        .threads(Threads::Inline)
        .build()
        .unwrap();
    let vote = Item::new(0, entry.message.as_slice(), &entry.signature);
    for _ in 0..3 {
        assert!(verifier.verify(&[vote]).all_valid());
    }
    let forged = [1, 1, 2, 2].map(|id| Item::new(id, vote.message, vote.signature));
    assert_eq!(verifier.verify(&forged).summary().cache_hits, 1);
    assert_eq!(verifier.verify(&[vote]).summary().cache_hits, 2);
}

/// One at a time, without batch machinery: the same verdicts for the same reasons.
#[test]
fn one_at_a_time() {
    fn check<P: ParameterSet>(load: &Load) {
        for backend in Backend::available() {
            let set = || KeySet::<P>::builder().backend(backend);
            for builder in [
                set().storage(KeyStorage::Wide),
                set().storage(KeyStorage::Packed),
                set().policy(KeyPolicy::Compact),
                set().policy(KeyPolicy::Lru { max_bytes: 1 << 20 }),
            ] {
                let keys = load.stored(builder);
                let expanded = keys.policy() == KeyPolicy::Expanded;
                for (entry, expected) in load.entries.iter().zip(&load.outcomes) {
                    let Ok(id) = entry.signer else { continue };
                    let parts: Vec<&[u8]> = entry.parts.iter().map(Vec::as_slice).collect();
                    let shown = Shown { entry, parts };
                    let item = shown.item();
                    let verdict =
                        keys.verify_one(id.into(), item.message, context(), item.signature);
                    let outcome = match verdict {
                        Ok(()) => Outcome::Valid,
                        Err(reason) => Outcome::Invalid(reason),
                    };
                    assert_eq!(outcome, *expected, "{} {backend:?}", P::NAME);
                    let held = keys.prepared(id.into());
                    assert_eq!(held.is_some(), expanded && id < MEMBERS.into());
                    if let (Some(held), Form::Bytes) = (held, &entry.form) {
                        let verdict = held.verify(&entry.message, context(), &entry.signature);
                        assert_eq!(verdict.is_ok(), outcome.is_valid());
                    }
                }
            }
        }
    }
    check::<MlDsa44>(&LOAD);
    check::<MlDsa65>(&Load::new::<MlDsa65>());
}

/// A projection shows the caller's elements into the caller's memory.
#[test]
fn projections_into_memory() {
    let verifier = BatchVerifier::<MlDsa44>::builder()
        .keys(LOAD.keys(KeyPolicy::Expanded, Backend::detect()))
        .context(CONTEXT)
        .threads(Threads::Inline)
        .build()
        .unwrap();
    let shown: Vec<Shown<'_>> = LOAD
        .entries
        .iter()
        .map(|entry| Shown {
            entry,
            parts: entry.parts.iter().map(Vec::as_slice).collect(),
        })
        .collect();
    let mut outcomes = vec![Outcome::Skipped; shown.len()];
    let summary = verifier.verify_by_into(&shown, |_, shown| shown.item(), &mut outcomes);
    assert_eq!(outcomes, LOAD.outcomes);
    assert_eq!(summary.unwrap().panicked, 0);
    let short = verifier.verify_by_into(&shown, |_, shown| shown.item(), &mut outcomes[1..]);
    assert_eq!(short, Err(batch_verify::BatchError::OutputLength));

    let show = |index: usize, shown: &'static Shown<'static>| {
        assert!(index != 4, "the caller's fault");
        shown.item()
    };
    let shown: &'static [Shown<'static>] = shown.leak();
    let (report, panicked) = verifier.report_by(shown, show);
    assert_eq!(panicked, Some(4));
    assert_eq!(report.outcomes()[4], Outcome::Skipped);
    assert_eq!(report.outcomes()[5..], LOAD.outcomes[5..]);
    let summary = verifier.verify_by_into(shown, show, &mut outcomes).unwrap();
    assert_eq!((summary.panicked, outcomes[4]), (1, Outcome::Skipped));
}
