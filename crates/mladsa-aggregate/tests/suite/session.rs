//! Sessions over a simulated network that loses, delays and reorders messages, with silent, partial,
//! equivocating, slow, withholding and crashing members.

use std::collections::BTreeMap;
use std::sync::Arc;

use mladsa_aggregate::errors::{JournalError, RoundError};
use mladsa_aggregate::steps::*;
use mladsa_aggregate::*;

use crate::committee::*;
use crate::hostile;

const TIMEOUT: u64 = 400;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    Honest,
    /// Loses its session at the first time and starts another one at the second, with its journal.
    Crash(u64, u64),
    Silent,
    /// Sends to one member only.
    Partial,
    /// Shows another hash of its commitment to half of the members.
    TwoHashes,
    /// Every message takes more than an attempt.
    Slow,
    /// Sees the commitments of the others and does not reveal its own one.
    Withholding,
}

use Fault::{Crash, Honest, Partial, Silent, Slow, TwoHashes, Withholding};

impl Fault {
    fn is_honest(self) -> bool {
        matches!(self, Honest | Crash(..))
    }
}

struct Simulation {
    faults: Vec<Fault>,
    agreed: AgreedRoots,
    trees: Vec<Arc<EpochTree>>,
    members: Vec<Arc<Member>>,
    journals: Vec<OneTimeKeyJournal>,
    sessions: Vec<Option<Session>>,
    in_transit: BTreeMap<(u64, u64), (usize, Vec<u8>)>,
    // of 1,000 messages
    loss: u64,
    random: u64,
    now: u64,
    // sends changed copies of all messages that have no signature
    forging: bool,
    completed: Vec<Option<Aggregate>>,
    events: Vec<(usize, SessionEvent)>,
    messages: u64,
    bytes: u64,
}

impl Simulation {
    fn new(faults: &[Fault], loss: u64) -> Self {
        let n = faults.len();
        let members: Vec<_> = (0..n).map(member).collect();
        let registry = registry_with(&members, &QuorumRule::TwoThirds);
        let attempts = EpochPlan::attempts_for(n);
        let plan = EpochPlan::with_attempts(EPOCH, vec![task_id("x")], attempts).unwrap();
        let mut journals: Vec<_> = members.iter().map(journal).collect();
        let (trees, agreed) = agree(&members, &mut journals, &registry, &plan);
        let mut simulation = Self {
            faults: faults.to_vec(),
            agreed,
            trees: trees.into_iter().map(Arc::new).collect(),
            members: members.into_iter().map(Arc::new).collect(),
            journals,
            sessions: Vec::new(),
            in_transit: BTreeMap::new(),
            loss,
            random: 0x9e37_79b9_7f4a_7c15,
            now: 1,
            forging: false,
            completed: vec![None; n],
            events: Vec::new(),
            messages: 0,
            bytes: 0,
        };
        simulation.sessions = (0..n).map(|n| Some(simulation.session(n))).collect();
        simulation
    }

    fn honest(n: usize) -> Self {
        Self::new(&vec![Honest; n], 0)
    }

    fn session(&self, n: usize) -> Session {
        let (member, tree) = (self.members[n].clone(), self.trees[n].clone());
        let task = task("x", b"payload");
        Session::new(member, tree, self.agreed.clone(), task, TIMEOUT)
    }

    /// A number below `bound`.
    fn draw(&mut self, bound: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % bound
    }

    /// The bytes that `from` sends to `to` instead of `bytes`.
    fn as_sent(&self, from: usize, to: usize, bytes: &[u8]) -> Option<Vec<u8>> {
        let kind = || {
            self.agreed
                .receive(bytes)
                .ok()
                .map(|message| message.kind())
        };
        match self.faults[from] {
            Silent => None,
            Partial if to != (from + 1) % self.faults.len() => None,
            Withholding if matches!(kind(), Some(MessageKind::Commitment)) => None,
            TwoHashes if to % 2 == 1 && kind() == Some(MessageKind::CommitmentHash) => {
                let message = self.agreed.receive(bytes).unwrap();
                let member = &self.members[from];
                let other = hostile::other_commitment(member, &message, &self.agreed);
                Some(other.to_bytes())
            }
            _ => Some(bytes.to_vec()),
        }
    }

