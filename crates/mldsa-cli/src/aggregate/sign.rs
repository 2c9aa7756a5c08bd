//! `sign`: a [`Session`] over the directory of the committee, and over TCP to other hosts.

use std::io;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use mladsa_aggregate::errors::RoundError;
use mladsa_aggregate::{
    AgreedRoots, Certificate, EpochTree, MemberId, OneTimeKeyJournal, Session, SessionEvent,
    SigningTask,
};

use super::StepError;
use super::args::SignArgs;
use super::committee::{Committee, FileState};
use super::dirs::{POLL, wait};
use super::mailbox::{Mailbox, certificate_limit};
use super::network::Network;
use super::steps::{report, show, signing_task};
use super::store::Store;
use crate::output::{Content, Existing, Output, write_each_after};
use crate::terminal::complain;

/// Runs attempts until the decision is made. It can be repeated after an interruption at any time: the
/// journal and the directory have the state.
pub(crate) fn sign(args: &SignArgs) -> Result<(), StepError> {
    let output = Output::new(&args.out, Existing::Reject, Content::Binary)?;
    let committee = Committee::of(&args.epoch)?;
    let task = signing_task(&args.subject, &args.epoch.store)?;
    let store = Store::open(&args.epoch.store)?;
    if committee.pin(&store.path)?.1.is_new() {
        let why = "this member has not agreed on the list of roots: run `agree` first";
        return Err(io::Error::other(why).into());
    }
    let limit = certificate_limit(&committee, &task);
    let mut decision = Decision {
        args,
        tree: Arc::new(committee.tree(&store)?),
        journal: store.journal()?,
        mailbox: Mailbox::new(&committee, &task, store.member.id())?,
        network: match args.listen {
            Some(listen) => Some(Network::new(listen, &args.peers, limit)?),
            None => None,
        },
        began: Instant::now(),
        acknowledgements: Vec::new(),
        failed: None,
        task,
        committee,
        store,
    };
    let mut running = None;
    let (agreed, certificate) = wait(args.wait.timeout, || decision.poll(&mut running))?;
    let report = report(certificate.aggregate(), &agreed)?;
    write_each_after(&[(&output, &certificate.to_bytes())], || {
        show(&report, output.is_standard())
    })?;
    if let Some((_, session)) = &mut running {
        decision.answer(session)?;
    }
    Ok(())
}

/// The decision of one `sign`.
struct Decision<'a> {
    args: &'a SignArgs,
    committee: Committee,
    store: Store,
    task: SigningTask,
    tree: Arc<EpochTree>,
    journal: OneTimeKeyJournal,
    mailbox: Mailbox,
    network: Option<Network>,
    began: Instant,
    /// When the agreement was last read.
    acknowledgements: Vec<FileState>,
    /// Since when no attempts are left.
    failed: Option<u64>,
}

/// The session with the members that had acknowledged the roots when it began.
type Running = Option<(AgreedRoots, Session)>;

