//! What a registered member can do with its own keys and its own code: it signs
//! whatever it likes.
#![allow(
    unreachable_pub,
    dead_code,
    reason = "a module of several test programs"
)]

use mladsa_aggregate::*;
use mldsa_core::hazmat::Shake256;
use mldsa_core::{Backend, Context, MlDsa87, Randomness, SigningKey};

use crate::committee::bytes32;

pub fn shake<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut out = [0; N];
    Shake256::digest(Backend::detect().permutation(), &[bytes], &mut out);
    out
}

pub fn lp(parts: &[&[u8]]) -> Vec<u8> {
    let framed = parts.iter().map(|part| {
        let len = u32::try_from(part.len()).unwrap();
        [&len.to_be_bytes()[..], part].concat()
    });
    framed.collect::<Vec<_>>().concat()
}

/// The registration key of member `id` of the tests.
pub fn registration_key(id: &MemberId) -> SigningKey<MlDsa87> {
    let name = core::str::from_utf8(id.as_bytes()).unwrap();
    let number = name.strip_prefix("member-").unwrap().parse().unwrap();
    SigningKey::from_seed(&bytes32("xi", number))
}

pub fn sign(id: &MemberId, ctx: &[u8], message: &[u8]) -> Vec<u8> {
    let ctx = Context::new(ctx).unwrap();
    let key = registration_key(id);
    let signature = key.sign(message, ctx, Randomness::Deterministic).unwrap();
    signature.as_ref().to_vec()
}

/// Any message at all, properly signed.
pub fn message(
    id: &MemberId,
    part: u8,
    label: &ContentLabel,
    about: &[u8],
    body: &[u8],
    agreed: &AgreedRoots,
) -> Message {
    let mut bytes = b"MLADSAM2".to_vec();
    bytes.push(part);
    bytes.extend(lp(&[id.as_bytes(), label.as_bytes()]));
    bytes.extend(agreed.plan().epoch().to_be_bytes());
    bytes.extend(agreed.digest());
    bytes.extend(about);
    bytes.extend(lp(&[body]));
    let digest: [u8; 64] = shake(&lp(&[b"F.msg", &bytes]));
    bytes.extend(sign(id, b"F.msg", &digest));
    agreed.receive(&bytes).unwrap()
}

pub fn opening(
    member: &Member,
    label: &ContentLabel,
    body: &[u8],
    agreed: &AgreedRoots,
) -> Message {
    message(member.id(), 1, label, &[0; 64], body, agreed)
}

/// The same message with another body.
pub fn with_body(member: &Member, message: &Message, body: &[u8], agreed: &AgreedRoots) -> Message {
    let part = match message.part() {
        Part::Opening => 1,
        Part::Commitment => 2,
        Part::Response => 3,
    };
    self::message(
        member.id(),
        part,
        message.label(),
        message.about(),
        body,
        agreed,
    )
}

/// A second commitment to the same round.
pub fn other_commitment(member: &Member, message: &Message, agreed: &AgreedRoots) -> Message {
    let mut body = message.body().to_vec();
    body[0] ^= 1;
    with_body(member, message, &body, agreed)
}
