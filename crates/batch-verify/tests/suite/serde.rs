//! What is written with serde is read back the same, and hostile text is refused.

use batch_verify::{
    BatchVerifier, Item, Message, Outcome, OwnedContext, OwnedItem, Reason, SignerId, Threads,
};
use mldsa_core::{Context, MlDsa44, Mu, PreHash};
use serde_json::{Value, json};

fn round_trip(item: &OwnedItem) -> Value {
    let value = serde_json::to_value(item).unwrap();
    assert_eq!(
        &serde_json::from_value::<OwnedItem>(value.clone()).unwrap(),
        item
    );
    value
}

#[test]
fn items() {
    let context = Context::new(b"chain/v1").unwrap();
    let mu = Mu::from_bytes([9; 64]);
    let by_id = OwnedItem::from(Item::new(7, b"vote", &[1, 2, 255]).with_context(context));
    assert_eq!(
        round_trip(&by_id),
        json!({
            "signer": { "id": 7 },
            "message": { "bytes": "766f7465" },
            "context": "636861696e2f7631",
            "signature": "0102ff",
        })
    );
    let parts = Message::Parts(&[b"vo", b"te"]);
    let by_key = OwnedItem::from(Item::new([3u8, 4].as_slice(), parts, &[]));
    assert_eq!(by_key.message, by_id.message);
    assert_eq!(round_trip(&by_key)["signer"], json!({ "key": "0304" }));
    assert_eq!((by_key.len(), by_key.is_empty()), (6, false));
    round_trip(&OwnedItem::from(Item::new(0, &mu, &[])));
    let digest = Message::PreHashed {
        hash: PreHash::Sha2_512,
        digest: &[5; 64],
    };
    let value = round_trip(&OwnedItem::from(Item::new(0, digest, &[])));
    assert_eq!(
        value["message"]["pre_hashed"]["hash"],
        PreHash::Sha2_512.name()
    );

    for (field, bad) in [
        ("context", json!("00".repeat(256))),
        ("context", json!("0")),
        ("signature", json!("xy")),
        ("signature", json!([1, 2])),
        ("signer", json!({ "id": -1 })),
        ("signer", json!({ "id": 1u64 << 32 })),
        (
            "message",
            json!({ "pre_hashed": { "hash": "md5", "digest": "" } }),
        ),
    ] {
        let mut value = round_trip(&by_id);
        value[field] = bad;
        assert!(
            serde_json::from_value::<OwnedItem>(value).is_err(),
            "{field}"
        );
    }
    assert!(OwnedContext::try_from(vec![0; 256]).is_err());
    assert_eq!(
        OwnedContext::try_from(vec![0; 255])
            .unwrap()
            .as_context()
            .as_bytes(),
        [0; 255]
    );
}

#[test]
fn verdicts() {
    for &reason in Reason::ALL {
        assert_eq!(serde_json::to_value(reason).unwrap(), reason.name());
        let read: Reason = serde_json::from_value(json!(reason.name())).unwrap();
        assert_eq!(read, reason);
        assert_eq!(Reason::from_name(reason.name()), Some(reason));
        let outcome = Outcome::Invalid(reason);
        let value = serde_json::to_value(outcome).unwrap();
        assert_eq!(value, json!({ "invalid": reason.name() }));
        assert_eq!(serde_json::from_value::<Outcome>(value).unwrap(), outcome);
    }
    assert!(serde_json::from_value::<Reason>(json!("fine")).is_err());
    assert_eq!(serde_json::to_value(Outcome::Valid).unwrap(), "valid");
    for (text, id) in [("12", 12), ("0", 0), ("4294967295", u32::MAX)] {
        assert_eq!(text.parse(), Ok(SignerId::new(id)));
        assert_eq!(SignerId::new(id).to_string(), text);
    }
    // One spelling each.
    for text in [
        "+5",
        "007",
        "00",
        "-0",
        "",
        "+",
        " 5",
        "5 ",
        "4294967296",
        "0x1",
    ] {
        assert!(text.parse::<SignerId>().is_err(), "{text}");
    }
    assert_eq!(SignerId::new(12).to_string(), "12");

    let verifier = BatchVerifier::<MlDsa44>::builder().threads(Threads::Inline);
    let verifier = verifier.build().unwrap();
    let vote = Item::new(3, b"vote", &[]);
    let report = serde_json::to_value(verifier.verify(&[vote, vote])).unwrap();
    assert_eq!(
        report["outcomes"],
        json!([{ "invalid": "unknown_signer" }, { "invalid": "unknown_signer" }])
    );
    assert_eq!(report["summary"]["refused"], json!({ "unknown_signer": 2 }));
}
