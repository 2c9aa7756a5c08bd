//! `batch-verify` with a device behind it gives the reports of the CPU.

use batch_verify::{
    BatchVerifier, Committee, CommitteeVerifier, Item, Message, Mode, Report, Threads, Vote,
};
use mldsa_core::{Context, MlDsa44, Mu, MuBuilder, Randomness, SigningKey};

use super::faults::{Fault, faulty};
use super::{options, usable};
use crate::{Gpu, GpuError, GpuOptions};

const CONTEXT: &[u8] = b"chain";

struct Signed {
    signer: usize,
    message: Vec<u8>,
    signature: Vec<u8>,
}

/// Signatures of `signers` in turn; each fifth is damaged in one of several ways.
fn signatures(signers: &[SigningKey<MlDsa44>], count: usize) -> Vec<Signed> {
    let context = Context::new(CONTEXT).expect("a context");
    let sign = |n: usize| {
        let (signer, message) = (n % signers.len(), vec![n as u8; n]);
        let signature =
            signers[signer].sign_with_context(&message, context, Randomness::Deterministic);
        let mut signature = signature.expect("a signature").as_ref().to_vec();
        match n % 25 {
            0 => signature[0] ^= 1,
            5 => signature[32..100].fill(0),
            10 => signature[2400..].fill(0xff),
            15 => signature.truncate(100),
            20 => signature.clear(),
            _ => {}
        }
        Signed {
            signer,
            message,
            signature,
        }
    };
    (0..count).map(sign).collect()
}

/// Verdicts and duplicates with and without the device.
fn same(device: &Report, cpu: &Report) {
    assert_eq!(device.verdicts(), cpu.verdicts());
    assert_eq!(device.duplicates(), cpu.duplicates());
}

fn small() -> GpuOptions {
    GpuOptions {
        batch_items: 20,
        batches: 2,
        prepared_keys: 4,
        encoded_keys: 1,
        ..options()
    }
}

fn signers(first: u8, count: u8) -> Vec<SigningKey<MlDsa44>> {
    (first..first + count)
        .map(|n| SigningKey::from_seed(&[n; 32]))
        .collect()
}

/// Items in every form, and votes of committees that fit the table and that do not.
fn compare(gpu: &Gpu<MlDsa44>) {
    let context = Context::new(CONTEXT).expect("a context");
    for mode in [Mode::Full, Mode::FirstInvalid] {
        let builder = || {
            BatchVerifier::<MlDsa44>::builder()
                .threads(Threads::Inline)
                .mode(mode)
        };
        let members = || {
            CommitteeVerifier::<MlDsa44>::builder()
                .threads(Threads::Inline)
                .mode(mode)
        };
        let signers_of_items = signers(0, 3);
        let signed = signatures(&signers_of_items, 70);
        let mus: Vec<Mu> = signed
            .iter()
            .map(|s| {
                let key = signers_of_items[s.signer].verifying_key();
                let mut mu = MuBuilder::from_tr(key.tr(), context);
                mu.update(&s.message);
                mu.finish()
            })
            .collect();
        let parts: Vec<[&[u8]; 2]> = signed
            .iter()
            .map(|s| s.message.split_at(s.message.len() / 2).into())
            .collect();
        let items = || {
            signed.iter().enumerate().map(|(n, s)| {
                let key = signers_of_items[s.signer].verifying_key();
                match n % 4 {
                    0 => Item::from_mu(key, &mus[n], &s.signature),
                    1 => Item::new(key, Message::Parts(&parts[n]), context, &s.signature),
                    2 => Item::new(&key.as_bytes()[n % 3..], &s.message, context, &s.signature),
                    _ => Item::new(key, &s.message, context, &s.signature),
                }
            })
        };
        let (device, cpu) = (
            builder().accelerator(gpu.clone()).build(),
            builder().build(),
        );
        let (device, cpu) = (device.expect("a verifier"), cpu.expect("a verifier"));
        same(
            &device.verify_batch(items().chain(items())),
            &cpu.verify_batch(items().chain(items())),
        );
        for (first, count) in [(10, 3), (10, 4), (20, 4), (10, 4), (30, 6)] {
            let signers = signers(first, count);
            let committee = Committee::<MlDsa44>::builder(CONTEXT).threads(Threads::Inline);
            let keys = signers.iter().map(|signer| (signer.verifying_key(), 1));
            let committee = committee.build(keys).expect("a committee");
            let signed = signatures(&signers, 50);
            let votes = || {
                signed.iter().map(|s| {
                    let member = committee.member(s.signer as u32).expect("a member");
                    Vote::new(member, &s.message, &s.signature)
                })
            };
            let device = members().accelerator(gpu.clone()).build(committee.clone());
            let cpu = members().build(committee.clone()).expect("a verifier");
            same(
                &device.expect("a verifier").verify_batch(votes()),
                &cpu.verify_batch(votes()),
            );
        }
    }
}

