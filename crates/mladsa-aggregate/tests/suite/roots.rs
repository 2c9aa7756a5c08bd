//! Registries, plans, and the agreement on roots before any opening.

use std::sync::Arc;

use mladsa_aggregate::errors::{EncodingError, JournalError, RegistrationError, RootsError};
use mladsa_aggregate::errors::{RoundError, StorageError};
use mladsa_aggregate::steps::*;
use mladsa_aggregate::*;
use mldsa_core::Randomness;

use crate::committee::*;
use crate::hostile;

const HEDGE: Randomness<'static> = Randomness::Deterministic;

#[test]
fn registry_requires_proofs_of_possession() {
    let entries: Vec<Registration> = (0..3).map(|n| member(n).register(HEDGE).unwrap()).collect();
    let error = |entries: &[Registration]| {
        Registry::new(&RHO, entries.to_vec(), &Threshold::TwoThirds).unwrap_err()
    };
    assert_eq!(error(&[]), RegistrationError::NoMembers);
    let twice = [entries[0].clone(), entries[1].clone(), entries[0].clone()];
    assert_eq!(error(&twice), RegistrationError::DuplicateMember);
    // Key and proof of member 0 under another name; a changed proof.
    let bytes = entries[0].to_bytes();
    for at in [12, bytes.len() - 4000] {
        let mut bytes = bytes.clone();
        bytes[at] ^= 1;
        let changed = Registration::from_bytes(&bytes).unwrap();
        assert_eq!(error(&[changed]), RegistrationError::InvalidProof);
    }
    // The order of entries does not matter.
    let forward = Registry::new(&RHO, entries.clone(), &Threshold::TwoThirds).unwrap();
    let backward = Registry::new(&RHO, entries.into_iter().rev(), &Threshold::TwoThirds).unwrap();
    assert_eq!(forward.root(), backward.root());
}

#[test]
fn plans_are_bounded() {
    let x = || vec![task_id("x")];
    assert_eq!(EpochPlan::new(1, vec![]), Err(RootsError::EmptyPlan));
    for attempts in [0, 65] {
        let result = EpochPlan::with_attempts(1, x(), attempts);
        assert_eq!(result, Err(RootsError::PlanSize));
    }
    let twice = [x(), x()].concat();
    assert_eq!(EpochPlan::new(1, twice), Err(RootsError::DuplicateTask));
    let too_many = EpochPlan::MAX_KEYS / 64 + 1;
    let too_many = (0..too_many).map(|n| task_id(&n.to_string())).collect();
    let result = EpochPlan::with_attempts(1, too_many, 64);
    assert_eq!(result, Err(RootsError::PlanSize));
    let plan = EpochPlan::with_attempts(1, vec![task_id("b"), task_id("a")], 3).unwrap();
    assert_eq!((plan.len(), plan.attempts()), (6, 3));
    assert_eq!(plan.opening_len(), 6148 + 32 * 3);
    // Two attempts for each of f faulty members, and four; at most 64.
    let attempts = [1, 4, 16, 100, 8192].map(EpochPlan::attempts_for);
    assert_eq!(attempts, [4, 6, 14, 64, 64]);
    assert_eq!(plan.index(&attempt_id("b", 2)), Ok(2));
    assert_eq!(plan.index(&attempt_id("a", 0)), Ok(3));
}

/// Members with trees, announced roots and journals.
struct Setup {
    members: Vec<Member>,
    journals: Vec<OneTimeKeyJournal>,
    registry: Arc<Registry>,
    plan: EpochPlan,
    trees: Vec<EpochTree>,
    roots: Vec<RootAnnouncement>,
}

impl Setup {
    fn new(n: usize) -> Self {
        let members: Vec<Member> = (0..n).map(member).collect();
        let mut journals: Vec<_> = members.iter().map(journal).collect();
        let (registry, plan) = (registry(&members), plan(&["x", "y"]));
        let tree = |member: &Member| member.epoch_tree(&registry, &plan).unwrap();
        let trees: Vec<EpochTree> = members.iter().map(tree).collect();
        let all = members.iter().zip(&trees).zip(&mut journals);
        let roots = all.map(|((member, tree), journal)| member.announce(tree, journal, HEDGE));
        Self {
            roots: roots.map(Result::unwrap).collect(),
            members,
            journals,
            registry,
            plan,
            trees,
        }
    }

