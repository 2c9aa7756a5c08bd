//! Offset mode from registration to verification, and everything it refuses.
#![allow(clippy::unwrap_used, reason = "a test")]

#[allow(dead_code, reason = "shared with the other tests")]
mod committee;
mod peers;

use committee::*;
use mladsa_aggregate::*;
use mldsa_core::Hedge;

fn check(
    aggregate: &Aggregate,
    round: &Round,
    pinned: &PinnedRoots,
    public_keys: &[AuthenticatedKey],
) {
    let read = Aggregate::from_bytes(&aggregate.to_bytes()).unwrap();
    assert_eq!(&read, aggregate);
    let rebuilt = read.verify(pinned, public_keys).unwrap();
    assert_eq!(rebuilt.key().as_bytes(), round.key().as_bytes());
    peers::check(
        rebuilt.key().as_bytes(),
        rebuilt.message(),
        rebuilt.ctx(),
        aggregate.signature().as_bytes(),
    );
    // Another cohort is another key, whoever is left out or put in.
    let n = pinned.registry().len();
    let bytes = aggregate.to_bytes();
    let bits = bytes.len() - 4627 - (n / 8 + 1);
    for member in [0, n / 2, n - 1] {
        let mut changed = bytes.clone();
        changed[bits + member / 8] ^= 1 << (member % 8);
        let changed = Aggregate::from_bytes(&changed).unwrap();
        assert!(changed.verify(pinned, public_keys).is_err(), "bit {member}");
    }
}

fn sign_with(n: usize) {
    let mut committee = Committee::new(n, &["decision"]);
    let everybody = committee.everybody();
    let (aggregate, round) = committee.sign(&everybody, "decision", b"payload");
    let public_keys = committee.public_keys(&everybody, round.label());
    check(&aggregate, &round, &committee.pinned, &public_keys);
    assert_eq!(
        aggregate
            .signers(committee.pinned.registry())
            .unwrap()
            .len(),
        n
    );
    assert!(aggregate.hint_weight() <= 75);
    println!(
        "n = {n}: attempts {}, hints {}, R {}, object {} bytes",
        round.label().attempt() + 1,
        aggregate.hint_weight(),
        offset_width(n).unwrap(),
        aggregate.to_bytes().len()
    );
}

#[test]
fn committees_of_1_to_128_sign() {
    for n in [1, 2, 3, 16, 64, 128] {
        sign_with(n);
    }
}

#[test]
fn a_committee_of_1024_signs() {
    sign_with(1024);
}

#[test]
fn part_of_the_members_sign_and_the_bits_say_which() {
    let mut committee = Committee::new(9, &["a", "b"]);
    let cohort = [8, 3, 0];
    let (aggregate, round) = committee.sign(&cohort, "b", b"payload");
    let ids = aggregate.signers(committee.pinned.registry()).unwrap();
    assert_eq!(ids, [id(0), id(3), id(8)]);
    let public_keys = committee.public_keys(&committee.everybody(), round.label());
    check(&aggregate, &round, &committee.pinned, &public_keys);

    // Every change of a bit gives another cohort, hence another key.
    let bytes = aggregate.to_bytes();
    let at = bytes.len() - 4627 - 2;
    assert_eq!(bytes[at..at + 2], [0x09, 0x03]);
    for bit in 0..16 {
        let mut changed = bytes.clone();
        changed[at + bit / 8] ^= 1 << (bit % 8);
        let result = Aggregate::from_bytes(&changed)
            .unwrap()
            .verify(&committee.pinned, &public_keys);
        let expected = if bit < 9 {
            Error::VerifyFailed
        } else {
            Error::BadLength
        };
        assert_eq!(result.unwrap_err(), expected, "bit {bit}");
    }
    // Without a signer's key there is nothing to verify under.
    let missing = aggregate.verify(&committee.pinned, &public_keys[1..]);
    assert_eq!(missing.unwrap_err(), Error::CohortMismatch);
}

#[test]
fn the_key_of_one_member_changes_the_verdict() {
    let mut committee = Committee::new(9, &["key"]);
    let everybody = committee.everybody();
    let (aggregate, round) = committee.sign(&everybody, "key", b"payload");
    for changed in [0, 4, 8] {
        // The same registration, another master seed.
        let mut members: Vec<Member> = (0..9).map(member).collect();
        let seed = MasterSeed::from_bytes(&bytes32("another seed", changed));
        members[changed] = Member::new(id(changed), seed, &bytes32("xi", changed));
        let other = Committee::of(members, &["key"]);
        let registry = committee.pinned.registry();
        assert_eq!(other.pinned.registry().root(), registry.root());
        let public_keys = other.public_keys(&everybody, round.label());
        let refused = aggregate.verify(&other.pinned, &public_keys);
        assert_eq!(refused.unwrap_err(), Error::VerifyFailed);
        // One key from elsewhere among the right ones.
        let mut mixed = committee.public_keys(&everybody, round.label());
        mixed[changed] = public_keys[changed].clone();
        let refused = aggregate.verify(&committee.pinned, &mixed);
        assert_eq!(refused.unwrap_err(), Error::RootNotPinned);
    }
}

