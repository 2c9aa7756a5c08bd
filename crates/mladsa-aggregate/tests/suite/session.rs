//! Sessions over a simulated network with faulty members, and single sessions.

use std::collections::BTreeSet;
use std::sync::Arc;

use mladsa_aggregate::errors::{CommitteeError, JournalError, RoundError};
use mladsa_aggregate::steps::*;
use mladsa_aggregate::*;

use crate::committee::*;
use crate::hostile;
use crate::simulation::Fault::*;
use crate::simulation::*;

/// The example `round_table` runs more cases, up to 128 members.
#[test]
fn every_honest_member_completes() {
    println!("{HEADER}");
    for &kind in Fault::KINDS {
        println!("{}", row(4, &[kind], 0));
    }
    for (n, faults, loss) in [
        (4, &[Honest][..], 200),
        (7, &[Honest], 10),
        (7, Fault::KINDS, 100),
        (16, Fault::KINDS, 50),
    ] {
        println!("{}", row(n, faults, loss));
    }
}

/// Messages on their way were requested again, and completed members answered each request with the
/// certificate: with 64 members that was eleven times the messages of the round.
#[test]
fn members_send_little_more_than_the_messages_of_the_round() {
    let run = |loss| {
        let mut simulation = Simulation::new(&[Honest; 16], loss);
        simulation.run();
        (simulation.messages, simulation.sent.iter().sum::<u64>())
    };
    // Four messages of each member to each other one, and the announcement.
    let (messages, bytes) = run(0);
    let least = 16 * 15 * 4 + 15;
    assert!((least..least * 11 / 10).contains(&messages));
    assert!(run(10).1 < bytes * 3 / 2);
}

/// A few members that sent to the leader only ended every decision from 17 members on: the others could
/// not get their openings in time, and blamed the leader.
#[test]
fn messages_to_the_leader_reach_all() {
    for (n, faulty) in [(17, 5), (22, 4)] {
        let mut faults = vec![Honest; n];
        faults[n - faulty..].fill(LeaderOnly);
        let mut simulation = Simulation::new(&faults, 0);
        let attempts = simulation.run();
        assert!(attempts <= simulation.bound());
        // No honest member misses an honest one.
        for (member, event) in &simulation.events {
            let SessionEvent::AttemptAbandoned(missing) = event else {
                continue;
            };
            let is_honest = *member < n - faulty;
            assert!(
                !is_honest || missing.iter().all(|id| *id >= self::id(n - faulty)),
                "{member} {event:?}"
            );
        }
    }
}

/// A signer whose opening only the leader had is attributed, by all members, and left out then.
#[test]
fn signer_that_opens_to_the_leader_only_is_attributed() {
    let mut faults = vec![Honest; 7];
    faults[2] = OpeningToLeader;
    let mut simulation = Simulation::new(&faults, 0);
    let led = simulation.leader(0) != Some(2);
    let attempts = simulation.run();
    assert!(led && attempts == 2);
    for n in [0, 1, 3, 4, 5, 6] {
        let event = (n, SessionEvent::AttemptAbandoned(vec![id(2)]));
        assert!(simulation.events.contains(&event), "member {n}");
    }
}

/// Evidence on a member that is no signer excuses nobody: with it a silent signer was never counted, and
/// two of seven members stopped every decision.
#[test]
fn evidence_on_others_does_not_excuse_a_silent_signer() {
    for silent in [Withholding, Grinding] {
        let faults = with_faults(7, &[AlwaysTwoHashes, silent]);
        let mut simulation = Simulation::new(&faults, 0);
        let attempts = simulation.run();
        assert!(attempts <= simulation.bound(), "{silent:?}: {attempts}");
    }
}

/// 300 of the random patterns of the example `round_table`: receivers chosen for each message, loss,
/// repetition, reordering, forged messages, unequal weights. In the last two an honest member was left
/// out: it was late because it lacked the opening of a faulty one, or it had seen a miss before the others.
#[test]
fn random_faults_keep_the_bound() {
    let mut patterns = Patterns::new();
    for seed in (1..=300).chain([8236, 21067]) {
        let (attempts, bound, text) = patterns.run(seed);
        assert!(attempts <= bound, "{attempts} of {bound} attempts: {text}");
    }
}

