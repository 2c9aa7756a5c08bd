//! Keys of any set: each operation gives what the typed key gives.

use core::fmt::Debug;

use mldsa_core::pkcs8::der::Encode;
use mldsa_core::pkcs8::{EncodePrivateKey, LineEnding};
use mldsa_core::spki::{
    AlgorithmIdentifierRef, EncodePublicKey, ObjectIdentifier, SubjectPublicKeyInfoRef,
};
use mldsa_core::{
    AnyDecodedSignature, AnyPreparedSigningKey, AnyPreparedVerifyingKey, AnySigningKey,
    AnyVerifyingKey, Context, KeyError, MessageError, MlDsa44, MlDsa65, MlDsa87, Mu, ParameterSet,
    PemError, PreHash, PreHashed, PreparedSigningKey, PreparedVerifyingKey, PrivateKeyForm,
    Randomness, Set, SignError, SigningKey, VerifyError, VerifyingKey, with_set,
};

const DETERMINISTIC: Randomness<'_> = Randomness::Deterministic;

#[test]
fn sets_are_described_as_their_types_are() {
    for set in Set::ALL {
        with_set!(set, P => {
            assert_eq!(P::SET, set);
            assert_eq!((P::NAME, P::CATEGORY), (set.name(), set.category()));
            let lengths = (set.public_key_len(), set.private_key_len(), set.signature_len());
            assert_eq!((P::PK_LEN, P::SK_LEN, P::SIG_LEN), lengths);
        });
        assert_eq!(set.to_string().parse(), Ok(set));
        assert_eq!(format!("{set:>10}"), format!(" {}", set.name()));
        assert_eq!(Set::from_oid(set.oid()), Some(set));
        let oid = ObjectIdentifier::from(set);
        assert_eq!(oid.to_der().unwrap(), set.oid());
        assert_eq!(Set::try_from(oid), Ok(set));
        assert_eq!(Set::from_public_key_len(set.public_key_len()), Some(set));
        assert_eq!(Set::from_private_key_len(set.private_key_len()), Some(set));
        assert_eq!(Set::from_signature_len(set.signature_len()), Some(set));
        assert_eq!(Set::from_public_key_len(set.signature_len()), None);
        let json = serde_json::to_string(&set).unwrap();
        assert_eq!(json, format!("\"{set}\""));
        assert_eq!(serde_json::from_str::<Set>(&json).unwrap(), set);
    }
    for name in ["", "44", "ml-dsa-44", "ML-DSA-44 ", "HashML-DSA-44"] {
        assert_eq!(name.parse::<Set>(), Err(KeyError::UnknownSet), "{name}");
        let json = serde_json::to_string(name).unwrap();
        assert!(serde_json::from_str::<Set>(&json).is_err());
    }
    // ML-DSA-87 and the identifier after it, and a part of one.
    let last = Set::MlDsa87.oid();
    let next: Vec<_> = last[..10].iter().copied().chain([20]).collect();
    assert_eq!(Set::from_oid(&next), None);
    assert_eq!(Set::from_oid(&last[..10]), None);
    let rsa = ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.1");
    assert_eq!(Set::try_from(rsa), Err(KeyError::UnknownSet));
}

