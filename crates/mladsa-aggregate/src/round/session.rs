//! Session: state machine of one member for one task, driven by messages and a clock.

mod inbox;
mod leader;
mod progress;
mod requests;

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use crate::committee::full::SigningCommittee;
use crate::committee::member::Member;
use crate::committee::opening::AuthenticatedKey;
use crate::error::RoundError;
use crate::journal::one_time::OneTimeKeyJournal;
use crate::member_id::MemberName;
use crate::round::certificate::AggregateCertificate;
use crate::round::message::{ConflictingMessages, Message, MessageKind, Unverified};
use crate::round::task::SigningTask;

use progress::Step;

/// Output of a session.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum SessionEvent {
    /// Send these bytes. They can be lost, repeated and reordered.
    Send {
        /// The receiver; `None` for all other members.
        to: Option<MemberName>,
        /// The bytes.
        message: Vec<u8>,
    },
    /// The task is signed. The session continues to send the certificate to members that ask.
    Completed(Box<AggregateCertificate>),
    /// The attempt was abandoned; these members did not contribute in time. If a fault of its
    /// leader or of a signer was proved, they are the faulty ones.
    AttemptAbandoned(Vec<MemberName>),
    /// The contribution of this member is provably wrong.
    InvalidContribution(MemberName),
    /// A member has signed two different messages.
    ConflictingMessages(Box<ConflictingMessages>),
    /// The message was a certificate that is not valid. Its verification costs as much as that of
    /// all openings: close the connection that it came from.
    InvalidCertificate,
    /// No attempts are left. The certificate can still arrive from another member.
    Failed(RoundError),
}

/// One call of a session: its time, the journal, and the events so far.
struct Call<'j> {
    now: u64,
    journal: &'j mut OneTimeKeyJournal,
    events: Vec<SessionEvent>,
}

impl<'j> Call<'j> {
    fn new(now: u64, journal: &'j mut OneTimeKeyJournal) -> Self {
        let events = Vec::new();
        Self {
            now,
            journal,
            events,
        }
    }
}

/// Session of one member for one task: runs attempts until the task is signed. It owns its
/// state, is `Send` and never blocks. The caller supplies the time, in any increasing unit, and
/// calls [`Self::tick`] at least 64 times in a timeout.
///
/// Each attempt has a leader, from a rotation over the members in proportion to their weights. A
/// member sends four messages in an attempt: its opening, the hash of its commitment, its
/// commitment and its response. The leader announces the signers, in a signed message, from the
/// members that have opened. The timeout of an attempt starts when a quorum has begun it: no key is
/// used up while fewer members are present. At the timeout the attempt is retired and the next one
/// begins. A leader leaves out the members that did not contribute to earlier attempts, or so late
/// that the others could not, those with the fewest such attempts last. After an attempt that
/// missed, every leader takes other signers if it can. A member that receives messages of a later
/// attempt from members of more than a third of the weight begins that attempt.
///
/// A member that waits asks the leader, the members that it waits for, and others in turn for what
/// it lacks. So a message that one honest signer or leader has reaches all, also if its sender has
/// shown it to the leader alone.
///
/// **Claim.** Let faulty members have less than a third of the weight, let the others reach the
/// threshold, and let the messages between honest members, or their repetitions, arrive within a
/// part of the timeout. Let d be the number of faulty members, s the number of those that split the
/// honest ones by time (a message comes to some in the first half of the timeout, and to others in
/// the second), and m the number of attempts that miss. Then every honest member has the
/// certificate at the end of the (d + s + 1 + m)-th attempt that an honest member leads. With equal
/// weights this is attempt 2 d + s + 1 + m at the latest; compare
/// [`Epoch::attempts_for`](crate::Epoch::attempts_for). An epoch has at most 64 attempts: 32 faulty
/// members can end them all. After a crash, a new session for the same task continues, because the
/// journal admits no other messages. Safety depends on none of this.
pub struct Session {
    member: Arc<Member>,
    committee: Arc<SigningCommittee>,
    task: SigningTask,
    timeout: u64,
    ids: Vec<MemberName>,
    // position of the leader of each attempt
    leaders: Vec<usize>,
    current: Attempt,
    // number of attempts that have missed
    misses: usize,
    peers: Peers,
    requests: Requests,
    // first message of each member and kind, of this attempt and the next ones
    inbox: BTreeMap<(u8, MessageKind, MemberName), Message>,
    // the encoded certificate
    outcome: Option<Vec<u8>>,
}

/// The state of the current attempt.
struct Attempt {
    number: u8,
    has_begun: bool,
    // start of the timeout
    started: Option<u64>,
    keys: BTreeMap<MemberName, AuthenticatedKey>,
    // messages that were rejected
    rejected: BTreeSet<(MessageKind, MemberName)>,
    // members whose message of this kind, of the first step with late ones, came in the second half
    // of the timeout
    late: Option<(MessageKind, BTreeSet<MemberName>)>,
    step: Step,
}

impl Attempt {
    /// The attempt of this number before it has begun.
    fn new(number: u8) -> Self {
        Self {
            number,
            has_begun: false,
            started: None,
            keys: BTreeMap::new(),
            rejected: BTreeSet::new(),
            late: None,
            step: Step::Opening,
        }
    }
}

/// What is known of the other members.
#[derive(Default)]
struct Peers {
    /// The last attempt of which each member has sent a message.
    heard: BTreeMap<MemberName, u8>,
    /// The number of attempts in which each member was silent or late.
    silent: BTreeMap<MemberName, u32>,
    /// The members that are provably faulty.
    faulty: BTreeSet<MemberName>,
    /// The members and attempts of which a fault was proved.
    disputed: BTreeSet<(MemberName, u8)>,
    /// The members and attempts of which two conflicting messages were sent on.
    proofs_sent: BTreeSet<(MemberName, u8)>,
    /// The leaders and attempts of which an announcement of no quorum was sent on.
    announcements_rejected: BTreeSet<(MemberName, u8)>,
}

