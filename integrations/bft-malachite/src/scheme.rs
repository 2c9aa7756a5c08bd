//! ML-DSA as Malachite's signing scheme.

use core::marker::PhantomData;
use std::sync::Arc;

use arc_malachitebft_core_types::SigningScheme;
use harness::{Meter, Strategy, ThreadTime};
use mldsa_core::{
    Context, KeyError, ParameterSet, PreparedSigningKey, Randomness, SigningKey, VerifyingKey,
};

/// What all signatures of this chain are bound to.
pub(crate) const CONTEXT: &[u8] = b"example/malachite/v1";

/// The scheme under one parameter set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scheme<P>(PhantomData<P>);

/// The bytes of a signature as they came, of any length: what is wrong with them is the
/// verifier's to say. The engine clones signatures often, so clones share the bytes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Signature(Arc<[u8]>);

impl AsRef<[u8]> for Signature {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl From<&[u8]> for Signature {
    fn from(bytes: &[u8]) -> Self {
        Self(bytes.into())
    }
}

impl<P: ParameterSet> SigningScheme for Scheme<P> {
    type DecodingError = KeyError;
    type Signature = Signature;
    type PublicKey = VerifyingKey<P>;
    type PrivateKey = Arc<SigningKey<P>>;

    fn decode_signature(bytes: &[u8]) -> Result<Signature, KeyError> {
        Ok(bytes.into())
    }

    fn encode_signature(signature: &Signature) -> Vec<u8> {
        signature.as_ref().to_vec()
    }

    fn decode_public_key(bytes: &[u8]) -> Result<VerifyingKey<P>, KeyError> {
        VerifyingKey::from_bytes(bytes)
    }

    fn encode_public_key(key: &VerifyingKey<P>) -> Vec<u8> {
        key.as_bytes().as_ref().to_vec()
    }
}

/// A validator's key, ready to sign.
#[derive(Debug)]
pub(crate) struct Signer<P: ParameterSet> {
    key: PreparedSigningKey<P>,
    how: Strategy,
    meter: Arc<Meter>,
}

impl<P: ParameterSet> Signer<P> {
    /// Signs so that `how` can verify it.
    #[must_use]
    pub(crate) fn new(key: &SigningKey<P>, how: Strategy, meter: Arc<Meter>) -> Self {
        let key = key.prepare();
        Self { key, how, meter }
    }

    /// Signs under the context of this chain.
    ///
    /// Deterministic: a vote that is signed again, after a restart say, has the same bytes, so
    /// that nobody takes it for a second vote.
    #[must_use]
    pub(crate) fn sign(&self, message: &[u8]) -> Signature {
        let start = ThreadTime::now();
        let signature = self.sign_under(CONTEXT, message);
        self.meter.record_signature(start.elapsed());
        signature
    }

    /// Signs under any context: what the same key may have signed on another chain.
    #[must_use]
    pub(crate) fn sign_under(&self, context: &[u8], message: &[u8]) -> Signature {
        let context = Context::new(context).expect("contexts here are short");
        let (context, message) = self.how.frame(context, message);
        let signature = self.key.sign(&message, context, Randomness::Deterministic);
        // Fails after 814 rejected attempts in a row only, which nobody has seen.
        signature.expect("signing ends").as_ref().into()
    }
}