    fn acknowledge(&mut self, n: usize, pinned: &PinnedRoots) -> Acknowledgement {
        let (member, journal) = (&self.members[n], &mut self.journals[n]);
        member.acknowledge(pinned, journal, HEDGE).unwrap()
    }

    /// The list of the first `n` roots, acknowledged by the same members.
    fn agree(&mut self, n: usize) -> AgreedRoots {
        let mut store = MemoryWriteOnceStore::default();
        let pinned = PinnedRoots::pin(&mut store, &self.registry, &self.plan, &self.roots[..n]);
        let pinned = pinned.unwrap();
        let all: Vec<_> = (0..n).map(|n| self.acknowledge(n, &pinned)).collect();
        agreed(&pinned, &all).unwrap()
    }
}

#[test]
fn pinned_list_contains_valid_roots_and_is_never_replaced() {
    let mut setup = Setup::new(4);
    let (registry, plan, roots) = (&setup.registry, &setup.plan, &setup.roots);
    let mut store = MemoryWriteOnceStore::default();
    let mut pin = |list: &[RootAnnouncement]| PinnedRoots::pin(&mut store, registry, plan, list);
    assert_eq!(pin(&[]).unwrap_err(), RootsError::NoRoots);
    let twice = [roots[0].clone(), roots[0].clone()];
    assert_eq!(pin(&twice).unwrap_err(), RootsError::DuplicateMember);
    let mut bytes = roots[1].to_bytes();
    bytes[8 + 4 + 11 + 8] ^= 1;
    let forged = RootAnnouncement::from_bytes(&bytes).unwrap();
    assert_eq!(pin(&[forged]).unwrap_err(), RootsError::InvalidSignature);
    // A member of another registry.
    let stranger = member(9);
    let tree = stranger.epoch_tree(registry, plan).unwrap();
    let result = stranger.announce(&tree, &mut journal(&stranger), HEDGE);
    assert_eq!(result.unwrap_err(), RootsError::UnknownMember);
    let its_own = crate::committee::registry(&[member(9)]);
    let tree = stranger.epoch_tree(&its_own, plan).unwrap();
    let root = stranger.announce(&tree, &mut journal(&stranger), HEDGE);
    let result = pin(&[root.unwrap()]);
    assert_eq!(result.unwrap_err(), RootsError::UnknownMember);
    // A root of another epoch; a tree of another member.
    let other_epoch = EpochPlan::new(EPOCH + 1, vec![task_id("x")]).unwrap();
    let tree = setup.members[0].epoch_tree(registry, &other_epoch).unwrap();
    let root = setup.members[0].announce(&tree, &mut setup.journals[0], HEDGE);
    let result = pin(&[root.unwrap()]);
    assert_eq!(result.unwrap_err(), RootsError::OtherEpoch);
    let result = setup.members[0].announce(&setup.trees[1], &mut setup.journals[0], HEDGE);
    assert_eq!(result.unwrap_err(), RootsError::OtherTree);

    let pinned = pin(&roots[..3]).unwrap();
    assert_eq!(pin(roots).unwrap_err(), RootsError::NotPinned);
    assert_eq!(pin(&roots[..2]).unwrap_err(), RootsError::NotPinned);
    let again = [roots[2].clone(), roots[0].clone(), roots[1].clone()];
    assert_eq!(pin(&again).unwrap().digest(), pinned.digest());
    let loaded = PinnedRoots::load(&store, registry, plan).unwrap().unwrap();
    assert_eq!(loaded.digest(), pinned.digest());
    assert_eq!(loaded.root(&id(2)), pinned.root(&id(2)));
    assert_eq!(loaded.root(&id(3)), Err(RootsError::NotPinned));
    let none = PinnedRoots::load(&store, registry, &other_epoch).unwrap();
    assert!(none.is_none());
}

