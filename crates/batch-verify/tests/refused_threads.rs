//! Where the system refuses threads, batches are verified on the calling thread or an error is
//! returned, and later calls have threads once the system gives them. rayon's global pool stays
//! the program's own.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test")]
#![allow(unsafe_code, reason = "limits and users are set by system calls")]

use std::env;
use std::process::Command;
use std::thread;

use batch_verify::{
    BuildError, Committee, CommitteeVerifier, Report, Threads, VerificationService, Vote,
};
use mldsa_core::{Context, MlDsa44, SigningKey};

const SCENARIO: &str = "BATCH_VERIFY_REFUSED_THREADS";
/// Nobody's.
const USER: libc::uid_t = 65534;

type Scenario = fn(&[Vec<u8>]);

const SCENARIOS: [(&str, Scenario); 4] = [
    ("shared threads", shared),
    ("dedicated threads", dedicated),
    ("committee", committee),
    ("service", service),
];

#[test]
fn refused_threads_are_never_fatal() {
    if let Ok(name) = env::var(SCENARIO) {
        let (_, run) = SCENARIOS.iter().find(|(known, _)| *known == name).unwrap();
        let signatures: Vec<Vec<u8>> = keys().iter().map(sign).collect();
        become_nobody();
        run(&signatures);
        allow_threads();
        // The global pool is there for the program.
        let global = rayon::ThreadPoolBuilder::new().num_threads(1);
        global.build_global().unwrap();
        return;
    }
    // SAFETY: without effect.
    if unsafe { libc::getuid() } != 0 {
        println!("NOT RUN: the limit on threads does not hold for this user's other processes");
        return;
    }
    for (name, _) in SCENARIOS {
        let mut test = Command::new(env::current_exe().unwrap());
        test.args(["refused_threads_are_never_fatal", "--exact", "--nocapture"]);
        let output = test.env(SCENARIO, name).output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{name}: {text}");
        assert!(!text.contains("panicked"), "{name}: {text}");
    }
}

fn keys() -> Vec<SigningKey<MlDsa44>> {
    (0..40).map(|n| SigningKey::from_seed(&[n; 32])).collect()
}

fn sign(key: &SigningKey<MlDsa44>) -> Vec<u8> {
    let signature = key.sign_hedged(b"block", Context::new(b"test").unwrap());
    signature.unwrap().as_ref().to_vec()
}

/// Gives up the rights of root, for which there is no limit, and sets it so that no thread
/// starts.
fn become_nobody() {
    // SAFETY: the list is empty.
    assert_eq!(unsafe { libc::setgroups(0, core::ptr::null()) }, 0);
    // SAFETY: without pointers.
    assert_eq!(unsafe { libc::setgid(USER) }, 0);
    // SAFETY: without pointers.
    assert_eq!(unsafe { libc::setuid(USER) }, 0);
    set_limit(|_| 1);
    assert!(thread::Builder::new().spawn(|| ()).is_err());
}

/// Lifts the limit.
fn allow_threads() {
    set_limit(|limit| limit.rlim_max);
    thread::spawn(|| ()).join().unwrap();
}

fn set_limit(threads: impl Fn(&libc::rlimit) -> libc::rlim_t) {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: `limit` is valid for writes.
    let got = unsafe { libc::getrlimit(libc::RLIMIT_NPROC, &raw mut limit) };
    limit.rlim_cur = threads(&limit);
    // SAFETY: `limit` is valid for reads.
    let set = unsafe { libc::setrlimit(libc::RLIMIT_NPROC, &raw const limit) };
    assert_eq!((got, set), (0, 0));
}

fn build(threads: Option<Threads>) -> Result<Committee<MlDsa44>, BuildError> {
    let builder = Committee::builder(b"test");
    let builder = match threads {
        Some(threads) => builder.threads(threads),
        None => builder,
    };
    builder.build(keys().iter().map(|key| (key.verifying_key(), 1)))
}

fn votes<'a>(
    committee: &Committee<MlDsa44>,
    signatures: &'a [Vec<u8>],
) -> impl Iterator<Item = Vote<'a>> {
    let votes = committee.members().zip(signatures);
    votes.map(|(member, signature)| Vote::new(member, b"block", signature))
}

/// The number of threads of a batch whose votes are all valid.
fn threads(report: &Report) -> usize {
    report.require_all().unwrap();
    report.threads()
}

fn cpus() -> usize {
    thread::available_parallelism().unwrap().get()
}

fn shared(signatures: &[Vec<u8>]) {
    let committee = build(Some(Threads::Inline)).unwrap();
    let verifier = committee.verifier();
    let builder = CommitteeVerifier::builder();
    let other = builder.build(committee.clone()).unwrap();
    for _ in 0..2 {
        assert_eq!(
            threads(&verifier.verify_batch(votes(&committee, signatures))),
            1
        );
        assert_eq!(
            threads(&other.verify_batch(votes(&committee, signatures))),
            1
        );
    }
    allow_threads();
    for verifier in [verifier, other] {
        let report = verifier.verify_batch(votes(&committee, signatures));
        assert_eq!(threads(&report), cpus());
    }
}

fn dedicated(signatures: &[Vec<u8>]) {
    let committee = build(Some(Threads::Dedicated(1))).unwrap();
    let verifier = |count| {
        let builder = CommitteeVerifier::builder().threads(Threads::Dedicated(count));
        builder.build(committee.clone())
    };
    let one = verifier(1).unwrap();
    assert_eq!(threads(&one.verify_batch(votes(&committee, signatures))), 1);
    for _ in 0..2 {
        assert_eq!(verifier(3).unwrap_err(), BuildError::ThreadPool);
        let refused = build(Some(Threads::Dedicated(3)));
        assert_eq!(refused.unwrap_err(), BuildError::ThreadPool);
    }
    allow_threads();
    let three = verifier(3).unwrap();
    assert_eq!(
        threads(&three.verify_batch(votes(&committee, signatures))),
        3
    );
}

fn committee(signatures: &[Vec<u8>]) {
    let committee = build(None).unwrap();
    assert_eq!(build(None).unwrap(), committee);
    let next = committee.successor(1, None::<(&[u8], u64)>).unwrap();
    allow_threads();
    assert_eq!(build(None).unwrap(), committee);
    for committee in [committee, next] {
        let report = committee
            .verifier()
            .verify_batch(votes(&committee, signatures));
        assert_eq!(threads(&report), cpus());
    }
}

fn service(signatures: &[Vec<u8>]) {
    let committee = build(None).unwrap();
    let start = || {
        let builder = VerificationService::builder(committee.clone());
        builder.threads(1).batch_threads(Threads::Shared).build()
    };
    assert_eq!(start().unwrap_err(), BuildError::ThreadPool);
    allow_threads();
    let service = start().unwrap();
    let report = service.verify_batch(votes(&committee, signatures));
    assert_eq!(threads(&report), cpus());
}
