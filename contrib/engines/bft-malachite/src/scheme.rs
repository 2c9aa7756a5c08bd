//! ML-DSA as Malachite's signing scheme.

use core::marker::PhantomData;
use std::sync::Arc;

use arc_malachitebft_core_types::SigningScheme;
use mldsa_core::{KeyError, ParameterSet, SigningKey, VerifyingKey};

/// Context of all signatures of this chain.
pub(crate) const CONTEXT: &[u8] = b"example/malachite/v1";

/// Signing scheme with one parameter set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Scheme<P>(PhantomData<P>);

/// Signature bytes as received, of any length; the verifier rejects wrong lengths. Clones share
/// the bytes, because the engine clones signatures often.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Signature(Arc<[u8]>);

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

impl From<Vec<u8>> for Signature {
    fn from(bytes: Vec<u8>) -> Self {
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
