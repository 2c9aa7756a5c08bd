//! Sessions over a network that loses, repeats and reorders, with members that are
//! silent, crash or cheat.
#![allow(clippy::unwrap_used, reason = "a test")]

#[allow(dead_code, reason = "shared with the other tests")]
mod committee;
mod hostile;

use std::sync::Arc;

use committee::*;
use mladsa_aggregate::*;

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
