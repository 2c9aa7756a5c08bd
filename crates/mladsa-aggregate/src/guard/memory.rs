//! Memory that forgets: for tests and simulations.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::{GuardKey, GuardState, OneTimeGuard};
use crate::epoch::pinned::RootStore;
use crate::error::Error;
use crate::keys::seed::{MasterSeed, SeedFingerprint};

/// A guard that a restart erases. **A signer that
/// restarts with an empty guard gives its keys away**: for tests, simulations and
/// measurements only.
#[derive(Debug)]
pub struct InMemoryGuardForTests {
    fingerprint: SeedFingerprint,
    states: BTreeMap<GuardKey, GuardState>,
}

impl InMemoryGuardForTests {
    /// An empty guard for `seed`.
    pub fn new(seed: &MasterSeed) -> Self {
        Self {
            fingerprint: seed.fingerprint(),
            states: BTreeMap::new(),
        }
    }
}

impl OneTimeGuard for InMemoryGuardForTests {
    fn fingerprint(&self) -> SeedFingerprint {
        self.fingerprint
    }

    fn state(&self, key: &GuardKey) -> Result<Option<GuardState>, Error> {
        Ok(self.states.get(key).copied())
    }

    fn record(&mut self, key: &GuardKey, state: GuardState) -> Result<(), Error> {
        self.states.insert(*key, state);
        Ok(())
    }
}

/// A store of pinned roots that a restart erases: for tests, simulations and
/// measurements only.
#[derive(Debug, Default)]
pub struct InMemoryRootsForTests(BTreeMap<u64, Vec<u8>>);

impl RootStore for InMemoryRootsForTests {
    fn pin(&mut self, epoch: u64, list: &[u8]) -> Result<(), Error> {
        if self.0.entry(epoch).or_insert_with(|| list.to_vec()) == list {
            Ok(())
        } else {
            Err(Error::RootNotPinned)
        }
    }
}
