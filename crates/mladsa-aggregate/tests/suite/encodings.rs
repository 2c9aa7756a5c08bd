//! Strictness of all encodings.

use mladsa_aggregate::errors::{EncodingError, RootsError, RoundError, VerifyError};
use mladsa_aggregate::test_util::{Commitment, Opening, Response};
use mladsa_aggregate::*;
use mldsa_core::Randomness;

use crate::committee::*;

/// Lists of names separate them by spaces: the name of one member read as those of two.
#[test]
fn a_displayed_name_is_one_printable_word() {
    for (name, shown) in [
        ("m0", "m0"),
        ("m0 m1", "m0\\x20m1"),
        ("m0\\x20m1", "m0\\\\x20m1"),
        ("m\n\u{e9}", "m\\n\\xc3\\xa9"),
    ] {
        assert_eq!(MemberId::new(name.as_bytes()).unwrap().to_string(), shown);
    }
}

/// R(2): the width of the offsets of two signers.
const WIDTH: i32 = 4096;

#[test]
fn contributions_have_bounded_coefficients() {
    let mut committee = Committee::new(2, &["wire"]);
    let round = committee.round(&[0, 1], &attempt_id("wire", 0), b"payload");
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
        Response::from_bytes(&round, &bytes).map(drop)
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
        let result = Response::from_bytes(&round, &vec![0; len]);
        assert_eq!(result, Err(EncodingError::Length));
    }
}

