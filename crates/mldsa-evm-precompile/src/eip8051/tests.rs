//! EIP-8051: its vectors where `MLDSA_VECTORS` names them, its key format, and what
//! its two variants reject.

use std::vec::Vec;

use mldsa_core::internals::{self, Shake256, T1_POLY_LEN, sample};
use mldsa_core::{Context, Randomness, SigningKey};
use mldsa_kat::vectors::{folder, text};

use super::*;

/// The counter generator once more, from the words of the proposal.
fn counter_prng(parts: &[&[u8]], len: usize) -> Vec<u8> {
    let keccak = |parts: &[&[u8]]| {
        let mut sponge = Sponge::<136>::new(Backend::detect().permutation());
        parts.iter().for_each(|part| sponge.absorb(part));
        sponge.finish_with(1);
        let mut out = [0; 32];
        sponge.squeeze(&mut out);
        out
    };
    let state = keccak(parts);
    let mut out: Vec<u8> = (0..len.div_ceil(32) as u64)
        .flat_map(|counter| keccak(&[&state, &counter.to_be_bytes()]))
        .collect();
    out.truncate(len);
    out
}

fn append(poly: &NttPoly, key: &mut Vec<u8>) {
    for &a in &poly.0 {
        key.extend_from_slice(&(a.rem_euclid(Q) as u32).to_be_bytes());
    }
}

/// The expanded key of an encoded one.
fn expanded(variant: Variant, pk: &[u8]) -> Vec<u8> {
    let (rho, t1) = pk.split_at(32);
    let mut key = Vec::with_capacity(KEY_LEN);
    let mut entry = NttPoly::zeroed();
    for r in 0..4 {
        for s in 0..4 {
            match variant {
                Variant::Nist => {
                    let rho = rho.try_into().unwrap();
                    sample::rej_ntt_poly_vartime(
                        Backend::detect().permutation(),
                        rho,
                        s,
                        r,
                        &mut entry,
                    );
                }
                Variant::Eth => {
                    let bytes = counter_prng(&[rho, &[s, r]], 3 * 400);
                    let filled = sample::rej_ntt_block_vartime(&bytes, &mut entry.0, 0);
                    assert_eq!(filled, 256);
                }
            }
            append(&entry, &mut key);
        }
    }
    match variant {
        Variant::Nist => {
            let mut tr = [0; 64];
            Shake256::digest(Backend::detect().permutation(), &[pk], &mut tr);
            key.extend_from_slice(&tr);
        }
        Variant::Eth => key.extend(counter_prng(&[pk], 64)),
    }
    let mut t = Poly::zeroed();
    for row in t1.chunks_exact(T1_POLY_LEN) {
        pack::unpack_t1_2d(row, &mut t);
        if variant == Variant::Nist {
            t.0.iter_mut().for_each(|t| *t >>= internals::D);
        }
        ntt::ntt(&t, &mut entry);
        append(&entry, &mut key);
    }
    assert_eq!(key.len(), KEY_LEN);
    key
}

/// A signed input in the key format of `Variant::Nist`.
fn signed() -> Vec<u8> {
    let key = SigningKey::<MlDsa44>::from_seed(&[9; 32]);
    let message = [0x5a; MESSAGE_LEN];
    let signature = key
        .sign_with_context(&message, Context::EMPTY, Randomness::Deterministic)
        .unwrap();
    let expanded = expanded(Variant::Nist, key.verifying_key().as_ref());
    [&message[..], signature.as_ref(), &expanded].concat()
}

fn answer(input: &[u8]) -> bool {
    Variant::Nist.execute(input, Variant::GAS).unwrap().valid
}

#[test]
fn accepts_what_fips_204_signs() {
    let input = signed();
    assert_eq!(input.len(), INPUT_LEN);
    assert!(answer(&input));
    assert!(!Variant::Eth.execute(&input, Variant::GAS).unwrap().valid);
    assert_eq!(Variant::Nist.execute(&input, Variant::GAS - 1), None);
}

#[test]
fn rejects_every_damage() {
    let input = signed();
    for at in (0..input.len()).step_by(97) {
        let mut input = input.clone();
        input[at] ^= 1;
        assert!(!answer(&input), "byte {at}");
    }
    for len in [0, 31, 2452, INPUT_LEN - 32, INPUT_LEN - 1] {
        assert!(!answer(&input[..len]), "{len} bytes");
    }
    assert!(!answer(&[&input[..], &[0]].concat()));
}

/// The same residue with q added is another encoding, of which there is none.
#[test]
fn rejects_coefficients_from_q_on() {
    let input = signed();
    for at in [2452, 2452 + 4 * 4095, INPUT_LEN - 4] {
        let mut input = input.clone();
        let word = input[at..at + 4].try_into().unwrap();
        let more = u32::from_be_bytes(word) + Q as u32;
        input[at..at + 4].copy_from_slice(&more.to_be_bytes());
        assert!(!answer(&input), "coefficient at byte {at}");
        input[at] = 0xff;
        assert!(!answer(&input), "coefficient at byte {at}");
    }
}

#[test]
fn vectors_of_the_proposal() {
    let Some(folder) = folder("EIP-8051 vectors") else {
        return;
    };
    for (variant, name) in [
        (Variant::Nist, "eip-8051-mldsa_nist.rsp.gz"),
        (Variant::Eth, "eip-8051-mldsa_evm.rsp.gz"),
    ] {
        let text = text(&folder.join("eip").join(name));
        let mut ran = 0;
        for case in text.split("count = ").skip(1) {
            let field = |name: &str| {
                let line = case.lines().find_map(|line| line.strip_prefix(name));
                hex::decode(line.unwrap().trim()).unwrap()
            };
            let (pk, message, signed) = (field("pk ="), field("msg ="), field("sm ="));
            let (signature, rest) = signed.split_at(2420);
            assert_eq!(rest, message);
            let key = expanded(variant, &pk);
            assert!(verify(variant, &key, &message, signature), "{name} {ran}");
            let mut other = message.clone();
            other[0] ^= 1;
            assert!(!verify(variant, &key, &other, signature), "{name} {ran}");
            ran += 1;
        }
        assert_eq!(ran, 100, "{name}");
    }
}
