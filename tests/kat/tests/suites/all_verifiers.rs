//! All verifiers of a parameter set, compared on one input.

use mldsa_kat::model::Model;
use mldsa_kat::scheme::{Message, Reason, Scheme, Verifier};
use mldsa_kat::set::Set;
use mldsa_kat::tally::same;

use crate::{ours, peers};

pub(crate) struct AllVerifiers {
    pub(crate) model: Model,
    ours: Vec<Box<dyn Verifier>>,
    peers: [Box<dyn Scheme>; 2],
}

impl AllVerifiers {
    pub(crate) fn new(set: &'static Set) -> Self {
        Self {
            model: Model(set),
            ours: ours::verifiers(set),
            peers: peers::schemes(set),
        }
    }

    /// Ours and the model give this verdict with its reason, and the peers the
    /// same yes or no.
    pub(crate) fn agree(
        &self,
        pk: &[u8],
        message: Message<'_>,
        sig: &[u8],
        want: Result<(), Reason>,
    ) -> Result<(), String> {
        same("model", self.model.verify(pk, message, sig), want)?;
        for verifier in &self.ours {
            same(verifier.name(), verifier.verify(pk, message, sig), want)?;
        }
        for peer in &self.peers {
            match peer.verify(pk, message, sig) {
                Err(Reason::Unsupported) => {}
                verdict => same(peer.name(), verdict.is_ok(), want.is_ok())?,
            }
        }
        Ok(())
    }
}
