//! A public key expanded for verification, at 32 or at 24 bits a coefficient.
//! Public data.

use core::fmt;

use crate::coding::pack::{FULL_POLY_LEN, pack_full, unpack_full};
use crate::memory::array::Element;
use crate::ring::poly::NttPoly;

/// The k (l + 1) polynomials of a prepared key, in the order of its backend;
/// 0 <= a < q.
#[derive(Clone, Copy, Debug)]
pub enum Expansion<'a> {
    /// 1024 bytes each: the fastest while the cache holds them.
    Wide(&'a [NttPoly]),
    /// 768 bytes each: less to load for sets of keys beyond the cache.
    #[cfg_attr(
        not(feature = "unstable-internals"),
        allow(dead_code, reason = "sibling crates keep sets of keys")
    )]
    Packed(&'a [PackedPoly]),
}

impl<'a> Expansion<'a> {
    /// Returns the number of polynomials.
    #[cfg(feature = "unstable-internals")]
    #[allow(clippy::len_without_is_empty)]
    pub const fn len(&self) -> usize {
        match self {
            Self::Wide(polys) => polys.len(),
            Self::Packed(polys) => polys.len(),
        }
    }

    /// Polynomials `first..first + buffer.len()`, in `buffer` where they have to
    /// be unpacked.
    pub(crate) fn polys<'b>(&self, first: usize, buffer: &'b mut [NttPoly]) -> &'b [NttPoly]
    where
        'a: 'b,
    {
        match self {
            Self::Wide(polys) => &polys[first..][..buffer.len()],
            Self::Packed(polys) => {
                for (poly, packed) in buffer.iter_mut().zip(&polys[first..]) {
                    packed.unpack(poly);
                }
                buffer
            }
        }
    }
}

/// A polynomial at 24 bits a coefficient, 768 bytes.
#[derive(Clone)]
#[repr(C, align(64))]
pub struct PackedPoly(pub(crate) [u8; FULL_POLY_LEN]);

/// Bounds: 0 <= a < 2^24.
impl From<&NttPoly> for PackedPoly {
    #[inline]
    fn from(poly: &NttPoly) -> Self {
        let mut packed = Self::ZERO;
        pack_full(&poly.0, &mut packed.0);
        packed
    }
}

impl PackedPoly {
    /// Bounds: 0 <= a < 2^24 out; less than q if that was packed.
    pub fn unpack(&self, out: &mut NttPoly) {
        unpack_full(&self.0, &mut out.0);
    }
}

impl Element for PackedPoly {
    const ZERO: Self = Self([0; FULL_POLY_LEN]);
}

impl fmt::Debug for PackedPoly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PackedPoly(..)")
    }
}
