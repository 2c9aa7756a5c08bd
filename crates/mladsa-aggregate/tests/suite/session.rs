//! Sessions over a network that repeats and reorders messages, with silent, crashing and
//! equivocating members.

use std::sync::Arc;

use mladsa_aggregate::errors::{JournalError, RoundError};
use mladsa_aggregate::steps::*;
use mladsa_aggregate::*;

use crate::committee::*;
use crate::hostile;

const N: usize = 4;

/// Four sessions and the messages in transit between them.
struct Network {
    committee: Committee,
    sessions: Vec<Session>,
    in_transit: Vec<(usize, Vec<u8>)>,
    now: u64,
    completed: Vec<Option<Aggregate>>,
    others: Vec<SessionEvent>,
    delivered: usize,
}

impl Network {
    fn new() -> Self {
        let committee =
            Committee::with_rule((0..N).map(member).collect(), &["x"], &QuorumRule::TwoThirds);
        let sessions = (0..N).map(|n| session(&committee, n, 0)).collect();
        Self {
            committee,
            sessions,
            in_transit: Vec::new(),
            now: 1,
            completed: vec![None; N],
            others: Vec::new(),
            delivered: 0,
        }
    }

    fn handle(&mut self, n: usize, events: Vec<SessionEvent>) {
        for event in events {
            match event {
                SessionEvent::Send(message) => {
                    for other in (0..N).filter(|other| *other != n) {
                        self.in_transit.push((other, message.to_bytes()));
                    }
                }
                SessionEvent::Completed(aggregate) => self.completed[n] = Some(*aggregate),
                other => self.others.push(other),
            }
        }
    }

    fn tick(&mut self, n: usize) {
        let events = self.sessions[n].tick(self.now, &mut self.committee.journals[n]);
        self.handle(n, events.unwrap());
    }

    /// Delivers all messages out of order, and every third one twice. `silent` neither receives nor
    /// sends; `crash` loses its session after this number of messages.
    fn run(&mut self, silent: Option<usize>, crash: Option<(usize, usize)>) {
        for _ in 0..6 {
            for n in (0..N).filter(|n| Some(*n) != silent) {
                self.tick(n);
            }
            while !self.in_transit.is_empty() {
                let at = self.delivered * 7 % self.in_transit.len();
                let (to, bytes) = self.in_transit.swap_remove(at);
                self.delivered += 1;
                if self.delivered.is_multiple_of(3) {
                    self.in_transit.push((to, bytes.clone()));
                }
                if Some(to) == silent {
                    continue;
                }
                if crash == Some((to, self.delivered)) {
                    let attempt = self.sessions[to].attempt();
                    self.sessions[to] = session(&self.committee, to, attempt);
                    self.tick(to);
                    continue;
                }
                let journal = &mut self.committee.journals[to];
                let events = self.sessions[to].receive(&bytes, self.now, journal);
                self.handle(to, events.unwrap());
            }
            self.now += 100;
        }
    }

    fn check(&self, signers: &[usize]) {
        let mut aggregates = signers.iter().map(|&n| self.completed[n].as_ref().unwrap());
        let first = aggregates.next().unwrap();
        assert!(aggregates.all(|aggregate| aggregate == first));
        let keys = self.committee.keys(signers, first.attempt_id());
        let agreed = &self.committee.agreed;
        let verified = first.verify(agreed, &keys, &task("x", b"payload"));
        verified.unwrap();
    }
}

fn session(committee: &Committee, n: usize, attempt: u8) -> Session {
    let agreed = committee.agreed.clone();
    let (member, tree) = (Arc::new(member(n)), Arc::new(committee.trees[n].clone()));
    let task = task("x", b"payload");
    Session::new(member, tree, agreed, task, 100).starting_at(attempt, &[])
}

fn is_send<T: Send + 'static>(_: &T) {}