/// Compares everything that the two kinds of keys do.
fn any_equals_typed<P: ParameterSet>()
where
    AnySigningKey: From<SigningKey<P>>,
    AnyVerifyingKey: From<VerifyingKey<P>>,
    AnyPreparedSigningKey: From<PreparedSigningKey<P>>,
    AnyPreparedVerifyingKey: From<PreparedVerifyingKey<P>>,
    VerifyingKey<P>: TryFrom<AnyVerifyingKey, Error = KeyError>,
    Box<SigningKey<P>>: TryFrom<AnySigningKey, Error = KeyError>,
{
    let typed = SigningKey::<P>::from_seed(&[7; 32]);
    let public = typed.verifying_key();
    let any = AnySigningKey::from_seed(P::SET, &[7; 32]);
    assert_eq!(any, SigningKey::<P>::from_seed(&[7; 32]).into());
    assert_ne!(any, AnySigningKey::from_seed(P::SET, &[8; 32]));
    assert_eq!(any.set(), P::SET);
    assert_eq!(any.expanded(), typed.expanded().as_ref());
    assert_eq!(any.seed(), Some(&[7; 32]));
    assert_eq!(format!("{any:?}"), format!("{typed:?}"));
    let any_public = any.verifying_key();
    assert_eq!(any_public, public.clone().into());
    assert_eq!(format!("{any_public:?}"), format!("{public:?}"));
    assert_eq!(any_public.tr(), public.tr());

    // Signing: the same bytes by value and into a buffer, prepared and not.
    let context = Context::new(b"any").unwrap();
    let signature = typed
        .sign_with_context(b"m", context, DETERMINISTIC)
        .unwrap();
    let mu = Mu::from_bytes([3; 64]);
    let of_mu = typed.sign_mu(&mu, DETERMINISTIC).unwrap();
    let prepared = any.prepare();
    assert_eq!((prepared.set(), prepared.tr()), (P::SET, public.tr()));
    assert_eq!(prepared.verifying_key(), any_public);
    let digest = PreHashed::<P>::new(PreHash::Sha2_512, &[9; 64]).unwrap();
    let of_digest = typed
        .sign_prehashed(&digest, context, DETERMINISTIC)
        .unwrap();
    let mut out = vec![0; P::SIG_LEN];
    macro_rules! signs {
        ($key:expr) => {
            assert_eq!(
                $key.sign_with_context(b"m", context, DETERMINISTIC)
                    .unwrap(),
                signature.as_ref()
            );
            assert_eq!($key.sign_mu(&mu, DETERMINISTIC).unwrap(), of_mu.as_ref());
            $key.sign_into(b"m", context, DETERMINISTIC, &mut out)
                .unwrap();
            assert_eq!(out, signature.as_ref());
            $key.sign_mu_into(&mu, DETERMINISTIC, &mut out).unwrap();
            assert_eq!(out, of_mu.as_ref());
            let short = $key.sign_into(b"m", context, DETERMINISTIC, &mut out[1..]);
            assert_eq!(short, Err(SignError::BufferLength));
            let of =
                |hash, digest: &[u8]| $key.sign_prehashed(hash, digest, context, DETERMINISTIC);
            assert_eq!(
                of(PreHash::Sha2_512, &[9; 64]).unwrap().unwrap(),
                of_digest.as_ref()
            );
            let length = of(PreHash::Sha2_512, &[9; 63]);
            assert_eq!(length, Err(MessageError::DigestLength));
            let weak = of(PreHash::Sha2_224, &[9; 28]);
            assert_eq!(weak, Err(MessageError::WeakPreHash));
            let hedged = $key.sign_hedged(b"m", context).unwrap();
            assert_eq!(public.verify_with_context(b"m", context, &hedged), Ok(()));
        };
    }
    signs!(any);
    signs!(prepared);

    // Verification, and HashML-DSA by way of `mu`.
    let prepared = any_public.prepare();
    assert_eq!((prepared.set(), prepared.tr()), (P::SET, public.tr()));
    assert_eq!(format!("{prepared:?}"), format!("{:?}", public.prepare()));
    macro_rules! verifies {
        ($key:expr) => {
            assert_eq!($key.verify_with_context(b"m", context, &signature), Ok(()));
            let rejected = $key.verify_with_context(b"n", context, &signature);
            assert_eq!(rejected, Err(VerifyError::ChallengeMismatch));
            let short = $key.verify_with_context(b"m", context, &signature.as_ref()[1..]);
            assert_eq!(short, Err(VerifyError::SignatureLength));
            assert_eq!($key.verify_mu(&mu, &of_mu), Ok(()));
            let hashed = $key
                .prehashed_mu(PreHash::Sha2_512, &[9; 64], context)
                .unwrap();
            assert_eq!($key.verify_mu(&hashed, &of_digest), Ok(()));
            let length = $key.prehashed_mu(PreHash::Sha2_512, &[9; 63], context);
            assert_eq!(length, Err(MessageError::DigestLength));
            let weak = (PreHash::Sha2_224, &[9; 28]);
            let refused = $key.prehashed_mu(weak.0, weak.1, context);
            assert_eq!(refused, Err(MessageError::WeakPreHash));
            let admitted = PreHashed::<P>::new_allow_weak(weak.0, weak.1).unwrap();
            let weak = $key.prehashed_mu_allow_weak(weak.0, weak.1, context);
            assert_eq!(weak, Ok(admitted.mu(public.tr(), context)));
        };
    }
    verifies!(any_public);
    verifies!(prepared);

    // Files.
    let spki = public.to_public_key_der().unwrap();
    assert_eq!(any_public.to_public_key_der().unwrap(), spki);
    assert_eq!(
        AnyVerifyingKey::from_public_key_der(spki.as_bytes()),
        Ok(any_public.clone())
    );
    let pem = any_public.to_public_key_pem(LineEnding::CRLF).unwrap();
    assert_eq!(
        AnyVerifyingKey::from_public_key_pem(&pem),
        Ok(any_public.clone())
    );
    assert_eq!(
        any.to_pkcs8_der().unwrap().as_bytes(),
        typed.to_pkcs8_der().unwrap().as_bytes()
    );
    for form in [
        PrivateKeyForm::Seed,
        PrivateKeyForm::Expanded,
        PrivateKeyForm::Both,
    ] {
        let der = any.to_pkcs8_der_as(form).unwrap();
        assert_eq!(
            der.as_bytes(),
            typed.to_pkcs8_der_as(form).unwrap().as_bytes()
        );
        let read = AnySigningKey::from_pkcs8_der(der.as_bytes()).unwrap();
        assert_eq!(read, any);
        assert_eq!(read.seed().is_some(), form != PrivateKeyForm::Expanded);
        let pem = any.to_pkcs8_pem_as(form, LineEnding::LF).unwrap();
        assert_eq!(AnySigningKey::from_pkcs8_pem(&*pem), Ok(read));
    }
    let expanded = AnySigningKey::from_expanded_bytes(any.expanded()).unwrap();
    assert_eq!(expanded, any);
    assert!(expanded.to_pkcs8_der_as(PrivateKeyForm::Both).is_err());

    // serde, and back to the typed keys.
    let json = serde_json::to_string(&any_public).unwrap();
    assert_eq!(json, serde_json::to_string(public).unwrap());
    assert_eq!(
        serde_json::from_str::<AnyVerifyingKey>(&json).unwrap(),
        any_public
    );
    assert_eq!(VerifyingKey::try_from(any_public), Ok(public.clone()));
    assert_eq!(
        Box::<SigningKey<P>>::try_from(any).map(|key| *key),
        Ok(typed)
    );
}

