//! Repeats and decoys: the outcome of an item depends on the item alone and, where
//! repeats are refused, on an earlier identical one.

use core::sync::atomic::{AtomicUsize, Ordering};
use std::sync::LazyLock;

use batch_verify::{
    BatchVerifier, Duplicates, Item, KeySet, Message, Mode, Outcome, Reason, Signer, SignerId,
    Threads,
};
use mldsa_core::{Context, MlDsa44, MuBuilder, Randomness, SigningKey, VerifyingKey};
use proptest::prelude::*;

const CONTEXT: &[u8] = b"chain/v1";
const OTHER: &[u8] = b"chain/v2";
const MESSAGES: [&[u8]; 2] = [b"block 7", b"block 8"];

/// What an item is made of; equal picks are identical items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pick {
    /// Index into [`Material::keys`].
    key: usize,
    /// Whether a member is named by id; the same signer as by key.
    by_id: bool,
    message: usize,
    form: usize,
    signature: usize,
    /// None of its own, the verifier's spelt out, another.
    context: usize,
}

impl Pick {
    /// Equal for items that are the same signer, message, context and signature in
    /// the same form.
    fn content(self) -> impl PartialEq {
        (
            self.key,
            self.message,
            self.form,
            self.signature,
            self.context == 2,
        )
    }
}

struct Material {
    set: KeySet<MlDsa44>,
    /// A member, a stranger, the stranger with one bit of t1 changed, the same in
    /// the last bit, the same in the fifth byte of rho; the member so changed.
    keys: Vec<Vec<u8>>,
    signatures: Vec<Vec<u8>>,
    mus: Vec<mldsa_core::Mu>,
    parts: Vec<Vec<&'static [u8]>>,
}

fn flipped(key: &[u8], at: usize) -> Vec<u8> {
    let mut key = key.to_vec();
    key[at] ^= 1;
    key
}

static MATERIAL: LazyLock<Material> = LazyLock::new(|| {
    let [member, stranger] = [1, 2].map(|n| SigningKey::<MlDsa44>::from_seed(&[n; 32]));
    let [m, s] = [&member, &stranger].map(|key| key.verifying_key().as_bytes().as_slice());
    let context = Context::new(CONTEXT).unwrap();
    let sign = |key: &SigningKey<MlDsa44>| {
        let signature = key.sign(MESSAGES[0], context, Randomness::Deterministic);
        signature.unwrap().as_ref().to_vec()
    };
    let (of_member, of_stranger) = (sign(&member), sign(&stranger));
    // Behind the first bytes, by which a batch is sorted.
    let damaged = flipped(&of_stranger, 20);
    let mut malformed = of_stranger.clone();
    *malformed.last_mut().unwrap() = 0xff;
    Material {
        set: KeySet::from_public_keys([m]).unwrap(),
        keys: vec![
            m.to_vec(),
            s.to_vec(),
            flipped(s, 40),
            flipped(s, s.len() - 1),
            flipped(s, 5),
            flipped(m, 700),
        ],
        signatures: vec![of_member, of_stranger, damaged, malformed],
        mus: [&member, &stranger]
            .map(|key| {
                let mut mu = MuBuilder::from_tr(key.verifying_key().tr(), context);
                mu.update(MESSAGES[0]);
                mu.finish()
            })
            .to_vec(),
        parts: MESSAGES.map(|m| vec![&m[..2], &m[2..]]).to_vec(),
    }
});

fn item(pick: Pick) -> Item<'static> {
    let material = &*MATERIAL;
    let signer = if pick.by_id && pick.key == 0 {
        Signer::Id(SignerId::new(0))
    } else {
        Signer::Key(&material.keys[pick.key])
    };
    let message = match pick.form {
        0 => Message::Bytes(MESSAGES[pick.message]),
        1 => Message::Parts(&material.parts[pick.message]),
        _ => Message::Mu(&material.mus[pick.message]),
    };
    let item = Item::new(signer, message, &material.signatures[pick.signature]);
    match pick.context {
        0 => item,
        1 => item.with_context(Context::new(CONTEXT).unwrap()),
        _ => item.with_context(Context::new(OTHER).unwrap()),
    }
}

