//! Sessions over a network that loses, repeats and reorders, with members that are
//! silent, crash or cheat.

use std::sync::Arc;

use mladsa_aggregate::*;

use crate::committee::*;
use crate::hostile;

const N: usize = 4;

/// Four sessions and what is on its way between them.
struct Network {
    committee: Committee,
    sessions: Vec<Session>,
    wires: Vec<(usize, Vec<u8>)>,
    now: u64,
    done: Vec<Option<Aggregate>>,
    others: Vec<Event>,
    delivered: usize,
}

fn topic() -> Topic {
    Topic {
        ctx: b"TEST".to_vec(),
        label: base("x"),
        kind: Kind::Decision,
        payload: b"payload".to_vec(),
    }
}

impl Network {
    fn new() -> Self {
        let committee = Committee::new(N, &["x"]);
        let sessions = (0..N).map(|n| session(&committee, n, 0)).collect();
        Self {
            committee,
            sessions,
            wires: Vec::new(),
            now: 1,
            done: vec![None; N],
            others: Vec::new(),
            delivered: 0,
        }
    }

    fn handle(&mut self, n: usize, events: Vec<Event>) {
        for event in events {
            match event {
                Event::Send(message) => {
                    for other in (0..N).filter(|other| *other != n) {
                        self.wires.push((other, message.to_bytes()));
                    }
                }
                Event::Done(aggregate) => self.done[n] = Some(*aggregate),
                other => self.others.push(other),
            }
        }
    }

    fn tick(&mut self, n: usize) {
        let events = self.sessions[n].tick(self.now, &mut self.committee.guards[n]);
        self.handle(n, events.unwrap());
    }

