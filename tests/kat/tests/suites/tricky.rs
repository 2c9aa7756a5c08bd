//! Crafted cases, one rule each. With a public key whose `t1` is zero the
//! challenge drops out of the verification equation, so `z` and the hint can
//! be chosen freely and `c_tilde` computed to fit: everything else about the
//! signature is right and only the rule under test decides. Ours and the model
//! must name the rule; the peers must agree on the verdict.

use core::fmt::Display;

use mldsa_kat::hash::{HASHES, Hash, Source};
use mldsa_kat::model::{self, Model, Parts, Poly, commitment_hash, decompose, hint_bit_pack};
use mldsa_kat::scheme::{Message, PrivateKey, Reason, Verifier};
use mldsa_kat::set::Set;
use mldsa_kat::tally::{Tally, same};

use crate::all_verifiers::AllVerifiers;
use crate::{ours, peers};

mod inputs;

for_each_set!(response, hint, public_key, challenge);

const MSG: &[u8] = b"crafted";
const MESSAGE: Message<'static> = Message::pure(b"", MSG);

type Hint = Vec<[bool; 256]>;

fn pure<'a>(ctx: &'a [u8], msg: &'a [u8]) -> Message<'a> {
    Message::Pure { ctx, msg }
}

/// All verifiers, a public key, and a count of the cases.
struct CraftedCases {
    verifiers: AllVerifiers,
    /// [`free_key`] at first.
    pk: Vec<u8>,
    tally: Tally,
}

impl CraftedCases {
    fn new(set: &'static Set, suite: &str) -> Self {
        Self {
            verifiers: AllVerifiers::new(set),
            pk: free_key(set),
            tally: Tally::new(format!("{suite}, {}", set.name)),
        }
    }

    fn expect(
        &mut self,
        case: impl Display,
        message: Message<'_>,
        sig: &[u8],
        want: Result<(), Reason>,
    ) {
        let outcome = self.verifiers.agree(&self.pk, message, sig, want);
        self.tally.case(case, outcome);
    }

    /// A signature of [`MESSAGE`].
    fn signature(&mut self, case: impl Display, sig: &[u8], want: Result<(), Reason>) {
        self.expect(case, MESSAGE, sig, want);
    }
}

/// A key that does not bind: `t1 = 0`.
fn free_key(set: &Set) -> Vec<u8> {
    let mut pk = Source::new(b"free key").bytes(32);
    pk.resize(set.pk_len, 0);
    pk
}

/// Random responses within the bound.
fn some_z(set: &Set) -> Vec<Poly> {
    let mut source = Source::new(b"responses");
    let mut draw = || {
        let bytes: [u8; 8] = source.bytes(8).try_into().expect("8 bytes");
        (u64::from_le_bytes(bytes) >> 1) as i64 % (2 * set.z_max() + 1) - set.z_max()
    };
    (0..set.l)
        .map(|_| core::array::from_fn(|_| draw()))
        .collect()
}

fn no_hint(set: &Set) -> Hint {
    vec![[false; 256]; set.k]
}

fn hint_of(set: &Set, ones: &[(usize, usize)]) -> Hint {
    let mut hint = no_hint(set);
    ones.iter().for_each(|&(i, j)| hint[i][j] = true);
    hint
}

/// The signature with this `z` and hint under [`free_key`]; all that can be
/// wrong with it is what is wrong with `z`.
fn fit(set: &Set, z: &[Poly], hint: &Hint) -> Vec<u8> {
    let pk = free_key(set);
    let mu = model::mu(&pk, MESSAGE).expect("mu");
    let w_approx = model::w_approx(set, &pk, &vec![0; set.c_tilde_len()], z);
    let c_tilde = commitment_hash(set, &mu, &w_approx, hint);
    model::encode(
        set,
        &Parts {
            c_tilde,
            z: z.to_vec(),
            hint: hint_bit_pack(set, hint),
        },
    )
}

/// [`fit`], with other bytes for the same hint.
fn fit_encoded(set: &Set, hint: &Hint, bytes: Vec<u8>) -> Vec<u8> {
    let mut sig = fit(set, &some_z(set), hint);
    sig.truncate(set.sig_len - bytes.len());
    sig.extend(bytes);
    sig
}

