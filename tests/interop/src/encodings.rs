//! Targets `decode`, `pkcs8` and `pem`: whatever is read back equals what is
//! written.

use mldsa_core::internals::PrivateKeyChoice;
use mldsa_core::pkcs8::{
    DecodePublicKey, EncodePublicKey, LineEnding, PrivateKeyInfoRef, der::Decode,
};
use mldsa_core::{MlDsa44, MlDsa65, MlDsa87, ParameterSet, Signature, SigningKey, VerifyingKey};

use crate::{damage, set, split};

/// Raw encodings: public key, signature, expanded key.
/// The first byte chooses the set, the second what; the rest is the encoding, or
/// (second byte 4 and above) damage to a good one.
pub fn decode(data: &[u8]) {
    let (choice, data) = split(data);
    let (what, data) = split(data);
    mldsa_core::with_set!(set(choice), P => match what % 8 {
        1 => signature::<P>(data),
        2 => private_key::<P>(data),
        4 => {
            // Short inputs reach every coefficient of a buffer of right length.
            let mut bytes = vec![0; P::SIG_LEN];
            let len = data.len().min(bytes.len());
            bytes[..len].copy_from_slice(&data[..len]);
            signature::<P>(&bytes);
        }
        5 => {
            let mut bytes = good_key::<P>().expanded().as_ref().to_vec();
            damage(&mut bytes, data);
            private_key::<P>(&bytes);
        }
        6 => {
            let mut bytes = vec![0; P::SIG_LEN];
            damage(&mut bytes, data);
            signature::<P>(&bytes);
        }
        _ => public_key::<P>(data),
    });
}

fn good_key<P: ParameterSet>() -> SigningKey<P> {
    SigningKey::from_seed(&core::array::from_fn(|n| n as u8))
}

fn public_key<P: ParameterSet>(bytes: &[u8]) {
    match VerifyingKey::<P>::from_bytes(bytes) {
        Ok(key) => assert_eq!(key.as_ref(), bytes),
        Err(_) => assert_ne!(bytes.len(), P::PK_LEN),
    }
}

fn signature<P: ParameterSet>(bytes: &[u8]) {
    if let Ok(signature) = Signature::<P>::from_bytes(bytes) {
        assert_eq!(signature.as_ref(), bytes);
    }
}

fn private_key<P: ParameterSet>(bytes: &[u8]) {
    if let Ok(key) = SigningKey::<P>::from_expanded_bytes(bytes) {
        assert_eq!(key.expanded().as_ref(), bytes);
        assert!(key.seed().is_none());
    }
}

/// DER of private and public keys, read as each of the three sets.
pub fn pkcs8(data: &[u8]) {
    fn of<P: ParameterSet>(data: &[u8]) {
        if let Ok(key) = SigningKey::<P>::from_pkcs8_der(data) {
            let info = PrivateKeyInfoRef::try_from(data).expect("was read");
            let form = PrivateKeyChoice::from_der(info.private_key.as_bytes())
                .expect("was read")
                .form();
            let written = key.to_pkcs8_der_as(form).expect("the form was read");
            // Attributes and an enclosed public key are not written again.
            if written.as_bytes() != data {
                assert!(data.len() > written.as_bytes().len());
                let again =
                    SigningKey::<P>::from_pkcs8_der(written.as_bytes()).expect("own writing");
                assert_eq!(again, key);
            }
        }
        if let Ok(key) = VerifyingKey::<P>::from_public_key_der(data) {
            assert_eq!(key.to_public_key_der().expect("writes").as_bytes(), data);
        }
    }
    of::<MlDsa44>(data);
    of::<MlDsa65>(data);
    of::<MlDsa87>(data);
}

/// PEM of private and public keys, read as each of the three sets.
pub fn pem(data: &[u8]) {
    fn of<P: ParameterSet>(text: &str) {
        if let Ok(key) = SigningKey::<P>::from_pkcs8_pem(text) {
            let info = mldsa_core::pkcs8::EncodePrivateKey::to_pkcs8_pem(&key, LineEnding::LF)
                .expect("writes");
            assert_eq!(
                SigningKey::<P>::from_pkcs8_pem(&info).expect("own writing"),
                key
            );
        }
        if let Ok(key) = VerifyingKey::<P>::from_public_key_pem(text) {
            let written = key.to_public_key_pem(LineEnding::LF).expect("writes");
            assert_eq!(
                VerifyingKey::<P>::from_public_key_pem(&written).expect("own writing"),
                key
            );
        }
    }
    if let Ok(text) = core::str::from_utf8(data) {
        of::<MlDsa44>(text);
        of::<MlDsa65>(text);
        of::<MlDsa87>(text);
    }
}
