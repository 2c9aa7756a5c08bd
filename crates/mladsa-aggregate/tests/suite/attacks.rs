//! Attacks that succeeded against earlier versions of this crate or of the scheme, each with the
//! check that rejects it now.

use std::sync::Arc;

use mladsa_aggregate::errors::{AggregateError, CommitteeError, RoundError};
use mladsa_aggregate::steps::*;
use mladsa_aggregate::*;
use mldsa_core::internals::{NttPoly, Poly, Q, keygen_from_rho_p, vectors};
use mldsa_core::{Backend, Context, MlDsa87, ParameterSet, Randomness, SigningKey};

use crate::algebra::*;
use crate::committee::*;
use crate::contributions::KEY_REUSED;
use crate::hostile::{self, lp, shake};

/// The seed of the matrix of a domain.
fn rho(domain: &[u8]) -> [u8; 32] {
    shake(&[&b"MLADSA rho"[..], &lp(&[domain])].concat())
}

/// t of member 0 in slot 0 of the first epoch of a domain.
fn opened(domain: &[u8]) -> Vec<Poly> {
    let epoch = Epoch::new(domain, 1, 1, 1).unwrap();
    let opening = Group::with(&epoch, &[1], 1).open(0, at(0, 0));
    read_vec(&opening.body()[..OneTimePublicKey::LEN])
}

/// With keys derived from seed and label alone, two matrices gave (A - A') s1 = t - t', hence s1.
#[test]
fn keys_depend_on_the_matrix() {
    let (first, second) = (opened(b"one"), opened(b"two"));
    let difference: Vec<NttPoly> = matrix(&rho(b"one"))
        .iter()
        .zip(&matrix(&rho(b"two")))
        .map(|(a, b)| {
            let difference = |n: usize| reduce(i64::from(a.0[n]) - i64::from(b.0[n]));
            NttPoly(core::array::from_fn(difference))
        })
        .collect();
    let s1 = solve(&difference, &first, &second);
    assert!(vectors::norm(&s1) > 2, "s1 from two openings");
}

/// With leaves that did not depend on the epoch, old openings were valid in the next one, in which
/// a new member could choose its root after seeing all keys.
#[test]
fn openings_of_another_epoch_are_rejected() {
    let mut groups = [1, 2].map(|number| Group::with(&epoch(number), &[1], 1));
    let [old, new] = groups.each_mut().map(|group| group.open(0, at(0, 0)));
    let pk = |message: &Message| message.body()[..OneTimePublicKey::LEN].to_vec();
    assert_ne!(pk(&old), pk(&new));
    let committee = &groups[1].committee;
    let received = Message::receive(&old.to_bytes(), committee);
    assert_eq!(received.unwrap_err(), RoundError::OtherRound);
    let result = committee.view().authenticate(0, at(0, 0), old.body());
    assert_eq!(result.unwrap_err(), CommitteeError::InvalidOpening);
}

/// The last member of a committee registers after it has seen the keys of the others: a root over
/// the key that cancels theirs. It then signs alone for all.
struct Forgery {
    registration: Registration,
    opening: Vec<u8>,
    key: SigningKey<MlDsa87>,
}