fn response(set: &'static Set) {
    let mut crafted = CraftedCases::new(set, "response z");
    let max = set.z_max();
    let places = [
        (0, 0),
        (0, 255),
        (set.l - 1, 0),
        (set.l - 1, 255),
        (set.l / 2, 101),
    ];
    let too_large = Err(Reason::ResponseNorm);
    for (value, want) in [
        (max, Ok(())),
        (-max, Ok(())),
        (max + 1, too_large),
        (-max - 1, too_large),
        (max + 2, too_large),
        (set.gamma1(), too_large),      // code word all zeros
        (-set.gamma1() + 1, too_large), // code word all ones
    ] {
        for (i, j) in places {
            let mut z = some_z(set);
            z[i][j] = value;
            let sig = fit(set, &z, &no_hint(set));
            crafted.signature(format!("z[{i}][{j}] = {value}"), &sig, want);
        }
    }
    for value in [0, max, -max] {
        let sig = fit(set, &vec![[value; 256]; set.l], &no_hint(set));
        crafted.signature(format!("all z = {value}"), &sig, Ok(()));
    }
    // Every place; the norm is looked at before the challenge.
    let good = fit(set, &some_z(set), &no_hint(set));
    for place in 0..256 * set.l {
        let (i, j) = (place / 256, place % 256);
        let value = if (i + j) % 2 == 0 { max + 1 } else { -max - 1 };
        let mut parts = model::decode(set, &good);
        parts.z[i][j] = value;
        let sig = model::encode(set, &parts);
        crafted.signature(format!("z[{i}][{j}] = {value}"), &sig, too_large);
    }
    crafted.tally.finish(7 * 5 + 3 + 256 * set.l);
}

fn hint(set: &'static Set) {
    let mut crafted = CraftedCases::new(set, "hint");
    let (omega, k) = (set.omega, set.k);
    let z = some_z(set);
    let spread: Vec<_> = (0..omega).map(|n| (n % k, 3 * (n / k))).collect();
    let good = [
        ("no ones", vec![]),
        ("omega ones, spread", spread),
        (
            "omega ones in the first",
            (0..omega).map(|n| (0, n)).collect(),
        ),
        (
            "omega ones in the last",
            (0..omega).map(|n| (k - 1, 255 - n)).collect(),
        ),
        (
            "first and last index",
            (0..k).flat_map(|i| [(i, 0), (i, 255)]).collect(),
        ),
        (
            "index falls to the next polynomial",
            vec![(0, 200), (1, 100), (2, 50)],
        ),
        (
            "index repeats in the next polynomial",
            (0..k).map(|i| (i, 77)).collect(),
        ),
    ];
    for (case, ones) in good {
        let sig = fit(set, &z, &hint_of(set, &ones));
        crafted.signature(case, &sig, Ok(()));
    }
    for (case, place) in wrapping_places(set, &z) {
        let sig = fit(set, &z, &hint_of(set, &[place]));
        crafted.signature(case, &sig, Ok(()));
    }

    // The same ones, written differently: to a lenient reader c_tilde fits.
    let three = hint_of(set, &[(0, 10), (0, 20), (0, 30)]);
    let three_bytes = hint_bit_pack(set, &three);
    let mut rewrite = |case: String, change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = three_bytes.clone();
        change(&mut bytes);
        let sig = fit_encoded(set, &three, bytes);
        crafted.signature(case, &sig, Err(Reason::HintEncoding));
    };
    rewrite("indices fall".into(), &|bytes| bytes.swap(0, 1));
    rewrite("last indices fall".into(), &|bytes| bytes.swap(1, 2));
    rewrite("index repeats".into(), &|bytes| {
        bytes[3] = 30;
        bytes[omega..].fill(4);
    });
    for position in 3..omega {
        rewrite(format!("padding byte {position}"), &|bytes| {
            bytes[position] = 1
        });
    }
    rewrite("last padding byte 255".into(), &|bytes| {
        bytes[omega - 1] = 255
    });
    for i in 1..k {
        rewrite(format!("count {i} falls"), &|bytes| bytes[omega + i] = 2);
        rewrite(format!("count {i} falls to zero"), &|bytes| {
            bytes[omega + i] = 0
        });
    }
    for i in 0..k {
        for count in [omega as u8 + 1, omega as u8 + k as u8, 255] {
            rewrite(format!("count {i} is {count}"), &|bytes| {
                // Indices that rise everywhere, so that only the count is wrong.
                (0..omega).for_each(|n| bytes[n] = n as u8);
                bytes[omega + i..].fill(count);
            });
        }
    }
    crafted
        .tally
        .finish(7 + 4 + 3 + (omega - 3) + 1 + 2 * (k - 1) + 3 * k);
}