/// The heavy members decide: light ones that are ahead move nobody, although they are more than a third
/// of the heads, and light silent ones delay nothing.
#[test]
fn weight_counts_and_not_the_number_of_members() {
    let weights = [100, 100, 100, 1, 1, 1, 1, 1, 1];
    for kind in [Ahead, Silent, LeaderOnly, RandomHalf] {
        let faults: Vec<Fault> = (0..9).map(|n| if n < 3 { Honest } else { kind }).collect();
        let mut simulation = Simulation::of(group(&weights, 12), &faults, 0, b"payload");
        let attempts = simulation.run();
        assert!(attempts <= simulation.bound(), "{kind:?}: {attempts}");
        let leaders = (0..12).filter_map(|attempt| simulation.leader(attempt));
        assert!(leaders.filter(|leader| *leader > 2).count() <= 1);
    }
}

/// Anyone can send messages that are not signed under the name of a member. They stop nothing, and
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
    for lost in (1..=61).step_by(10) {
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
    let foreign = Group::new(2).open(0, at(0, 0)).to_bytes();
    let session = simulation.sessions[0].as_mut().unwrap();
    for ignored in [&b""[..], b"junk", b"MLADSAO2", &[0; 50_000], &foreign] {
        let journal = &mut simulation.group.journals[0];
        let events = session.receive(&id(1), ignored, 1, journal);
        assert_eq!(events.unwrap(), []);
    }
    simulation.run();
    // A completed session answers requests, once in an interval, and nothing else.
    let committee = Arc::clone(&simulation.group.committee);
    let opening = simulation.group.open(1, at(0, 1));
    let kind = MessageKind::Request;
    let request = hostile::bytes(&id(1), kind, at(0, 1), &[0; 64], b"\x01\x1e", &committee);
    for (from, message, answers) in [
        (1, b"MLADSAM5".to_vec(), 0),
        (1, foreign, 0),
        (1, opening.to_bytes(), 0),
        // A request in the name of another member.
        (2, request.clone(), 0),
        (1, request.clone(), 1),
        (1, request, 0),
    ] {
        let session = simulation.sessions[0].as_mut().unwrap();
        let journal = &mut simulation.group.journals[0];
        let events = session.receive(&id(from), &message, 9_999, journal);
        assert_eq!(events.unwrap().len(), answers);
    }
}

/// With the fewest ticks every other member is asked in an attempt: each interval was rounded up to a
/// tick, and a fifth of 80 members was not asked.
#[test]
fn every_member_is_asked_in_an_attempt_of_64_ticks() {
    let mut group = group(&[1; 80], 1);
    let task = SigningTask::decision(0, b"payload");
    let (member, committee) = (&group.members[0], &group.committee);
    let mut session = Session::new(Arc::clone(member), Arc::clone(committee), task, 6400);
    let mut asked = BTreeSet::new();
    for tick in 0..64 {
        for event in session.tick(tick * 100, &mut group.journals[0]).unwrap() {
            if let SessionEvent::Send { to, message } = event
                && let Some(id) = to
                && message[8] == 6
            {
                asked.insert(id);
            }
        }
    }
    assert_eq!(asked.len(), 79);
}

