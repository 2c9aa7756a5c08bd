//! Every truncation, one byte more, and every change of one byte of every
//! encoding: an error, or a value whose encoding is what was read. A panic fails
//! the suite.
//!
//! [`Changes::All`] puts each of the 255 other values into each byte. Where every
//! change costs a key generation, [`Changes::Bits`] flips each bit of each byte
//! and puts 0x00 and 0xff there, unless `MLDSA_DAMAGE=all` asks for all values there
//! too.

use core::fmt::Display;
use std::sync::LazyLock;

use mldsa_core::pkcs8::{DecodePublicKey, EncodePrivateKey, EncodePublicKey, LineEnding};
use mldsa_core::{
    Context, ParameterSet, PrivateKeyForm, Randomness, SerializableSigningKey, Signature,
    SigningKey, VerifyingKey,
};
use mldsa_kat::tally::Tally;

for_each_type!(
    seeds,
    expanded_keys,
    combined_keys,
    public_keys,
    signatures,
    texts
);

fn key<P: ParameterSet>() -> SigningKey<P> {
    SigningKey::from_seed(&core::array::from_fn(|n| n as u8))
}

/// Which other values a byte takes.
#[derive(Clone, Copy)]
enum Changes {
    All,
    Bits,
}

use Changes::{All, Bits};

/// Acceptance of a change at a position: by none, by all, or not known.
fn never(_: usize) -> Option<bool> {
    Some(false)
}

fn always(_: usize) -> Option<bool> {
    Some(true)
}

fn unknown(_: usize) -> Option<bool> {
    None
}

impl Changes {
    fn of(self, byte: u8) -> Vec<u8> {
        let bits = (0..8).map(|bit| byte ^ 1 << bit);
        let mut values: Vec<u8> = match self {
            Self::Bits if !*EVERYTHING => bits.chain([0, 255]).collect(),
            Self::All | Self::Bits => (0..=255).collect(),
        };
        values.sort_unstable();
        values.dedup();
        values.retain(|value| *value != byte);
        values
    }
}

/// Whether all values are tried where each costs a key generation.
static EVERYTHING: LazyLock<bool> =
    LazyLock::new(|| std::env::var_os("MLDSA_DAMAGE").is_some_and(|value| value == "all"));

/// Positions to try: all of them in release builds, each 13th in others.
const STEP: usize = if cfg!(debug_assertions) { 13 } else { 1 };

/// Damages `good` in every way. `read` gives nothing, or whether what was read
/// is written as it was; `accepted` says whether a change at a position has to
/// be accepted, where that is known.
fn damage<P: ParameterSet>(
    what: impl Display,
    good: &[u8],
    changes: Changes,
    read: impl Fn(&[u8]) -> Option<bool>,
    accepted: impl Fn(usize) -> Option<bool>,
) {
    assert_eq!(read(good), Some(true), "undamaged");
    let mut tally = Tally::new(format!("{}, damaged {what}", P::NAME));
    let mut cases = 0;
    for len in (0..good.len()).step_by(STEP) {
        // PEM may lack its last line end.
        let verdict = read(&good[..len]).is_none_or(|same| same && len + 1 == good.len());
        tally.equal(format!("{len} bytes"), verdict, true);
        cases += 1;
    }
    for extra in [0, 0xff] {
        let verdict = read(&[good, &[extra]].concat());
        tally.equal(format!("{extra:#04x} more"), verdict.unwrap_or(true), true);
        cases += 1;
    }
    let mut changed = good.to_vec();
    for at in (0..good.len()).step_by(STEP) {
        for value in changes.of(good[at]) {
            changed[at] = value;
            let outcome = read(&changed);
            let expected = accepted(at).unwrap_or(outcome.is_some());
            tally.equal(
                format!("{value:#04x} at {at}"),
                outcome,
                expected.then_some(true),
            );
            cases += 1;
        }
        changed[at] = good[at];
    }
    tally.finish(cases);
}

fn from_der<P: ParameterSet>(der: &[u8], form: PrivateKeyForm) -> Option<bool> {
    let key = SigningKey::<P>::from_pkcs8_der(der).ok()?;
    Some(key.to_pkcs8_der_as(form).expect("a form it has").as_bytes() == der)
}

