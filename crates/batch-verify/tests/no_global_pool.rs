//! rayon's global pool is not started as a side effect.

#![allow(clippy::unwrap_used, reason = "a test")]

use batch_verify::{Committee, CommitteeVerifier, Source, Threads, VerificationService, Vote};
use mldsa_core::{MlDsa44, SigningKey};

#[test]
fn the_global_pool_is_the_programs() {
    let key = SigningKey::<MlDsa44>::from_seed(&[1; 32]);
    for threads in [Threads::Inline, Threads::Shared, Threads::Dedicated(2)] {
        let builder = Committee::<MlDsa44>::builder(b"test").threads(threads.clone());
        let committee = builder.build([(key.verifying_key(), 1)]).unwrap();
        let member = committee.member(0).unwrap();
        let votes = [Vote::new(member, b"block", &[0; 2420]); 40];
        let verifier = CommitteeVerifier::builder().threads(threads.clone());
        let verifier = verifier.build(committee.clone()).unwrap();
        assert!(!verifier.verify_batch(votes).all_valid());
        let service = VerificationService::builder(committee).threads(1);
        let service = service.batch_threads(threads).build().unwrap();
        assert!(!service.verify_batch(votes).all_valid());
        let answer = service.submit(Source::own(), &votes[0]).unwrap();
        assert!(answer.wait().is_err());
    }
    // It fails once the pool is there.
    rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .build_global()
        .unwrap();
}
