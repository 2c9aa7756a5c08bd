//! How a state keeps its lanes. For the assembly of ARMv7-M that is a word of the even bits and one of the odd bits,
//! each rotated by a constant; bytes are converted where they go in and come out.

#[cfg(mldsa_interleaved)]
use crate::backend::armv7m::ROTATIONS;

/// Whether lanes are words of even and of odd bits without rotations: where the permutation takes few
/// bytes.
pub(crate) const HALVES: bool = cfg!(mldsa_halves);

/// Adds 64 bits of input to lane `n`.
#[inline(always)]
pub fn add(state: &mut [u64; 25], n: usize, value: u64) {
    #[cfg(mldsa_interleaved)]
    let value = out_of_line(n, value);
    let value = if HALVES { stored(value, [0, 0]) } else { value };
    state[n] ^= value;
}

/// Adds the first bytes of a block, in words.
#[inline(always)]
pub(crate) fn add_block(state: &mut [u64; 25], block: &[u8]) {
    for (n, bytes) in block.as_chunks::<8>().0.iter().enumerate() {
        add(state, n, u64::from_le_bytes(*bytes));
    }
}

/// Returns the 64 bits of lane `n`.
#[inline(always)]
pub fn value(state: &[u64], n: usize) -> u64 {
    #[cfg(mldsa_interleaved)]
    return loaded(state[n], ROTATIONS[n]);
    #[cfg(not(mldsa_interleaved))]
    if HALVES {
        value_of_halves(state[n])
    } else {
        state[n]
    }
}

/// Adds one byte of input.
#[inline(never)]
pub(crate) fn add_byte(state: &mut [u64; 25], position: usize, byte: u8) {
    let Some(lane) = state.get_mut(position / 8) else {
        return;
    };
    if HALVES {
        let bits = unshuffle(u32::from(byte)); // Four even bits, and from bit 16 on four odd ones.
        let place = position % 8 * 4;
        *lane ^= u64::from((bits & 15) << place) | u64::from((bits >> 16) << place) << 32;
    } else {
        *lane ^= u64::from(byte) << (position % 8 * 8);
    }
}

/// One copy: three words of a block are read at once.
#[cfg(not(mldsa_interleaved))]
#[inline(never)]
fn value_of_halves(lane: u64) -> u64 {
    loaded(lane, [0, 0])
}

/// [`stored`] for lane `n`. One copy: fewer bytes go in than come out.
#[cfg(mldsa_interleaved)]
#[inline(never)]
fn out_of_line(n: usize, value: u64) -> u64 {
    stored(value, ROTATIONS[n])
}

/// Returns a lane of value `value` as a state stores it whose rotations are `even` and `odd`.
#[inline(always)]
pub(crate) const fn stored(value: u64, [even, odd]: [u8; 2]) -> u64 {
    let (low, high) = (unshuffle(value as u32), unshuffle((value >> 32) as u32));
    let e = (low & 0xffff) | (high << 16);
    let o = (low >> 16) | (high & 0xffff_0000);
    e.rotate_left(even as u32) as u64 | (o.rotate_left(odd as u32) as u64) << 32
}

/// Returns the value of a stored lane.
#[inline(always)]
const fn loaded(lane: u64, [even, odd]: [u8; 2]) -> u64 {
    let e = (lane as u32).rotate_right(even as u32);
    let o = ((lane >> 32) as u32).rotate_right(odd as u32);
    let low = shuffle((e & 0xffff) | (o << 16));
    let high = shuffle((e >> 16) | (o & 0xffff_0000));
    low as u64 | (high as u64) << 32
}

/// Moves the even bits to the low half and the odd ones to the high half.
#[inline(always)]
const fn unshuffle(mut x: u32) -> u32 {
    let t = (x ^ (x >> 1)) & 0x2222_2222;
    x ^= t ^ (t << 1);
    let t = (x ^ (x >> 2)) & 0x0c0c_0c0c;
    x ^= t ^ (t << 2);
    let t = (x ^ (x >> 4)) & 0x00f0_00f0;
    x ^= t ^ (t << 4);
    let t = (x ^ (x >> 8)) & 0x0000_ff00;
    x ^ t ^ (t << 8)
}

/// The inverse of [`unshuffle`].
#[inline(always)]
const fn shuffle(mut x: u32) -> u32 {
    let t = (x ^ (x >> 8)) & 0x0000_ff00;
    x ^= t ^ (t << 8);
    let t = (x ^ (x >> 4)) & 0x00f0_00f0;
    x ^= t ^ (t << 4);
    let t = (x ^ (x >> 2)) & 0x0c0c_0c0c;
    x ^= t ^ (t << 2);
    let t = (x ^ (x >> 1)) & 0x2222_2222;
    x ^ t ^ (t << 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_are_even_and_odd_bits_rotated() {
        for bit in 0..64 {
            let half = stored(1 << bit, [0, 0]);
            assert_eq!(half, 1 << (bit / 2 + 32 * (bit % 2)));
            for rotations in [[0, 0], [10, 31], [31, 1]] {
                let lane = stored(1 << bit | 1, rotations);
                assert_eq!(loaded(lane, rotations), 1 << bit | 1);
                let word = lane >> (32 * (bit % 2));
                let turned = 1u32.rotate_left(bit as u32 / 2 + u32::from(rotations[bit % 2]));
                assert_ne!(word as u32 & turned, 0);
            }
        }
    }
}