    /// Delivers until nothing is on its way, out of order, and every third message
    /// twice. `silent` hears and says nothing; `crash` loses its session after so many
    /// messages.
    fn run(&mut self, silent: Option<usize>, crash: Option<(usize, usize)>) {
        for _ in 0..6 {
            for n in (0..N).filter(|n| Some(*n) != silent) {
                self.tick(n);
            }
            while !self.wires.is_empty() {
                let at = self.delivered * 7 % self.wires.len();
                let (to, bytes) = self.wires.swap_remove(at);
                self.delivered += 1;
                if self.delivered.is_multiple_of(3) {
                    self.wires.push((to, bytes.clone()));
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
                let guard = &mut self.committee.guards[to];
                let events = self.sessions[to].receive(&bytes, self.now, guard);
                self.handle(to, events.unwrap());
            }
            self.now += 100;
        }
    }

    fn check(&self, signers: &[usize]) {
        let mut aggregates = signers.iter().map(|&n| self.done[n].as_ref().unwrap());
        let first = aggregates.next().unwrap();
        assert!(aggregates.all(|aggregate| aggregate == first));
        let keys = self.committee.public_keys(signers, first.label());
        let (x, policy) = (
            base("x"),
            Policy::two_thirds(self.committee.agreed.registry()),
        );
        let expected = decision(&x, b"payload");
        first
            .verify_expecting(&self.committee.agreed, &keys, &expected, &policy)
            .unwrap();
    }
}

fn session(committee: &Committee, n: usize, attempt: u8) -> Session {
    let policy = Policy::two_thirds(committee.agreed.registry());
    let (tree, agreed) = (
        Arc::new(committee.trees[n].clone()),
        committee.agreed.clone(),
    );
    let member = Arc::new(member(n));
    Session::new(member, tree, agreed, policy, topic(), (attempt, &[]), 100)
}

fn is_send<T: Send + 'static>(_: &T) {}

#[test]
fn four_sessions_agree_on_one_signature() {
    let mut network = Network::new();
    is_send(&network.sessions[0]);
    // Junk and foreign messages do nothing.
    let other = Committee::new(2, &["y"]);
    let foreign = other.open(0, &base("y").attempt(0).unwrap()).to_bytes();
    for junk in [&b""[..], b"junk", &[0; 50_000], &foreign] {
        let events = network.sessions[0].receive(junk, 1, &mut network.committee.guards[0]);
        assert_eq!(events.unwrap(), []);
    }
    network.run(None, None);
    network.check(&[0, 1, 2, 3]);
}

#[test]
fn the_silent_are_left_out() {
    let mut network = Network::new();
    network.run(Some(2), None);
    network.check(&[0, 1, 3]);
    assert!(network.others.contains(&Event::LeftOut(vec![id(2)])));
    assert_eq!(
        network.sessions[0].attempt(),
        network.done[0].as_ref().unwrap().label().attempt()
    );
}

#[test]
fn too_few_is_an_end() {
    let mut network = Network::new();
    let guard = &mut network.committee.guards[0];
    let session = &mut network.sessions[0];
    assert!(!session.tick(1, guard).unwrap().is_empty());
    assert_eq!(session.tick(50, guard).unwrap(), []);
    let events = session.tick(101, guard).unwrap();
    assert_eq!(events.last(), Some(&Event::Failed(Error::QuorumMissed)));
    assert!(session.has_ended());
    assert_eq!(session.tick(500, guard).unwrap(), []);
}

/// One member loses its session after every number of messages in turn.
#[test]
fn a_crash_sends_the_same_again() {
    let mut network = Network::new();
    network.run(None, None);
    let messages = network.delivered;
    let expected = network.done[0].clone().unwrap();
    for at in 1..messages.min(60) {
        let mut network = Network::new();
        network.run(None, Some((1, at)));
        // Its messages of the attempt reach it no more: where it cannot finish alone,
        // the others have.
        let done = network
            .done
            .iter()
            .flatten()
            .filter(|aggregate| **aggregate == expected);
        let anew = network.done.iter().flatten().count();
        assert!(done.count() >= 1 || anew >= 3, "crash at {at}");
        assert!(
            !network
                .others
                .iter()
                .any(|event| matches!(event, Event::Blamed(_) | Event::Evidence(_)))
        );
    }
}

#[test]
fn who_shows_two_commitments_is_named() {
    let mut network = Network::new();
    for n in 0..N {
        network.tick(n);
    }
    let mut evidence = None;
    while let Some((to, bytes)) = network.wires.pop() {
        let message = network.committee.agreed.receive(&bytes).unwrap();
        let guard = &mut network.committee.guards[to];
        let events = network.sessions[to].receive(&bytes, 1, guard).unwrap();
        network.handle(to, events);
        if to == 0 && message.part() == Part::Commitment && *message.id() == id(3) {
            let agreed = &network.committee.agreed;
            let other = hostile::other_commitment(&network.committee.members[3], &message, agreed);
            let guard = &mut network.committee.guards[0];
            let events = network.sessions[0]
                .receive(&other.to_bytes(), 1, guard)
                .unwrap();
            evidence = events
                .into_iter()
                .find(|event| matches!(event, Event::Evidence(_)));
        }
    }
    let Some(Event::Evidence(evidence)) = evidence else {
        panic!("no evidence");
    };
    assert_eq!(evidence.id(), &id(3));
}

/// A bad contribution was looked at again, and its sender blamed again, with every
/// message that came in.
#[test]
fn blame_is_said_once() {
    let mut network = Network::new();
    for n in 0..N {
        network.tick(n);
    }
    let committee = &mut network.committee;
    let label = base("x").attempt(0).unwrap();
    let own = committee.open(3, &label);
    let (member, agreed) = (&committee.members[3], &committee.agreed);
    let bad = hostile::with_body(member, &own, &[0; 7000], agreed);
    let other = hostile::with_body(member, &own, &[1; 7000], agreed);
    let mut receive = |message: &Message| {
        let guard = &mut committee.guards[0];
        network.sessions[0].receive(&message.to_bytes(), 1, guard)
    };
    assert_eq!(receive(&bad).unwrap(), [Event::Blamed(id(3))]);
    assert_eq!(receive(&bad).unwrap(), []);
    assert!(matches!(receive(&other).unwrap()[..], [Event::Evidence(_)]));
    // Nor does the true one help any more.
    assert!(matches!(receive(&own).unwrap()[..], [Event::Evidence(_)]));
}

/// What has ended says so once; also when it could not begin, and after an error.
#[test]
fn an_end_is_an_end() {
    let committee = Committee::new(N, &["x"]);
    let mut guards: Vec<Guard> = committee.members.iter().map(guard).collect();
    let mut own = session(&committee, 0, DEFAULT_ATTEMPTS + 1);
    let mut guard_of = |n: usize, session: &mut Session, now| session.tick(now, &mut guards[n]);
    let failed = [Event::Failed(Error::AttemptsExhausted)];
    assert_eq!(guard_of(0, &mut own, 1).unwrap(), failed);
    assert!(own.has_ended());
    assert_eq!(guard_of(0, &mut own, 2).unwrap(), []);
    // A guard of another seed: its member's own trouble.
    let mut own = session(&committee, 0, 0);
    assert_eq!(guard_of(1, &mut own, 1), Err(Error::GuardFailure));
    assert!(own.has_ended());
    assert_eq!(guard_of(1, &mut own, 500), Ok(vec![]));
}

/// A member that shows another commitment to who has lost its session after it answered
/// costs it the attempt, and not the decision.
#[test]
fn a_second_commitment_after_a_crash_costs_an_attempt() {
    let mut network = Network::new();
    let mut sent: Vec<Message> = Vec::new();
    for n in 0..N {
        network.tick(n);
    }
    while !network.wires.is_empty() {
        let (to, bytes) = network.wires.remove(0);
        sent.push(network.committee.agreed.receive(&bytes).unwrap());
        let guard = &mut network.committee.guards[to];
        let events = network.sessions[to].receive(&bytes, 1, guard).unwrap();
        network.handle(to, events);
    }
    let label = base("x").attempt(0).unwrap();
    sent.retain(|message| *message.label() == label && *message.id() != id(0));
    let mut own = session(&network.committee, 0, 0);
    let Committee {
        members,
        agreed,
        guards,
        ..
    } = &mut network.committee;
    let mut events = own.tick(1, &mut guards[0]).unwrap();
    for message in &sent {
        let message = match message.part() {
            Part::Commitment if *message.id() == id(3) => {
                hostile::other_commitment(&members[3], message, agreed)
            }
            _ => message.clone(),
        };
        events.extend(own.receive(&message.to_bytes(), 1, &mut guards[0]).unwrap());
    }
    assert!(events.contains(&Event::LeftOut(vec![])));
    assert!(!own.has_ended() && own.attempt() == 1);
    let answers = events
        .iter()
        .filter(|event| matches!(event, Event::Send(message) if message.part() == Part::Response));
    assert_eq!(answers.count(), 0);
}