/// The seed alone: PKCS#8 and serde.
fn seeds<P: ParameterSet>() {
    let key = key::<P>();
    let exposed = SerializableSigningKey(self::key::<P>());

    let der = key.to_pkcs8_der().expect("encodes");
    let read = |der: &[u8]| from_der::<P>(der, PrivateKeyForm::Seed);
    damage::<P>("seed in PKCS#8", der.as_bytes(), All, read, |at| {
        Some(at >= 22)
    });

    let binary = postcard::to_stdvec(&exposed).expect("encodes");
    damage::<P>(
        "seed in serde, binary",
        &binary,
        All,
        binary_again::<SerializableSigningKey<P>>,
        |at| Some(at >= 1),
    );
    let json = serde_json::to_string(&exposed).expect("encodes");
    damage::<P>(
        "seed in serde, JSON",
        json.as_bytes(),
        All,
        json_again::<SerializableSigningKey<P>>,
        unknown,
    );
}

/// K, the second field, is the only part of an expanded key that no check covers.
fn expanded_keys<P: ParameterSet>() {
    let key = key::<P>();
    let k = |head: usize| move |at: usize| Some((head + 32..head + 64).contains(&at));
    let read = |bytes: &[u8]| {
        let key = SigningKey::<P>::from_expanded_bytes(bytes).ok()?;
        Some(key.expanded().as_ref() == bytes)
    };
    damage::<P>("expanded key", key.expanded().as_ref(), Bits, read, k(0));
    let der = key
        .to_pkcs8_der_as(PrivateKeyForm::Expanded)
        .expect("encodes");
    let read = |der: &[u8]| from_der::<P>(der, PrivateKeyForm::Expanded);
    damage::<P>("expanded key in PKCS#8", der.as_bytes(), Bits, read, k(28));
}

fn combined_keys<P: ParameterSet>() {
    let der = key::<P>()
        .to_pkcs8_der_as(PrivateKeyForm::Both)
        .expect("encodes");
    let read = |der: &[u8]| from_der::<P>(der, PrivateKeyForm::Both);
    damage::<P>(
        "seed and expanded key in PKCS#8",
        der.as_bytes(),
        Bits,
        read,
        never,
    );
}

fn public_keys<P: ParameterSet>() {
    let key = key::<P>();
    let vk = key.verifying_key();
    let read = |bytes: &[u8]| {
        let vk = VerifyingKey::<P>::from_bytes(bytes).ok()?;
        Some(vk.as_ref() == bytes)
    };
    damage::<P>("public key", vk.as_ref(), All, read, always);
    let der = vk.to_public_key_der().expect("encodes");
    let read = |der: &[u8]| {
        let vk = VerifyingKey::<P>::from_public_key_der(der).ok()?;
        Some(vk.to_public_key_der().expect("encodes").as_bytes() == der)
    };
    damage::<P>("SubjectPublicKeyInfo", der.as_bytes(), All, read, |at| {
        Some(at >= 22)
    });
    let binary = postcard::to_stdvec(vk).expect("encodes");
    damage::<P>(
        "public key in serde, binary",
        &binary,
        All,
        binary_again::<VerifyingKey<P>>,
        |at| Some(at >= 2),
    );
}

/// An encoding that still decodes has the same bytes and is no valid signature.
fn signatures<P: ParameterSet>() {
    let key = key::<P>();
    let message = b"every byte of it";
    let good = key
        .sign_with_context(message, Context::EMPTY, Randomness::Deterministic)
        .expect("signs");
    let prepared = key.verifying_key().prepare();
    let invalid = |bytes: &[u8]| {
        bytes == good.as_ref()
            || prepared
                .verify_with_context(message, Context::EMPTY, bytes)
                .is_err()
    };
    let read = |bytes: &[u8]| {
        let invalid = invalid(bytes);
        let signature = match Signature::<P>::from_bytes(bytes) {
            Ok(signature) => signature,
            Err(_) => return (!invalid).then_some(false),
        };
        Some(signature.as_ref() == bytes && invalid)
    };
    // The challenge hash may be anything.
    let c_tilde = |at: usize| (at < P::C_TILDE_LEN).then_some(true);
    damage::<P>("signature", good.as_ref(), All, read, c_tilde);
    let binary = postcard::to_stdvec(&good).expect("encodes");
    damage::<P>(
        "signature in serde, binary",
        &binary,
        All,
        binary_again::<Signature<P>>,
        unknown,
    );
}

