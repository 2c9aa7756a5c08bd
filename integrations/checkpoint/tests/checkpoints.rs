//! Checkpoints of a committee with its guards on disk.

use bft_simplex::Block;
use checkpoint::{Absence, Blocks, Committee, Price};
use tempfile::tempdir;

#[test]
fn a_killed_member_signs_the_same_again_or_is_left_out() {
    let directory = tempdir().unwrap();
    let committee = Committee::new(directory.path(), 4, 1, 3).unwrap();
    let sign = |slot, absence| committee.sign(slot, vec![slot as u8; 48], absence).unwrap();
    let short = sign(0, Absence::Short);
    assert_eq!(short.signers, 4);
    let long = sign(1, Absence::Long);
    assert_eq!(long.signers, 3);
    assert!(long.attempts > 1);
    // Whoever was left out is back.
    assert_eq!(sign(2, Absence::None).signers, 4);
    // An aggregate is smaller than a list, and with its openings larger.
    let list = 3 * 4627;
    assert!(long.aggregate.to_bytes().len() < list);
    assert!(long.aggregate.to_bytes().len() + long.openings > list);
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
    let backup = std::fs::read(member.log()).unwrap();
    committee.sign(0, b"block".to_vec(), Absence::None).unwrap();
    assert!(member.guard().is_ok());
    std::fs::write(member.log(), backup).unwrap();
    assert!(member.guard().is_err());
    assert!(committee.sign(0, b"block".to_vec(), Absence::None).is_err());
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
        let price = Price::new(n).unwrap();
        assert!(price.aggregate < price.ml_dsa_87);
        assert!(price.openings > price.ml_dsa_87);
    }
    let price = Price::new(64).unwrap();
    assert_eq!((price.openings, price.ml_dsa_87), (397_568, 43 * 4627 + 8));
}