/// A request costs its sender 140 bytes. All messages, or the certificate, were sent as answers 48 times
/// in a timeout, for ever.
#[test]
fn answers_to_a_member_are_bounded_in_bytes() {
    let mut simulation = Simulation::honest(4);
    let committee = Arc::clone(&simulation.group.committee);
    let kind = MessageKind::Request;
    let request = hostile::bytes(&id(1), kind, at(0, 0), &[0; 64], b"\x01\x1e", &committee);
    let mut session = simulation.session(0);
    session.tick(1, &mut simulation.group.journals[0]).unwrap();
    for n in [1, 2, 3] {
        let opening = simulation.group.open(n, at(0, 0)).to_bytes();
        let journal = &mut simulation.group.journals[0];
        session.receive(&id(n), &opening, 1, journal).unwrap();
    }
    simulation.run();
    let completed = simulation.sessions[0].take().unwrap();
    // Four times the messages of an attempt, and what comes once in a timeout.
    let bound = 4 * 4 * 24_576 + 2 * 40_000;
    for mut session in [session, completed] {
        let mut bytes = 0;
        for now in 0..TIMEOUT {
            let journal = &mut simulation.group.journals[0];
            let events = session.receive(&id(1), &request, 10_000 + now, journal);
            for event in events.unwrap() {
                if let SessionEvent::Send { message, .. } = event {
                    bytes += message.len();
                }
            }
        }
        assert!((bound / 2..=bound).contains(&bytes), "{bytes} bytes");
    }
}

/// A member that completed by a certificate sent what it had of the responses in its place, also forged
/// ones; one that lacked some sent the others.
#[test]
fn responses_replace_the_certificate_only_if_all_are_valid() {
    let mut simulation = Simulation::new(&[Honest, Honest, Honest, Silent], 0);
    simulation.run();
    let certificate = simulation.completed[0].take().unwrap().to_bytes();
    let committee = Arc::clone(&simulation.group.committee);
    let attempt = AggregateCertificate::from_bytes(&certificate).unwrap();
    let attempt = attempt.aggregate().attempt_id();
    let message = |from, kind, body: &[u8]| {
        hostile::bytes(&id(from), kind, attempt, &[0; 64], body, &committee)
    };
    let mut other = Session::new(
        Arc::clone(&simulation.group.members[1]),
        Arc::clone(&committee),
        simulation.task.clone(),
        TIMEOUT,
    );
    let forged = message(2, MessageKind::Response, &[0; 2688]);
    let journal = &mut simulation.group.journals[1];
    other.receive(&id(3), &forged, 1, journal).unwrap();
    other.receive(&id(0), &certificate, 1, journal).unwrap();
    let own = simulation.sessions[0].take().unwrap();
    // The response of member 2, then those of members 2 and 3.
    for (mut session, set) in [(other, 0x14), (own, 0x1c)] {
        let request = message(3, MessageKind::Request, &[5, set]);
        let events = session.receive(&id(3), &request, 9_999, journal).unwrap();
        let to = Some(id(3));
        let message = certificate.clone();
        assert_eq!(events, [SessionEvent::Send { to, message }]);
    }
}

/// Another member changed the field of an opening that nothing authenticates: its sender got no answer any
/// more.
#[test]
fn changed_copy_of_an_opening_does_not_silence_its_sender() {
    let mut simulation = Simulation::honest(4);
    simulation.tick(0);
    let opening = simulation.group.open(1, at(0, 0));
    let committee = &simulation.group.committee;
    let kind = MessageKind::Opening;
    let changed = hostile::bytes(&id(1), kind, at(0, 0), &[1; 64], opening.body(), committee);
    let session = simulation.sessions[0].as_mut().unwrap();
    let mut receive = |from, message: &[u8]| {
        let journal = &mut simulation.group.journals[0];
        session.receive(&id(from), message, 1, journal).unwrap()
    };
    receive(2, &changed);
    receive(1, &opening.to_bytes());
    let events = receive(1, &opening.to_bytes());
    let [SessionEvent::Send { to, .. }] = &events[..] else {
        panic!("{events:?}");
    };
    assert_eq!(*to, Some(id(1)));
}

