use mldsa_core::{
    CoseKey, Jwk, JwkError, MlDsa44, MlDsa65, ParameterSet, SigningKey, VerifyingKey,
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

    // Every change of one character is an error or another key.
    for n in 0..public.len() {
        for character in *b"A-_+/=.\n" {
            let mut text = public.clone().into_bytes();
            text[n] = character;
            let text = String::from_utf8(text).unwrap();
            let jwk = Jwk {
                public: &text,
                ..jwk
            };
            if let Ok(read) = VerifyingKey::<P>::from_jwk(&jwk) {
                assert_eq!(read.to_jwk_pub(), text);
            }
            // A private key beside a public key that is not its own.
            if n % 64 == 0 && text != public {
                let secret = Jwk {
                    private: Some(&private),
                    ..jwk
                };
                assert!(SigningKey::<P>::from_jwk(&secret).is_err());
            }
        }
        let short = Jwk {
            public: &public[..n],
            ..jwk
        };
        assert_eq!(VerifyingKey::<P>::from_jwk(&short), Err(JwkError::Length));
    }

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
    let imported = SigningKey::<P>::from_expanded(key.expanded().as_ref()).unwrap();
    assert!(imported.to_jwk_priv().is_none() && CoseKey::private(&imported).is_none());
    assert!(!format!("{secret:?}{cose:?}").contains(&*private));
}

#[test]
fn every_set() {
    for_all_sets!(round_trips);
    assert_eq!(CoseKey::alg::<MlDsa44>(), -48);
    assert_eq!(CoseKey::alg::<MlDsa65>(), -49);
    assert_eq!(CoseKey::alg::<mldsa_core::MlDsa87>(), -50);
}

/// The key identifier of the example of draft-ietf-cose-dilithium-11: the
/// all-zero seed.
#[test]
fn published_thumbprint() {
    let key = SigningKey::<MlDsa44>::from_seed(&[0; 32]);
    let digest = sha2::Sha256::digest(key.verifying_key().jwk_thumbprint_input());
    // T4xl70S7MT6Zeq6r9V9fPJGVn76wfnXJ21-gyo0Gu6o
    assert_eq!(
        hex::encode(digest),
        "4f8c65ef44bb313e997aaeabf55f5f3c91959fbeb07e75c9db5fa0ca8d06bbaa"
    );
    assert_eq!(&*key.to_jwk_priv().unwrap(), &"A".repeat(43));
    assert!(
        key.verifying_key()
            .to_jwk_pub()
            .starts_with("unH59k4RuutY-pxvu24U5h8Y")
    );
}