#[test]
fn a_key_of_any_set_does_what_the_typed_key_does() {
    any_equals_typed::<MlDsa44>();
    any_equals_typed::<MlDsa65>();
    any_equals_typed::<MlDsa87>();
}

#[test]
fn a_decoded_signature_of_another_set_has_the_wrong_length() {
    let empty = Context::EMPTY;
    for (of_key, of_signature) in Set::ALL.into_iter().flat_map(|a| Set::ALL.map(|b| (a, b))) {
        let key = AnyVerifyingKey::from_bytes(&vec![7; of_key.public_key_len()]).unwrap();
        let prepared = key.prepare();
        // The hint is in its canonical encoding, z is out of range.
        let zeros = vec![0; of_signature.signature_len()];
        let decoded = AnyDecodedSignature::decode(of_signature, &zeros).unwrap();
        let expected = [VerifyError::SignatureLength, VerifyError::ResponseNorm];
        let expected = Err(expected[usize::from(of_key == of_signature)]);
        let mu = Mu::from_bytes([7; 64]);
        for verdict in [
            key.verify_with_context(b"", empty, &decoded),
            prepared.verify_with_context(b"", empty, &decoded),
            key.verify_mu(&mu, &decoded),
            prepared.verify_mu(&mu, &decoded),
        ] {
            assert_eq!(verdict, expected, "{of_key} {of_signature}");
        }
    }
}

