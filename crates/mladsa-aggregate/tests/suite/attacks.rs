//! Attacks that succeeded against earlier versions of this crate, each with the check that rejects
//! it now.

use std::sync::Arc;

use mladsa_aggregate::errors::{JournalError, RootsError, RoundError, VerifyError};
use mladsa_aggregate::steps::*;
use mladsa_aggregate::*;
use mldsa_core::internals::{NttPoly, Poly, Q, keygen_from_rho_p, vectors};
use mldsa_core::{Backend, Context, MlDsa87, ParameterSet, Randomness, SigningKey};

use crate::algebra::*;
use crate::committee::*;
use crate::contributions::KEY_REUSED;
use crate::hostile::{self, lp, shake};

/// The opening of member 0 for task x of `epoch` under `rho`.
fn opened(
    rho: &[u8; 32],
    epoch: u64,
    journal: &mut [OneTimeKeyJournal; 1],
) -> (AgreedRoots, SignedMessage) {
    let members = [member(0)];
    let entry = members[0].register(Randomness::Deterministic).unwrap();
    let registry = Registry::new(rho, [entry], &Threshold::TwoThirds).unwrap();
    let plan = EpochPlan::new(epoch, vec![task_id("x")]).unwrap();
    let (trees, agreed) = agree(&members, journal, &registry, &plan);
    let message = members[0].open(&agreed, &trees[0], &attempt_id("x", 0), &journal[0]);
    (agreed, message.unwrap())
}

/// With keys derived from seed and label alone, two matrices gave (A - A') s1 = t - t', hence s1.
#[test]
fn keys_depend_on_the_matrix() {
    let mut journals = [journal(&member(0))];
    let (_, first) = opened(&[1; 32], 1, &mut journals);
    let (_, second) = opened(&[2; 32], 2, &mut journals);
    let t = |message: &SignedMessage| read_vec(&message.body()[..OneTimePublicKey::LEN]);
    let difference: Vec<NttPoly> = matrix(&[1; 32])
        .iter()
        .zip(&matrix(&[2; 32]))
        .map(|(a, b)| {
            let difference = |n: usize| reduce(i64::from(a.0[n]) - i64::from(b.0[n]));
            NttPoly(core::array::from_fn(difference))
        })
        .collect();
    let s1 = solve(&difference, &t(&first), &t(&second));
    assert!(vectors::norm(&s1) > 2, "s1 from two openings");
}

/// The journal binds a seed to one matrix, one registry and one plan for each epoch, before any
/// root is released.
#[test]
fn seed_serves_one_plan_in_an_epoch() {
    let members = [member(0), member(1)];
    let all = registry(&members);
    let only = registry(&members[..1]);
    let entry = members
        .each_ref()
        .map(|m| m.register(Randomness::Deterministic).unwrap());
    let rematrixed = Registry::new(&[9; 32], entry, &Threshold::TwoThirds).unwrap();
    let mut journal = journal(&members[0]);
    let mut announce = |registry: &Arc<Registry>, names: &[&str]| {
        let tree = members[0].epoch_tree(registry, &plan(names)).unwrap();
        let root = members[0].announce(&tree, &mut journal, Randomness::Deterministic);
        root.map(drop)
    };
    assert_eq!(announce(&all, &["x", "y"]), Ok(()));
    assert_eq!(announce(&all, &["x", "y"]), Ok(()));
    let conflict = Err(RootsError::Journal(JournalError::EpochConflict));
    assert_eq!(announce(&all, &["x"]), conflict);
    assert_eq!(announce(&only, &["x", "y"]), conflict);
    assert_eq!(announce(&rematrixed, &["x", "y"]), conflict);
}

/// With leaves that did not depend on the epoch, old openings were valid in the next one, in which
/// a new member could choose its root after seeing all keys.
#[test]
fn openings_of_another_epoch_are_rejected() {
    let mut journals = [journal(&member(0))];
    let (_, old) = opened(&RHO, 1, &mut journals);
    let (agreed, new) = opened(&RHO, 2, &mut journals);
    let pk = |message: &SignedMessage| message.body()[..OneTimePublicKey::LEN].to_vec();
    assert_ne!(pk(&old), pk(&new));
    assert_eq!(
        agreed.receive(&old.to_bytes()).unwrap_err(),
        RoundError::OtherRound
    );
    let replayed = hostile::opening(&member(0), old.attempt_id(), old.body(), &agreed);
    let result = agreed.authenticate(&replayed);
    assert_eq!(result.unwrap_err(), RoundError::InvalidOpening);
}

