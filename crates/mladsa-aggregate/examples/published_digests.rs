//! The ten digests that the original description publishes: each reproduced, or why it is not.
//!
//! `cargo run --release -p mladsa-aggregate --features insecure-open-commitments
//! --example published_digests`
//!
//! The public list has the first eight and the last six hex digits of each digest. The digests are of
//! rounds with open commitments and of their parts, so the feature that names them insecure is needed.

use core::error::Error;

use mladsa_aggregate::MasterSeed;
use mladsa_aggregate::open_commitments::{OneParty, merkle_root, nonce, one_time_key};
use sha2::{Digest, Sha256};

const RHO: &[u8; 32] = b"ml-adsa-KAT-rho-v1-0000000000000";
const MASTER: &[u8; 32] = b"ml-adsa-kat-master-seed-00000000";
const LABEL: &[u8] = b"kat/content/0";

/// Members: eight successive draws of the generator that the description names, one byte each.
const SEEDS: [&str; 8] = [
    "4f5a75e63a1432853c5b66cfafaf2a94a1565db318b88aae4e132bddd01414fa",
    "779862bf323d92e53f56b29fae9ca152aa74b9f82a58f2028ab3aa0fc0b4a7b5",
    "3acf7a9486d967aec77e49311d985246909f741a0f2479306389fca5f3eb45e6",
    "67ed082e007aec2fb0beb50e587679ef230612f55730cfa27cc1a4e235399049",
    "156cc9ef374f382eefc06ae1e0991fcc992be4e4e0405598b5d0b48733f97f2a",
    "0b8a2d617ec160b1fbc5bec031cf4fc4e984a0bed7b552c373e93a2687f531e0",
    "36bf12d3eda4e4d515c8c40fa6f6ed0d9d8db3902cc5005b9a177c45ce0484ac",
    "84bcd06216bb4af75d8b05dd48e732cec44e85d2ef1acc670c1e0472d0886930",
];

fn main() -> Result<(), Box<dyn Error>> {
    let mut reproduced = 0;
    let mut check = |name: &str, published: (&str, &str), digest: &[u8]| {
        let digest = hex::encode(digest);
        let same = digest.starts_with(published.0) && digest.ends_with(published.1);
        reproduced += usize::from(same);
        let verdict = if same { "reproduced" } else { "DIFFERS" };
        println!(
            "{name:18} {}..{}  {verdict}  {digest}",
            published.0, published.1
        );
    };
    let seed = MasterSeed::from_bytes(MASTER);
    let (secrets, t) = one_time_key(RHO, &seed, LABEL);
    check(
        "ContentKeyDerive.t",
        ("9f0a0b7d", "97b031"),
        &Sha256::digest(&t),
    );
    check("ExpandS", ("383ab60a", "7f37a2"), &Sha256::digest(&secrets));
    let y = nonce(&seed, LABEL);
    check("DeriveNonce", ("1de3c04f", "f7bd04"), &Sha256::digest(&y));
    let root = merkle_root(&[b"a", b"b", b"c"]).ok_or("no leaves")?;
    check("MerkleRoot3", ("b141de6c", "877053"), &root);
    let group = |n: usize| -> Result<OneParty, Box<dyn Error>> {
        let seeds = SEEDS.iter().take(n).map(|seed| {
            let bytes: [u8; 32] = hex::decode(seed)
                .map_err(|_| "hex digits")?
                .try_into()
                .map_err(|_| "a length")?;
            Ok::<_, Box<dyn Error>>(MasterSeed::from_bytes(&bytes))
        });
        Ok(OneParty::new(RHO, seeds.collect::<Result<_, _>>()?)?)
    };
    for (name, n, label, published) in [
        ("N=1 pk", 1, &b"kat/content/0\0"[..], ("ba80982b", "14229e")),
        ("rotation 0 pk", 8, b"kat/rot/0\0", ("17086715", "d4767d")),
        ("rotation 4 pk", 8, b"kat/rot/4\0", ("96b81373", "db7528")),
    ] {
        let key = group(n)?.key(label)?;
        check(name, published, &Sha256::digest(key.as_bytes()));
    }
    for (name, published, why) in [
        ("N=1 sig", "bc027cdd..80d4bc", MESSAGE.into()),
        ("N=128 pk", "95df4d8c..51a4cc", SEEDS_BEYOND.into()),
        (
            "N=128 sig",
            "45f667dc..77bd14",
            format!("{MESSAGE}; {SEEDS_BEYOND}"),
        ),
    ] {
        println!("{name:18} {published}  not reproduced: {why}");
    }
    if reproduced < 7 {
        return Err("a digest differs".into());
    }
    println!("7 of 10 reproduced");
    Ok(())
}

/// A signature depends on the message.
const MESSAGE: &str = "the public text fixes neither member names, nor registry leaves, nor the framing \
                       of the message";

/// A key of 128 members depends on their seeds. One generator draws these and the masks of the proofs
/// of possession, whose number of attempts depends on the message that they sign.
const SEEDS_BEYOND: &str = "the seeds beyond the eighth depend on the attempts at 127 proofs of \
                            possession, whose message the public text does not fix";

#[test]
fn seven_digests_are_reproduced() -> Result<(), Box<dyn Error>> {
    main()
}
