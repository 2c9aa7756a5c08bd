//! Remembered verdicts against their look-alikes, and the bytes of the memory.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;
use std::thread;

use crate::votes::{CONTEXT, KEYS, MEMBERS, set, verifier};
use batch_verify::{
    Answered, BatchVerifier, Duplicates, Intake, IntakeLimits, IntakeMetrics, Item, KeySet,
    Message, Origin, Outcome, OwnedItem, Policy, Priority, Signer, SignerId, Threads, Threshold,
    Vote, Weights,
};
use mldsa_core::{Context, MlDsa44, Mu, PreHash, PreHashed, Randomness, SigningKey};

const CONTEXTS: [Option<&[u8]>; 5] = [
    None,
    Some(CONTEXT),
    Some(b""),
    Some(b"intake/v"),
    Some(b"\0\0"),
];

fn item<'a>(
    signer: Signer<'a>,
    message: Message<'a>,
    signature: &'a [u8],
    context: Option<&'a [u8]>,
) -> Item<'a> {
    let item = Item::new(signer, message, signature);
    match context {
        Some(context) => item.with_context(Context::new(context).unwrap()),
        None => item,
    }
}

/// No verdict comes from memory but that of the verifier, whatever looks like a
/// remembered item.
#[test]
fn look_alikes_are_not_remembered() {
    let outsider = SigningKey::<MlDsa44>::from_seed(&[99; 32]);
    let owner = |n: usize| if n < 2 { &KEYS[n] } else { &outsider };
    let long = vec![7_u8; 300];
    let digest = *b"0123456789abcdef0123456789abcdef";
    let wide = [digest, digest].concat();
    let texts: Vec<&[u8]> = vec![
        b"", b"\0", b"v1vote", b"1vote", b"vote", &digest, &wide, &long,
    ];
    let halves: Vec<[&[u8]; 3]> = texts
        .iter()
        .map(|text| {
            let (head, tail) = text.split_at(text.len() / 2);
            [head, b"", tail]
        })
        .collect();
    let mu: Vec<Mu> = texts
        .iter()
        .map(|text| Mu::from_bytes(core::array::from_fn(|n| text.get(n).copied().unwrap_or(0))))
        .collect();
    let hashes = [
        PreHash::Sha2_256,
        PreHash::Sha2_512,
        PreHash::Sha3_256,
        PreHash::Shake128,
    ];
    let mut messages = Vec::new();
    for (n, text) in texts.iter().enumerate() {
        messages.push(Message::Bytes(text));
        messages.push(Message::Parts(&halves[n]));
        messages.push(Message::Mu(&mu[n]));
        for hash in hashes {
            messages.push(Message::PreHashed { hash, digest: text });
        }
    }
    // Everything that can be signed, signed by two members and somebody else.
    let mut signed = Vec::new();
    for n in 0..3 {
        for context in &CONTEXTS[1..] {
            let at = Context::new(context.unwrap()).unwrap();
            for text in &texts {
                let key = owner(n);
                let signature = key.sign(text, at, Randomness::Deterministic).unwrap();
                signed.push(signature.as_ref().to_vec());
            }
        }
    }
    for n in 0..3 {
        for mu in &mu[2..4] {
            let signature = owner(n).sign_mu(mu, Randomness::Deterministic).unwrap();
            signed.push(signature.as_ref().to_vec());
        }
        for context in &CONTEXTS[1..] {
            let at = Context::new(context.unwrap()).unwrap();
            for hash in hashes {
                let digest = if hash == PreHash::Sha2_512 {
                    &wide[..]
                } else {
                    &digest
                };
                let digest = PreHashed::<MlDsa44>::new(hash, digest).unwrap();
                let signature = owner(n).sign_prehashed(&digest, at, Randomness::Deterministic);
                signed.push(signature.unwrap().as_ref().to_vec());
            }
        }
    }
    let keys: Vec<Vec<u8>> = (0..3)
        .map(|n| owner(n).verifying_key().as_bytes().to_vec())
        .collect();
    let mut signers: Vec<Signer<'_>> = keys.iter().map(|key| Signer::Key(key)).collect();
    signers.extend([0, 1, 5, 6].map(|id| Signer::Id(SignerId::new(id))));

    let plain = verifier(Threads::Inline);
    let limits = IntakeLimits::default();
    let intake = Intake::new(verifier(Threads::Inline), limits);
    let (mut asked, mut valid, mut warm) = (0_u32, 0_u32, 0_u32);
    let mut dice = 1_usize;
    let mut spoiled: Vec<Vec<u8>> = Vec::new();
    for signature in &signed {
        let mut tail = signature.clone();
        tail[100] ^= 1;
        let mut last = signature.clone();
        *last.last_mut().unwrap() ^= 1;
        let mut longer = signature.clone();
        longer.push(0);
        spoiled.extend([
            tail,
            last,
            longer,
            signature[..signature.len() - 1].to_vec(),
        ]);
    }
    for (s, signature) in signed.iter().enumerate() {
        // First what is valid goes in, by all doors in turn.
        let mut all = Vec::new();
        for &signer in &signers {
            for &message in &messages {
                for context in CONTEXTS {
                    all.push(item(signer, message, signature, context));
                }
            }
        }
        let each = plain.verify_each(&all);
        for (n, (item, good)) in all.iter().zip(&each).enumerate() {
            if *good {
                valid += 1;
                match n % 3 {
                    0 => assert_eq!(intake.verify(*item), Outcome::Valid),
                    1 => assert_eq!(intake.submit(*item).unwrap().wait(), Ok(Outcome::Valid)),
                    _ => assert_eq!(intake.verify_items([*item]), [Outcome::Valid]),
                }
            }
        }
        for (item, good) in all.iter().zip(&each) {
            asked += 1;
            let remembers = intake.remembers(*item);
            warm += u32::from(remembers);
            assert!(!remembers || *good, "{item:?}");
            dice = dice.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(11);
            if dice >> 60 == 0 {
                assert_eq!(intake.verify(*item).is_valid(), *good);
            }
        }
        let outcomes = intake.verify_items(all.iter().copied());
        let outcomes: Vec<bool> = outcomes.into_iter().map(Outcome::is_valid).collect();
        assert_eq!(outcomes, each);
        for spoiled in &spoiled[4 * s..4 * s + 4] {
            for item in &all {
                let mut bad = *item;
                bad.signature = spoiled;
                asked += 1;
                assert!(!intake.remembers(bad));
            }
        }
    }
    println!("{asked} asked, {valid} valid, {warm} remembered");
    assert!(valid > 200 && warm > 200);
    // Another order of the same members, and none of them.
    intake.replace_keys(set((0..MEMBERS).rev()));
    let other = intake.verifier();
    for signature in &signed {
        for &signer in &signers {
            for &message in messages.iter().step_by(3) {
                let item = item(signer, message, signature, None);
                let good = intake.remembers(item);
                assert!(!good || other.verify_each(&[item])[0]);
            }
        }
    }
    let strict = BatchVerifier::<MlDsa44>::builder()
        .keys(set(2..4))
        .build()
        .unwrap();
    let intake = Intake::new(strict, limits);
    assert!(!intake.remembers(item(signers[0], messages[0], &signed[0], None)));
}

