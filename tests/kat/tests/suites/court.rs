//! All verifiers of a parameter set, asked the same question.

use mldsa_kat::model::Model;
use mldsa_kat::scheme::{Message, Refusal, Scheme, Verifier};
use mldsa_kat::set::Set;
use mldsa_kat::tally::same;

use crate::{ours, peers};

pub(crate) struct Court {
    pub(crate) model: Model,
    ours: Vec<Box<dyn Verifier>>,
    peers: [Box<dyn Scheme>; 2],
}

impl Court {
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
        want: Result<(), Refusal>,
    ) -> Result<(), String> {
        same("model", self.model.verify(pk, message, sig), want)?;
        for verifier in &self.ours {
            same(verifier.name(), verifier.verify(pk, message, sig), want)?;
        }
        for peer in &self.peers {
            match peer.verify(pk, message, sig) {
                Err(Refusal::Unsupported) => {}
                verdict => same(peer.name(), verdict.is_ok(), want.is_ok())?,
            }
        }
        Ok(())
    }
}
