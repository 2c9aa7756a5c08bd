//! Simulation of sessions over a network that loses, delays and reorders messages, with silent,
//! partial, equivocating, slow, grinding, withholding and crashing members.
#![allow(unreachable_pub, dead_code, reason = "a module of several programs")]

use std::collections::BTreeMap;
use std::sync::Arc;

use mladsa_aggregate::steps::*;
use mladsa_aggregate::*;

use crate::committee::*;
use crate::hostile;

pub const TIMEOUT: u64 = 400;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fault {
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
    /// Does not commit before it has seen the commitments of the others.
    Grinding,
    /// Sees the commitments of the others and does not reveal its own one.
    Withholding,
    /// Announces other signers to half of the members.
    TwoAnnouncements,
    /// Signs wrong responses.
    WrongResponse,
    /// Opens its keys of all attempts at once, and does nothing else.
    Ahead,
    /// Sends the hash of its commitment at the last moment, when the others cannot reveal theirs in time.
    LastHash,
    /// The same with its commitment.
    LastCommitment,
    /// Sends the hash to half of the members at the last moment, and to the others just in time.
    SplitHash,
}

use Fault::{
    Ahead, Crash, Grinding, Honest, LastCommitment, LastHash, Partial, Silent, Slow, SplitHash,
    TwoAnnouncements, TwoHashes, Withholding, WrongResponse,
};

impl Fault {
    fn name(self) -> &'static str {
        match self {
            Honest => "honest",
            Crash(..) => "restarted",
            Silent => "silent",
            Partial => "partial",
            TwoHashes => "equivocating",
            Slow => "slow",
            Grinding => "grinding",
            Withholding => "withholding",
            TwoAnnouncements => "with two announcements",
            WrongResponse => "with wrong responses",
            Ahead => "ahead",
            LastHash => "with hashes at the last moment",
            LastCommitment => "with commitments at the last moment",
            SplitHash => "with hashes at the last moment to half",
        }
    }

    pub fn is_honest(self) -> bool {
        matches!(self, Honest | Crash(..))
    }
}

pub struct Simulation {
    pub faults: Vec<Fault>,
    task: SigningTask,
    pub agreed: AgreedRoots,
    pub trees: Vec<Arc<EpochTree>>,
    pub members: Vec<Arc<Member>>,
    pub journals: Vec<OneTimeKeyJournal>,
    pub sessions: Vec<Option<Session>>,
    pub in_transit: BTreeMap<(u64, u64), (usize, Vec<u8>)>,
    // of 1,000 messages
    loss: u64,
    pub random: u64,
    pub now: u64,
    // attempt of each member, and the start of its timeout
    started: Vec<(u8, Option<u64>)>,
    /// Sends changed copies of all messages that have no signature.
    pub forging: bool,
    pub completed: Vec<Option<Certificate>>,
    pub events: Vec<(usize, SessionEvent)>,
    pub messages: u64,
    pub bytes: u64,
}

impl Simulation {
    pub fn new(faults: &[Fault], loss: u64) -> Self {
        Self::for_payload(faults, loss, b"payload")
    }

    pub fn for_payload(faults: &[Fault], loss: u64, payload: &[u8]) -> Self {
        let n = faults.len();
        let members: Vec<_> = (0..n).map(member).collect();
        let registry = registry_with(&members, &Threshold::TwoThirds);
        let attempts = EpochPlan::attempts_for(n);
        let plan = EpochPlan::with_attempts(EPOCH, vec![task_id("x")], attempts).unwrap();
        let mut journals: Vec<_> = members.iter().map(journal).collect();
        let (trees, agreed) = agree(&members, &mut journals, &registry, &plan);
        let mut simulation = Self {
            faults: faults.to_vec(),
            task: task("x", payload),
            agreed,
            trees: trees.into_iter().map(Arc::new).collect(),
            members: members.into_iter().map(Arc::new).collect(),
            journals,
            sessions: Vec::new(),
            in_transit: BTreeMap::new(),
            loss,
            random: 0x9e37_79b9_7f4a_7c15,
            now: 1,
            started: vec![(0, None); n],
            forging: false,
            completed: vec![None; n],
            events: Vec::new(),
            messages: 0,
            bytes: 0,
        };
        simulation.sessions = (0..n).map(|n| Some(simulation.session(n))).collect();
        simulation
    }

