//! Encodings.

use bytes::BufMut;
use commonware_codec::{Copying, Decode as _, DecodeExt as _, Error, FixedSize as _};
use commonware_utils::Participant;
use proptest::prelude::*;

use super::*;

fn encodings<P: ParameterSet>() {
    let schemes = chain::<P>(4);
    let proposal = proposal(1, 1);
    let vote = votes(&schemes[..1], notarize(&proposal)).remove(0);
    let bytes = vote.signature.encode();
    assert_eq!(bytes.len(), Signature::<P>::SIZE);
    assert_eq!(Signature::<P>::SIZE, P::SIG_LEN);
    let signature = Signature::<P>::decode(bytes.clone()).expect("a signature");
    assert_eq!(Some(&signature), vote.signature.get());
    assert_eq!(signature.encode(), bytes);

    let public: PublicKey<P> = key::<P>(0).verifying_key().clone().into();
    assert_eq!(PublicKey::<P>::SIZE, P::PK_LEN);
    let read = PublicKey::<P>::decode(public.encode());
    assert_eq!(read.expect("a key"), public);

    for len in [0, 1, P::SIG_LEN - 1] {
        let short = Signature::<P>::decode(bytes.slice(..len));
        assert!(matches!(short, Err(Error::EndOfBuffer)), "{len}");
    }
    for len in [0, 31, P::PK_LEN - 1] {
        let short = PublicKey::<P>::decode(public.encode().slice(..len));
        assert!(matches!(short, Err(Error::EndOfBuffer)), "{len}");
    }
    let mut long = bytes.to_vec();
    long.push(0);
    let long = Signature::<P>::decode(Bytes::from(long));
    assert!(matches!(long, Err(Error::ExtraData(1))));
    // A certificate of all members has almost the maximum size.
    let certificate = certificate(&schemes, notarize(&proposal));
    let encoded = certificate.encode();
    assert!(encoded.len() <= Certificate::<P>::max_size(4));
    assert!(Certificate::<P>::max_size(4) < encoded.len() + 5);
    let decoded = Certificate::<P>::decode_cfg(encoded.clone(), &4);
    assert_eq!(decoded.expect("a certificate"), certificate);
    assert!(Certificate::<P>::decode_cfg(encoded.clone(), &3).is_err());
    for len in [0, 1, 8, 9, 10, encoded.len() - 1] {
        assert!(Certificate::<P>::decode_cfg(encoded.slice(..len), &4).is_err());
    }
}

#[test]
fn encodings_have_fixed_lengths() {
    encodings::<MlDsa44>();
    encodings::<MlDsa65>();
    encodings::<MlDsa87>();
}

#[test]
fn claimed_lengths_are_not_allocated() {
    // A bitmap of one signer and a claim of 2^32 - 1 signatures.
    let signers = commonware_cryptography::certificate::Signers::new(4, [Participant::new(0)]);
    let mut bytes = signers.expect("one").encode().to_vec();
    bytes.put_slice(&[0xff, 0xff, 0xff, 0xff, 0x0f]);
    let read = Certificate::<MlDsa44>::decode_cfg(Bytes::from(bytes), &(u32::MAX as usize));
    assert!(matches!(read, Err(Error::EndOfBuffer)), "{read:?}");
    // A claimed bitmap of 2^32 - 1 members in nine bytes.
    let mut bytes = vec![0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff];
    bytes.push(1);
    let read = Certificate::<MlDsa44>::decode_cfg(Bytes::from(bytes), &(u32::MAX as usize));
    assert!(matches!(read, Err(Error::EndOfBuffer)), "{read:?}");
}

proptest! {
    #[test]
    fn arbitrary_bytes_are_decoded_or_rejected(bytes in proptest::collection::vec(any::<u8>(), 0..3_000)) {
        let signature = Signature::<MlDsa44>::decode(Copying(&bytes));
        prop_assert_eq!(signature.is_ok(), bytes.len() == MlDsa44::SIG_LEN);
        let public = PublicKey::<MlDsa44>::decode(Copying(&bytes));
        prop_assert_eq!(public.is_ok(), bytes.len() == MlDsa44::PK_LEN);
        if let Ok(read) = Certificate::<MlDsa44>::decode_cfg(Copying(&bytes), &100) {
            prop_assert_eq!(read.encode(), bytes);
        }
    }
}
