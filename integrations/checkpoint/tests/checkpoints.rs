//! Checkpoints of a committee with its guards on disk.

use std::fs;

use bft_simplex::Block;
use checkpoint::{Absence, Blocks, Committee, Price, Trouble};
use mladsa_aggregate::Error;
use mladsa_aggregate::errors::{JournalError, RoundError, StorageError};

const IN_USE: JournalError = JournalError::Storage(StorageError::InUse);
use tempfile::tempdir;

#[test]
fn a_killed_member_signs_the_same_again_or_is_left_out() {
    let directory = tempdir().unwrap();
    let committee = Committee::new(directory.path(), 4, 1, 3).unwrap();
    let sign = |slot, absence| committee.sign(slot, vec![slot as u8; 48], absence).unwrap();
    let short = sign(0, Absence::Short);
    assert_eq!(short.signers, 4);
    // The price list says what a run takes.
    let price = Price::new(4, 3).unwrap();
    assert_eq!(
        (short.certificate, short.openings),
        (price.aggregate, price.openings)
    );
    let long = sign(1, Absence::Long);
    assert_eq!(long.signers, 3);
    assert!(long.attempts > 1);
    // Whoever was left out is back.
    assert_eq!(sign(2, Absence::None).signers, 4);
    // An aggregate is smaller than a list, and with its openings larger.
    assert!(long.aggregate.to_bytes().len() < price.ml_dsa_87);
    assert!(long.certificate + long.openings > price.ml_dsa_87);
}

#[test]
fn a_checkpoint_has_one_payload() {
    let directory = tempdir().unwrap();
    let committee = Committee::new(directory.path(), 4, 1, 1).unwrap();
    let sign = |payload: &[u8]| committee.sign(0, payload.to_vec(), Absence::None);
    sign(b"block").unwrap();
    assert!(sign(b"another block").is_err());
    assert!(
        committee.sign(1, b"block".to_vec(), Absence::None).is_err(),
        "not planned"
    );
}

#[test]
fn a_restored_guard_is_refused() {
    let directory = tempdir().unwrap();
    let committee = Committee::new(directory.path(), 4, 1, 1).unwrap();
    let member = &committee.members()[1];
    let [log, _] = member.files();
    let backup = fs::read(&log).unwrap();
    committee.sign(0, b"block".to_vec(), Absence::None).unwrap();
    assert!(member.guard().is_ok());
    fs::write(&log, backup).unwrap();
    assert!(member.guard().is_err());
    assert!(committee.sign(0, b"block".to_vec(), Absence::None).is_err());
}

#[test]
fn a_guard_restored_with_its_mark_harms_nothing_while_the_others_keep_theirs() {
    let directory = tempdir().unwrap();
    for n in 0..4 {
        let place = directory.path().join(n.to_string());
        let committee = Committee::new(&place, 4, 1, 1).unwrap();
        let sign = |payload: &[u8]| committee.sign(0, payload.to_vec(), Absence::None);
        let member = &committee.members()[n];
        let backup = member.files().map(|file| fs::read(file).unwrap());
        let restore = || {
            for (file, bytes) in member.files().iter().zip(&backup) {
                fs::write(file, bytes).unwrap();
            }
        };
        let first = sign(b"block").unwrap();
        restore();
        assert!(member.guard().is_ok(), "nothing in the files tells");
        assert_eq!(sign(b"block").unwrap().aggregate, first.aggregate);
        // What this member no longer knows, the guards of the others do: they do not answer.
        restore();
        let refused = sign(b"another block").unwrap_err();
        assert!(
            matches!(refused, Trouble::Scheme(Error::Round(RoundError::QuorumMissed))),
            "{refused}"
        );
    }
}

#[test]
fn one_directory_serves_one_process() {
    let directory = tempdir().unwrap();
    let committee = Committee::new(directory.path(), 4, 1, 1).unwrap();
    let sign = || committee.sign(0, b"block".to_vec(), Absence::None);
    // The lock is of the open file, not of the process: here as between two.
    let held = committee.members()[2].guard().unwrap();
    let second = committee.members()[2].guard().unwrap_err();
    assert_eq!(second, IN_USE);
    assert!(matches!(
        sign().unwrap_err(),
        Trouble::Scheme(Error::Journal(IN_USE))
    ));
    drop(held);
    assert!(
        Committee::new(directory.path(), 4, 1, 1).is_err(),
        "made twice"
    );
    assert_eq!(sign().unwrap().signers, 4);
}

#[test]
fn too_few_members_sign_nothing() {
    let directory = tempdir().unwrap();
    assert!(Committee::new(directory.path(), 0, 1, 1).is_err());
    // Of three, more than two thirds are all.
    let committee = Committee::new(&directory.path().join("three"), 3, 1, 1).unwrap();
    assert!(committee.sign(0, b"block".to_vec(), Absence::Long).is_err());
}

#[test]
fn every_kth_block_that_everybody_has() {
    let blocks = Blocks::default();
    let hook = blocks.hook();
    let tell = |node: usize, view: u64, payload: u8| {
        let payload = [payload; 32].into();
        hook(&Block {
            node,
            epoch: 1,
            view,
            payload,
        });
    };
    for view in 1..=5 {
        (0..3).for_each(|node| tell(node, view, view as u8));
    }
    tell(0, 6, 6);
    let expected = |view: u64| {
        [
            &1u64.to_be_bytes()[..],
            &view.to_be_bytes(),
            &[view as u8; 32],
        ]
        .concat()
    };
    assert_eq!(blocks.every(2, 3), Ok(vec![expected(2), expected(4)]));
    assert_eq!(
        blocks.every(2, 1),
        Ok(vec![expected(2), expected(4), expected(6)])
    );
    tell(1, 6, 7);
    assert!(blocks.every(2, 1).is_err(), "two blocks at one place");
}

#[test]
fn openings_are_more_than_the_list() {
    for n in [4, 64, 100] {
        let price = Price::new(n, 1).unwrap();
        assert!(price.aggregate < price.ml_dsa_87);
        assert!(price.openings > price.ml_dsa_87);
    }
    let price = Price::new(64, 1).unwrap();
    assert_eq!(
        (price.openings, price.ml_dsa_87),
        (64 * 6308, 43 * 4627 + 8)
    );
    assert!(Price::new(4, 0).is_err() && Price::new(4, 1 << 19).is_err());
}