#[test]
fn reports_are_those_of_the_cpu() {
    let Some(gpu) = usable(Gpu::open(small())) else {
        return;
    };
    let before = gpu.counts();
    compare(&gpu);
    let after = gpu.counts();
    assert_eq!((gpu.fault(), after.batches_without_device), (None, 0));
    assert!(after.items > before.items + 400, "{after:?}");
    assert_eq!(gpu.key_memory().prepared, 5);
}

#[test]
fn so_are_those_of_a_device_that_fails() {
    for (name, fault) in [
        ("accelerates and accepts all", Fault::AllAre(0xc5)),
        ("accelerates and rejects all", Fault::AllAre(0xb4)),
        ("accelerates and rejects one", Fault::One(0xc5, 0xb4)),
        ("accelerates and fails", Fault::Launch),
    ] {
        let options = GpuOptions {
            cross_check: None,
            ..small()
        };
        let Some((gpu, switch)) = faulty(name, options) else {
            return;
        };
        *switch.lock().expect("a switch") = fault;
        compare(&gpu);
        assert!(matches!(
            gpu.fault(),
            Some(GpuError::WrongVerdict | GpuError::Driver { .. })
        ));
    }
}

#[test]
fn keys_of_members_stay_and_keys_that_were_evicted_go_with_their_items() {
    let Some(gpu) = usable(Gpu::<MlDsa44>::open(small())) else {
        return;
    };
    let context = Context::new(CONTEXT).expect("a context");
    let signers = signers(40, 3);
    let committee = Committee::<MlDsa44>::builder(CONTEXT).threads(Threads::Inline);
    let keys = signers.iter().map(|signer| (signer.verifying_key(), 1));
    let committee = committee.build(keys).expect("a committee");
    let signed = signatures(&signers, 50);
    let members = CommitteeVerifier::<MlDsa44>::builder().threads(Threads::Inline);
    let members = members.accelerator(gpu.clone()).build(committee.clone());
    let members = members.expect("a verifier");
    let verify_votes = || {
        let before = gpu.counts().items;
        let votes = signed.iter().map(|s| {
            let member = committee.member(s.signer as u32).expect("a member");
            Vote::new(member, &s.message, &s.signature)
        });
        let _ = members.verify_batch(votes);
        (gpu.counts().items - before, gpu.key_memory().prepared)
    };
    let (items, prepared) = verify_votes();
    assert_eq!(prepared, 4);
    let verifier = BatchVerifier::<MlDsa44>::builder().threads(Threads::Inline);
    let verifier = verifier.accelerator(gpu.clone()).build();
    let _ = verifier
        .expect("a verifier")
        .verify_batch(signed.iter().map(|s| {
            let key = signers[s.signer].verifying_key();
            Item::new(key, &s.message, context, &s.signature)
        }));
    assert_eq!(gpu.key_memory().prepared, 4);
    // What another thread may do while a batch is filled.
    let members = gpu.shared.members.lock().expect("members");
    let ids: Vec<_> = members.values().copied().collect();
    drop(members);
    assert_eq!(gpu.evict(&ids), 3);
    assert_eq!(verify_votes(), (items, 1));
    let counts = gpu.counts();
    assert_eq!((gpu.fault(), counts.batches_without_device), (None, 0));
}
