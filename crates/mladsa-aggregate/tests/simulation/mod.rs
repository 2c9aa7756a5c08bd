//! Simulation of sessions over a network in which messages are lost, repeated, delayed and reordered,
//! and in which faulty members choose the receivers of each message.
#![allow(
    unreachable_pub,
    dead_code,
    unused_imports,
    reason = "a module of several programs"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use mladsa_aggregate::steps::*;
use mladsa_aggregate::*;

use crate::committee::*;
use crate::hostile;

mod fault;
mod patterns;

pub use fault::Fault;
use fault::Fault::*;
pub use patterns::Patterns;

pub const TIMEOUT: u64 = 400;

/// Receiver, sender and bytes of a message.
pub type Packet = (usize, usize, Arc<[u8]>);

/// A network, and the committee that decides over it.
pub struct Simulation {
    pub faults: Vec<Fault>,
    pub task: SigningTask,
    pub group: Group,
    pub sessions: Vec<Option<Session>>,
    // by arrival
    pub in_transit: BTreeMap<(u64, u64), Packet>,
    /// Lost and repeated messages of 1,000.
    pub loss: u64,
    pub repeated: u64,
    pub random: u64,
    pub now: u64,
    // attempt of each member, and the start of its timeout
    started: Vec<(u8, Option<u64>)>,
    /// Sends changed copies of all messages that are not signed.
    pub forging: bool,
    pub completed: Vec<Option<AggregateCertificate>>,
    pub events: Vec<(usize, SessionEvent)>,
    pub messages: u64,
    pub sent: Vec<u64>,
    pub received: Vec<u64>,
    // attempts that honest members have abandoned without a missing member: misses
    missed: BTreeSet<u8>,
}

impl Simulation {
    pub fn new(faults: &[Fault], loss: u64) -> Self {
        let weights = vec![1; faults.len()];
        let group = group(&weights, Epoch::attempts_for(faults.len()));
        Self::of(group, faults, loss, b"payload")
    }

    pub fn honest(n: usize) -> Self {
        Self::new(&vec![Honest; n], 0)
    }

    /// A decision with new journals.
    pub fn of(mut group: Group, faults: &[Fault], loss: u64, payload: &[u8]) -> Self {
        group.journals = group.members.iter().map(|member| journal(member)).collect();
        Self::with(group, faults, loss, SigningTask::decision(0, payload))
    }

    /// A decision with the journals of the group.
    pub fn with(group: Group, faults: &[Fault], loss: u64, task: SigningTask) -> Self {
        let n = faults.len();
        let mut simulation = Self {
            faults: faults.to_vec(),
            task,
            group,
            sessions: Vec::new(),
            in_transit: BTreeMap::new(),
            loss,
            repeated: 0,
            random: 0x9e37_79b9_7f4a_7c15,
            now: 1,
            started: vec![(0, None); n],
            forging: false,
            completed: vec![None; n],
            events: Vec::new(),
            messages: 0,
            sent: vec![0; n],
            received: vec![0; n],
            missed: BTreeSet::new(),
        };
        simulation.sessions = (0..n).map(|n| Some(simulation.session(n))).collect();
        simulation
    }

    pub fn session(&self, n: usize) -> Session {
        let (member, committee) = (&self.group.members[n], &self.group.committee);
        Session::new(
            Arc::clone(member),
            Arc::clone(committee),
            self.task.clone(),
            TIMEOUT,
        )
    }

    /// A number below `bound`.
    pub fn draw(&mut self, bound: u64) -> u64 {
        draw(&mut self.random, bound)
    }

    fn n(&self) -> usize {
        self.faults.len()
    }

    /// The leader of an attempt.
    pub fn leader(&self, attempt: u8) -> Option<usize> {
        let session = self.sessions.iter().flatten().next()?;
        let id = session.leader_of(attempt)?;
        (0..self.n()).find(|n| self::id(*n) == id)
    }

