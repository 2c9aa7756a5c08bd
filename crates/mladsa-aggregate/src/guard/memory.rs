//! Memory that forgets: for tests and simulations.

use alloc::collections::BTreeMap;

use super::{GuardKey, GuardState, OneTimeGuard};
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