#[test]
fn four_sessions_complete_with_one_aggregate() {
    let mut network = Network::new();
    is_send(&network.sessions[0]);
    // Malformed and foreign messages are ignored.
    let other = Committee::new(2, &["y"]);
    let foreign = other.open(0, &attempt_id("y", 0)).to_bytes();
    for ignored in [&b""[..], b"junk", &[0; 50_000], &foreign] {
        let events = network.sessions[0].receive(ignored, 1, &mut network.committee.journals[0]);
        assert_eq!(events.unwrap(), []);
    }
    network.run(None, None);
    network.check(&[0, 1, 2, 3]);
}

#[test]
fn silent_member_is_excluded() {
    let mut network = Network::new();
    network.run(Some(2), None);
    network.check(&[0, 1, 3]);
    assert!(
        network
            .others
            .contains(&SessionEvent::AttemptAbandoned(vec![id(2)]))
    );
    assert_eq!(
        network.sessions[0].attempt(),
        network.completed[0]
            .as_ref()
            .unwrap()
            .attempt_id()
            .attempt()
    );
}

#[test]
fn session_fails_without_a_quorum() {
    let mut network = Network::new();
    let journal = &mut network.committee.journals[0];
    let session = &mut network.sessions[0];
    assert!(!session.tick(1, journal).unwrap().is_empty());
    assert_eq!(session.tick(50, journal).unwrap(), []);
    let events = session.tick(101, journal).unwrap();
    let failed = SessionEvent::Failed(RoundError::QuorumMissed);
    assert_eq!(events.last(), Some(&failed));
    assert!(session.has_ended());
    assert_eq!(session.tick(500, journal).unwrap(), []);
}

/// One member loses its session after every number of messages.
#[test]
fn restarted_session_sends_the_same_messages() {
    let mut network = Network::new();
    network.run(None, None);
    let messages = network.delivered;
    let expected = network.completed[0].clone().unwrap();
    for at in 1..messages.min(60) {
        let mut network = Network::new();
        network.run(None, Some((1, at)));
        // The messages of the attempt are not sent to it again. Where it cannot complete, the
        // others have completed.
        let same = network
            .completed
            .iter()
            .flatten()
            .filter(|aggregate| **aggregate == expected);
        let any = network.completed.iter().flatten().count();
        assert!(same.count() >= 1 || any >= 3, "crash at {at}");
        assert!(!network.others.iter().any(|event| matches!(
            event,
            SessionEvent::InvalidContribution(_) | SessionEvent::Equivocation(_)
        )));
    }
}

#[test]
fn two_commitments_are_evidence() {
    let mut network = Network::new();
    for n in 0..N {
        network.tick(n);
    }
    let mut evidence = None;
    while let Some((to, bytes)) = network.in_transit.pop() {
        let message = network.committee.agreed.receive(&bytes).unwrap();
        let journal = &mut network.committee.journals[to];
        let events = network.sessions[to].receive(&bytes, 1, journal).unwrap();
        network.handle(to, events);
        if to == 0 && message.kind() == MessageKind::Commitment && *message.id() == id(3) {
            let agreed = &network.committee.agreed;
            let other = hostile::other_commitment(&network.committee.members[3], &message, agreed);
            let journal = &mut network.committee.journals[0];
            let events = network.sessions[0]
                .receive(&other.to_bytes(), 1, journal)
                .unwrap();
            evidence = events
                .into_iter()
                .find(|event| matches!(event, SessionEvent::Equivocation(_)));
        }
    }
    let Some(SessionEvent::Equivocation(evidence)) = evidence else {
        panic!("no evidence");
    };
    assert_eq!(evidence.id(), &id(3));
}