    /// The bytes that `from` sends to `to` instead of `bytes`, which are those of `message`.
    fn as_sent(
        &mut self,
        (from, to): (usize, usize),
        message: Option<&Message>,
        bytes: &Arc<[u8]>,
    ) -> Option<Arc<[u8]>> {
        let fault = self.faults[from];
        if fault.is_honest() || fault == Slow {
            return Some(Arc::clone(bytes));
        }
        let committee = Arc::clone(&self.group.committee);
        let kind = message.map(Message::kind);
        let is_own = message.is_some_and(|message| *message.id() == id(from));
        let attempt = self.sessions[from].as_ref().map_or(0, Session::attempt);
        let leader = self.leader(attempt);
        let n = self.n() as u64;
        let unchanged = Some(Arc::clone(bytes));
        match fault {
            Silent => None,
            LeaderOnly if leader == Some(from) || leader != Some(to) => None,
            OpeningToLeader => unchanged
                .filter(|_| leader == Some(to) && kind == Some(MessageKind::Opening) && is_own),
            NotLeader if leader == Some(to) => None,
            AllButOne if self.draw(n) == to as u64 => None,
            RandomHalf if self.draw(2) == 0 => None,
            RandomOne if self.draw(n) > 0 => None,
            Withholding if kind == Some(MessageKind::Commitment) && is_own => None,
            Grinding if kind == Some(MessageKind::CommitmentHash) && is_own => None,
            Ahead if kind != Some(MessageKind::Opening) => None,
            TwoHashes if to % 2 == 1 && kind == Some(MessageKind::CommitmentHash) && is_own => {
                Some(hostile::changed(message?, &committee).to_bytes().into())
            }
            TwoAnnouncements | ThreeAnnouncements
                if to % 2 == 1 && kind == Some(MessageKind::Signers) && is_own =>
            {
                let message = message?;
                let mut signers = message.body().to_vec();
                signers[0] ^= if from == 0 { 2 } else { 1 };
                let other = hostile::with_body(message, &signers, &committee);
                Some(other.to_bytes().into())
            }
            BadAnnouncement if to == 0 && kind == Some(MessageKind::Signers) && is_own => {
                let other = hostile::with_body(message?, &[1], &committee);
                Some(other.to_bytes().into())
            }
            BadAnnouncement
                if kind == Some(MessageKind::CommitmentHash) && leader != Some(from) =>
            {
                None
            }
            WrongResponse if kind == Some(MessageKind::Response) && is_own => {
                Some(hostile::changed(message?, &committee).to_bytes().into())
            }
            _ => unchanged,
        }
    }

    /// The openings of all attempts.
    fn open_all(&mut self, n: usize) {
        let committee = Arc::clone(&self.group.committee);
        for attempt in 0..committee.epoch().attempts() {
            let opening = self.group.open(n, at(self.task.slot(), attempt));
            let event = SessionEvent::Send {
                to: None,
                message: opening.to_bytes(),
            };
            self.handle(n, vec![event]);
        }
    }

    /// A signed announcement without signers for the present attempt of a member.
    fn announce_no_quorum(&mut self, n: usize) {
        let committee = Arc::clone(&self.group.committee);
        let attempt = self.sessions[n].as_ref().map_or(0, Session::attempt);
        let at = at(self.task.slot(), attempt);
        let kind = MessageKind::Signers;
        let message = hostile::bytes(&id(n), kind, at, &[0; 64], &[1], &committee);
        self.handle(n, vec![SessionEvent::Send { to: None, message }]);
    }

    /// Two hashes of commitments for the present attempt of a member.
    fn sign_two_hashes(&mut self, n: usize) {
        let committee = Arc::clone(&self.group.committee);
        let attempt = self.sessions[n].as_ref().map_or(0, Session::attempt);
        let at = at(self.task.slot(), attempt);
        let kind = MessageKind::CommitmentHash;
        let hashes = [[1; 64], [2; 64]].map(|body| SessionEvent::Send {
            to: None,
            message: hostile::bytes(&id(n), kind, at, &[0; 64], &body, &committee),
        });
        self.handle(n, hashes.into());
    }

    fn handle(&mut self, from: usize, events: Vec<SessionEvent>) {
        let attempt = self.sessions[from].as_ref().map_or(0, Session::attempt);
        self.handle_of(from, attempt, events);
    }

    /// Handles the events of a call that began in this attempt of the member.
    fn handle_of(&mut self, from: usize, attempt: u8, events: Vec<SessionEvent>) {
        for event in events {
            match event {
                SessionEvent::Send { to, message } => {
                    let bytes: Arc<[u8]> = message.into();
                    let is_changed = self.forging || !self.faults[from].is_honest();
                    let message = match is_changed {
                        true => Message::receive(&bytes, &self.group.committee).ok(),
                        false => None,
                    };
                    for receiver in (0..self.n()).filter(|receiver| *receiver != from) {
                        if to.is_some_and(|one| one != id(receiver)) {
                            continue;
                        }
                        let link = (from, receiver);
                        if let Some(bytes) = self.as_sent(link, message.as_ref(), &bytes) {
                            self.transmit(link, message.as_ref(), bytes);
                        }
                    }
                }
                SessionEvent::Completed(certificate) => {
                    self.completed[from] = Some(*certificate);
                }
                other => {
                    if let (SessionEvent::AttemptAbandoned(named), Honest) =
                        (&other, self.faults[from])
                    {
                        self.abandoned(attempt, named);
                    }
                    self.events.push((from, other));
                }
            }
        }
    }

