//! The PreA form: both directions, its verifier, its committed vectors.

use std::path::Path;

use mldsa_core::{Context, MlDsa44, MlDsa65, MlDsa87, ParameterSet, Randomness, SigningKey};
use mldsa_evm_gen::keccak256;
use mldsa_evm_gen::key::ExpandedKey;
use mldsa_evm_gen::lanes::Layout;
use mldsa_evm_gen::prea::{pack_key, packed_len, unpack_key};

/// Layout, public key, and a signature of `message` under `ctx`.
fn signed(ctx: &[u8], message: &[u8]) -> [(Layout, Vec<u8>, Vec<u8>); 3] {
    fn of<P: ParameterSet>(set: u8, ctx: &[u8], message: &[u8]) -> (Layout, Vec<u8>, Vec<u8>) {
        let key = SigningKey::<P>::from_seed(&[set; 32]);
        let ctx = Context::new(ctx).unwrap();
        let signature = key
            .sign_with_context(message, ctx, Randomness::Deterministic)
            .unwrap();
        let pk = key.verifying_key().as_bytes().as_ref().to_vec();
        (Layout::of(set), pk, signature.as_ref().to_vec())
    }
    [
        of::<MlDsa44>(44, ctx, message),
        of::<MlDsa65>(65, ctx, message),
        of::<MlDsa87>(87, ctx, message),
    ]
}

#[test]
fn packed_and_words_are_the_same_key() {
    for (layout, pk, _) in signed(b"", b"") {
        let key = ExpandedKey::new(layout, &pk).unwrap();
        let packed = pack_key(&key);
        assert_eq!(packed.len(), packed_len(&layout));
        let read = unpack_key(&packed).unwrap();
        assert!(read.is_expanded_from(&pk));
        assert_eq!(read.words(), key.words());
        assert_eq!(read.commitment(), key.commitment());
        let back = ExpandedKey::from_words(layout, key.rho, key.tr, &key.words()).unwrap();
        assert_eq!(pack_key(&back), packed);
    }
}

#[test]
fn other_bytes_are_rejected_or_another_key() {
    for (layout, pk, _) in signed(b"", b"") {
        let packed = pack_key(&ExpandedKey::new(layout, &pk).unwrap());
        for len in [0, 13, 14, 109, 110, packed.len() - 1] {
            assert!(unpack_key(&packed[..len]).is_none());
        }
        assert!(unpack_key(&[&packed[..], &[0]].concat()).is_none());
        for at in [0, 12, 13] {
            let mut other = packed.clone();
            other[at] ^= 1;
            assert!(unpack_key(&other).is_none(), "byte {at}");
        }
        // A coefficient from q on.
        for at in [110, packed.len() - 4] {
            let mut other = packed.clone();
            other[at..at + 4].copy_from_slice(&8_380_417u32.to_be_bytes());
            assert!(unpack_key(&other).is_none());
        }
        for at in [14, 60, 113, packed.len() - 1] {
            let mut other = packed.clone();
            other[at] ^= 1;
            if let Some(key) = unpack_key(&other) {
                assert!(!key.is_expanded_from(&pk), "byte {at}");
                let unchanged = unpack_key(&packed).unwrap().commitment();
                assert_ne!(key.commitment(), unchanged);
            }
        }
    }
}

#[test]
fn verifies_as_the_core_does() {
    for (layout, pk, signature) in signed(b"ctx", b"message") {
        let packed = pack_key(&ExpandedKey::new(layout, &pk).unwrap());
        let key = unpack_key(&packed).unwrap();
        assert!(key.verify(b"ctx", b"message", &signature));
        assert!(!key.verify(b"", b"message", &signature));
        assert!(!key.verify(b"ctx", b"messagf", &signature));
        assert!(!key.verify(&[0; 256], b"message", &signature));
        assert!(!key.verify(b"ctx", b"message", &signature[1..]));
        for at in (0..signature.len()).step_by(131) {
            let mut other = signature.clone();
            other[at] ^= 2;
            assert!(!key.verify(b"ctx", b"message", &other), "byte {at}");
        }
        // Another matrix is another scheme.
        let mut other = key.clone();
        other.rows[0][0][0] ^= 1;
        assert!(!other.verify(b"ctx", b"message", &signature));
    }
}

/// `evm/vectors/prea.json`; `UPDATE_VECTORS=1` writes it again.
#[test]
fn committed_vectors() {
    let hex = |bytes: &[u8]| {
        bytes
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect::<String>()
    };
    let (ctx, message) = (b"PreA", b"A vector of the PreA form");
    let mut text = String::from("[\n");
    for (n, (layout, pk, signature)) in signed(ctx, message).into_iter().enumerate() {
        let key = ExpandedKey::new(layout, &pk).unwrap();
        let packed = pack_key(&key);
        let mut tampered = signature.clone();
        tampered[1000] ^= 1;
        for (last, signature, valid) in [(false, &signature, true), (n == 2, &tampered, false)] {
            assert_eq!(key.verify(ctx, message, signature), valid);
            // The form itself for the smallest set; for all of them its hash.
            let whole = if valid && layout.name == 44 {
                hex(&packed)
            } else {
                String::new()
            };
            text.push_str(&format!(
                "{{\"set\":{},\"pk\":\"{}\",\"packed_keccak256\":\"{}\",\"packed\":\"{whole}\",\"commit\":\"{}\",\"ctx\":\"{}\",\"msg\":\"{}\",\"sig\":\"{}\",\"valid\":{valid}}}{}\n",
                layout.name,
                hex(&pk),
                hex(&keccak256(&[&packed])),
                hex(&key.commitment()),
                hex(ctx),
                hex(message),
                hex(signature),
                if last { "" } else { "," }
            ));
        }
    }
    text.push_str("]\n");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../vectors/prea.json");
    if std::env::var_os("UPDATE_VECTORS").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    assert!(
        std::fs::read_to_string(&path).unwrap() == text,
        "prea.json differs"
    );
}
