//! Structured mutations: every field, both sides of every bound, and signatures whose z and hint
//! are free because t1 is zero.

use batch_verify::RejectReason;
use mldsa_core::internals::{
    CommitmentHash, NttPoly, Poly, Zeroed, field, hint, ntt, pack, rounding, sample,
    signature_parts_mut,
};
use mldsa_core::{Context, Mu, ParameterSet, Randomness, SigningKey, VerifyingKey};
use mldsa_kat::tally::say;

use super::Opened;
use super::agreement::{Case, Content, agree, mu};
use super::published::for_each_set;
use crate::probe::{Random, set_z};

for_each_set!(mutations);

fn bytes(random: &mut Random, len: usize) -> Vec<u8> {
    (0..len).map(|_| random.next() as u8).collect()
}

fn of<T: Copy>(random: &mut Random, choices: &[T]) -> T {
    choices[random.below(choices.len())]
}

fn flip(bytes: &mut [u8], bit: usize) {
    bytes[bit / 8] ^= 1 << (bit % 8);
}

/// A valid signature under a key whose t1 is zero: any z within its bound and any hint will do.
fn free<P: ParameterSet>(key: &VerifyingKey<P>, mu: &Mu, random: &mut Random) -> Vec<u8> {
    let p = &P::PARAMS;
    let rho = key.as_bytes().as_ref().first_chunk().expect("rho");
    let mut matrix: Vec<NttPoly> = (0..p.k * p.l).map(|_| NttPoly::zeroed()).collect();
    sample::expand_a(rho, p.l, 0, &mut matrix);
    let bound = p.gamma1() - p.beta() - 1;
    let style = random.below(3);
    let mut z: Vec<Poly> = (0..p.l).map(|_| Poly::zeroed()).collect();
    for value in z.iter_mut().flat_map(|z| &mut z.0) {
        *value = match style {
            0 => of(random, &[bound, -bound, 0, 1, -1]),
            1 => random.below(2 * bound as usize + 1) as i32 - bound,
            _ => bound,
        };
    }
    let mut bitmap = vec![0_u8; p.k * 32];
    let mut ones = of(random, &[0, p.omega, 1, p.omega / 2]);
    let rows = of(random, &[1, p.k]);
    while ones > 0 {
        let at = random.below(rows * 256);
        ones -= usize::from(bitmap[at / 8] >> (at % 8) & 1 == 0);
        bitmap[at / 8] |= 1 << (at % 8);
    }
    let transform = |z: &Poly| {
        let mut out = NttPoly::zeroed();
        ntt::ntt(z, &mut out);
        out
    };
    let z_hat: Vec<NttPoly> = z.iter().map(transform).collect();
    let mut hash = CommitmentHash::new(key.backend().permutation(), mu);
    for (row, bits) in matrix.chunks(p.l).zip(bitmap.chunks(32)) {
        let (mut product, mut w) = (NttPoly::zeroed(), Poly::zeroed());
        ntt::row_product(row, &z_hat, &mut product);
        ntt::inv_ntt(&product, &mut w);
        for (n, w) in w.0.iter_mut().enumerate() {
            let hint = i32::from(bits[n / 8] >> (n % 8) & 1);
            *w = rounding::use_hint_vartime(p.gamma2, hint, field::canonical(*w));
        }
        let mut encoded = vec![0; p.w1_poly_len()];
        pack::w1_encode(p.gamma2, &w, &mut encoded, |a| a);
        hash.absorb_w1(&encoded);
    }
    let mut signature = vec![0; p.sig_len()];
    let (c_tilde, z_out, hint_out) = signature_parts_mut(p, &mut signature).expect("a length");
    hash.finish(c_tilde);
    for (z, out) in z.iter().zip(z_out.chunks_mut(p.z_poly_len())) {
        pack::pack_z(p.gamma1_bits, z, out);
    }
    hint::hint_bit_pack_vartime(&bitmap, p.omega, hint_out);
    signature
}

/// Every rule of the hint's encoding, on both sides where it is a bound.
fn change_hint<P: ParameterSet>(signature: &mut [u8], random: &mut Random) {
    let (omega, k) = (P::PARAMS.omega, P::K);
    let hint = &mut signature[P::SIG_LEN - omega - k..];
    let used = usize::from(hint[omega + k - 1]).min(omega);
    let row = random.below(k);
    match random.below(12) {
        0 if used > 1 => hint.swap(used - 1, used - 2),
        1 if used > 1 => hint[1] = hint[0],
        2 => hint[omega + row] = of(random, &[omega as u8, omega as u8 + 1, 255]),
        3 => hint[omega + row] = hint[omega + row].wrapping_sub(1),
        4 => hint[omega + row] = hint[omega + row].wrapping_add(1),
        5 if used < omega => hint[used + random.below(omega - used)] = 1,
        6 => {
            (0..omega).for_each(|n| hint[n] = (255 - omega + n) as u8);
            (0..k).for_each(|n| hint[omega + n] = if n < row { 0 } else { omega as u8 });
        }
        7 => hint[random.below(omega)] = random.next() as u8,
        8 => hint[omega + k - 1] = 0,
        9 => hint.fill(0),
        10 => hint.fill(0xff),
        _ => hint[omega + row] = random.below(omega + 2) as u8,
    }
}

