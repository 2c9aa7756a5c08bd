//! Sessions over a simulated network with faulty members, and single sessions.

use std::sync::Arc;

use mladsa_aggregate::errors::{JournalError, RoundError};
use mladsa_aggregate::steps::*;
use mladsa_aggregate::*;

use crate::committee::*;
use crate::hostile;
use crate::simulation::Fault::*;
use crate::simulation::*;

/// One member that sends its messages to a part of the others, and 1 % of lost messages, ended a
/// decision for all. The example `session_costs` runs more cases, up to 31 members.
#[test]
fn every_honest_member_completes() {
    println!("{HEADER}");
    for (n, faults, loss) in [
        (4, &[Honest][..], 200),
        (4, &[Silent], 0),
        (4, &[Partial], 0),
        (4, &[TwoHashes], 0),
        (4, &[Slow], 50),
        (4, &[Grinding], 100),
        (4, &[Withholding], 200),
        (4, &[LastHash], 0),
        (7, &[LastCommitment], 0),
        (4, &[SplitHash], 0),
        (7, &[TwoAnnouncements], 0),
        (4, &[WrongResponse, Ahead], 50),
        (7, &[Honest], 10),
        (7, &[Partial], 0),
        (7, &MIXED, 200),
        (13, &[Partial], 0),
        (16, &MIXED, 100),
    ] {
        println!("{}", row(n, faults, loss));
    }
}

/// Anyone can send messages without a signature under the name of a member. They stop nothing, and
/// no member is blamed for them.
#[test]
fn forged_messages_without_signatures_stop_nothing() {
    for faults in [&[Honest][..], &[Withholding]] {
        let mut simulation = Simulation::new(&with_faults(4, faults), 0);
        simulation.forging = true;
        simulation.run();
    }
}

/// A member loses its session at every time of an attempt, and continues with its journal.
#[test]
fn restarted_session_continues() {
    for lost in (1..=61).step_by(5) {
        for restarted in [lost + 5, lost + 60] {
            let mut faults = vec![Honest; 4];
            faults[1] = Crash(lost, restarted);
            let mut simulation = Simulation::new(&faults, 0);
            simulation.run();
        }
    }
}

fn is_send<T: Send + 'static>(_: &T) {}

#[test]
fn foreign_messages_are_ignored() {
    let mut simulation = Simulation::honest(4);
    is_send(&simulation.sessions[0]);
    simulation.tick(0);
    let other = Committee::new(2, &["y"]);
    let foreign = other.open(0, &attempt_id("y", 0)).to_bytes();
    let session = simulation.sessions[0].as_mut().unwrap();
    for ignored in [&b""[..], b"junk", b"MLADSAO1", &[0; 50_000], &foreign] {
        let events = session.receive(ignored, 1, &mut simulation.journals[0]);
        assert_eq!(events.unwrap(), []);
    }
    simulation.run();
    // Only members without a certificate get an answer, and each of the others answers in its turn.
    let opening = simulation.members[1].open(
        &simulation.agreed,
        &simulation.trees[1],
        &attempt_id("x", 0),
        &simulation.journals[1],
    );
    let opening = opening.unwrap();
    let forged = hostile::without_signature(&opening, &simulation.agreed);
    for (message, is_answered) in [
        (b"MLADSAM4".to_vec(), false),
        (foreign, false),
        (forged.to_bytes(), false),
        (opening.to_bytes(), true),
    ] {
        let session = simulation.sessions[0].as_mut().unwrap();
        let answers = (1..=4).flat_map(|time| {
            let journal = &mut simulation.journals[0];
            session
                .receive(&message, 9_999 + time * TIMEOUT, journal)
                .unwrap()
        });
        assert_eq!(answers.count() > 0, is_answered);
    }
}

/// Members that are alone use up no keys. Of members that open their keys and then do nothing all
/// attempts are abandoned, and every one reports the leader that was awaited.
#[test]
fn attempts_are_abandoned_with_a_quorum_only() {
    let mut simulation = Simulation::honest(4);
    let attempts = EpochPlan::attempts_for(4);
    let mut journals = core::mem::take(&mut simulation.journals);
    let mut session = simulation.session(0);
    let mut now = 1;
    for _ in 0..u64::from(attempts) + 2 {
        session.tick(now, &mut journals[0]).unwrap();
        assert_eq!(
            (session.attempt(), session.awaited()),
            (0, vec![id(1), id(2), id(3)])
        );
        now += TIMEOUT;
    }
    let (mut abandoned, mut failed) = (0, false);
    for attempt in 0..attempts {
        assert_eq!(session.attempt(), attempt);
        for n in [1, 2] {
            let (member, tree) = (&simulation.members[n], &simulation.trees[n]);
            let attempt = attempt_id("x", attempt);
            let opening = member.open(&simulation.agreed, tree, &attempt, &journals[n]);
            let opening = opening.unwrap().to_bytes();
            session.receive(&opening, now, &mut journals[0]).unwrap();
        }
        for time in [now, now + TIMEOUT] {
            for event in session.tick(time, &mut journals[0]).unwrap() {
                match event {
                    SessionEvent::AttemptAbandoned(_) => abandoned += 1,
                    SessionEvent::Failed(error) => {
                        assert_eq!(error, RoundError::AttemptsExhausted);
                        failed = true;
                    }
                    _ => {}
                }
            }
        }
        now += TIMEOUT;
    }
    assert!(failed && session.has_ended());
    assert_eq!(abandoned, attempts);
    assert_eq!(session.tick(now, &mut journals[0]).unwrap(), []);
}