    /// Notes an attempt that an honest member has abandoned: without a missing member it has missed.
    /// A leader that signs two announcements, or one of no quorum, is named instead of the members
    /// that it kept from following the others.
    fn abandoned(&mut self, attempt: u8, named: &[MemberName]) {
        if named.is_empty() {
            self.missed.insert(attempt);
        }
        let leader = self.leader(attempt).map(|leader| self.faults[leader]);
        if self.loss == 0
            && matches!(
                leader,
                Some(BadAnnouncement | TwoAnnouncements | ThreeAnnouncements)
            )
        {
            let honest = (0..self.n()).filter(|n| self.faults[*n].is_honest());
            let honest: Vec<_> = honest.map(id).filter(|id| named.contains(id)).collect();
            assert!(
                honest.is_empty(),
                "{:?}: {honest:?} in attempt {attempt}",
                self.faults
            );
        }
    }

    fn transmit(
        &mut self,
        (from, to): (usize, usize),
        message: Option<&Message>,
        bytes: Arc<[u8]>,
    ) {
        self.sent[from] += bytes.len() as u64;
        for _ in 0..1 + u64::from(self.draw(1000) < self.repeated) {
            self.messages += 1;
            if self.draw(1000) < self.loss {
                continue;
            }
            let arrival = self.arrival(from, to, message);
            if let (true, Some(message)) = (self.forging, message) {
                self.forge(from, to, message);
            }
            let packet = (to, from, Arc::clone(&bytes));
            self.in_transit.insert((arrival, self.messages), packet);
        }
    }

    /// When a message arrives.
    fn arrival(&mut self, from: usize, to: usize, message: Option<&Message>) -> u64 {
        let arrival = self.now + 1 + self.draw(10);
        let last = match self.faults[from] {
            Slow => return arrival + TIMEOUT,
            LastHash | SplitHash => MessageKind::CommitmentHash,
            LastCommitment => MessageKind::Commitment,
            _ => return arrival,
        };
        match message {
            Some(message) if message.kind() == last && *message.id() == id(from) => {
                let is_in_time = self.faults[from] == SplitHash && to.is_multiple_of(2);
                let after = if is_in_time { TIMEOUT / 2 } else { TIMEOUT };
                arrival.max(self.started[to].1.unwrap_or(self.now) + after - 5)
            }
            _ => arrival,
        }
    }

    /// A changed copy that arrives before the message.
    fn forge(&mut self, from: usize, to: usize, message: &Message) {
        if matches!(
            message.kind(),
            MessageKind::Opening | MessageKind::Commitment | MessageKind::Response
        ) {
            let forged = hostile::changed(message, &self.group.committee).to_bytes();
            let key = (self.now, 1 << 32 | self.messages);
            self.in_transit.insert(key, (to, from, forged.into()));
        }
    }

    pub fn tick(&mut self, n: usize) {
        if let Crash(lost, restarted) = self.faults[n] {
            match &self.sessions[n] {
                Some(_) if (lost..restarted).contains(&self.now) => self.sessions[n] = None,
                None if self.now >= restarted => self.sessions[n] = Some(self.session(n)),
                _ => {}
            }
        }
        if self.faults[n] == Ahead && self.now == 1 {
            self.open_all(n);
        }
        if let Some(session) = &mut self.sessions[n] {
            let before = session.attempt();
            let events = session.tick(self.now, &mut self.group.journals[n]);
            let is_next = self.now == 1 || self.started[n].0 != session.attempt();
            let (attempt, started) = &mut self.started[n];
            if *attempt != session.attempt() {
                (*attempt, *started) = (session.attempt(), None);
            }
            // Before a quorum has begun the attempt, more members than the leader are awaited.
            if started.is_none() && session.awaited().len() <= 1 {
                *started = Some(self.now);
            }
            self.handle_of(n, before, events.unwrap());
            if self.faults[n] == ThreeAnnouncements && is_next {
                self.announce_no_quorum(n);
            }
            if self.faults[n] == AlwaysTwoHashes && is_next {
                self.sign_two_hashes(n);
            }
        }
    }

    fn deliver(&mut self) {
        while let Some(entry) = self.in_transit.first_entry() {
            if entry.key().0 > self.now {
                return;
            }
            let (to, from, bytes) = entry.remove();
            self.received[to] += bytes.len() as u64;
            if let Some(session) = &mut self.sessions[to] {
                let before = session.attempt();
                let journal = &mut self.group.journals[to];
                let events = session.receive(&id(from), &bytes, self.now, journal);
                self.handle_of(to, before, events.unwrap());
            }
        }
    }

