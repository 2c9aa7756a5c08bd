//! What callers may do wrong, and what they may do at the same time.

use core::time::Duration;
use std::sync::Arc;
use std::thread;

use batch_verify::RejectReason;
use mldsa_core::{Context, MlDsa44, Randomness, SigningKey, VerifyingKey};

use super::{options, usable};
use crate::batch::{Batch, Key, Signed};
use crate::error::PushError;
use crate::job::Pending;
use crate::registry::Table;
use crate::{Choice, Gpu, GpuError, GpuOptions};

const MESSAGE: Signed<'_> = Signed::Message(Context::EMPTY, b"a message");

fn signer(n: u8) -> SigningKey<MlDsa44> {
    SigningKey::from_seed(&[n; 32])
}

fn key(n: u8) -> VerifyingKey<MlDsa44> {
    signer(n).verifying_key().clone()
}

fn signature(n: u8) -> Vec<u8> {
    let signed =
        signer(n).sign_with_context(b"a message", Context::EMPTY, Randomness::Deterministic);
    signed.expect("a signature").as_ref().to_vec()
}

fn small() -> GpuOptions {
    GpuOptions {
        batch_items: 20,
        batches: 2,
        prepared_keys: 3,
        encoded_keys: 2,
        ..options()
    }
}

#[test]
fn sizes_and_devices_that_do_not_exist() {
    let open = |options| Gpu::<MlDsa44>::open(options).err();
    for options in [
        GpuOptions {
            batch_items: 0,
            ..options()
        },
        GpuOptions {
            batch_items: (1 << 20) + 1,
            ..options()
        },
        GpuOptions {
            batches: 0,
            ..options()
        },
        GpuOptions {
            message_bytes: 0,
            ..options()
        },
        GpuOptions {
            prepared_keys: usize::MAX,
            ..options()
        },
        GpuOptions {
            batch_items: 1 << 20,
            message_bytes: 4096,
            ..options()
        },
        GpuOptions {
            batch_items: usize::MAX,
            ..options()
        },
        GpuOptions {
            batch_items: usize::MAX / 8,
            message_bytes: usize::MAX,
            ..options()
        },
        GpuOptions {
            encoded_keys: usize::MAX,
            ..options()
        },
        GpuOptions {
            batches: usize::MAX,
            ..options()
        },
        GpuOptions {
            deadline: Duration::MAX,
            ..options()
        },
    ] {
        assert_eq!(open(options), Some(GpuError::Options));
    }
    let threads = batch_verify::Threads::Dedicated(0);
    assert_eq!(
        open(GpuOptions {
            threads,
            ..options()
        }),
        Some(GpuError::Threads)
    );
    for device in [Choice::Cuda(99), Choice::OpenCl(99), Choice::OpenClCpu(99)] {
        let error = open(GpuOptions {
            device,
            ..options()
        });
        assert!(
            matches!(
                error,
                Some(GpuError::NoDriver(_) | GpuError::NoDevice | GpuError::Driver { .. })
            ),
            "{device:?}: {error:?}"
        );
    }
}

#[test]
fn batches_that_are_empty_full_malformed_or_too_many() {
    let Some(gpu) = usable(Gpu::<MlDsa44>::open(small())) else {
        return;
    };
    assert_eq!(gpu.batch_with_keys().expect("a batch").submit().wait(), []);
    let (key, good) = (key(1), signature(1));
    let mut batch = gpu.batch_with_keys().expect("a batch");
    let second = gpu.batch(Table::Encoded).expect("another batch");
    assert_eq!(gpu.batch_with_keys().err(), Some(GpuError::Busy));
    drop(second);
    let encoded = key.as_bytes();
    let long = vec![7; 100_000];
    let short = (Key::Encoded(&encoded[1..]), &good[..]);
    for (n, (key, signature)) in [short, (Key::from(&key), &good[1..]), (Key::from(&key), &[])]
        .into_iter()
        .enumerate()
    {
        assert_eq!(batch.push(key, MESSAGE, signature), Ok(n));
    }
    // A long message is hashed by the CPU.
    let long = Signed::Message(Context::EMPTY, &long);
    assert_eq!(batch.push(&key, long, &good), Ok(3));
    batch
        .slot(&key, MESSAGE)
        .expect("room")
        .copy_from_slice(&good);
    assert_eq!(
        batch.slot(&encoded[1..], MESSAGE).err(),
        Some(PushError::UnknownKey)
    );
    while batch.len() < batch.capacity() {
        batch.push(&key, MESSAGE, &good).expect("room");
    }
    assert_eq!(batch.push(&key, MESSAGE, &good), Err(PushError::Full));
    for _ in 0..1_000_000 {
        assert_eq!(batch.push(&key, MESSAGE, &[]), Err(PushError::Full));
    }
    assert_eq!(batch.signatures_mut().len(), 17);
    let verdicts = batch.submit().wait();
    let mut wanted = vec![Ok(()); 20];
    wanted[0] = Err(RejectReason::PublicKeyLength);
    wanted[1] = Err(RejectReason::SignatureLength);
    wanted[2] = Err(RejectReason::SignatureLength);
    wanted[3] = Err(RejectReason::ChallengeMismatch);
    assert_eq!(verdicts, wanted);
    assert_eq!(gpu.fault(), None);
}