/// A member that has seen the others' keys claims one that cancels them.
#[test]
fn a_rogue_key_does_not_open() {
    use mldsa_core::hazmat::pack::{FULL_POLY_LEN, pack_full, unpack_full};
    use mldsa_core::hazmat::{Element, Poly, Q};

    let committee = Committee::new(4, &["rogue"]);
    let label = base("rogue").attempt(0).unwrap();
    let openings: Vec<Opening> = (0..4)
        .map(|n| {
            let (member, tree) = (&committee.members[n], &committee.trees[n]);
            member.open(&committee.pinned, tree, &label).unwrap()
        })
        .collect();
    let mut rogue = openings[3].to_bytes();
    for (row, bytes) in rogue[..CONTENT_PUBLIC_KEY_LEN]
        .as_chunks_mut()
        .0
        .iter_mut()
        .enumerate()
    {
        let (mut t, mut other) = (Poly::ZERO, Poly::ZERO);
        assert!(unpack_full(bytes, &mut t.0));
        for opening in &openings[..3] {
            let rows = opening
                .public_key()
                .as_bytes()
                .as_chunks::<FULL_POLY_LEN>()
                .0;
            assert!(unpack_full(&rows[row], &mut other.0));
            for (t, other) in t.0.iter_mut().zip(other.0) {
                *t = (*t - other).rem_euclid(Q);
            }
        }
        pack_full(&t.0, bytes);
    }
    let rogue = Opening::from_bytes(&rogue).unwrap();
    let refused = committee.pinned.authenticate(&id(3), &label, &rogue);
    assert_eq!(refused.unwrap_err(), Error::BadPath);
    // Where roots cannot be fixed first, it has no proof of the key either.
    let matrix = committee.pinned.registry().matrix();
    let proof = committee.members[3].prove_content_key(matrix, &label, &[5; 64]);
    let proof = proof.unwrap();
    let check = |public_key| verify_content_key(matrix, &id(3), &label, public_key, proof.as_ref());
    assert_eq!(check(openings[3].public_key()), Ok(()));
    assert_eq!(check(rogue.public_key()), Err(Error::BadKeyProof));

    // Together the honest ones pass, and nobody else does.
    let mut all: Vec<(MemberId, Opening)> = (0..3).map(|n| (id(n), openings[n].clone())).collect();
    all.push((id(3), rogue));
    all.push((id(9), openings[0].clone()));
    all.push((id(3), openings[3].clone()));
    let results = committee.pinned.authenticate_each(&label, &all);
    let errors: Vec<_> = results.iter().map(|result| result.as_ref().err()).collect();
    let (bad, unknown) = (Some(&Error::BadPath), Some(&Error::UnknownMember));
    assert_eq!(errors, [None, None, None, bad, unknown, None]);
    for (result, (id, opening)) in results.into_iter().zip(&all) {
        if let Ok(public_key) = result {
            assert_eq!(
                (public_key.id(), public_key.public_key()),
                (id, opening.public_key())
            );
        }
    }
}

#[test]
fn any_order_and_grouping_gives_the_same_bytes() {
    let mut committee = Committee::new(5, &["order"]);
    let everybody = committee.everybody();
    let (first, round) = committee.sign(&everybody, "order", b"payload");
    // The guards let the same round be resumed: collect all responses again.
    let again = Committee::new(5, &["order"]);
    let mut guards = again.guards;
    let mut set = CommitmentSet::new(&round);
    let mut pending = Vec::new();
    for n in (0..5).rev() {
        let (wait, commitment) = again.members[n].commit(&round, &mut guards[n]).unwrap();
        set.add(&id(n), commitment.clone()).unwrap();
        // The same again changes nothing.
        set.add(&id(n), commitment).unwrap();
        pending.push(wait);
    }
    let challenge = set.challenge().unwrap();
    let responses: Vec<Response> = (0..5)
        .rev()
        .zip(pending)
        .map(|(n, wait)| wait.respond(&challenge, &mut guards[n]).unwrap())
        .rev_collect();
    let mut orders = vec![vec![]];
    for n in 0..5 {
        orders = orders
            .iter()
            .flat_map(|order: &Vec<usize>| {
                (0..=order.len()).map(move |at| {
                    let mut order = order.clone();
                    order.insert(at, n);
                    order
                })
            })
            .collect();
    }
    assert_eq!(orders.len(), 120);
    for (number, order) in orders.iter().enumerate() {
        // Two groups, cut at a place that varies.
        let mut groups = [Combiner::new(&challenge), Combiner::new(&challenge)];
        for (at, &n) in order.iter().enumerate() {
            let group = usize::from(at >= number % 6);
            groups[group].add(&id(n), responses[n].clone()).unwrap();
        }
        let [mut left, right] = groups;
        left.merge(right).unwrap();
        assert_eq!(left.finish().unwrap(), first);
    }
}

