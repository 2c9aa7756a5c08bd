//! A registered member with its own code: it can sign any message.
#![allow(
    unreachable_pub,
    dead_code,
    reason = "a module of several test programs"
)]

use mladsa_aggregate::steps::*;
use mladsa_aggregate::*;
use mldsa_core::internals::Shake256;
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

/// The registration key of a member of the tests.
pub fn registration_key(id: &MemberId) -> SigningKey<MlDsa87> {
    let name = core::str::from_utf8(id.as_bytes()).unwrap();
    let number = name.strip_prefix("member-").unwrap().parse().unwrap();
    SigningKey::from_seed(&bytes32("xi", number))
}

pub fn sign(id: &MemberId, ctx: &[u8], message: &[u8]) -> Vec<u8> {
    let ctx = Context::new(ctx).unwrap();
    let key = registration_key(id);
    let signature = key
        .sign_with_context(message, ctx, Randomness::Deterministic)
        .unwrap();
    signature.as_ref().to_vec()
}

/// Any message with a valid signature.
pub fn message(
    id: &MemberId,
    kind: u8,
    attempt: &AttemptId,
    about: &[u8],
    body: &[u8],
    agreed: &AgreedRoots,
) -> SignedMessage {
    let mut bytes = b"MLADSAM4".to_vec();
    bytes.push(kind);
    bytes.extend(lp(&[id.as_bytes(), attempt.as_bytes()]));
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
    attempt: &AttemptId,
    body: &[u8],
    agreed: &AgreedRoots,
) -> SignedMessage {
    message(member.id(), 1, attempt, &[0; 64], body, agreed)
}

/// The same message with another body.
pub fn with_body(
    member: &Member,
    message: &SignedMessage,
    body: &[u8],
    agreed: &AgreedRoots,
) -> SignedMessage {
    let kind = match message.kind() {
        MessageKind::Opening => 1,
        MessageKind::CommitmentHash => 2,
        MessageKind::Commitment => 3,
        MessageKind::Response => 4,
        MessageKind::Signers => 5,
    };
    self::message(
        member.id(),
        kind,
        message.attempt_id(),
        message.about(),
        body,
        agreed,
    )
}

/// The same message without its signature, and with another first byte in its body. Anyone can make
/// it.
pub fn without_signature(message: &SignedMessage, agreed: &AgreedRoots) -> SignedMessage {
    let mut bytes = message.to_bytes();
    let at = MESSAGE_HEAD + message.id().as_bytes().len() + message.attempt_id().as_bytes().len();
    bytes.truncate(at + message.body().len());
    bytes[at] ^= 1;
    agreed.receive(&bytes).unwrap()
}

/// Bytes of a message before its body, without sender and attempt.
const MESSAGE_HEAD: usize = 8 + 1 + 4 + 4 + 8 + 32 + 64 + 4;

/// A second commitment, or hash of one, to the same round.
pub fn other_commitment(
    member: &Member,
    message: &SignedMessage,
    agreed: &AgreedRoots,
) -> SignedMessage {
    let mut body = message.body().to_vec();
    body[0] ^= 1;
    with_body(member, message, &body, agreed)
}
