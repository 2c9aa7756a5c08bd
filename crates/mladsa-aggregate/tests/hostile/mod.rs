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

use crate::committee::{DOMAIN, bytes32};

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

/// The registration key of a member of the tests in an epoch, from the documented derivation.
pub fn registration_key(id: &MemberName, epoch: u64) -> SigningKey<MlDsa87> {
    let name = core::str::from_utf8(id.as_bytes()).unwrap();
    let number = name.strip_prefix("member-").unwrap().parse().unwrap();
    let content = lp(&[DOMAIN, &epoch.to_be_bytes()]);
    let prf = lp(&[b"F.prf", &bytes32("seed", number), b"F.reg", &content]);
    SigningKey::from_seed(&shake(&prf))
}

pub fn sign(id: &MemberName, epoch: u64, ctx: &[u8], message: &[u8]) -> Vec<u8> {
    let ctx = Context::new(ctx).unwrap();
    let key = registration_key(id, epoch);
    let signature = key
        .sign_with_context(message, ctx, Randomness::Deterministic)
        .unwrap();
    signature.as_ref().to_vec()
}

/// The bytes of any message, with a valid signature if its kind is signed.
pub fn bytes(
    id: &MemberName,
    kind: MessageKind,
    attempt: AttemptId,
    about: &[u8; 64],
    body: &[u8],
    committee: &SigningCommittee,
) -> Vec<u8> {
    let mut bytes = b"MLADSAM5".to_vec();
    bytes.push(match kind {
        MessageKind::Opening => 1,
        MessageKind::Signers => 2,
        MessageKind::CommitmentHash => 3,
        MessageKind::Commitment => 4,
        MessageKind::Response => 5,
        MessageKind::Request => 6,
    });
    bytes.extend(lp(&[id.as_bytes()]));
    bytes.extend(attempt.slot.to_be_bytes());
    bytes.push(attempt.number);
    bytes.extend(committee.identity());
    bytes.extend(about);
    bytes.extend(lp(&[body]));
    if matches!(kind, MessageKind::Signers | MessageKind::CommitmentHash) {
        let digest: [u8; 64] = shake(&lp(&[b"F.msg", &bytes]));
        bytes.extend(sign(id, committee.epoch().number(), b"F.msg", &digest));
    }
    bytes
}

/// The same message with another body.
pub fn with_body(message: &Message, body: &[u8], committee: &SigningCommittee) -> Message {
    let bytes = bytes(
        message.id(),
        message.kind(),
        message.attempt_id(),
        message.about(),
        body,
        committee,
    );
    Message::receive(&bytes, committee).unwrap()
}

/// The same message with another first byte in its body. If the kind is not signed, anyone can make
/// it.
pub fn changed(message: &Message, committee: &SigningCommittee) -> Message {
    let mut body = message.body().to_vec();
    body[0] ^= 1;
    with_body(message, &body, committee)
}