fn forge(group: &mut Group, n: usize, others: &[usize]) -> Forgery {
    let epoch = Arc::clone(group.committee.epoch());
    let rho = rho(DOMAIN);
    let a_hat = matrix(&rho);
    let mut s = polys(L + K);
    vectors::expand_s(Backend::detect(), P, &[9; 64], &mut s);
    let mut t = product(&a_hat, &s[..L], &s[L..]);
    for &other in others {
        let seen = group.open(other, at(0, 0));
        let seen = read_vec(&seen.body()[..OneTimePublicKey::LEN]);
        for (t, seen) in t.iter_mut().zip(&seen) {
            *t = Poly(core::array::from_fn(|n| (t.0[n] - seen.0[n]).rem_euclid(Q)));
        }
    }
    let rogue = write_vec(&t);
    let number = epoch.number().to_be_bytes();
    let label: [u8; 32] = shake(&lp(&[b"F.label", DOMAIN, &number, &[0; 8], &[0; 4]]));
    let content = [&label[..], &[0]].concat();
    let framed = lp(&[id(n).as_bytes(), &content, &rogue]);
    let leaf: [u8; 32] = shake(&[&b"F.mt\x00"[..], &framed].concat());
    let node = |a: &[u8], b: &[u8]| shake::<32>(&[b"F.mt\x01", a, b].concat());
    // A tree of 16 leaves, of which only the first is a key.
    let siblings = [[5u8; 32]; 4];
    let root = siblings
        .iter()
        .fold(leaf, |hash, sibling| node(&hash, sibling));
    let key = hostile::registration_key(&id(n), epoch.number());
    let key = key.verifying_key().as_bytes();
    let parameters = [
        &lp(&[DOMAIN])[..],
        &number,
        &epoch.slots().to_be_bytes(),
        &[epoch.attempts()],
    ]
    .concat();
    let message: [u8; 64] = shake(&lp(&[
        b"F.pop",
        id(n).as_bytes(),
        key,
        &rho,
        &parameters,
        &root,
    ]));
    let proof = hostile::sign(&id(n), epoch.number(), b"F.pop", &message);
    let bytes = [
        b"MLADSAR2",
        &lp(&[id(n).as_bytes()])[..],
        key,
        &root,
        &proof,
    ]
    .concat();
    let (mut pk, mut sk) = ([0; MlDsa87::PK_LEN], [0; MlDsa87::SK_LEN]);
    let (backend, k_seed) = (Backend::detect(), bytes32("K", 0));
    keygen_from_rho_p::<MlDsa87>(backend, &rho, &[9; 64], &k_seed, &mut pk, &mut sk);
    Forgery {
        registration: Registration::from_bytes(&bytes).unwrap(),
        opening: [&rogue[..], &[0; 4], siblings.as_flattened()].concat(),
        key: SigningKey::from_expanded_bytes(&sk).unwrap(),
    }
}

/// Control: the forgery succeeds against a verifier of a committee that was made after openings, with a
/// valid proof of possession. So the order, committee before openings, is what prevents it, and the
/// ledger decides that order. The honest members open nothing for the second committee.
#[test]
fn rogue_root_forges_only_in_a_committee_made_after_openings() {
    let mut group = Group::new(3);
    let epoch = Arc::clone(group.committee.epoch());
    let forgery = forge(&mut group, 2, &[0, 1]);
    let honest = [0, 1].map(|n| group.members[n].register(Randomness::Deterministic));
    let [first, second] = honest.map(Result::unwrap);
    let members = [(first, 1), (second, 1), (forgery.registration, 1)];
    let forked = SigningCommittee::new(&epoch, members, 3).unwrap();
    assert_ne!(forked.identity(), group.committee.identity());
    for n in [0, 1] {
        let result = group.members[n].open(&forked, at(0, 0), &mut group.journals[n]);
        assert!(matches!(result, Err(RoundError::Journal(_))));
    }
    // The honest openings of the first committee lead to the same roots.
    let openings = [0, 1].map(|n| group.open(n, at(0, 0)).body().to_vec());
    let authenticate = |committee: &SigningCommittee| -> Result<Vec<_>, CommitteeError> {
        let all = openings.iter().chain([&forgery.opening]).enumerate();
        all.map(|(n, opening)| committee.view().authenticate(n, at(0, 0), opening))
            .collect()
    };
    let keys = authenticate(&forked).unwrap();
    let expected = SigningTask::decision(0, b"pay mallory");
    let round = Round::new(forked.view(), &expected, 0, keys.clone()).unwrap();
    let ctx = Context::new(DOMAIN).unwrap();
    let signature = forgery
        .key
        .sign_with_context(round.message(), ctx, Randomness::Deterministic)
        .unwrap();
    let object = [
        &b"MLADSAF3\x00\0\0\0\0\0"[..],
        &EPOCH.to_be_bytes(),
        &lp(&[b"pay mallory", &[0x0f]]),
        signature.as_ref(),
    ];
    let forged = Aggregate::from_bytes(&object.concat()).unwrap();
    forged.verify(forked.view(), &keys, &expected).unwrap();
    // In the committee that was final before the openings, its opening leads to no root, and keys of
    // the other committee do not count.
    let invalid = authenticate(&group.committee).unwrap_err();
    assert_eq!(invalid, CommitteeError::InvalidOpening);
    let result = forged.verify(group.committee.view(), &keys, &expected);
    assert_eq!(result.unwrap_err(), AggregateError::MissingKey);
}