/// Coefficients where a hint changes the high bits over the end of their
/// range, and the two plain directions.
fn wrapping_places(set: &Set, z: &[Poly]) -> [(&'static str, (usize, usize)); 4] {
    let w = model::w_approx(set, &free_key(set), &vec![0; set.c_tilde_len()], z);
    let find = |wanted: &dyn Fn(i64, i64) -> bool| {
        let mut places = (0..set.k).flat_map(|i| (0..256).map(move |j| (i, j)));
        places
            .find(|&(i, j)| {
                let (r1, r0) = decompose(set.gamma2, w[i][j]);
                wanted(r1, r0)
            })
            .expect("a coefficient of the kind")
    };
    let top = set.w1_values() - 1;
    [
        (
            "w1 wraps from top to 0",
            find(&|r1, r0| r1 == top && r0 > 0),
        ),
        ("w1 wraps from 0 to top", find(&|r1, r0| r1 == 0 && r0 <= 0)),
        ("w1 increases", find(&|r1, r0| r1 < top && r0 > 0)),
        ("w1 decreases", find(&|r1, r0| r1 > 0 && r0 <= 0)),
    ]
}

/// Every key of the right length is a key.
fn public_key(set: &'static Set) {
    let mut crafted = CraftedCases::new(set, "public key");
    let sig = fit(set, &some_z(set), &no_hint(set));
    let wrong = Err(Reason::ChallengeMismatch);
    crafted.signature("t1 all zero", &sig, Ok(()));
    crafted.pk.fill(0);
    crafted.signature("other rho", &sig, wrong);

    // t1 * 2^13 = q - 1: the challenge adds at most tau to a coefficient, so a
    // commitment guessed without it fits unless one is at an edge.
    let mut pk = free_key(set);
    pk[32..].fill(0xff);
    let mu = model::mu(&pk, MESSAGE).expect("mu");
    let sig = (0..100)
        .map(|shift| {
            let z: Vec<Poly> = some_z(set)
                .iter()
                .map(|z| z.map(|z| z / 2 + shift))
                .collect();
            let w = model::w_approx(set, &free_key(set), &vec![0; set.c_tilde_len()], &z);
            let c_tilde = commitment_hash(set, &mu, &w, &no_hint(set));
            model::encode(
                set,
                &Parts {
                    c_tilde,
                    z,
                    hint: hint_bit_pack(set, &no_hint(set)),
                },
            )
        })
        .find(|sig| Model(set).verify(&pk, MESSAGE, sig).is_ok())
        .expect("a fitting signature");
    crafted.pk = pk;
    crafted.signature("t1 all 1023", &sig, Ok(()));
    crafted.pk[32] ^= 1;
    crafted.signature("t1 one bit off", &sig, wrong);
    crafted.tally.finish(4);
}

fn challenge(set: &'static Set) {
    let mut crafted = CraftedCases::new(set, "challenge");
    let pk = free_key(set);
    let wrong = Err(Reason::ChallengeMismatch);
    let good = fit(set, &some_z(set), &no_hint(set));
    for position in 0..set.c_tilde_len() {
        let mut sig = good.clone();
        sig[position] ^= 1;
        crafted.signature(format!("byte {position}"), &sig, wrong);
    }

    // A comparison of strings would stop at the leading zero.
    let w_approx = model::w_approx(set, &pk, &good[..set.c_tilde_len()], &some_z(set));
    let (msg, c_tilde) = (0u32..)
        .map(|n| {
            let msg = n.to_le_bytes();
            let mu = model::mu(&pk, Message::pure(b"", &msg)).expect("mu");
            (msg, commitment_hash(set, &mu, &w_approx, &no_hint(set)))
        })
        .find(|(_, c_tilde)| c_tilde[0] == 0)
        .expect("endless");
    let message = Message::pure(b"", &msg);
    let mut sig = good.clone();
    sig[..set.c_tilde_len()].copy_from_slice(&c_tilde);
    crafted.expect("leading zero", message, &sig, Ok(()));
    sig[1..set.c_tilde_len()]
        .iter_mut()
        .for_each(|byte| *byte = !*byte);
    crafted.expect("leading zero, rest wrong", message, &sig, wrong);

    // More than one rule broken: hint before norm before challenge.
    let mut parts = model::decode(set, &good);
    parts.c_tilde[0] ^= 1;
    parts.z[0][0] = set.gamma1();
    let sig = model::encode(set, &parts);
    crafted.signature("norm and challenge", &sig, Err(Reason::ResponseNorm));
    parts.hint[0] = 1;
    let mut sig = model::encode(set, &parts);
    crafted.signature("all three", &sig, Err(Reason::HintEncoding));
    sig.pop();
    crafted.signature("and length", &sig, Err(Reason::SignatureLength));
    crafted.tally.finish(set.c_tilde_len() + 2 + 3);
}