impl Decision<'_> {
    fn now(&self) -> u64 {
        self.began.elapsed().as_millis() as u64
    }

    fn attempt_time(&self) -> u64 {
        self.args.attempt_timeout.saturating_mul(1000)
    }

    /// Begins a session, or another one with more members. A member that withdraws its acknowledgement
    /// changes nothing: each new session retires an attempt.
    fn update(&mut self, running: &mut Running) -> io::Result<()> {
        let present = self.committee.acknowledgement_files();
        if present == self.acknowledgements {
            return Ok(());
        }
        self.acknowledgements = present;
        let known = running.as_ref().map(|(known, _)| known.ids().count());
        match self.committee.agreed(&self.store.path, &self.args.epoch) {
            Ok((agreed, _)) if known.is_none_or(|known| agreed.ids().count() > known) => {
                let session = Session::new(
                    Arc::clone(&self.store.member),
                    Arc::clone(&self.tree),
                    agreed.clone(),
                    self.task.clone(),
                    self.attempt_time(),
                );
                *running = Some((agreed, session));
                self.mailbox.rewind();
                self.network.iter_mut().for_each(Network::begin_attempt);
            }
            Err(error) if known.is_none() => return Err(error),
            _ => {}
        }
        Ok(())
    }

    /// Passes the messages that have arrived to the session. The result, or what is awaited.
    fn poll(
        &mut self,
        running: &mut Running,
    ) -> io::Result<Result<(AgreedRoots, Certificate), String>> {
        if let Err(error) = self.update(running) {
            return Ok(Err(error.to_string()));
        }
        let Some((agreed, session)) = running else {
            return Ok(Err("acknowledgements of a quorum".into()));
        };
        let attempt = session.attempt();
        let events = session.tick(self.now(), &mut self.journal);
        let mut events = events.map_err(io::Error::other)?;
        events.extend(self.receive(session)?);
        if session.attempt() != attempt {
            self.mailbox.rewind();
            self.network.iter_mut().for_each(Network::begin_attempt);
        }
        for event in events {
            match event {
                SessionEvent::Send(message) => self.send(&message)?,
                SessionEvent::Completed(done) => {
                    self.mailbox.send(&done.to_bytes())?;
                    return Ok(Ok((agreed.clone(), *done)));
                }
                SessionEvent::AttemptAbandoned(missing) => complain(format_args!(
                    "attempt {attempt} is abandoned; did not contribute: {}",
                    names(&missing)
                )),
                SessionEvent::InvalidContribution(id) => {
                    complain(format_args!("{id} sent a wrong contribution"));
                }
                SessionEvent::Equivocation(evidence) => {
                    let (id, evidence) = (evidence.id(), evidence.to_bytes());
                    self.committee.publish_evidence(id, &evidence);
                }
                // Of anyone.
                SessionEvent::InvalidCertificate => {}
                SessionEvent::Failed(_) => self.failed = self.failed.or(Some(self.now())),
                other => complain(format_args!("{other:?}")),
            }
        }
        match self.failed {
            None => Ok(Err(format!(
                "attempt {}: {}",
                session.attempt(),
                names(&session.awaited())
            ))),
            // Others may complete their last attempt.
            Some(failed) if self.now() < failed.saturating_add(self.attempt_time()) => {
                Ok(Err("certificate of another member".into()))
            }
            Some(_) => Err(io::Error::other(RoundError::AttemptsExhausted)),
        }
    }

    fn receive(&mut self, session: &mut Session) -> io::Result<Vec<SessionEvent>> {
        let mut events = Vec::new();
        for message in self.mailbox.receive()? {
            let received = session.receive(&message, self.now(), &mut self.journal);
            events.extend(received.map_err(io::Error::other)?);
        }
        for arrived in self
            .network
            .iter()
            .flat_map(Network::receive)
            .collect::<Vec<_>>()
        {
            if !self
                .network
                .as_ref()
                .is_some_and(|network| network.admits(&arrived))
            {
                continue;
            }
            let received = session.receive(&arrived.message, self.now(), &mut self.journal);
            let received = received.map_err(io::Error::other)?;
            if received.contains(&SessionEvent::InvalidCertificate) {
                self.network
                    .iter_mut()
                    .for_each(|network| network.reject(&arrived));
            }
            events.extend(received);
        }
        Ok(events)
    }

    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        self.mailbox.send(message)?;
        self.network
            .iter()
            .for_each(|network| network.send(message));
        Ok(())
    }

    /// Sends the certificate to members on other hosts that ask for it, until none has asked for the time
    /// of an attempt.
    fn answer(&mut self, session: &mut Session) -> io::Result<()> {
        let end = self.args.wait.timeout.saturating_mul(1000);
        let mut last = self.now();
        while self.network.is_some()
            && self.now() < end.min(last.saturating_add(self.attempt_time()))
        {
            for event in self.receive(session)? {
                if let SessionEvent::Send(certificate) = event {
                    self.send(&certificate)?;
                    last = self.now();
                }
            }
            thread::sleep(POLL);
        }
        Ok(())
    }
}

fn names(ids: &[MemberId]) -> String {
    let names: Vec<String> = ids.iter().map(ToString::to_string).collect();
    names.join(" ")
}
