//! Selection of blocks.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, ensure};
use bft_simplex::{Block, Hook};

/// Blocks finalised by validators. Clones share the list.
#[derive(Clone, Debug, Default)]
pub struct Blocks(Arc<Mutex<Finalized>>);

/// By epoch and view: payloads with the validators that have finalised them.
type Finalized = BTreeMap<(u64, u64), BTreeMap<Vec<u8>, BTreeSet<usize>>>;

impl Blocks {
    /// Callback for the engine.
    #[must_use]
    pub fn hook(&self) -> Hook {
        let blocks = self.clone();
        Arc::new(move |block: &Block| blocks.add(block))
    }

    fn add(&self, block: &Block) {
        let mut finalized = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let payloads = finalized.entry((block.epoch, block.view)).or_default();
        let payload = block.payload.to_vec();
        payloads.entry(payload).or_default().insert(block.node);
    }

    /// Every k-th of the blocks that at least `validators` have finalised, encoded for signing.
    ///
    /// # Errors
    /// If two blocks were finalised in one view.
    pub fn every(&self, k: usize, validators: usize) -> anyhow::Result<Vec<Vec<u8>>> {
        let finalized = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut agreed = Vec::new();
        for ((epoch, view), payloads) in finalized.iter() {
            ensure!(
                payloads.len() == 1,
                "view {view} of epoch {epoch} has two blocks"
            );
            let (payload, by) = payloads.iter().next().context("no payload")?;
            if by.len() >= validators {
                agreed.push([&epoch.to_be_bytes()[..], &view.to_be_bytes(), payload].concat());
            }
        }
        Ok(agreed.into_iter().skip(k - 1).step_by(k).collect())
    }
}
