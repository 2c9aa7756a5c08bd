//! `sign`: a [`Session`] over the directory of the committee, and over TCP to other hosts.

use std::io;
use std::sync::Arc;
use std::time::Instant;

use mladsa_aggregate::{AgreedRoots, Certificate, MemberId, Session, SessionEvent};

use super::StepError;
use super::args::SignArgs;
use super::committee::Committee;
use super::dirs::wait;
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
    let tree = Arc::new(committee.tree(&store)?);
    let mut journal = store.guard()?;
    let mut mailbox = Mailbox::new(&committee, &task, store.member.id())?;
    let limit = certificate_limit(&committee, &task);
    let network = args
        .listen
        .map(|listen| Network::new(listen, &args.peers, limit));
    let network = network.transpose()?;
    let began = Instant::now();
    let now = || began.elapsed().as_millis() as u64;
    let attempt_time = args.attempt_timeout.saturating_mul(1000);

    let mut acknowledgements = 0;
    let mut running: Option<(AgreedRoots, Session)> = None;
    let mut certificate: Option<(Certificate, u64)> = None;
    let (agreed, certificate) = wait(args.wait.timeout, || {
        // A session knows the members that had acknowledged the roots when it began.
        let present = committee.count_acknowledgements();
        if present != acknowledgements {
            acknowledgements = present;
            match committee.agreed(&store.path, &args.epoch) {
                Ok((agreed, _)) => {
                    let (member, tree) = (Arc::clone(&store.member), Arc::clone(&tree));
                    let known = running.as_ref().map(|(known, _)| known.ids().count());
                    if known != Some(agreed.ids().count()) {
                        let session =
                            Session::new(member, tree, agreed.clone(), task.clone(), attempt_time);
                        running = Some((agreed, session));
                        mailbox.rewind();
                    }
                }
                Err(error) if running.is_none() => return Ok(Err(error.to_string())),
                Err(_) => {}
            }
        }
        let Some((agreed, session)) = &mut running else {
            return Ok(Err("acknowledgements of a quorum".into()));
        };
        let attempt = session.attempt();
        let mut events = session
            .tick(now(), &mut journal)
            .map_err(io::Error::other)?;
        let mut messages = mailbox.receive()?;
        messages.extend(network.iter().flat_map(Network::receive));
        for message in messages {
            let received = session.receive(&message, now(), &mut journal);
            events.extend(received.map_err(io::Error::other)?);
        }
        if session.attempt() != attempt {
            mailbox.rewind();
        }
        for event in events {
            match event {
                SessionEvent::Send(message) => {
                    mailbox.send(&message)?;
                    network.iter().for_each(|network| network.send(&message));
                    // An answer to a member without a certificate.
                    if let Some((_, last)) = &mut certificate {
                        *last = now();
                    }
                }
                SessionEvent::Completed(done) => {
                    mailbox.send(&done.to_bytes())?;
                    certificate = Some((*done, now()));
                }
                SessionEvent::AttemptAbandoned(missing) => complain(format_args!(
                    "attempt {attempt} is abandoned; did not contribute: {}",
                    names(&missing)
                )),
                SessionEvent::InvalidContribution(id) => {
                    complain(format_args!("{id} sent a wrong contribution"));
                }
                SessionEvent::Equivocation(evidence) => {
                    committee.publish_evidence(evidence.id(), &evidence.to_bytes());
                }
                SessionEvent::Failed(error) => return Err(io::Error::other(error)),
                other => complain(format_args!("{other:?}")),
            }
        }
        match &certificate {
            // Members on other hosts can still ask for it.
            Some((_, last)) if network.is_some() && now() < last.saturating_add(attempt_time) => {
                Ok(Err("members without the certificate".into()))
            }
            Some((done, _)) => Ok(Ok((agreed.clone(), done.clone()))),
            None => Ok(Err(format!(
                "attempt {}: {}",
                session.attempt(),
                names(&session.awaited())
            ))),
        }
    })?;
    let report = report(certificate.aggregate(), &agreed)?;
    let written = write_each_after(&[(&output, &certificate.to_bytes())], || {
        show(&report, output.is_standard())
    });
    Ok(written?)
}

fn names(ids: &[MemberId]) -> String {
    let names: Vec<String> = ids.iter().map(ToString::to_string).collect();
    names.join(" ")
}
