//! Functions that are not constant time, each in another way: every one has to be refused.

use core::hint::black_box;

use mldsa_core::internals::{self, SEED_LEN, ct, hint, sample};
use mldsa_core::{Backend, MlDsa44};

use super::harness::{Operation, batch_arguments, operation, sign_batch, value};
use crate::terms::secret::{ALL, K};

type Seed = [u8; SEED_LEN];

/// Something that takes time.
#[inline(never)]
fn work(secret: &Seed, out: &mut Seed) {
    internals::Shake256::digest(Backend::PORTABLE.permutation(), &[secret], out);
}

#[inline(never)]
fn branch(_: Backend, secret: &Seed, out: &mut Seed) {
    if secret[3] > 7 {
        work(secret, out);
    }
}

#[inline(never)]
fn index(_: Backend, secret: &Seed, out: &mut Seed) {
    out[usize::from(secret[3] & 31)] = 1;
}

#[inline(never)]
fn division(_: Backend, secret: &Seed, out: &mut Seed) {
    out[0] = secret[3] / (secret[4] | 1);
}

#[inline(never)]
fn early_end(_: Backend, secret: &Seed, out: &mut Seed) {
    out[0] = secret.iter().position(|&byte| byte == 7).unwrap_or(32) as u8;
}

/// Has the name of a function that has branches on what is public.
#[inline(never)]
fn sign_many(_: Backend, secret: &Seed, out: &mut Seed) {
    #[inline(never)]
    fn sign_many(secret: &Seed, out: &mut Seed) {
        if secret[3] > 7 {
            work(secret, out);
        }
    }
    sign_many(secret, out);
}

/// Gives a secret to a function that is not executed, and branches on its result.
#[inline(never)]
fn challenge_of_secret(_: Backend, secret: &Seed, out: &mut Seed) {
    let permutation = Backend::PORTABLE.permutation();
    let c = sample::Challenge::sample_in_ball_vartime(permutation, 39, secret);
    if c.0[200] != 0 {
        work(secret, out);
    }
}

/// Packs hints before they are declassified, and branches on the packed bytes.
#[inline(never)]
fn hints_too_early(_: Backend, secret: &Seed, out: &mut Seed) {
    let mut packed = [0; 84];
    hint::hint_bit_pack_vartime([*secret; 4].as_flattened(), 80, &mut packed);
    if packed[3] == 77 {
        work(secret, out);
    }
}

/// Branches on a verdict that is returned and not declassified.
#[inline(never)]
fn reason_of_secret(_: Backend, secret: &Seed, out: &mut Seed) {
    #[inline(never)]
    fn respond_hints(secret: &Seed) -> bool {
        ct::is_negative(i32::from(secret[3]) - 8)
    }
    if respond_hints(secret) {
        work(secret, out);
    }
}

/// Declassifies, for the reason of another value, one that depends on more inputs.
#[inline(never)]
fn verdict_of_more(_: Backend, secret: &Seed, out: &mut Seed) {
    let verdict = ct::is_negative(i32::from(secret[3]) - 8);
    if internals::declassify(verdict, "verdict of a key import") {
        work(secret, out);
    }
}

/// Declassifies for a reason that nothing else has.
#[inline(never)]
fn reason_of_its_own(_: Backend, secret: &Seed, out: &mut Seed) {
    let verdict = ct::is_negative(i32::from(secret[3]) - 8);
    if internals::declassify(verdict, "a reason of its own") {
        work(secret, out);
    }
}

/// Calls a function whose name contains that of one that is not executed.
#[inline(never)]
fn words_of_block(_: Backend, secret: &Seed, out: &mut Seed) {
    #[inline(never)]
    fn words_from_block(block: &Seed) -> [u8; 257] {
        static TABLE: [u8; 256] = [7; 256];
        let mut words = [0; 257];
        for (word, byte) in words.iter_mut().zip(block) {
            *word = black_box(&TABLE)[usize::from(*byte)] ^ *byte;
        }
        words
    }
    if words_from_block(secret)[3] > 7 {
        work(secret, out);
    }
}

/// The leaks except for the one in a batch.
pub(super) fn leaks() -> impl Iterator<Item = Operation> {
    type Leak = fn(Backend, &Seed, &mut Seed);
    let all: [(&str, Leak); 11] = [
        ("branch", branch),
        ("index", index),
        ("division", division),
        ("early end", early_end),
        ("branch of a listed name", sign_many),
        ("challenge of a secret", challenge_of_secret),
        ("hints that are packed too early", hints_too_early),
        ("verdict that is not declassified", reason_of_secret),
        ("declassified verdict of more inputs", verdict_of_more),
        ("declassified for a reason of its own", reason_of_its_own),
        (
            "table in a function with a part of a listed name",
            words_of_block,
        ),
    ];
    all.into_iter().map(|(name, leak)| {
        let arguments = vec![value::<Seed>(K), value::<Seed>(ALL)];
        operation("planted", 1, (name, leak as usize, arguments))
    })
}

/// The leak in a batch.
pub(super) fn leak() -> Operation {
    let function = sign_batch::<MlDsa44, true> as *const () as usize;
    let arguments = batch_arguments::<MlDsa44>();
    operation("planted", 4, ("leak in a batch", function, arguments))
}
