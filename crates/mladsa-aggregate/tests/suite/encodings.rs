//! Strictness of all encodings.

use mladsa_aggregate::errors::{AggregateError, CommitteeError, EncodingError, RoundError};
use mladsa_aggregate::steps::*;
use mladsa_aggregate::test_util::{Commitment, Opening, Response};
use mladsa_aggregate::*;
use mldsa_core::Randomness;

use crate::committee::*;
use crate::simulation::draw;

/// Lists of names separate them by spaces: the name of one member read as those of two.
#[test]
fn a_displayed_name_is_one_printable_word() {
    for (name, shown) in [
        ("m0", "m0"),
        ("m0 m1", "m0\\x20m1"),
        ("m0\\x20m1", "m0\\\\x20m1"),
        ("m\n\u{e9}", "m\\n\\xc3\\xa9"),
    ] {
        assert_eq!(MemberName::new(name.as_bytes()).unwrap().to_string(), shown);
    }
}

/// R(2): the width of the offsets of two signers.
const WIDTH: i32 = 4096;

#[test]
fn contributions_have_bounded_coefficients() {
    let mut committee = Group::new(2);
    let round = committee.round(&[0, 1], at(0, 0), b"payload");
    let (pending, hashes) = committee.commit(&round, &[0, 1]);
    let commitment = committee
        .reveal(&[0], &pending, &round, &hashes)
        .1
        .remove(0);
    let good = commitment.body();

    // Commitments: length, and |q| <= gamma2 + R.
    assert_eq!(good.len(), Commitment::LEN);
    for bad in [&good[1..], &[good, &[0]].concat(), &[]] {
        let result = Commitment::from_bytes(&round, bad);
        assert_eq!(result, Err(EncodingError::Length));
    }
    let with_q = |q: i32| {
        let mut bytes = good.to_vec();
        let word = (q + (1 << 19)) as u32;
        bytes[1024] = word as u8;
        bytes[1025] = (word >> 8) as u8;
        bytes[1026] = (bytes[1026] & 0xf0) | (word >> 16) as u8;
        Commitment::from_bytes(&round, bytes).map(drop)
    };
    // Responses: length, and |z| <= sigma + beta.
    let with_z = |z: i32| {
        let mut bytes = [0; Response::LEN];
        for pair in bytes.chunks_mut(3) {
            pair.copy_from_slice(&[0x00, 0x08, 0x80]);
        }
        let word = (z + 2048) as u32;
        bytes[2685] = word as u8;
        bytes[2686] = (bytes[2686] & 0xf0) | (word >> 8) as u8;
        Response::from_bytes(&bytes).map(drop)
    };
    type Read<'a> = &'a dyn Fn(i32) -> Result<(), EncodingError>;
    let readers: [(i32, Read<'_>); 2] = [(261_888 + WIDTH, &with_q), (480, &with_z)];
    for (limit, read) in readers {
        for sign in [1, -1] {
            assert_eq!(read(sign * limit), Ok(()));
            assert_eq!(read(sign * (limit + 1)), Err(EncodingError::Range));
        }
    }
    for len in [0, Response::LEN - 1, Response::LEN + 1] {
        let result = Response::from_bytes(&vec![0; len]);
        assert_eq!(result, Err(EncodingError::Length));
    }
}

#[test]
fn openings_are_strict() {
    let bytes = Group::new(2).open(0, at(0, 0)).body().to_vec();
    // A tree of 16 leaves.
    assert_eq!(bytes.len(), 6_148 + 32 * 4);
    for bad in [
        &bytes[..bytes.len() - 1],
        &[&bytes[..], &[0]].concat(),
        &bytes[..6147],
        &[&bytes[..], &[0; 32 * 30]].concat(),
    ] {
        assert_eq!(Opening::from_bytes(bad), Err(EncodingError::Length));
    }
    let mut changed = bytes.clone();
    changed[..3].copy_from_slice(&[0xff; 3]);
    assert_eq!(Opening::from_bytes(&changed), Err(EncodingError::Range));
}

/// Changes, cuts and extends every signed object.
#[test]
fn signed_objects_are_strict() {
    let mut group = Group::new(2);
    let round = group.round(&[0, 1], at(0, 0), b"payload");
    let message = group.commit(&round, &[0]).1.remove(0).to_bytes();
    let registration = group.members[0].register(Randomness::Deterministic);
    let registration = registration.unwrap().to_bytes();
    let committee = &group.committee;
    type Read<'a> = &'a dyn Fn(&[u8]) -> Result<(), Error>;
    let readers: [(&[u8], Read<'_>); 2] = [
        (&registration, &|bytes| {
            Ok(Registration::from_bytes(bytes)?.verify(committee.epoch())?)
        }),
        (&message, &|bytes| {
            Ok(Message::receive(bytes, committee).map(drop)?)
        }),
    ];
    for (bytes, read) in readers {
        assert_eq!(read(bytes), Ok(()));
        assert!(read(&[bytes, &[0]].concat()).is_err());
        for at in (0..bytes.len()).step_by(bytes.len() / 150 + 1) {
            assert!(read(&bytes[..at]).is_err());
            let mut changed = bytes.to_vec();
            changed[at] ^= 4;
            assert!(read(&changed).is_err(), "byte {at}");
        }
    }
}

#[test]
fn aggregates_are_strict() {
    let mut group = Group::new(2);
    let (aggregate, round) = group.sign(&[0, 1], 1, b"payload");
    let bytes = aggregate.to_bytes();
    let keys = group.keys(&[0, 1], round.attempt_id());
    for len in 0..bytes.len() {
        assert!(Aggregate::from_bytes(&bytes[..len]).is_err());
    }
    // magic, kind, slot, attempt, epoch, lp(payload), lp(signer set)
    let attempt = 8 + 1 + 4;
    assert_eq!(bytes[attempt], round.attempt_id().number);
    type Change<'a> = &'a dyn Fn(&mut Vec<u8>);
    let change = |change: Change<'_>| {
        let mut changed = bytes.clone();
        change(&mut changed);
        Aggregate::from_bytes(&changed)
    };
    let malformed: [(EncodingError, Change<'_>); 7] = [
        (EncodingError::Length, &|b| b.push(0)),
        (EncodingError::Length, &|b| b[0] ^= 1),
        (EncodingError::OtherVersion, &|b| b[7] = b'1'),
        (EncodingError::Range, &|b| b[8] = 2),
        (EncodingError::Range, &|b| b[attempt] = 64),
        (EncodingError::Length, &|b| b[22..26].fill(0xff)),
        // A malformed hint.
        (EncodingError::Signature, &|b| *b.last_mut().unwrap() = 80),
    ];
    for (n, (error, edit)) in malformed.into_iter().enumerate() {
        assert_eq!(change(edit).unwrap_err(), error, "change {n}");
    }
    // Well formed, but other claims than the signed ones.
    let signature = bytes.len() - 4627;
    let claims: [(AggregateError, Change<'_>); 6] = [
        (AggregateError::OtherTask, &|b| b[8] = 1),
        (AggregateError::OtherTask, &|b| b[12] ^= 1),
        (AggregateError::MissingKey, &|b| b[attempt] ^= 1),
        (AggregateError::OtherEpoch, &|b| b[attempt + 8] ^= 1),
        (AggregateError::OtherTask, &|b| b[attempt + 13] ^= 1),
        (AggregateError::InvalidSignature, &|b| b[signature] ^= 1),
    ];
    let task = SigningTask::decision(1, b"payload");
    let view = group.committee.view();
    aggregate.verify(view, &keys, &task).unwrap();
    for (n, (error, edit)) in claims.into_iter().enumerate() {
        let changed = change(edit).unwrap();
        let result = changed.verify(view, &keys, &task);
        assert_eq!(result.unwrap_err(), error, "change {n}");
    }
}

/// Random changes to a certificate: none is accepted.
#[test]
fn changed_certificates_are_rejected() {
    let mut group = Group::new(3);
    let all = group.all();
    let (aggregate, round) = group.sign(&all, 0, b"payload");
    let openings: Vec<_> = all
        .iter()
        .map(|n| group.open(*n, round.attempt_id()))
        .collect();
    let bytes = AggregateCertificate::new(aggregate, &openings).to_bytes();
    let task = SigningTask::decision(0, b"payload");
    let accepts = |bytes: &[u8]| {
        let read = AggregateCertificate::from_bytes(bytes);
        read.is_ok_and(|read| read.verify(group.committee.view(), &task).is_ok())
    };
    assert!(accepts(&bytes));
    let mut random = 0x9e37_79b9_7f4a_7c15;
    for _ in 0..1_000 {
        let mut changed = bytes.clone();
        let at = draw(&mut random, bytes.len() as u64) as usize;
        changed[at] ^= 1 << draw(&mut random, 8);
        assert!(!accepts(&changed), "byte {at}");
    }
}

#[test]
fn objects_of_other_versions_are_named() {
    let group = Group::new(2);
    let committee = &group.committee;
    let encoding = |error: CommitteeError| match error {
        CommitteeError::Encoding(error) => Error::Encoding(error),
        other => other.into(),
    };
    let round = |error: RoundError| match error {
        RoundError::Encoding(error) => Error::Encoding(error),
        other => other.into(),
    };
    type Read<'a> = &'a dyn Fn(&[u8]) -> Result<(), Error>;
    let readers: [(&[u8; 7], u8, Read<'_>); 7] = [
        (b"MLADSAF", b'3', &|bytes| {
            Ok(Aggregate::from_bytes(bytes).map(drop)?)
        }),
        (b"MLADSAR", b'2', &|bytes| {
            Ok(Registration::from_bytes(bytes).map(drop)?)
        }),
        (b"MLADSAC", b'2', &|bytes| {
            SigningCommittee::from_bytes(bytes)
                .map(drop)
                .map_err(encoding)
        }),
        (b"MLADSAV", b'1', &|bytes| {
            let view = CommitteeView::from_bytes(bytes, &[0; 32]);
            view.map(drop).map_err(encoding)
        }),
        (b"MLADSAO", b'2', &|bytes| {
            Ok(AggregateCertificate::from_bytes(bytes).map(drop)?)
        }),
        (b"MLADSAM", b'5', &|bytes| {
            Message::receive(bytes, committee).map(drop).map_err(round)
        }),
        (b"MLADSAE", b'3', &|bytes| {
            let evidence = ConflictingMessages::from_bytes(bytes, committee);
            evidence.map(drop).map_err(round)
        }),
    ];
    for (name, present, read) in readers {
        for version in b'0'..=b'9' {
            let bytes = [&name[..], &[version], &[0; 5000]].concat();
            let other_version = Err(Error::Encoding(EncodingError::OtherVersion));
            assert_eq!(read(&bytes) == other_version, version != present);
        }
        let other = [&b"MLADSAX1"[..], &[0; 5000]].concat();
        for bytes in [&other, &name[..]] {
            assert_eq!(read(bytes), Err(Error::Encoding(EncodingError::Length)));
        }
    }
}
