//! The run: starts the validators, kills and restarts one, and follows their checkpoints.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use harness::{signing_key, thread_time};
use mladsa_aggregate::{ConflictingMessages, SigningCommittee};
use mldsa_core::{Context, MlDsa87, Randomness};
use tempfile::TempDir;

use crate::block::{SLOTS, committee, name, parameters};
use crate::client::LightClient;
use crate::options::Options;
use crate::signing::{member, seed};

pub(crate) const VALIDATORS: usize = 16;
/// The file with the first committee.
pub(crate) const GENESIS: &str = "genesis.committee";

const KILLED: usize = 13;
const COPIED: usize = 14;
const SILENT: usize = 15;

/// The validators, which end with this value.
struct Processes<'a> {
    options: &'a Options,
    shared: TempDir,
    children: BTreeMap<usize, Child>,
    deadline: Instant,
}

impl Processes<'_> {
    fn directory(&self, n: usize) -> PathBuf {
        self.shared.path().join(n.to_string())
    }

    /// Starts a validator. Only its first process creates its directory and its journals: with a new
    /// journal, the same seed would use its one-time keys again.
    fn spawn(&mut self, n: usize, first: bool) -> anyhow::Result<()> {
        let role = match n {
            COPIED => "copied",
            SILENT => "silent",
            _ => "honest",
        };
        if first {
            fs::create_dir(self.directory(n))?;
        }
        let network = &self.options.network;
        let child = Command::new(std::env::current_exe()?)
            .args(["--port", &network.port.to_string()])
            .args(["--timeout-ms", &network.timeout_ms.to_string()])
            .args(["validator", &n.to_string()])
            .arg(self.directory(n))
            .arg(role)
            .args(first.then_some("--first"))
            .stdin(Stdio::null())
            .spawn()?;
        self.children.insert(n, child);
        Ok(())
    }

    /// The file that a validator has published, or will publish.
    fn wait(&mut self, n: usize, file: &str) -> anyhow::Result<Vec<u8>> {
        let path = self.directory(n).join(file);
        while !path.exists() {
            ensure!(
                Instant::now() < self.deadline,
                "validator {n}: no {file} in time"
            );
            for (n, child) in &mut self.children {
                if let Some(status) = child.try_wait()? {
                    bail!("validator {n} has ended: {status}");
                }
            }
            sleep(Duration::from_millis(20));
        }
        fs::read(&path).with_context(|| path.display().to_string())
    }

    /// Kills a validator when it has begun a session.
    fn kill(&mut self, n: usize, session: &str) -> anyhow::Result<()> {
        self.wait(n, session)?;
        let mut child = self.children.remove(&n).context("a validator")?;
        child.kill()?;
        child.wait()?;
        Ok(())
    }
}

impl Drop for Processes<'_> {
    fn drop(&mut self) {
        for child in self.children.values_mut() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Milliseconds to verify this number of signatures of a list.
fn list_ms(signers: usize) -> anyhow::Result<f64> {
    let key = signing_key::<MlDsa87>(0);
    let context = Context::new(b"")?;
    let signature = key.sign_with_context(b"payload", context, Randomness::Deterministic)?;
    let start = thread_time();
    for _ in 0..signers {
        let key = key.verifying_key();
        key.verify_with_context(b"payload", context, signature.as_ref())?;
    }
    Ok((thread_time() - start).as_secs_f64() * 1e3)
}

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let epoch = parameters(1, VALIDATORS)?;
    let members = (0..VALIDATORS).map(|n| -> anyhow::Result<_> {
        let member = member(n, &seed(n), &epoch)?;
        Ok(member.register(Randomness::Deterministic)?)
    });
    let first = committee(
        &epoch,
        members.collect::<anyhow::Result<Vec<_>>>()?,
        VALIDATORS,
    )?;
    let shared = tempfile::tempdir()?;
    fs::write(shared.path().join(GENESIS), first.to_bytes())?;
    let mut processes = Processes {
        options,
        shared,
        children: BTreeMap::new(),
        deadline: Instant::now() + Duration::from_secs(options.seconds),
    };
    for n in 0..VALIDATORS {
        processes.spawn(n, true)?;
    }
    // Within the session of the last checkpoint of the first epoch.
    processes.kill(KILLED, "1-1.begun")?;
    processes.wait(0, "2-0.begun")?;
    processes.spawn(KILLED, false)?;

    let mut client = LightClient::new(*first.identity());
    println!(
        "| epoch | slot | signers | attempt | ms to the certificate | kB sent by a validator | certificate, bytes | aggregate, bytes | with openings, ms | cached, ms | list, bytes | list, ms |\n|---|---|---|---|---|---|---|---|---|---|---|---|"
    );
    for epoch in 1..=options.epochs {
        for slot in 0..SLOTS {
            let [cost, payload, certificate] = ["cost", "payload", "certificate"]
                .map(|kind| processes.wait(0, &format!("{epoch}-{slot}.{kind}")));
            let committee = processes.wait(0, &format!("{epoch}.committee"))?;
            let checkpoint = client.follow(&committee, slot, &payload?, &certificate?)?;
            let cost = String::from_utf8(cost?)?;
            let (ms, sent) = cost.split_once(' ').context("two numbers")?;
            let signers = checkpoint.signers;
            println!(
                "| {epoch} | {slot} | {signers} | {} | {ms} | {} | {} | {} | {:.3} | {:.3} | {} | {:.3} |",
                checkpoint.attempt,
                sent.parse::<u64>()? / 1000,
                checkpoint.certificate_bytes,
                checkpoint.aggregate_bytes,
                checkpoint.with_openings_ms,
                checkpoint.cached_ms,
                4627 * signers,
                list_ms(signers)?,
            );
        }
    }
    // Every honest validator has every certificate, also the one that was killed.
    let honest = (0..VALIDATORS).filter(|n| ![COPIED, SILENT].contains(n));
    for n in honest.clone() {
        for epoch in 1..=options.epochs {
            for slot in 0..SLOTS {
                processes.wait(n, &format!("{epoch}-{slot}.certificate"))?;
            }
        }
    }
    let mut named = BTreeSet::new();
    for n in honest {
        for entry in fs::read_dir(processes.directory(n))? {
            let path = entry?.path();
            match path.extension().and_then(|kind| kind.to_str()) {
                Some("evidence") => {
                    let file = path.file_name().and_then(|file| file.to_str());
                    let epoch = file.and_then(|file| file.split('-').next());
                    let committee = format!("{}.committee", epoch.context("a number")?);
                    let committee = fs::read(processes.directory(n).join(committee))?;
                    let committee = SigningCommittee::from_bytes(&committee)?;
                    let evidence = ConflictingMessages::from_bytes(&fs::read(path)?, &committee)?;
                    named.insert(*evidence.id());
                }
                Some("blamed") => {
                    let id = fs::read(path)?;
                    ensure!(
                        id == name(COPIED)?.as_bytes(),
                        "an honest validator is blamed"
                    );
                }
                _ => {}
            }
        }
    }
    ensure!(
        named == BTreeSet::from([name(COPIED)?]),
        "evidence against {named:?}"
    );
    println!(
        "\nvalidator {KILLED} was killed and has all certificates; evidence of two signed messages names {} alone; {SILENT} is silent",
        name(COPIED)?
    );
    let identity = client.identity().map(|byte| format!("{byte:02x}")).concat();
    println!(
        "the light client ends at the committee of epoch {}: {identity}",
        options.epochs + 1
    );
    Ok(())
}
