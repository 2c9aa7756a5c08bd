//! Offset mode from registration to verification, and everything it refuses.

use std::sync::Arc;

use mladsa_aggregate::*;
use mldsa_core::Randomness;

use crate::committee::*;
use crate::hostile;
use crate::peer;

fn check(
    committee: &Committee,
    aggregate: &Aggregate,
    round: &Round,
    public_keys: &[AuthenticatedKey],
    expected: &Decision<'_>,
) {
    let policy = Policy::count(committee.agreed.registry(), 1).unwrap();
    let verify = |aggregate: &Aggregate| {
        aggregate.verify_expecting(&committee.agreed, public_keys, expected, &policy)
    };
    let read = Aggregate::from_bytes(&aggregate.to_bytes()).unwrap();
    assert_eq!(&read, aggregate);
    let rebuilt = verify(&read).unwrap();
    assert_eq!(rebuilt.key().as_bytes(), round.key().as_bytes());
    peer::check(
        rebuilt.key().as_bytes(),
        rebuilt.message(),
        rebuilt.ctx(),
        aggregate.signature().as_bytes(),
    );
    // Another cohort is another key, whoever is left out or put in.
    let n = committee.agreed.registry().len();
    let bytes = aggregate.to_bytes();
    let bits = bytes.len() - 4627 - (n / 8 + 1);
    for member in [0, n / 2, n - 1] {
        let mut changed = bytes.clone();
        changed[bits + member / 8] ^= 1 << (member % 8);
        let changed = Aggregate::from_bytes(&changed).unwrap();
        assert!(verify(&changed).is_err(), "bit {member}");
    }
}