#[test]
fn openings_are_strict() {
    let committee = Committee::new(2, &["wire"]);
    let bytes = committee.open(0, &attempt_id("wire", 0)).body().to_vec();
    assert_eq!(bytes.len(), committee.agreed.plan().opening_len());
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

/// Changes, cuts and extends every signed or checksummed object.
#[test]
fn signed_objects_are_strict() {
    let mut committee = Committee::new(2, &["wire"]);
    let round = committee.round(&[0, 1], &attempt_id("wire", 0), b"payload");
    let message = committee.commit(&round, &[0]).1.remove(0).to_bytes();
    let hedge = Randomness::Deterministic;
    let (member, journal) = (&committee.members[0], &mut committee.journals[0]);
    let (agreed, pinned) = (&committee.agreed, committee.agreed.pinned());
    let (registry, plan) = (agreed.registry(), agreed.plan());
    let registration = member.register(hedge).unwrap().to_bytes();
    let tree = &committee.trees[0];
    let announcement = member.announce(tree, journal, hedge).unwrap().to_bytes();
    let acknowledgement = member.acknowledge(pinned, journal, hedge).unwrap();
    let (acknowledgement, tree) = (acknowledgement.to_bytes(), tree.to_bytes());
    type Read<'a> = &'a dyn Fn(&[u8]) -> Result<(), Error>;
    let readers: [(&[u8], Read<'_>); 5] = [
        (&registration, &|bytes| {
            let registration = Registration::from_bytes(bytes)?;
            Ok(Registry::new(&RHO, [registration], &Threshold::TwoThirds).map(drop)?)
        }),
        (&announcement, &|bytes| {
            Ok(RootAnnouncement::from_bytes(bytes)?.verify(registry, plan)?)
        }),
        (&acknowledgement, &|bytes| {
            Ok(Acknowledgement::from_bytes(bytes)?.verify(pinned)?)
        }),
        (&message, &|bytes| Ok(agreed.receive(bytes).map(drop)?)),
        (&tree, &|bytes| {
            Ok(EpochTree::from_bytes(registry, plan, bytes).map(drop)?)
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
    let mut committee = Committee::new(2, &["object"]);
    let (aggregate, round) = committee.sign(&[0, 1], "object", b"payload");
    let bytes = aggregate.to_bytes();
    let keys = committee.keys(&[0, 1], round.attempt_id());
    for len in 0..bytes.len() {
        assert!(Aggregate::from_bytes(&bytes[..len]).is_err());
    }
    // magic, mode, kind, lp("TEST"), lp("object"), attempt
    let attempt = 10 + 8 + 10;
    assert_eq!(bytes[attempt], round.attempt_id().attempt());
    type Change<'a> = &'a dyn Fn(&mut Vec<u8>);
    let change = |change: Change<'_>| {
        let mut changed = bytes.clone();
        change(&mut changed);
        Aggregate::from_bytes(&changed)
    };
    let malformed: [(EncodingError, Change<'_>); 10] = [
        (EncodingError::Length, &|b| b.push(0)),
        (EncodingError::Length, &|b| b[0] ^= 1),
        // The magic of the earlier derivation.
        (EncodingError::OtherVersion, &|b| b[7] = b'1'),
        (EncodingError::Range, &|b| b[8] = 2),
        (EncodingError::Range, &|b| b[9] = 2),
        (EncodingError::Range, &|b| b[attempt] = 64),
        (EncodingError::Length, &|b| b[10..14].fill(0xff)),
        // A domain of 256 bytes, an empty task id.
        (EncodingError::Length, &|b| {
            let long = [&256u32.to_be_bytes()[..], &[0; 256]].concat();
            b.splice(10..18, long);
        }),
        (EncodingError::Length, &|b| {
            b.splice(18..28, [0; 4]);
        }),
        // A malformed hint.
        (EncodingError::Signature, &|b| *b.last_mut().unwrap() = 80),
    ];
    for (n, (error, edit)) in malformed.into_iter().enumerate() {
        assert_eq!(change(edit).unwrap_err(), error, "change {n}");
    }
    // Well formed, but other claims than the signed ones.
    let signature = bytes.len() - 4627;
    let claims: [(VerifyError, Change<'_>); 8] = [
        (VerifyError::OpenCommitments, &|b| b[8] = 0),
        (VerifyError::OtherTask, &|b| b[9] = 1),
        (VerifyError::OtherTask, &|b| b[14] ^= 1),
        (VerifyError::OtherTask, &|b| b[22] ^= 1),
        (VerifyError::MissingKey, &|b| b[attempt] ^= 1),
        (VerifyError::OtherEpoch, &|b| b[attempt + 8] ^= 1),
        (VerifyError::OtherTask, &|b| b[attempt + 13] ^= 1),
        (VerifyError::InvalidSignature, &|b| b[signature] ^= 1),
    ];
    let task = task("object", b"payload");
    committee.verify(&aggregate, &keys, &task).unwrap();
    for (n, (error, edit)) in claims.into_iter().enumerate() {
        let changed = change(edit).unwrap();
        let result = committee.verify(&changed, &keys, &task);
        assert_eq!(result.unwrap_err(), error, "change {n}");
    }
}

#[test]
fn objects_of_other_versions_are_named() {
    let committee = Committee::new(2, &["wire"]);
    let agreed = &committee.agreed;
    type Read<'a> = &'a dyn Fn(&[u8]) -> Result<(), Error>;
    let readers: [(&[u8; 7], u8, Read<'_>); 9] = [
        (b"MLADSAF", b'2', &|bytes| {
            Ok(Aggregate::from_bytes(bytes).map(drop)?)
        }),
        (b"MLADSAR", b'1', &|bytes| {
            Ok(Registration::from_bytes(bytes).map(drop)?)
        }),
        (b"MLADSAT", b'2', &|bytes| {
            Ok(RootAnnouncement::from_bytes(bytes).map(drop)?)
        }),
        (b"MLADSAA", b'1', &|bytes| {
            Ok(Acknowledgement::from_bytes(bytes).map(drop)?)
        }),
        (b"MLADSAC", b'1', &|bytes| {
            Ok(Endorsement::from_bytes(bytes).map(drop)?)
        }),
        (b"MLADSAO", b'1', &|bytes| {
            Ok(Certificate::from_bytes(bytes).map(drop)?)
        }),
        (b"MLADSAM", b'4', &|bytes| match agreed.receive(bytes) {
            Err(RoundError::Encoding(error)) => Err(error.into()),
            other => Ok(other.map(drop)?),
        }),
        (
            b"MLADSAE",
            b'1',
            &|bytes| match steps::Equivocation::from_bytes(bytes, agreed.registry()) {
                Err(RoundError::Encoding(error)) => Err(error.into()),
                other => Ok(other.map(drop)?),
            },
        ),
        (
            b"MLADSAE",
            b'2',
            &|bytes| match EpochEquivocation::from_bytes(bytes, agreed.registry(), agreed.plan()) {
                Err(RootsError::Encoding(error)) => Err(error.into()),
                other => Ok(other.map(drop)?),
            },
        ),
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