/// postcard leaves what it does not need.
fn binary_again<T: serde::Serialize + serde::de::DeserializeOwned>(bytes: &[u8]) -> Option<bool> {
    let (value, rest) = postcard::take_from_bytes::<T>(bytes).ok()?;
    let again = postcard::to_stdvec(&value).expect("encodes");
    Some([&again, rest].concat() == bytes)
}

/// JSON is the same except for the case of its digits.
fn json_again<T: serde::Serialize + serde::de::DeserializeOwned>(json: &[u8]) -> Option<bool> {
    let value = serde_json::from_slice::<T>(json).ok()?;
    let again = serde_json::to_string(&value).expect("encodes");
    // Digits are read in any case; the name of a set only as it is written.
    Some(again.as_bytes().eq_ignore_ascii_case(json))
}

/// Hexadecimal digits and PEM.
fn texts<P: ParameterSet>() {
    let key = key::<P>();
    let vk = key.verifying_key();
    let good = key
        .sign_with_context(b"", Context::EMPTY, Randomness::Deterministic)
        .expect("signs");
    let json = serde_json::to_string(vk).expect("encodes");
    damage::<P>(
        "public key in serde, JSON",
        json.as_bytes(),
        Bits,
        json_again::<VerifyingKey<P>>,
        unknown,
    );
    let json = serde_json::to_string(&good).expect("encodes");
    damage::<P>(
        "signature in serde, JSON",
        json.as_bytes(),
        Bits,
        json_again::<Signature<P>>,
        unknown,
    );
    let expanded = SigningKey::<P>::from_expanded_bytes(key.expanded().as_ref()).expect("its own");
    let json = serde_json::to_string(&SerializableSigningKey(expanded)).expect("encodes");
    damage::<P>(
        "expanded key in serde, JSON",
        json.as_bytes(),
        Bits,
        json_again::<SerializableSigningKey<P>>,
        unknown,
    );

    // What is read has to be read again from what is written.
    for (form, name) in [
        (PrivateKeyForm::Seed, "seed in PEM"),
        (PrivateKeyForm::Expanded, "expanded key in PEM"),
        (PrivateKeyForm::Both, "seed and expanded key in PEM"),
    ] {
        let pem = key.to_pkcs8_pem_as(form, LineEnding::LF).expect("encodes");
        let read = |text: &[u8]| {
            let key = SigningKey::<P>::from_pkcs8_pem(core::str::from_utf8(text).ok()?).ok()?;
            let again = key
                .to_pkcs8_pem_as(form, LineEnding::LF)
                .expect("a form it has");
            Some(same_text(text, again.as_bytes()))
        };
        damage::<P>(name, pem.as_bytes(), Bits, read, unknown);
    }
    let pem = vk.to_public_key_pem(LineEnding::LF).expect("encodes");
    let read = |text: &[u8]| {
        let vk = VerifyingKey::<P>::from_public_key_pem(core::str::from_utf8(text).ok()?).ok()?;
        let again = vk.to_public_key_pem(LineEnding::LF).expect("encodes");
        Some(same_text(text, again.as_bytes()))
    };
    damage::<P>("public key in PEM", pem.as_bytes(), Bits, read, unknown);
}

/// Returns whether two texts have the same object of PEM: white space and the text around it are
/// not part of it (RFC 7468, section 2).
fn same_text(a: &[u8], b: &[u8]) -> bool {
    let object = |text: &[u8]| {
        let text = core::str::from_utf8(text).ok()?;
        let text = &text[text.find("-----BEGIN")?..text.rfind("-----")? + 5];
        let kept = |c: &char| !matches!(c, ' ' | '\t' | '\u{b}' | '\u{c}' | '\n' | '\r');
        Some(text.chars().filter(kept).collect::<String>())
    };
    object(a).is_some_and(|a| Some(a) == object(b))
}
