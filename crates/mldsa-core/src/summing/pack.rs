//! Bit packing of vectors that only `mladsa-aggregate` sends.

use crate::coding::pack::{bit_pack, bit_unpack};
use crate::ring::poly::Poly;

/// Unpacks high bits at 4 bits a coefficient, 128 bytes: the inverse of algorithm 28
/// for gamma2 = (q - 1) / 32. Every code word is valid.
pub fn unpack_w1(bytes: &[u8], out: &mut Poly) {
    bit_unpack::<4>(bytes, &mut out.0, |a| a);
}

/// Packs a polynomial of small signed coefficients in offset binary, `BITS` bits of
/// `w + 2^(BITS - 1)`: 12 bits in 384 bytes or 20 bits in 640 bytes.
///
/// Bounds: -2^(BITS - 1) <= w < 2^(BITS - 1), BITS <= 20.
pub fn pack_signed<const BITS: usize>(w: &Poly, out: &mut [u8]) {
    bit_pack::<BITS>(&w.0, out, |a| a + (1 << (BITS - 1)));
}

/// Computes the inverse of [`pack_signed`]. Every code word is valid.
pub fn unpack_signed<const BITS: usize>(bytes: &[u8], out: &mut Poly) {
    bit_unpack::<BITS>(bytes, &mut out.0, |a| a - (1 << (BITS - 1)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coding::pack::tests::check;
    use crate::coding::pack::w1_encode;
    use crate::params::GAMMA2_32;

    #[test]
    fn forms_pack_bit_by_bit_and_unpack() {
        check(
            4,
            0,
            15,
            |a| a,
            |w, out| w1_encode(GAMMA2_32, w, out, |a| a),
            unpack_w1,
        );
        check(
            12,
            -2048,
            2047,
            |a| a + 2048,
            pack_signed::<12>,
            unpack_signed::<12>,
        );
        let limit = (1 << 19) - 1;
        check(
            20,
            limit - 4095,
            limit,
            |a| a + (1 << 19),
            pack_signed::<20>,
            unpack_signed::<20>,
        );
        check(
            20,
            -(1 << 19),
            4095 - (1 << 19),
            |a| a + (1 << 19),
            pack_signed::<20>,
            unpack_signed::<20>,
        );
    }
}
