//! Time of every kind of rejected item, as the table of `docs/validity.md`.
//!
//! `cargo bench -p batch-verify --bench reject_costs`

use core::error::Error;
use core::time::Duration;
use std::time::Instant;

use batch_verify::{
    BatchVerifier, Committee, CommitteeVerifier, Item, KeyStorage, QuorumRule, RejectReason,
    Threads, Vote,
};
use mldsa_core::{
    Backend, Context, MlDsa44, MlDsa65, MlDsa87, ParameterSet, Randomness, SigningKey,
};

/// Items in a batch.
const ITEMS: usize = 256;
/// Keys.
const KEYS: usize = 8;
/// Votes and members of the quorum over malformed votes.
const MALFORMED: usize = 20_000;

type Row = (&'static str, [f64; 3]);

fn main() -> Result<(), Box<dyn Error>> {
    let columns = [
        costs::<MlDsa44>()?,
        costs::<MlDsa65>()?,
        costs::<MlDsa87>()?,
    ];
    println!(
        "Backend {}, one thread, batches of {ITEMS}, best of many.",
        Backend::detect().name()
    );
    println!();
    println!("| item | ML-DSA-44 | ML-DSA-65 | ML-DSA-87 |");
    println!("|---|--:|--:|--:|");
    let rows = columns[0].iter().map(|(name, _)| *name);
    for (n, name) in rows.enumerate() {
        let cell = |column: &Vec<(&str, f64)>| column.get(n).map_or(f64::NAN, |row| row.1);
        let row: Row = (
            name,
            [cell(&columns[0]), cell(&columns[1]), cell(&columns[2])],
        );
        println!(
            "| {} | {:.2} | {:.2} | {:.2} |",
            row.0, row.1[0], row.1[1], row.1[2]
        );
    }
    let ratio = malformed_quorum()?;
    println!("\nA quorum over {MALFORMED} malformed votes takes {ratio:.2} times a batch of them.");
    Ok(())
}

/// Time of a quorum over votes with malformed hints, as a multiple of the time of a batch of
/// them. All are in the name of the heaviest member, so that the quorum stays possible up to the
/// last one.
fn malformed_quorum() -> Result<f64, Box<dyn Error>> {
    let members = (0..MALFORMED).map(|n| {
        let mut seed = [0; 32];
        seed[..8].copy_from_slice(&n.to_le_bytes());
        let key = SigningKey::<MlDsa44>::from_seed(&seed);
        let weight = if n == 0 { 10 * MALFORMED as u64 } else { 1 };
        (*key.verifying_key().as_bytes(), weight)
    });
    let builder = Committee::<MlDsa44>::builder(b"").key_storage(KeyStorage::Compact);
    let committee = builder.build(members)?;
    let heaviest = committee.member(0).ok_or("no member")?;
    let mut signatures = vec![[0xff; 2420]; MALFORMED];
    for (n, signature) in signatures.iter_mut().enumerate() {
        signature[..8].copy_from_slice(&n.to_le_bytes());
    }
    let votes: Vec<_> = signatures.iter().map(|s| (heaviest, &s[..])).collect();
    let verifier = CommitteeVerifier::builder().threads(Threads::Inline);
    let verifier = verifier.build(committee)?;
    let batch = least(MALFORMED, || {
        let report = verifier.verify_batch(votes.iter().map(|(m, s)| Vote::new(*m, b"block", s)));
        assert_eq!(report.rejected().count(), MALFORMED);
    });
    let quorum = least(MALFORMED, || {
        let report = verifier.verify_quorum(b"block", &votes, QuorumRule::AnyValid);
        assert!(report.is_err());
    });
    Ok(quorum / batch)
}

/// An item's parts: signer, public key, message, signature.
type Parts = (u32, Vec<u8>, Vec<u8>, Vec<u8>);

/// Microseconds an item, by kind.
fn costs<P: ParameterSet>() -> Result<Vec<(&'static str, f64)>, Box<dyn Error>> {
    let signers: Vec<SigningKey<P>> = (0..KEYS as u8)
        .map(|n| SigningKey::from_seed(&[n; 32]))
        .collect();
    let valid: Vec<Parts> = (0..ITEMS)
        .map(|n| {
            let signer = &signers[n % KEYS];
            let message = n.to_le_bytes().to_vec();
            let signature =
                signer.sign_with_context(&message, Context::EMPTY, Randomness::Deterministic)?;
            let key = signer.verifying_key().as_bytes().as_ref().to_vec();
            Ok(((n % KEYS) as u32, key, message, signature.as_ref().to_vec()))
        })
        .collect::<Result<_, Box<dyn Error>>>()?;
    let edited = |edit: &dyn Fn(usize, &mut Parts)| {
        let mut parts = valid.clone();
        parts
            .iter_mut()
            .enumerate()
            .for_each(|(n, parts)| edit(n, parts));
        parts
    };
    let invalid = Err::<(), RejectReason>;
    let z_end = P::SIG_LEN - P::PARAMS.omega - P::K;
    let kinds: Vec<(&'static str, Result<(), RejectReason>, Vec<Parts>)> = vec![
        ("valid", Ok(()), valid.clone()),
        (
            "unknown signer",
            invalid(RejectReason::UnknownMember),
            edited(&|_, p| p.0 = KEYS as u32),
        ),
        (
            "signature length",
            invalid(RejectReason::SignatureLength),
            edited(&|_, p| {
                p.3.pop();
            }),
        ),
        (
            "hint encoding",
            invalid(RejectReason::HintEncoding),
            edited(&|_, p| {
                p.3[P::SIG_LEN - 1] = 0xff;
            }),
        ),
        (
            "z out of range, first coefficient",
            invalid(RejectReason::ResponseNorm),
            edited(&|_, p| {
                p.3[P::C_TILDE_LEN..][..4].fill(0);
            }),
        ),
        (
            "z out of range, last coefficient",
            invalid(RejectReason::ResponseNorm),
            edited(&|_, p| {
                p.3[z_end - 3..z_end].fill(0);
            }),
        ),
        (
            "wrong challenge",
            invalid(RejectReason::ChallengeMismatch),
            edited(&|_, p| p.3[0] ^= 1),
        ),
    ];
    let committee = |storage| {
        let builder = Committee::<P>::builder(b"").key_storage(storage);
        builder.build(signers.iter().map(|key| (key.verifying_key(), 1)))
    };
    let (expanded, compact) = (
        committee(KeyStorage::BySize)?,
        committee(KeyStorage::Compact)?,
    );
    let mut rows = Vec::new();
    for (name, verdict, parts) in &kinds {
        rows.push((*name, votes(&expanded, parts, *verdict)?));
    }
    let (_, valid_verdict, parts) = &kinds[0];
    let time = votes(&compact, parts, *valid_verdict)?;
    rows.push(("valid, key not expanded", time));
    for (name, kind) in [
        ("valid, key in the item", 0),
        ("wrong challenge, key in the item", 6),
        ("hint encoding, key in the item", 3),
    ] {
        let (_, verdict, parts) = &kinds[kind];
        rows.push((name, items::<P>(parts, *verdict)?));
    }
    Ok(rows)
}

/// Of members' votes.
fn votes<P: ParameterSet>(
    committee: &Committee<P>,
    parts: &[Parts],
    expected: Result<(), RejectReason>,
) -> Result<f64, Box<dyn Error>> {
    let builder = CommitteeVerifier::builder().threads(Threads::Inline);
    let verifier = builder.build(committee.clone())?;
    // An id of another epoch for an index beyond the committee.
    let other = committee.successor(1, None::<(&[u8], u64)>)?;
    let stranger = other.member(0).ok_or("no member")?;
    let votes = parts.iter().map(|(index, _, message, signature)| {
        let member = committee.member(*index).unwrap_or(stranger);
        Vote::new(member, message, signature)
    });
    let votes: Vec<Vote<'_>> = votes.collect();
    Ok(least(parts.len(), || {
        let report = verifier.verify_batch(votes.iter().copied());
        assert!(
            report.verdicts().iter().all(|verdict| *verdict == expected),
            "{expected:?}"
        );
    }))
}

/// Of items with keys.
fn items<P: ParameterSet>(
    parts: &[Parts],
    expected: Result<(), RejectReason>,
) -> Result<f64, Box<dyn Error>> {
    let builder = BatchVerifier::<P>::builder()
        .threads(Threads::Inline)
        .key_cache_bytes(0);
    let verifier = builder.build()?;
    Ok(least(parts.len(), || {
        let items = parts
            .iter()
            .map(|(_, key, message, signature)| Item::new(key, message, Context::EMPTY, signature));
        let report = verifier.verify_batch(items);
        assert!(
            report.verdicts().iter().all(|verdict| *verdict == expected),
            "{expected:?}"
        );
    }))
}

/// Least time of many calls, in microseconds an item.
fn least(items: usize, mut call: impl FnMut()) -> f64 {
    let mut best = Duration::MAX;
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_millis(300) {
        let start = Instant::now();
        call();
        best = best.min(start.elapsed());
    }
    best.as_secs_f64() * 1e6 / items as f64
}
