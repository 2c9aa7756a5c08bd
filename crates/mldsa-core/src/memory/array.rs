//! Traits of fixed-size arrays, so that generic code can own memory sized
//! for its parameter set without `alloc` and without const-generic arithmetic.

use crate::memory::barrier::value_barrier;
use crate::params::SMALL;

pub(crate) mod sealed {
    /// Keeps the traits of this crate closed.
    pub trait Sealed {}
}

/// Element of an array: a type with an all-zero value.
#[doc(hidden)]
pub trait Element: Sized + Send + Sync + 'static {
    /// All zero.
    const ZERO: Self;

    /// Returns zero, made of a number that the compiler does not know to be 0.
    fn from_zero(_: i32) -> Self {
        Self::ZERO
    }
}

macro_rules! element {
    ($($t:ty),+) => {$(
        impl Element for $t {
            const ZERO: Self = 0;

            #[inline(always)]
            fn from_zero(zero: i32) -> Self {
                zero as Self
            }
        }
    )+};
}
element!(u8, i16, i32, i64, u64);

impl<T: Element, const LEN: usize> Element for [T; LEN] {
    const ZERO: Self = [const { T::ZERO }; LEN];
}

/// Overwriting that the optimiser may not drop.
#[doc(hidden)]
pub trait Wipe {
    /// Sets every byte to zero.
    fn wipe(&mut self);
}

impl<T: Element> Wipe for [T] {
    // A plain fill followed by a barrier is as binding as volatile stores and is
    // vectorised.
    #[inline]
    fn wipe(&mut self) {
        let mut zero = 0;
        for element in self.iter_mut() {
            if SMALL {
                zero = value_barrier(zero);
            }
            *element = T::from_zero(zero);
        }
        zeroize::optimization_barrier(self);
    }
}

impl<T: Element, const LEN: usize> Wipe for [T; LEN] {
    #[inline]
    fn wipe(&mut self) {
        self.as_mut_slice().wipe();
    }
}

/// Memory that starts as zero.
#[doc(hidden)]
pub trait Zeroed: Wipe + Sized {
    /// Every element zero, for statics.
    const ZEROED: Self;

    /// Builds the value in place, with every element zero.
    fn zeroed() -> Self;
}

impl<T: Element, const LEN: usize> Zeroed for [T; LEN] {
    const ZEROED: Self = [const { T::ZERO }; LEN];

    #[inline]
    fn zeroed() -> Self {
        [const { T::ZERO }; LEN]
    }
}

/// `[T; LEN]` for some LEN.
#[doc(hidden)]
pub trait Array<T: Element>:
    AsRef<[T]> + AsMut<[T]> + Zeroed + Send + Sync + sealed::Sealed + 'static
{
    /// Returns the slice as an array, without a copy; `None` if the length differs.
    fn from_slice(slice: &[T]) -> Option<&Self>;
}

impl<const LEN: usize, T: Element> sealed::Sealed for [T; LEN] {}

impl<const LEN: usize, T: Element> Array<T> for [T; LEN] {
    fn from_slice(slice: &[T]) -> Option<&Self> {
        slice.try_into().ok()
    }
}

#[cfg(feature = "alloc")]
impl<T: Wipe + ?Sized> Wipe for alloc::boxed::Box<T> {
    fn wipe(&mut self) {
        (**self).wipe();
    }
}
