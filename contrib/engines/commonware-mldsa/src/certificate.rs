//! Certificates: signers and signatures of a quorum.

use std::hash::{Hash, Hasher};

use bytes::BufMut;
use commonware_codec::{
    Buf, EncodeSize, Error, FixedSize as _, Read, ReadRangeExt as _, Write, types::lazy::Lazy,
    util::max_items_size,
};
use commonware_cryptography::certificate::Signers;
use commonware_utils::bitmap::BitMap;
use mldsa_core::ParameterSet;

use crate::Signature;

/// Bitmap of signers and their signatures, in the order of the participants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate<P: ParameterSet> {
    pub(crate) signers: Signers,
    /// Decoded on verification, so that unused certificates cost nothing.
    pub(crate) signatures: Vec<Lazy<Signature<P>>>,
}

impl<P: ParameterSet> Certificate<P> {
    /// Signers.
    #[must_use]
    pub fn signers(&self) -> &Signers {
        &self.signers
    }

    /// Upper bound of the encoded size: a certificate signed by all `participants`.
    #[must_use]
    pub fn max_size(participants: u32) -> usize {
        let n = usize::try_from(participants).unwrap_or(usize::MAX);
        BitMap::<1>::max_encode_size(u64::from(participants))
            + max_items_size(n, Signature::<P>::SIZE)
    }
}

impl<P: ParameterSet> Hash for Certificate<P> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.signers.hash(state);
        self.signatures.hash(state);
    }
}

impl<P: ParameterSet> Write for Certificate<P> {
    fn write(&self, buf: &mut impl BufMut) {
        self.signers.write(buf);
        self.signatures.write(buf);
    }
}

impl<P: ParameterSet> EncodeSize for Certificate<P> {
    fn encode_size(&self) -> usize {
        self.signers.encode_size() + self.signatures.encode_size()
    }
}

impl<P: ParameterSet> Read for Certificate<P> {
    /// Upper bound of the number of participants.
    type Cfg = usize;

    fn read_cfg(buf: &mut impl Buf, participants: &usize) -> Result<Self, Error> {
        let invalid = |what| Err(Error::Invalid("commonware_mldsa::Certificate", what));
        let signers = Signers::read_cfg(buf, participants)?;
        let signatures = Vec::<Lazy<Signature<P>>>::read_range(buf, ..=*participants)?;
        if signatures.is_empty() {
            return invalid("no signatures");
        }
        if signers.count() != signatures.len() {
            return invalid("signatures and signers differ in number");
        }
        Ok(Self {
            signers,
            signatures,
        })
    }
}
