//! The one-time guard: one commitment and one response for each content key, for
//! ever.
//!
//! The rules are here, once; a store only remembers.

use core::fmt;

use crate::error::Error;
use crate::keys::seed::{MasterSeed, SeedFingerprint};
use crate::wire::framing::hash_lp;
use crate::wire::label::ContentLabel;

#[cfg(feature = "std")]
mod file;
mod memory;

#[cfg(feature = "std")]
pub(crate) use file::flush_directory;
#[cfg(feature = "std")]
pub use file::{FileGuard, FileMedium, GuardMedium};
pub use memory::InMemoryGuardForTests;

/// What a guard keeps its entries under: the seed and the content label. Not the
/// member's name, because the PRF does not know it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GuardKey {
    seed: [u8; 32],
    key: [u8; 32],
}

impl GuardKey {
    pub(crate) fn new(seed: &MasterSeed, label: &ContentLabel) -> Self {
        let seed = seed.fingerprint().0;
        Self {
            seed,
            key: hash_lp(b"F.onetime", &[&seed, label.as_bytes()]),
        }
    }

    /// The 32 bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.key
    }

    /// Which seed it belongs to.
    pub fn fingerprint(&self) -> SeedFingerprint {
        SeedFingerprint(self.seed)
    }
}

impl fmt::Debug for GuardKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("GuardKey(..)")
    }
}

/// How far a content key has been used. It only ever moves forward.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GuardState {
    /// A commitment with this digest may have been published.
    Committed([u8; 32]),
    /// A response to this `c_tilde` may have been published.
    Responded([u8; 64]),
    /// Nothing more will be.
    Retired,
}

/// A durable store of guard states for one master seed.
///
/// When [`Self::record`] returns `Ok`, the state survives the loss of power. If it
/// fails, nothing is released; a store whose flush failed refuses everything until
/// it is opened anew. A store that was restored from a backup or copied with its
/// machine is lost: retire the master seed.
pub trait OneTimeGuard {
    /// The seed that this store belongs to.
    fn fingerprint(&self) -> SeedFingerprint;

    /// The last recorded state.
    ///
    /// # Errors
    /// [`Error::GuardFailure`] if the store cannot be relied on.
    fn state(&self, key: &GuardKey) -> Result<Option<GuardState>, Error>;

    /// Records a state durably.
    ///
    /// # Errors
    /// [`Error::GuardFailure`].
    fn record(&mut self, key: &GuardKey, state: GuardState) -> Result<(), Error>;
}

fn state<G: OneTimeGuard + ?Sized>(guard: &G, key: &GuardKey) -> Result<Option<GuardState>, Error> {
    if guard.fingerprint() != key.fingerprint() {
        return Err(Error::GuardFailure);
    }
    guard.state(key)
}

/// Fresh to Committed, or the same commitment again.
pub(crate) fn commit<G: OneTimeGuard + ?Sized>(
    guard: &mut G,
    key: &GuardKey,
    digest: &[u8; 32],
) -> Result<(), Error> {
    match state(guard, key)? {
        None => guard.record(key, GuardState::Committed(*digest)),
        Some(GuardState::Committed(known)) if known == *digest => Ok(()),
        Some(_) => Err(Error::OneTimeViolation),
    }
}

/// A restart between commitment and response, or after a response that may not
/// have arrived. What was answered is settled by [`respond`].
pub(crate) fn resume<G: OneTimeGuard + ?Sized>(
    guard: &G,
    key: &GuardKey,
    digest: &[u8; 32],
) -> Result<(), Error> {
    match state(guard, key)? {
        Some(GuardState::Committed(known)) if known == *digest => Ok(()),
        Some(GuardState::Responded(_)) => Ok(()),
        _ => Err(Error::OneTimeViolation),
    }
}

/// Committed to Responded, or the same response again.
pub(crate) fn respond<G: OneTimeGuard + ?Sized>(
    guard: &mut G,
    key: &GuardKey,
    digest: &[u8; 32],
    c_tilde: &[u8; 64],
) -> Result<(), Error> {
    match state(guard, key)? {
        Some(GuardState::Committed(known)) if known == *digest => {
            guard.record(key, GuardState::Responded(*c_tilde))
        }
        Some(GuardState::Responded(known)) if known == *c_tilde => Ok(()),
        _ => Err(Error::OneTimeViolation),
    }
}

/// Any state to Retired.
pub(crate) fn retire<G: OneTimeGuard + ?Sized>(guard: &mut G, key: &GuardKey) -> Result<(), Error> {
    match state(guard, key)? {
        Some(GuardState::Retired) => Ok(()),
        _ => guard.record(key, GuardState::Retired),
    }
}