/// One size for all items; threads put, forget and ask; the memory never holds more than
/// it may, and what it says it holds is what its items take.
#[test]
fn bytes_are_those_of_the_items() {
    let context = Context::new(CONTEXT).unwrap();
    let votes: Vec<OwnedItem> = (0..40_u64)
        .map(|n| {
            let message = n.to_le_bytes();
            let signer = (n % 6) as usize;
            let signature = KEYS[signer]
                .sign(&message, context, Randomness::Deterministic)
                .unwrap();
            let mut item = OwnedItem::from(Item::new(signer as u32, &message, signature.as_ref()));
            if n % 2 == 0 {
                // Buffers that hold more than they say.
                let mut big = Vec::with_capacity(1 << 16);
                big.extend_from_slice(&item.signature);
                item.signature = big;
            }
            item
        })
        .collect();
    let one = Intake::new(verifier(Threads::Inline), IntakeLimits::default());
    assert_eq!(one.verify(votes[0].as_item()), Outcome::Valid);
    let size = one.stats().memory.bytes;
    for (memory_bytes, most) in [
        (0, 0),
        (1, 0),
        (size - 1, 0),
        (size, 1),
        (2 * size - 1, 1),
        (2 * size, 2),
        (10 * size + 5, 10),
        (usize::MAX, 40),
    ] {
        for threads in [Threads::Inline, Threads::Dedicated(2)] {
            let limits = IntakeLimits {
                memory_bytes,
                ..IntakeLimits::default()
            };
            let intake = Intake::new(verifier(threads), limits);
            let done = AtomicBool::new(false);
            thread::scope(|scope| {
                let looks = scope.spawn(|| {
                    loop {
                        let last = done.load(Ordering::Relaxed);
                        let memory = intake.stats().memory;
                        assert!(memory.bytes <= memory_bytes && memory.items <= most);
                        assert_eq!(memory.bytes, memory.items * size);
                        if last {
                            return;
                        }
                    }
                });
                let workers: Vec<_> = (0..3_usize)
                    .map(|t| {
                        let (intake, votes) = (&intake, &votes);
                        scope.spawn(move || {
                            for n in 0..80 {
                                let vote = &votes[(n * (t + 1) + t) % 40];
                                match (n + t) % 3 {
                                    0 => {
                                        let got = intake.verify(vote.as_item());
                                        assert_eq!(got, Outcome::Valid);
                                    }
                                    1 => {
                                        let origin = Origin::peer(t as u64, Priority::Sync);
                                        let all = intake.submit_all([
                                            (origin, vote.clone()),
                                            (origin, vote.clone()),
                                        ]);
                                        for one in all {
                                            assert_eq!(one.unwrap().wait(), Ok(Outcome::Valid));
                                        }
                                    }
                                    _ => {
                                        let twice = [vote.as_item(), vote.as_item()];
                                        let got = intake.verify_items(twice);
                                        assert_eq!(got, [Outcome::Valid; 2]);
                                    }
                                }
                            }
                        })
                    })
                    .collect();
                workers
                    .into_iter()
                    .for_each(|worker| worker.join().unwrap());
                done.store(true, Ordering::Relaxed);
                looks.join().unwrap();
            });
            let stats = intake.stats();
            assert_eq!(stats.memory.items, most);
            assert_eq!(stats.items, stats.verified + stats.memory.hits);
        }
    }
}