trait RevCollect: Iterator + Sized {
    fn rev_collect(self) -> Vec<Self::Item> {
        let mut items: Vec<_> = self.collect();
        items.reverse();
        items
    }
}
impl<I: Iterator> RevCollect for I {}

#[test]
fn groupings_of_a_larger_committee() {
    let mut committee = Committee::new(32, &["grouping"]);
    let everybody = committee.everybody();
    let (aggregate, round) = committee.sign(&everybody, "grouping", b"payload");
    let again = Committee::new(32, &["grouping"]);
    let mut guards = again.guards;
    let mut set = CommitmentSet::new(&round);
    let mut pending = Vec::new();
    for (n, guard) in guards.iter_mut().enumerate() {
        let (wait, commitment) = again.members[n].commit(&round, guard).unwrap();
        set.add(&id(n), commitment).unwrap();
        pending.push(wait);
    }
    let challenge = set.challenge().unwrap();
    let mut groups: Vec<Combiner> = (0..7).map(|_| Combiner::new(&challenge)).collect();
    for (n, wait) in pending.into_iter().enumerate() {
        let response = wait.respond(&challenge, &mut guards[n]).unwrap();
        groups[n * n % 7].add(&id(n), response).unwrap();
    }
    let mut whole = Combiner::new(&challenge);
    for group in groups.into_iter().rev() {
        whole.merge(group).unwrap();
    }
    assert_eq!(whole.missing().count(), 0);
    assert_eq!(whole.finish().unwrap(), aggregate);
}

#[test]
fn consensus_messages_are_signed_as_they_are() {
    let mut committee = Committee::new(3, &["block"]);
    let label = base("block").attempt(0).unwrap();
    let public_keys = committee.public_keys(&[0, 1, 2], &label);
    let decision = Decision {
        ctx: b"ZOND",
        label: &label,
        kind: Kind::Consensus,
        payload: b"signing root",
    };
    let round = Round::new(&committee.pinned, &decision, public_keys.clone()).unwrap();
    assert_eq!(round.message(), b"signing root");
    match committee.attempt(&[0, 1, 2], &round) {
        Ok(aggregate) => check(&aggregate, &round, &committee.pinned, &public_keys),
        Err(error) => panic!("this label succeeds at the first attempt: {error}"),
    }
}

