//! Chain of blocks as one validator knows it: proposals that wait for their parent, finality, committees.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use commonware_cryptography::sha256::Digest;
use commonware_utils::channel::{fallible::OneshotExt as _, oneshot};
use mladsa_aggregate::{Epoch, MemberName, Registration, SigningCommittee};

use crate::block::{Block, committee, parameters};

/// Least time from the request for a block to its proposal.
const BLOCK_TIME: Duration = Duration::from_millis(100);

/// A block to build or to verify, once its parent has arrived.
enum Request {
    Propose {
        parent: Digest,
        at: Instant,
        answer: oneshot::Sender<Digest>,
    },
    Verify {
        parent: Digest,
        block: Digest,
        proposer: MemberName,
        answer: oneshot::Sender<bool>,
    },
}

pub(crate) struct Ledger {
    validators: usize,
    genesis: Digest,
    /// Registration of this validator for an epoch.
    register: Box<dyn Fn(&Arc<Epoch>) -> Option<Registration> + Send>,
    blocks: HashMap<Digest, Block>,
    waiting: Vec<Request>,
    /// Newest view that the engine has finalised, and its block.
    tip: (u64, Digest),
    /// Newest processed final block.
    processed: Digest,
    /// Registrations in processed blocks, by epoch.
    registered: BTreeMap<u64, Vec<Registration>>,
    committees: BTreeMap<u64, Arc<SigningCommittee>>,
}

impl Ledger {
    pub(crate) fn new(
        validators: usize,
        genesis: Digest,
        first: Arc<SigningCommittee>,
        register: Box<dyn Fn(&Arc<Epoch>) -> Option<Registration> + Send>,
    ) -> Self {
        Self {
            validators,
            genesis,
            register,
            blocks: HashMap::new(),
            waiting: Vec::new(),
            tip: (0, genesis),
            processed: genesis,
            registered: BTreeMap::new(),
            committees: BTreeMap::from([(1, first)]),
        }
    }

    pub(crate) fn block(&self, digest: &Digest) -> Option<&Block> {
        self.blocks.get(digest)
    }

    pub(crate) fn committee(&self, epoch: u64) -> Option<&Arc<SigningCommittee>> {
        self.committees.get(&epoch)
    }

    pub(crate) fn propose(&mut self, parent: Digest, answer: oneshot::Sender<Digest>) {
        let at = Instant::now() + BLOCK_TIME;
        self.waiting.push(Request::Propose { parent, at, answer });
        self.answer_waiting();
    }

    pub(crate) fn verify(
        &mut self,
        parent: Digest,
        block: Digest,
        proposer: MemberName,
        answer: oneshot::Sender<bool>,
    ) {
        self.waiting.push(Request::Verify {
            parent,
            block,
            proposer,
            answer,
        });
        self.answer_waiting();
    }

    /// Keeps a block whose digest someone here waits for. Others are ignored, so that memory is bounded
    /// by the proposals of the engine.
    pub(crate) fn insert(&mut self, block: Block) {
        let digest = block.digest();
        if self.lacking().contains(&digest) {
            self.blocks.insert(digest, block);
            self.answer_waiting();
        }
    }

    /// Digests of the blocks that this validator lacks.
    pub(crate) fn lacking(&self) -> Vec<Digest> {
        let wanted = self.waiting.iter().flat_map(|request| match request {
            Request::Propose { parent, .. } => [*parent, *parent],
            Request::Verify { parent, block, .. } => [*parent, *block],
        });
        let mut lacking: Vec<_> = wanted
            .chain([self.tip.1])
            .filter_map(|digest| self.missing_from(digest))
            .collect();
        lacking.sort_unstable();
        lacking.dedup();
        lacking
    }

    /// The first block on the way from `digest` down to the processed ones that is not here.
    fn missing_from(&self, mut digest: Digest) -> Option<Digest> {
        while digest != self.genesis && digest != self.processed {
            digest = match self.blocks.get(&digest) {
                Some(block) => block.parent,
                None => return Some(digest),
            };
        }
        None
    }

    /// Answers the requests of the engine that have become possible.
    pub(crate) fn answer_waiting(&mut self) {
        for request in std::mem::take(&mut self.waiting) {
            match request {
                Request::Propose { parent, at, answer } => {
                    if self.missing_from(parent).is_none() && at <= Instant::now() {
                        answer.send_lossy(self.build(parent));
                    } else if !answer.is_closed() {
                        self.waiting.push(Request::Propose { parent, at, answer });
                    }
                }
                Request::Verify {
                    parent,
                    block,
                    proposer,
                    answer,
                } => {
                    let complete = [parent, block].map(|digest| self.missing_from(digest));
                    if complete == [None, None] {
                        answer.send_lossy(self.is_valid(parent, &block, &proposer));
                    } else if !answer.is_closed() {
                        self.waiting.push(Request::Verify {
                            parent,
                            block,
                            proposer,
                            answer,
                        });
                    }
                }
            }
        }
    }

    /// Whether a member has registered for the next epoch in the epoch of `block`, below it.
    fn has_registered(&self, id: &MemberName, block: &Block) -> bool {
        let mut below = self.blocks.get(&block.parent);
        while let Some(found) = below.filter(|found| found.epoch == block.epoch) {
            if found.registration.as_ref().map(Registration::id) == Some(id) {
                return true;
            }
            below = self.blocks.get(&found.parent);
        }
        false
    }