#[test]
fn keys_that_are_unknown_evicted_or_too_many() {
    let Some(gpu) = usable(Gpu::<MlDsa44>::open(small())) else {
        return;
    };
    // Two terabytes.
    let large = GpuOptions {
        prepared_keys: 1 << 27,
        ..small()
    };
    assert_eq!(Gpu::<MlDsa44>::open(large).err(), Some(GpuError::Memory));
    let Some(other) = usable(Gpu::<MlDsa44>::open(small())) else {
        return;
    };
    let before = gpu.key_memory();
    let (keys, good) = ([key(1), key(2), key(3)], signature(1));
    let ids = gpu.register(Table::Prepared, &keys).expect("room");
    let memory = gpu.key_memory();
    assert_eq!(
        (memory.prepared, memory.encoded),
        (before.prepared + 3, before.encoded)
    );
    assert_eq!(memory.bytes, before.bytes + 3 * (4 * 5 * 768 + 64));
    assert_eq!(
        gpu.register(Table::Prepared, &[key(4)]),
        Err(GpuError::TableFull)
    );
    assert_eq!(
        gpu.register(Table::Encoded, &keys),
        Err(GpuError::TableFull)
    );
    assert_eq!(gpu.register(Table::Encoded, &[]), Ok(vec![]));

    let mut batch = other.batch(Table::Prepared).expect("a batch");
    assert_eq!(
        batch.push(ids[0], MESSAGE, &good),
        Err(PushError::UnknownKey)
    );
    let mut batch = gpu.batch(Table::Encoded).expect("a batch");
    assert_eq!(
        batch.push(ids[0], MESSAGE, &good),
        Err(PushError::OtherTable)
    );
    assert_eq!(
        batch.push(&keys[0], MESSAGE, &good),
        Err(PushError::OtherTable)
    );
    drop(batch);

    // The place of an evicted key is not used again while a batch may name it.
    let mut batch = gpu.batch(Table::Prepared).expect("a batch");
    batch.push(ids[0], MESSAGE, &good).expect("room");
    assert_eq!(gpu.evict(&ids[..2]), 2);
    assert_eq!(gpu.evict(&ids[..1]), 0);
    assert_eq!(
        batch.push(ids[0], MESSAGE, &good),
        Err(PushError::UnknownKey)
    );
    assert_eq!(
        gpu.register(Table::Prepared, &[key(4)]),
        Err(GpuError::TableFull)
    );
    batch.push(ids[2], MESSAGE, &good).expect("room");
    let verdicts = batch.submit().wait();
    assert_eq!(verdicts, [Ok(()), Err(RejectReason::ChallengeMismatch)]);

    // Two places that are not neighbours.
    let ids = [
        gpu.register(Table::Prepared, &[key(4)]).expect("room"),
        ids[2..].to_vec(),
    ]
    .concat();
    assert_eq!(gpu.evict(&ids[1..]), 1);
    let more = gpu
        .register(Table::Prepared, &[key(5), key(6)])
        .expect("room");
    let mut batch = gpu.batch(Table::Prepared).expect("a batch");
    assert_eq!(
        batch.push(ids[1], MESSAGE, &good),
        Err(PushError::UnknownKey)
    );
    for (id, n) in [(ids[0], 4), (more[0], 5), (more[1], 6)] {
        batch.push(id, MESSAGE, &signature(n)).expect("room");
    }
    assert_eq!(batch.submit().wait(), [Ok(()); 3]);
    assert_eq!((gpu.fault(), other.fault()), (None, None));
}

#[test]
fn threads_and_handles_that_are_dropped() {
    let Some(gpu) = usable(Gpu::<MlDsa44>::open(small())) else {
        return;
    };
    let (key, good) = (key(1), signature(1));
    let fill = |gpu: &Gpu<MlDsa44>, items: usize| loop {
        match gpu.batch_with_keys() {
            Ok(mut batch) => {
                (0..items).for_each(|_| assert!(batch.push(&key, MESSAGE, &good).is_ok()));
                return batch;
            }
            Err(GpuError::Busy) => thread::yield_now(),
            Err(error) => panic!("{error}"),
        }
    };
    // More handles than blocks.
    for _ in 0..5 {
        drop(fill(&gpu, 3).submit());
    }
    thread::scope(|scope| {
        for items in 1..4 {
            let (fill, gpu) = (&fill, gpu.clone());
            scope.spawn(move || {
                for _ in 0..4 {
                    let verdicts = fill(&gpu, items).submit().wait();
                    assert_eq!(verdicts, vec![Ok(()); items]);
                }
            });
        }
    });
    assert_eq!(gpu.fault(), None);
    // The last handle of the device goes before its batch does.
    let batch = fill(&gpu, 2);
    drop(gpu);
    assert_eq!(batch.submit().wait(), [Ok(()); 2]);
}