#[test]
fn a_guard_answers_once_however_one_asks() {
    let mut committee = Committee::new(3, &["once", "other"]);
    let label = base("once").attempt(0).unwrap();
    let all = [0, 1, 2];
    let round = committee.round(&all, &label, b"payload");
    let other_message = committee.round(&all, &label, b"another payload");
    let other_cohort = committee.round(&[0, 1], &label, b"payload");
    let [g0, g1, g2] = &mut committee.guards[..] else {
        panic!()
    };
    let m = &committee.members;

    // Nothing was committed to, so there is nothing to take up.
    assert_eq!(
        m[0].resume(&round, g0).unwrap_err(),
        Error::OneTimeViolation
    );
    let (p0, c0) = m[0].commit(&round, g0).unwrap();
    let (p1, c1) = m[1].commit(&round, g1).unwrap();
    let (p2, c2) = m[2].commit(&round, g2).unwrap();
    // The same commitment again, no other one.
    assert_eq!(m[0].commit(&round, g0).unwrap().1, c0);
    assert_eq!(
        m[0].commit(&other_message, g0).unwrap_err(),
        Error::OneTimeViolation
    );
    assert_eq!(
        m[0].commit(&other_cohort, g0).unwrap_err(),
        Error::OneTimeViolation
    );
    assert_eq!(
        m[0].resume(&other_message, g0).unwrap_err(),
        Error::OneTimeViolation
    );

    let challenge_of = |c1: &Commitment| {
        let mut set = CommitmentSet::new(&round);
        set.add(&id(0), c0.clone()).unwrap();
        set.add(&id(1), c1.clone()).unwrap();
        set.add(&id(2), c2.clone()).unwrap();
        set.challenge().unwrap()
    };
    let challenge = challenge_of(&c1);
    // Member 1 commits to something else towards member 0: what 17.3 is about.
    let mut bytes = c1.as_bytes().to_vec();
    bytes[0] ^= 3;
    let split = challenge_of(&Commitment::from_bytes(&round, &bytes).unwrap());
    assert_ne!(split.c_tilde(), challenge.c_tilde());

    let z0 = p0.respond(&challenge, g0).unwrap();
    let resumed = m[0].resume(&round, g0).unwrap();
    assert_eq!(resumed.respond(&challenge, g0).unwrap(), z0);
    let resumed = m[0].resume(&round, g0).unwrap();
    assert_eq!(
        resumed.respond(&split, g0).unwrap_err(),
        Error::OneTimeViolation
    );
    // A commitment is not given out any more once it was answered.
    assert_eq!(
        m[0].commit(&round, g0).unwrap_err(),
        Error::OneTimeViolation
    );

    // Member 1 sees that its own commitment is not in the set.
    assert_eq!(p1.respond(&split, g1).unwrap_err(), Error::CohortMismatch);
    // A challenge of another round.
    let mut set = CommitmentSet::new(&other_cohort);
    set.add(&id(0), c0.clone()).unwrap();
    set.add(&id(1), c1.clone()).unwrap();
    let foreign = set.challenge().unwrap();
    let p1 = m[1].resume(&round, g1).unwrap();
    assert_eq!(p1.respond(&foreign, g1).unwrap_err(), Error::CohortMismatch);

    // Retired: nothing, for ever.
    m[2].retire(&label, g2).unwrap();
    m[2].retire(&label, g2).unwrap();
    assert_eq!(
        p2.respond(&challenge, g2).unwrap_err(),
        Error::OneTimeViolation
    );
    assert_eq!(
        m[2].commit(&round, g2).unwrap_err(),
        Error::OneTimeViolation
    );
    assert_eq!(
        m[2].resume(&round, g2).unwrap_err(),
        Error::OneTimeViolation
    );

    // A store serves the seed it was made for.
    assert_eq!(m[2].commit(&round, g1).unwrap_err(), Error::GuardFailure);
    assert_eq!(m[1].retire(&label, g2).unwrap_err(), Error::GuardFailure);
}

/// Who stays silent is left out together with the next attempt, and nothing of the
/// one before is used again.
#[test]
fn the_next_attempt_goes_on_without_a_silent_member() {
    let mut committee = Committee::new(3, &["silent"]);
    let label = base("silent").attempt(0).unwrap();
    let round = committee.round(&[0, 1, 2], &label, b"payload");
    let mut set = CommitmentSet::new(&round);
    let mut pending = Vec::new();
    for n in 0..3 {
        let (member, guard) = (&committee.members[n], &mut committee.guards[n]);
        let (wait, commitment) = member.commit(&round, guard).unwrap();
        set.add(&id(n), commitment).unwrap();
        pending.push(wait);
    }
    let challenge = set.challenge().unwrap();
    let mut combiner = Combiner::new(&challenge);
    let silent = pending.pop().unwrap();
    for (n, wait) in pending.into_iter().enumerate() {
        let response = wait.respond(&challenge, &mut committee.guards[n]).unwrap();
        combiner.add(&id(n), response).unwrap();
    }
    assert!(combiner.missing().eq(&[id(2)]));
    assert_eq!(combiner.finish().unwrap_err(), Error::CohortMismatch);

    for (member, guard) in committee.members.iter().zip(&mut committee.guards) {
        member.retire(&label, guard).unwrap();
    }
    // Too late, and the old keys serve no smaller cohort.
    let refused = silent.respond(&challenge, &mut committee.guards[2]);
    assert_eq!(refused.unwrap_err(), Error::OneTimeViolation);
    let smaller = committee.round(&[0, 1], &label, b"payload");
    let refused = committee.attempt(&[0, 1], &smaller);
    assert_eq!(refused.unwrap_err(), Error::OneTimeViolation);

    let (aggregate, round) = committee.sign_from(&[0, 1], label.next().unwrap(), b"payload");
    assert!(round.label().attempt() >= 1);
    let public_keys = committee.public_keys(&[0, 1], round.label());
    check(&aggregate, &round, &committee.pinned, &public_keys);
    let ids = aggregate.signers(committee.pinned.registry()).unwrap();
    assert_eq!(ids, [id(0), id(1)]);
}