fn mutations<P: Opened>() {
    let Some(gpu) = P::gpu() else { return };
    let p = &P::PARAMS;
    let random = &mut Random::from_seed(P::K as u64);
    let mut seed = || -> [u8; 32] { bytes(random, 32).try_into().expect("32 bytes") };
    let signers: Vec<SigningKey<P>> = (0..12).map(|_| SigningKey::from_seed(&seed())).collect();
    let mut free_keys = Vec::new();
    for _ in 0..4 {
        let mut key = vec![0; P::PK_LEN];
        key[..32].copy_from_slice(&seed());
        free_keys.push(VerifyingKey::<P>::from_bytes(&key).expect("a key"));
    }
    let mut cases = Vec::new();
    for n in 0..CASES {
        let class = n % 16;
        // Around the ends of words and of blocks of the hash, and beyond what the device hashes.
        let len = of(
            random,
            &[
                0, 1, 5, 6, 7, 32, 69, 70, 71, 77, 205, 206, 207, 2046, 2047, 3000,
            ],
        );
        let context_len = of(random, &[0, 0, 1, 14, 255]);
        let (mut context, mut message) = (bytes(random, context_len), bytes(random, len));
        let (bound, at) = (p.gamma1() - p.beta(), random.below(256 * p.l));
        let at = of(random, &[0, 255, 256 * p.l - 1, at]);
        let signer = random.below(signers.len());
        let mut key = signers[signer].verifying_key().as_ref().to_vec();
        let mut signature;
        if class < 3 {
            let free_key = &free_keys[random.below(free_keys.len())];
            let content = Content::Message {
                context: context.clone(),
                message: message.clone(),
            };
            signature = free(free_key, &mu(free_key, &content), random);
            key = free_key.as_bytes().as_ref().to_vec();
            if class == 2 {
                change_hint::<P>(&mut signature, random);
            }
        } else {
            let context = Context::new(&context).expect("a context");
            let signed =
                signers[signer].sign_with_context(&message, context, Randomness::Deterministic);
            signature = signed.expect("a signature").as_ref().to_vec();
        }
        match class {
            3 => flip(&mut signature, random.below(8 * p.c_tilde_len)),
            4 => flip(
                &mut signature,
                8 * p.c_tilde_len + random.below(8 * p.l * p.z_poly_len()),
            ),
            5 => set_z::<P>(&mut signature, at, of(random, &[bound - 1, 1 - bound])),
            6 => set_z::<P>(&mut signature, at, of(random, &[bound, -bound])),
            7 => set_z::<P>(
                &mut signature,
                at,
                of(random, &[p.gamma1(), 1 - p.gamma1()]),
            ),
            8 | 9 => change_hint::<P>(&mut signature, random),
            10 => {
                change_hint::<P>(&mut signature, random);
                set_z::<P>(&mut signature, at, bound);
            }
            11 => flip(&mut key, random.below(8 * P::PK_LEN)),
            12 => message.push(0),
            // The same bytes with another end of the context.
            13 => match context.pop() {
                Some(byte) => message.insert(0, byte),
                None => context.push(0),
            },
            14 => {
                signature = match random.below(3) {
                    0 => vec![0; P::SIG_LEN],
                    1 => vec![0xff; P::SIG_LEN],
                    _ => bytes(random, P::SIG_LEN),
                };
            }
            _ => {}
        }
        let content = Content::Message { context, message };
        cases.push(Case {
            what: format!("case {n} of class {class}"),
            key,
            content,
            signature,
        });
    }
    let verdicts = agree(gpu, &cases);
    let count = |reason| {
        verdicts
            .iter()
            .filter(|verdict| **verdict == reason)
            .count()
    };
    let counts = [
        count(Ok(())),
        count(Err(RejectReason::HintEncoding)),
        count(Err(RejectReason::ResponseNorm)),
        count(Err(RejectReason::ChallengeMismatch)),
    ];
    say(&format!(
        "mutations on the device, {}: {CASES} in 6 modes agree; valid, hint, norm, challenge: {counts:?}",
        P::NAME
    ));
    assert_eq!(counts.iter().sum::<usize>(), CASES);
    assert!(
        counts.iter().all(|count| *count >= CASES / 20),
        "{counts:?}"
    );
}

/// Of each set.
const CASES: usize = 1000;
