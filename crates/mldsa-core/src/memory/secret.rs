//! Values that wipe themselves, and the only way for a value derived from a
//! secret to become public.

use core::fmt;
use zeroize::ZeroizeOnDrop;

use crate::memory::array::{Wipe, Zeroed};

/// A secret in working memory: wiped when dropped (also on unwinding), never
/// copied or printed.
pub struct Secret<T: Wipe>(T);

impl<T: Wipe> Secret<T> {
    /// Takes ownership of `value`.
    #[cfg(any(feature = "alloc", feature = "unstable-internals"))]
    #[inline(always)]
    pub fn new(value: T) -> Self {
        Self(value)
    }

    /// Borrows the value. Reviews search for this name.
    #[inline(always)]
    pub fn expose(&self) -> &T {
        &self.0
    }

    /// Borrows the value for writing.
    #[inline(always)]
    pub fn expose_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

impl<T: Zeroed> Secret<T> {
    /// Creates zeros to be filled in place: large secrets are never moved. A call of its
    /// own in unoptimised code, so that the caller's frame holds one copy only; never one
    /// in optimised code, where it would have a frame with another.
    #[cfg_attr(debug_assertions, inline)]
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn zeroed() -> Self {
        Self(T::zeroed())
    }
}

impl<T: Wipe> Drop for Secret<T> {
    #[inline]
    fn drop(&mut self) {
        self.0.wipe();
    }
}

impl<T: Wipe> ZeroizeOnDrop for Secret<T> {}

impl<T: Wipe> fmt::Debug for Secret<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// Runs `operation`, which may panic, and then overwrites `BYTES` of stack below
/// this call: what the compiler spilled there, and copies that it made of values
/// on the move, which no destructor can reach.
///
/// Buffers of this library that hold secrets are wiped without it. It is for
/// callers who handle keys as values and must assume that memory is read later.
/// `BYTES` has to cover the deepest use of stack in `operation`, and has to be available
/// below the call (unoptimised ML-DSA-87 signing stays below 128 KiB on the portable backend;
/// see `tests/gates/README.md`). Registers, and stack that an inlined `operation` shares with this call's
/// own frame, cannot be promised.
///
/// ```
/// use mldsa_core::{Randomness, MlDsa44, Mu, SigningKey, zeroize_stack};
///
/// # let (seed, mu) = ([7; 32], Mu::from_bytes([8; 64]));
/// let signature = zeroize_stack::<{ 128 * 1024 }, _>(|| {
///     let key = SigningKey::<MlDsa44>::from_seed(&seed);
///     key.sign_mu(&mu, Randomness::Deterministic)
/// })?;
/// # Ok::<(), mldsa_core::SignError>(())
/// ```
#[inline(never)]
pub fn zeroize_stack<const BYTES: usize, R>(operation: impl FnOnce() -> R) -> R {
    struct Scrub<const BYTES: usize>;

    impl<const BYTES: usize> Drop for Scrub<BYTES> {
        fn drop(&mut self) {
            zeroize::zeroize_stack::<BYTES>();
        }
    }

    // A frame of its own, below this one, for all that `operation` inlines.
    #[inline(never)]
    fn call<R>(operation: impl FnOnce() -> R) -> R {
        operation()
    }

    // Dropped on return and on unwinding.
    let _scrub = Scrub::<BYTES>;
    call(operation)
}

/// Applies [`declassify`] to bytes in memory.
#[inline(always)]
pub fn declassify_in_place(bytes: &mut [u8], why: &'static str) {
    #[cfg(mldsa_ct_check)]
    ct_check::declassify(bytes.as_mut_ptr(), bytes.len(), why);
    let _ = (bytes, why);
}

/// Lets a value that was computed from secrets steer control flow or leave the
/// library. `why` is for reviewers: `docs/constant-time.md` lists every call.
#[inline(always)]
pub fn declassify<T>(value: T, why: &'static str) -> T {
    #[cfg(mldsa_ct_check)]
    let value = ct_check::declassify_value(value, why);
    let _ = why;
    value
}

/// Hook by which the constant-time checks (`tests/gates`, `contrib/proofs`) observe declassified
/// values: only in builds with `--cfg mldsa_ct_check`.
#[cfg(mldsa_ct_check)]
pub mod ct_check {
    use core::hint::black_box;
    use std::sync::OnceLock;

    /// Called with the place, length and reason of every declassified value.
    pub static HOOK: OnceLock<fn(*mut u8, usize, &'static str)> = OnceLock::new();

    /// A call in every build: `contrib/proofs` reads its arguments, and what they name is all that
    /// becomes public there.
    #[inline(never)]
    pub(super) fn declassify(place: *mut u8, len: usize, why: &'static str) {
        if let Some(hook) = HOOK.get() {
            hook(place, len, why);
        }
    }

    #[inline(never)]
    pub(super) fn declassify_value<T>(value: T, why: &'static str) -> T {
        let mut value = black_box(value);
        declassify((&raw mut value).cast(), size_of::<T>(), why);
        black_box(value)
    }
}