#[test]
fn contributions_are_checked_and_blamed() {
    let mut committee = Committee::new(3, &["blame"]);
    let label = base("blame").attempt(0).unwrap();
    let round = committee.round(&[0, 1, 2], &label, b"payload");
    let outsider = MemberId::new(b"nobody").unwrap();

    let mut set = CommitmentSet::new(&round);
    let mut pending = Vec::new();
    let mut commitments = Vec::new();
    for n in 0..3 {
        let (wait, c) = committee.members[n]
            .commit(&round, &mut committee.guards[n])
            .unwrap();
        pending.push(wait);
        commitments.push(c);
    }
    set.add(&id(0), commitments[0].clone()).unwrap();
    assert_eq!(
        set.add(&outsider, commitments[0].clone()),
        Err(Error::UnknownMember)
    );
    assert_eq!(
        set.add(&id(0), commitments[1].clone()),
        Err(Error::BadContribution(id(0)))
    );
    assert!(set.missing().eq(&[id(1), id(2)]));
    set.add(&id(1), commitments[1].clone()).unwrap();
    // One is withheld: no challenge.
    assert_eq!(set.challenge().unwrap_err(), Error::CohortMismatch);
    let mut set = CommitmentSet::new(&round);
    for (n, commitment) in commitments.iter().enumerate() {
        set.add(&id(n), commitment.clone()).unwrap();
    }
    let challenge = set.challenge().unwrap();
    let responses: Vec<Response> = pending
        .into_iter()
        .enumerate()
        .map(|(n, wait)| wait.respond(&challenge, &mut committee.guards[n]).unwrap())
        .collect();

    let mut combiner = Combiner::new(&challenge);
    assert_eq!(
        combiner.add(&outsider, responses[0].clone()),
        Err(Error::UnknownMember)
    );
    // Another member's response, and one that is off by one.
    let blamed = Err(Error::BadContribution(id(1)));
    assert_eq!(combiner.add(&id(1), responses[0].clone()), blamed);
    let mut bytes = responses[1].as_bytes().to_vec();
    bytes[0] ^= 1;
    let off = Response::from_bytes(&round, &bytes).unwrap();
    assert_eq!(combiner.add(&id(1), off), blamed);
    combiner.add(&id(0), responses[0].clone()).unwrap();
    combiner.add(&id(0), responses[0].clone()).unwrap();
    combiner.add(&id(1), responses[1].clone()).unwrap();
    // A second, different response.
    assert_eq!(combiner.add(&id(1), responses[0].clone()), blamed);
    assert!(combiner.missing().eq(&[id(2)]));
    assert_eq!(combiner.finish().unwrap_err(), Error::CohortMismatch);
}

