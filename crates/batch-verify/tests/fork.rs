//! A child process made by `fork` gets verdicts from the parent's verifiers, and never waits for
//! threads that it does not have. It builds its own service.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test")]
#![allow(unsafe_code, reason = "`fork` is unsafe")]

use core::panic::AssertUnwindSafe;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::panic::catch_unwind;
use std::thread;
use std::time::Instant;

use batch_verify::{
    Committee, CommitteeVerifier, RejectReason, Source, Threads, VerificationService, Vote,
};
use mldsa_core::{Context, MlDsa44, Randomness, SigningKey};

const CHILDREN: usize = 40;

#[test]
fn a_child_process_never_waits() {
    let limit = std::env::var("MLDSA_TEST_HANG_SECONDS").ok();
    let limit = limit.map_or(600, |seconds| seconds.parse().unwrap());
    let context = Context::new(b"test").unwrap();
    let key = SigningKey::<MlDsa44>::from_seed(&[1; 32]);
    let builder = Committee::<MlDsa44>::builder(context).threads(Threads::Inline);
    let committee = builder.build([(key.verifying_key(), 1)]).unwrap();
    let member = committee.member(0).unwrap();
    let signed: Vec<_> = (0..30_u64)
        .map(|n| {
            let message = n.to_le_bytes();
            let signature = key.sign_with_context(&message, context, Randomness::Deterministic);
            (message, signature.unwrap())
        })
        .collect();
    let vote = |n: usize| Vote::new(member, &signed[n].0, signed[n].1.as_ref());
    let service = VerificationService::builder(committee.clone()).threads(2);
    let service = service
        .batch_threads(Threads::Dedicated(2))
        .build()
        .unwrap();

    let wrong = Vote::new(member, b"other", vote(0).signature);
    let expected = Some((30, RejectReason::ChallengeMismatch));
    let batch = || (0..30).map(vote).chain([wrong]);
    let verifiers = [
        CommitteeVerifier::builder().threads(Threads::Dedicated(2)),
        CommitteeVerifier::builder().threads(Threads::Inline),
        CommitteeVerifier::builder(),
    ];
    let verifiers = verifiers.map(|builder| builder.build(committee.clone()).unwrap());
    // The threads are started here.
    for verifier in &verifiers {
        assert_eq!(verifier.verify_batch(batch()).first_rejected(), expected);
    }

    assert!(!service.verify_batch(batch()).all_valid());
    // rayon's global pool is the program's: this fails once there is one.
    let global = rayon::ThreadPoolBuilder::new().num_threads(2);
    global.build_global().unwrap();
    rayon::broadcast(|_| ());

    let child = || {
        for verifier in verifiers.iter().chain([&committee.verifier()]) {
            assert_eq!(verifier.verify_batch(batch()).first_rejected(), expected);
        }
        let again = Committee::<MlDsa44>::builder(context).build([(key.verifying_key(), 1)]);
        assert_eq!(again.unwrap(), committee);
        let (key, weight) = (SigningKey::<MlDsa44>::from_seed(&[2; 32]), 1);
        let next = committee.successor(1, [(key.verifying_key(), weight)]);
        assert_eq!(next.unwrap().len(), 2);
        // A new service works.
        let fresh = VerificationService::builder(committee.clone()).threads(1);
        let fresh = fresh.build().unwrap();
        let answer = fresh.submit(Source::own(), &vote(0)).unwrap();
        assert_eq!(answer.wait(), Ok(()));
    };

    let stop = AtomicBool::new(false);
    let hung = thread::scope(|scope| {
        // Workers and these threads hold the locks of the service at the time of a fork.
        for thread in 0..2 {
            let (service, stop, vote) = (&service, &stop, &vote);
            scope.spawn(move || {
                let mut forged = vote(0).signature.to_vec();
                for n in 0_u64.. {
                    if stop.load(Ordering::Relaxed) {
                        return;
                    }
                    forged[..8].copy_from_slice(&n.to_le_bytes());
                    let forged = Vote::new(member, b"flood", &forged);
                    if let Ok(answer) = service.submit(Source::peer(thread), &forged) {
                        answer.detach();
                    }
                    let _ = service.verify(&vote(n as usize % 30));
                }
            });
        }
        let mut failed = None;
        for _ in 0..CHILDREN {
            // SAFETY: the child only runs `child` and ends with `_exit`; the C library's
            // allocator is usable after a fork.
            match unsafe { libc::fork() } {
                0 => {
                    let held = catch_unwind(AssertUnwindSafe(&child)).is_ok();
                    // SAFETY: ends the process without destructors.
                    unsafe { libc::_exit(i32::from(!held)) }
                }
                process => failed = failed.or(wait(process, Duration::from_secs(limit)).err()),
            }
            if failed.is_some() {
                break;
            }
        }
        stop.store(true, Ordering::Relaxed);
        failed
    });
    assert_eq!(hung, None);
}

/// Waits for a child; kills it if it does not end in time.
fn wait(process: i32, limit: Duration) -> Result<(), String> {
    assert!(process > 0, "fork failed");
    let (since, mut status) = (Instant::now(), 0);
    loop {
        // SAFETY: `status` is valid for writes.
        match unsafe { libc::waitpid(process, &raw mut status, libc::WNOHANG) } {
            0 if since.elapsed() < limit => thread::sleep(Duration::from_millis(1)),
            0 => {
                // SAFETY: a child of this process that was not waited for.
                unsafe { libc::kill(process, libc::SIGKILL) };
                return Err("the child hangs".into());
            }
            _ if status == 0 => return Ok(()),
            _ => return Err(format!("the child ended with status {status}")),
        }
    }
}