fn sign_with(n: usize) {
    let mut committee = Committee::new(n, &["decision"]);
    let everybody = committee.everybody();
    let (aggregate, round) = committee.sign(&everybody, "decision", b"payload");
    let public_keys = committee.public_keys(&everybody, round.label());
    check(
        &committee,
        &aggregate,
        &round,
        &public_keys,
        &decision(&base("decision"), b"payload"),
    );
    assert_eq!(
        aggregate
            .signers(committee.agreed.registry())
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
    let ids = aggregate.signers(committee.agreed.registry()).unwrap();
    assert_eq!(ids, [id(0), id(3), id(8)]);
    let public_keys = committee.public_keys(&committee.everybody(), round.label());
    check(
        &committee,
        &aggregate,
        &round,
        &public_keys,
        &decision(&base("b"), b"payload"),
    );

    // Every change of a bit gives another cohort, hence another key.
    let bytes = aggregate.to_bytes();
    let at = bytes.len() - 4627 - 2;
    assert_eq!(bytes[at..at + 2], [0x09, 0x03]);
    for bit in 0..16 {
        let mut changed = bytes.clone();
        changed[at + bit / 8] ^= 1 << (bit % 8);
        let changed = Aggregate::from_bytes(&changed).unwrap();
        let result = committee.verify(&changed, &public_keys, &base("b"), b"payload");
        let expected = if bit < 9 {
            Error::VerifyFailed
        } else {
            Error::BadLength
        };
        assert_eq!(result.unwrap_err(), expected, "bit {bit}");
    }
    // Without a signer's key there is nothing to verify under.
    let missing = committee.verify(&aggregate, &public_keys[1..], &base("b"), b"payload");
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
        let registry = committee.agreed.registry();
        assert_eq!(other.agreed.registry().root(), registry.root());
        let public_keys = other.public_keys(&everybody, round.label());
        let refused = other.verify(&aggregate, &public_keys, &base("key"), b"payload");
        assert_eq!(refused.unwrap_err(), Error::VerifyFailed);
        // One key from elsewhere among the right ones.
        let mut mixed = committee.public_keys(&everybody, round.label());
        mixed[changed] = public_keys[changed].clone();
        let refused = committee.verify(&aggregate, &mixed, &base("key"), b"payload");
        assert_eq!(refused.unwrap_err(), Error::CohortMismatch);
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
        set.add(&commitment).unwrap();
        // The same again changes nothing.
        set.add(&commitment).unwrap();
        pending.push(wait);
    }
    let challenge = set.challenge().unwrap();
    let responses: Vec<Message> = (0..5)
        .rev()
        .zip(pending)
        .map(|(n, wait)| {
            again.members[n]
                .respond(wait, &challenge, &mut guards[n])
                .unwrap()
        })
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
            groups[group].add(&responses[n]).unwrap();
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
        set.add(&commitment).unwrap();
        pending.push(wait);
    }
    let challenge = set.challenge().unwrap();
    let mut groups: Vec<Combiner> = (0..7).map(|_| Combiner::new(&challenge)).collect();
    for (n, wait) in pending.into_iter().enumerate() {
        let response = again.members[n]
            .respond(wait, &challenge, &mut guards[n])
            .unwrap();
        groups[n * n % 7].add(&response).unwrap();
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
    let label = base("block");
    let public_keys = committee.public_keys(&[0, 1, 2], &label.attempt(0).unwrap());
    let decision = Decision {
        ctx: b"ZOND",
        label: &label,
        kind: Kind::Consensus,
        payload: b"signing root",
    };
    let round = Round::new(&committee.agreed, &decision, 0, public_keys.clone()).unwrap();
    assert_eq!(round.message(), b"signing root");
    assert_eq!(round.ctx(), [b"ZOND", &round.part_root()[..]].concat());
    match committee.attempt(&[0, 1, 2], &round) {
        Ok(aggregate) => check(&committee, &aggregate, &round, &public_keys, &decision),
        Err(error) => panic!("this label succeeds at the first attempt: {error}"),
    }
    // The root needs its place in the context.
    for (len, fits) in [(223, true), (224, false)] {
        let long = Decision {
            ctx: &[7; 224][..len],
            ..decision
        };
        let round = Round::new(&committee.agreed, &long, 0, public_keys.clone());
        assert_eq!(round.is_ok(), fits);
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
    let agreed = committee.agreed.clone();
    let [g0, g1, g2] = &mut committee.guards[..] else {
        panic!()
    };
    let m = &committee.members;
    let once = Error::OneTimeViolation;

    // Nothing was committed to, so there is nothing to take up.
    assert_eq!(m[0].resume(&round, g0).unwrap_err(), once);
    let (p0, c0) = m[0].commit(&round, g0).unwrap();
    let (p1, c1) = m[1].commit(&round, g1).unwrap();
    let (p2, c2) = m[2].commit(&round, g2).unwrap();
    // The same commitment again, in the same message, and no other one.
    let again = m[0].commit(&round, g0).unwrap().1;
    assert_eq!(again.to_bytes(), c0.to_bytes());
    assert_eq!(m[0].commit(&other_message, g0).unwrap_err(), once);
    assert_eq!(m[0].commit(&other_cohort, g0).unwrap_err(), once);
    assert_eq!(m[0].resume(&other_message, g0).unwrap_err(), once);

    let challenge_of = |c1: &Message| {
        let mut set = CommitmentSet::new(&round);
        set.add(&c0).unwrap();
        set.add(c1).unwrap();
        set.add(&c2).unwrap();
        set.challenge().unwrap()
    };
    let challenge = challenge_of(&c1);
    // Member 1 commits to something else towards member 0.
    let split = challenge_of(&hostile::other_commitment(&m[1], &c1, &agreed));
    assert_ne!(split.c_tilde(), challenge.c_tilde());

    let z0 = m[0].respond(p0, &challenge, g0).unwrap();
    let resumed = m[0].resume(&round, g0).unwrap();
    assert_eq!(m[0].respond(resumed, &challenge, g0).unwrap(), z0);
    let resumed = m[0].resume(&round, g0).unwrap();
    assert_eq!(m[0].respond(resumed, &split, g0).unwrap_err(), once);
    // The commitment may not have arrived: it is given out again, no other one is.
    let again = m[0].commit(&round, g0).unwrap().1;
    assert_eq!(again.to_bytes(), c0.to_bytes());
    assert_eq!(m[0].commit(&other_message, g0).unwrap_err(), once);
    assert_eq!(m[0].resume(&other_message, g0).unwrap_err(), once);

    // Member 1 sees that its own commitment is not in the set.
    let refused = m[1].respond(p1, &split, g1);
    assert_eq!(refused.unwrap_err(), Error::CohortMismatch);
    // Neither another member's step nor another seed's guard.
    let resumed = m[1].resume(&round, g1).unwrap();
    let refused = m[0].respond(resumed, &challenge, g0);
    assert_eq!(refused.unwrap_err(), Error::CohortMismatch);
    let resumed = m[1].resume(&round, g1).unwrap();
    let refused = m[1].respond(resumed, &challenge, g2);
    assert_eq!(refused.unwrap_err(), Error::GuardFailure);
    assert_eq!(m[2].commit(&round, g1).unwrap_err(), Error::GuardFailure);
    let refused = m[1].retire(&agreed, &label, g2);
    assert_eq!(refused.unwrap_err(), Error::GuardFailure);

    // Retired: nothing, for ever.
    m[2].retire(&agreed, &label, g2).unwrap();
    m[2].retire(&agreed, &label, g2).unwrap();
    assert_eq!(m[2].respond(p2, &challenge, g2).unwrap_err(), once);
    assert_eq!(m[2].commit(&round, g2).unwrap_err(), once);
    assert_eq!(m[2].resume(&round, g2).unwrap_err(), once);
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
        set.add(&commitment).unwrap();
        pending.push(wait);
    }
    let challenge = set.challenge().unwrap();
    let mut combiner = Combiner::new(&challenge);
    let silent = pending.pop().unwrap();
    for (n, wait) in pending.into_iter().enumerate() {
        let guard = &mut committee.guards[n];
        let response = committee.members[n]
            .respond(wait, &challenge, guard)
            .unwrap();
        combiner.add(&response).unwrap();
    }
    assert!(combiner.missing().eq(&[id(2)]));
    assert_eq!(combiner.finish().unwrap_err(), Error::CohortMismatch);

    let agreed = committee.agreed.clone();
    for (member, guard) in committee.members.iter().zip(&mut committee.guards) {
        member.retire(&agreed, &label, guard).unwrap();
    }
    // Too late, and the old keys serve no smaller cohort.
    let refused = committee.members[2].respond(silent, &challenge, &mut committee.guards[2]);
    assert_eq!(refused.unwrap_err(), Error::OneTimeViolation);
    let smaller = committee.round(&[0, 1], &label, b"payload");
    let refused = committee.attempt(&[0, 1], &smaller);
    assert_eq!(refused.unwrap_err(), Error::OneTimeViolation);

    let next = label.next().unwrap();
    let (aggregate, round) = committee.sign_from(&[0, 1], next, b"payload");
    assert!(aggregate.label().attempt() > 0);
    let public_keys = committee.public_keys(&[0, 1], round.label());
    let expected = base("silent");
    check(
        &committee,
        &aggregate,
        &round,
        &public_keys,
        &decision(&expected, b"payload"),
    );
}