#[test]
fn agreement_requires_more_than_two_thirds() {
    let mut setup = Setup::new(4);
    let mut store = MemoryWriteOnceStore::default();
    let pinned = PinnedRoots::pin(&mut store, &setup.registry, &setup.plan, &setup.roots[..3]);
    let pinned = pinned.unwrap();
    let all: Vec<_> = (0..3).map(|n| setup.acknowledge(n, &pinned)).collect();
    let not_agreed = |list: &[Acknowledgement]| {
        let error = agreed(&pinned, list).unwrap_err();
        assert_eq!(error, RootsError::NotAgreed);
    };
    not_agreed(&all[..2]);
    not_agreed(&[&all[..2], &all[..2]].concat());
    let mut forged = all[2].to_bytes();
    forged[100] ^= 1;
    let forged = Acknowledgement::from_bytes(&forged).unwrap();
    assert_eq!(forged.verify(&pinned), Err(RootsError::InvalidSignature));
    not_agreed(&[&all[..2], &[forged]].concat());
    agreed(&pinned, &all).unwrap();
    // A member without a root may acknowledge too, but cannot sign; nor can a member that has
    // not acknowledged.
    let witness = setup.acknowledge(3, &pinned);
    let agreed = agreed(&pinned, &[&all[..2], &[witness]].concat()).unwrap();
    assert!(agreed.ids().eq(&[id(0), id(1)]));
    let (tree, journal) = (&setup.trees[2], &setup.journals[2]);
    let result = setup.members[2].open(&agreed, tree, &attempt_id("x", 0), journal);
    assert_eq!(result.unwrap_err(), RootsError::NotAgreed.into());

    // A journal that has acknowledged one list does not acknowledge another.
    let mut store = MemoryWriteOnceStore::default();
    let other = PinnedRoots::pin(&mut store, &setup.registry, &setup.plan, &setup.roots);
    let other = other.unwrap();
    let result = setup.members[1].acknowledge(&other, &mut setup.journals[1], HEDGE);
    assert_eq!(result.unwrap_err(), JournalError::EpochConflict.into());
    assert_eq!(all[0].verify(&other), Err(RootsError::NotAgreed));
}

#[test]
fn keys_are_opened_after_the_agreement_only() {
    let mut setup = Setup::new(4);
    let agreed = setup.agree(3);
    let (registry, plan) = (&setup.registry, &setup.plan);
    let attempt = attempt_id("x", 0);
    let open = |n: usize, tree: &EpochTree, journal: &OneTimeKeyJournal| {
        setup.members[n].open(&agreed, tree, &attempt, journal)
    };
    let (trees, journals) = (&setup.trees, &setup.journals);
    let not_pinned = RoundError::Roots(RootsError::NotPinned);
    // Not on the list; a tree of another plan; a tree of another member.
    let other_plan = EpochPlan::new(EPOCH, vec![task_id("x"), task_id("z")]).unwrap();
    let other_tree = setup.members[0].epoch_tree(registry, &other_plan).unwrap();
    for (n, tree) in [(3, &trees[3]), (0, &other_tree), (0, &trees[1])] {
        let error = open(n, tree, &journals[n]).unwrap_err();
        assert_eq!(error, not_pinned);
    }
    // A journal without the acknowledgement, or of another seed.
    let new = journal(&setup.members[0]);
    let error = RoundError::Journal(JournalError::RootsNotAcknowledged);
    assert_eq!(open(0, &trees[0], &new).unwrap_err(), error);
    let error = RoundError::Journal(JournalError::OtherSeed);
    assert_eq!(open(0, &trees[0], &journals[1]).unwrap_err(), error);

    // A tree from a file opens the same key. The tree of another seed does not open.
    let opening = open(0, &trees[0], &journals[0]).unwrap();
    agreed.authenticate(&opening).unwrap();
    let stored = EpochTree::from_bytes(registry, plan, &trees[0].to_bytes()).unwrap();
    assert_eq!(open(0, &stored, &journals[0]).unwrap(), opening);
    let seed = MasterSeed::from_bytes(&[7; 32]);
    let reseeded = Member::new(id(0), seed, &bytes32("xi", 0));
    let mut its_journal = journal(&reseeded);
    let pinned = agreed.pinned();
    let _ = reseeded
        .acknowledge(pinned, &mut its_journal, HEDGE)
        .unwrap();
    let result = reseeded.open(&agreed, &trees[0], &attempt, &its_journal);
    assert_eq!(result.unwrap_err(), RoundError::InvalidOpening);
}