/// Times and amounts of requests and answers.
#[derive(Default)]
struct Requests {
    resend_at: u64,
    // number of members that were asked in turn, and of requests in the current step
    turns: usize,
    waits: usize,
    // when each member was last answered about each kind, and the bytes of its answers in this
    // attempt
    answered: BTreeMap<(MemberName, MessageKind), u64>,
    answer_lens: BTreeMap<MemberName, usize>,
}

impl Session {
    /// Creates a session with all members of the committee. The first [`Self::tick`] starts it,
    /// with the first attempt that the journal has not retired.
    pub fn new(
        member: Arc<Member>,
        committee: Arc<SigningCommittee>,
        task: SigningTask,
        timeout: u64,
    ) -> Self {
        Self {
            ids: committee.members().map(|(id, _)| *id).collect(),
            leaders: leader::rotation(&committee, task.slot()),
            member,
            committee,
            task,
            timeout,
            current: Attempt::new(0),
            misses: 0,
            peers: Peers::default(),
            requests: Requests::default(),
            inbox: BTreeMap::new(),
            outcome: None,
        }
    }

    /// Returns the number of the current attempt.
    pub fn attempt(&self) -> u8 {
        self.current.number
    }

    /// Returns the leader of an attempt; `None` for one that the epoch does not have.
    pub fn leader_of(&self, attempt: u8) -> Option<MemberName> {
        let at = self.leaders.get(usize::from(attempt))?;
        self.ids.get(*at).copied()
    }

    /// Returns the members whose messages the current step waits for. Before a quorum has begun the
    /// attempt, these are the members that have not begun it. Then it is the leader, then the
    /// signers that have not sent the message of the step.
    pub fn awaited(&self) -> Vec<MemberName> {
        match self.current.step {
            Step::Opening if self.current.started.is_none() && !self.is_attended() => {
                let ids = self.ids.iter().filter(|id| !self.is_present(id));
                ids.copied().collect()
            }
            _ => self.missing(),
        }
    }

    /// Returns whether this member has no more steps to take.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        matches!(self.current.step, Step::Ended)
    }

    /// Advances the clock: starts the session, asks for messages, or abandons the attempt at the
    /// timeout.
    ///
    /// # Errors
    /// [`RoundError::Journal`] and other failures of this member itself. Nothing was released,
    /// and the session has ended; a new one resumes the task.
    pub fn tick(
        &mut self,
        now: u64,
        journal: &mut OneTimeKeyJournal,
    ) -> Result<Vec<SessionEvent>, RoundError> {
        self.run(Call::new(now, journal), |session, call| {
            if !session.current.has_begun {
                return session.begin(call);
            }
            if session.current.started.is_none() && session.is_attended() {
                session.current.started = Some(now);
            }
            match session.current.started {
                Some(started) if now >= started.saturating_add(session.timeout) => {
                    session.abandon(session.missing(), call)
                }
                _ if now >= session.requests.resend_at => session.ask(call),
                _ => Ok(()),
            }
        })
    }

    /// Processes a message that arrived from the member `from`, which may be a message of another
    /// one. Malformed and unrelated messages are ignored.
    ///
    /// # Errors
    /// As [`Self::tick`].
    pub fn receive(
        &mut self,
        from: &MemberName,
        message: &[u8],
        now: u64,
        journal: &mut OneTimeKeyJournal,
    ) -> Result<Vec<SessionEvent>, RoundError> {
        let mut call = Call::new(now, journal);
        if self.outcome.is_none() && AggregateCertificate::is_encoded(message) {
            self.take_certificate(message, &mut call);
            return Ok(call.events);
        }
        if self.has_ended() {
            if let Ok(message) = Unverified::from_bytes(message) {
                self.answer(from, message, &mut call);
            }
            return Ok(call.events);
        }
        self.run(call, |session, call| {
            session.take(from, message, call);
            session.follow(call)
        })
    }

    fn take_certificate(&mut self, message: &[u8], call: &mut Call<'_>) {
        let Ok(certificate) = AggregateCertificate::from_bytes(message) else {
            return;
        };
        let verified = certificate.verify(self.committee.view(), &self.task);
        if verified.is_err() {
            call.events.push(SessionEvent::InvalidCertificate);
            return;
        }
        // Responses in the inbox are not verified.
        self.inbox.clear();
        self.complete(certificate, call);
    }

    /// Runs `input` and then every step that has become possible. An error ends the session.
    fn run(
        &mut self,
        mut call: Call<'_>,
        input: impl FnOnce(&mut Self, &mut Call<'_>) -> Result<(), RoundError>,
    ) -> Result<Vec<SessionEvent>, RoundError> {
        if self.has_ended() {
            return Ok(call.events);
        }
        let result = input(self, &mut call).and_then(|()| self.advance(&mut call));
        if result.is_err() {
            self.current.step = Step::Ended;
        }
        result.map(|()| call.events)
    }

    /// Returns whether a member has begun this attempt or a later one.
    fn is_present(&self, id: &MemberName) -> bool {
        let heard = self.peers.heard.get(id);
        id == self.member.id() || heard.is_some_and(|attempt| *attempt >= self.current.number)
    }

    /// Returns whether a quorum has begun this attempt or a later one.
    fn is_attended(&self) -> bool {
        let present = self.ids.iter().filter(|id| self.is_present(id));
        self.committee.is_quorum(present)
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Session({}, attempt {})",
            self.member.id(),
            self.current.number
        )
    }
}
