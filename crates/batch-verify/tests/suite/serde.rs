//! Reports and reasons are written by stable names; reasons are read back.

use batch_verify::{BatchVerifier, Item, Mode, RejectReason, Threads};
use mldsa_core::{Context, MlDsa44, SigningKey};
use serde_json::json;

#[test]
fn verdicts() {
    for &reason in RejectReason::ALL {
        assert_eq!(serde_json::to_value(reason).unwrap(), reason.name());
        let read: RejectReason = serde_json::from_value(json!(reason.name())).unwrap();
        assert_eq!(read, reason);
    }
    assert!(serde_json::from_value::<RejectReason>(json!("fine")).is_err());

    let verifier = BatchVerifier::<MlDsa44>::builder().threads(Threads::Inline);
    let verifier = verifier.build().unwrap();
    let item = Item::new(&[0; 3], b"vote", Context::EMPTY, &[]);
    let report = serde_json::to_value(verifier.verify_batch([item; 2])).unwrap();
    let invalid = json!({ "invalid": "public_key_length" });
    assert_eq!(report["verdicts"], json!([invalid, invalid]));
    let first = BatchVerifier::<MlDsa44>::builder().mode(Mode::FirstInvalid);
    let report = first.build().unwrap().verify_batch([item; 2]);
    let report = serde_json::to_value(report).unwrap();
    assert_eq!(report["verdicts"], json!([invalid, "skipped"]));

    let key = SigningKey::<MlDsa44>::from_seed(&[1; 32]);
    let signature = key.sign_hedged(b"vote", Context::EMPTY).unwrap();
    let item = Item::new(
        key.verifying_key(),
        b"vote",
        Context::EMPTY,
        signature.as_ref(),
    );
    let report = serde_json::to_value(verifier.verify_batch([item; 2])).unwrap();
    assert_eq!(report["verdicts"], json!(["valid", "valid"]));
    assert_eq!(report["duplicates"], json!([[1, 0]]));
}
