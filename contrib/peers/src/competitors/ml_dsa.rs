//! `ml-dsa` (RustCrypto): portable Rust. Both key objects always hold the expanded matrix, so
//! `sign` includes loading the encoded private key.

use core::marker::PhantomData;
use std::rc::Rc;

use ml_dsa::{
    EncodedSignature, ExpandedSigningKey, ExpandedSigningKeyBytes, MlDsaParams, Signature,
    SigningKey, VerifyingKey,
};

use super::Competitor;
use crate::{
    Contender, Inputs, Op,
    inputs::{Case, Key},
};

pub(super) struct RustCrypto<P>(PhantomData<P>);
pub(super) type MlDsa44 = RustCrypto<ml_dsa::MlDsa44>;
pub(super) type MlDsa65 = RustCrypto<ml_dsa::MlDsa65>;
pub(super) type MlDsa87 = RustCrypto<ml_dsa::MlDsa87>;

impl<P: MlDsaParams + 'static> Competitor for RustCrypto<P> {
    const NAME: &'static str = "ml-dsa";
    type KeyPair = SigningKey<P>;
    type SigningKey = Vec<u8>;
    type Signature = EncodedSignature<P>;

    fn keygen(seed: &[u8; 32]) -> SigningKey<P> {
        SigningKey::from_seed(&(*seed).into())
    }

    fn public_key(pair: &SigningKey<P>) -> Vec<u8> {
        pair.expanded_key().verifying_key().encode().to_vec()
    }

    fn signing_key(key: &Key) -> Vec<u8> {
        key.private.clone()
    }

    fn sign(key: &Vec<u8>, message: &[u8]) -> EncodedSignature<P> {
        sign(&load_private::<P>(key), message)
    }

    fn verify(public: &[u8], message: &[u8], signature: &[u8]) -> bool {
        let public = public.try_into().map(VerifyingKey::<P>::decode);
        public.is_ok_and(|public| verify(&public, message, signature))
    }

    fn with_key_objects(inputs: &Rc<Inputs>) -> Vec<Contender> {
        let private: Vec<_> = inputs
            .keys
            .iter()
            .map(|key| load_private::<P>(&key.private))
            .collect();
        let public: Vec<_> = inputs.keys.iter().map(load_public::<P>).collect();
        let sign = move |_: &Key, case: &Case| sign(&private[case.key], &case.message);
        let verify =
            move |_: &Key, case: &Case| verify(&public[case.key], &case.message, &case.signature);
        vec![
            Contender::signer(Op::SignPrepared, Self::NAME, true, inputs, sign),
            Contender::verifier(Op::VerifyPrepared, Self::NAME, inputs, verify),
        ]
    }
}

#[expect(deprecated, reason = "every signer is given the encoded private key")]
fn load_private<P: MlDsaParams>(private: &[u8]) -> ExpandedSigningKey<P> {
    let bytes: &ExpandedSigningKeyBytes<P> = private.try_into().expect("an encoding");
    ExpandedSigningKey::from_expanded(bytes)
}

fn load_public<P: MlDsaParams>(key: &Key) -> VerifyingKey<P> {
    VerifyingKey::decode(key.public.as_slice().try_into().expect("an encoding"))
}

fn sign<P: MlDsaParams>(key: &ExpandedSigningKey<P>, message: &[u8]) -> EncodedSignature<P> {
    key.sign_deterministic(message, &[])
        .expect("signing")
        .encode()
}

fn verify<P: MlDsaParams>(public: &VerifyingKey<P>, message: &[u8], signature: &[u8]) -> bool {
    let signature = Signature::try_from(signature);
    signature.is_ok_and(|signature| public.verify_with_context(message, &[], &signature))
}