    fn build(&mut self, parent: Digest) -> Digest {
        let above = |registration| {
            let below = self.blocks.get(&parent);
            Block::above(below, parent, registration, self.validators)
        };
        let mut block = above(None);
        let next = parameters(block.epoch + 1, self.validators).ok();
        let own = next.and_then(|next| (self.register)(&next));
        if let Some(own) = own.filter(|own| !self.has_registered(own.id(), &block)) {
            block = above(Some(own));
        }
        let digest = block.digest();
        self.blocks.insert(digest, block);
        digest
    }

    /// Whether the block is the one above its parent, with at most one new registration, which is that of the
    /// proposer and has a valid proof.
    fn is_valid(&self, parent: Digest, digest: &Digest, proposer: &MemberName) -> bool {
        let Some(block) = self.blocks.get(digest) else {
            return false;
        };
        let registers = |own: &Registration| {
            let next = parameters(block.epoch + 1, self.validators);
            own.id() == proposer
                && !self.has_registered(proposer, block)
                && next.is_ok_and(|next| own.verify(&next).is_ok())
        };
        let below = self.blocks.get(&parent);
        *block == Block::above(below, parent, block.registration.clone(), self.validators)
            && block.registration.as_ref().is_none_or(registers)
    }

    /// Notes the block that the engine has finalised in a view.
    pub(crate) fn finalise(&mut self, view: u64, digest: Digest) {
        self.tip = self.tip.max((view, digest));
    }

    /// Processes the final blocks that have arrived with all blocks below. Returns them, oldest first.
    pub(crate) fn process(&mut self) -> anyhow::Result<Vec<Block>> {
        let mut new = Vec::new();
        let mut digest = self.tip.1;
        while digest != self.processed {
            let Some(block) = self.blocks.get(&digest) else {
                return Ok(Vec::new());
            };
            new.push(block.clone());
            digest = block.parent;
        }
        new.reverse();
        self.processed = self.tip.1;
        for block in &new {
            let next = block.epoch + 1;
            let registered = self.registered.entry(next).or_default();
            registered.extend(block.registration.clone());
            if block.ends_epoch(self.validators) {
                let epoch = parameters(next, self.validators)?;
                let members = registered.iter().cloned();
                let committee = committee(&epoch, members, self.validators)?;
                self.committees.insert(next, committee);
            }
        }
        Ok(new)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test")]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use mldsa_core::Randomness;

    use super::*;
    use crate::block::{EPOCH_BLOCKS, name};
    use crate::signing::{member, seed};

    const VALIDATORS: usize = 16;

    fn registration(n: usize, epoch: &Arc<Epoch>) -> Registration {
        let member = member(n, &seed(n), epoch).unwrap();
        member.register(Randomness::Deterministic).unwrap()
    }

    /// Seven of sixteen validators make no committee: the epoch goes on until eleven have registered.
    #[test]
    fn epoch_waits_for_two_thirds_of_all_validators() {
        let first = parameters(1, VALIDATORS).unwrap();
        let registrations = |count: usize| (0..count).map(|n| registration(n, &first));
        assert!(committee(&first, registrations(10), VALIDATORS).is_err());
        let first = committee(&first, registrations(VALIDATORS), VALIDATORS).unwrap();
        let (proposer, registering) =
            (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(7)));
        let register = {
            let (proposer, registering) = (Arc::clone(&proposer), Arc::clone(&registering));
            move |epoch: &Arc<Epoch>| {
                let n = proposer.load(Ordering::Relaxed);
                (n < registering.load(Ordering::Relaxed)).then(|| registration(n, epoch))
            }
        };
        let genesis = crate::block::genesis(first.identity());
        let mut ledger = Ledger::new(VALIDATORS, genesis, first, Box::new(register));
        let mut parent = genesis;
        let mut slots = Vec::new();
        let mut extend = |ledger: &mut Ledger| {
            let height = ledger.block(&parent).map_or(1, |block| block.height + 1);
            let n = usize::try_from(height).unwrap() % VALIDATORS;
            proposer.store(n, Ordering::Relaxed);
            let digest = ledger.build(parent);
            assert!(ledger.is_valid(parent, &digest, &name(n).unwrap()));
            ledger.finalise(height, digest);
            let processed = ledger.process().unwrap();
            let [block] = processed.try_into().unwrap();
            assert_eq!(Block::from_bytes(&block.to_bytes()), Some(block.clone()));
            // A proposer cannot end the epoch, or move the end of it.
            for change in [
                |block: &mut Block| block.epoch += 1,
                |block: &mut Block| block.position += 1,
                |block: &mut Block| block.registered += 1,
                |block: &mut Block| block.height += 1,
            ] {
                let mut changed = block.clone();
                change(&mut changed);
                let digest = changed.digest();
                ledger.blocks.insert(digest, changed);
                assert!(!ledger.is_valid(parent, &digest, &name(n).unwrap()));
            }
            slots.extend(block.slot(VALIDATORS).map(|slot| (block.position, slot)));
            parent = digest;
            block
        };
        for _ in 0..3 * EPOCH_BLOCKS {
            let block = extend(&mut ledger);
            assert_eq!(block.epoch, 1);
        }
        assert!(ledger.committee(2).is_none());
        registering.store(VALIDATORS, Ordering::Relaxed);
        let last = loop {
            let block = extend(&mut ledger);
            if block.ends_epoch(VALIDATORS) {
                break block;
            }
        };
        assert_eq!((last.epoch, last.registered), (1, 11));
        let second = ledger.committee(2).unwrap();
        assert_eq!((second.len(), second.view().threshold()), (11, 11));
        let next = extend(&mut ledger);
        assert_eq!((next.epoch, next.position), (2, 1));
        assert_eq!(slots, [(16, 0), (last.position, 1)]);
    }
}
