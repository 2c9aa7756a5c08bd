//! `sign`: one decision, with messages in a shared directory.

use core::time::Duration;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use base16ct::lower::encode_string;
use mladsa_aggregate::{AggregateCertificate, Session, SessionEvent};

use crate::committee::DecisionArgs;
use crate::mailbox::Mailbox;
use crate::store::{Store, StoreArgs};
use crate::{failed, files};

/// Sign a decision with the other members, over a directory that all of them share
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    decision: DecisionArgs,
    /// Directory of the messages of all members
    #[arg(long)]
    directory: PathBuf,
    /// Seconds of an attempt
    #[arg(long, default_value_t = 8)]
    timeout: u64,
    /// Seconds after which the member gives up
    #[arg(long, default_value_t = 600)]
    limit: u64,
    /// File of the certificate
    #[arg(long)]
    out: PathBuf,
}

/// Time between two looks at the directory.
const POLL: Duration = Duration::from_millis(20);

pub(crate) fn run(args: &Args) -> io::Result<()> {
    let committee = args.decision.committee()?;
    let store = Store::open(&args.store)?;
    let mut journal = store.journal()?;
    let task = args.decision.task()?;
    store.expect_undecided(&task)?;
    let decision = format!("{}-{}", encode_string(committee.identity()), task.slot());
    let limit = task.payload().len() as u64 + 7_000 * committee.len() as u64 + 40_000;
    let mut mailbox = Mailbox::new(&args.directory, decision, store.id, limit)?;
    let member = Arc::new(store.member()?);
    let timeout = args.timeout.saturating_mul(1000).max(1);
    let mut session = Session::new(member, Arc::clone(&committee), task.clone(), timeout);
    let began = Instant::now();
    let mut restored = 0;
    let mut signed: Option<u64> = None;
    let mut exhausted = None;
    loop {
        let now = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let mut events = session.tick(now, &mut journal).map_err(failed)?;
        for (from, message) in mailbox.receive() {
            events.extend(
                session
                    .receive(&from, &message, now, &mut journal)
                    .map_err(failed)?,
            );
        }
        for event in events {
            match event {
                SessionEvent::Send { message, .. } => mailbox.send(&message),
                SessionEvent::Completed(certificate) => {
                    finish(args, &certificate)?;
                    store.record_decision(&task)?;
                    signed = Some(now);
                }
                SessionEvent::Failed(error) => {
                    eprintln!("mladsa: {error}; waiting for the certificate of another member");
                    exhausted = Some((now, error));
                }
                report => eprintln!("mladsa: {}", describe(&report)),
            }
        }
        if now > restored + timeout / 16 {
            restored = now;
            mailbox.restore();
        }
        // Members without the certificate can ask for it during one more attempt.
        if signed.is_some_and(|signed| now > signed.saturating_add(timeout)) {
            return Ok(());
        }
        if let Some((since, error)) = exhausted
            && signed.is_none()
            && now > timeout.saturating_add(since)
        {
            return Err(failed(error));
        }
        if signed.is_none() && began.elapsed().as_secs() >= args.limit {
            let awaited: Vec<_> = session.awaited().iter().map(ToString::to_string).collect();
            let why = format!(
                "still awaited after {} s: {}",
                args.limit,
                awaited.join(" ")
            );
            return Err(io::Error::new(io::ErrorKind::TimedOut, why));
        }
        thread::sleep(POLL);
    }
}

fn finish(args: &Args, certificate: &AggregateCertificate) -> io::Result<()> {
    files::write(&args.out, &certificate.to_bytes(), true, true)?;
    writeln!(io::stdout(), "signed: {}", args.out.display())
}

fn describe(event: &SessionEvent) -> String {
    match event {
        SessionEvent::AttemptAbandoned(missing) if missing.is_empty() => {
            "attempt abandoned: the sum missed, or its one-time key was already used".into()
        }
        SessionEvent::AttemptAbandoned(missing) => {
            let missing: Vec<_> = missing.iter().map(ToString::to_string).collect();
            format!("attempt abandoned, missing: {}", missing.join(" "))
        }
        SessionEvent::InvalidContribution(id) => format!("{id} sent a wrong contribution"),
        SessionEvent::ConflictingMessages(evidence) => {
            format!("{} signed two messages", evidence.id())
        }
        other => format!("{other:?}"),
    }
}