/// What the core says of the item alone.
fn alone(pick: Pick) -> Outcome {
    let material = &*MATERIAL;
    let key = VerifyingKey::<MlDsa44>::from_bytes(&material.keys[pick.key]).unwrap();
    let context = Context::new(if pick.context == 2 { OTHER } else { CONTEXT }).unwrap();
    let signature = &material.signatures[pick.signature];
    let result = match pick.form {
        2 => key.verify_mu(&material.mus[pick.message], signature),
        _ => key.verify(MESSAGES[pick.message], context, signature),
    };
    match result {
        Ok(()) => Outcome::Valid,
        Err(error) => Outcome::Invalid(error.into()),
    }
}

/// The outcomes by the documentation, and which items repeat which.
fn model(duplicates: Duplicates, picks: &[Pick]) -> (Vec<Outcome>, Vec<(usize, usize)>) {
    let mut repeats = Vec::new();
    let outcomes = picks
        .iter()
        .enumerate()
        .map(|(index, pick)| {
            let first = picks[..index]
                .iter()
                .position(|earlier| earlier.content() == pick.content());
            if let Some(first) = first
                && duplicates != Duplicates::Verify
            {
                repeats.push((index, first));
                if duplicates == Duplicates::Reject {
                    return Outcome::Invalid(Reason::Duplicate);
                }
            }
            alone(*pick)
        })
        .collect();
    (outcomes, repeats)
}

fn verifier(duplicates: Duplicates, mode: Mode, threads: Threads) -> BatchVerifier<MlDsa44> {
    BatchVerifier::builder()
        .keys(MATERIAL.set.clone())
        .context(CONTEXT)
        .duplicates(duplicates)
        .mode(mode)
        .threads(threads)
        .build()
        .unwrap()
}

const POLICIES: [Duplicates; 3] = [Duplicates::Once, Duplicates::Verify, Duplicates::Reject];

static VERIFIERS: LazyLock<Vec<(Duplicates, Mode, BatchVerifier<MlDsa44>)>> = LazyLock::new(|| {
    let mut all = Vec::new();
    for duplicates in POLICIES {
        for mode in [Mode::Full, Mode::FirstInvalid, Mode::AnyInvalid] {
            for threads in [Threads::Inline, Threads::Dedicated(2)] {
                all.push((duplicates, mode, verifier(duplicates, mode, threads)));
            }
        }
    }
    all
});

fn check(picks: &[Pick]) {
    let items: Vec<Item<'_>> = picks.iter().map(|&pick| item(pick)).collect();
    for (duplicates, mode, verifier) in VERIFIERS.iter() {
        let (outcomes, repeats) = model(*duplicates, picks);
        let report = verifier.verify(&items);
        let found: Vec<_> = report
            .repeats()
            .iter()
            .map(|repeat| (repeat.index, repeat.first))
            .collect();
        let lowest = outcomes.iter().position(|outcome| !outcome.is_valid());
        match mode {
            Mode::Full => {
                assert_eq!(report.outcomes(), outcomes, "{duplicates:?}");
                assert_eq!(found, repeats, "{duplicates:?}");
            }
            Mode::FirstInvalid => {
                let end = lowest.map_or(outcomes.len(), |lowest| lowest + 1);
                assert_eq!(report.outcomes()[..end], outcomes[..end], "{duplicates:?}");
                let rest = &report.outcomes()[end..];
                assert!(rest.iter().all(|outcome| *outcome == Outcome::Skipped));
                assert!(found.iter().all(|repeat| repeats.contains(repeat)));
            }
            Mode::AnyInvalid => {
                for (outcome, model) in report.outcomes().iter().zip(&outcomes) {
                    assert!(outcome == model || *outcome == Outcome::Skipped);
                }
                assert_eq!(report.first_invalid().is_some(), lowest.is_some());
                assert!(found.iter().all(|repeat| repeats.contains(repeat)));
            }
        }
    }
}

fn pick() -> impl Strategy<Value = Pick> {
    (
        0usize..6,
        any::<bool>(),
        0usize..2,
        0usize..3,
        0usize..4,
        0usize..3,
    )
        .prop_map(|(key, by_id, message, form, signature, context)| Pick {
            key,
            by_id,
            message,
            form,
            signature,
            context,
        })
}