#[test]
fn every_encoding_is_strict() {
    let mut committee = Committee::new(2, &["wire"]);
    let label = base("wire").attempt(0).unwrap();
    let round = committee.round(&[0, 1], &label, b"payload");
    let (_, commitment) = committee.members[0]
        .commit(&round, &mut committee.guards[0])
        .unwrap();

    // Commitments: length, and |q| <= gamma2 + R.
    let good = commitment.as_bytes();
    assert_eq!(good.len(), COMMITMENT_LEN);
    for bad in [&good[1..], &[good, &[0]].concat(), &[]] {
        assert_eq!(Commitment::from_bytes(&round, bad), Err(Error::BadLength));
    }
    let limit = 261_888 + offset_width(2).unwrap() as i32;
    let with_q = |q: i32| {
        let mut bytes = good.to_vec();
        let word = (q + (1 << 19)) as u32;
        bytes[1024] = word as u8;
        bytes[1025] = (word >> 8) as u8;
        bytes[1026] = (bytes[1026] & 0xf0) | (word >> 16) as u8;
        Commitment::from_bytes(&round, &bytes).map(|_| ())
    };
    assert_eq!(with_q(limit), Ok(()));
    assert_eq!(with_q(-limit), Ok(()));
    assert_eq!(with_q(limit + 1), Err(Error::OutOfRange));
    assert_eq!(with_q(-limit - 1), Err(Error::OutOfRange));

    // Responses: length, and |z| <= sigma + beta.
    let with_z = |z: i32| {
        let mut bytes = [0; RESPONSE_LEN];
        for pair in bytes.chunks_mut(3) {
            pair.copy_from_slice(&[0x00, 0x08, 0x80]);
        }
        let word = (z + 2048) as u32;
        bytes[2685] = word as u8;
        bytes[2686] = (bytes[2686] & 0xf0) | (word >> 8) as u8;
        Response::from_bytes(&round, &bytes).map(|_| ())
    };
    assert_eq!(with_z(480), Ok(()));
    assert_eq!(with_z(-480), Ok(()));
    assert_eq!(with_z(481), Err(Error::OutOfRange));
    assert_eq!(with_z(-481), Err(Error::OutOfRange));
    for len in [0, RESPONSE_LEN - 1, RESPONSE_LEN + 1] {
        assert_eq!(
            Response::from_bytes(&round, &vec![0; len]),
            Err(Error::BadLength)
        );
    }

    // Registrations and announcements: every prefix and a longer string.
    let registration = committee.members[0].register(Hedge::Deterministic).unwrap();
    let bytes = registration.to_bytes();
    assert_eq!(Registration::from_bytes(&bytes), Ok(registration));
    for bad in [
        &bytes[..bytes.len() - 1],
        &[&bytes[..], &[0]].concat(),
        &bytes[..7],
        &[],
    ] {
        assert!(Registration::from_bytes(bad).is_err());
    }
    let announcement = committee.members[0]
        .announce(&committee.trees[0], Hedge::Deterministic)
        .unwrap();
    let bytes = announcement.to_bytes();
    assert_eq!(RootAnnouncement::from_bytes(&bytes), Ok(announcement));
    for bad in [
        &bytes[..bytes.len() - 1],
        &[&bytes[..], &[0]].concat(),
        &bytes[..7],
        &[],
    ] {
        assert!(RootAnnouncement::from_bytes(bad).is_err());
    }

    // Openings.
    let opening = committee.members[0]
        .open(&committee.pinned, &committee.trees[0], &label)
        .unwrap();
    let bytes = opening.to_bytes();
    assert_eq!(bytes.len(), committee.pinned.plan().opening_len());
    for bad in [
        &bytes[..bytes.len() - 1],
        &[&bytes[..], &[0]].concat(),
        &bytes[..6147],
    ] {
        assert_eq!(Opening::from_bytes(bad), Err(Error::BadLength));
    }
    assert_eq!(
        Opening::from_bytes(&[&bytes[..], &[0; 32 * 30]].concat()),
        Err(Error::BadLength)
    );
    let mut changed = bytes.clone();
    changed[..3].copy_from_slice(&[0xff; 3]);
    assert_eq!(Opening::from_bytes(&changed), Err(Error::OutOfRange));
}

#[test]
fn aggregate_objects_are_strict() {
    let mut committee = Committee::new(2, &["object"]);
    let (aggregate, round) = committee.sign(&[0, 1], "object", b"payload");
    let bytes = aggregate.to_bytes();
    let public_keys = committee.public_keys(&[0, 1], round.label());
    for len in 0..bytes.len() {
        assert!(Aggregate::from_bytes(&bytes[..len]).is_err());
    }
    let refused = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut changed = bytes.clone();
        change(&mut changed);
        Aggregate::from_bytes(&changed).unwrap_err()
    };
    assert_eq!(refused(&|b| b.push(0)), Error::BadLength);
    assert_eq!(refused(&|b| b[0] ^= 1), Error::BadLength);
    assert_eq!(refused(&|b| b[8] = 2), Error::OutOfRange);
    assert_eq!(refused(&|b| b[9] = 2), Error::OutOfRange);
    // magic, mode, kind, lp("TEST"), lp("object"), attempt
    let attempt = 10 + 8 + 10;
    assert_eq!(bytes[attempt], round.label().attempt());
    assert_eq!(refused(&|b| b[attempt] = 64), Error::AttemptsExhausted);
    assert_eq!(refused(&|b| b[10..14].fill(0xff)), Error::BadLength);
    // A context of 256 bytes, an empty label.
    assert_eq!(
        refused(&|b| {
            let long = [&256u32.to_be_bytes()[..], &[0; 256]].concat();
            b.splice(10..18, long);
        }),
        Error::BadLength
    );
    assert_eq!(
        refused(&|b| {
            b.splice(18..28, [0; 4]);
        }),
        Error::BadLength
    );
    // A hint that is not encoded as it must be.
    assert_eq!(
        refused(&|b| *b.last_mut().unwrap() = 80),
        Error::VerifyFailed
    );

    // Readable, but something else than what was signed.
    let verify = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut changed = bytes.clone();
        change(&mut changed);
        let changed = Aggregate::from_bytes(&changed).unwrap();
        changed.verify(&committee.pinned, &public_keys).map(|_| ())
    };
    assert_eq!(verify(&|_| {}), Ok(()));
    assert_eq!(verify(&|b| b[8] = 0), Err(Error::ModeRefused));
    assert_eq!(verify(&|b| b[9] = 1), Err(Error::VerifyFailed));
    assert_eq!(verify(&|b| b[14] ^= 1), Err(Error::VerifyFailed));
    assert_eq!(verify(&|b| b[attempt] ^= 1), Err(Error::CohortMismatch));
    assert_eq!(verify(&|b| b[attempt + 8] ^= 1), Err(Error::OutOfRange));
    assert_eq!(verify(&|b| b[attempt + 13] ^= 1), Err(Error::VerifyFailed));
    let signature = bytes.len() - 4627;
    assert_eq!(verify(&|b| b[signature] ^= 1), Err(Error::VerifyFailed));
}