/// Attempts of one task were not bound to one payload: two valid aggregates for two blocks of one
/// slot.
#[test]
fn attempts_sign_one_payload_in_order() {
    let mut group = Group::new(2);
    let block_a = group.round(&[0, 1], at(0, 0), b"block A");
    let again = group.round(&[0, 1], at(0, 1), b"block A");
    let block_b = group.round(&[0, 1], at(0, 1), b"block B");
    let _ = group.run_attempt(&[0, 1], &block_a);
    let keys = group.keys(&[0, 1], at(0, 1));
    let (member, journal) = (&group.members[0], &mut group.journals[0]);
    // Attempt 0 is not retired.
    assert_eq!(member.commit(&block_b, journal).unwrap_err(), KEY_REUSED);
    assert_eq!(member.commit(&again, journal).unwrap_err(), KEY_REUSED);
    member.retire(at(0, 0), journal).unwrap();
    assert_eq!(member.commit(&block_b, journal).unwrap_err(), KEY_REUSED);
    let _ = member.commit(&again, journal).unwrap();
    // Another kind is another task.
    let other = SigningTask::consensus(0, b"block A");
    let round = Round::new(group.committee.view(), &other, 1, keys).unwrap();
    assert_eq!(member.commit(&round, journal).unwrap_err(), KEY_REUSED);
}

/// After an equivocation of one member, honest responses to its other commitment counted as wrong.
#[test]
fn honest_member_is_not_blamed_for_the_equivocation_of_another() {
    let mut group = Group::new(3);
    let round = group.round(&[0, 1, 2], at(0, 0), b"payload");
    let (mut pending, hashes) = group.commit(&round, &[0, 1, 2]);
    // Member 2 shows another hash to member 1.
    let other = hostile::changed(&hashes[2], &group.committee);
    let to_one = [hashes[0].clone(), hashes[1].clone(), other.clone()];
    let (set, journal) = (hashed(&round, &to_one), &mut group.journals[1]);
    let honest = group.members[1].reveal(&pending.remove(1), &set, journal);
    let honest = honest.unwrap();
    let mut set = hashed(&round, &hashes);
    assert_eq!(set.add(&honest), Err(RoundError::OtherRound));
    // Both hashes together are evidence against their sender.
    let evidence = ConflictingMessages::new(&hashes[2], &other).unwrap();
    assert_eq!(evidence.id(), &id(2));
    assert!(ConflictingMessages::new(&hashes[1], &honest).is_none());
}

/// Two responses to one nonce reveal the key, as the difference of the responses divided by that of the
/// challenges. Two journals of one seed, which the rule forbids, release them.
#[test]
fn two_responses_to_one_nonce_reveal_the_key() {
    let respond = |hashes_differ: bool| {
        let mut group = Group::new(2);
        let round = group.round(&[0, 1], at(0, 0), b"payload");
        let (mut pending, mut hashes) = group.commit(&round, &[0, 1]);
        let own = pending.remove(0);
        if hashes_differ {
            // Member 1 commits to something else.
            let mut body = hostile_commitment(&group, &round);
            // The high bits of one coefficient.
            body[100] ^= 1;
            hashes[1] = hostile_hash(&group, &round, &body);
            let mut set = hashed(&round, &hashes);
            let revealed = group.members[0].reveal(&own, &set, &mut group.journals[0]);
            set.add(&revealed.unwrap()).unwrap();
            set.add(&hostile_reveal(&group, &hashes, &round, &body))
                .unwrap();
            return finish(&mut group, own, &set);
        }
        let (mut set, commitments) =
            group.reveal(&[0, 1], &[own, pending.remove(0)], &round, &hashes);
        commitments.iter().for_each(|c| set.add(c).unwrap());
        let own = group.members[0].resume(&round, &group.journals[0]).unwrap();
        finish(&mut group, own, &set)
    };
    let ((z, c), (z2, c2)) = (respond(false), respond(true));
    assert_ne!(c, c2);
    let (c_hat, c2_hat) = (challenge_of(&c), challenge_of(&c2));
    // s1 = (z - z') / (c - c').
    let s1: Vec<Poly> = z
        .iter()
        .zip(&z2)
        .map(|(a, b)| {
            let difference = transform(&Poly(core::array::from_fn(|n| a.0[n] - b.0[n])));
            inverse(&NttPoly(core::array::from_fn(|n| {
                let divisor = reduce(i64::from(c_hat.0[n]) - i64::from(c2_hat.0[n]));
                mul(difference.0[n], invert(divisor))
            })))
        })
        .collect();
    assert!(vectors::norm(&s1) <= 2, "the key of the member");
}

