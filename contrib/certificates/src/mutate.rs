//! Parses and verifies changed notes, keys, policies, proofs, requests, certificates and private keys. Every run with the same numbers makes the
//! same changes, and ends with status 101 if one of them panics or is wrongly accepted.

use mldsa_core::{MlDsa44, Randomness, SigningKey};
use mldsa_tlog::{
    AddCheckpoint, Checkpoint, Cosigner, CosignerKey, Note, Policy, Proof, SignSubtree, leaf_hash,
    node_hash,
};

use rustls::pki_types::PrivateKeyDer;
use x509_cert::Certificate;
use x509_cert::der::{Decode, Encode};

use crate::common::issue::{Chain, Plan};

struct Random(u64);

impl Random {
    /// SplitMix64.
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    /// Changes bytes, or removes, repeats and moves parts. Half of the changes are where the text is, and not in a long key
    /// or signature.
    fn mutate(&mut self, bytes: &mut Vec<u8>) {
        const BYTES: &[u8] = b"\n\n \t+=\0\r09-\xe2\x80\x94#AZ\x7f\xff";
        for _ in 0..=self.below(4) {
            let near = if self.below(2) == 0 {
                bytes.len().min(200)
            } else {
                bytes.len()
            };
            let at = self.below(near);
            let to = (at + self.below(40)).min(bytes.len());
            match self.below(7) {
                _ if bytes.is_empty() => bytes.push(BYTES[self.below(BYTES.len())]),
                0 => bytes[at] ^= 1 << self.below(8),
                1 => bytes[at] = BYTES[self.below(BYTES.len())],
                2 => bytes.insert(at, BYTES[self.below(BYTES.len())]),
                3 => drop(bytes.drain(at..to)),
                4 => bytes.truncate(at),
                5 => {
                    let part = bytes[at..to].to_vec();
                    let place = self.below(bytes.len());
                    bytes.splice(place..place, part);
                }
                _ => {
                    // A whole line, twice.
                    let line = bytes[at..]
                        .iter()
                        .position(|byte| *byte == b'\n')
                        .map_or(bytes.len(), |n| at + n + 1);
                    let part = bytes[at..line].to_vec();
                    bytes.splice(at..at, part);
                }
            }
        }
    }
}

/// Tries `count` inputs.
pub fn run(count: u64, seed: u64) {
    let mut random = Random(seed);
    let cosigner =
        |name, seed| Cosigner::new(name, SigningKey::from_seed(&[seed; 32])).expect("a name");
    let (log, witness) = (cosigner("log.example", 1), cosigner("witness.example", 2));
    let vkey = witness.public().to_string();
    let policy_text = format!(
        "log {}\nwitness a {vkey}\ngroup g any a\nquorum g\n",
        log.public()
    );
    let policy = Policy::parse(policy_text.as_bytes()).expect("a policy");
    let leaves = [leaf_hash(b"0"), leaf_hash(b"1"), leaf_hash(b"2")];
    let left = node_hash(&leaves[0], &leaves[1]);
    let checkpoint = Checkpoint {
        origin: "log.example",
        size: 3,
        root: node_hash(&left, &leaves[2]),
    };
    let sign = |cosigner: &Cosigner| {
        cosigner
            .sign(
                5,
                checkpoint.origin,
                &checkpoint.tree(),
                Randomness::Deterministic,
            )
            .expect("a signature")
    };
    let note = format!("{checkpoint}\n{}{}", sign(&log), sign(&witness));
    let proof = Proof {
        extra: Some(vec![1, 2, 3]),
        index: 1,
        hashes: vec![leaves[0], leaves[2]],
        note: &note,
    };
    let request = AddCheckpoint {
        old_size: 2,
        proof: vec![leaves[2]],
        note: &note,
    };
    let subtree =
        request
            .to_string()
            .replacen("old 2\n", &format!("subtree 0 2\n{}", tree_line(&left)), 1);
    let chain =
        Chain::new::<SigningKey<MlDsa44>, SigningKey<MlDsa44>>(&Plan::default()).expect("a chain");
    let [leaf, authority] =
        [0, 1].map(|n| Certificate::from_der(&chain.chain[n]).expect("a certificate"));
    let certificate = leaf.tbs_certificate().to_der().expect("a certificate");
    let key = authority
        .tbs_certificate()
        .subject_public_key_info()
        .subject_public_key
        .raw_bytes();
    let provider = mldsa_rustls::with_mldsa(rustls_graviola::default_provider());
    let inputs = [
        note.clone().into_bytes(),
        vkey.into_bytes(),
        policy_text.into_bytes(),
        proof.to_string().into_bytes(),
        request.to_string().into_bytes(),
        subtree.into_bytes(),
        certificate.clone(),
        chain.key.secret_pkcs8_der().to_vec(),
    ];

    let mut accepted = [0_u64; 8];
    for n in 0..count {
        let kind = (n % 8) as usize;
        let mut bytes = inputs[kind].clone();
        random.mutate(&mut bytes);
        accepted[kind] += u64::from(match kind {
            0 => Note::parse(&bytes).is_ok_and(|note| {
                policy.verify(&note).is_ok_and(|verified| {
                    assert_eq!(verified.checkpoint, checkpoint);
                    true
                })
            }),
            1 => core::str::from_utf8(&bytes).is_ok_and(|text| {
                CosignerKey::parse(text).is_ok_and(|key| {
                    assert_eq!(key.to_string(), text);
                    true
                })
            }),
            2 => Policy::parse(&bytes).is_ok(),
            3 => Proof::parse(&bytes).is_ok_and(|proof| {
                assert_eq!(proof.to_string().as_bytes(), bytes);
                proof.verify(&policy, &leaves[1]).is_ok_and(|verified| {
                    assert_eq!((verified.checkpoint, proof.index), (checkpoint, 1));
                    true
                })
            }),
            4 => AddCheckpoint::parse(&bytes).is_ok_and(|request| {
                assert_eq!(request.to_string().as_bytes(), bytes);
                request
                    .check(|_| Some((log.public(), (2, left))))
                    .is_ok_and(|verified| {
                        assert_eq!(verified, checkpoint);
                        true
                    })
            }),
            5 => {
                SignSubtree::parse(&bytes).is_ok_and(|request| request.check_consistency().is_ok())
            }
            6 => {
                let signature = leaf.signature().raw_bytes();
                let verdict = mldsa_rustls::ML_DSA_44.verify_signature(key, &bytes, signature);
                assert!(verdict.is_err() || bytes == certificate);
                verdict.is_ok()
            }
            _ => provider
                .key_provider
                .load_private_key(PrivateKeyDer::Pkcs8(bytes.into()))
                .is_ok(),
        });
    }
    println!(
        "{count} inputs, seed {seed}; accepted: {accepted:?} notes, keys, policies, proofs, checkpoints, subtrees, certificates, private keys"
    );
}

fn tree_line(hash: &[u8; 32]) -> String {
    let text = Checkpoint {
        origin: "x",
        size: 0,
        root: *hash,
    }
    .to_string();
    text.lines()
        .last()
        .map(|line| format!("{line}\n"))
        .unwrap_or_default()
}
