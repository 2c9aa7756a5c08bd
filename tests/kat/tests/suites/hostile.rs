//! Bytes of any content and length into every call that takes bytes: the
//! model's verdict and reason, and never a panic.

use mldsa_kat::model::Model;
use mldsa_kat::scheme::{Message, PrivateKey, Reason, Verifier};
use mldsa_kat::set::{SETS, Set};
use mldsa_kat::tally::Tally;
use proptest::collection::vec;
use proptest::prelude::{Strategy, any};
use proptest::strategy::Union;

use crate::differential::random;
use crate::{all_verifiers::AllVerifiers, ours, peers};

for_each_set!(every_length, random_verification);

const MESSAGE: Message<'static> = Message::pure(b"ctx", b"message");

/// Every truncation and some extensions of good bytes.
fn every_length(set: &'static Set) {
    let [peer, _] = peers::schemes(set);
    let pair = peer.load(PrivateKey::Seed(&[5; 32])).expect("a seed");
    let sig = peer
        .sign(PrivateKey::Expanded(&pair.sk), MESSAGE, None)
        .expect("a signature");
    let resized = |good: &[u8], len| {
        let mut bytes = good.to_vec();
        bytes.resize(len, 0);
        bytes
    };
    // Also the lengths of every set, the double and a power of two.
    let lens = |own: usize| {
        let of_sets = SETS.map(|set| [set.pk_len, set.sk_len, set.sig_len]);
        let far = of_sets.into_iter().flatten().chain([2 * own, 1 << 16]);
        (0..=own + 64)
            .chain(far.filter(move |len| *len > own + 64))
            .filter(move |len| *len != own)
    };
    let model: Box<dyn Verifier> = Box::new(Model(set));
    for verifier in ours::verifiers(set).into_iter().chain([model]) {
        let mut tally = Tally::new(format!("every length, {}", verifier.name()));
        for len in lens(set.sig_len) {
            let verdict = verifier.verify(&pair.pk, MESSAGE, &resized(&sig, len));
            tally.equal(
                format!("signature of {len}"),
                verdict,
                Err(Reason::SignatureLength),
            );
        }
        for len in lens(set.pk_len) {
            let verdict = verifier.verify(&resized(&pair.pk, len), MESSAGE, &sig);
            tally.equal(
                format!("public key of {len}"),
                verdict,
                Err(Reason::KeyLength),
            );
        }
        tally.finish(lens(set.sig_len).count() + lens(set.pk_len).count());
    }
    for scheme in ours::schemes(set) {
        let mut tally = Tally::new(format!("every key length, {}", scheme.name()));
        for len in lens(set.sk_len) {
            let sk = resized(&pair.sk, len);
            let rejected = scheme.load(PrivateKey::Expanded(&sk)).err();
            tally.equal(
                format!("private key of {len}"),
                rejected,
                Some(Reason::KeyLength),
            );
            let rejected = scheme.sign(PrivateKey::Expanded(&sk), MESSAGE, None).err();
            tally.equal(
                format!("signing with {len}"),
                rejected,
                Some(Reason::KeyLength),
            );
        }
        for len in (0..100).filter(|len| *len != 32) {
            let rejected = scheme.load(PrivateKey::Seed(&vec![1; len])).err();
            tally.equal(format!("seed of {len}"), rejected, Some(Reason::KeyLength));
        }
        tally.finish(2 * lens(set.sk_len).count() + 99);
    }
}

/// Random bytes, most of them of the right length.
fn bytes_around(len: usize) -> impl Strategy<Value = Vec<u8>> {
    Union::new_weighted(vec![
        (6, vec(any::<u8>(), len).boxed()),
        (1, vec(any::<u8>(), 0..2 * len).boxed()),
        (
            1,
            vec(proptest::sample::select(vec![0u8, 0xff]), len).boxed(),
        ),
    ])
}

fn random_verification(set: &'static Set) {
    let verifiers = AllVerifiers::new(set);
    // A signature with a hint that decodes gets further.
    let sig = (bytes_around(set.sig_len), any::<bool>()).prop_map(|(mut sig, no_hint)| {
        if no_hint && sig.len() == set.sig_len {
            sig[set.sig_len - set.omega - set.k..].fill(0);
        }
        sig
    });
    let strategy = (bytes_around(set.pk_len), sig, vec(any::<u8>(), 0..400));
    random(
        "random bytes to verify",
        set,
        150,
        strategy,
        |(pk, sig, ctx)| {
            let message = Message::pure(&ctx, b"m");
            let want = verifiers.model.verify(&pk, message, &sig);
            verifiers.agree(&pk, message, &sig, want)
        },
    );
}