    fn handle(&mut self, from: usize, events: Vec<SessionEvent>) {
        for event in events {
            match event {
                SessionEvent::Send(bytes) => {
                    for to in (0..self.faults.len()).filter(|to| *to != from) {
                        let Some(bytes) = self.as_sent(from, to, &bytes) else {
                            continue;
                        };
                        self.messages += 1;
                        self.bytes += bytes.len() as u64;
                        if self.draw(1000) < self.loss {
                            continue;
                        }
                        let late = if self.faults[from] == Slow {
                            TIMEOUT
                        } else {
                            0
                        };
                        let at = self.now + 1 + self.draw(10) + late;
                        self.forge(to, &bytes);
                        self.in_transit.insert((at, self.messages), (to, bytes));
                    }
                }
                SessionEvent::Completed(aggregate) => self.completed[from] = Some(*aggregate),
                other => self.events.push((from, other)),
            }
        }
    }

    /// A changed copy that arrives before the message.
    fn forge(&mut self, to: usize, bytes: &[u8]) {
        let message = self.agreed.receive(bytes);
        if self.forging
            && let Ok(message) = message
            && matches!(
                message.kind(),
                MessageKind::Opening | MessageKind::Commitment | MessageKind::Response
            )
        {
            let forged = hostile::without_signature(&message, &self.agreed);
            let key = (self.now, 1 << 32 | self.messages);
            self.in_transit.insert(key, (to, forged.to_bytes()));
        }
    }

    fn tick(&mut self, n: usize) {
        if let Crash(lost, restarted) = self.faults[n] {
            match &self.sessions[n] {
                Some(_) if (lost..restarted).contains(&self.now) => self.sessions[n] = None,
                None if self.now >= restarted => self.sessions[n] = Some(self.session(n)),
                _ => {}
            }
        }
        if let Some(session) = &mut self.sessions[n] {
            let events = session.tick(self.now, &mut self.journals[n]);
            self.handle(n, events.unwrap());
        }
    }

    fn deliver(&mut self) {
        while let Some(entry) = self.in_transit.first_entry() {
            if entry.key().0 > self.now {
                return;
            }
            let (to, bytes) = entry.remove();
            if let Some(session) = &mut self.sessions[to] {
                let events = session.receive(&bytes, self.now, &mut self.journals[to]);
                self.handle(to, events.unwrap());
            }
        }
    }

    fn is_done(&self) -> bool {
        let mut all = self.faults.iter().zip(&self.completed);
        all.all(|(fault, completed)| !fault.is_honest() || completed.is_some())
    }

    /// Runs until every honest member has an aggregate, and checks that, no honest member being
    /// blamed. Returns the number of attempts.
    fn run(&mut self) -> u64 {
        let (n, faults) = (self.faults.len(), self.faults.clone());
        let bound = u64::from(EpochPlan::attempts_for(n)) * TIMEOUT;
        while !self.is_done() {
            assert!(self.now <= bound, "{faults:?}, loss {}", self.loss);
            (0..n).for_each(|n| self.tick(n));
            self.deliver();
            self.now += 5;
        }
        for (_, event) in &self.events {
            let blamed = match event {
                SessionEvent::InvalidContribution(id) => *id,
                SessionEvent::Equivocation(evidence) => *evidence.id(),
                SessionEvent::Failed(error) => panic!("{error}"),
                _ => continue,
            };
            let at = (0..n).find(|n| id(*n) == blamed).unwrap();
            assert!(!faults[at].is_honest(), "{faults:?}: {event:?}");
        }
        let mut attempts = 0;
        for (fault, aggregate) in faults.iter().zip(&self.completed) {
            if fault.is_honest() {
                let aggregate = aggregate.as_ref().unwrap();
                let number = aggregate.attempt_id().attempt();
                attempts = attempts.max(u64::from(number) + 1);
                self.verify(aggregate);
            }
        }
        attempts
    }

