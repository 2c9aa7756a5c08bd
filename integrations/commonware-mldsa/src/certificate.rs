//! What a quorum leaves: who signed, and what.

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

/// A bitmap of signers and their signatures, in the order of the participants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate<P: ParameterSet> {
    pub(crate) signers: Signers,
    /// Decoded when verified: a certificate that is not needed costs nothing.
    pub(crate) signatures: Vec<Lazy<Signature<P>>>,
}

impl<P: ParameterSet> Certificate<P> {
    /// Who signed.
    #[must_use]
    pub fn signers(&self) -> &Signers {
        &self.signers
    }

    /// The encoded size of a certificate that all of `participants` have signed; none is larger.
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
    /// The largest committee that is believed.
    type Cfg = usize;

    fn read_cfg(buf: &mut impl Buf, participants: &usize) -> Result<Self, Error> {
        let invalid = |what| Err(Error::Invalid("commonware_mldsa::Certificate", what));
        let signers = Signers::read_cfg(buf, participants)?;
        let signatures = Vec::<Lazy<Signature<P>>>::read_range(buf, ..=*participants)?;
        if signatures.is_empty() {
            return invalid("nobody signed");
        }
        if signers.count() != signatures.len() {
            return invalid("as many signatures as signers are expected");
        }
        Ok(Self {
            signers,
            signatures,
        })
    }
}
