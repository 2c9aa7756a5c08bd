//! Vectors of the reject classes: one valid input for each set, and edits of it.

use mldsa_core::{Context, ParameterSet, Randomness, SigningKey};
use serde_json::{Value, json};

const CTX: &[u8] = b"validity/v1";
const MSG: &[u8] = b"a message that was signed";

/// Bytes of one verification.
#[derive(Clone)]
pub(super) struct Input {
    pub(super) pk: Vec<u8>,
    pub(super) ctx: Vec<u8>,
    pub(super) msg: Vec<u8>,
    pub(super) sig: Vec<u8>,
}

/// Change of a vector to the valid input: `field` is cut or filled with
/// zeros to `len` bytes, then `bytes` go to `at`.
struct Edit {
    field: &'static str,
    len: Option<usize>,
    at: usize,
    bytes: Vec<u8>,
}

fn put(field: &'static str, at: usize, bytes: &[u8]) -> Edit {
    Edit {
        field,
        len: None,
        at,
        bytes: bytes.to_vec(),
    }
}

fn resize(field: &'static str, len: usize) -> Edit {
    Edit {
        field,
        len: Some(len),
        at: 0,
        bytes: Vec::new(),
    }
}

/// `(what, reason, edits)`; the reason of a valid input is `None`.
type Case = (&'static str, Option<&'static str>, Vec<Edit>);

fn valid<P: ParameterSet>() -> Input {
    let key = SigningKey::<P>::from_seed(&[0x5a; 32]);
    // The first message whose signature has two hints in the first polynomial
    // and room for one more, so that every fault of a hint can be made of it.
    for n in 0u8.. {
        let msg = [MSG, &[n]].concat();
        let ctx = Context::new(CTX).unwrap();
        let sig = key
            .sign_with_context(&msg, ctx, Randomness::Deterministic)
            .unwrap();
        let (hint_at, omega) = hint::<P>();
        let hint = &sig.as_ref()[hint_at..];
        if hint[omega] >= 2 && usize::from(hint[omega + P::K - 1]) < omega {
            return Input {
                pk: key.verifying_key().as_bytes().as_ref().to_vec(),
                ctx: CTX.to_vec(),
                msg,
                sig: sig.as_ref().to_vec(),
            };
        }
    }
    unreachable!("256 messages without such a signature");
}

/// Offset of the hint, and omega.
fn hint<P: ParameterSet>() -> (usize, usize) {
    (P::SIG_LEN - P::PARAMS.omega - P::K, P::PARAMS.omega)
}

/// `bytes` of z with its first coefficient replaced by gamma1 - `packed`.
fn first_z<P: ParameterSet>(sig: &[u8], packed: u32) -> Edit {
    let bits = 1 + P::PARAMS.gamma1_bits;
    let at = P::C_TILDE_LEN;
    let old = u32::from_le_bytes(sig[at..at + 4].try_into().unwrap());
    let new = old >> bits << bits | packed;
    put("sig", at, &new.to_le_bytes())
}

const CONTEXT: &str = "context_too_long";
const KEY: &str = "public_key_length";
const LENGTH: &str = "signature_length";
const HINT: &str = "hint_encoding";
const NORM: &str = "response_norm";
const CHALLENGE: &str = "challenge_mismatch";

fn case(what: &'static str, reason: &'static str, edit: Edit) -> Case {
    (what, Some(reason), vec![edit])
}