#[test]
fn registries_refuse_what_is_not_proven() {
    let entries: Vec<Registration> = (0..3)
        .map(|n| member(n).register(Hedge::Deterministic).unwrap())
        .collect();
    assert_eq!(Registry::new(&RHO, []).unwrap_err(), Error::EmptyCohort);
    let twice = [entries[0].clone(), entries[1].clone(), entries[0].clone()];
    assert_eq!(Registry::new(&RHO, twice).unwrap_err(), Error::DuplicateId);
    // Member 0's key and proof under another name; a damaged proof.
    let mut bytes = entries[0].to_bytes();
    bytes[12] ^= 1;
    let renamed = Registration::from_bytes(&bytes).unwrap();
    assert_eq!(Registry::new(&RHO, [renamed]).unwrap_err(), Error::BadPoP);
    let mut bytes = entries[0].to_bytes();
    let at = bytes.len() - 4000;
    bytes[at] ^= 1;
    let damaged = Registration::from_bytes(&bytes).unwrap();
    assert_eq!(Registry::new(&RHO, [damaged]).unwrap_err(), Error::BadPoP);
    // The order of entries does not matter.
    let forward = Registry::new(&RHO, entries.clone()).unwrap();
    let backward = Registry::new(&RHO, entries.into_iter().rev()).unwrap();
    assert_eq!(forward.root(), backward.root());
}