#[test]
fn openings_must_lead_to_the_agreed_root() {
    let mut setup = Setup::new(4);
    let agreed = setup.agree(3);
    let (members, trees, journals) = (&setup.members, &setup.trees, &setup.journals);
    let attempt = attempt_id("x", 0);
    let open = |n: usize| members[n].open(&agreed, &trees[n], &attempt, &journals[n]);
    let opening = open(0).unwrap();
    let error = |n: usize, attempt: &AttemptId, body: &[u8]| {
        let message = hostile::opening(&members[n], attempt, body, &agreed);
        agreed.authenticate(&message).unwrap_err()
    };
    let body = opening.body();
    let invalid = RoundError::InvalidOpening;
    assert_eq!(error(1, &attempt, body), invalid);
    assert_eq!(error(3, &attempt, body), RootsError::NotPinned.into());
    assert_eq!(error(0, &attempt_id("y", 0), body), invalid);
    assert_eq!(error(0, &attempt.next().unwrap(), body), invalid);
    let unknown = error(0, &attempt_id("w", 0), body);
    assert_eq!(unknown, RootsError::UnknownTask.into());
    let late = error(0, &attempt_id("x", 4), body);
    assert_eq!(late, RootsError::AttemptsExhausted.into());
    for at in [0, 6147, 6148] {
        let mut body = body.to_vec();
        body[at] ^= 1;
        assert_eq!(error(0, &attempt, &body), invalid);
    }
    // In lanes: the valid ones pass.
    let bad = hostile::opening(&members[1], &attempt, body, &agreed);
    let short = hostile::opening(&members[1], &attempt, &body[1..], &agreed);
    let all = [opening.clone(), bad, open(1).unwrap(), short];
    let results = agreed.authenticate_each(&all);
    let errors: Vec<_> = results.iter().map(|result| result.as_ref().err()).collect();
    let length = RoundError::Encoding(EncodingError::Length);
    assert_eq!(errors, [None, Some(&invalid), None, Some(&length)]);
}

#[test]
fn rounds_require_distinct_keys_of_one_list_and_attempt() {
    let mut setup = Setup::new(4);
    let agreed = setup.agree(3);
    setup.journals = setup.members.iter().map(journal).collect();
    let other = setup.agree(4);
    let attempt = attempt_id("x", 0);
    let (member, tree) = (&setup.members[0], &setup.trees[0]);
    let key = |agreed: &AgreedRoots, journal: &mut OneTimeKeyJournal| {
        let _ = member.acknowledge(agreed.pinned(), journal, HEDGE).unwrap();
        let opening = member.open(agreed, tree, &attempt, journal).unwrap();
        agreed.authenticate(&opening).unwrap()
    };
    let own = key(&agreed, &mut journal(member));
    let foreign = key(&other, &mut setup.journals[0]);
    let round = |attempt: u8, keys: Vec<AuthenticatedKey>| {
        let round = Round::new(&agreed, &task("x", b""), attempt, keys);
        round.map(drop)
    };
    assert_eq!(round(0, vec![own.clone()]), Ok(()));
    assert_eq!(round(0, vec![foreign]), Err(RoundError::OtherKey));
    let twice = vec![own.clone(), own.clone()];
    assert_eq!(round(0, twice), Err(RoundError::DuplicateSigner));
    assert_eq!(round(0, vec![]), Err(RoundError::NoSigners));
    assert_eq!(round(1, vec![own]), Err(RoundError::OtherKey));
}