    pub fn honest(n: usize) -> Self {
        Self::new(&vec![Honest; n], 0)
    }

    pub fn session(&self, n: usize) -> Session {
        let (member, tree) = (self.members[n].clone(), self.trees[n].clone());
        let (agreed, task) = (self.agreed.clone(), self.task.clone());
        Session::new(member, tree, agreed, task, TIMEOUT)
    }

    /// A number below `bound`.
    pub fn draw(&mut self, bound: u64) -> u64 {
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
            // The commitments of the others answer its hash, so it never sees them.
            Grinding if matches!(kind(), Some(MessageKind::CommitmentHash)) => None,
            Ahead if !matches!(kind(), Some(MessageKind::Opening)) => None,
            TwoHashes if to % 2 == 1 && kind() == Some(MessageKind::CommitmentHash) => {
                let message = self.agreed.receive(bytes).unwrap();
                let member = &self.members[from];
                let other = hostile::other_commitment(member, &message, &self.agreed);
                Some(other.to_bytes())
            }
            TwoAnnouncements if to % 2 == 1 && kind() == Some(MessageKind::Signers) => {
                let message = self.agreed.receive(bytes).unwrap();
                let (member, mut signers) = (&self.members[from], message.body().to_vec());
                let other = if from == 0 { 1 } else { 0 };
                signers[0] ^= 1 << other;
                let other = hostile::with_body(member, &message, &signers, &self.agreed);
                Some(other.to_bytes())
            }
            WrongResponse if kind() == Some(MessageKind::Response) => {
                let message = self.agreed.receive(bytes).unwrap();
                let member = &self.members[from];
                let wrong = hostile::other_commitment(member, &message, &self.agreed);
                Some(wrong.to_bytes())
            }
            _ => Some(bytes.to_vec()),
        }
    }

    /// The openings of all attempts.
    fn open_all(&mut self, n: usize) {
        let attempts = 0..self.agreed.plan().attempts();
        let opening = |attempt| {
            let (member, attempt) = (&self.members[n], attempt_id("x", attempt));
            let opening = member.open(&self.agreed, &self.trees[n], &attempt, &self.journals[n]);
            SessionEvent::Send(opening.unwrap().to_bytes())
        };
        let events = attempts.map(opening).collect();
        self.handle(n, events);
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
                        let at = self.arrival(from, to, &bytes);
                        self.forge(to, &bytes);
                        self.in_transit.insert((at, self.messages), (to, bytes));
                    }
                }
                SessionEvent::Completed(certificate) => {
                    self.completed[from] = Some(*certificate);
                }
                other => self.events.push((from, other)),
            }
        }
    }

    /// When a message arrives.
    fn arrival(&mut self, from: usize, to: usize, bytes: &[u8]) -> u64 {
        let at = self.now + 1 + self.draw(10);
        let last = match self.faults[from] {
            Slow => return at + TIMEOUT,
            LastHash | SplitHash => MessageKind::CommitmentHash,
            LastCommitment => MessageKind::Commitment,
            _ => return at,
        };
        let message = self.agreed.receive(bytes);
        match message {
            Ok(message) if message.kind() == last && *message.id() == id(from) => {
                let is_in_time = self.faults[from] == SplitHash && to.is_multiple_of(2);
                let after = if is_in_time { TIMEOUT / 2 } else { TIMEOUT };
                at.max(self.started[to].1.unwrap_or(self.now) + after - 5)
            }
            _ => at,
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
            let events = session.tick(self.now, &mut self.journals[n]);
            let (attempt, started) = &mut self.started[n];
            if *attempt != session.attempt() {
                (*attempt, *started) = (session.attempt(), None);
            }
            // Before a quorum has begun the attempt, more members than the leader are awaited.
            if started.is_none() && session.awaited().len() <= 1 {
                *started = Some(self.now);
            }
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

    /// Runs until every honest member has a certificate, at most for the attempts of the plan.
    /// Checks all certificates, and that no honest member is blamed. Returns the number of
    /// attempts.
    pub fn run(&mut self) -> u64 {
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
        for (fault, certificate) in faults.iter().zip(&self.completed) {
            if fault.is_honest() {
                let certificate = certificate.as_ref().unwrap();
                certificate.verify(&self.agreed, &self.task).unwrap();
                let number = certificate.aggregate().attempt_id().attempt();
                attempts = attempts.max(u64::from(number) + 1);
            }
        }
        attempts
    }
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
| n | faulty members | loss | attempts | time / timeout | messages of one member | bytes of one member |
|---|---|---|---|---|---|---|";

/// Runs a decision of `n` members with these faults, and lost messages of 1,000. Returns a row of
/// the table: messages and bytes are summed over all receivers.
pub fn row(n: usize, faults: &[Fault], loss: u64) -> String {
    let mut all = with_faults(n, faults);
    if faults.len() > 1 {
        all[0] = Crash(30, 90);
    }
    let mut simulation = Simulation::new(&all, loss);
    let attempts = simulation.run();
    let faulty = all.iter().filter(|fault| !fault.is_honest()).count();
    let kinds = match faults {
        [Honest] => "none".into(),
        [fault] => format!("{faulty} {}", fault.name()),
        _ => format!("{faulty} of all kinds, 1 restart"),
    };
    format!(
        "| {n} | {} | {} % | {attempts} | {:.1} | {} | {} |",
        kinds,
        loss / 10,
        simulation.now as f64 / TIMEOUT as f64,
        simulation.messages / n as u64,
        simulation.bytes / n as u64,
    )
}

/// All kinds of faults. Members with [`Crash`] are honest.
pub const MIXED: [Fault; 7] = [
    Withholding,
    Partial,
    TwoHashes,
    Silent,
    Slow,
    Grinding,
    Partial,
];

/// All kinds of faults and two honest members that restart; the seed determines number, positions and
/// times. Returns a description with the number of attempts.
pub fn random(seed: u64) -> String {
    const KINDS: [Fault; 12] = [
        Silent,
        Partial,
        TwoHashes,
        Slow,
        Grinding,
        Withholding,
        TwoAnnouncements,
        WrongResponse,
        Ahead,
        LastHash,
        LastCommitment,
        SplitHash,
    ];
    let mut simulation = Simulation::honest(1);
    simulation.random ^= seed.wrapping_mul(0x2545_f491_4f6c_dd1d) | 1 << 63;
    let mut draw = |bound: u64| {
        simulation.draw(1 << 20);
        simulation.draw(bound)
    };
    let n = [4, 4, 5, 7, 7, 10, 13, 16, 22, 31][draw(10) as usize];
    let mut faults = vec![Honest; n];
    let most = (n as u64 - 1) / 3;
    let mut left = most - draw(2) * draw(most + 1);
    // Of one kind, or of all.
    let one = (draw(3) == 0).then(|| KINDS[draw(12) as usize]);
    while left > 0 {
        let at = draw(n as u64) as usize;
        if faults[at] == Honest {
            faults[at] = one.unwrap_or(KINDS[draw(12) as usize]);
            left -= 1;
        }
    }
    // An honest member is absent for longer only if it could be faulty too.
    let faulty = faults.iter().filter(|fault| **fault != Honest).count() as u64;
    for number in 0..draw(3) {
        let at = draw(n as u64) as usize;
        let most = if faulty + number < most {
            2 * TIMEOUT
        } else {
            TIMEOUT / 2
        };
        if faults[at] == Honest {
            let lost = 1 + draw(2 * TIMEOUT);
            faults[at] = Crash(lost, lost + 1 + draw(most));
        }
    }
    let loss = [0, 10, 50, 100, 200][draw(5) as usize];
    let forging = draw(4) == 0;
    let state = draw(1 << 40) | 1;
    let text = format!("seed {seed}: {faults:?}, loss {loss}, forging {forging}");
    println!("{text}");
    let mut simulation = Simulation::for_payload(&faults, loss, &seed.to_be_bytes());
    (simulation.random, simulation.forging) = (state, forging);
    format!(
        "seed {seed}: {} of {} attempts",
        simulation.run(),
        EpochPlan::attempts_for(n)
    )
}
