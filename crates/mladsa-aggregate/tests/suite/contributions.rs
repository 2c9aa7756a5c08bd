//! Commitments and responses: one for each attempt, verified and attributed.

use std::sync::Arc;

use mladsa_aggregate::MemberName;
use mladsa_aggregate::errors::{JournalError, RoundError};
use mladsa_aggregate::steps::*;

use crate::committee::*;
use crate::hostile;

pub(crate) const KEY_REUSED: RoundError = RoundError::Journal(JournalError::KeyReused);
const OTHER_SEED: RoundError = RoundError::Journal(JournalError::OtherSeed);

#[test]
fn journal_admits_one_response_for_each_attempt() {
    let mut committee = Group::new(3);
    let attempt = at(0, 0);
    let round = committee.round(&[0, 1, 2], attempt, b"payload");
    let other_message = committee.round(&[0, 1, 2], attempt, b"another payload");
    let other_signers = committee.round(&[0, 1], attempt, b"payload");
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
    let other = hostile::changed(&hashes[1], &committee.committee);
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
    assert_eq!(m[1].retire(attempt, j2).unwrap_err(), OTHER_SEED);

    // Nothing after the retirement.
    m[2].retire(attempt, j2).unwrap();
    m[2].retire(attempt, j2).unwrap();
    assert_eq!(m[2].respond(p2, &challenge, j2).unwrap_err(), KEY_REUSED);
    assert_eq!(m[2].commit(&round, j2).unwrap_err(), KEY_REUSED);
    assert_eq!(m[2].resume(&round, j2).unwrap_err(), KEY_REUSED);
}

#[test]
fn contributions_are_verified_and_attributed() {
    let mut group = Group::new(4);
    let attempt = at(1, 0);
    let round = group.round(&[0, 1, 2], attempt, b"payload");
    let other_round = group.round(&[0, 1, 2, 3], attempt, b"payload");
    let committee = Arc::clone(&group.committee);
    let mut set = CommitmentSet::new(&round);
    let (pending, hashes) = group.commit(&round, &[0, 1, 2]);
    let outsider = group.commit(&other_round, &[3]).1.remove(0);
    assert_eq!(set.add(&outsider), Err(RoundError::UnknownMember));
    set.add(&hashes[0]).unwrap();
    // A hash for another round proves no fault.
    let mut other = CommitmentSet::new(&other_round);
    assert_eq!(other.add(&hashes[0]), Err(RoundError::OtherRound));
    // Bodies of lengths that their kind does not have are no messages, also if they are signed: two of
    // them would be evidence that is too long to be received.
    let set_bytes = mladsa_aggregate::SigningCommittee::MAX_MEMBERS / 8 + 1;
    for (kind, most) in [
        (MessageKind::Opening, 6788),
        (MessageKind::Signers, set_bytes),
        (MessageKind::CommitmentHash, 64),
        (MessageKind::Commitment, 6144),
        (MessageKind::Response, 2688),
        (MessageKind::Request, set_bytes + 1),
    ] {
        let of = |len| {
            let body = vec![0; len];
            let bytes = hostile::bytes(&id(1), kind, attempt, &[0; 64], &body, &committee);
            Message::receive(&bytes, &committee).map(drop)
        };
        assert_eq!(of(most), Ok(()), "{kind:?}");
        assert_eq!(of(most + 1), Err(RoundError::InvalidMessage), "{kind:?}");
    }
    let second = hostile::changed(&hashes[0], &committee);
    assert_eq!(
        set.add(&second),
        Err(RoundError::ConflictingMessages(id(0)))
    );
    let (mut set, commitments) = group.reveal(&[0, 1, 2], &pending, &round, &hashes);
    // A commitment before all hashes; one with another hash, which can be of anyone.
    let mut incomplete = hashed(&round, &hashes[..2]);
    assert_eq!(incomplete.add(&commitments[0]), Err(RoundError::Incomplete));
    let unhashed = hostile::changed(&commitments[1], &committee);
    assert_eq!(set.add(&unhashed), Err(RoundError::InvalidMessage));
    assert!(set.missing().eq(&[id(0), id(1), id(2)]));
    // Two different hashes prove a fault of the sender to any verifier.
    let evidence = ConflictingMessages::new(set.get(&id(0)).unwrap(), &second).unwrap();
    set.add(&commitments[0]).unwrap();
    let read = ConflictingMessages::from_bytes(&evidence.to_bytes(), &committee).unwrap();
    assert_eq!((read.id(), &read), (&id(0), &evidence));
    for (first, second) in [
        (&hashes[0], &hashes[0]),
        (&hashes[0], &hashes[1]),
        (&commitments[1], &unhashed),
    ] {
        assert_eq!(ConflictingMessages::new(first, second), None);
    }
    let mut bytes = evidence.to_bytes();
    let at = bytes.len() - 4627 - 100;
    bytes[at] ^= 1;
    let result = ConflictingMessages::from_bytes(&bytes, &committee);
    assert_eq!(result, Err(RoundError::InvalidMessage));

    assert!(set.missing().eq(&[id(1), id(2)]));
    set.add(&commitments[1]).unwrap();
    assert_eq!(set.challenge().unwrap_err(), RoundError::Incomplete);
    set.add(&commitments[2]).unwrap();
    let challenge = set.challenge().unwrap();
    let signers = group.members.iter().zip(&mut group.journals);
    let responses: Vec<Message> = signers
        .zip(pending)
        .map(|((member, journal), pending)| {
            let response = member.respond(pending, &challenge, journal);
            response.unwrap()
        })
        .collect();

    let mut combiner = Combiner::new(&challenge);
    let result = combiner.add(&commitments[0]);
    assert_eq!(result, Err(RoundError::OtherRound));
    // The response of another member, and one with a changed coefficient: of anyone.
    let copied = hostile::with_body(&responses[1], responses[0].body(), &committee);
    let changed = hostile::changed(&responses[1], &committee);
    for wrong in [&copied, &changed] {
        assert_eq!(combiner.add(wrong), Err(RoundError::InvalidMessage));
    }
    for n in [0, 0, 1] {
        combiner.add(&responses[n]).unwrap();
    }
    assert_eq!(combiner.add(&changed), Err(RoundError::InvalidMessage));
    assert!(combiner.missing().eq(&[id(2)]));
    assert_eq!(combiner.finish().unwrap_err(), RoundError::Incomplete);

    // Messages of another committee, of a stranger, and without a signature.
    let foreign = Group::with(&epoch(EPOCH), &[1, 1, 2], 1);
    let receive = |bytes: &[u8], committee| Message::receive(bytes, committee).unwrap_err();
    let other_round = RoundError::OtherRound;
    assert_eq!(
        receive(&responses[2].to_bytes(), &foreign.committee),
        other_round
    );
    let of =
        |id: &MemberName, kind| hostile::bytes(id, kind, attempt, &[0; 64], &[0; 64], &committee);
    let stranger = of(&id(9), MessageKind::Opening);
    assert_eq!(receive(&stranger, &committee), RoundError::UnknownMember);
    let hash = of(&id(1), MessageKind::CommitmentHash);
    assert!(Message::receive(&hash, &committee).is_ok());
    assert!(matches!(
        receive(&hash[..hash.len() - 4627], &committee),
        RoundError::Encoding(_)
    ));
    let mut forged = hash;
    let at = forged.len() - 4000;
    forged[at] ^= 1;
    assert_eq!(receive(&forged, &committee), RoundError::InvalidMessage);
}
