//! Certificates: canonical bytes, hostile bytes, verification.

use batch_verify::{Certificate, CertificateError, MemberId, QuorumError, RejectReason};
use mldsa_core::MlDsa44;
use proptest::prelude::*;
use std::sync::LazyLock;

use crate::fixture::{COMMITTEE, KEYS, MEMBERS, attestations, member, sign};

const BLOCK: &[u8] = b"block 9";

static SIGNATURES: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let keys = KEYS[..MEMBERS].iter();
    keys.map(|key| sign(key, BLOCK)).collect()
});

fn votes(indices: &[usize]) -> Vec<(MemberId, &'static [u8])> {
    attestations(indices.iter().copied(), &SIGNATURES)
}

fn certificate(indices: &[usize]) -> Certificate<MlDsa44> {
    Certificate::new(&COMMITTEE, votes(indices)).unwrap()
}

fn decode(bytes: &[u8]) -> Result<Certificate<MlDsa44>, CertificateError> {
    Certificate::from_bytes(bytes)
}

#[test]
fn quorums_are_verified_by_their_committee() {
    let verifier = COMMITTEE.verifier();
    let one = certificate(&[4, 0, 3, 1, 2]);
    // The order of the votes does not matter.
    assert_eq!(one, certificate(&[0, 1, 2, 3, 4]));
    assert_eq!(one.to_bytes().len(), Certificate::<MlDsa44>::encoded_len(5));
    assert_eq!((one.epoch(), one.signers()), (COMMITTEE.epoch(), 5));
    assert_eq!(one.verify(&verifier, BLOCK).unwrap().weight(), 5);
    let reason = RejectReason::ChallengeMismatch;
    let rejected = QuorumError::Rejected { vote: 0, reason };
    let other = one.verify(&verifier, b"block 8");
    assert_eq!(other, Err(CertificateError::Quorum(rejected)));
    let few = certificate(&[0, 1]).verify(&verifier, BLOCK).unwrap_err();
    let is_small = matches!(
        few,
        CertificateError::Quorum(QuorumError::Insufficient { .. })
    );
    assert!(is_small, "{few}");
    assert!(certificate(&[]).verify(&verifier, BLOCK).is_err());

    let next = COMMITTEE.successor(COMMITTEE.epoch() + 1, None::<(&[u8], u64)>);
    let next = next.unwrap();
    let foreign = one.verify(&next.verifier(), BLOCK);
    assert_eq!(foreign, Err(CertificateError::OtherCommittee));
    let foreign = Certificate::new(&next, votes(&[0]));
    assert_eq!(foreign, Err(CertificateError::OtherCommittee));
    let twice = Certificate::new(&COMMITTEE, votes(&[0, 1, 0]));
    assert_eq!(twice, Err(CertificateError::Duplicate));
    let short = Certificate::new(&COMMITTEE, [(member(0), &[0; 2419])]);
    assert_eq!(short, Err(CertificateError::SignatureLength));
}

/// Bytes that announce up to 2^32 - 1 signers, and have none or one.
#[test]
fn announced_lengths_take_no_memory() {
    let mut bytes = certificate(&[0]).to_bytes();
    for count in [0, 2, 1 << 20, u32::MAX / 4, u32::MAX] {
        bytes[40..44].copy_from_slice(&count.to_le_bytes());
        assert_eq!(decode(&bytes), Err(CertificateError::Encoding));
        assert_eq!(decode(&bytes[..44]).is_ok(), count == 0);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn certificates_round_trip(picks in proptest::collection::btree_set(0..MEMBERS, 0..=MEMBERS)) {
        let picks: Vec<usize> = picks.into_iter().collect();
        let one = certificate(&picks);
        prop_assert_eq!(decode(&one.to_bytes()), Ok(one));
    }

    /// Whatever decodes is the encoding of its value.
    #[test]
    fn the_encoding_is_canonical(
        at in 0..64_usize,
        byte: u8,
        cut in 0..100_usize,
        more in proptest::collection::vec(any::<u8>(), 0..6),
    ) {
        let mut bytes = certificate(&[0, 2, 3]).to_bytes();
        bytes[at] = byte;
        if let Ok(one) = decode(&bytes) {
            prop_assert_eq!(one.to_bytes(), &*bytes);
        }
        let len = bytes.len().saturating_sub(cut);
        let other = [&bytes[..len], &more[..]].concat();
        if let Ok(one) = decode(&other) {
            prop_assert_eq!(one.to_bytes(), other);
        }
    }

    /// One changed bit anywhere: not decoded, another committee, or no quorum.
    #[test]
    fn no_bit_is_free(bit in 0..8 * (44 + 5 * 2424_usize)) {
        let mut bytes = certificate(&[0, 1, 2, 3, 4]).to_bytes();
        bytes[bit / 8] ^= 1 << (bit % 8);
        let verified = decode(&bytes).map(|one| one.verify(&COMMITTEE.verifier(), BLOCK));
        prop_assert!(!matches!(verified, Ok(Ok(_))));
    }

    #[test]
    fn any_bytes_are_decoded_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(one) = decode(&bytes) {
            prop_assert_eq!(one.to_bytes(), bytes);
        }
    }
}
