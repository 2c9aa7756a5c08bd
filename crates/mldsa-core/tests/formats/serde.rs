use mldsa_core::{
    Context, Mu, ParameterSet, Randomness, SerializableSigningKey, Signature, SigningKey,
    VerifyingKey,
};

use crate::{for_all_sets, key};

fn round_trips<P: ParameterSet>() {
    let key = key::<P>();
    let vk = key.verifying_key();
    let signature = key
        .sign_with_context(b"m", Context::EMPTY, Randomness::Deterministic)
        .unwrap();

    let json = serde_json::to_string(vk).unwrap();
    assert_eq!(json, format!("\"{}\"", hex::encode(vk.as_bytes())));
    assert_eq!(&serde_json::from_str::<VerifyingKey<P>>(&json).unwrap(), vk);
    let upper = json.to_uppercase();
    assert_eq!(
        &serde_json::from_str::<VerifyingKey<P>>(&upper).unwrap(),
        vk
    );
    let json = serde_json::to_string(&signature).unwrap();
    assert_eq!(
        serde_json::from_str::<Signature<P>>(&json).unwrap(),
        signature
    );

    let binary = postcard::to_stdvec(vk).unwrap();
    assert_eq!(binary.len(), P::PK_LEN + 2);
    assert_eq!(
        &postcard::from_bytes::<VerifyingKey<P>>(&binary).unwrap(),
        vk
    );
    let binary = postcard::to_stdvec(&signature).unwrap();
    assert_eq!(
        postcard::from_bytes::<Signature<P>>(&binary).unwrap(),
        signature
    );

    // Private keys only inside the wrapper: the seed, or what there is.
    let text = hex::encode(vk.as_bytes());
    let exposed = SerializableSigningKey(key);
    let json = serde_json::to_string(&exposed).unwrap();
    let seed = hex::encode(exposed.0.seed().unwrap());
    assert_eq!(json, format!("\"{}:{seed}\"", P::NAME));
    assert_eq!(
        serde_json::from_str::<SerializableSigningKey<P>>(&json)
            .unwrap()
            .0,
        exposed.0
    );
    let binary = postcard::to_stdvec(&exposed).unwrap();
    assert_eq!(binary.len(), 33);
    let again = postcard::from_bytes::<SerializableSigningKey<P>>(&binary).unwrap();
    assert!(again.0.seed().is_some() && again.0 == exposed.0);
    let expanded = SerializableSigningKey(
        SigningKey::<P>::from_expanded_bytes(exposed.0.expanded().as_ref()).unwrap(),
    );
    let binary = postcard::to_stdvec(&expanded).unwrap();
    let again = postcard::from_bytes::<SerializableSigningKey<P>>(&binary).unwrap();
    assert!(again.0.seed().is_none() && again.0 == exposed.0);

    // Lengths, alphabets, other types; nothing of a value is repeated.
    for bad in [
        format!("\"{}\"", &text[1..]),
        format!("\"{}\"", &text[2..]),
        format!("\"{text}00\""),
        format!("\"g{}\"", &text[1..]),
        "null".into(),
        "12".into(),
        "[1,2]".into(),
        "\"\"".into(),
    ] {
        let error = serde_json::from_str::<VerifyingKey<P>>(&bad).unwrap_err();
        assert!(error.to_string().len() < 120, "{error}");
        assert!(serde_json::from_str::<Signature<P>>(&bad).is_err());
        assert!(serde_json::from_str::<SerializableSigningKey<P>>(&bad).is_err());
    }
    // A signature with a malformed hint does not deserialise.
    let mut bytes = signature.as_ref().to_vec();
    bytes[P::SIG_LEN - 1] = 0xff;
    let json = format!("\"{}\"", hex::encode(bytes));
    assert!(serde_json::from_str::<Signature<P>>(&json).is_err());
    // An inconsistent private key neither.
    let mut bytes = exposed.0.expanded().as_ref().to_vec();
    bytes[64] ^= 1;
    let json = format!("\"{}:{}\"", P::NAME, hex::encode(bytes));
    assert!(serde_json::from_str::<SerializableSigningKey<P>>(&json).is_err());
    // A key without its set, of another set, with something before it or in between.
    for prefix in ["", ":", "ML-DSA-44:", "ML-DSA-65:", "ML-DSA-87:"] {
        let json = format!("\"{prefix}{seed}\"");
        let read = serde_json::from_str::<SerializableSigningKey<P>>(&json);
        assert_eq!(
            read.is_ok(),
            prefix.strip_suffix(':') == Some(P::NAME),
            "{prefix}"
        );
        let error = read.map_or_else(|error| error.to_string(), |_| String::new());
        assert!(!error.contains(&seed[..8]), "{error}");
    }
    for text in [
        "ML-DSA-44",
        "ML-DSA-44 :00",
        " ML-DSA-44:00",
        "ml-dsa-44:00",
    ] {
        let json = format!("\"{text}\"");
        assert!(serde_json::from_str::<SerializableSigningKey<P>>(&json).is_err());
    }
}

#[test]
fn every_set() {
    for_all_sets!(round_trips);
}

#[test]
fn byte_sequences_are_read() {
    let mu = Mu::from_bytes(core::array::from_fn(|n| n as u8));
    let json = serde_json::to_string(&mu).unwrap();
    assert_eq!(serde_json::from_str::<Mu>(&json).unwrap(), mu);
    assert!(serde_json::from_str::<Mu>(&json[2..]).is_err());
    let bytes = postcard::to_stdvec(&mu).unwrap();
    assert_eq!(postcard::from_bytes::<Mu>(&bytes).unwrap(), mu);
    assert!(postcard::from_bytes::<Mu>(&bytes[..60]).is_err());
    // A format that holds bytes as a sequence of numbers.
    let numbers = |count: u8| {
        type Error = ::serde::de::value::Error;
        let sequence = ::serde::de::value::SeqDeserializer::<_, Error>::new(0..count);
        <Mu as ::serde::Deserialize>::deserialize(sequence)
    };
    assert_eq!(numbers(64).unwrap(), mu);
    assert!(numbers(63).is_err());
    assert!(numbers(65).is_err());
}
