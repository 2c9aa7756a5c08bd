//! What a red team carried out against earlier states of this crate, each attack
//! against what refuses it now.

use std::sync::Arc;

use mladsa_aggregate::*;
use mldsa_core::hazmat::{NttPoly, Poly, Q, keygen_from_rho_p, vectors};
use mldsa_core::{Backend, Context, MlDsa87, ParameterSet, Randomness, SigningKey};

use crate::algebra::*;
use crate::committee::*;
use crate::hostile::{self, lp, shake};

/// t of member 0 for label x of `epoch` under `rho`, with its message.
fn opened(rho: &[u8; 32], epoch: u64, guard: &mut [Guard; 1]) -> (AgreedRoots, Message) {
    let members = [member(0)];
    let entry = members[0].register(Randomness::Deterministic).unwrap();
    let registry = Registry::new(rho, [entry]).unwrap();
    let plan = EpochPlan::new(epoch, vec![base("x")]).unwrap();
    let (trees, agreed) = agree(&members, guard, &registry, &plan);
    let label = base("x").attempt(0).unwrap();
    let message = members[0].open(&agreed, &trees[0], &label, &guard[0]);
    (agreed, message.unwrap())
}

/// One seed and one label under two matrices: (A - A') s1 = t - t' gave s1 as long as
/// the seed and the label alone selected it.
#[test]
fn two_matrices_do_not_share_a_key() {
    let mut guards = [guard(&member(0))];
    let (_, first) = opened(&[1; 32], 1, &mut guards);
    let (_, second) = opened(&[2; 32], 2, &mut guards);
    let t = |message: &Message| read_vec(&message.body()[..CONTENT_PUBLIC_KEY_LEN]);
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

/// Within one epoch the guard holds a seed to one matrix, one registry and one plan,
/// before anything of it is shown.
#[test]
fn a_seed_serves_one_plan_in_an_epoch() {
    let members = [member(0), member(1)];
    let all = registry(&members);
    let only = registry(&members[..1]);
    let entry = members
        .each_ref()
        .map(|m| m.register(Randomness::Deterministic).unwrap());
    let rematrixed = Registry::new(&[9; 32], entry).unwrap();
    let mut guard = guard(&members[0]);
    let mut announce = |registry: &Arc<Registry>, names: &[&str]| {
        let tree = members[0].epoch_tree(registry, &plan(names)).unwrap();
        let root = members[0].announce(&tree, &mut guard, Randomness::Deterministic);
        root.map(|_| ())
    };
    assert_eq!(announce(&all, &["x", "y"]), Ok(()));
    assert_eq!(announce(&all, &["x", "y"]), Ok(()));
    assert_eq!(announce(&all, &["x"]), Err(Error::EpochConflict));
    assert_eq!(announce(&only, &["x", "y"]), Err(Error::EpochConflict));
    assert_eq!(
        announce(&rematrixed, &["x", "y"]),
        Err(Error::EpochConflict)
    );
}

/// Leaves without an epoch made old openings good for the next, in which a newcomer
/// chose its root after it had seen all keys.
#[test]
fn an_opening_of_the_last_epoch_opens_nothing() {
    let mut guards = [guard(&member(0))];
    let (_, old) = opened(&RHO, 1, &mut guards);
    let (agreed, new) = opened(&RHO, 2, &mut guards);
    let pk = |message: &Message| message.body()[..CONTENT_PUBLIC_KEY_LEN].to_vec();
    assert_ne!(pk(&old), pk(&new));
    assert_eq!(
        agreed.receive(&old.to_bytes()).unwrap_err(),
        Error::OtherRound
    );
    let replayed = hostile::opening(&member(0), old.label(), old.body(), &agreed);
    assert_eq!(agreed.authenticate(&replayed).unwrap_err(), Error::BadPath);
}

/// A forger's root over the key that cancels the others', and the aggregate that it
/// signs alone.
struct Forgery {
    announcement: RootAnnouncement,
    opening: Vec<u8>,
    key: SigningKey<MlDsa87>,
}

/// By member `n` of `committee`, after it has seen the others' keys.
fn forge(committee: &Committee, n: usize, others: &[usize]) -> Forgery {
    let label = base("x").attempt(0).unwrap();
    let a_hat = matrix(&RHO);
    let mut s = polys(L + K);
    vectors::expand_s(Backend::detect(), P, &[9; 64], &mut s);
    let mut t = product(&a_hat, &s[..L], &s[L..]);
    for &other in others {
        let seen = committee.open(other, &label);
        let seen = read_vec(&seen.body()[..CONTENT_PUBLIC_KEY_LEN]);
        for (t, seen) in t.iter_mut().zip(&seen) {
            *t = Poly(core::array::from_fn(|n| (t.0[n] - seen.0[n]).rem_euclid(Q)));
        }
    }
    let rogue = write_vec(&t);
    let (registry, epoch) = (committee.agreed.registry(), EPOCH.to_be_bytes());
    let scope: [&[u8]; 5] = [b"F.epoch", &RHO, &epoch, registry.root(), label.as_bytes()];
    let scoped: [u8; 64] = shake(&lp(&scope));
    let framed = lp(&[id(n).as_bytes(), &scoped, &rogue]);
    let leaf: [u8; 32] = shake(&[&b"F.mt\x00"[..], &framed].concat());
    let node = |a: &[u8], b: &[u8]| shake::<32>(&[b"F.mt\x01", a, b].concat());
    let other = [5; 32];
    let above = node(&other, &other);
    let root = node(&node(&leaf, &other), &above);
    // What a root is signed for: the contents, then the plan, then the epoch.
    let contents: [u8; 32] = shake(&lp(&[b"x"]));
    let plan = [
        &b"MLADSA plan"[..],
        &lp(&[&epoch, &[DEFAULT_ATTEMPTS], &contents]),
    ]
    .concat();
    let plan: [u8; 32] = shake(&plan);
    let binding = [&b"MLADSA epoch"[..], &lp(&[&RHO, registry.root(), &plan])].concat();
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

/// The honest roots of all but the last member, and another one for the last.
fn pin_with(committee: &mut Committee, last: RootAnnouncement) -> PinnedRoots {
    let honest = committee.members.len() - 1;
    let mut roots: Vec<RootAnnouncement> = (0..honest)
        .map(|n| {
            let (member, tree) = (&committee.members[n], &committee.trees[n]);
            let guard = &mut committee.guards[n];
            member
                .announce(tree, guard, Randomness::Deterministic)
                .unwrap()
        })
        .collect();
    roots.push(last);
    let (registry, plan) = (committee.agreed.registry(), committee.agreed.plan());
    PinnedRoots::pin(&mut InMemoryPinsForTests::default(), registry, plan, &roots).unwrap()
}

/// A member that shows its root late, and another root to a fresh verifier or to one
/// honest member than to the rest, signs alone for all. The forged list can be pinned;
/// nobody agrees to it.
#[test]
fn a_list_that_others_do_not_hold_is_good_for_nothing() {
    let mut committee = Committee::new(4, &["x"]);
    let forgery = forge(&committee, 3, &[0, 1, 2]);
    let pinned = pin_with(&mut committee, forgery.announcement);
    assert_ne!(pinned.digest(), committee.agreed.digest());
    // The honest ones hold another list.
    for n in 0..3 {
        let guard = &mut committee.guards[n];
        let refused = committee.members[n].acknowledge(&pinned, guard, Randomness::Deterministic);
        assert_eq!(refused.unwrap_err(), Error::EpochConflict);
    }
    // The forger's own word is one of four; those for the other list do not count.
    let mut its_guard = guard(&committee.members[3]);
    let mallory = &committee.members[3];
    let own = mallory
        .acknowledge(&pinned, &mut its_guard, Randomness::Deterministic)
        .unwrap();
    let mut words = vec![own];
    for n in 0..3 {
        let guard = &mut committee.guards[n];
        let honest = committee.agreed.pinned();
        let word = committee.members[n].acknowledge(honest, guard, Randomness::Deterministic);
        words.push(word.unwrap());
    }
    let refused = AgreedRoots::new(&pinned, &words);
    assert_eq!(refused.unwrap_err(), Error::RootsNotAgreed);
}

/// The same attack in a committee that lets it: all acknowledge the forged list. This
/// shows that the list is what stands against it, and that the forgery is one.
#[test]
fn a_list_that_all_acknowledge_after_openings_is_forgeable() {
    let mut committee = Committee::new(3, &["x"]);
    let forgery = forge(&committee, 2, &[0, 1]);
    let pinned = pin_with(&mut committee, forgery.announcement);
    // Guards that were lost.
    let mut guards: Vec<Guard> = committee.members.iter().map(guard).collect();
    let words: Vec<Acknowledgement> = committee
        .members
        .iter()
        .zip(&mut guards)
        .map(|(member, guard)| {
            member
                .acknowledge(&pinned, guard, Randomness::Deterministic)
                .unwrap()
        })
        .collect();
    let agreed = AgreedRoots::new(&pinned, &words).unwrap();
    let label = base("x").attempt(0).unwrap();
    let mut keys: Vec<AuthenticatedKey> = (0..2)
        .map(|n| {
            let (member, tree) = (&committee.members[n], &committee.trees[n]);
            let message = member.open(&agreed, tree, &label, &guards[n]).unwrap();
            agreed.authenticate(&message).unwrap()
        })
        .collect();
    let message = hostile::opening(&committee.members[2], &label, &forgery.opening, &agreed);
    keys.push(agreed.authenticate(&message).unwrap());
    let (x, policy) = (base("x"), Policy::two_thirds(agreed.registry()));
    let expected = decision(&x, b"pay mallory");
    let round = Round::new(&agreed, &expected, 0, keys.clone()).unwrap();
    let ctx = Context::new(b"TEST").unwrap();
    let signature = forgery
        .key
        .sign(round.message(), ctx, Randomness::Deterministic)
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
    forged
        .verify_expecting(&agreed, &keys, &expected, &policy)
        .unwrap();
    // To who holds the list that the committee agreed on before anything was opened,
    // the forger's key is not one.
    let mallory = hostile::opening(
        &committee.members[2],
        &label,
        &forgery.opening,
        &committee.agreed,
    );
    let refused = committee.agreed.authenticate(&mallory);
    assert_eq!(refused.unwrap_err(), Error::BadPath);
    // Nor are keys of one list good for another.
    let refused = forged.verify_expecting(&committee.agreed, &keys, &expected, &policy);
    assert_eq!(refused.unwrap_err(), Error::CohortMismatch);
}

/// A rogue key has no proof of itself either, where roots cannot be fixed first.
#[test]
fn a_rogue_key_cannot_be_proven() {
    let committee = Committee::new(4, &["x"]);
    let label = base("x").attempt(0).unwrap();
    let forgery = forge(&committee, 3, &[0, 1, 2]);
    let rogue = Opening::from_bytes(&forgery.opening).unwrap();
    let registry = committee.agreed.registry();
    let proof = committee.members[3].prove_content_key(registry, EPOCH, &label, &[5; 64]);
    let proof = proof.unwrap();
    let own = committee.open(3, &label);
    let own = Opening::from_bytes(own.body()).unwrap();
    let check = |epoch, opening: &Opening| {
        let public_key = opening.public_key();
        verify_content_key(registry, epoch, &id(3), &label, public_key, proof.as_ref())
    };
    assert_eq!(check(EPOCH, &own), Ok(()));
    assert_eq!(check(EPOCH, &rogue), Err(Error::BadKeyProof));
    assert_eq!(check(EPOCH + 1, &own), Err(Error::BadKeyProof));
}

/// Attempts of one label were not tied to one payload: two valid aggregates for two
/// blocks of one slot.
#[test]
fn all_attempts_of_a_label_are_for_one_decision_and_in_order() {
    let mut committee = Committee::new(2, &["x"]);
    let label = |n| base("x").attempt(n).unwrap();
    let block_a = committee.round(&[0, 1], &label(0), b"block A");
    let again = committee.round(&[0, 1], &label(1), b"block A");
    let block_b = committee.round(&[0, 1], &label(1), b"block B");
    let _ = committee.attempt(&[0, 1], &block_a);
    let agreed = committee.agreed.clone();
    let (member, guard) = (&committee.members[0], &mut committee.guards[0]);
    let once = Error::OneTimeViolation;
    // Attempt 0 is neither failed nor retired.
    assert_eq!(member.commit(&block_b, guard).unwrap_err(), once);
    assert_eq!(member.commit(&again, guard).unwrap_err(), once);
    member.retire(&agreed, &label(0), guard).unwrap();
    assert_eq!(member.commit(&block_b, guard).unwrap_err(), once);
    member.commit(&again, guard).unwrap();
    // Another domain or kind is another decision too.
    let public_keys = committee.public_keys(&[0, 1], &label(1));
    let x = base("x");
    for other in [
        Decision {
            ctx: b"OTHER",
            ..decision(&x, b"block A")
        },
        Decision {
            kind: Kind::Consensus,
            ..decision(&x, b"block A")
        },
    ] {
        let round = Round::new(&agreed, &other, 1, public_keys.clone()).unwrap();
        let guard = &mut committee.guards[0];
        assert_eq!(
            committee.members[0].commit(&round, guard).unwrap_err(),
            once
        );
    }
}

/// After one member's equivocation the honest responses to its other commitment were
/// taken for wrong ones.
#[test]
fn nobody_is_blamed_for_another_s_second_commitment() {
    let mut committee = Committee::new(3, &["x"]);
    let round = committee.round(&[0, 1, 2], &base("x").attempt(0).unwrap(), b"payload");
    let (mut pending, mut messages) = (Vec::new(), Vec::new());
    for n in 0..3 {
        let guard = &mut committee.guards[n];
        let (wait, message) = committee.members[n].commit(&round, guard).unwrap();
        pending.push(wait);
        messages.push(message);
    }
    let other = hostile::other_commitment(&committee.members[2], &messages[2], &committee.agreed);
    let challenge = |last: &Message| {
        let mut set = CommitmentSet::new(&round);
        for message in [&messages[0], &messages[1], last] {
            set.add(message).unwrap();
        }
        set.challenge().unwrap()
    };
    let (seen, shown) = (challenge(&messages[2]), challenge(&other));
    let honest = committee.members[1].respond(pending.remove(1), &shown, &mut committee.guards[1]);
    let honest = honest.unwrap();
    let mut combiner = Combiner::new(&seen);
    assert_eq!(combiner.add(&honest), Err(Error::OtherRound));
    // What the two parties hold together names the one who did it.
    let evidence = Equivocation::new(&messages[2], &other).unwrap();
    assert_eq!(evidence.id(), &id(2));
    assert!(Equivocation::new(&messages[1], &honest).is_none());
}

/// A decision aggregate was a valid consensus aggregate of another payload, and in
/// consensus mode the bit of a member whose key adds nothing could be set or not.
#[test]
fn kind_and_participants_are_bound() {
    let mut committee = Committee::new(2, &["x"]);
    let (aggregate, round) = committee.sign(&[0, 1], "x", b"payload");
    let public_keys = committee.public_keys(&[0, 1], round.label());
    let mut bytes = aggregate.to_bytes();
    bytes[9] = 1;
    let at = bytes.len() - 4627 - (4 + 1) - (4 + 7);
    bytes.splice(at..at + 11, lp(&[round.message()]));
    let other = Aggregate::from_bytes(&bytes).unwrap();
    let (x, policy) = (base("x"), Policy::two_thirds(committee.agreed.registry()));
    let as_consensus = Decision {
        kind: Kind::Consensus,
        ..decision(&x, round.message())
    };
    let refused = other.verify_expecting(&committee.agreed, &public_keys, &as_consensus, &policy);
    assert_eq!(refused.unwrap_err(), Error::VerifyFailed);
    // Two cohorts with one key have two contexts: the participants' root is in it.
    let consensus = |cohort: &[usize]| {
        let keys = committee.public_keys(cohort, round.label());
        let decision = Decision {
            kind: Kind::Consensus,
            ..decision(&x, b"payload")
        };
        Round::new(&committee.agreed, &decision, round.label().attempt(), keys).unwrap()
    };
    assert_ne!(consensus(&[0]).ctx(), consensus(&[0, 1]).ctx());
}
