use mldsa_core::internals::PrivateKeyChoice;
use mldsa_core::pkcs8::der::{Decode, Encode};
use mldsa_core::pkcs8::{
    DecodePublicKey, EncodePrivateKey, EncodePublicKey, LineEnding, PrivateKeyInfoRef,
};
use mldsa_core::{
    KeyError, MlDsa44, MlDsa65, MlDsa87, ParameterSet, PrivateKeyForm, SigningKey, VerifyingKey,
};

use crate::{for_all_sets, key};

const FORMS: [PrivateKeyForm; 3] = [
    PrivateKeyForm::Seed,
    PrivateKeyForm::Expanded,
    PrivateKeyForm::Both,
];

fn form_of(der: &[u8]) -> PrivateKeyForm {
    let info = PrivateKeyInfoRef::try_from(der).unwrap();
    PrivateKeyChoice::from_der(info.private_key.as_bytes())
        .unwrap()
        .form()
}

fn read<P: ParameterSet>(der: &[u8]) -> Option<SigningKey<P>> {
    SigningKey::from_pkcs8_der(der).ok()
}

fn round_trips<P: ParameterSet>() {
    let key = key::<P>();
    for form in FORMS {
        let der = key.to_pkcs8_der_as(form).unwrap();
        let len = match form {
            PrivateKeyForm::Seed => 54,
            PrivateKeyForm::Expanded => P::SK_LEN + 28,
            PrivateKeyForm::Both => P::SK_LEN + 66,
        };
        assert_eq!(der.as_bytes().len(), len);
        assert_eq!(form_of(der.as_bytes()), form);
        let again = read::<P>(der.as_bytes()).unwrap();
        assert_eq!(again, key);
        assert_eq!(again.seed().is_some(), form != PrivateKeyForm::Expanded);

        let pem = key.to_pkcs8_pem_as(form, LineEnding::LF).unwrap();
        assert!(pem.starts_with("-----BEGIN PRIVATE KEY-----\n"));
        assert_eq!(SigningKey::<P>::from_pkcs8_pem(&pem).unwrap(), key);
    }
    // The seed by default; without it, what there is.
    assert_eq!(
        form_of(key.to_pkcs8_der().unwrap().as_bytes()),
        PrivateKeyForm::Seed
    );
    let imported = SigningKey::<P>::from_expanded_bytes(key.expanded().as_ref()).unwrap();
    assert_eq!(
        form_of(imported.to_pkcs8_der().unwrap().as_bytes()),
        PrivateKeyForm::Expanded
    );
    assert!(imported.to_pkcs8_der_as(PrivateKeyForm::Seed).is_err());
    assert!(imported.to_pkcs8_der_as(PrivateKeyForm::Both).is_err());

    let vk = key.verifying_key();
    let der = vk.to_public_key_der().unwrap();
    assert_eq!(der.as_bytes().len(), P::PK_LEN + 22);
    assert_eq!(
        &VerifyingKey::<P>::from_public_key_der(der.as_bytes()).unwrap(),
        vk
    );
    let pem = vk.to_public_key_pem(LineEnding::CRLF).unwrap();
    assert!(pem.starts_with("-----BEGIN PUBLIC KEY-----\r\n"));
    assert_eq!(&VerifyingKey::<P>::from_public_key_pem(&pem).unwrap(), vk);
}

#[test]
fn every_form_of_every_set() {
    for_all_sets!(round_trips);
}

/// The bytes that RFC 9881 prescribes around a seed.
#[test]
fn seed_form_byte_for_byte() {
    let der = key::<MlDsa65>().to_pkcs8_der().unwrap();
    let expected = "3034020100300b060960864801650304031204228020\
                    000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
    assert_eq!(hex::encode(der.as_bytes()), expected);
}

/// PKCS#8 around `private_key`, with the algorithm identifier `algorithm`.
fn wrap(algorithm: &str, private_key: &[u8], tail: &[u8]) -> Vec<u8> {
    fn tlv(tag: u8, content: &[u8]) -> Vec<u8> {
        let mut out = vec![tag];
        match content.len() {
            len @ 0..128 => out.push(len as u8),
            len => out.extend([0x82, (len >> 8) as u8, len as u8]),
        }
        out.extend(content);
        out
    }
    let version = if tail.first() == Some(&0x81) { 1 } else { 0 };
    let content = [
        tlv(2, &[version]),
        hex::decode(algorithm).unwrap(),
        tlv(4, private_key),
        tail.to_vec(),
    ];
    tlv(0x30, &content.concat())
}

