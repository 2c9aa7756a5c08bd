//! Session: state machine of one member for one task, driven by messages and a clock.

mod inbox;
mod leader;
mod progress;

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use crate::epoch::agreed::AgreedRoots;
use crate::epoch::authenticate::AuthenticatedKey;
use crate::epoch::message::{Equivocation, MessageKind, SignedMessage};
use crate::epoch::tree::EpochTree;
use crate::error::RoundError;
use crate::journal::one_time::OneTimeKeyJournal;
use crate::keys::member::Member;
use crate::member_id::MemberId;
use crate::round::certificate::Certificate;
use crate::wire::framing::hash_lp;
use crate::wire::task::SigningTask;

use progress::Step;

/// Output of a session.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum SessionEvent {
    /// Send these bytes to all other members. They can be lost, repeated and reordered.
    Send(Vec<u8>),
    /// The task is signed. The session continues to send the certificate to members that ask.
    Completed(Box<Certificate>),
    /// The attempt was abandoned; these members did not contribute in time.
    AttemptAbandoned(Vec<MemberId>),
    /// The contribution of this member is provably wrong.
    InvalidContribution(MemberId),
    /// A member has signed two different messages.
    Equivocation(Box<Equivocation>),
    /// The message was a certificate that is not valid. Its verification costs as much as that of all
    /// openings, and it can be of anyone: close the connection that it came from.
    InvalidCertificate,
    /// No attempts are left. The certificate can still arrive from another member.
    Failed(RoundError),
}

/// Session of one member for one task: runs attempts until the task is signed. It owns its
/// state, is `Send` and never blocks. The caller supplies the time, in any increasing unit, and
/// calls [`Self::tick`] at least 16 times in a timeout.
///
/// Each attempt has a leader, from a rotation over the members that the task determines. Every
/// member opens its key; the leader announces the signers of the attempt, in a signed message,
/// from the members that have opened. The timeout of an attempt starts when a quorum has begun
/// it: no key is used up while fewer members are present. At the timeout the attempt is retired
/// and the next one begins. A leader leaves out the members that did not contribute to earlier
/// attempts, or so late that the others could not, those with the fewest such attempts last. After an attempt that missed, every leader
/// takes other signers if it can. A member that receives messages of a later attempt from more than
/// a third of the members begins that attempt.
///
/// Messages are sent again 16 times in an attempt. Each time the messages of one other member, in
/// turn, are forwarded. So a message that one honest member has received reaches all.
///
/// Let f members be faulty, fewer than a third, and let messages of honest members arrive within a
/// part of the timeout. Then every honest member has the certificate after at most 2 f + 1
/// attempts, and one more for each attempt that misses:
/// [`EpochPlan::attempts_for`](crate::EpochPlan::attempts_for). After a crash, a new session for
/// the same task continues, because the journal admits no other messages.
pub struct Session {
    member: Arc<Member>,
    tree: Arc<EpochTree>,
    agreed: AgreedRoots,
    task: SigningTask,
    timeout: u64,
    // all members, and the rotation of leaders over them
    ids: Vec<MemberId>,
    rotation: usize,
    attempt: u8,
    has_begun: bool,
    // start of the timeout of the attempt
    started: Option<u64>,
    resend_at: u64,
    resends: usize,
    // first message of each member and kind, of this attempt and the next ones
    inbox: BTreeMap<(u8, MessageKind, MemberId), SignedMessage>,
    // last attempt of which each member has sent a message
    heard: BTreeMap<MemberId, u8>,
    keys: BTreeMap<MemberId, AuthenticatedKey>,
    // messages that were rejected in this attempt
    rejected: BTreeSet<(MessageKind, MemberId)>,
    // members whose message of this kind, the first with late ones, came in the second half of the timeout
    late: Option<(MessageKind, BTreeSet<MemberId>)>,
    // number of attempts in which each member was silent or late, and members that are provably faulty
    silent: BTreeMap<MemberId, u32>,
    faulty: BTreeSet<MemberId>,
    // whether a fault of this attempt was proved: honest members may have followed different messages
    is_disputed: bool,
    // number of attempts that have missed
    misses: usize,
    step: Step,
    // the encoded certificate
    outcome: Option<Vec<u8>>,
}

