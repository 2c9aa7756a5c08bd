//! Other implementations, each through its ordinary public interface.

mod aws_lc;
pub(crate) mod fips204;
mod libcrux;
mod ml_dsa;
#[cfg(feature = "mldsa-native-rs")]
mod mldsa_native;

use std::rc::Rc;

use crate::{
    Contender, Inputs, Op, Set,
    inputs::{Case, Key},
};

/// An implementation of one parameter set. Contexts are empty.
pub(crate) trait Competitor: 'static {
    /// Name of the crate.
    const NAME: &'static str;
    /// Whether `sign` returns the deterministic signature.
    const DETERMINISTIC: bool = true;
    /// A generated key pair.
    type KeyPair;
    /// A loaded private key without an expanded matrix.
    type SigningKey;
    /// A signature.
    type Signature: AsRef<[u8]>;

    /// Key pair of a seed.
    fn keygen(seed: &[u8; 32]) -> Self::KeyPair;
    /// Encoded public key.
    fn public_key(pair: &Self::KeyPair) -> Vec<u8>;
    /// Loads a private key.
    fn signing_key(key: &Key) -> Self::SigningKey;
    /// Signs a message.
    fn sign(key: &Self::SigningKey, message: &[u8]) -> Self::Signature;
    /// Whether an encoded public key accepts a message and its signature.
    fn verify(public: &[u8], message: &[u8], signature: &[u8]) -> bool;
    /// Operations with key objects that hold more than their encoding.
    fn with_key_objects(_: &Rc<Inputs>) -> Vec<Contender> {
        Vec::new()
    }
    /// All operations.
    fn contenders(inputs: &Rc<Inputs>) -> Vec<Contender> {
        let keys: Vec<_> = inputs.keys.iter().map(Self::signing_key).collect();
        let sign = move |_: &Key, case: &Case| Self::sign(&keys[case.key], &case.message);
        let verify =
            |key: &Key, case: &Case| Self::verify(&key.public, &case.message, &case.signature);
        let mut all = vec![
            Contender::keygen(Self::NAME, inputs, Self::keygen, Self::public_key),
            Contender::signer(Op::Sign, Self::NAME, Self::DETERMINISTIC, inputs, sign),
            Contender::verifier(Op::VerifyCold, Self::NAME, inputs, verify),
        ];
        all.extend(Self::with_key_objects(inputs));
        all
    }
}

/// Verification of an encoded signature under an encoded public key.
pub(crate) type Verify = fn(&[u8], &[u8], &[u8]) -> bool;

/// All operations of all implementations.
pub(crate) fn contenders(inputs: &Rc<Inputs>) -> Vec<Contender> {
    macro_rules! all {
        ($set:ident) => {
            [
                aws_lc::$set::contenders(inputs),
                libcrux::$set::contenders(inputs),
                ml_dsa::$set::contenders(inputs),
                fips204::$set::contenders(inputs),
                #[cfg(feature = "mldsa-native-rs")]
                mldsa_native::$set::contenders(inputs),
            ]
            .into_iter()
            .flatten()
            .collect()
        };
    }
    match inputs.set {
        Set::MlDsa44 => all!(MlDsa44),
        Set::MlDsa65 => all!(MlDsa65),
        Set::MlDsa87 => all!(MlDsa87),
    }
}
