//! Checkpoints of a ledger for a light client: 16 validators, a committee for each epoch, one aggregate
//! for each checkpoint. Of the validators one is silent, one shows two hashes, one restarts.
//!
//! `cargo run --release -p mladsa-aggregate --features test-util --example checkpoints`
//!
//! The ledger of this example is a list of blocks that are final when they are appended; an engine puts its
//! own in the place. Blocks carry the registrations for the next epoch, so that the committee of an epoch is
//! final before one of its keys is opened. The light client begins with one identity. The payload of each
//! checkpoint contains the identity of the next committee.
#![allow(clippy::unwrap_used, reason = "a demonstration")]

#[allow(dead_code, reason = "shared with the tests")]
#[path = "../tests/committee/mod.rs"]
mod committee;
#[path = "../tests/hostile/mod.rs"]
mod hostile;
#[path = "../tests/simulation/mod.rs"]
mod simulation;

use std::sync::Arc;
use std::time::Instant;

use committee::*;
use mladsa_aggregate::*;
use mldsa_core::Randomness::Deterministic;
use mldsa_core::{Context, MlDsa87, SigningKey};
use sha2::{Digest, Sha256};
use simulation::Fault::*;
use simulation::{Simulation, TIMEOUT};

const VALIDATORS: usize = 16;
/// Blocks from one checkpoint to the next.
const BLOCKS: u64 = 16;

/// A final block.
struct Block {
    height: u64,
    parent: [u8; 32],
    registrations: Vec<Vec<u8>>,
}

impl Block {
    fn digest(&self) -> [u8; 32] {
        let mut hash = Sha256::new();
        hash.update(self.height.to_be_bytes());
        hash.update(self.parent);
        self.registrations
            .iter()
            .for_each(|bytes| hash.update(bytes));
        hash.finalize().into()
    }
}

/// What the committee signs at a height.
fn payload(block: &Block, next: &[u8; 32]) -> Vec<u8> {
    [&block.height.to_be_bytes()[..], &block.digest(), next].concat()
}

/// Parameters of an epoch: two checkpoints.
fn parameters(number: u64) -> Arc<Epoch> {
    Epoch::new(DOMAIN, number, 2, Epoch::attempts_for(VALIDATORS)).unwrap()
}

/// The validators of an epoch, and their registrations.
fn register(number: u64) -> (Vec<Arc<Member>>, Vec<Vec<u8>>) {
    let epoch = parameters(number);
    let members = (0..VALIDATORS).map(|n| Arc::new(member(n, &epoch)));
    let members: Vec<_> = members.collect();
    let entries = members
        .iter()
        .map(|member| member.register(Deterministic).unwrap().to_bytes());
    let entries = entries.collect();
    (members, entries)
}

/// The committee that the registrations in final blocks determine.
fn finalised(number: u64, registrations: &[Vec<u8>]) -> Arc<Committee> {
    let entries = registrations
        .iter()
        .map(|bytes| Registration::from_bytes(bytes).unwrap());
    let threshold = Committee::two_thirds(registrations.len() as u64);
    Committee::new(
        &parameters(number),
        entries.map(|entry| (entry, 1)),
        threshold,
    )
    .unwrap()
}

/// A client that holds the identity of one committee.
struct LightClient {
    view: CommitteeView,
}

impl LightClient {
    /// Follows a checkpoint to the identity of the next committee. Returns the milliseconds of the
    /// verification with openings, and of the aggregate alone when they are cached.
    fn follow(
        &self,
        certificate: &Certificate,
        slot: u32,
        payload: &[u8],
    ) -> Result<(f64, f64, [u8; 32]), Error> {
        let task = SigningTask::decision(slot, payload);
        let start = Instant::now();
        certificate.verify(&self.view, &task)?;
        let whole = milliseconds(start);
        let aggregate = certificate.aggregate();
        let set = aggregate.to_bytes();
        // The positions of the signers are in the aggregation bits, before the signature.
        let bits = &set[set.len() - 4627 - (VALIDATORS / 8 + 1)..set.len() - 4627];
        let signers = (0..VALIDATORS).filter(|at| bits[at / 8] >> (at % 8) & 1 == 1);
        let openings = signers.zip(certificate.openings());
        let keys = openings
            .map(|(at, bytes)| self.view.authenticate(at, aggregate.attempt_id(), bytes))
            .collect::<Result<Vec<_>, _>>()?;
        let start = Instant::now();
        aggregate.verify(&self.view, &keys, &task)?;
        let cached = milliseconds(start);
        let next = payload.last_chunk().copied().unwrap_or_default();
        Ok((whole, cached, next))
    }
}

