//! JWS and COSE_Sign1 (RFC 9964), CMS SignedData (RFC 9882), HTTP message signatures and the composite keys of SSH with
//! ML-DSA: which bytes are signed, with the field's crates around them.

use base64ct::{Base64UrlUnpadded as Base64, Encoding};
use cms::content_info::{CmsVersion, ContentInfo};
use cms::signed_data::{
    EncapsulatedContentInfo, SignedData, SignerIdentifier, SignerInfo, SignerInfos,
};
use coset::{
    CborSerializable, CoseSign1, CoseSign1Builder, HeaderBuilder, KeyType, Label, iana,
    iana::EnumI64,
};
use graviola::signing::eddsa::{Ed25519SigningKey, Ed25519VerifyingKey};
use hex_literal::hex;
use mldsa_core::{AnySigningKey, AnyVerifyingKey, Context, Randomness, Set, VerifyError};
use sha2::{Digest, Sha512};
use x509_cert::attr::Attribute;
use x509_cert::der::asn1::{Any, ObjectIdentifier, OctetString, SetOfVec};
use x509_cert::der::{Decode, Encode};
use x509_cert::spki::{AlgorithmIdentifierOwned, SubjectPublicKeyInfo};

fn key(set: Set) -> AnySigningKey {
    AnySigningKey::generate(set).unwrap()
}

fn verify(key: &AnyVerifyingKey, message: &[u8], signature: &[u8]) -> Result<(), VerifyError> {
    key.verify_with_context(message, Context::EMPTY, signature)
}

