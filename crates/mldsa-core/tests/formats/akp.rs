use base64ct::{Base64UrlUnpadded, Encoding};
use mldsa_core::{
    Context, CoseKey, Jwk, JwkError, MlDsa44, MlDsa65, MlDsa87, ParameterSet, Randomness,
    SigningKey, VerifyingKey,
};
use sha2::Digest;

use crate::{for_all_sets, key};

fn round_trips<P: ParameterSet>() {
    let key = key::<P>();
    let vk = key.verifying_key();
    let (public, private) = (vk.to_jwk_pub(), key.to_jwk_priv().unwrap());
    assert_eq!(public.len(), (P::PK_LEN * 4).div_ceil(3));
    assert_eq!(private.len(), 43);
    let jwk = Jwk {
        kty: "AKP",
        alg: P::NAME,
        public: &public,
        private: None,
    };
    let secret = Jwk {
        private: Some(&private),
        ..jwk
    };
    assert_eq!(&VerifyingKey::<P>::from_jwk(&jwk).unwrap(), vk);
    assert_eq!(SigningKey::<P>::from_jwk(&secret).unwrap(), key);
    assert_eq!(VerifyingKey::<P>::from_jwk(&secret), Err(JwkError::Private));
    assert_eq!(SigningKey::<P>::from_jwk(&jwk), Err(JwkError::Private));

    for (bad, error) in [
        (
            Jwk {
                kty: "OKP",
                ..secret
            },
            JwkError::KeyType,
        ),
        (
            Jwk {
                alg: "ML-DSA",
                ..secret
            },
            JwkError::Algorithm,
        ),
        (Jwk { alg: "", ..secret }, JwkError::Algorithm),
        (
            Jwk {
                public: "",
                ..secret
            },
            JwkError::Length,
        ),
        (
            Jwk {
                private: Some(""),
                ..secret
            },
            JwkError::Length,
        ),
        (
            Jwk {
                private: Some(&private[1..]),
                ..secret
            },
            JwkError::Length,
        ),
    ] {
        assert_eq!(SigningKey::<P>::from_jwk(&bad), Err(error));
    }
    let other = SigningKey::<P>::from_seed(&[1; 32]).to_jwk_priv().unwrap();
    let mixed = Jwk {
        private: Some(&other),
        ..secret
    };
    assert_eq!(SigningKey::<P>::from_jwk(&mixed), Err(JwkError::Mismatch));

    let cose = CoseKey::private(&key).unwrap();
    assert_eq!(SigningKey::<P>::from_cose_key(&cose).unwrap(), key);
    assert_eq!(
        VerifyingKey::<P>::from_cose_key(&cose),
        Err(JwkError::Private)
    );
    let public = CoseKey::public(vk);
    assert_eq!(&VerifyingKey::<P>::from_cose_key(&public).unwrap(), vk);
    assert_eq!(
        SigningKey::<P>::from_cose_key(&public),
        Err(JwkError::Private)
    );
    for (bad, error) in [
        (CoseKey { kty: 1, ..cose }, JwkError::KeyType),
        (CoseKey { alg: -7, ..cose }, JwkError::Algorithm),
        (
            CoseKey {
                public: &cose.public[1..],
                ..cose
            },
            JwkError::Length,
        ),
        (
            CoseKey {
                private: Some(&[0; 33]),
                ..cose
            },
            JwkError::Length,
        ),
        (
            CoseKey {
                private: Some(&[0; 32]),
                ..cose
            },
            JwkError::Mismatch,
        ),
    ] {
        assert_eq!(SigningKey::<P>::from_cose_key(&bad), Err(error));
    }
    // Without a seed there is nothing that these formats could hold.
    let imported = SigningKey::<P>::from_expanded_bytes(key.expanded().as_ref()).unwrap();
    assert!(imported.to_jwk_priv().is_none() && CoseKey::private(&imported).is_none());
    assert!(!format!("{secret:?}{cose:?}").contains(&*private));
}

#[test]
fn every_set() {
    for_all_sets!(round_trips);
    assert_eq!(CoseKey::alg::<MlDsa44>(), -48);
    assert_eq!(CoseKey::alg::<MlDsa65>(), -49);
    assert_eq!(CoseKey::alg::<MlDsa87>(), -50);
}

/// Appendix A.1 of RFC 9964, the keys of the all-zero seed: key identifiers, which
/// are thumbprints, and the challenge hash of the signature of the example.
#[test]
fn published_examples() {
    published::<MlDsa44>(
        "T4xl70S7MT6Zeq6r9V9fPJGVn76wfnXJ21-gyo0Gu6o",
        "92723543ff422332c7e57cbde0a91ced654aa9970082d27798d7f41948f5b8b0",
    );
    published::<MlDsa65>(
        "Suiu29qbfuaBaR4Ats-c6XQBePB_OpAxAwcTR_0KXVM",
        "ce63bdff46cb80901e82854dca67d1a389c63cae6556d4851a70dbcdfcd8003e\
         665045e9681520e22b6f67cac05198b8",
    );
    published::<MlDsa87>(
        "tRn1JNIkgMsABVQBlXeDHxAIcclh-2IX0UdDEzPt5XU",
        "86632b2a452067018f415fd65285d456afd9f5639e9c365b7cc987a4aae2b65d\
         1bb568b6f530bc788c90c93d4502e5b6920de1e802ecbc2ae35f9b67dd028541",
    );
}

fn published<P: ParameterSet>(kid: &str, c_tilde: &str) {
    let key = SigningKey::<P>::from_seed(&[0; 32]);
    let vk = key.verifying_key();
    let digest = sha2::Sha256::digest(vk.jwk_thumbprint_input());
    assert_eq!(Base64UrlUnpadded::encode_string(&digest), kid);
    assert_eq!(&*key.to_jwk_priv().unwrap(), &"A".repeat(43));

    let header = format!(r#"{{"alg":"{}","kid":"{kid}"}}"#, P::NAME);
    // The payload of the examples, as it is published: encoded.
    let payload = "SXTigJlzIGEgZGFuZ2Vyb3VzIGJ1c2luZXNzLCBGcm9kbywgZ29pbmcgb3V0IHlvdXIgZG9vci4";
    let input = format!(
        "{}.{payload}",
        Base64UrlUnpadded::encode_string(header.as_bytes())
    );
    let signature = key
        .sign_with_context(input.as_bytes(), Context::EMPTY, Randomness::Deterministic)
        .unwrap();
    assert_eq!(hex::encode(&signature.as_ref()[..P::C_TILDE_LEN]), c_tilde);
}