/// Root of an attacker over the key that cancels the keys of the others, and the key with which it
/// signs alone.
struct Forgery {
    announcement: RootAnnouncement,
    opening: Vec<u8>,
    key: SigningKey<MlDsa87>,
}

/// A forgery by member `n` of `committee`, after it has seen the keys of the others.
fn forge(committee: &Committee, n: usize, others: &[usize]) -> Forgery {
    let attempt = attempt_id("x", 0);
    let a_hat = matrix(&RHO);
    let mut s = polys(L + K);
    vectors::expand_s(Backend::detect(), P, &[9; 64], &mut s);
    let mut t = product(&a_hat, &s[..L], &s[L..]);
    for &other in others {
        let seen = committee.open(other, &attempt);
        let seen = read_vec(&seen.body()[..OneTimePublicKey::LEN]);
        for (t, seen) in t.iter_mut().zip(&seen) {
            *t = Poly(core::array::from_fn(|n| (t.0[n] - seen.0[n]).rem_euclid(Q)));
        }
    }
    let rogue = write_vec(&t);
    let (registry, epoch) = (committee.agreed.registry(), EPOCH.to_be_bytes());
    let scope: [&[u8]; 5] = [
        b"F.epoch",
        &RHO,
        &epoch,
        registry.root(),
        attempt.as_bytes(),
    ];
    let scoped: [u8; 64] = shake(&lp(&scope));
    let framed = lp(&[id(n).as_bytes(), &scoped, &rogue]);
    let leaf: [u8; 32] = shake(&[&b"F.mt\x00"[..], &framed].concat());
    let node = |a: &[u8], b: &[u8]| shake::<32>(&[b"F.mt\x01", a, b].concat());
    let other = [5; 32];
    let above = node(&other, &other);
    let root = node(&node(&leaf, &other), &above);
    // The signed statement: digest of the tasks, of the plan, of the epoch.
    let contents: [u8; 32] = shake(&lp(&[b"x"]));
    let plan = [
        &b"MLADSA plan"[..],
        &lp(&[&epoch, &[EpochPlan::DEFAULT_ATTEMPTS], &contents]),
    ]
    .concat();
    let plan: [u8; 32] = shake(&plan);
    let identity = registry.identity(EPOCH);
    let binding = [&b"MLADSA epoch"[..], &lp(&[&identity, &plan])].concat();
    let binding: [u8; 32] = shake(&binding);
    let message: [u8; 64] = shake(&lp(&[b"F.kt", &epoch, &binding, &root]));
    let signature = hostile::sign(&id(n), b"F.kt", &message);
    let bytes = [
        b"MLADSAT2",
        &lp(&[id(n).as_bytes()])[..],
        &epoch,
        &root,
        &signature,
    ]
    .concat();
    let (mut pk, mut sk) = ([0; MlDsa87::PK_LEN], [0; MlDsa87::SK_LEN]);
    keygen_from_rho_p::<MlDsa87>(
        Backend::detect(),
        &RHO,
        &[9; 64],
        &[8; 32],
        &mut pk,
        &mut sk,
    );
    Forgery {
        announcement: RootAnnouncement::from_bytes(&bytes).unwrap(),
        opening: [&rogue[..], &[0; 4], &other, &above].concat(),
        key: SigningKey::from_expanded_bytes(&sk).unwrap(),
    }
}

/// The list of the honest roots of all members but the last, and another root for the last.
fn pin_with(committee: &mut Committee, last: RootAnnouncement) -> PinnedRoots {
    let honest = committee.members.len() - 1;
    let mut roots: Vec<RootAnnouncement> = (0..honest)
        .map(|n| {
            let (member, tree) = (&committee.members[n], &committee.trees[n]);
            let journal = &mut committee.journals[n];
            let root = member.announce(tree, journal, Randomness::Deterministic);
            root.unwrap()
        })
        .collect();
    roots.push(last);
    let (registry, plan) = (committee.agreed.registry(), committee.agreed.plan());
    PinnedRoots::pin(&mut MemoryWriteOnceStore::default(), registry, plan, &roots).unwrap()
}