#[test]
fn nothing_opens_before_the_list_is_pinned_and_nothing_joins_after() {
    let members: Vec<Member> = (0..4).map(member).collect();
    let registry = registry(&members);
    let plan = plan(&["x", "y"]);
    let trees: Vec<EpochTree> = members
        .iter()
        .map(|member| member.epoch_tree(registry.matrix(), &plan).unwrap())
        .collect();
    let roots: Vec<RootAnnouncement> = members
        .iter()
        .zip(&trees)
        .map(|(member, tree)| member.announce(tree, Hedge::Deterministic).unwrap())
        .collect();
    let mut store = InMemoryRootsForTests::default();
    let mut pin = |list: &[RootAnnouncement]| PinnedRoots::pin(&mut store, &registry, &plan, list);
    assert_eq!(pin(&[]).unwrap_err(), Error::EmptyCohort);
    let twice = [roots[0].clone(), roots[0].clone()];
    assert_eq!(pin(&twice).unwrap_err(), Error::DuplicateId);
    // A root that its member did not sign.
    let mut bytes = roots[1].to_bytes();
    bytes[8 + 4 + 11 + 8] ^= 1;
    let forged = RootAnnouncement::from_bytes(&bytes).unwrap();
    assert_eq!(pin(&[forged]).unwrap_err(), Error::BadTreeSignature);
    let stranger = member(9);
    let tree = stranger.epoch_tree(registry.matrix(), &plan).unwrap();
    let root = stranger.announce(&tree, Hedge::Deterministic).unwrap();
    assert_eq!(pin(&[root]).unwrap_err(), Error::UnknownMember);
    let other_epoch = EpochPlan::new(EPOCH + 1, vec![base("x")]).unwrap();
    let tree = members[0]
        .epoch_tree(registry.matrix(), &other_epoch)
        .unwrap();
    let root = members[0].announce(&tree, Hedge::Deterministic).unwrap();
    assert_eq!(pin(&[root]).unwrap_err(), Error::OutOfRange);

    // Three are pinned; the fourth comes too late.
    let pinned = pin(&roots[..3]).unwrap();
    assert_eq!(pin(&roots).unwrap_err(), Error::RootNotPinned);
    assert_eq!(pin(&roots[..2]).unwrap_err(), Error::RootNotPinned);
    let again = [roots[2].clone(), roots[0].clone(), roots[1].clone()];
    assert_eq!(pin(&again).unwrap().digest(), pinned.digest());
    let label = base("x").attempt(0).unwrap();
    assert_eq!(
        members[3].open(&pinned, &trees[3], &label),
        Err(Error::RootNotPinned)
    );
    // A tree that is not the pinned one.
    let other = EpochPlan::new(EPOCH, vec![base("x"), base("z")]).unwrap();
    let tree = members[0].epoch_tree(registry.matrix(), &other).unwrap();
    assert_eq!(
        members[0].open(&pinned, &tree, &label),
        Err(Error::RootNotPinned)
    );
    assert_eq!(
        members[0].open(&pinned, &trees[1], &label),
        Err(Error::RootNotPinned)
    );

    let opening = members[0].open(&pinned, &trees[0], &label).unwrap();
    assert!(pinned.authenticate(&id(0), &label, &opening).is_ok());
    let refused = |n, label: &ContentLabel, opening: &Opening| {
        pinned.authenticate(&id(n), label, opening).unwrap_err()
    };
    assert_eq!(refused(1, &label, &opening), Error::BadPath);
    assert_eq!(refused(3, &label, &opening), Error::RootNotPinned);
    assert_eq!(refused(9, &label, &opening), Error::UnknownMember);
    assert_eq!(
        refused(0, &base("y").attempt(0).unwrap(), &opening),
        Error::BadPath
    );
    assert_eq!(refused(0, &label.next().unwrap(), &opening), Error::BadPath);
    assert_eq!(
        refused(0, &base("w").attempt(0).unwrap(), &opening),
        Error::UnknownLabel
    );
    assert_eq!(
        refused(0, &base("x").attempt(4).unwrap(), &opening),
        Error::AttemptsExhausted
    );
    for at in [0, 6147, 6148] {
        let mut bytes = opening.to_bytes();
        bytes[at] ^= 1;
        let changed = Opening::from_bytes(&bytes).unwrap();
        assert_eq!(refused(0, &label, &changed), Error::BadPath);
    }

    // A cohort with a key that was authenticated against another list.
    let mut elsewhere = InMemoryRootsForTests::default();
    let other = PinnedRoots::pin(&mut elsewhere, &registry, &plan, &roots).unwrap();
    let foreign = other.authenticate(&id(0), &label, &opening).unwrap();
    let own = pinned.authenticate(&id(0), &label, &opening).unwrap();
    let decision = Decision {
        ctx: b"",
        label: &label,
        kind: Kind::Decision,
        payload: b"",
    };
    let round = |public_keys: Vec<AuthenticatedKey>| {
        Round::new(&pinned, &decision, public_keys).map(|_| ())
    };
    assert_eq!(round(vec![own.clone(), foreign]), Err(Error::RootNotPinned));
    assert_eq!(
        round(vec![own.clone(), own.clone()]),
        Err(Error::DuplicateId)
    );
    assert_eq!(round(vec![]), Err(Error::EmptyCohort));
    let long = Decision {
        ctx: &[0; 256],
        ..decision
    };
    assert_eq!(
        Round::new(&pinned, &long, [own.clone()]).unwrap_err(),
        Error::BadLength
    );
    let next = label.next().unwrap();
    let other = Decision {
        label: &next,
        ..decision
    };
    assert_eq!(
        Round::new(&pinned, &other, [own]).unwrap_err(),
        Error::CohortMismatch
    );
}

#[test]
fn plans_are_bounded() {
    let x = || vec![base("x")];
    assert_eq!(EpochPlan::new(1, vec![]).unwrap_err(), Error::EmptyCohort);
    assert_eq!(
        EpochPlan::with_attempts(1, x(), 0).unwrap_err(),
        Error::OutOfRange
    );
    assert_eq!(
        EpochPlan::with_attempts(1, x(), 65).unwrap_err(),
        Error::OutOfRange
    );
    let twice = vec![base("x"), base("x")];
    assert_eq!(EpochPlan::new(1, twice).unwrap_err(), Error::DuplicateId);
    let many = (0..MAX_LEAVES / 64 + 1)
        .map(|n| base(&n.to_string()))
        .collect();
    assert_eq!(
        EpochPlan::with_attempts(1, many, 64).unwrap_err(),
        Error::OutOfRange
    );
    let plan = EpochPlan::with_attempts(1, vec![base("b"), base("a")], 3).unwrap();
    assert_eq!(plan.depth(), 3);
    assert_eq!(plan.index(&base("b").attempt(2).unwrap()), Ok(2));
    assert_eq!(plan.index(&base("a").attempt(0).unwrap()), Ok(3));
}
