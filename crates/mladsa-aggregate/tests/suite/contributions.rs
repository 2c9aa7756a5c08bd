//! Commitments and responses: one for each attempt, verified and attributed.

use mladsa_aggregate::errors::{JournalError, RoundError};
use mladsa_aggregate::steps::*;

use crate::committee::*;
use crate::hostile;

pub(crate) const KEY_REUSED: RoundError = RoundError::Journal(JournalError::KeyReused);
const OTHER_SEED: RoundError = RoundError::Journal(JournalError::OtherSeed);

#[test]
fn journal_admits_one_response_for_each_attempt() {
    let mut committee = Committee::new(3, &["once", "other"]);
    let attempt = attempt_id("once", 0);
    let round = committee.round(&[0, 1, 2], &attempt, b"payload");
    let other_message = committee.round(&[0, 1, 2], &attempt, b"another payload");
    let other_signers = committee.round(&[0, 1], &attempt, b"payload");
    let agreed = committee.agreed.clone();
    // A resume before any commitment.
    let (m, journals) = (&committee.members, &committee.journals);
    assert_eq!(m[0].resume(&round, &journals[0]).unwrap_err(), KEY_REUSED);
    let (pending, hashes) = committee.commit(&round, &[0, 1, 2]);
    let (mut set, commitments) = committee.reveal(&[0, 1, 2], &pending, &round, &hashes);
    commitments.iter().for_each(|c| set.add(c).unwrap());
    let challenge = set.challenge().unwrap();
    let Ok([p0, p1, p2]) = <[_; 3]>::try_from(pending) else {
        panic!()
    };
    let m = &committee.members;
    let [j0, j1, j2] = &mut committee.journals[..] else {
        panic!()
    };
    // Member 1 sends another hash to member 0, which answers the first hashes only.
    let other = hostile::other_commitment(&m[1], &hashes[1], &agreed);
    let split = hashed(&round, &[hashes[0].clone(), other, hashes[2].clone()]);
    assert_eq!(m[0].reveal(&p0, &split, j0).unwrap_err(), KEY_REUSED);
    let again = m[0].reveal(&p0, &set, j0).unwrap();
    assert_eq!(again.to_bytes(), commitments[0].to_bytes());
    // Incomplete hashes, and hashes without the own one.
    let incomplete = hashed(&round, &hashes[..2]);
    let result = m[0].reveal(&p0, &incomplete, j0);
    assert_eq!(result.unwrap_err(), RoundError::Incomplete);
    let result = m[1].reveal(&p1, &split, j1);
    assert_eq!(result.unwrap_err(), RoundError::OtherRound);

    let z0 = m[0].respond(p0, &challenge, j0).unwrap();
    let resumed = m[0].resume(&round, j0).unwrap();
    assert_eq!(m[0].respond(resumed, &challenge, j0).unwrap(), z0);
    let resumed = m[0].resume(&round, j0).unwrap();
    assert_eq!(m[0].reveal(&resumed, &split, j0).unwrap_err(), KEY_REUSED);
    // Before and after the response: the same commitment again, and no other one.
    for (n, journal) in [(0, &mut *j0), (1, &mut *j1)] {
        let again = m[n].commit(&round, journal).unwrap().1;
        assert_eq!(again.to_bytes(), hashes[n].to_bytes());
        let other = m[n].commit(&other_message, journal);
        assert_eq!(other.unwrap_err(), KEY_REUSED);
        let other = m[n].commit(&other_signers, journal);
        assert_eq!(other.unwrap_err(), KEY_REUSED);
        let other = m[n].resume(&other_message, journal);
        assert_eq!(other.unwrap_err(), KEY_REUSED);
    }

    // The state of another member; another journal.
    let resumed = m[1].resume(&round, j1).unwrap();
    let result = m[0].respond(resumed, &challenge, j0);
    assert_eq!(result.unwrap_err(), RoundError::OtherRound);
    let resumed = m[1].resume(&round, j1).unwrap();
    let result = m[1].respond(resumed, &challenge, j2);
    assert_eq!(result.unwrap_err(), OTHER_SEED);
    assert_eq!(m[2].commit(&round, j1).unwrap_err(), OTHER_SEED);
    assert_eq!(m[1].retire(&agreed, &attempt, j2).unwrap_err(), OTHER_SEED);

    // Nothing after the retirement.
    m[2].retire(&agreed, &attempt, j2).unwrap();
    m[2].retire(&agreed, &attempt, j2).unwrap();
    assert_eq!(m[2].respond(p2, &challenge, j2).unwrap_err(), KEY_REUSED);
    assert_eq!(m[2].commit(&round, j2).unwrap_err(), KEY_REUSED);
    assert_eq!(m[2].resume(&round, j2).unwrap_err(), KEY_REUSED);
}

