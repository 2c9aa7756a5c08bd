//! Verdicts are read back as they were written, by stable names.

use batch_verify::{BatchVerifier, Item, RejectReason, Threads, Verdict};
use mldsa_core::{Context, MlDsa44};
use serde_json::json;

#[test]
fn verdicts() {
    for &reason in RejectReason::ALL {
        assert_eq!(serde_json::to_value(reason).unwrap(), reason.name());
        let read: RejectReason = serde_json::from_value(json!(reason.name())).unwrap();
        assert_eq!(read, reason);
        let verdict = Verdict::Rejected(reason);
        let value = serde_json::to_value(verdict).unwrap();
        assert_eq!(value, json!({ "invalid": reason.name() }));
        assert_eq!(serde_json::from_value::<Verdict>(value).unwrap(), verdict);
    }
    assert!(serde_json::from_value::<RejectReason>(json!("fine")).is_err());
    assert_eq!(serde_json::to_value(Verdict::Valid).unwrap(), "valid");
    assert_eq!(serde_json::to_value(Verdict::Skipped).unwrap(), "skipped");

    let verifier = BatchVerifier::<MlDsa44>::builder().threads(Threads::Inline);
    let verifier = verifier.build().unwrap();
    let item = Item::new(&[0; 3], Context::EMPTY, b"vote", &[]);
    let report = serde_json::to_value(verifier.verify([item; 2])).unwrap();
    let invalid = json!({ "invalid": "public_key_length" });
    assert_eq!(report["verdicts"], json!([invalid, invalid]));
    assert_eq!(
        report["summary"]["rejected"],
        json!({ "public_key_length": 2 })
    );
}
