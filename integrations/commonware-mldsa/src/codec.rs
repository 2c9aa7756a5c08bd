//! Signatures and public keys as `commonware-codec` reads and writes them: their bytes, no prefix.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;

use bytes::{BufMut, Bytes};
use commonware_codec::{Buf, Error, FixedSize, Read, Write, util::at_least};
use mldsa_core::{ParameterSet, VerifyError, VerifyingKey};

/// A signature of `P::SIG_LEN` bytes, shared with the message that brought it: the engine clones
/// votes freely, and the largest have 4,627 bytes.
///
/// Its length alone is checked when it is read. The rest of its form (hint, norm of z) is checked
/// when it is verified; doing so while reading as well, into memory of its own, would cost half
/// as much again as a verification in a batch. [`mldsa_core::Signature`] is the checked form.
#[derive(Clone, PartialEq, Eq)]
pub struct Signature<P: ParameterSet>(Bytes, PhantomData<P>);

/// A public key of `P::PK_LEN` bytes. Every such string is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicKey<P: ParameterSet>(VerifyingKey<P>);

impl<P: ParameterSet> AsRef<[u8]> for Signature<P> {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl<P: ParameterSet> AsRef<[u8]> for PublicKey<P> {
    fn as_ref(&self) -> &[u8] {
        self.0.as_ref()
    }
}

impl<P: ParameterSet> From<mldsa_core::Signature<P>> for Signature<P> {
    fn from(signature: mldsa_core::Signature<P>) -> Self {
        Self(Bytes::copy_from_slice(signature.as_ref()), PhantomData)
    }
}

impl<P: ParameterSet> TryFrom<&Signature<P>> for mldsa_core::Signature<P> {
    type Error = VerifyError;

    fn try_from(signature: &Signature<P>) -> Result<Self, VerifyError> {
        Self::from_bytes(&signature.0)
    }
}

impl<P: ParameterSet> From<VerifyingKey<P>> for PublicKey<P> {
    fn from(key: VerifyingKey<P>) -> Self {
        Self(key)
    }
}

impl<P: ParameterSet> From<PublicKey<P>> for VerifyingKey<P> {
    fn from(key: PublicKey<P>) -> Self {
        key.0
    }
}

impl<P: ParameterSet> Hash for Signature<P> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl<P: ParameterSet> fmt::Debug for Signature<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Enough to tell signatures apart: the challenge comes first.
        let start = self.0.first_chunk().copied().map_or(0, u64::from_be_bytes);
        write!(f, "Signature<{}>({start:016x}..)", P::NAME)
    }
}

impl<P: ParameterSet> Hash for PublicKey<P> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl<P: ParameterSet> FixedSize for Signature<P> {
    const SIZE: usize = P::SIG_LEN;
}

impl<P: ParameterSet> FixedSize for PublicKey<P> {
    const SIZE: usize = P::PK_LEN;
}

impl<P: ParameterSet> Write for Signature<P> {
    fn write(&self, buf: &mut impl BufMut) {
        buf.put_slice(self.as_ref());
    }
}

impl<P: ParameterSet> Write for PublicKey<P> {
    fn write(&self, buf: &mut impl BufMut) {
        buf.put_slice(self.as_ref());
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

/// The next `len` bytes. Nothing is allocated before they are known to be there.
fn take(buf: &mut impl Buf, len: usize) -> Result<Bytes, Error> {
    at_least(buf, len)?;
    Ok(buf.copy_to_bytes(len))
}
