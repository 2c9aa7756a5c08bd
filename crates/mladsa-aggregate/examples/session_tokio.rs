//! Four members as tokio tasks, each with a [`Session`] over channels that lose every seventh message.
//!
//! `cargo run -p mladsa-aggregate --features test-util --example session_tokio`
//!
//! A node replaces the channels by its network, and stores journals and lists in files.

use core::error::Error;
use core::time::Duration;
use std::sync::Arc;
use std::time::Instant;

use mladsa_aggregate::{
    AgreedRoots, Certificate, EpochPlan, EpochTree, MasterSeed, Member, MemberId,
    MemoryWriteOnceStore, OneTimeKeyJournal, PinnedRoots, Registry, Session, SessionEvent,
    SigningTask, TaskId, Threshold,
};
use mldsa_core::Randomness::Deterministic;
use tokio::sync::{broadcast, mpsc};

type Result<T> = core::result::Result<T, Box<dyn Error + Send + Sync>>;

/// Milliseconds of an attempt.
const TIMEOUT: u64 = 8_000;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let (signers, agreed) = committee(4)?;
    let task = SigningTask::decision(TaskId::new(b"block 77")?, b"DEMO", b"its hash")?;
    let (network, _) = broadcast::channel(4096);
    let (done, mut certificates) = mpsc::channel(4);
    for (member, tree, journal) in signers {
        let session = Session::new(member, tree, agreed.clone(), task.clone(), TIMEOUT);
        tokio::spawn(run(session, journal, network.clone(), done.clone()));
    }
    for _ in 0..4 {
        let certificate = certificates.recv().await.ok_or("no member runs")??;
        certificate.verify(&agreed, &task)?;
        let signers = certificate.aggregate().signers(agreed.registry())?;
        println!("signed by {} members", signers.len());
    }
    Ok(())
}

/// One member: passes messages and the time to its session. It runs on after the task is signed, for
/// members without the certificate.
async fn run(
    mut session: Session,
    mut journal: OneTimeKeyJournal,
    network: broadcast::Sender<Vec<u8>>,
    done: mpsc::Sender<Result<Certificate>>,
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
                Ok(message) if number % 7 > 0 => session.receive(&message, now(), &mut journal),
                _ => continue,
            },
        };
        for event in events.unwrap_or_else(|error| vec![SessionEvent::Failed(error)]) {
            let result = match event {
                SessionEvent::Send(message) => {
                    let _ = network.send(message);
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

type Signer = (Arc<Member>, Arc<EpochTree>, OneTimeKeyJournal);

/// Members that have agreed on the roots of an epoch.
fn committee(n: u8) -> Result<(Vec<Signer>, AgreedRoots)> {
    let member = |n| {
        let id = MemberId::new(&[b'a' + n])?;
        Ok(Member::new(id, MasterSeed::from_bytes(&[n; 32]), &[n; 32]))
    };
    let members: Vec<Member> = (0..n).map(member).collect::<Result<_>>()?;
    let entries = members.iter().map(|member| member.register(Deterministic));
    let entries = entries.collect::<core::result::Result<Vec<_>, _>>()?;
    let registry = Registry::new(&[7; 32], entries, &Threshold::TwoThirds)?;
    let plan = EpochPlan::with_attempts(1, vec![TaskId::new(b"block 77")?], 16)?;
    let (mut signers, mut roots, mut acknowledgements) = (Vec::new(), Vec::new(), Vec::new());
    for member in members {
        let mut journal = OneTimeKeyJournal::in_memory(member.seed())?;
        let tree = member.epoch_tree(&registry, &plan)?;
        roots.push(member.announce(&tree, &mut journal, Deterministic)?);
        signers.push((Arc::new(member), Arc::new(tree), journal));
    }
    let mut store = MemoryWriteOnceStore::default();
    let pinned = PinnedRoots::pin(&mut store, &registry, &plan, &roots)?;
    for (member, _, journal) in &mut signers {
        acknowledgements.push(member.acknowledge(&pinned, journal, Deterministic)?);
    }
    // The identity comes from a source that the node trusts.
    let agreed = AgreedRoots::from_pin(&registry.identity(1), &pinned, &acknowledgements)?;
    Ok((signers, agreed))
}

#[test]
fn four_members_sign() -> Result<()> {
    main()
}
