//! Batches: early exits, panics of the caller, names. `load` has their verdicts.

use batch_verify::{BatchVerifier, Committee, CommitteeVerifier, Mode, RejectReason, Threads};
use mldsa_core::{MlDsa44, MlDsa87};

use crate::fixture::{COMMITTEE, VOTES};

fn verifier(mode: Mode) -> CommitteeVerifier<MlDsa44> {
    let builder = CommitteeVerifier::builder().mode(mode);
    let builder = builder.threads(Threads::Dedicated(2));
    builder.build(COMMITTEE.clone()).unwrap()
}

#[test]
fn early_exit_skips_the_rest() {
    for (place, windows) in [(3, 32), (40, 96), (100, 224)] {
        for mode in [Mode::FirstInvalid, Mode::AnyInvalid] {
            // Three honest votes in turn, and one forged one.
            let votes = (0..4000).map(|n| if n == place { 3 } else { n % 3 });
            let report = verifier(mode).verify_batch(votes.map(|n| VOTES[n].as_vote()));
            let rejected = Some((place, RejectReason::ChallengeMismatch));
            assert_eq!(report.first_rejected(), rejected);
            assert_eq!(report.verdicts().len(), 4000);
            assert!(report.skipped() >= 4000 - windows, "{place}");
        }
    }
    let empty = verifier(Mode::Full).verify_batch([]).require_all();
    assert_eq!(empty, Err(RejectReason::NotVerified));
}

/// A panic of the caller's iterator reaches the caller; the verifier works on.
#[test]
fn a_panic_of_the_caller_is_the_callers() {
    let verifier = verifier(Mode::Full);
    for _ in 0..3 {
        let panicked = std::panic::catch_unwind(core::panic::AssertUnwindSafe(|| {
            let votes = (0..100).map(|n| {
                assert!(n != 60, "the caller's fault");
                VOTES[n % 3].as_vote()
            });
            verifier.verify_batch(votes).all_valid()
        }));
        assert!(panicked.is_err());
        let votes = (0..100).map(|n| VOTES[n % 3].as_vote());
        assert!(verifier.verify_batch(votes).all_valid());
    }
}

#[test]
fn names_are_stable() {
    let names = [
        (RejectReason::UnknownMember, "unknown_member"),
        (RejectReason::PublicKeyLength, "public_key_length"),
        (RejectReason::SignatureLength, "signature_length"),
        (RejectReason::DigestLength, "digest_length"),
        (RejectReason::WeakPreHash, "weak_prehash"),
        (RejectReason::HintEncoding, "hint_encoding"),
        (RejectReason::ResponseNorm, "response_norm"),
        (RejectReason::ChallengeMismatch, "challenge_mismatch"),
    ];
    for (reason, name) in names {
        assert_eq!(reason.name(), name);
        assert_eq!(reason.to_string(), name);
    }
    fn shared<T: Send + Sync + 'static>() {}
    shared::<BatchVerifier<MlDsa87>>();
    shared::<CommitteeVerifier<MlDsa87>>();
    shared::<Committee<MlDsa87>>();
}