const ALGORITHM: &str = "300b0609608648016503040311";

fn seed_choice() -> Vec<u8> {
    let mut choice = vec![0x80, 32];
    choice.extend(0..32);
    choice
}

#[test]
fn algorithm_and_structure_are_exact() {
    let seed = seed_choice();
    assert!(read::<MlDsa44>(&wrap(ALGORITHM, &seed, &[])).is_some());
    // Another set, HashML-DSA, NULL parameters, other parameters.
    assert!(read::<MlDsa65>(&wrap(ALGORITHM, &seed, &[])).is_none());
    assert!(read::<MlDsa87>(&wrap(ALGORITHM, &seed, &[])).is_none());
    for algorithm in [
        "300b0609608648016503040312",
        "300b0609608648016503040320",
        "300d06096086480165030403110500",
        "300d06096086480165030403110400",
        "300e0609608648016503040311020100",
    ] {
        assert!(read::<MlDsa44>(&wrap(algorithm, &seed, &[])).is_none());
    }
    // A seed without its tag, with the wrong tag, constructed, short, long, with
    // a non-minimal length, followed by something.
    let cases: [&[u8]; 10] = [
        &seed[2..],
        &[&[0x04, 32], &seed[2..]].concat(),
        &[&[0x81, 32], &seed[2..]].concat(),
        &[&[0xa0, 32], &seed[2..]].concat(),
        &[&[0xa0, 34, 0x04, 32], &seed[2..]].concat(),
        &[&[0x80, 31], &seed[3..]].concat(),
        &[&[0x80, 33, 0], &seed[2..]].concat(),
        &[&[0x80, 0x81, 32], &seed[2..]].concat(),
        &[&seed[..], &[0]].concat(),
        &[],
    ];
    for case in cases {
        assert!(
            read::<MlDsa44>(&wrap(ALGORITHM, case, &[])).is_none(),
            "{case:02x?}"
        );
    }
}

#[test]
fn an_enclosed_public_key_must_be_the_right_one() {
    let seed = seed_choice();
    let pk = key::<MlDsa44>().verifying_key().as_bytes().to_vec();
    let tail = |pk: &[u8]| {
        let len = pk.len() + 1;
        [&[0x81, 0x82, (len >> 8) as u8, len as u8, 0], pk].concat()
    };
    assert!(read::<MlDsa44>(&wrap(ALGORITHM, &seed, &tail(&pk))).is_some());
    let mut other = pk.clone();
    other[1311] ^= 1;
    assert!(read::<MlDsa44>(&wrap(ALGORITHM, &seed, &tail(&other))).is_none());
    assert!(read::<MlDsa44>(&wrap(ALGORITHM, &seed, &tail(&pk[..1311]))).is_none());
}