fn milliseconds(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1e3
}

fn main() {
    let (mut members, mut registrations) = register(1);
    let mut committee = finalised(1, &registrations);
    // One journal for the life of a seed.
    let mut journals: Vec<_> = members.iter().map(|member| journal(member)).collect();
    // What the light client is given once.
    let mut identity = *committee.identity();
    let mut chain = vec![Block {
        height: 0,
        parent: [0; 32],
        registrations: Vec::new(),
    }];
    println!(
        "| checkpoint | signers | attempt | time / timeout | kB sent by a validator | certificate, bytes | aggregate, bytes | with openings, ms | cached, ms | list, bytes | list, ms |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|");
    for epoch in 1..=3 {
        let mut client = LightClient {
            view: CommitteeView::from_bytes(&committee.view().to_bytes(), &identity).unwrap(),
        };
        for (id, _) in committee.members() {
            let opening = committee.member_opening(id).unwrap();
            client.view.add_member(&opening).unwrap();
        }
        let mut group = Group {
            members,
            committee: Arc::clone(&committee),
            journals,
        };
        (members, registrations) = register(epoch + 1);
        let mut pending = registrations.clone().into_iter();
        for slot in 0..2 {
            for _ in 0..BLOCKS {
                let parent = chain.last().unwrap();
                // The proposer of a block adds its registration.
                chain.push(Block {
                    height: parent.height + 1,
                    parent: parent.digest(),
                    registrations: pending.next().into_iter().collect(),
                });
            }
            let block = chain.last().unwrap();
            let first = chain.len() - (BLOCKS as usize) * (slot as usize + 1);
            let found: Vec<_> = chain[first..]
                .iter()
                .flat_map(|block| &block.registrations)
                .cloned()
                .collect();
            let next = finalised(epoch + 1, &found);
            let payload = payload(block, next.identity());
            let mut faults = vec![Honest; VALIDATORS];
            faults[13] = Crash(20, 160);
            faults[14] = TwoHashes;
            faults[15] = Silent;
            let task = SigningTask::decision(slot, &payload);
            let mut run = Simulation::with(group, &faults, 10, task);
            run.run();
            let certificate = run.completed[0].clone().unwrap();
            let (whole, cached, followed) = client.follow(&certificate, slot, &payload).unwrap();
            assert!(client.follow(&certificate, slot, b"another block").is_err());
            identity = followed;
            let signers = certificate.openings().len();
            let list = list(signers);
            let sent: u64 = run.sent[..13].iter().sum::<u64>() / 13_000;
            println!(
                "| {} | {signers} | {} | {:.1} | {sent} | {} | {} | {whole:.3} | {cached:.3} | {} | {list:.3} |",
                block.height,
                certificate.aggregate().attempt_id().number,
                run.now as f64 / TIMEOUT as f64,
                certificate.to_bytes().len(),
                certificate.aggregate().to_bytes().len(),
                4627 * signers,
            );
            group = run.group;
            committee = next;
        }
        journals = group.journals;
        for journal in &mut journals {
            journal.close_epoch(epoch).unwrap();
        }
    }
    println!(
        "\nthe light client ends at the committee of epoch 4: {}",
        hex::encode(identity)
    );
}

/// Milliseconds to verify this number of signatures of a list.
fn list(signers: usize) -> f64 {
    let key = SigningKey::<MlDsa87>::from_seed(&[1; 32]);
    let context = Context::new(b"").unwrap();
    let one = key
        .sign_with_context(b"payload", context, Deterministic)
        .unwrap();
    let start = Instant::now();
    for _ in 0..signers {
        key.verifying_key()
            .verify_with_context(b"payload", context, one.as_ref())
            .unwrap();
    }
    milliseconds(start)
}

#[test]
fn light_client_follows() {
    main();
}
