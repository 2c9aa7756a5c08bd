//! Four members as tokio tasks, each with a [`Session`] over channels that lose every seventh message.
//!
//! `cargo run -p mladsa-aggregate --features test-util --example session_tokio`
//!
//! A node replaces the channels by its network, and stores journals in files.

use core::error::Error;
use core::time::Duration;
use std::sync::Arc;
use std::time::Instant;

use mladsa_aggregate::{
    AggregateCertificate, Epoch, MasterSeed, Member, MemberName, OneTimeKeyJournal, Session,
    SessionEvent, SigningCommittee, SigningTask,
};
use mldsa_core::Randomness::Deterministic;
use tokio::sync::{broadcast, mpsc};

type Result<T> = core::result::Result<T, Box<dyn Error + Send + Sync>>;

/// Milliseconds of an attempt.
const TIMEOUT: u64 = 8_000;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let (signers, committee) = committee(4)?;
    let task = SigningTask::decision(0, b"hash of block 77");
    let (network, _) = broadcast::channel(4096);
    let (done, mut certificates) = mpsc::channel(4);
    for (member, journal) in signers {
        let own = *member.id();
        let session = Session::new(member, Arc::clone(&committee), task.clone(), TIMEOUT);
        tokio::spawn(run(own, session, journal, network.clone(), done.clone()));
    }
    for _ in 0..4 {
        let certificate = certificates.recv().await.ok_or("no member runs")??;
        certificate.verify(committee.view(), &task)?;
        let signers = certificate.aggregate().signers(&committee)?;
        println!("signed by {} members", signers.len());
    }
    Ok(())
}

/// A message with its sender and its receiver, which the network of a node authenticates.
type Packet = (MemberName, Option<MemberName>, Vec<u8>);

/// One member: passes messages and the time to its session. It runs on after the task is signed, for
/// members without the certificate.
async fn run(
    own: MemberName,
    mut session: Session,
    mut journal: OneTimeKeyJournal,
    network: broadcast::Sender<Packet>,
    done: mpsc::Sender<Result<AggregateCertificate>>,
) {
    let mut messages = network.subscribe();
    let mut clock = tokio::time::interval(Duration::from_millis(TIMEOUT / 64));
    let began = Instant::now();
    for number in 0_u64.. {
        let now = || began.elapsed().as_millis() as u64;
        let events = tokio::select! {
            _ = clock.tick() => session.tick(now(), &mut journal),
            message = messages.recv() => match message {
                // The network of this example loses messages.
                Ok((from, to, message))
                    if number % 7 > 0 && from != own && to.is_none_or(|to| to == own) =>
                {
                    session.receive(&from, &message, now(), &mut journal)
                }
                _ => continue,
            },
        };
        for event in events.unwrap_or_else(|error| vec![SessionEvent::Failed(error)]) {
            let result = match event {
                SessionEvent::Send { to, message } => {
                    let _ = network.send((own, to, message));
                    continue;
                }
                SessionEvent::Completed(certificate) => Ok(*certificate),
                SessionEvent::Failed(error) => Err(error.into()),
                // Reports on other members.
                _ => continue,
            };
            let _ = done.send(result).await;
        }
    }
}

type Signer = (Arc<Member>, OneTimeKeyJournal);

/// Members with their committee, as a ledger would have finalised it.
fn committee(n: u8) -> Result<(Vec<Signer>, Arc<SigningCommittee>)> {
    let epoch = Epoch::new(b"DEMO", 1, 1, 16)?;
    let (mut signers, mut registrations) = (Vec::new(), Vec::new());
    for number in 0..n {
        let id = MemberName::new(&[b'a' + number])?;
        let member = Member::new(id, MasterSeed::from_bytes(&[number; 32]), &epoch)?;
        registrations.push((member.register(Deterministic)?, 1));
        let journal = OneTimeKeyJournal::in_memory(member.seed())?;
        signers.push((Arc::new(member), journal));
    }
    let threshold = SigningCommittee::two_thirds(u64::from(n));
    Ok((
        signers,
        SigningCommittee::new(&epoch, registrations, threshold)?,
    ))
}

#[test]
fn four_members_sign() -> Result<()> {
    main()
}