type Answer = (Vec<Poly>, [u8; 64]);

fn finish(group: &mut Group, own: PendingResponse, set: &CommitmentSet) -> Answer {
    let challenge = set.challenge().unwrap();
    let response = group.members[0].respond(own, &challenge, &mut group.journals[0]);
    (read_response(&response.unwrap()), *challenge.c_tilde())
}

/// The commitment of member 1 of a round.
fn hostile_commitment(group: &Group, round: &Arc<Round>) -> Vec<u8> {
    let mut journals = [0, 1].map(|n| journal(&group.members[n]));
    let mut hashes = Vec::new();
    let mut pending = Vec::new();
    for (n, journal) in journals.iter_mut().enumerate() {
        let member = &group.members[n];
        let _ = member.open(&group.committee, at(0, 0), journal).unwrap();
        let (own, hash) = member.commit(round, journal).unwrap();
        hashes.push(hash);
        pending.push(own);
    }
    let set = hashed(round, &hashes);
    let revealed = group.members[1].reveal(&pending[1], &set, &mut journals[1]);
    revealed.unwrap().body().to_vec()
}

/// The hash of a commitment of member 1, by the documented formula.
fn hostile_hash(group: &Group, round: &Round, commitment: &[u8]) -> Message {
    let parts: Vec<[u8; 64]> = commitment
        .chunks(768)
        .map(|part| shake(&[b"F.commit", part].concat()))
        .collect();
    let width = 4096u32.to_be_bytes();
    let hash: [u8; 64] = shake(&lp(&[
        b"F.commit",
        id(1).as_bytes(),
        b"offset",
        round.mu().as_bytes(),
        &width,
        parts.as_flattened(),
    ]));
    let (kind, mu) = (MessageKind::CommitmentHash, round.mu().as_bytes());
    let bytes = hostile::bytes(&id(1), kind, at(0, 0), mu, &hash, &group.committee);
    Message::receive(&bytes, &group.committee).unwrap()
}

/// The commitment of member 1, which answers all hashes.
fn hostile_reveal(group: &Group, hashes: &[Message], round: &Round, commitment: &[u8]) -> Message {
    let mut parts: Vec<&[u8]> = vec![b"F.hashes", round.mu().as_bytes()];
    parts.extend(hashes.iter().map(Message::body));
    let digest: [u8; 64] = shake(&lp(&parts));
    let kind = MessageKind::Commitment;
    let bytes = hostile::bytes(
        &id(1),
        kind,
        at(0, 0),
        &digest,
        commitment,
        &group.committee,
    );
    Message::receive(&bytes, &group.committee).unwrap()
}

/// The aggregate of a decision was a valid consensus aggregate of another payload, and for a
/// consensus task the bit of a member whose key adds nothing could be changed.
#[test]
fn kind_and_participants_are_bound() {
    let mut group = Group::new(2);
    let (aggregate, round) = group.sign(&[0, 1], 0, b"payload");
    let attempt = round.attempt_id();
    let keys = group.keys(&[0, 1], attempt);
    let mut bytes = aggregate.to_bytes();
    bytes[8] = 1;
    let at = bytes.len() - 4627 - (4 + 1) - (4 + 7);
    bytes.splice(at..at + 11, lp(&[round.message()]));
    let other = Aggregate::from_bytes(&bytes).unwrap();
    let task = SigningTask::consensus(0, round.message());
    let result = other.verify(group.committee.view(), &keys, &task);
    assert_eq!(result.unwrap_err(), AggregateError::InvalidSignature);
    // Two signer sets with one key have two contexts, which contain the participants' root.
    let mut context = |signers: &[usize]| {
        let keys = group.keys(signers, attempt);
        let task = SigningTask::consensus(0, b"payload");
        let round = Round::new(group.committee.view(), &task, attempt.number, keys);
        round.unwrap().context().to_vec()
    };
    assert_ne!(context(&[0]), context(&[0, 1]));
}
