//! Duplicates and decoys: the verdict of an item depends on the item alone.

use std::sync::LazyLock;

use batch_verify::{
    BatchVerifier, Committee, CommitteeVerifier, Item, Message, Mode, RejectReason, Report,
    Threads, Vote,
};
use mldsa_core::{Context, MlDsa44, MuBuilder, Randomness, SigningKey, VerifyingKey};
use proptest::prelude::*;

use crate::fixture::{Verdict, assert_report};

const CONTEXT: &[u8] = b"chain/v1";
const OTHER: &[u8] = b"chain/v2";
const MESSAGES: [&[u8]; 2] = [b"block 7", b"block 8"];

/// Parts of an item; equal picks are identical items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pick {
    /// Index into [`Material::keys`].
    key: usize,
    message: usize,
    form: usize,
    signature: usize,
    /// 2 for another one.
    context: usize,
}

impl Pick {
    /// Equal for items with one signer, message, context and signature in one form.
    fn content(self) -> impl PartialEq {
        // A message representative has no context of its own.
        let other = self.context == 2 && self.form < 2;
        (self.key, self.message, self.form, self.signature, other)
    }
}

struct Material {
    /// Of the keys, once for each context.
    committees: [Committee<MlDsa44>; 2],
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
        let signature = key.sign_with_context(MESSAGES[0], context, Randomness::Deterministic);
        signature.unwrap().as_ref().to_vec()
    };
    let (of_member, of_stranger) = (sign(&member), sign(&stranger));
    // After the first bytes, by which a batch is sorted.
    let damaged = flipped(&of_stranger, 20);
    let mut malformed = of_stranger.clone();
    *malformed.last_mut().unwrap() = 0xff;
    let keys = vec![
        m.to_vec(),
        s.to_vec(),
        flipped(s, 40),
        flipped(s, s.len() - 1),
        flipped(s, 5),
        flipped(m, 700),
    ];
    let committee = Committee::builder(CONTEXT).build(keys.iter().map(|key| (key, 1)));
    let committee = committee.unwrap();
    Material {
        committees: [committee.clone(), committee.with_context(OTHER).unwrap()],
        keys,
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
    let (key, signature) = (
        &material.keys[pick.key],
        &material.signatures[pick.signature],
    );
    let context = Context::new(if pick.context == 2 { OTHER } else { CONTEXT }).unwrap();
    match message(pick) {
        Some(message) => Item::new(key, message, context, signature),
        None => Item::from_mu(key, &material.mus[pick.message], signature),
    }
}

/// `None` for a message representative.
fn message(pick: Pick) -> Option<Message<'static>> {
    match pick.form {
        0 => Some(Message::Bytes(MESSAGES[pick.message])),
        1 => Some(Message::Parts(&MATERIAL.parts[pick.message])),
        _ => None,
    }
}

/// The item as a vote; `None` for a message representative.
fn vote(pick: Pick) -> Option<Vote<'static>> {
    let committee = &MATERIAL.committees[usize::from(pick.context == 2)];
    let member = committee.member(pick.key as u32).unwrap();
    Some(Vote::new(
        member,
        message(pick)?,
        &MATERIAL.signatures[pick.signature],
    ))
}

/// The verdict of the core on the item alone.
fn alone(pick: Pick) -> Verdict {
    let material = &*MATERIAL;
    let key = VerifyingKey::<MlDsa44>::from_bytes(&material.keys[pick.key]).unwrap();
    let context = Context::new(if pick.context == 2 { OTHER } else { CONTEXT }).unwrap();
    let signature = &material.signatures[pick.signature];
    let result = match pick.form {
        2 => key.verify_mu(&material.mus[pick.message], signature),
        _ => key.verify_with_context(MESSAGES[pick.message], context, signature),
    };
    result.map_err(RejectReason::from)
}

/// The verdicts by the documentation, and which items duplicate which.
fn model(picks: &[Pick]) -> (Vec<Verdict>, Vec<(usize, usize)>) {
    let mut repeats = Vec::new();
    let verdicts = picks
        .iter()
        .enumerate()
        .map(|(index, pick)| {
            let first = picks[..index]
                .iter()
                .position(|earlier| earlier.content() == pick.content());
            if let Some(first) = first {
                repeats.push((index, first));
            }
            alone(*pick)
        })
        .collect();
    (verdicts, repeats)
}

/// Verifiers of votes, and of items with keys.
struct Verifiers(CommitteeVerifier<MlDsa44>, BatchVerifier<MlDsa44>);

impl Verifiers {
    fn new(mode: Mode, threads: Threads) -> Self {
        let items = BatchVerifier::builder().mode(mode);
        let items = items.threads(threads.clone()).build().unwrap();
        let votes = CommitteeVerifier::builder().mode(mode).threads(threads);
        let [here, other] = MATERIAL.committees.clone();
        Self(votes.build(here).unwrap().with_committee(other), items)
    }

    /// The reports on the votes among the picks and on all of them.
    fn verify(&self, picks: &[Pick]) -> [(Vec<Pick>, Report); 2] {
        let voted: Vec<Pick> = picks
            .iter()
            .copied()
            .filter(|&pick| vote(pick).is_some())
            .collect();
        let votes = self
            .0
            .verify_batch(voted.iter().filter_map(|&pick| vote(pick)));
        let items = self.1.verify_batch(picks.iter().map(|&pick| item(pick)));
        [(voted, votes), (picks.to_vec(), items)]
    }
}

static VERIFIERS: LazyLock<Vec<(Mode, Verifiers)>> = LazyLock::new(|| {
    let mut all = Vec::new();
    for mode in [Mode::Full, Mode::FirstInvalid, Mode::AnyInvalid] {
        for threads in [Threads::Inline, Threads::Dedicated(2)] {
            all.push((mode, Verifiers::new(mode, threads)));
        }
    }
    all
});

fn check(picks: &[Pick]) {
    for (mode, verifiers) in VERIFIERS.iter() {
        for (picks, report) in verifiers.verify(picks) {
            check_report(*mode, &picks, &report);
        }
    }
}

fn check_report(mode: Mode, picks: &[Pick], report: &Report) {
    let (verdicts, repeats) = model(picks);
    assert_report(mode, report, &verdicts);
    let found = report.duplicates();
    if mode == Mode::Full {
        assert_eq!(found, repeats);
    }
    assert!(found.iter().all(|repeat| repeats.contains(repeat)));
}

fn pick() -> impl Strategy<Value = Pick> {
    (0usize..6, 0usize..2, 0usize..3, 0usize..4, 0usize..3).prop_map(
        |(key, message, form, signature, context)| Pick {
            key,
            message,
            form,
            signature,
            context,
        },
    )
}

/// Few kinds of items, most of them equal except for one property.
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

/// Batches a property, each verified by all of [`VERIFIERS`].
const CASES: u32 = 32;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(CASES))]

    #[test]
    fn verdicts_follow_the_documentation(picks in crowd()) {
        check(&picks);
    }
}

/// An honest signer, and the same key except for one bit.
#[test]
fn a_decoy_hides_nothing() {
    let honest = Pick {
        key: 1,
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
    assert_eq!(alone(honest), Ok(()));
}
