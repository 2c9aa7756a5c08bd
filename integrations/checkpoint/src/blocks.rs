//! What was finalised.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use bft_simplex::{Block, Hook};

/// Collects the blocks that validators finalise.
#[derive(Clone, Debug, Default)]
pub struct Blocks(Arc<Mutex<Seen>>);

/// By epoch and view, each payload with those who have finalised it.
type Seen = BTreeMap<(u64, u64), BTreeMap<Vec<u8>, BTreeSet<usize>>>;

impl Blocks {
    /// What the engine calls.
    #[must_use]
    pub fn hook(&self) -> Hook {
        let blocks = self.clone();
        Arc::new(move |block: &Block| blocks.add(block))
    }

    fn add(&self, block: &Block) {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let payloads = seen.entry((block.epoch, block.view)).or_default();
        let payload = block.payload.to_vec();
        payloads.entry(payload).or_default().insert(block.node);
    }

    /// Of the blocks that at least `validators` have finalised, every k-th: what is signed for it.
    ///
    /// # Errors
    /// If two blocks were finalised at one place.
    pub fn every(&self, k: usize, validators: usize) -> Result<Vec<Vec<u8>>, String> {
        let seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut certain = Vec::new();
        for ((epoch, view), payloads) in seen.iter() {
            if payloads.len() > 1 {
                return Err(format!("view {view} of epoch {epoch} has two blocks"));
            }
            let (payload, by) = payloads.iter().next().ok_or("a block without a payload")?;
            if by.len() >= validators {
                certain.push([&epoch.to_be_bytes()[..], &view.to_be_bytes(), payload].concat());
            }
        }
        Ok(certain.into_iter().skip(k - 1).step_by(k).collect())
    }
}
