//! `commonware-codec` encodings of signatures and public keys: their bytes without a prefix.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;

use bytes::{BufMut, Bytes};
use commonware_codec::{Buf, Error, FixedSize, Read, Write, util::at_least};
use mldsa_core::{ParameterSet, VerifyingKey};

/// Signature of `P::SIG_LEN` bytes, a slice of the message that contained it. Clones share the
/// bytes, because the engine clones votes often.
///
/// Decoding checks the length only. Verification checks the rest (hint encoding, norm of z);
/// a check in the decoder as well would take half the time of a verification in a batch.
#[derive(Clone, PartialEq, Eq)]
pub struct Signature<P: ParameterSet>(Bytes, PhantomData<P>);

/// Public key of `P::PK_LEN` bytes. All byte strings of this length are valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicKey<P: ParameterSet>(VerifyingKey<P>);

macro_rules! impl_fixed_bytes {
    ($name:ident, $len:ident) => {
        impl<P: ParameterSet> AsRef<[u8]> for $name<P> {
            fn as_ref(&self) -> &[u8] {
                self.0.as_ref()
            }
        }

        impl<P: ParameterSet> Hash for $name<P> {
            fn hash<H: Hasher>(&self, state: &mut H) {
                self.0.hash(state);
            }
        }

        impl<P: ParameterSet> FixedSize for $name<P> {
            const SIZE: usize = P::$len;
        }

        impl<P: ParameterSet> Write for $name<P> {
            fn write(&self, buf: &mut impl BufMut) {
                buf.put_slice(self.as_ref());
            }
        }
    };
}

impl_fixed_bytes!(Signature, SIG_LEN);
impl_fixed_bytes!(PublicKey, PK_LEN);

impl<P: ParameterSet> From<mldsa_core::Signature<P>> for Signature<P> {
    fn from(signature: mldsa_core::Signature<P>) -> Self {
        Self(Bytes::copy_from_slice(signature.as_ref()), PhantomData)
    }
}

impl<P: ParameterSet> From<VerifyingKey<P>> for PublicKey<P> {
    fn from(key: VerifyingKey<P>) -> Self {
        Self(key)
    }
}

impl<P: ParameterSet> fmt::Debug for Signature<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The first bytes of the challenge identify a signature.
        let start = self.0.first_chunk().copied().map_or(0, u64::from_be_bytes);
        write!(f, "Signature<{}>({start:016x}..)", P::NAME)
    }
}

impl<P: ParameterSet> Read for Signature<P> {
    type Cfg = ();

    fn read_cfg(buf: &mut impl Buf, (): &()) -> Result<Self, Error> {
        Ok(Self(take(buf, P::SIG_LEN)?, PhantomData))
    }
}

impl<P: ParameterSet> Read for PublicKey<P> {
    type Cfg = ();

    fn read_cfg(buf: &mut impl Buf, (): &()) -> Result<Self, Error> {
        let key = VerifyingKey::from_bytes(&take(buf, P::PK_LEN)?);
        let wrapped = |error| Error::Wrapped("commonware_mldsa::PublicKey", Box::new(error));
        Ok(key.map_err(wrapped)?.into())
    }
}

/// Takes the next `len` bytes. The length is checked before any allocation.
fn take(buf: &mut impl Buf, len: usize) -> Result<Bytes, Error> {
    at_least(buf, len)?;
    Ok(buf.copy_to_bytes(len))
}