    fn verify(&self, aggregate: &Aggregate) {
        let attempt = aggregate.attempt_id();
        let keys = (0..self.faults.len()).map(|n| {
            let mut journal = journal(&self.members[n]);
            let pinned = self.agreed.pinned();
            let hedge = mldsa_core::Randomness::Deterministic;
            let _ = self.members[n].acknowledge(pinned, &mut journal, hedge);
            let opening = self.members[n].open(&self.agreed, &self.trees[n], attempt, &journal);
            self.agreed.authenticate(&opening.unwrap()).unwrap()
        });
        let keys: Vec<_> = keys.collect();
        let task = task("x", b"payload");
        aggregate.verify(&self.agreed, &keys, &task).unwrap();
    }
}

/// `n` members; the last ones have these faults, repeated up to fewer than a third.
fn with_faults(n: usize, faults: &[Fault]) -> Vec<Fault> {
    let f = (n - 1) / 3;
    let mut all = vec![Honest; n - f];
    all.extend(faults.iter().cycle().take(f));
    all
}

/// One member that sends its messages to a part of the others, and 1 % of lost messages, ended a
/// decision for all.
#[test]
fn every_honest_member_completes() {
    let mixed = [Withholding, Partial, TwoHashes, Silent, Slow];
    println!(
        "| n | faulty | loss | attempts | time / timeout | messages of one member | bytes of one member |"
    );
    for (n, faults, loss) in [
        (4, &[Honest][..], 0),
        (4, &[Honest], 200),
        (4, &[Silent], 0),
        (4, &[Partial], 0),
        (4, &[TwoHashes], 0),
        (4, &[Slow], 50),
        (4, &[Withholding], 200),
        (7, &[Honest], 10),
        (7, &[Partial], 0),
        (7, &mixed, 200),
        (10, &[Partial], 50),
        (13, &[Partial], 0),
        (16, &mixed, 100),
        (31, &[Honest], 0),
    ] {
        let mut simulation = Simulation::new(&with_faults(n, faults), loss);
        let attempts = simulation.run();
        let f = simulation.faults.iter().filter(|fault| !fault.is_honest());
        println!(
            "| {n} | {} | {} % | {attempts} | {:.1} | {} | {} |",
            f.count(),
            loss / 10,
            simulation.now as f64 / TIMEOUT as f64,
            simulation.messages / n as u64,
            simulation.bytes / n as u64,
        );
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
    // An outcome of another task is not one of this.
    let outcome = |simulation: &mut Simulation| {
        let session = simulation.sessions[0].as_mut().unwrap();
        let message = b"MLADSAM4";
        let events = session.receive(message, 9_999, &mut simulation.journals[0]);
        assert_eq!(events.unwrap(), []);
    };
    outcome(&mut simulation);
}

/// Too few members: all attempts are abandoned, and every one reports who was missing.
#[test]
fn session_fails_without_a_quorum() {
    let mut simulation = Simulation::honest(4);
    let (session, journal) = (
        simulation.sessions[0].as_mut().unwrap(),
        &mut simulation.journals[0],
    );
    let attempts = u64::from(EpochPlan::attempts_for(4));
    let mut now = 1;
    let mut abandoned = 0;
    while !session.has_ended() {
        let events = session.tick(now, journal).unwrap();
        let is_abandoned =
            |event: &&SessionEvent| matches!(event, SessionEvent::AttemptAbandoned(_));
        abandoned += events.iter().filter(is_abandoned).count() as u64;
        if session.has_ended() {
            let failed = SessionEvent::Failed(RoundError::AttemptsExhausted);
            assert_eq!(events.last(), Some(&failed));
        }
        now += TIMEOUT;
    }
    assert_eq!(abandoned, attempts);
    assert_eq!(session.tick(now, journal).unwrap(), []);
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