#[test]
fn contributions_are_verified_and_attributed() {
    let mut committee = Committee::new(4, &["blame"]);
    let attempt = attempt_id("blame", 0);
    let round = committee.round(&[0, 1, 2], &attempt, b"payload");
    let other_round = committee.round(&[0, 1, 2, 3], &attempt, b"payload");
    let agreed = committee.agreed.clone();
    let mut set = CommitmentSet::new(&round);
    let (pending, hashes) = committee.commit(&round, &[0, 1, 2]);
    let outsider = committee.commit(&other_round, &[3]).1.remove(0);
    assert_eq!(set.add(&outsider), Err(RoundError::UnknownMember));
    set.add(&hashes[0]).unwrap();
    // A hash for another round proves no fault.
    let mut other = CommitmentSet::new(&other_round);
    assert_eq!(other.add(&hashes[0]), Err(RoundError::OtherRound));
    // A hash of another length, and a second one.
    let long = hostile::with_body(&committee.members[1], &hashes[1], &[0; 65], &agreed);
    let invalid = Err(RoundError::InvalidContribution(id(1)));
    assert_eq!(set.add(&long), invalid);
    let second = hostile::other_commitment(&committee.members[0], &hashes[0], &agreed);
    assert_eq!(set.add(&second), Err(RoundError::Equivocation(id(0))));
    let (mut set, commitments) = committee.reveal(&[0, 1, 2], &pending, &round, &hashes);
    // A commitment before all hashes; one with another hash, of its sender or of anyone.
    let mut incomplete = hashed(&round, &hashes[..2]);
    assert_eq!(incomplete.add(&commitments[0]), Err(RoundError::Incomplete));
    let unhashed = hostile::other_commitment(&committee.members[1], &commitments[1], &agreed);
    assert_eq!(set.add(&unhashed), invalid);
    let forged = hostile::without_signature(&commitments[1], &agreed);
    assert_eq!(set.add(&forged), Err(RoundError::InvalidMessage));
    assert!(set.missing().eq(&[id(0), id(1), id(2)]));
    // Two different hashes prove a fault of the sender to any verifier.
    let evidence = Equivocation::new(set.get(&id(0)).unwrap(), &second).unwrap();
    set.add(&commitments[0]).unwrap();
    let registry = agreed.registry();
    let read = Equivocation::from_bytes(&evidence.to_bytes(), registry).unwrap();
    assert_eq!((read.id(), &read), (&id(0), &evidence));
    for (first, second) in [(&hashes[0], &hashes[0]), (&hashes[0], &hashes[1])] {
        assert_eq!(Equivocation::new(first, second), None);
    }
    assert_eq!(Equivocation::new(&commitments[1], &unhashed), None);
    let mut bytes = evidence.to_bytes();
    let at = bytes.len() - 4627 - 100;
    bytes[at] ^= 1;
    let result = Equivocation::from_bytes(&bytes, registry);
    assert_eq!(result, Err(RoundError::InvalidMessage));

    assert!(set.missing().eq(&[id(1), id(2)]));
    set.add(&commitments[1]).unwrap();
    assert_eq!(set.challenge().unwrap_err(), RoundError::Incomplete);
    set.add(&commitments[2]).unwrap();
    let challenge = set.challenge().unwrap();
    let signers = committee.members.iter().zip(&mut committee.journals);
    let responses: Vec<SignedMessage> = signers
        .zip(pending)
        .map(|((member, journal), pending)| {
            let response = member.respond(pending, &challenge, journal);
            response.unwrap()
        })
        .collect();

    let mut combiner = Combiner::new(&challenge);
    let result = combiner.add(&commitments[0]);
    assert_eq!(result, Err(RoundError::OtherRound));
    // The response of another member, and one with a changed coefficient.
    let m1 = &committee.members[1];
    let copied = hostile::with_body(m1, &responses[1], responses[0].body(), &agreed);
    assert_eq!(combiner.add(&copied), invalid);
    let mut body = responses[1].body().to_vec();
    body[0] ^= 1;
    let changed = hostile::with_body(m1, &responses[1], &body, &agreed);
    assert_eq!(combiner.add(&changed), invalid);
    let forged = hostile::without_signature(&responses[1], &agreed);
    assert_eq!(forged.body(), changed.body());
    assert_eq!(combiner.add(&forged), Err(RoundError::InvalidMessage));
    for n in [0, 0, 1] {
        combiner.add(&responses[n]).unwrap();
    }
    let result = combiner.add(&changed);
    assert_eq!(result, Err(RoundError::Equivocation(id(1))));
    assert!(Equivocation::new(&copied, &changed).is_some());
    assert_eq!(combiner.add(&forged), Err(RoundError::InvalidMessage));
    assert!(combiner.missing().eq(&[id(2)]));
    assert_eq!(combiner.finish().unwrap_err(), RoundError::Incomplete);

    // Messages under another name, or of another list of roots.
    let mut bytes = responses[2].to_bytes();
    bytes[16] ^= 1;
    assert!(agreed.receive(&bytes).is_err());
    let foreign = Committee::new(3, &["blame"]);
    let result = foreign.agreed.receive(&responses[2].to_bytes());
    assert_eq!(result.unwrap_err(), RoundError::OtherRound);
}

