//! Memory tiers of signing, selected by type.

use core::fmt;

#[cfg(feature = "ml-dsa-44")]
use mldsa_core::MlDsa44;
#[cfg(feature = "ml-dsa-65")]
use mldsa_core::MlDsa65;
#[cfg(feature = "ml-dsa-87")]
use mldsa_core::MlDsa87;
use mldsa_core::ParameterSet;
#[cfg(any(feature = "ml-dsa-44", feature = "ml-dsa-65", feature = "ml-dsa-87"))]
use mldsa_core::internals::window::COMPACT_LEN;
use mldsa_core::internals::{Array, Wipe, Zeroed};

mod sealed {
    pub trait Sealed {}
}

/// Data that a tier stores between passes over A. The passes are compiled for each, not for
/// each tier and set.
#[doc(hidden)]
pub trait Keeps: 'static {
    /// A.
    const MATRIX: bool = false;
    /// w of two attempts that share one expansion of A.
    const PAIR: bool = false;
    /// The low part of w, after the first pass.
    const LOW: bool = Self::PAIR;
}

/// Nothing: the second pass computes w again.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub enum Nothing {}
/// The low part of w.
#[cfg(any(feature = "ml-dsa-44", feature = "ml-dsa-65", feature = "ml-dsa-87"))]
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub enum Low {}
/// A.
#[cfg(any(feature = "ml-dsa-44", feature = "ml-dsa-65", feature = "ml-dsa-87"))]
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub enum Matrix {}
/// w of two attempts.
#[cfg(any(feature = "ml-dsa-65", feature = "ml-dsa-87"))]
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub enum Pair {}

impl Keeps for Nothing {}
#[cfg(any(feature = "ml-dsa-44", feature = "ml-dsa-65", feature = "ml-dsa-87"))]
impl Keeps for Low {
    const LOW: bool = true;
}
#[cfg(any(feature = "ml-dsa-44", feature = "ml-dsa-65", feature = "ml-dsa-87"))]
impl Keeps for Matrix {
    const MATRIX: bool = true;
}
#[cfg(any(feature = "ml-dsa-65", feature = "ml-dsa-87"))]
impl Keeps for Pair {
    const PAIR: bool = true;
}

/// A memory tier for signing with the parameter set `P`.
pub trait Tier<P: ParameterSet>: sealed::Sealed + 'static {
    #[doc(hidden)]
    type Keeps: Keeps;
    #[doc(hidden)]
    type Bytes: Array<u8>;
}

/// The smallest tier: the stack only, about 3 kB. A is expanded once or twice per attempt.
#[derive(Clone, Copy, Debug)]
pub enum Minimal {}

/// Stores the low part of w, 2432 / 3840 / 5120 bytes. A is expanded once per attempt.
#[derive(Clone, Copy, Debug)]
pub enum CacheW0 {}

/// At most 15.5 kB including the stack, signing from an expanded key. ML-DSA-44 stores
/// A (11,776 bytes) and expands it once per signature; ML-DSA-65 and 87 (9,568 and
/// 12,512 bytes) expand it once per two attempts.
#[derive(Clone, Copy, Debug)]
pub enum Balanced {}

/// Stores A, 11,776 / 22,080 / 41,216 bytes, which is expanded once per signature.
#[derive(Clone, Copy, Debug)]
pub enum CacheMatrix {}

impl sealed::Sealed for Minimal {}
impl sealed::Sealed for CacheW0 {}
impl sealed::Sealed for Balanced {}
impl sealed::Sealed for CacheMatrix {}

impl<P: ParameterSet> Tier<P> for Minimal {
    type Keeps = Nothing;
    type Bytes = [u8; 0];
}

/// Implements the tiers of a set, given what [`Balanced`] stores and the bytes of each.
macro_rules! tiers {
    ($feature:literal, $set:ident, $low:expr, $balanced:ident $pair:expr, $matrix:expr) => {
        #[cfg(feature = $feature)]
        impl Tier<$set> for CacheW0 {
            type Keeps = Low;
            type Bytes = [u8; $low];
        }

        #[cfg(feature = $feature)]
        impl Tier<$set> for Balanced {
            type Keeps = $balanced;
            type Bytes = [u8; $pair * COMPACT_LEN];
        }

        #[cfg(feature = $feature)]
        impl Tier<$set> for CacheMatrix {
            type Keeps = Matrix;
            type Bytes = [u8; $matrix * COMPACT_LEN];
        }
    };
}
tiers!("ml-dsa-44", MlDsa44, 4 * 608, Matrix 4 * 4, 4 * 4);
tiers!("ml-dsa-65", MlDsa65, 6 * 640, Pair(2 * 6 + 1), 6 * 5);
tiers!("ml-dsa-87", MlDsa87, 8 * 640, Pair(2 * 8 + 1), 8 * 7);

/// Workspace of a tier: a static, an element of an arena, or a local variable. Wiped
/// after every signature and on drop, except A, which is public.
pub struct Workspace<P: ParameterSet, T: Tier<P>> {
    pub(crate) bytes: T::Bytes,
}

impl<P: ParameterSet, T: Tier<P>> Workspace<P, T> {
    /// A zeroed workspace as a constant, to initialise a static.
    pub const ZERO: Self = Self {
        bytes: <T::Bytes as Zeroed>::ZEROED,
    };
    /// Size in bytes.
    pub const LEN: usize = core::mem::size_of::<Self>();

    /// Creates a zeroed workspace.
    #[inline]
    pub fn new() -> Self {
        Self {
            bytes: T::Bytes::zeroed(),
        }
    }

    pub(crate) fn wipe(&mut self) {
        // A is public.
        if !T::Keeps::MATRIX {
            self.bytes.wipe();
        }
    }
}

impl<P: ParameterSet, T: Tier<P>> Default for Workspace<P, T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<P: ParameterSet, T: Tier<P>> Drop for Workspace<P, T> {
    fn drop(&mut self) {
        self.wipe();
    }
}

impl<P: ParameterSet, T: Tier<P>> fmt::Debug for Workspace<P, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Workspace({}, {} bytes)", P::NAME, Self::LEN)
    }
}