impl Session {
    /// A session with all members that have acknowledged the roots. The first [`Self::tick`]
    /// starts it, with the first attempt that the journal has not retired.
    #[must_use]
    pub fn new(
        member: Arc<Member>,
        tree: Arc<EpochTree>,
        agreed: AgreedRoots,
        task: SigningTask,
        timeout: u64,
    ) -> Self {
        let ids: Vec<_> = agreed.registry().ids().copied().collect();
        let hash: [u8; 8] = hash_lp(b"MLADSA leader", &[agreed.digest(), task.id().as_bytes()]);
        Self {
            rotation: (u64::from_be_bytes(hash) % ids.len().max(1) as u64) as usize,
            ids,
            member,
            tree,
            agreed,
            task,
            timeout,
            attempt: 0,
            has_begun: false,
            started: None,
            resend_at: 0,
            resends: 0,
            inbox: BTreeMap::new(),
            heard: BTreeMap::new(),
            keys: BTreeMap::new(),
            rejected: BTreeSet::new(),
            late: None,
            silent: BTreeMap::new(),
            faulty: BTreeSet::new(),
            is_disputed: false,
            misses: 0,
            step: Step::Opening,
            outcome: None,
        }
    }

    /// The number of the present attempt.
    #[must_use]
    pub fn attempt(&self) -> u8 {
        self.attempt
    }

    /// The members whose messages the present step waits for. Before a quorum has begun the
    /// attempt, these are the members that have not begun it. Then it is the leader, then the
    /// signers that have not sent the message of the step.
    #[must_use]
    pub fn awaited(&self) -> Vec<MemberId> {
        match self.step {
            Step::Opening if self.started.is_none() && !self.is_attended() => {
                let ids = self.ids.iter().filter(|id| !self.is_present(id));
                ids.copied().collect()
            }
            _ => self.missing(),
        }
    }

    /// Whether this member has no more steps to take.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        matches!(self.step, Step::Ended)
    }

    /// Advances the clock: starts the session, sends messages again, or abandons the attempt at
    /// the timeout.
    ///
    /// # Errors
    /// [`RoundError::Journal`] and other failures of this member itself. Nothing was released,
    /// and the session has ended; a new one resumes the task.
    pub fn tick(
        &mut self,
        now: u64,
        journal: &mut OneTimeKeyJournal,
    ) -> Result<Vec<SessionEvent>, RoundError> {
        self.run(now, journal, |session, journal, events| {
            if !session.has_begun {
                return session.begin(now, journal, events);
            }
            if session.started.is_none() && session.is_attended() {
                session.started = Some(now);
            }
            match session.started {
                Some(started) if now >= started.saturating_add(session.timeout) => {
                    let missing = session.missing();
                    session.abandon(missing, now, journal, events)
                }
                _ if now >= session.resend_at => session.send_again(now, events),
                _ => Ok(()),
            }
        })
    }

    /// Processes a message of another member. Malformed and unrelated messages are ignored.
    ///
    /// # Errors
    /// As [`Self::tick`].
    pub fn receive(
        &mut self,
        message: &[u8],
        now: u64,
        journal: &mut OneTimeKeyJournal,
    ) -> Result<Vec<SessionEvent>, RoundError> {
        if self.outcome.is_some() {
            return Ok(self.answer(message, now).into_iter().collect());
        }
        if Certificate::is_encoded(message) {
            let mut events = Vec::new();
            match Certificate::from_bytes(message) {
                Ok(certificate) if certificate.verify(&self.agreed, &self.task).is_ok() => {
                    self.complete(certificate, &mut events);
                }
                Ok(_) => events.push(SessionEvent::InvalidCertificate),
                Err(_) => {}
            }
            return Ok(events);
        }
        self.run(now, journal, |session, journal, events| {
            session.store(message, events);
            session.follow(now, journal, events)
        })
    }

    /// Runs `input` and then every step that has become possible. An error ends the session.
    fn run(
        &mut self,
        now: u64,
        journal: &mut OneTimeKeyJournal,
        input: impl FnOnce(
            &mut Self,
            &mut OneTimeKeyJournal,
            &mut Vec<SessionEvent>,
        ) -> Result<(), RoundError>,
    ) -> Result<Vec<SessionEvent>, RoundError> {
        let mut events = Vec::new();
        if self.has_ended() {
            return Ok(events);
        }
        let result = input(self, journal, &mut events);
        let result = result.and_then(|()| self.advance(now, journal, &mut events));
        if result.is_err() {
            self.step = Step::Ended;
        }
        result.map(|()| events)
    }

    /// The greatest number of faulty members, fewer than a third.
    fn max_faulty(&self) -> usize {
        self.ids.len().saturating_sub(1) / 3
    }

    fn position(&self) -> usize {
        let own = self.ids.binary_search(self.member.id());
        own.unwrap_or_default()
    }

    /// Whether a member has begun this attempt or a later one.
    fn is_present(&self, id: &MemberId) -> bool {
        let heard = self.heard.get(id);
        id == self.member.id() || heard.is_some_and(|attempt| *attempt >= self.attempt)
    }

    /// Whether a quorum has begun this attempt or a later one.
    fn is_attended(&self) -> bool {
        let present = self.ids.iter().filter(|id| self.is_present(id));
        self.agreed.registry().is_quorum(present)
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Session({}, attempt {})", self.member.id(), self.attempt)
    }
}
