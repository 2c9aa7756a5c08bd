//! Dimensions of the parameter sets, as constants of the compiler.

use core::mem::MaybeUninit;

/// The dimensions of a parameter set, known to the compiler: sums stay in registers.
pub(super) trait Dims {
    /// Rows of A.
    const K: usize;
    /// Columns of A.
    const L: usize;
    /// Terms of a row of products: z and c.
    const TERMS: usize = Self::L + 1;
    /// Bits of a coefficient of z.
    const Z_BITS: usize;
    /// Bits of a coefficient of w1.
    const W1_BITS: usize;

    /// `[T; K]`.
    type Rows<T>: Array<T>;
    /// `[T; TERMS]`.
    type Terms<T>: Array<T>;
}

macro_rules! dims {
    ($dims:ident, $set:literal, k = $k:literal, l = $l:literal, z = $z:literal, w1 = $w1:literal) => {
        #[doc = $set]
        pub(super) struct $dims;

        impl Dims for $dims {
            const K: usize = $k;
            const L: usize = $l;
            const Z_BITS: usize = $z;
            const W1_BITS: usize = $w1;
            type Rows<T> = [T; $k];
            type Terms<T> = [T; $l + 1];
        }
    };
}
dims!(Dims44, "ML-DSA-44.", k = 4, l = 4, z = 18, w1 = 6);
dims!(Dims65, "ML-DSA-65.", k = 6, l = 5, z = 20, w1 = 4);
dims!(Dims87, "ML-DSA-87.", k = 8, l = 7, z = 20, w1 = 4);

/// `[T; LEN]` for some LEN.
pub(super) trait Array<T>: AsRef<[T]> + AsMut<[T]> {
    /// The same value everywhere.
    fn filled(value: T) -> Self
    where
        T: Copy;
    /// The elements of an array that is to be written.
    fn elements(memory: &mut MaybeUninit<Self>) -> &mut [MaybeUninit<T>]
    where
        Self: Sized;
}

impl<T, const LEN: usize> Array<T> for [T; LEN] {
    #[inline(always)]
    fn filled(value: T) -> Self
    where
        T: Copy,
    {
        [value; LEN]
    }

    #[inline(always)]
    fn elements(memory: &mut MaybeUninit<Self>) -> &mut [MaybeUninit<T>] {
        // SAFETY: an array of elements each of which may be uninitialised has the layout
        // of an array that may be.
        unsafe { &mut *memory.as_mut_ptr().cast::<[MaybeUninit<T>; LEN]>() }
    }
}