/// A member that announces its root late, or different roots to different members, could sign alone
/// for all. The forged list can be pinned, but is not agreed on.
#[test]
fn forged_list_of_roots_is_not_agreed_on() {
    let mut committee = Committee::new(4, &["x"]);
    let forgery = forge(&committee, 3, &[0, 1, 2]);
    let pinned = pin_with(&mut committee, forgery.announcement);
    assert_ne!(pinned.digest(), committee.agreed.digest());
    // The honest members have acknowledged another list.
    for n in 0..3 {
        let journal = &mut committee.journals[n];
        let result = committee.members[n].acknowledge(&pinned, journal, Randomness::Deterministic);
        assert_eq!(result.unwrap_err(), JournalError::EpochConflict.into());
    }
    // Acknowledgements of the other list do not count.
    let mut its_journal = journal(&committee.members[3]);
    let mallory = &committee.members[3];
    let own = mallory
        .acknowledge(&pinned, &mut its_journal, Randomness::Deterministic)
        .unwrap();
    let mut acknowledgements = vec![own];
    for n in 0..3 {
        let journal = &mut committee.journals[n];
        let honest = committee.agreed.pinned();
        let own = committee.members[n].acknowledge(honest, journal, Randomness::Deterministic);
        acknowledgements.push(own.unwrap());
    }
    let result = agreed(&pinned, &acknowledgements);
    assert_eq!(result.unwrap_err(), RootsError::NotAgreed);
}

/// Control: the forgery succeeds if all members acknowledge the forged list, so the agreement before
/// any opening is what prevents it.
#[test]
fn forgery_succeeds_if_roots_are_agreed_on_after_openings() {
    let mut committee = Committee::new(3, &["x"]);
    let forgery = forge(&committee, 2, &[0, 1]);
    let pinned = pin_with(&mut committee, forgery.announcement);
    // Journals that were lost.
    let mut journals: Vec<_> = committee.members.iter().map(journal).collect();
    let agreed = acknowledge(&committee.members, &mut journals, &pinned);
    let attempt = attempt_id("x", 0);
    let mut keys: Vec<AuthenticatedKey> = (0..2)
        .map(|n| {
            let (member, tree) = (&committee.members[n], &committee.trees[n]);
            let message = member.open(&agreed, tree, &attempt, &journals[n]).unwrap();
            agreed.authenticate(&message).unwrap()
        })
        .collect();
    let mallory = &committee.members[2];
    let message = hostile::opening(mallory, &attempt, &forgery.opening, &agreed);
    keys.push(agreed.authenticate(&message).unwrap());
    let expected = task("x", b"pay mallory");
    let round = Round::new(&agreed, &expected, 0, keys.clone()).unwrap();
    let ctx = Context::new(b"TEST").unwrap();
    let signature = forgery
        .key
        .sign_with_context(round.message(), ctx, Randomness::Deterministic)
        .unwrap();
    let object = [
        &b"MLADSAF2\x01\x00"[..],
        &lp(&[b"TEST", b"x"]),
        &[0],
        &EPOCH.to_be_bytes(),
        &lp(&[b"pay mallory", &[0x0f]]),
        signature.as_ref(),
    ];
    let forged = Aggregate::from_bytes(&object.concat()).unwrap();
    forged.verify(&agreed, &keys, &expected).unwrap();
    // Under the list agreed on before the openings, the opening is invalid, and so are keys of
    // the other list.
    let message = hostile::opening(mallory, &attempt, &forgery.opening, &committee.agreed);
    let result = committee.agreed.authenticate(&message);
    assert_eq!(result.unwrap_err(), RoundError::InvalidOpening);
    let result = forged.verify(&committee.agreed, &keys, &expected);
    assert_eq!(result.unwrap_err(), VerifyError::MissingKey);
}