/// Without signatures, messages are of the peer of an authenticated channel, or authenticated by
/// their content.
#[test]
fn signatures_are_required_where_nothing_else_authenticates() {
    let members = (0..2).map(|n| member(n).with_authenticated_channels());
    let mut committee = Committee::of(members.collect(), &["x"]);
    let round = committee.round(&[0, 1], &attempt_id("x", 0), b"payload");
    let (pending, hashes) = committee.commit(&round, &[0, 1]);
    let agreed = committee.agreed.clone();
    let bytes = hashes[0].to_bytes();
    let invalid = Err(RoundError::InvalidMessage);
    assert_eq!(agreed.receive(&bytes), invalid);
    assert_eq!(agreed.receive_from(&id(1), &bytes), invalid);
    let received = agreed.receive_from(&id(0), &bytes).unwrap();
    assert_eq!(received, hashes[0]);
    let stranger = agreed.receive_from(&id(2), &bytes);
    assert_eq!(stranger, invalid);
    let second = hostile::other_commitment(&committee.members[0], &hashes[0], &agreed);
    let mut set = hashed(&round, &[received, hashes[1].clone()]);
    assert_eq!(set.add(&second), Err(RoundError::Equivocation(id(0))));
    // A third party cannot verify that the first message is of its sender.
    assert_eq!(Equivocation::new(&hashes[0], &second), None);
    let (mut set, commitments) = committee.reveal(&[0, 1], &pending, &round, &hashes);
    for commitment in &commitments {
        set.add(&agreed.receive(&commitment.to_bytes()).unwrap())
            .unwrap();
    }
    // An earlier version of the messages, named in its first bytes.
    let mut old = commitments[0].to_bytes();
    old[7] = b'3';
    assert!(agreed.receive(&old).is_err());
}