/// Members that are alone use up no keys. Of members that open their keys and then do nothing all
/// attempts are abandoned, and every one reports the leader that was awaited.
#[test]
fn attempts_are_abandoned_with_a_quorum_only() {
    let mut simulation = Simulation::honest(4);
    let attempts = Epoch::attempts_for(4);
    let mut session = simulation.session(0);
    let mut now = 1;
    for _ in 0..u64::from(attempts) + 2 {
        session
            .tick(now, &mut simulation.group.journals[0])
            .unwrap();
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
            let opening = simulation.group.open(n, at(0, attempt)).to_bytes();
            let journal = &mut simulation.group.journals[0];
            session.receive(&id(n), &opening, now, journal).unwrap();
        }
        for time in [now, now + TIMEOUT] {
            let journal = &mut simulation.group.journals[0];
            for event in session.tick(time, journal).unwrap() {
                match event {
                    SessionEvent::AttemptAbandoned(_) => abandoned += 1,
                    SessionEvent::Failed(error) => {
                        assert_eq!(error, CommitteeError::AttemptsExhausted.into());
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
    let journal = &mut simulation.group.journals[0];
    assert_eq!(session.tick(now, journal).unwrap(), []);
}

/// A member that fails attempts without being blamed: after each miss the next leader takes other
/// signers, which the cause of the miss is not among in the end.
#[test]
fn signers_change_after_a_miss() {
    let committee = group(&[1; 4], 6);
    // A payload with which the first attempt of all four members misses.
    let missed = (0u32..2000).find_map(|number| {
        let group = Group {
            members: committee.members.clone(),
            committee: Arc::clone(&committee.committee),
            journals: Vec::new(),
        };
        let mut simulation = Simulation::of(group, &[Honest; 4], 0, &number.to_be_bytes());
        (simulation.run() > 1).then_some(simulation)
    });
    let simulation = missed.unwrap();
    let certificate = simulation.completed[0].as_ref().unwrap();
    let signers = certificate.aggregate().signers(&committee.committee);
    assert_eq!(signers.unwrap().len(), 3);
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
        SessionEvent::ConflictingMessages(evidence) => Some(evidence),
        _ => None,
    });
    let bytes = evidence.unwrap().to_bytes();
    let read = ConflictingMessages::from_bytes(&bytes, &simulation.group.committee).unwrap();
    assert_eq!(read.id(), &id(3));
}

/// A session that could not begin, or that failed with an error, has ended.
#[test]
fn ended_session_has_no_more_events() {
    let mut simulation = Simulation::honest(4);
    let session = simulation.sessions[0].as_mut().unwrap();
    // The journal of another seed.
    let journal = &mut simulation.group.journals[1];
    assert_eq!(
        session.tick(1, journal),
        Err(JournalError::OtherSeed.into())
    );
    assert!(session.has_ended());
    assert_eq!(session.tick(500, journal), Ok(vec![]));
}

/// A changed message with a signature, and a copy of a received one, change nothing.
#[test]
fn replayed_and_forged_messages_are_ignored() {
    let mut simulation = Simulation::honest(4);
    simulation.tick(0);
    let round = simulation.group.round(&[0, 1, 2, 3], at(0, 0), b"payload");
    let hash = simulation.group.commit(&round, &[3]).1.remove(0).to_bytes();
    let mut forged = hash.clone();
    let last = forged.len() - 2000;
    forged[last] ^= 1;
    let session = simulation.sessions[0].as_mut().unwrap();
    for message in [&forged, &hash, &hash, &forged] {
        let journal = &mut simulation.group.journals[0];
        let events = session.receive(&id(3), message, 1, journal);
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
    let mut session = simulation.session(1);
    let journal = &mut simulation.group.journals[1];
    let mut receive = |bytes: &[u8]| session.receive(&id(0), bytes, 1, journal).unwrap();
    assert_eq!(receive(&forged), [SessionEvent::InvalidCertificate]);
    let completed = SessionEvent::Completed(Box::new(certificate.clone()));
    assert_eq!(receive(&certificate.to_bytes()), [completed]);
}

#[test]
fn errors_of_a_member_end_its_session_only() {
    let mut simulation = Simulation::honest(4);
    let mut session = simulation.session(2);
    let journal = &mut simulation.group.journals[2];
    journal.close_epoch(EPOCH).unwrap();
    let error = session.tick(1, journal).unwrap_err();
    assert_eq!(error, RoundError::Journal(JournalError::EpochConflict));
    simulation.sessions[2] = None;
    simulation.faults[2] = Silent;
    simulation.run();
}
