//! Memory in which a private key stays.

use core::fmt;

use zeroize::ZeroizeOnDrop;

use crate::backend::Backend;
use crate::keys::signing::SigningKey;
use crate::memory::array::Wipe;
use crate::params::ParameterSet;

/// Memory for a [`SigningKey`] that stays in place: 4.0, 6.2 or 7.7 kB. Values that are
/// moved leave copies, which no destructor reaches; a key in this memory is only ever
/// borrowed. Wiped on drop, and before it takes another key.
///
/// The constructors are [`SigningKey::from_seed_in`], [`SigningKey::from_expanded_bytes_in`] and,
/// with feature `rand_core`, `SigningKey::generate_with_rng_in`.
pub struct SigningKeyStorage<P: ParameterSet> {
    key: SigningKey<P>,
    /// Whether a constructor has succeeded.
    filled: bool,
}

impl<P: ParameterSet> SigningKeyStorage<P> {
    /// Creates memory without a key. May be moved, for example into a `Box`.
    #[must_use]
    pub fn new() -> Self {
        Self {
            key: SigningKey::empty(),
            filled: false,
        }
    }

    /// Returns the key that a constructor has put here; `None` before, and after a constructor
    /// that failed.
    #[must_use]
    pub fn key(&self) -> Option<&SigningKey<P>> {
        self.filled.then_some(&self.key)
    }

    /// Returns the key for [`SigningKey::set_self_verification`].
    pub fn key_mut(&mut self) -> Option<&mut SigningKey<P>> {
        self.filled.then_some(&mut self.key)
    }

    /// Puts the key that `fill` makes of an empty one in place. After an error the memory is wiped.
    pub(super) fn fill<E>(
        &mut self,
        fill: impl FnOnce(&mut SigningKey<P>) -> Result<(), E>,
    ) -> Result<&mut SigningKey<P>, E> {
        if let Err(error) = fill(self.cleared()) {
            self.cleared();
            return Err(error);
        }
        self.filled = true;
        Ok(&mut self.key)
    }

    fn cleared(&mut self) -> &mut SigningKey<P> {
        self.filled = false;
        let key = &mut self.key;
        key.seed.expose_mut().wipe();
        key.expanded.expose_mut().wipe();
        key.checksum.expose_mut().wipe();
        key.has_seed = false;
        key.self_verification = true;
        key.verifying_key.backend = Backend::detect();
        key
    }
}

impl<P: ParameterSet> Default for SigningKeyStorage<P> {
    fn default() -> Self {
        Self::new()
    }
}

impl<P: ParameterSet> ZeroizeOnDrop for SigningKeyStorage<P> {}

impl<P: ParameterSet> fmt::Debug for SigningKeyStorage<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKeyStorage({}, ..)", P::NAME)
    }
}
