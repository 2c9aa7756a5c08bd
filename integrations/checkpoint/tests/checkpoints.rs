//! Checkpoints of a committee with guards on disk.

use std::fs;

use bft_simplex::Block;
use checkpoint::{Blocks, CertificateSize, Committee, Fault};
use mladsa_aggregate::errors::RoundError;
use tempfile::tempdir;

#[test]
fn killed_member_repeats_its_messages_or_is_left_out() {
    let directory = tempdir().unwrap();
    let committee = Committee::new(directory.path(), 4, 1, 3).unwrap();
    let sign = |slot, fault| committee.sign(slot, vec![slot as u8; 48], fault).unwrap();
    let restarted = sign(0, Fault::Restart);
    assert_eq!(restarted.signers, 4);
    // The computed sizes are those of a run.
    let size = CertificateSize::new(4, 3).unwrap();
    assert_eq!(
        (restarted.certificate, restarted.openings),
        (size.aggregate, size.openings)
    );
    let offline = sign(1, Fault::Offline);
    assert_eq!(offline.signers, 3);
    assert!(offline.attempts > 1);
    // The member that was left out signs again.
    assert_eq!(sign(2, Fault::None).signers, 4);
    // An aggregate is smaller than a list, and larger with its openings.
    assert!(offline.aggregate.to_bytes().len() < size.ml_dsa_87);
    assert!(offline.certificate + offline.openings > size.ml_dsa_87);
}

#[test]
fn checkpoint_has_one_payload() {
    let directory = tempdir().unwrap();
    let committee = Committee::new(directory.path(), 4, 1, 1).unwrap();
    let sign = |payload: &[u8]| committee.sign(0, payload.to_vec(), Fault::None);
    sign(b"block").unwrap();
    assert!(sign(b"another block").is_err());
    assert!(
        committee.sign(1, b"block".to_vec(), Fault::None).is_err(),
        "not planned"
    );
}

#[test]
fn restored_log_and_mark_sign_nothing_new_against_intact_guards() {
    let directory = tempdir().unwrap();
    for n in 0..4 {
        let path = directory.path().join(n.to_string());
        let committee = Committee::new(&path, 4, 1, 1).unwrap();
        let sign = |payload: &[u8]| committee.sign(0, payload.to_vec(), Fault::None);
        let member = &committee.members()[n];
        let backup = member.files().map(|file| fs::read(file).unwrap());
        let restore = || {
            for (file, bytes) in member.files().iter().zip(&backup) {
                fs::write(file, bytes).unwrap();
            }
        };
        let first = sign(b"block").unwrap();
        restore();
        assert!(member.guard().is_ok(), "the files are consistent");
        assert_eq!(sign(b"block").unwrap().aggregate, first.aggregate);
        // The guards of the other members still have the first payload: they do not respond.
        restore();
        let error = sign(b"another block").unwrap_err();
        assert_eq!(error.downcast_ref(), Some(&RoundError::AttemptsExhausted));
    }
}

#[test]
fn quorum_is_required() {
    let directory = tempdir().unwrap();
    assert!(Committee::new(directory.path(), 0, 1, 1).is_err());
    // More than two thirds of three are three.
    let committee = Committee::new(&directory.path().join("three"), 3, 1, 1).unwrap();
    assert!(
        committee
            .sign(0, b"block".to_vec(), Fault::Offline)
            .is_err()
    );
}

#[test]
fn every_kth_block_with_enough_validators() {
    let blocks = Blocks::default();
    let hook = blocks.hook();
    let report = |node: usize, view: u64, payload: u8| {
        let payload = [payload; 32].into();
        hook(&Block {
            node,
            epoch: 1,
            view,
            payload,
        });
    };
    for view in 1..=5 {
        (0..3).for_each(|node| report(node, view, view as u8));
    }
    report(0, 6, 6);
    let expected = |view: u64| {
        [
            &1u64.to_be_bytes()[..],
            &view.to_be_bytes(),
            &[view as u8; 32],
        ]
        .concat()
    };
    assert_eq!(blocks.every(2, 3).unwrap(), [expected(2), expected(4)]);
    let three = [expected(2), expected(4), expected(6)];
    assert_eq!(blocks.every(2, 1).unwrap(), three);
    report(1, 6, 7);
    assert!(blocks.every(2, 1).is_err(), "two blocks in one view");
}

#[test]
fn openings_are_larger_than_a_list() {
    for n in [4, 64, 100] {
        let size = CertificateSize::new(n, 1).unwrap();
        assert!(size.aggregate < size.ml_dsa_87);
        assert!(size.openings > size.ml_dsa_87);
    }
    let size = CertificateSize::new(64, 1).unwrap();
    assert_eq!((size.openings, size.ml_dsa_87), (64 * 6308, 43 * 4627 + 8));
    assert!(CertificateSize::new(4, 0).is_err() && CertificateSize::new(4, 1 << 19).is_err());
}