#[test]
fn contributions_are_checked_and_blamed() {
    let mut committee = Committee::new(4, &["blame"]);
    let label = base("blame").attempt(0).unwrap();
    let round = committee.round(&[0, 1, 2], &label, b"payload");
    let elsewhere = committee.round(&[0, 1, 2, 3], &label, b"payload");
    let agreed = committee.agreed.clone();
    let mut set = CommitmentSet::new(&round);
    let mut pending = Vec::new();
    let mut commitments = Vec::new();
    for n in 0..3 {
        let (member, guard) = (&committee.members[n], &mut committee.guards[n]);
        let (wait, commitment) = member.commit(&round, guard).unwrap();
        pending.push(wait);
        commitments.push(commitment);
    }
    let outsider = committee.members[3].commit(&elsewhere, &mut committee.guards[3]);
    let (_, outsider) = outsider.unwrap();
    assert_eq!(set.add(&outsider), Err(Error::UnknownMember));
    set.add(&commitments[0]).unwrap();
    // A commitment of another round is nobody's fault.
    let mut other = CommitmentSet::new(&elsewhere);
    assert_eq!(other.add(&commitments[0]), Err(Error::OtherRound));
    // Two different ones are the sender's, and anybody can see it.
    let second = hostile::other_commitment(&committee.members[0], &commitments[0], &agreed);
    assert_eq!(set.add(&second), Err(Error::Equivocation(id(0))));
    let evidence = Equivocation::new(set.get(&id(0)).unwrap(), &second).unwrap();
    let registry = agreed.registry();
    let read = Equivocation::from_bytes(&evidence.to_bytes(), registry).unwrap();
    assert_eq!((read.id(), &read), (&id(0), &evidence));
    for (first, second) in [(0, 0), (0, 1)] {
        assert_eq!(
            Equivocation::new(&commitments[first], &commitments[second]),
            None
        );
    }
    let mut bytes = evidence.to_bytes();
    let at = bytes.len() - 4627 - 100;
    bytes[at] ^= 1;
    assert_eq!(
        Equivocation::from_bytes(&bytes, registry),
        Err(Error::BadMessage)
    );

    assert!(set.missing().eq(&[id(1), id(2)]));
    set.add(&commitments[1]).unwrap();
    // One is withheld: no challenge.
    assert_eq!(set.challenge().unwrap_err(), Error::CohortMismatch);
    set.add(&commitments[2]).unwrap();
    let challenge = set.challenge().unwrap();
    let responses: Vec<Message> = pending
        .into_iter()
        .enumerate()
        .map(|(n, wait)| {
            let guard = &mut committee.guards[n];
            committee.members[n]
                .respond(wait, &challenge, guard)
                .unwrap()
        })
        .collect();

    let mut combiner = Combiner::new(&challenge);
    assert_eq!(combiner.add(&commitments[0]), Err(Error::OtherRound));
    // Another member's response under one's own name, and one that is off by one.
    let blamed = Err(Error::BadContribution(id(1)));
    let m1 = &committee.members[1];
    let stolen = hostile::with_body(m1, &responses[1], responses[0].body(), &agreed);
    assert_eq!(combiner.add(&stolen), blamed);
    let mut body = responses[1].body().to_vec();
    body[0] ^= 1;
    let off = hostile::with_body(m1, &responses[1], &body, &agreed);
    assert_eq!(combiner.add(&off), blamed);
    combiner.add(&responses[0]).unwrap();
    combiner.add(&responses[0]).unwrap();
    combiner.add(&responses[1]).unwrap();
    // A second, different response.
    assert_eq!(combiner.add(&off), Err(Error::Equivocation(id(1))));
    assert!(Equivocation::new(&responses[1], &off).is_some());
    assert!(combiner.missing().eq(&[id(2)]));
    assert_eq!(combiner.finish().unwrap_err(), Error::CohortMismatch);

    // Nobody speaks for another, nor for another epoch or list.
    let mut bytes = responses[2].to_bytes();
    bytes[16] ^= 1;
    assert!(agreed.receive(&bytes).is_err());
    let foreign = Committee::new(3, &["blame"]);
    let refused = foreign.agreed.receive(&responses[2].to_bytes());
    assert_eq!(refused.unwrap_err(), Error::OtherRound);
}