#[test]
fn a_key_of_another_set_is_named() {
    let key = AnySigningKey::from_seed(Set::MlDsa44, &[7; 32]);
    let public = key.verifying_key();
    fn other<T: Debug>(result: Result<T, KeyError>) {
        assert_eq!(result.err(), Some(KeyError::OtherSet));
    }
    other(VerifyingKey::<MlDsa65>::try_from(public.clone()));
    other(PreparedVerifyingKey::<MlDsa87>::try_from(public.prepare()));
    other(PreparedSigningKey::<MlDsa87>::try_from(key.prepare()));
    let pem = public.to_public_key_pem(LineEnding::LF).unwrap();
    let content = Some(PemError::Content(KeyError::OtherSet));
    assert_eq!(
        VerifyingKey::<MlDsa65>::from_public_key_pem(pem).err(),
        content
    );
    let pem = key
        .to_pkcs8_pem_as(PrivateKeyForm::Seed, LineEnding::LF)
        .unwrap();
    assert_eq!(SigningKey::<MlDsa65>::from_pkcs8_pem(&*pem).err(), content);
    other(Box::<SigningKey<MlDsa65>>::try_from(key));
}

/// A SubjectPublicKeyInfo of any identifier and any bytes.
fn spki(oid: &str, null: bool, key: &[u8]) -> Vec<u8> {
    let info = SubjectPublicKeyInfoRef {
        algorithm: AlgorithmIdentifierRef {
            oid: ObjectIdentifier::new_unwrap(oid),
            parameters: null.then(|| mldsa_core::pkcs8::der::asn1::Null.into()),
        },
        subject_public_key: mldsa_core::pkcs8::der::asn1::BitStringRef::from_bytes(key).unwrap(),
    };
    info.to_der().unwrap()
}

#[test]
fn bad_files_have_a_reason() {
    const ARC: &str = "2.16.840.1.101.3.4.3";
    let read = |oid: &str, null, len| {
        let der = spki(oid, null, &vec![1; len]);
        AnyVerifyingKey::from_public_key_der(&der).map(|key| key.set())
    };
    assert_eq!(read(&format!("{ARC}.17"), false, 1312), Ok(Set::MlDsa44));
    // The identifier decides, not the length.
    assert_eq!(
        read(&format!("{ARC}.17"), false, 1952),
        Err(KeyError::Length)
    );
    assert_eq!(
        read(&format!("{ARC}.19"), false, 1312),
        Err(KeyError::Length)
    );
    let parameters = Err(KeyError::AlgorithmParameters);
    assert_eq!(read(&format!("{ARC}.18"), true, 1952), parameters);
    // HashML-DSA-44 with SHA-512, and RSA.
    for unknown in [&format!("{ARC}.32"), "1.2.840.113549.1.1.1"] {
        assert_eq!(read(unknown, false, 1312), Err(KeyError::UnknownSet));
        assert_eq!(read(unknown, true, 1312), Err(KeyError::UnknownSet));
    }
    let good = spki(&format!("{ARC}.17"), false, &[1; 1312]);
    for len in 0..good.len() {
        let cut = AnyVerifyingKey::from_public_key_der(&good[..len]);
        assert_eq!(cut, Err(KeyError::Structure), "{len}");
    }
    assert_eq!(
        AnySigningKey::from_pkcs8_der(&good).err(),
        Some(KeyError::Structure)
    );
    let key = AnySigningKey::from_seed(Set::MlDsa65, &[7; 32]);
    let private = key.to_pkcs8_der_as(PrivateKeyForm::Both).unwrap();
    let private = private.as_bytes();
    assert_eq!(
        AnyVerifyingKey::from_public_key_der(private),
        Err(KeyError::Structure)
    );
    for len in 0..private.len() {
        let cut = AnySigningKey::from_pkcs8_der(&private[..len]).err();
        assert_eq!(cut, Some(KeyError::Structure), "{len}");
    }
    // The identifier of another set: the lengths do not fit; of no set at all.
    let at = private
        .windows(9)
        .position(|window| window == &Set::MlDsa65.oid()[2..]);
    let mut wrong = private.to_vec();
    wrong[at.unwrap() + 8] = 17;
    assert_eq!(
        AnySigningKey::from_pkcs8_der(&wrong).err(),
        Some(KeyError::Length)
    );
    wrong[at.unwrap() + 8] = 20;
    assert_eq!(
        AnySigningKey::from_pkcs8_der(&wrong).err(),
        Some(KeyError::UnknownSet)
    );
    // A bit of the expanded key, which the seed does not give.
    let mut wrong = private.to_vec();
    *wrong.last_mut().unwrap() ^= 1;
    assert_eq!(
        AnySigningKey::from_pkcs8_der(&wrong).err(),
        Some(KeyError::Inconsistent)
    );
}