    fn is_done(&self) -> bool {
        let mut all = self.faults.iter().zip(&self.completed);
        all.all(|(fault, completed)| !fault.is_honest() || completed.is_some())
    }

    /// The number of attempts that the claim admits: up to the one that is led by an honest member for
    /// the (d + 1 + m + s)-th time, for d faulty members, of which s split the others by the time of
    /// a message, and m attempts that have missed.
    pub fn bound(&self) -> u64 {
        let faulty = self.faults.iter().filter(|fault| **fault != Honest).count();
        let split = self
            .faults
            .iter()
            .filter(|fault| **fault == SplitHash)
            .count();
        let attempts = self.group.committee.epoch().attempts();
        let honest = |attempt: &u8| {
            let leader = self.leader(*attempt);
            leader.is_none_or(|leader| self.faults[leader] == Honest)
        };
        let mut led = (0..attempts).filter(honest);
        led.nth(faulty + split + self.missed.len())
            .map_or(u64::from(attempts), |last| u64::from(last) + 1)
    }

    /// Runs until every honest member has a certificate. Checks all certificates, that no honest member
    /// is blamed, and the bound of the claim. Returns the number of attempts.
    pub fn run(&mut self) -> u64 {
        let (n, faults) = (self.n(), self.faults.clone());
        let limit = u64::from(self.group.committee.epoch().attempts()) * TIMEOUT;
        while !self.is_done() {
            assert!(self.now <= limit, "{faults:?}, loss {}", self.loss);
            (0..n).for_each(|n| self.tick(n));
            self.deliver();
            self.now += 5;
        }
        for (_, event) in &self.events {
            let blamed = match event {
                SessionEvent::InvalidContribution(id) => *id,
                SessionEvent::ConflictingMessages(evidence) => *evidence.id(),
                SessionEvent::Failed(error) => panic!("{error}"),
                _ => continue,
            };
            let at = (0..n).find(|n| id(*n) == blamed).unwrap();
            assert!(!faults[at].is_honest(), "{faults:?}: {event:?}");
        }
        let mut attempts = 0;
        for (fault, certificate) in faults.iter().zip(&self.completed) {
            if fault.is_honest() {
                let certificate = certificate.as_ref().unwrap();
                let view = self.group.committee.view();
                certificate.verify(view, &self.task).unwrap();
                let number = certificate.aggregate().attempt_id().number;
                attempts = attempts.max(u64::from(number) + 1);
            }
        }
        attempts
    }
}

pub fn draw(random: &mut u64, bound: u64) -> u64 {
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    *random % bound
}

/// A committee for simulations: one slot, and a threshold of two thirds of the weight.
pub fn group(weights: &[u64], attempts: u8) -> Group {
    let epoch = Epoch::new(DOMAIN, EPOCH, 1, attempts).unwrap();
    let threshold = SigningCommittee::two_thirds(weights.iter().sum());
    Group::with(&epoch, weights, threshold)
}

/// `n` members; the last ones have these faults, repeated up to fewer than a third.
pub fn with_faults(n: usize, faults: &[Fault]) -> Vec<Fault> {
    let f = (n - 1) / 3;
    let mut all = vec![Honest; n - f];
    all.extend(faults.iter().cycle().take(f));
    all
}

/// Header of the rows of [`row`].
pub const HEADER: &str = "\
| n | faulty members | loss | attempts | bound | time / timeout | kB sent, mean | kB received, mean |
|---|---|---|---|---|---|---|---|";

/// Runs a decision of `n` members with these faults, and lost messages of 1,000. Returns a row of
/// the table, with the bytes of honest members.
pub fn row(n: usize, faults: &[Fault], loss: u64) -> String {
    let all = with_faults(n, faults);
    let mut simulation = Simulation::new(&all, loss);
    let attempts = simulation.run();
    let bound = simulation.bound();
    assert!(attempts <= bound, "{attempts} of {bound} attempts: {all:?}");
    let honest: Vec<usize> = (0..n).filter(|n| all[*n].is_honest()).collect();
    let mean = |bytes: &[u64]| {
        let sum: u64 = honest.iter().map(|n| bytes[*n]).sum();
        sum / honest.len() as u64 / 1000
    };
    let faulty = n - honest.len();
    let kinds = match faults {
        [Honest] => "none".into(),
        [fault] => format!("{faulty} {fault:?}"),
        _ => format!("{faulty} of {} kinds", faults.len()),
    };
    format!(
        "| {n} | {kinds} | {} % | {attempts} | {bound} | {:.1} | {} | {} |",
        loss / 10,
        simulation.now as f64 / TIMEOUT as f64,
        mean(&simulation.sent),
        mean(&simulation.received),
    )
}
