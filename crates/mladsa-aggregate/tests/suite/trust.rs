//! Trust anchors of verifiers: pinned committees and their successors.

use mladsa_aggregate::errors::{JournalError, RootsError};
use mladsa_aggregate::*;
use mldsa_core::Randomness;

use crate::committee::*;

const HEDGE: Randomness<'static> = Randomness::Deterministic;

/// The list of an epoch with the acknowledgements of all members.
fn epoch_of(
    members: &[Member],
    rule: &Threshold,
    epoch: u64,
) -> (PinnedRoots, Vec<Acknowledgement>) {
    let registry = registry_with(members, rule);
    let plan = EpochPlan::new(epoch, vec![task_id("x")]).unwrap();
    let mut journals: Vec<_> = members.iter().map(journal).collect();
    let mut roots = Vec::new();
    for (member, journal) in members.iter().zip(&mut journals) {
        let tree = member.epoch_tree(&registry, &plan).unwrap();
        roots.push(member.announce(&tree, journal, HEDGE).unwrap());
    }
    let mut store = MemoryWriteOnceStore::default();
    let pinned = PinnedRoots::pin(&mut store, &registry, &plan, &roots).unwrap();
    let all = members.iter().zip(&mut journals);
    let all = all.map(|(member, journal)| member.acknowledge(&pinned, journal, HEDGE).unwrap());
    let all = all.collect();
    (pinned, all)
}

fn members(range: impl IntoIterator<Item = usize>) -> Vec<Member> {
    range.into_iter().map(member).collect()
}

/// A made-up committee, one with a member of the pinned committee, one of the same names with other
/// keys, and the same members under another rule or in another epoch.
#[test]
fn committee_that_is_not_pinned_is_rejected() {
    let two_thirds = Threshold::TwoThirds;
    let (honest, all) = epoch_of(&members(0..4), &two_thirds, 1);
    let pin = honest.registry().identity(1);
    assert!(AgreedRoots::from_pin(&pin, &honest, &all).is_ok());
    let same_names = (0..4).map(|n| {
        let seed = MasterSeed::from_bytes(&bytes32("made-up seed", n));
        Member::new(id(n), seed, &bytes32("made-up key", n))
    });
    let same_names: Vec<_> = same_names.collect();
    for (members, rule, epoch) in [
        (members(10..14), &two_thirds, 1),
        (members([3, 10, 11]), &two_thirds, 1),
        (same_names, &two_thirds, 1),
        (members(0..4), &Threshold::Count(1), 1),
        (members(0..4), &two_thirds, 2),
    ] {
        let (pinned, all) = epoch_of(&members, rule, epoch);
        let result = AgreedRoots::from_pin(&pin, &pinned, &all);
        assert_eq!(result.unwrap_err(), RootsError::OtherCommittee);
    }
}

#[test]
fn successor_requires_a_quorum_of_the_previous_committee() {
    let old = members(0..4);
    let (first, all) = epoch_of(&old, &Threshold::TwoThirds, 1);
    let previous = AgreedRoots::from_pin(&first.registry().identity(1), &first, &all).unwrap();
    // One member is replaced, and an epoch is left out.
    let (next, all) = epoch_of(&members([0, 1, 2, 7]), &Threshold::TwoThirds, 3);
    let identity = next.registry().identity(3);
    let endorse = |member: &Member, epoch, identity: &[u8; 32]| {
        member.endorse(&previous, epoch, identity, &mut journal(member), HEDGE)
    };
    let endorsements: Vec<_> = old
        .iter()
        .map(|member| endorse(member, 3, &identity).unwrap())
        .collect();
    let successor = |list: &[Endorsement]| AgreedRoots::successor_of(&previous, &next, &all, list);
    let agreed = successor(&endorsements[..3]).unwrap();
    assert_eq!(agreed.identity(), identity);
    // Too few; one repeated; one of another epoch, of another committee, of a stranger, forged.
    let other = endorse(&old[2], 3, &[7; 32]).unwrap();
    let earlier = endorse(&old[2], 2, &identity).unwrap();
    let stranger = endorse(&member(7), 3, &identity).unwrap_err();
    assert_eq!(stranger, RootsError::UnknownMember);
    let mut forged = endorsements[2].to_bytes();
    forged[100] ^= 1;
    let forged = Endorsement::from_bytes(&forged).unwrap();
    for third in [&endorsements[0], &other, &earlier, &forged] {
        let list = [&endorsements[..2], core::slice::from_ref(third)].concat();
        assert_eq!(successor(&list).unwrap_err(), RootsError::NotEndorsed);
    }
    // A quorum of the old committee does not replace the acknowledgements of the new one.
    let result = AgreedRoots::successor_of(&previous, &next, &all[..2], &endorsements);
    assert_eq!(result.unwrap_err(), RootsError::NotAgreed);
    // An endorsement refers to the whole previous committee: here one with another rule.
    let (lax, acknowledged) = epoch_of(&old, &Threshold::Count(1), 1);
    let lax = AgreedRoots::from_pin(&lax.registry().identity(1), &lax, &acknowledged).unwrap();
    let result = AgreedRoots::successor_of(&lax, &next, &all, &endorsements);
    assert_eq!(result.unwrap_err(), RootsError::NotEndorsed);
    // A threshold below two thirds does not let fewer members choose the next committee.
    let by_one = old[0].endorse(&lax, 3, &identity, &mut journal(&old[0]), HEDGE);
    let result = AgreedRoots::successor_of(&lax, &next, &all, &[by_one.unwrap()]);
    assert_eq!(result.unwrap_err(), RootsError::NotEndorsed);
    // Not later.
    let result = endorse(&old[0], 1, &identity);
    assert_eq!(result.unwrap_err(), RootsError::OtherEpoch);
    assert_eq!(
        endorsements[0],
        Endorsement::from_bytes(&endorsements[0].to_bytes()).unwrap()
    );
}

/// Otherwise two committees of one epoch could have a quorum of endorsements.
#[test]
fn seed_endorses_one_committee_for_each_epoch() {
    let old = members(0..4);
    let (first, all) = epoch_of(&old, &Threshold::TwoThirds, 1);
    let previous = AgreedRoots::from_pin(&first.registry().identity(1), &first, &all).unwrap();
    let mut journal = journal(&old[0]);
    let mut endorse = |epoch, identity: [u8; 32]| {
        old[0].endorse(&previous, epoch, &identity, &mut journal, HEDGE)
    };
    let conflict = RootsError::Journal(JournalError::EpochConflict);
    assert_eq!(endorse(2, [1; 32]), endorse(2, [1; 32]));
    assert_eq!(endorse(2, [2; 32]).unwrap_err(), conflict);
    // A replacement of an epoch that could not be agreed on.
    assert!(endorse(3, [2; 32]).is_ok());
    assert_eq!(journal.last_epoch(), Some(3));
    journal.close_epoch(2).unwrap();
    let mut endorse = |epoch, identity: [u8; 32]| {
        old[0].endorse(&previous, epoch, &identity, &mut journal, HEDGE)
    };
    assert_eq!(endorse(2, [1; 32]).unwrap_err(), conflict);
    assert_eq!(endorse(3, [1; 32]).unwrap_err(), conflict);
    assert!(endorse(3, [2; 32]).is_ok());
}