/// Attempts of one task were not bound to one payload: two valid aggregates for two blocks of one
/// slot.
#[test]
fn attempts_sign_one_payload_in_order() {
    let mut committee = Committee::new(2, &["x"]);
    let attempt = |n| attempt_id("x", n);
    let block_a = committee.round(&[0, 1], &attempt(0), b"block A");
    let again = committee.round(&[0, 1], &attempt(1), b"block A");
    let block_b = committee.round(&[0, 1], &attempt(1), b"block B");
    let _ = committee.run_attempt(&[0, 1], &block_a);
    let keys = committee.keys(&[0, 1], &attempt(1));
    let agreed = committee.agreed.clone();
    let (member, journal) = (&committee.members[0], &mut committee.journals[0]);
    // Attempt 0 is not retired.
    assert_eq!(member.commit(&block_b, journal).unwrap_err(), KEY_REUSED);
    assert_eq!(member.commit(&again, journal).unwrap_err(), KEY_REUSED);
    member.retire(&agreed, &attempt(0), journal).unwrap();
    assert_eq!(member.commit(&block_b, journal).unwrap_err(), KEY_REUSED);
    let _ = member.commit(&again, journal).unwrap();
    // Another domain or kind is another task.
    for other in [
        SigningTask::decision(task_id("x"), b"OTHER", b"block A"),
        SigningTask::consensus(task_id("x"), b"TEST", b"block A"),
    ] {
        let round = Round::new(&agreed, &other.unwrap(), 1, keys.clone()).unwrap();
        assert_eq!(member.commit(&round, journal).unwrap_err(), KEY_REUSED);
    }
}

/// After an equivocation of one member, honest responses to its other commitment counted as wrong.
#[test]
fn honest_member_is_not_blamed_for_the_equivocation_of_another() {
    let mut committee = Committee::new(3, &["x"]);
    let round = committee.round(&[0, 1, 2], &attempt_id("x", 0), b"payload");
    let (mut pending, hashes) = committee.commit(&round, &[0, 1, 2]);
    // Member 2 shows another hash to member 1.
    let other = hostile::other_commitment(&committee.members[2], &hashes[2], &committee.agreed);
    let to_one = [hashes[0].clone(), hashes[1].clone(), other.clone()];
    let journal = &mut committee.journals[1];
    let honest = committee.members[1].reveal(&pending.remove(1), &hashed(&round, &to_one), journal);
    let honest = honest.unwrap();
    let mut set = hashed(&round, &hashes);
    assert_eq!(set.add(&honest), Err(RoundError::OtherRound));
    // Both hashes together are evidence against their sender.
    let evidence = Equivocation::new(&hashes[2], &other).unwrap();
    assert_eq!(evidence.id(), &id(2));
    assert!(Equivocation::new(&hashes[1], &honest).is_none());
}

/// The aggregate of a decision was a valid consensus aggregate of another payload, and for a
/// consensus task the bit of a member whose key adds nothing could be changed.
#[test]
fn kind_and_participants_are_bound() {
    let mut committee = Committee::new(2, &["x"]);
    let (aggregate, round) = committee.sign(&[0, 1], "x", b"payload");
    let attempt = round.attempt_id();
    let keys = committee.keys(&[0, 1], attempt);
    let mut bytes = aggregate.to_bytes();
    bytes[9] = 1;
    let at = bytes.len() - 4627 - (4 + 1) - (4 + 7);
    bytes.splice(at..at + 11, lp(&[round.message()]));
    let other = Aggregate::from_bytes(&bytes).unwrap();
    let consensus = |payload| SigningTask::consensus(task_id("x"), b"TEST", payload).unwrap();
    let result = committee.verify(&other, &keys, &consensus(round.message()));
    assert_eq!(result.unwrap_err(), VerifyError::InvalidSignature);
    // Two signer sets with one key have two contexts, which contain the participants' root.
    let context = |signers: &[usize]| {
        let keys = committee.keys(signers, attempt);
        let task = consensus(b"payload");
        let round = Round::new(&committee.agreed, &task, attempt.attempt(), keys);
        round.unwrap().context().to_vec()
    };
    assert_ne!(context(&[0]), context(&[0, 1]));
}