/// A compact JWS: the signature covers the ASCII bytes `header.payload`.
#[test]
fn jws() {
    for set in Set::ALL {
        let key = key(set);
        let header = format!(r#"{{"alg":"{}"}}"#, set.name());
        let part = |bytes: &[u8]| Base64::encode_string(bytes);
        let signed = format!(
            "{}.{}",
            part(header.as_bytes()),
            part(br#"{"sub":"someone"}"#)
        );
        let signature = key.sign_hedged(signed.as_bytes(), Context::EMPTY).unwrap();
        let token = format!("{signed}.{}", part(&signature));
        // The other side: the algorithm is that of the key, not the one that the token asks for.
        let public = key.verifying_key();
        let (signed, signature) = token.rsplit_once('.').unwrap();
        let header = Base64::decode_vec(signed.split_once('.').unwrap().0).unwrap();
        let header: serde_json::Value = serde_json::from_slice(&header).unwrap();
        assert_eq!(header["alg"], public.set().name());
        let signature = Base64::decode_vec(signature).unwrap();
        verify(&public, signed.as_bytes(), &signature).unwrap();
        assert!(verify(&public, &signed.as_bytes()[1..], &signature).is_err());
    }
}

fn algorithm(set: Set) -> iana::Algorithm {
    match set {
        Set::MlDsa44 => iana::Algorithm::ML_DSA_44,
        Set::MlDsa65 => iana::Algorithm::ML_DSA_65,
        Set::MlDsa87 => iana::Algorithm::ML_DSA_87,
    }
}

/// COSE_Sign1, and a private key of type AKP, whose `priv` is the seed: what an authenticator stores.
#[test]
fn cose() {
    for (set, number) in Set::ALL.into_iter().zip([-48, -49, -50]) {
        let key = key(set);
        let header = HeaderBuilder::new().algorithm(algorithm(set)).build();
        let message = CoseSign1Builder::new()
            .protected(header)
            .payload(b"payload".to_vec())
            .create_signature(b"external", |bytes| {
                key.sign_hedged(bytes, Context::EMPTY).unwrap()
            })
            .build();
        let bytes = message.to_vec().unwrap();
        let public = key.verifying_key();
        let read = CoseSign1::from_slice(&bytes).unwrap();
        assert_eq!(
            read.protected.header.alg,
            Some(coset::Algorithm::Assigned(algorithm(set)))
        );
        let check = |external: &[u8]| {
            read.verify_signature(external, |signature, data| verify(&public, data, signature))
        };
        check(b"external").unwrap();
        assert_eq!(check(b"other"), Err(VerifyError::ChallengeMismatch));
        // {1: 7, 3: alg, -1: pub, -2: priv}.
        let parameter = |label, bytes: &[u8]| (Label::Int(label), coset::cbor::Value::from(bytes));
        let stored = coset::CoseKey {
            kty: KeyType::Assigned(iana::KeyType::AKP),
            alg: Some(coset::Algorithm::Assigned(
                iana::Algorithm::from_i64(number).unwrap(),
            )),
            params: vec![
                parameter(-1, public.as_ref()),
                parameter(-2, key.seed().unwrap()),
            ],
            ..Default::default()
        };
        let stored = coset::CoseKey::from_slice(&stored.to_vec().unwrap()).unwrap();
        assert_eq!(stored.kty, KeyType::Assigned(iana::KeyType::AKP));
        let seed = stored
            .params
            .iter()
            .find(|(label, _)| *label == Label::Int(-2))
            .unwrap();
        let seed: [u8; 32] = seed.1.as_bytes().unwrap()[..].try_into().unwrap();
        assert_eq!(AnySigningKey::from_seed(set, &seed).verifying_key(), public);
    }
}

const DATA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.7.1");
const SIGNED_DATA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.7.2");
const CONTENT_TYPE: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.9.3");
const MESSAGE_DIGEST: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.9.4");
const SHA_512: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.16.840.1.101.3.4.2.3");

fn algorithm_of(key: &AnyVerifyingKey) -> AlgorithmIdentifierOwned {
    SubjectPublicKeyInfo::from_key(key).unwrap().algorithm
}

fn octets(bytes: &[u8]) -> OctetString {
    OctetString::new(bytes).unwrap()
}

/// Makes the signed attributes of a content, the type and the digest. Their DER as a SET is what is signed.
fn attributes(content: &[u8]) -> SetOfVec<Attribute> {
    let attribute = |oid, value: Any| Attribute {
        oid,
        values: vec![value].try_into().unwrap(),
    };
    let digest = octets(&Sha512::digest(content));
    let list = vec![
        attribute(CONTENT_TYPE, Any::encode_from(&DATA).unwrap()),
        attribute(MESSAGE_DIGEST, Any::encode_from(&digest).unwrap()),
    ];
    list.try_into().unwrap()
}

/// The certificate of the signer: its issuer `O=IETF, CN=LAMPS WG`, and its serial number.
const SIGNER: &[u8] = b"\x30\x3a\x30\x22\x31\x0d\x30\x0b\x06\x03\x55\x04\x0a\x13\x04IETF\x31\x11\x30\x0f\x06\x03\x55\x04\x03\x13\x08LAMPS WG\x02\x14\x15\x9f\xfe\x6f\x22\xfd\x5c\xc4\x2c\x52\x4d\xf6\xfd\x5e\x28\xd0\xde\x38\xf3\x4e";

/// Makes a message. Without attributes the content itself is what is signed.
fn sign_cms(
    algorithm: AlgorithmIdentifierOwned,
    content: &[u8],
    signed_attrs: Option<SetOfVec<Attribute>>,
    sign: impl FnOnce(&[u8]) -> Vec<u8>,
) -> Vec<u8> {
    let signed = signed_attrs.as_ref().map(|list| list.to_der().unwrap());
    let digest_alg = AlgorithmIdentifierOwned {
        oid: SHA_512,
        parameters: None,
    };
    let info = SignerInfo {
        version: CmsVersion::V1,
        sid: SignerIdentifier::from_der(SIGNER).unwrap(),
        digest_alg: digest_alg.clone(),
        signed_attrs,
        signature_algorithm: algorithm,
        signature: octets(&sign(signed.as_deref().unwrap_or(content))),
        unsigned_attrs: None,
    };
    let data = SignedData {
        version: CmsVersion::V1,
        digest_algorithms: vec![digest_alg].try_into().unwrap(),
        encap_content_info: EncapsulatedContentInfo {
            econtent_type: DATA,
            econtent: Some(Any::encode_from(&octets(content)).unwrap()),
        },
        certificates: None,
        crls: None,
        signer_infos: SignerInfos::try_from(vec![info]).unwrap(),
    };
    let message = ContentInfo {
        content_type: SIGNED_DATA,
        content: Any::encode_from(&data).unwrap(),
    };
    message.to_der().unwrap()
}

/// Returns the content of a message with one signer and no other attributes, if `key` has signed it.
fn verify_cms(key: &AnyVerifyingKey, message: &[u8]) -> Option<Vec<u8>> {
    let message = ContentInfo::from_der(message).ok()?;
    let data: SignedData = message.content.decode_as().ok()?;
    let [info] = data.signer_infos.0.as_slice() else {
        return None;
    };
    let content: OctetString = data.encap_content_info.econtent?.decode_as().ok()?;
    let signed = attributes(content.as_bytes());
    let accepted = message.content_type == SIGNED_DATA
        && data.encap_content_info.econtent_type == DATA
        && info.digest_alg.oid == SHA_512
        && info.signature_algorithm == algorithm_of(key)
        && info.signed_attrs.as_ref() == Some(&signed);
    verify(key, &signed.to_der().ok()?, info.signature.as_bytes()).ok()?;
    accepted.then(|| content.into_bytes().into_vec())
}

#[test]
fn cms() {
    for set in Set::ALL {
        let (one, other) = (key(set), key(set));
        let public = one.verifying_key();
        let message = sign_cms(
            algorithm_of(&public),
            b"content",
            Some(attributes(b"content")),
            |signed| one.sign_hedged(signed, Context::EMPTY).unwrap(),
        );
        assert_eq!(verify_cms(&public, &message).unwrap(), b"content");
        assert!(verify_cms(&other.verifying_key(), &message).is_none());
        for at in 0..message.len() {
            let mut changed = message.clone();
            changed[at] ^= 1;
            if let Some(content) = verify_cms(&public, &changed) {
                // The name of the key, for one, is not signed.
                assert_eq!(content, b"content", "{at}");
            }
        }
    }
}

/// The two messages of RFC 9882 with ML-DSA-44: their beginnings, up to the challenge of the signature, and their ends.
/// The key is that of RFC 9881.
#[test]
fn cms_of_the_rfc() {
    let key = AnySigningKey::from_seed(Set::MlDsa44, &core::array::from_fn(|n| n as u8));
    for (content, with_attributes, start, end) in [
        (
            "ML-DSA-44 signed-data example with signed attributes",
            true,
            "MIIKsAYJKoZIhvcNAQcCoIIKoTCCCp0CAQExDTALBglghkgBZQMEAgMwQwYJKoZI\
             hvcNAQcBoDYENE1MLURTQS00NCBzaWduZWQtZGF0YSBleGFtcGxlIHdpdGggc2ln\
             bmVkIGF0dHJpYnV0ZXMxggpCMIIKPgIBATA6MCIxDTALBgNVBAoTBElFVEYxETAP\
             BgNVBAMTCExBTVBTIFdHAhQVn/5vIv1cxCxSTfb9XijQ3jjzTjALBglghkgBZQME\
             AgOgazAYBgkqhkiG9w0BCQMxCwYJKoZIhvcNAQcBME8GCSqGSIb3DQEJBDFCBEAL\
             v5NoEkfE3OkMRW4rKXw97hdFLivtQ/OVU4Pc/DrfWm3d7POpIxNQ4WCwyGDTWKwi\
             dWwcHZ9E3CT0Twj2gI/UMAsGCWCGSAFlAwQDEQSCCXTzX9ZSUYiiAjJ2USF/0b1K\
             fyTnaJTCFymSXY/ZOE0+",
            "zs/Q7xYbHEBpepGfq7C0w9Tp7fgAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAADhYkNA==",
        ),
        (
            "ML-DSA-44 signed-data example without signed attributes",
            false,
            "MIIKRgYJKoZIhvcNAQcCoIIKNzCCCjMCAQExDTALBglghkgBZQMEAgMwRgYJKoZI\
             hvcNAQcBoDkEN01MLURTQS00NCBzaWduZWQtZGF0YSBleGFtcGxlIHdpdGhvdXQg\
             c2lnbmVkIGF0dHJpYnV0ZXMxggnVMIIJ0QIBATA6MCIxDTALBgNVBAoTBElFVEYx\
             ETAPBgNVBAMTCExBTVBTIFdHAhQVn/5vIv1cxCxSTfb9XijQ3jjzTjALBglghkgB\
             ZQMEAgMwCwYJYIZIAWUDBAMRBIIJdKW6tMKC38aefQss+kCipqld9rnD/7A6bXML",
            "QkpSY3B/kp6zts7S1eLq+R0pN1hlh4qVmK/S8f4AAAAAAAAAAAARIjpH",
        ),
    ] {
        let content = content.as_bytes();
        let message = sign_cms(
            algorithm_of(&key.verifying_key()),
            content,
            with_attributes.then(|| attributes(content)),
            |signed| {
                key.sign_with_context(signed, Context::EMPTY, Randomness::Deterministic)
                    .unwrap()
            },
        );
        let message = base64ct::Base64::encode_string(&message);
        assert!(
            message.starts_with(start) && message.ends_with(end),
            "{message}"
        );
    }
}

/// Returns what an HTTP message signature (RFC 9421) covers: the components of the message, and the parameters.
fn signature_base(components: &[(&str, &str)], parameters: &str) -> String {
    let lines = components
        .iter()
        .map(|(name, value)| format!("\"{name}\": {value}\n"));
    let names: Vec<_> = components
        .iter()
        .map(|(name, _)| format!("\"{name}\""))
        .collect();
    let names = names.join(" ");
    format!(
        "{}\"@signature-params\": ({names});{parameters}",
        lines.collect::<String>()
    )
}

/// The vectors of httpsig-pq (C2SP, version 1.0.0), of which the beginnings of the signatures stand here: the challenge
/// depends on key and message.
#[test]
fn http_signatures() {
    let request = [
        ("@method", "GET"),
        ("@target-uri", "https://example.com/foo?param=Value&Pet=dog"),
        ("host", "example.com"),
        ("date", "Mon, 06 Jul 2026 20:00:00 GMT"),
    ];
    for (set, name, seed, start) in [
        (
            Set::MlDsa44,
            "44",
            hex!("c80d699b2daa47d54b8697f5a917c696400d7063b30a234d18ad672250ae42d9"),
            "apZ5/ADQOgYFPWs2iqmiwKjWK7MyWOQj0ItgYx+1",
        ),
        (
            Set::MlDsa65,
            "65",
            hex!("40342eccce31032955f04c14256fa8cb6b6269bdc22d6ee62fd00d9338759773"),
            "oFxc0MPLHEWbzF8aCTOTXK+jfR/a9hFp+3ggTZi6",
        ),
        (
            Set::MlDsa87,
            "87",
            hex!("0cd2f7cc3f9772ad23031ef37aea63b3825fb46bdb5d5cc4fb620ecccc5e630b"),
            "3QTL+7/n7XUgC7WDMD3YObv2iIkMrYJEIaTGOuqT",
        ),
    ] {
        let signing = AnySigningKey::from_seed(set, &seed);
        let public = signing.verifying_key();
        let parameters =
            format!("created=1783368000;keyid=\"test-key-mldsa{name}\";alg=\"ml-dsa-{name}\"");
        let base = signature_base(&request, &parameters);
        assert_eq!(base.len(), 252);
        let signature = signing
            .sign_with_context(base.as_bytes(), Context::EMPTY, Randomness::Deterministic)
            .unwrap();
        assert!(base64ct::Base64::encode_string(&signature).starts_with(start));
        let valid = |base: &str| verify(&public, base.as_bytes(), &signature).is_ok();
        assert!(valid(&base));
        // What a verifier of the specification has to refuse.
        for changed in [
            signature_base(&request[1..], &parameters),
            base.replace("GET", "PUT"),
            base.replace('\n', "\r\n"),
            base.clone() + "\n",
            base.replace("alg=\"ml-dsa-", "alg=\"ml-dsa-1"),
        ] {
            assert!(!valid(&changed), "{changed}");
        }
        let digest = Sha512::digest(&base);
        assert!(verify(&public, &digest, &signature).is_err());
        assert!(verify(&key(set).verifying_key(), base.as_bytes(), &signature).is_err());
        let context = Context::new(b"http").unwrap();
        let other = public.verify_with_context(base.as_bytes(), context, &signature);
        assert_eq!(other, Err(VerifyError::ChallengeMismatch));
    }
}

const COMPOSITE: &str = "COMPSIG-MLDSA44-Ed25519-SHA512";

/// Returns what both keys of an SSH key `ssh-mldsa44-ed25519@openssh.com` sign (draft-ietf-sshm-composite-sigs-00): the construction of
/// draft-ietf-lamps-pq-composite-sigs with no context of the application.
fn composite(message: &[u8]) -> Vec<u8> {
    let parts = [
        b"CompositeAlgorithmSignatures2025",
        COMPOSITE.as_bytes(),
        &[0],
    ];
    [&parts.concat()[..], &Sha512::digest(message)].concat()
}

/// The label of the construction is the context of ML-DSA, so that neither signature is one of the key alone.
fn verify_composite(
    (ml_dsa, ed25519): &(AnyVerifyingKey, Ed25519VerifyingKey),
    message: &[u8],
    signature: &[u8],
) -> bool {
    let (message, context) = (
        composite(message),
        Context::new(COMPOSITE.as_bytes()).unwrap(),
    );
    let Some((first, second)) = signature.split_at_checked(ml_dsa.set().signature_len()) else {
        return false;
    };
    ml_dsa.verify_with_context(&message, context, first).is_ok()
        && ed25519.verify(second, &message).is_ok()
}

/// The vector of the drafts, which OpenSSH 10.4 tests with, and a signature of this test.
#[test]
fn ssh() {
    let seeds = hex!(
        "01d8df59152d8a44e39a25e6775ef18a0044b20e58c2c4346ac37c27d152176c5bea6c2454617bfb48479eb8b13b711a98116b73f7ecac30faf1dd9b4fa17d68"
    );
    let ml_dsa = AnySigningKey::from_seed(Set::MlDsa44, seeds.first_chunk().unwrap());
    let ed25519 = Ed25519SigningKey::from_bytes(&seeds[32..]).unwrap();
    let keys = (ml_dsa.verifying_key(), ed25519.public_key());
    let message = b"The quick brown fox jumps over the lazy dog.";
    let published =
        base64ct::Base64::decode_vec(include_str!("data/composite.txt").trim()).unwrap();
    let (signed, context) = (
        composite(message),
        Context::new(COMPOSITE.as_bytes()).unwrap(),
    );
    assert_eq!(published[2420..], ed25519.sign(&signed));
    let first = ml_dsa.sign_hedged(&signed, context).unwrap();
    let ours = [&first[..], &ed25519.sign(&signed)].concat();
    for signature in [published, ours] {
        assert!(verify_composite(&keys, message, &signature));
        assert!(!verify_composite(&keys, b"another message", &signature));
        for at in [0, 2419, 2420, 2483] {
            let mut changed = signature.clone();
            changed[at] ^= 1;
            assert!(!verify_composite(&keys, message, &changed), "{at}");
            assert!(!verify_composite(&keys, message, &signature[..at]), "{at}");
        }
        // The ML-DSA key alone has signed nothing.
        assert!(verify(&keys.0, &signed, &signature[..2420]).is_err());
    }
}