/// An invalid contribution was reported again with every received message.
#[test]
fn invalid_contribution_is_reported_once() {
    let mut network = Network::new();
    for n in 0..N {
        network.tick(n);
    }
    let committee = &mut network.committee;
    let own = committee.open(3, &attempt_id("x", 0));
    let (member, agreed) = (&committee.members[3], &committee.agreed);
    let bad = hostile::with_body(member, &own, &[0; 7000], agreed);
    let other = hostile::with_body(member, &own, &[1; 7000], agreed);
    let mut receive = |message: &SignedMessage| {
        let journal = &mut committee.journals[0];
        network.sessions[0].receive(&message.to_bytes(), 1, journal)
    };
    assert_eq!(
        receive(&bad).unwrap(),
        [SessionEvent::InvalidContribution(id(3))]
    );
    assert_eq!(receive(&bad).unwrap(), []);
    // Another one, also a valid one, is an equivocation.
    for message in [&other, &own] {
        let events = receive(message).unwrap();
        assert!(matches!(events[..], [SessionEvent::Equivocation(_)]));
    }
}

/// A session that could not begin, or that failed with an error, has ended.
#[test]
fn ended_session_has_no_more_events() {
    let committee =
        Committee::with_rule((0..N).map(member).collect(), &["x"], &QuorumRule::TwoThirds);
    let mut journals: Vec<_> = committee.members.iter().map(journal).collect();
    let mut own = session(&committee, 0, EpochPlan::DEFAULT_ATTEMPTS + 1);
    let mut tick = |n: usize, session: &mut Session, now| session.tick(now, &mut journals[n]);
    let failed = [SessionEvent::Failed(RoundError::AttemptsExhausted)];
    assert_eq!(tick(0, &mut own, 1).unwrap(), failed);
    assert!(own.has_ended());
    assert_eq!(tick(0, &mut own, 2).unwrap(), []);
    // The journal of another seed.
    let mut own = session(&committee, 0, 0);
    assert_eq!(tick(1, &mut own, 1), Err(JournalError::OtherSeed.into()));
    assert!(own.has_ended());
    assert_eq!(tick(1, &mut own, 500), Ok(vec![]));
}

/// A member that has responded, lost its session and received another commitment afterwards loses
/// the attempt, not the task.
#[test]
fn second_commitment_after_a_crash_costs_one_attempt() {
    let mut network = Network::new();
    let mut sent: Vec<SignedMessage> = Vec::new();
    for n in 0..N {
        network.tick(n);
    }
    while !network.in_transit.is_empty() {
        let (to, bytes) = network.in_transit.remove(0);
        sent.push(network.committee.agreed.receive(&bytes).unwrap());
        let journal = &mut network.committee.journals[to];
        let events = network.sessions[to].receive(&bytes, 1, journal).unwrap();
        network.handle(to, events);
    }
    let attempt = attempt_id("x", 0);
    sent.retain(|message| *message.attempt_id() == attempt && *message.id() != id(0));
    let mut own = session(&network.committee, 0, 0);
    let Committee {
        members,
        agreed,
        journals,
        ..
    } = &mut network.committee;
    let mut events = own.tick(1, &mut journals[0]).unwrap();
    for message in &sent {
        let message = match message.kind() {
            MessageKind::Commitment if *message.id() == id(3) => {
                hostile::other_commitment(&members[3], message, agreed)
            }
            _ => message.clone(),
        };
        events.extend(
            own.receive(&message.to_bytes(), 1, &mut journals[0])
                .unwrap(),
        );
    }
    assert!(events.contains(&SessionEvent::AttemptAbandoned(vec![])));
    assert!(!own.has_ended() && own.attempt() == 1);
    let answers = events
        .iter()
        .filter(|event| matches!(event, SessionEvent::Send(message) if message.kind() == MessageKind::Response));
    assert_eq!(answers.count(), 0);
}

/// A copy of a received message is ignored before its signature is verified; a forged signature of
/// a new message is ignored too.
#[test]
fn replayed_and_forged_messages_are_ignored() {
    let mut network = Network::new();
    network.tick(0);
    let committee = &mut network.committee;
    let opening = committee.open(3, &attempt_id("x", 0)).to_bytes();
    let mut forged = opening.clone();
    let last = forged.len() - 2000;
    forged[last] ^= 1;
    for message in [&forged, &opening, &opening, &forged] {
        let journal = &mut committee.journals[0];
        let events = network.sessions[0].receive(message, 1, journal);
        assert_eq!(events.unwrap(), []);
    }
}