#[test]
fn every_encoding_is_strict() {
    let mut committee = Committee::new(2, &["wire"]);
    let label = base("wire").attempt(0).unwrap();
    let round = committee.round(&[0, 1], &label, b"payload");
    let (_, message) = committee.members[0]
        .commit(&round, &mut committee.guards[0])
        .unwrap();
    let good = message.body();

    // Commitments: length, and |q| <= gamma2 + R.
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
    let registration = committee.members[0]
        .register(Randomness::Deterministic)
        .unwrap();
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
        .announce(
            &committee.trees[0],
            &mut committee.guards[0],
            Randomness::Deterministic,
        )
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
    let bytes = committee.open(0, &label).body().to_vec();
    assert_eq!(bytes.len(), committee.agreed.plan().opening_len());
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

    // Acknowledgements, messages, trees: every byte, every prefix, one more.
    let (member, guard) = (&committee.members[0], &mut committee.guards[0]);
    let pinned = committee.agreed.pinned();
    let acknowledgement = member
        .acknowledge(pinned, guard, Randomness::Deterministic)
        .unwrap();
    let acknowledgement = acknowledgement.to_bytes();
    let tree = committee.trees[0].to_bytes();
    let message = message.to_bytes();
    let acknowledged =
        |bytes: &[u8]| Acknowledgement::from_bytes(bytes).and_then(|read| read.verify(pinned));
    let received = |bytes: &[u8]| committee.agreed.receive(bytes).map(|_| ());
    let kept = |bytes: &[u8]| {
        let registry = committee.agreed.registry();
        EpochTree::from_bytes(registry, committee.agreed.plan(), bytes).map(|_| ())
    };
    type Read<'a> = &'a dyn Fn(&[u8]) -> Result<(), Error>;
    let readers: [(&[u8], Read<'_>); 3] = [
        (&acknowledgement, &acknowledged),
        (&message, &received),
        (&tree, &kept),
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
    // The object of the old derivation.
    assert_eq!(refused(&|b| b[7] = b'1'), Error::BadLength);
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
        committee
            .verify(&changed, &public_keys, &base("object"), b"payload")
            .map(|_| ())
    };
    assert_eq!(verify(&|_| {}), Ok(()));
    assert_eq!(verify(&|b| b[8] = 0), Err(Error::ModeRefused));
    assert_eq!(verify(&|b| b[9] = 1), Err(Error::UnexpectedDecision));
    assert_eq!(verify(&|b| b[14] ^= 1), Err(Error::UnexpectedDecision));
    assert_eq!(verify(&|b| b[22] ^= 1), Err(Error::UnexpectedDecision));
    assert_eq!(verify(&|b| b[attempt] ^= 1), Err(Error::CohortMismatch));
    assert_eq!(verify(&|b| b[attempt + 8] ^= 1), Err(Error::OutOfRange));
    assert_eq!(
        verify(&|b| b[attempt + 13] ^= 1),
        Err(Error::UnexpectedDecision)
    );
    let signature = bytes.len() - 4627;
    assert_eq!(verify(&|b| b[signature] ^= 1), Err(Error::VerifyFailed));
}

#[test]
fn registries_refuse_what_is_not_proven() {
    let entries: Vec<Registration> = (0..3)
        .map(|n| member(n).register(Randomness::Deterministic).unwrap())
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
fn nothing_opens_before_the_list_is_agreed_and_nothing_joins_after() {
    let members: Vec<Member> = (0..4).map(member).collect();
    let mut guards: Vec<Guard> = members.iter().map(guard).collect();
    let registry = registry(&members);
    let plan = plan(&["x", "y"]);
    let trees: Vec<EpochTree> = members
        .iter()
        .map(|member| member.epoch_tree(&registry, &plan).unwrap())
        .collect();
    let roots: Vec<RootAnnouncement> = members
        .iter()
        .zip(&trees)
        .zip(&mut guards)
        .map(|((member, tree), guard)| {
            member
                .announce(tree, guard, Randomness::Deterministic)
                .unwrap()
        })
        .collect();
    let mut store = InMemoryPinsForTests::default();
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
    let tree = stranger.epoch_tree(&registry, &plan).unwrap();
    let refused = stranger.announce(&tree, &mut guard(&stranger), Randomness::Deterministic);
    assert_eq!(refused.unwrap_err(), Error::UnknownMember);
    let its_own = crate::committee::registry(&[member(9)]);
    let tree = stranger.epoch_tree(&its_own, &plan).unwrap();
    let root = stranger.announce(&tree, &mut guard(&stranger), Randomness::Deterministic);
    assert_eq!(pin(&[root.unwrap()]).unwrap_err(), Error::UnknownMember);
    let other_epoch = EpochPlan::new(EPOCH + 1, vec![base("x")]).unwrap();
    let tree = members[0].epoch_tree(&registry, &other_epoch).unwrap();
    let root = members[0].announce(&tree, &mut guards[0], Randomness::Deterministic);
    assert_eq!(pin(&[root.unwrap()]).unwrap_err(), Error::OutOfRange);

    // Three are pinned; the fourth comes too late.
    let pinned = pin(&roots[..3]).unwrap();
    assert_eq!(pin(&roots).unwrap_err(), Error::RootNotPinned);
    assert_eq!(pin(&roots[..2]).unwrap_err(), Error::RootNotPinned);
    let again = [roots[2].clone(), roots[0].clone(), roots[1].clone()];
    assert_eq!(pin(&again).unwrap().digest(), pinned.digest());
    let loaded = PinnedRoots::load(&store, &registry, &plan)
        .unwrap()
        .unwrap();
    assert_eq!(loaded.digest(), pinned.digest());
    assert_eq!(loaded.root(&id(2)), pinned.root(&id(2)));
    assert_eq!(loaded.root(&id(3)), Err(Error::RootNotPinned));
    assert!(
        PinnedRoots::load(&store, &registry, &other_epoch)
            .unwrap()
            .is_none()
    );

    // More than two thirds of the registry, whether or not they take part.
    let mut acknowledge = |n: usize| {
        members[n]
            .acknowledge(&pinned, &mut guards[n], Randomness::Deterministic)
            .unwrap()
    };
    let acknowledgements: Vec<Acknowledgement> = (0..3).map(&mut acknowledge).collect();
    let too_few = AgreedRoots::new(&pinned, &acknowledgements[..2]);
    assert_eq!(too_few.unwrap_err(), Error::RootsNotAgreed);
    let twice = [&acknowledgements[..2], &acknowledgements[..2]].concat();
    assert!(AgreedRoots::new(&pinned, &twice).is_err());
    let mut junk = acknowledgements[2].to_bytes();
    junk[100] ^= 1;
    let junk = Acknowledgement::from_bytes(&junk).unwrap();
    assert_eq!(junk.verify(&pinned), Err(Error::BadMessage));
    let with_junk = [&acknowledgements[..2], &[junk]].concat();
    assert!(AgreedRoots::new(&pinned, &with_junk).is_err());
    let agreed = AgreedRoots::new(&pinned, &acknowledgements).unwrap();
    // Without one of the three, the fourth as a witness: its guard holds it to the
    // list too, but neither the silent one nor itself takes part.
    let witness = acknowledge(3);
    let quorum = [&acknowledgements[..2], &[witness]].concat();
    let without = AgreedRoots::new(&pinned, &quorum).unwrap();
    assert!(without.ids().eq(&[id(0), id(1)]));

    let label = base("x").attempt(0).unwrap();
    let open = |n: usize, agreed: &AgreedRoots, tree: &EpochTree| {
        members[n].open(agreed, tree, &label, &guards[n])
    };
    assert_eq!(
        open(3, &agreed, &trees[3]).unwrap_err(),
        Error::RootNotPinned
    );
    assert_eq!(
        open(2, &without, &trees[2]).unwrap_err(),
        Error::RootsNotAgreed
    );
    // A tree that is not the pinned one.
    let other = EpochPlan::new(EPOCH, vec![base("x"), base("z")]).unwrap();
    let tree = members[0].epoch_tree(&registry, &other).unwrap();
    assert_eq!(open(0, &agreed, &tree).unwrap_err(), Error::RootNotPinned);
    assert_eq!(
        open(0, &agreed, &trees[1]).unwrap_err(),
        Error::RootNotPinned
    );
    // A guard that does not know of the list, or is another seed's.
    let refused = members[0].open(&agreed, &trees[0], &label, &guard(&members[0]));
    assert_eq!(refused.unwrap_err(), Error::RootsNotAgreed);
    let refused = members[0].open(&agreed, &trees[0], &label, &guards[1]);
    assert_eq!(refused.unwrap_err(), Error::GuardFailure);

    let opening = open(0, &agreed, &trees[0]).unwrap();
    assert!(agreed.authenticate(&opening).is_ok());
    // From a file, the tree is the same; another seed's does not open.
    let kept = EpochTree::from_bytes(&registry, &plan, &trees[0].to_bytes()).unwrap();
    assert_eq!(open(0, &agreed, &kept).unwrap(), opening);
    let reseeded = Member::new(id(0), MasterSeed::from_bytes(&[7; 32]), &bytes32("xi", 0));
    let mut its_guard = guard(&reseeded);
    reseeded
        .acknowledge(&pinned, &mut its_guard, Randomness::Deterministic)
        .unwrap();
    let refused = reseeded.open(&agreed, &trees[0], &label, &its_guard);
    assert_eq!(refused.unwrap_err(), Error::BadPath);

    let claim = |n: usize, label: &ContentLabel, body: &[u8]| {
        let message = hostile::opening(&members[n], label, body, &agreed);
        agreed.authenticate(&message).unwrap_err()
    };
    let body = opening.body();
    assert_eq!(claim(1, &label, body), Error::BadPath);
    assert_eq!(claim(3, &label, body), Error::RootNotPinned);
    assert_eq!(
        claim(0, &base("y").attempt(0).unwrap(), body),
        Error::BadPath
    );
    assert_eq!(claim(0, &label.next().unwrap(), body), Error::BadPath);
    assert_eq!(
        claim(0, &base("w").attempt(0).unwrap(), body),
        Error::UnknownLabel
    );
    let late = base("x").attempt(4).unwrap();
    assert_eq!(claim(0, &late, body), Error::AttemptsExhausted);
    for at in [0, 6147, 6148] {
        let mut body = body.to_vec();
        body[at] ^= 1;
        assert_eq!(claim(0, &label, &body), Error::BadPath);
    }
    // Together the honest ones pass, and nobody else does.
    let bad = hostile::opening(&members[1], &label, body, &agreed);
    let short = hostile::opening(&members[1], &label, &body[1..], &agreed);
    let second = open(1, &agreed, &trees[1]).unwrap();
    let all = [opening.clone(), bad, second, short];
    let results = agreed.authenticate_each(&all);
    let errors: Vec<_> = results.iter().map(|result| result.as_ref().err()).collect();
    assert_eq!(
        errors,
        [None, Some(&Error::BadPath), None, Some(&Error::BadLength)]
    );

    // A cohort with a key that was authenticated against another list.
    let mut elsewhere = InMemoryPinsForTests::default();
    let other = PinnedRoots::pin(&mut elsewhere, &registry, &plan, &roots).unwrap();
    let mut fresh: Vec<Guard> = members.iter().map(guard).collect();
    let others: Vec<Acknowledgement> = members
        .iter()
        .zip(&mut fresh)
        .map(|(member, guard)| {
            member
                .acknowledge(&other, guard, Randomness::Deterministic)
                .unwrap()
        })
        .collect();
    // The guards that acknowledged the first list do not acknowledge the second.
    let refused = members[1].acknowledge(&other, &mut guards[1], Randomness::Deterministic);
    assert_eq!(refused.unwrap_err(), Error::EpochConflict);
    assert_eq!(others[0].verify(&pinned), Err(Error::RootsNotAgreed));
    let other = AgreedRoots::new(&other, &others).unwrap();
    let foreign = members[0]
        .open(&other, &trees[0], &label, &fresh[0])
        .unwrap();
    let foreign = other.authenticate(&foreign).unwrap();
    let own = agreed.authenticate(&opening).unwrap();
    let x = base("x");
    let subject = decision(&x, b"");
    let round = |keys: Vec<AuthenticatedKey>| Round::new(&agreed, &subject, 0, keys).map(|_| ());
    assert_eq!(round(vec![own.clone(), foreign]), Err(Error::RootNotPinned));
    assert_eq!(
        round(vec![own.clone(), own.clone()]),
        Err(Error::DuplicateId)
    );
    assert_eq!(round(vec![]), Err(Error::EmptyCohort));
    let long = Decision {
        ctx: &[0; 256],
        ..subject
    };
    let refused = Round::new(&agreed, &long, 0, [own.clone()]);
    assert_eq!(refused.unwrap_err(), Error::BadLength);
    let refused = Round::new(&agreed, &subject, 1, [own]);
    assert_eq!(refused.unwrap_err(), Error::CohortMismatch);
}

#[test]
fn policies_say_who_is_enough() {
    let mut committee = Committee::new(4, &["quorum"]);
    let (aggregate, round) = committee.sign(&[1, 3], "quorum", b"payload");
    let public_keys = committee.public_keys(&[1, 3], round.label());
    let (registry, label) = (committee.agreed.registry(), base("quorum"));
    let expected = decision(&label, b"payload");
    let verify = |policy: &Policy, expected: &Decision<'_>| {
        aggregate
            .verify_expecting(&committee.agreed, &public_keys, expected, policy)
            .map(|_| ())
    };
    let count = |n| Policy::count(registry, n).unwrap();
    assert_eq!(verify(&count(2), &expected), Ok(()));
    assert_eq!(verify(&count(3), &expected), Err(Error::QuorumMissed));
    let two_thirds = Policy::two_thirds(registry);
    assert_eq!(verify(&two_thirds, &expected), Err(Error::QuorumMissed));
    assert_eq!(Policy::count(registry, 0).unwrap_err(), Error::OutOfRange);
    assert_eq!(Policy::count(registry, 5).unwrap_err(), Error::OutOfRange);
    let weights = |threshold| {
        let weights = [(id(0), 10), (id(1), 3), (id(3), 4)];
        Policy::weights(registry, &weights, threshold)
    };
    assert_eq!(verify(&weights(7).unwrap(), &expected), Ok(()));
    assert_eq!(
        verify(&weights(8).unwrap(), &expected),
        Err(Error::QuorumMissed)
    );
    assert_eq!(weights(0).unwrap_err(), Error::OutOfRange);
    assert_eq!(weights(18).unwrap_err(), Error::OutOfRange);
    let refused = |weights: &[(MemberId, u64)]| Policy::weights(registry, weights, 1).unwrap_err();
    assert_eq!(refused(&[(id(0), 1), (id(0), 1)]), Error::DuplicateId);
    assert_eq!(refused(&[(id(9), 1)]), Error::UnknownMember);
    assert_eq!(refused(&[(id(0), u64::MAX), (id(1), 1)]), Error::OutOfRange);
    // A policy of another committee.
    let other = Committee::new(2, &["quorum"]);
    let foreign = Policy::count(other.agreed.registry(), 1).unwrap();
    assert_eq!(verify(&foreign, &expected), Err(Error::CohortMismatch));

    // Whatever is not the expected decision is refused.
    let elsewhere = base("another");
    for other in [
        Decision {
            ctx: b"other",
            ..expected
        },
        Decision {
            label: &elsewhere,
            ..expected
        },
        Decision {
            kind: Kind::Consensus,
            ..expected
        },
        Decision {
            payload: b"other",
            ..expected
        },
    ] {
        assert_eq!(verify(&count(1), &other), Err(Error::UnexpectedDecision));
    }
}

/// Who keeps the keys of more than one epoch finds those that an aggregate needs, though
/// labels come back.
#[test]
fn keys_of_another_epoch_do_not_stand_in_the_way() {
    let mut committee = Committee::new(2, &["x"]);
    let (aggregate, round) = committee.sign(&[0, 1], "x", b"payload");
    let label = round.label();
    let keys = committee.public_keys(&[0, 1], label);
    let registry = Arc::clone(committee.agreed.registry());
    let next = EpochPlan::new(EPOCH + 1, vec![base("x")]).unwrap();
    let (members, guards) = (&committee.members, &mut committee.guards);
    let (trees, agreed) = agree(members, guards, &registry, &next);
    let others: Vec<AuthenticatedKey> = (0..2)
        .map(|n| {
            let opening = members[n].open(&agreed, &trees[n], label, &guards[n]);
            agreed.authenticate(&opening.unwrap()).unwrap()
        })
        .collect();
    for all in [[&keys[..], &others].concat(), [&others[..], &keys].concat()] {
        let verified = committee.verify(&aggregate, &all, &base("x"), b"payload");
        assert_eq!(verified.map(|_| ()), Ok(()));
    }
    let refused = committee.verify(&aggregate, &others, &base("x"), b"payload");
    assert_eq!(refused.unwrap_err(), Error::CohortMismatch);
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
    assert_eq!((plan.depth(), plan.len(), plan.attempts()), (3, 6, 3));
    // f silent members, each in an attempt of its own, and some luck to spare.
    assert_eq!([1, 4, 16, 100, 8192].map(attempts_for), [4, 5, 9, 37, 64]);
    assert_eq!(plan.index(&base("b").attempt(2).unwrap()), Ok(2));
    assert_eq!(plan.index(&base("a").attempt(0).unwrap()), Ok(3));
}