/// "Bytes of the longest item that is taken in, and of the longest that is remembered".
#[test]
fn the_longest_item_that_is_taken_in_is_remembered() {
    let context = Context::new(CONTEXT).unwrap();
    let signature = KEYS[0]
        .sign(b"vote", context, Randomness::Deterministic)
        .unwrap();
    let vote = OwnedItem::from(Item::new(0, b"vote", signature.as_ref()));
    let limits = IntakeLimits {
        item_bytes: vote.len(),
        ..IntakeLimits::default()
    };
    let intake = Intake::new(verifier(Threads::Inline), limits);
    assert_eq!(
        intake.submit(vote.clone()).unwrap().wait(),
        Ok(Outcome::Valid)
    );
    assert!(intake.remembers(vote.as_item()));
}

/// What a certificate's answers were told as.
#[derive(Clone, Default)]
struct Told(Arc<[AtomicU64; 3]>);

impl IntakeMetrics for Told {
    fn answered(&self, item: &Answered) {
        let place = match item.answer {
            Ok(Outcome::Valid) => 0,
            Ok(Outcome::Invalid(_)) => 1,
            _ => 2,
        };
        self.0[place].fetch_add(1, Ordering::Relaxed);
    }
}

/// Several windows, several threads, several bad votes: what is told, counted and
/// remembered is the same, and the answer that of the verifier.
#[test]
fn refused_certificates_of_many_votes_add_up() {
    let keys: Vec<_> = (0..100)
        .map(|n| SigningKey::<MlDsa44>::from_seed(&[n; 32]))
        .collect();
    let set = KeySet::from_public_keys(
        keys.iter()
            .map(|key| key.verifying_key().as_bytes().as_slice()),
    );
    let set = set.unwrap();
    let signed: Vec<Vec<u8>> = keys
        .iter()
        .map(|key| {
            let signature = key.sign(b"block", Context::EMPTY, Randomness::Deterministic);
            signature.unwrap().as_ref().to_vec()
        })
        .collect();
    let mut state = 5_usize;
    let mut dice = |sides: usize| {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(11);
        (state >> 33) % sides
    };
    let mut beyond = 0;
    for round in 0..150 {
        let threads = match round % 3 {
            0 => Threads::Inline,
            1 => Threads::Dedicated(2),
            _ => Threads::from_fn(4, |tasks, task| {
                thread::scope(|scope| (0..tasks).for_each(|n| drop(scope.spawn(move || task(n)))));
            }),
        };
        let verifier = BatchVerifier::builder().keys(set.clone()).threads(threads);
        let told = Told::default();
        let builder = Intake::builder(verifier.build().unwrap());
        let intake = builder.metrics(told.clone()).build();
        let mut signatures = signed.clone();
        let bad: Vec<usize> = (0..1 + dice(3)).map(|_| dice(100)).collect();
        for &bad in &bad {
            if dice(4) == 0 {
                signatures[bad].truncate(2000);
            } else {
                signatures[bad][40] ^= 1;
            }
        }
        let repeats = dice(40);
        let votes: Vec<Vote<'_>> = (0..100 + repeats)
            .map(|n| Vote::new(n as u32 % 100, &signatures[n % 100]))
            .collect();
        let (weights, once) = (Weights::equal(100), Duplicates::Once);
        let threshold = Threshold::two_thirds(&weights);
        for (turn, policy) in [Policy::Strict, Policy::Strict, Policy::Lenient]
            .iter()
            .enumerate()
        {
            let asked = |verifier: &BatchVerifier<MlDsa44>| {
                verifier.verify_quorum(b"block", &votes, &weights, threshold, *policy, once)
            };
            let alone = asked(&intake.verifier());
            let got = intake.verify_quorum(b"block", &votes, &weights, threshold, *policy, once);
            assert_eq!(got, alone, "{round} {turn}");
            let known =
                |n: &usize| intake.remembers(Item::new(*n as u32, b"block", &signatures[*n][..]));
            let known: Vec<usize> = (0..100).filter(known).collect();
            assert!(known.iter().all(|n| signatures[*n] == signed[*n]));
            let stats = intake.stats();
            let counts = told.0.each_ref().map(|count| count.load(Ordering::Relaxed));
            assert_eq!(counts.iter().sum::<u64>(), stats.items);
            assert_eq!(counts[2], stats.cancelled);
            assert_eq!(counts[0], stats.memory.hits + stats.memory.items as u64);
            assert_eq!(counts[1], stats.verified - stats.memory.items as u64);
            assert_eq!(stats.memory.items, known.len());
            if turn == 0 {
                let first = *bad.iter().min().unwrap();
                beyond += known.iter().filter(|n| **n > first).count();
                // What has a wrong length is not looked for.
                let short = signatures.iter().filter(|it| it.len() == 2000).count();
                assert_eq!(stats.memory.misses, 100 - short as u64);
            }
        }
    }
    assert!(beyond > 300, "{beyond}");
}
