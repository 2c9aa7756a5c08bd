//! Values that wipe themselves, and the only door through which a value derived
//! from a secret becomes public.

use core::fmt;
use zeroize::ZeroizeOnDrop;

use crate::array::{Wipe, Zeroed};

/// A secret in working memory: wiped when dropped (also on unwinding), never
/// copied or printed.
pub struct Secret<T: Wipe>(T);

impl<T: Wipe> Secret<T> {
    /// Takes ownership of `value`.
    #[inline(always)]
    pub fn new(value: T) -> Self {
        Self(value)
    }

    /// Read access: what to search for in a review.
    #[inline(always)]
    pub fn expose(&self) -> &T {
        &self.0
    }

    /// Write access.
    #[inline(always)]
    pub fn expose_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

impl<T: Zeroed> Secret<T> {
    /// Zeros to be filled in place: large secrets are never moved. A call of its
    /// own in unoptimised code, so that the caller's frame holds one copy only.
    #[inline]
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

/// [`declassify`] for bytes in memory.
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

/// How the constant-time check (`tests/gates`) learns what became public: only
/// in builds with `--cfg mldsa_ct_check`.
#[cfg(mldsa_ct_check)]
pub mod ct_check {
    use core::hint::black_box;
    use std::sync::OnceLock;

    /// Called with the place, length and reason of every declassified value.
    pub static HOOK: OnceLock<fn(*mut u8, usize, &'static str)> = OnceLock::new();

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