/// A member that fails attempts without being blamed: after each miss the next leader takes other
/// signers, which the cause of the miss is not among in the end.
#[test]
fn signers_change_after_a_miss() {
    let faults = [Honest; 4];
    // A payload with which the first attempt of all four members misses.
    let missed = (0u32..2000).find_map(|number| {
        let payload = number.to_be_bytes();
        let mut simulation = Simulation::for_payload(&faults, 0, &payload);
        (simulation.run() > 1).then_some(simulation)
    });
    let simulation = missed.unwrap();
    let registry = simulation.agreed.registry();
    let certificate = simulation.completed[0].as_ref().unwrap();
    let signers = certificate.aggregate().signers(registry).unwrap();
    assert_eq!(signers.len(), 3);
    for (_, event) in &simulation.events {
        let SessionEvent::AttemptAbandoned(missing) = event else {
            panic!("{event:?}");
        };
        assert_eq!(*missing, []);
    }
}

#[test]
fn two_hashes_are_evidence() {
    let mut faults = vec![Honest; 4];
    faults[3] = TwoHashes;
    let mut simulation = Simulation::new(&faults, 0);
    simulation.run();
    let evidence = simulation.events.iter().find_map(|(_, event)| match event {
        SessionEvent::Equivocation(evidence) => Some(evidence),
        _ => None,
    });
    let bytes = evidence.unwrap().to_bytes();
    let read = Equivocation::from_bytes(&bytes, simulation.agreed.registry()).unwrap();
    assert_eq!(read.id(), &id(3));
}

/// An invalid contribution was reported again with every received message.
#[test]
fn invalid_contribution_is_reported_once() {
    let committee = Committee::new(4, &["x"]);
    let (member, agreed) = (&committee.members[3], &committee.agreed);
    let own = committee.open(3, &attempt_id("x", 0));
    let bad = hostile::with_body(member, &own, &[0; 7000], agreed);
    let other = hostile::with_body(member, &own, &[1; 7000], agreed);
    let (own_member, tree) = (crate::committee::member(0), committee.trees[0].clone());
    let task = task("x", b"payload");
    let mut session = Session::new(
        Arc::new(own_member),
        Arc::new(tree),
        agreed.clone(),
        task,
        TIMEOUT,
    );
    let mut journals = committee.journals;
    session.tick(1, &mut journals[0]).unwrap();
    let mut receive =
        |message: &SignedMessage| session.receive(&message.to_bytes(), 1, &mut journals[0]);
    assert_eq!(
        receive(&bad).unwrap(),
        [SessionEvent::InvalidContribution(id(3))]
    );
    assert_eq!(receive(&bad).unwrap(), []);
    assert_eq!(receive(&other).unwrap(), []);
}

/// A session that could not begin, or that failed with an error, has ended.
#[test]
fn ended_session_has_no_more_events() {
    let mut simulation = Simulation::honest(4);
    let session = simulation.sessions[0].as_mut().unwrap();
    // The journal of another seed.
    let journal = &mut simulation.journals[1];
    assert_eq!(
        session.tick(1, journal),
        Err(JournalError::OtherSeed.into())
    );
    assert!(session.has_ended());
    assert_eq!(session.tick(500, journal), Ok(vec![]));
}

/// A copy of a received message is ignored before its signature is verified; a forged signature of
/// a new message is ignored too.
#[test]
fn replayed_and_forged_messages_are_ignored() {
    let mut simulation = Simulation::honest(4);
    simulation.tick(0);
    simulation.tick(3);
    let opening = simulation.in_transit.values().find(|(to, _)| *to == 0);
    let opening = opening.unwrap().1.clone();
    let mut forged = opening.clone();
    let last = forged.len() - 2000;
    forged[last] ^= 1;
    let session = simulation.sessions[0].as_mut().unwrap();
    for message in [&forged, &opening, &opening, &forged] {
        let events = session.receive(message, 1, &mut simulation.journals[0]);
        assert_eq!(events.unwrap(), []);
    }
}

/// It costs its receiver the verification of all openings, and was ignored.
#[test]
fn invalid_certificate_is_reported() {
    let mut simulation = Simulation::honest(4);
    simulation.run();
    let certificate = simulation.completed[0].take().unwrap();
    let mut forged = certificate.to_bytes();
    forged[1000] ^= 1;
    let (mut session, journal) = (simulation.session(1), &mut simulation.journals[1]);
    let mut receive = |bytes: &[u8]| session.receive(bytes, 1, journal).unwrap();
    assert_eq!(receive(&forged), [SessionEvent::InvalidCertificate]);
    let completed = SessionEvent::Completed(Box::new(certificate.clone()));
    assert_eq!(receive(&certificate.to_bytes()), [completed]);
}