/// The version tells whether there is a public key; attributes are a set of attributes, once and
/// before the public key.
#[test]
fn version_and_attributes() {
    let seed = seed_choice();
    let pk = key::<MlDsa44>().verifying_key().as_bytes().to_vec();
    let public = [&[0x81, 0x82, 0x05, 0x21, 0][..], &pk].concat();
    let name = hex::decode("a01630143012060a2b060104018237110131041e02006b").unwrap();
    let set_of = |attributes: &[&[u8]]| {
        let content = attributes.concat();
        [&[0xa0, content.len() as u8], &content[..]].concat()
    };
    // Two attributes; the second set of values is empty.
    let a = hex::decode("300b06032a0304310404020101").unwrap();
    let b = hex::decode("300706032a03053100").unwrap();
    let tail = |parts: &[&[u8]]| parts.concat();
    let result = |version: u8, tail: &[u8]| {
        let mut der = wrap(ALGORITHM, &seed, tail);
        let at = der.windows(2).position(|window| window == [2, 1]).unwrap();
        der[at + 2] = version;
        let read = SigningKey::<MlDsa44>::from_pkcs8_der(&der);
        let pem = mldsa_core::pkcs8::der::pem::encode_string("PRIVATE KEY", LineEnding::LF, &der);
        let text = SigningKey::<MlDsa44>::from_pkcs8_pem(pem.unwrap());
        assert_eq!(read.is_ok(), text.is_ok());
        read.map(|read| assert_eq!(read, key()))
    };
    for (version, tail, expected) in [
        (0, vec![], Ok(())),
        (1, public.clone(), Ok(())),
        (0, public.clone(), Err(KeyError::Version)),
        (1, vec![], Err(KeyError::Version)),
        (2, vec![], Err(KeyError::Structure)),
        (0, set_of(&[]), Ok(())),
        (0, set_of(&[&b, &a]), Ok(())),
        (1, tail(&[&set_of(&[&b, &a]), &public]), Ok(())),
        (0, set_of(&[&a, &b]), Err(KeyError::Attributes)),
        (0, set_of(&[&a, &a]), Err(KeyError::Attributes)),
        (0, set_of(&[&a[..12]]), Err(KeyError::Attributes)),
        (0, set_of(&[&a, &[0]]), Err(KeyError::Attributes)),
        (0, set_of(&[&[0x30, 0]]), Err(KeyError::Attributes)),
        (0, vec![0xa0, 1, 0xff], Err(KeyError::Attributes)),
        (
            0,
            [&[0xa0, 0x82, 1, 44][..], &[0; 300]].concat(),
            Err(KeyError::Attributes),
        ),
        (0, name[..name.len() - 1].to_vec(), Err(KeyError::Structure)),
        (
            0,
            tail(&[&set_of(&[]), &set_of(&[])]),
            Err(KeyError::Structure),
        ),
        (1, tail(&[&public, &set_of(&[])]), Err(KeyError::Structure)),
        (1, tail(&[&public, &[0x82, 1, 0]]), Err(KeyError::Structure)),
        (1, vec![0x81, 0], Err(KeyError::Structure)),
        (
            1,
            tail(&[&[0xa1, 0x82, 0x05, 0x21, 0], &pk]),
            Err(KeyError::Structure),
        ),
    ] {
        assert_eq!(
            result(version, &tail),
            expected,
            "{version} {:02x?}",
            &tail[..tail.len().min(40)]
        );
    }
}

#[test]
fn inconsistent_parts() {
    let expanded = *key::<MlDsa44>().expanded();
    let other = SigningKey::<MlDsa44>::from_seed(&[9; 32]);
    let both = |seed: &[u8], expanded: &[u8]| {
        PrivateKeyChoice::Both { seed, expanded }
            .signing_key::<MlDsa44>()
            .map(|_| ())
    };
    let seed: [u8; 32] = core::array::from_fn(|n| n as u8);
    assert_eq!(both(&seed, &expanded), Ok(()));
    assert_eq!(both(&[9; 32], &expanded), Err(KeyError::Inconsistent));
    assert_eq!(both(&seed, other.expanded()), Err(KeyError::Inconsistent));
    assert_eq!(both(&seed, &expanded[1..]), Err(KeyError::Length));
    assert_eq!(both(&seed[1..], &expanded), Err(KeyError::Length));
    // tr, t0, and s1 out of range (code word 7 of eta = 2).
    for (place, mask, error) in [
        (64, 1, KeyError::Inconsistent),
        (2559, 0x80, KeyError::Inconsistent),
        (128, 0x07, KeyError::SecretRange),
    ] {
        let mut bad = expanded;
        bad[place] |= mask;
        if bad == expanded {
            bad[place] ^= mask;
        }
        let choice = PrivateKeyChoice::Expanded(&bad);
        assert_eq!(choice.signing_key::<MlDsa44>().map(|_| ()), Err(error));
    }
}

#[test]
fn choices_print_no_secret() {
    let choice = PrivateKeyChoice::Seed(&[0xab; 32]);
    assert_eq!(format!("{choice:?}"), "PrivateKeyChoice(Seed, ..)");
    assert_eq!(choice.to_der().unwrap().len(), 34);
}