#[test]
fn unreadable_store_is_an_error() {
    struct Broken;
    impl WriteOnceStore for Broken {
        fn write(&mut self, _: &str, _: &[u8]) -> Result<(), StorageError> {
            Err(StorageError::Failed)
        }
        fn read(&self, _: &str) -> Result<Option<Vec<u8>>, StorageError> {
            Err(StorageError::Failed)
        }
    }
    let setup = Setup::new(1);
    let failed = RootsError::Storage(StorageError::Failed);
    let result = PinnedRoots::pin(&mut Broken, &setup.registry, &setup.plan, &setup.roots);
    assert_eq!(result.unwrap_err(), failed);
    let result = PinnedRoots::load(&Broken, &setup.registry, &setup.plan);
    assert_eq!(result.unwrap_err(), failed);
}

/// Two roots, and two acknowledgements, of one member were no evidence. A third party verifies it with
/// registry and plan; the other members serve the next epoch.
#[test]
fn two_statements_of_an_epoch_are_evidence() {
    let mut setup = Setup::new(4);
    let (registry, plan) = (setup.registry.clone(), setup.plan.clone());
    // A second process of member 3, with another seed and a journal of its own.
    let again = Member::new(id(3), MasterSeed::from_bytes(&[9; 32]), &bytes32("xi", 3));
    let tree = again.epoch_tree(&registry, &plan).unwrap();
    let mut its_journal = journal(&again);
    let other = again.announce(&tree, &mut its_journal, HEDGE).unwrap();
    let roots = setup.roots.clone();
    let pinned = |last: &RootAnnouncement| {
        let list = [&roots[..3], core::slice::from_ref(last)].concat();
        let mut store = MemoryWriteOnceStore::default();
        PinnedRoots::pin(&mut store, &registry, &plan, &list).unwrap()
    };
    let (first, second) = (pinned(&roots[3]), pinned(&other));
    let own = setup.acknowledge(3, &first);
    let its = again.acknowledge(&second, &mut its_journal, HEDGE).unwrap();
    let encode = |root: &RootAnnouncement| root.to_bytes();
    let (a, b) = (encode(&roots[3]), encode(&other));
    for (a, b) in [(&a, &b), (&own.to_bytes(), &its.to_bytes())] {
        let evidence = EpochEquivocation::new(a, b, &registry, &plan).unwrap();
        let bytes = evidence.to_bytes();
        let read = EpochEquivocation::from_bytes(&bytes, &registry, &plan).unwrap();
        assert_eq!((read.id(), &read), (&id(3), &evidence));
        let mut forged = bytes.clone();
        let last = forged.len() - 2000;
        forged[last] ^= 1;
        let result = EpochEquivocation::from_bytes(&forged, &registry, &plan);
        assert_eq!(result, Err(RootsError::InvalidSignature));
        let result = EpochEquivocation::new(a, a, &registry, &plan);
        assert_eq!(result, Err(RootsError::NotConflicting));
    }
    for other in [own.to_bytes(), encode(&roots[2])] {
        let result = EpochEquivocation::new(&a, &other, &registry, &plan);
        assert_eq!(result, Err(RootsError::NotConflicting));
    }
    let next = EpochPlan::new(EPOCH + 1, vec![task_id("x")]).unwrap();
    let result = EpochEquivocation::new(&a, &b, &registry, &next);
    assert_eq!(result, Err(RootsError::OtherEpoch));
    // Members 0 and 1 have acknowledged one list and member 2 the other: the epoch has no agreement.
    let all = [
        setup.acknowledge(0, &first),
        setup.acknowledge(1, &first),
        setup.acknowledge(2, &second),
        own,
        its,
    ];
    assert_eq!(agreed(&second, &all).unwrap_err(), RootsError::NotAgreed);
    // The next epoch, without member 3, with the seeds and journals of the others.
    let registry = crate::committee::registry(&setup.members[..3]);
    let members = &setup.members[..3];
    let (_, next) = crate::committee::agree(members, &mut setup.journals[..3], &registry, &next);
    assert_eq!(next.ids().count(), 3);
}
