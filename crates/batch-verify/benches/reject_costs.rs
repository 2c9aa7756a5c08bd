//! What every kind of bad item costs, as the table of `docs/validity.md`.
//!
//! `cargo bench -p batch-verify --bench reject_costs`

use core::error::Error;
use core::time::Duration;
use std::time::Instant;

use batch_verify::{
    BatchVerifier, Duplicates, Item, KeyPolicy, KeySet, Outcome, Reason, Signer, Threads,
};
use mldsa_core::{
    Backend, Context, MlDsa44, MlDsa65, MlDsa87, ParameterSet, Randomness, SigningKey,
};

/// Items in a batch.
const ITEMS: usize = 256;
/// Keys.
const KEYS: usize = 8;

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
    Ok(())
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
            let signature = signer.sign(&message, Context::EMPTY, Randomness::Deterministic)?;
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
    let invalid = Outcome::Invalid;
    let z_end = P::SIG_LEN - P::PARAMS.omega - P::K;
    let kinds: Vec<(&'static str, Outcome, Vec<Parts>)> = vec![
        ("valid", Outcome::Valid, valid.clone()),
        (
            "unknown signer",
            invalid(Reason::UnknownSigner),
            edited(&|_, p| p.0 = 1000),
        ),
        (
            "signature length",
            invalid(Reason::SignatureLength),
            edited(&|_, p| {
                p.3.pop();
            }),
        ),
        (
            "hint encoding",
            invalid(Reason::HintEncoding),
            edited(&|_, p| {
                p.3[P::SIG_LEN - 1] = 0xff;
            }),
        ),
        (
            "z out of range, first coefficient",
            invalid(Reason::ResponseNorm),
            edited(&|_, p| {
                p.3[P::C_TILDE_LEN..][..4].fill(0);
            }),
        ),
        (
            "z out of range, last coefficient",
            invalid(Reason::ResponseNorm),
            edited(&|_, p| {
                p.3[z_end - 3..z_end].fill(0);
            }),
        ),
        (
            "wrong challenge",
            invalid(Reason::ChallengeMismatch),
            edited(&|_, p| p.3[0] ^= 1),
        ),
        ("identical repeat, refused", invalid(Reason::Duplicate), {
            let one = valid[0].clone();
            (0..ITEMS).map(|_| one.clone()).collect()
        }),
    ];
    let keys = KeySet::<P>::from_public_keys(
        signers
            .iter()
            .map(|key| key.verifying_key().as_bytes().as_ref()),
    )?;
    let compact = KeySet::<P>::builder().policy(KeyPolicy::Compact).build(
        signers
            .iter()
            .map(|key| key.verifying_key().as_bytes().as_ref()),
    )?;
    let build = |keys: Option<KeySet<P>>, duplicates| {
        let builder = BatchVerifier::<P>::builder()
            .threads(Threads::Inline)
            .key_cache_bytes(0)
            .duplicates(duplicates);
        match keys {
            Some(keys) => builder.keys(keys).build(),
            None => builder.build(),
        }
    };
    let mut rows = Vec::new();
    for (name, outcome, parts) in &kinds {
        let duplicates = match outcome {
            Outcome::Invalid(Reason::Duplicate) => Duplicates::Reject,
            _ => Duplicates::Once,
        };
        let engine = build(Some(keys.clone()), duplicates)?;
        rows.push((*name, measure(&engine, parts, *outcome, true)?));
    }
    let (_, valid_outcome, parts) = &kinds[0];
    let cold = build(Some(compact), Duplicates::Once)?;
    rows.push((
        "valid, key not expanded",
        measure(&cold, parts, *valid_outcome, true)?,
    ));
    let bare = build(None, Duplicates::Once)?;
    rows.push((
        "valid, key in the item",
        measure(&bare, parts, *valid_outcome, false)?,
    ));
    let (_, wrong, parts) = &kinds[6];
    rows.push((
        "wrong challenge, key in the item",
        measure(&bare, parts, *wrong, false)?,
    ));
    let (_, hint, parts) = &kinds[3];
    rows.push((
        "hint encoding, key in the item",
        measure(&bare, parts, *hint, false)?,
    ));
    Ok(rows)
}

fn measure<P: ParameterSet>(
    engine: &BatchVerifier<P>,
    parts: &[Parts],
    expected: Outcome,
    by_id: bool,
) -> Result<f64, Box<dyn Error>> {
    let items: Vec<Item<'_>> = parts
        .iter()
        .map(|(id, key, message, signature)| {
            let signer = if by_id {
                Signer::from(*id)
            } else {
                Signer::Key(key)
            };
            Item::new(signer, message.as_slice(), signature)
        })
        .collect();
    let mut outcomes = vec![Outcome::Skipped; items.len()];
    let mut best = Duration::MAX;
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_millis(300) {
        let start = Instant::now();
        engine.verify_into(&items, &mut outcomes)?;
        best = best.min(start.elapsed());
        // The first of identical items is not a repeat.
        assert!(
            outcomes[1..].iter().all(|outcome| *outcome == expected),
            "{expected:?}"
        );
    }
    Ok(best.as_secs_f64() * 1e6 / items.len() as f64)
}