fn cases<P: ParameterSet>(base: &Input) -> Vec<Case> {
    let sig = &base.sig;
    let (hint_at, omega) = hint::<P>();
    let hint = &sig[hint_at..];
    let count = usize::from(hint[omega + P::K - 1]);
    let counters = hint_at + omega;
    let (gamma1, beta) = (1u32 << P::PARAMS.gamma1_bits, P::PARAMS.beta() as u32);
    let flip = |at: usize| put("sig", at, &[sig[at] ^ 1]);
    let hint_fault = put("sig", P::SIG_LEN - 1, &[0xff]);
    let hint_fault_again = put("sig", P::SIG_LEN - 1, &[0xff]);
    let mut fewer = hint.to_vec();
    fewer[count - 1] = 0;
    let last = fewer[omega + P::K - 1];
    for counter in &mut fewer[omega..] {
        *counter = (*counter).min(last - 1);
    }
    vec![
        ("valid", None, vec![]),
        case("context of 256 bytes", CONTEXT, resize("ctx", 256)),
        case("key one byte short", KEY, resize("pk", P::PK_LEN - 1)),
        case("key one byte long", KEY, resize("pk", P::PK_LEN + 1)),
        case("empty key", KEY, resize("pk", 0)),
        case(
            "signature one byte short",
            LENGTH,
            resize("sig", P::SIG_LEN - 1),
        ),
        case(
            "signature one byte long",
            LENGTH,
            resize("sig", P::SIG_LEN + 1),
        ),
        case("empty signature", LENGTH, resize("sig", 0)),
        case("hint counter above omega", HINT, hint_fault),
        case(
            "hint counter below the one before",
            HINT,
            put("sig", counters + 1, &[hint[omega] - 1]),
        ),
        case(
            "two equal hint indices",
            HINT,
            put("sig", hint_at + 1, &hint[..1]),
        ),
        case(
            "hint indices in falling order",
            HINT,
            put("sig", hint_at, &[hint[1], hint[0]]),
        ),
        case(
            "unused hint byte not zero",
            HINT,
            put("sig", hint_at + omega - 1, &[1]),
        ),
        case("z = gamma1 - beta", NORM, first_z::<P>(sig, beta)),
        case(
            "z = beta - gamma1",
            NORM,
            first_z::<P>(sig, 2 * gamma1 - beta),
        ),
        case("z = gamma1", NORM, first_z::<P>(sig, 0)),
        case(
            "z = 1 - gamma1, the other end",
            NORM,
            first_z::<P>(sig, 2 * gamma1 - 1),
        ),
        case(
            "last coefficient of z",
            NORM,
            put("sig", hint_at - 3, &[0; 3]),
        ),
        case(
            "z = gamma1 - beta - 1, allowed",
            CHALLENGE,
            first_z::<P>(sig, beta + 1),
        ),
        case(
            "z = beta + 1 - gamma1, allowed",
            CHALLENGE,
            first_z::<P>(sig, 2 * gamma1 - beta - 1),
        ),
        case("first bit of the challenge", CHALLENGE, flip(0)),
        case(
            "last byte of the challenge",
            CHALLENGE,
            flip(P::C_TILDE_LEN - 1),
        ),
        case("a bit of z", CHALLENGE, flip(P::C_TILDE_LEN + 100)),
        case("one hint less", CHALLENGE, put("sig", hint_at, &fewer)),
        case(
            "another message",
            CHALLENGE,
            resize("msg", base.msg.len() + 1),
        ),
        case("empty message", CHALLENGE, resize("msg", 0)),
        case("empty context", CHALLENGE, resize("ctx", 0)),
        case("another context", CHALLENGE, put("ctx", 0, b"V")),
        case("a bit of rho", CHALLENGE, put("pk", 0, &[base.pk[0] ^ 1])),
        case("a bit of t1", CHALLENGE, put("pk", 40, &[base.pk[40] ^ 1])),
        (
            "all zero",
            Some("response_norm"),
            vec![resize("sig", 0), resize("sig", P::SIG_LEN)],
        ),
        (
            "hint and norm",
            Some("hint_encoding"),
            vec![first_z::<P>(sig, 0), hint_fault_again],
        ),
        (
            "norm and challenge",
            Some("response_norm"),
            vec![first_z::<P>(sig, 0), flip(0)],
        ),
        (
            "lengths of key and signature",
            Some("public_key_length"),
            vec![resize("sig", 5), resize("pk", 5)],
        ),
    ]
}

pub(super) fn set<P: ParameterSet>() -> Value {
    let base = valid::<P>();
    let cases: Vec<Value> = cases::<P>(&base)
        .iter()
        .map(|(what, reason, edits)| {
            let edits: Vec<Value> = edits
                .iter()
                .map(|edit| {
                    let mut value = json!({ "field": edit.field });
                    if let Some(len) = edit.len {
                        value["len"] = len.into();
                    }
                    if !edit.bytes.is_empty() {
                        value["at"] = edit.at.into();
                        value["bytes"] = hex::encode(&edit.bytes).into();
                    }
                    value
                })
                .collect();
            json!({ "what": what, "reason": reason, "edits": edits })
        })
        .collect();
    json!({
        "set": P::NAME,
        "pk": hex::encode(&base.pk),
        "ctx": hex::encode(&base.ctx),
        "msg": hex::encode(&base.msg),
        "sig": hex::encode(&base.sig),
        "cases": cases,
    })
}
