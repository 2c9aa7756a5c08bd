//! The register type of the transforms.

use core::arch::x86_64::*;

use crate::backend::transform::{Aligned, Tables, Vector};
use crate::memory::ct::is_negative;
use crate::params::{N, Q};

/// Eight coefficients.
pub(super) type Eight = __m256i;

macro_rules! on_registers {
    ($($name:ident ($a:ident $(, $b:ident: $b_type:ty)*), $body:expr;)*) => { $(
        #[inline(always)]
        fn $name(self $(, $b: $b_type)*) -> Self {
            let $a = self;
            // SAFETY: `self` is a register, which proves the features.
            unsafe { $body }
        }
    )* };
}

/// [`shoup`] takes the upper half of a product.
static TABLES: Tables = Tables::new(32);

impl Vector for __m256i {
    const TABLES: &'static Tables = &TABLES;

    on_registers! {
        splat(_register, value: i32), _mm256_set1_epi32(value);
        load(_register, values: &Aligned<[i32; 8]>), values.load();
        add(a, b: Self), _mm256_add_epi32(a, b);
        sub(a, b: Self), _mm256_sub_epi32(a, b);
        shoup(a, w: Self, even: Self, odd: Self), shoup(a, w, even, odd);
        canonical(a), canonical(a);
        centred(a), centred(a);
        low_halves(a, b: Self), _mm256_permute2x128_si256::<0x20>(a, b);
        high_halves(a, b: Self), _mm256_permute2x128_si256::<0x31>(a, b);
        low_qwords(a, b: Self), _mm256_unpacklo_epi64(a, b);
        high_qwords(a, b: Self), _mm256_unpackhi_epi64(a, b);
        low_dwords(a, b: Self), _mm256_unpacklo_epi32(a, b);
        high_dwords(a, b: Self), _mm256_unpackhi_epi32(a, b);
        even_dwords(a, b: Self), dwords::<0x88>(a, b);
        odd_dwords(a, b: Self), dwords::<0xdd>(a, b);
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn dwords<const MASK: i32>(a: __m256i, b: __m256i) -> __m256i {
    _mm256_castps_si256(_mm256_shuffle_ps::<MASK>(
        _mm256_castsi256_ps(a),
        _mm256_castsi256_ps(b),
    ))
}

/// Multiplies `b` by the constants `w`, one a lane. Constant time.
///
/// Bounds: `|b| < 2^31`, result in `(-q/4, 5q/4)`.
#[inline]
#[target_feature(enable = "avx2")]
fn shoup(b: __m256i, w: __m256i, even: __m256i, odd: __m256i) -> __m256i {
    let t = upper_halves(
        _mm256_mul_epi32(b, even),
        _mm256_mul_epi32(odd_lanes(b), odd),
    );
    let q = _mm256_set1_epi32(Q);
    _mm256_sub_epi32(_mm256_mullo_epi32(b, w), _mm256_mullo_epi32(t, q))
}

/// The upper half of every 64-bit lane, in the lower half.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn odd_lanes(v: __m256i) -> __m256i {
    _mm256_shuffle_epi32::<0xf5>(v)
}

/// The upper halves of 64-bit lanes, in the even and in the odd lanes.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn upper_halves(even: __m256i, odd: __m256i) -> __m256i {
    _mm256_blend_epi32::<0xaa>(odd_lanes(even), odd)
}

/// `(-q, 2 q)` to `[0, q)`: of `x` and `x +- q` the wanted one is the smaller as an
/// unsigned number.
#[inline]
#[target_feature(enable = "avx2")]
fn canonical(v: __m256i) -> __m256i {
    let q = _mm256_set1_epi32(Q);
    let v = _mm256_min_epu32(v, _mm256_add_epi32(v, q));
    _mm256_min_epu32(v, _mm256_sub_epi32(v, q))
}

#[inline]
#[target_feature(enable = "avx2")]
fn centred(v: __m256i) -> __m256i {
    let above = _mm256_cmpgt_epi32(v, _mm256_set1_epi32((Q - 1) / 2));
    _mm256_sub_epi32(v, _mm256_and_si256(above, _mm256_set1_epi32(Q)))
}

/// Eight numbers of three bytes, each in the lower bytes of a lane.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn spread(bytes: &[u8; 24]) -> __m256i {
    // SAFETY: the first and the last 16 of 24 bytes.
    let raw = unsafe {
        let low = _mm_loadu_si128(bytes.as_ptr().cast());
        let high = _mm_loadu_si128(bytes.as_ptr().add(8).cast());
        _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(low), high)
    };
    let lanes = _mm256_setr_epi8(
        0, 1, 2, -1, 3, 4, 5, -1, 6, 7, 8, -1, 9, 10, 11, -1, //
        4, 5, 6, -1, 7, 8, 9, -1, 10, 11, 12, -1, 13, 14, 15, -1,
    );
    _mm256_shuffle_epi8(raw, lanes)
}

macro_rules! aligned_load {
    ($($element:ty, $n:literal);*) => { $(
        impl Aligned<[$element; $n]> {
            #[inline]
            #[target_feature(enable = "avx2")]
            pub(super) fn load(&self) -> __m256i {
                // SAFETY: 32 bytes, aligned to 32 by the type.
                unsafe { _mm256_load_si256((&raw const self.0).cast()) }
            }
        }
    )* };
}
aligned_load!(i32, 8; i64, 4; u8, 32);

/// Register n of a polynomial.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn get(poly: &[i32; N], n: usize) -> Eight {
    get_at(&poly.as_chunks().0[n])
}

#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn get_at(values: &[i32; 8]) -> Eight {
    // SAFETY: 32 bytes.
    unsafe { _mm256_loadu_si256(values.as_ptr().cast()) }
}

/// Eight numbers of one byte, signed.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn widened(values: &[i8; 8]) -> Eight {
    // SAFETY: eight bytes.
    _mm256_cvtepi8_epi32(unsafe { _mm_loadl_epi64(values.as_ptr().cast()) })
}

/// Writes register n of a polynomial.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn put(poly: &mut [i32; N], n: usize, v: Eight) {
    put_at(&mut poly.as_chunks_mut::<8>().0[n], v);
}

/// Writes the first eight coefficients.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn put_at(coefficients: &mut [i32], v: Eight) {
    // SAFETY: 32 bytes, which the slice checks.
    unsafe { _mm256_storeu_si256(coefficients[..8].as_mut_ptr().cast(), v) };
}

/// `a 2^-BITS`, rounded down.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn shift_right<const BITS: i32>(a: Eight) -> Eight {
    _mm256_srai_epi32::<BITS>(a)
}

/// `a 2^BITS`.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn shift_left<const BITS: i32>(a: Eight) -> Eight {
    _mm256_slli_epi32::<BITS>(a)
}

/// |a|.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn magnitude(a: Eight) -> Eight {
    _mm256_abs_epi32(a)
}

/// Canonical form of a coefficient of an inverse transform.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn positive(a: Eight) -> Eight {
    canonical(a)
}

/// The largest of many coefficients, which are not negative.
pub(super) struct Largest(Eight);

impl Largest {
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn none() -> Self {
        Self(_mm256_setzero_si256())
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn of(&mut self, a: Eight) {
        self.0 = _mm256_max_epi32(self.0, a);
    }

    /// The verdict, passed through the value barrier: the caller declassifies it.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn within(self, limit: i32) -> bool {
        let excess = _mm256_sub_epi32(_mm256_set1_epi32(limit), self.0);
        !is_negative(-_mm256_movemask_ps(_mm256_castsi256_ps(excess)))
    }
}