/// Few kinds of items, most of them equal but for one property.
fn crowd() -> impl Strategy<Value = Vec<Pick>> {
    proptest::collection::vec(pick(), 1..5).prop_flat_map(|kinds| {
        proptest::collection::vec(
            (
                0..kinds.len(),
                prop_oneof![3 => Just(None), 1 => (0usize..6).prop_map(Some)],
            ),
            1..60,
        )
        .prop_map(move |picks| {
            picks
                .into_iter()
                .map(|(kind, key)| Pick {
                    key: key.unwrap_or(kinds[kind].key),
                    ..kinds[kind]
                })
                .collect()
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 96,
        rng_seed: proptest::test_runner::RngSeed::Fixed(96),
        ..ProptestConfig::default()
    })]

    #[test]
    fn outcomes_follow_the_documentation(picks in crowd()) {
        check(&picks);
    }

    /// Taking an item out changes no other's outcome, unless the other repeats it.
    #[test]
    fn neighbours_do_not_matter(picks in crowd(), out in any::<proptest::sample::Index>()) {
        let out = out.index(picks.len());
        let mut fewer = picks.clone();
        fewer.remove(out);
        for duplicates in POLICIES {
            let (_, _, verifier) = VERIFIERS
                .iter()
                .find(|(d, mode, _)| *d == duplicates && *mode == Mode::Full)
                .unwrap();
            let run = |picks: &[Pick]| {
                let items: Vec<Item<'_>> = picks.iter().map(|&pick| item(pick)).collect();
                verifier.verify(&items).into_outcomes()
            };
            let mut before = run(&picks);
            before.remove(out);
            for (n, (before, after)) in before.iter().zip(run(&fewer)).enumerate() {
                let earlier_identical = n >= out && fewer[n].content() == picks[out].content();
                prop_assert!(*before == after || earlier_identical, "{duplicates:?} {n}");
            }
        }
    }
}

/// A signer outside the set, and the same key but for one bit of t1.
#[test]
fn a_decoy_hides_nothing() {
    let honest = Pick {
        key: 1,
        by_id: false,
        message: 0,
        form: 0,
        signature: 1,
        context: 0,
    };
    for decoy in [2, 3, 4, 5, 0] {
        let decoy = Pick {
            key: decoy,
            ..honest
        };
        check(&[honest, decoy, honest]);
        check(&[decoy, honest, decoy, honest, decoy]);
    }
    assert_eq!(alone(honest), Outcome::Valid);
}

/// A member is one signer, named by id or by key.
#[test]
fn a_member_by_key_is_the_member() {
    let by_id = Pick {
        key: 0,
        by_id: true,
        message: 0,
        form: 0,
        signature: 0,
        context: 0,
    };
    let by_key = Pick {
        by_id: false,
        ..by_id
    };
    let report = verifier(Duplicates::Reject, Mode::Full, Threads::Inline)
        .verify(&[item(by_id), item(by_key)]);
    assert_eq!(
        report.outcomes(),
        [Outcome::Valid, Outcome::Invalid(Reason::Duplicate)]
    );
    check(&[by_key, by_id, by_key]);
}

/// A repeat of an element that can no longer be shown has its own verdict.
#[test]
fn a_panic_costs_its_repeats_nothing() {
    let honest = item(Pick {
        key: 0,
        by_id: true,
        message: 0,
        form: 0,
        signature: 0,
        context: 0,
    });
    let elements = [honest; 4];
    // Whenever the first of them panics: while the batch is planned, searched for
    // repeats, or verified.
    for call in 0..12 {
        for duplicates in [Duplicates::Once, Duplicates::Verify] {
            let verifier = verifier(duplicates, Mode::Full, Threads::Inline);
            let calls = AtomicUsize::new(0);
            let shown = verifier.verify_by(&elements, |index, element| {
                let now = index == 0 && calls.fetch_add(1, Ordering::Relaxed) == call;
                assert!(!now, "the caller's fault");
                *element
            });
            let report = shown.unwrap_or_else(|panicked| *panicked.report);
            let rest = &report.outcomes()[1..];
            assert!(rest.iter().all(|outcome| outcome.is_valid()), "{call}");
        }
    }
}