/// A launch whose answers nobody could check does not happen.
#[test]
fn without_planted_items_there_is_no_answer() {
    let Some(mut gpu) = usable(Gpu::<MlDsa44>::open(small())) else {
        return;
    };
    // The thread that settles batches lets go of those of the self-test.
    let shared = loop {
        if Arc::get_mut(&mut gpu.shared).is_some() {
            break Arc::get_mut(&mut gpu.shared).expect("the only handle");
        }
        thread::yield_now();
    };
    shared.probes.by_class[1].clear();
    let before = gpu.counts().batches_without_device;
    let (key, good) = (key(1), signature(1));
    let mut batch = gpu.batch_with_keys().expect("a batch");
    for signature in [&good[..], &[0; 2420]] {
        batch.push(&key, MESSAGE, signature).expect("room");
    }
    let verdicts = batch.submit().wait();
    assert_eq!(verdicts, [Err(RejectReason::NotVerified); 2]);
    assert_eq!(gpu.fault(), Some(&GpuError::Unsuitable("planted items")));
    assert_eq!(gpu.counts().batches_without_device, before + 1);
}

#[test]
fn a_thread_with_a_small_stack() {
    // The thread that calls the device verifies on the CPU too.
    let options = GpuOptions {
        cross_check: Some(1),
        deadline: Duration::from_secs(1 << 32),
        open_deadline: Duration::MAX,
        ..small()
    };
    let open = || {
        let Some(gpu) = usable(Gpu::<mldsa_core::MlDsa87>::open(options)) else {
            return;
        };
        super::faults::right_verdicts(&gpu);
        assert!(gpu.counts().verified_again > 0);
    };
    let thread = thread::Builder::new().stack_size(128 << 10).spawn(open);
    thread.expect("a thread").join().expect("enough stack");
}

#[cfg(unix)]
#[test]
#[allow(unsafe_code, reason = "a child process")]
fn a_child_process_leaves_batches_to_its_parent() {
    unsafe extern "C" {
        fn fork() -> i32;
        fn waitpid(child: i32, status: *mut i32, options: i32) -> i32;
        fn _exit(code: i32) -> !;
    }
    let Some(gpu) = usable(Gpu::<MlDsa44>::open(small())) else {
        return;
    };
    let (key, good) = (key(1), signature(1));
    let ids = gpu.register(Table::Prepared, &[key]).expect("room");
    let mut batch = gpu.batch(Table::Prepared).expect("a batch");
    for signature in [&good[..], &[0; 2420]] {
        batch.push(ids[0], MESSAGE, signature).expect("room");
    }
    assert_eq!(batch.push(ids[0], MESSAGE, &[]), Ok(2));
    let mut other = gpu.batch(Table::Prepared).expect("a batch");
    other.push(ids[0], MESSAGE, &good).expect("room");
    let in_flight = other.submit();
    let in_child = |mut batch: Batch<MlDsa44>, in_flight: Pending<MlDsa44>| {
        let is_cuda = options().device == Choice::Cuda(0);
        let is_refused = batch.push(ids[0], MESSAGE, &good) == Err(PushError::Forked)
            && batch.push(ids[0], MESSAGE, &[]) == Err(PushError::Forked)
            && batch.slot(ids[0], MESSAGE).err() == Some(PushError::Forked)
            && batch.signatures_mut().len() == 0;
        let unverified = Err(RejectReason::NotVerified);
        let wanted = [unverified, unverified, Err(RejectReason::SignatureLength)];
        is_refused
            && batch.submit().wait() == wanted
            && in_flight.wait() == [unverified]
            && gpu.fault() == Some(&GpuError::Forked)
            && gpu.batch(Table::Encoded).err() == Some(GpuError::Forked)
            && gpu.batch_with_keys().err() == Some(GpuError::Forked)
            && gpu.register(Table::Encoded, &[]) == Err(GpuError::Forked)
            && !(is_cuda && Gpu::<MlDsa44>::open(small()).is_ok())
    };
    // SAFETY: the child calls nothing that waits for another thread, and ends without unwinding.
    let child = unsafe { fork() };
    if child == 0 {
        let run = || in_child(batch, in_flight);
        let is_right = std::panic::catch_unwind(core::panic::AssertUnwindSafe(run));
        // SAFETY: ends the child at once.
        unsafe { _exit(if matches!(is_right, Ok(true)) { 0 } else { 1 }) }
    }
    let mut status = -1;
    // SAFETY: a child of this process and a place for its status.
    assert_eq!(unsafe { waitpid(child, &mut status, 0) }, child);
    assert_eq!(status, 0);
    // What the child did changes nothing here.
    assert_eq!(in_flight.wait(), [Ok(())]);
    batch.push(ids[0], MESSAGE, &good).expect("room");
    let (norm, short) = (RejectReason::ResponseNorm, RejectReason::SignatureLength);
    let verdicts = batch.submit().wait();
    assert_eq!(verdicts, [Ok(()), Err(norm), Err(short), Ok(())]);
    assert_eq!(gpu.fault(), None);
}
