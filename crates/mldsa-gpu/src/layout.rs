//! Sizes that host and kernels share. The names are those of `kernels/1-prelude.h`.

use batch_verify::RejectReason;
use mldsa_core::ParameterSet;

/// Message length that stands for 64 bytes of `mu`.
pub(crate) const MU_GIVEN: u32 = u32::MAX;
/// What the host fills the verdicts with before a launch.
pub(crate) const POISON: u8 = 0xaa;

/// Longest formatted message that the device hashes, in bytes.
pub(crate) const LONGEST: usize = 2048;
/// Bytes for the message of a planted item.
pub(crate) const PLANTED_MESSAGE: usize = 128;
/// Most polynomials of a lane that are expanded at a time: their five blocks take 227 MB. Batches
/// of the tests are small, and are expanded in parts too.
const EXPANDED: usize = if cfg!(test) { 8_000 } else { 270_000 };

/// Returns the number of planted items in a launch of `items`: one valid and one invalid, and one
/// more for each 256.
pub(crate) const fn planted(items: usize) -> usize {
    2 + items / 256
}

/// Computes the bytes for the messages of a batch, in which the longest one always fits.
pub(crate) fn message_space(items: usize, each: usize) -> usize {
    items * each.next_multiple_of(8) + LONGEST + planted(items) * PLANTED_MESSAGE
}

/// Sizes in bytes for one parameter set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    /// 44, 65 or 87.
    pub(crate) set: u32,
    pub(crate) k: usize,
    /// Place of the metadata in a slot.
    pub(crate) meta: usize,
    /// A slot without a key.
    pub(crate) slot: usize,
    /// A slot with its encoded key.
    pub(crate) slot_with_key: usize,
    pub(crate) public_key: usize,
    pub(crate) w1: usize,
    /// Polynomials of A.
    pub(crate) polynomials: usize,
    /// Five blocks of SHAKE128 for each of them.
    pub(crate) raw: usize,
    pub(crate) prepared_key: usize,
}

impl Layout {
    pub(crate) const fn of<P: ParameterSet>() -> Self {
        let meta = P::SIG_LEN.next_multiple_of(16);
        Self {
            set: match P::K {
                4 => 44,
                6 => 65,
                _ => 87,
            },
            k: P::K,
            meta,
            slot: meta + 16,
            slot_with_key: meta + 16 + P::PK_LEN,
            public_key: P::PK_LEN,
            w1: P::PARAMS.w1_poly_len() * P::K,
            polynomials: P::K * P::L,
            raw: P::K * P::L * 5 * 168,
            prepared_key: P::K * (P::L + 1) * 768,
        }
    }

    /// Returns the largest number of items whose matrices are expanded at a time, the same for each
    /// part of `slots`.
    pub(crate) const fn tile(&self, slots: usize) -> usize {
        self.part(slots, EXPANDED)
    }

    /// Returns an upper bound of [`tile`](Self::tile) for batches of up to `slots`, of which more
    /// can have smaller parts.
    pub(crate) fn largest_tile(&self, slots: usize) -> usize {
        self.largest_part(slots, EXPANDED)
    }

    const fn part(&self, slots: usize, expanded: usize) -> usize {
        slots.div_ceil((slots * self.polynomials).div_ceil(expanded))
    }

    fn largest_part(&self, slots: usize, expanded: usize) -> usize {
        slots.min(expanded.div_ceil(self.polynomials))
    }
}

/// What a kernel says about an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Verdict(Result<(), RejectReason>),
    /// Left to the CPU.
    Cpu,
}

impl Answer {
    /// Decodes a verdict; `None` for a code that no kernel writes.
    pub(crate) fn of(code: u8) -> Option<Self> {
        Some(Self::Verdict(match code {
            0xc5 => Ok(()),
            0x1e => Err(RejectReason::HintEncoding),
            0x2d => Err(RejectReason::ResponseNorm),
            0xb4 => Err(RejectReason::ChallengeMismatch),
            0x4b => return Some(Self::Cpu),
            _ => return None,
        }))
    }
}

/// Computes zeta^brv(n) 2^32 mod q, between -q/2 and q/2, for the transforms (FIPS 204 appendix B).
pub(crate) fn zetas() -> [i32; 256] {
    const Q: i64 = 8_380_417;
    let mut powers = [(1_i64 << 32) % Q; 256];
    for n in 1..256 {
        powers[n] = powers[n - 1] * 1753 % Q;
    }
    core::array::from_fn(|n| {
        let power = powers[usize::from((n as u8).reverse_bits())];
        (if power > Q / 2 { power - Q } else { power }) as i32
    })
}

#[cfg(test)]
mod tests {
    use mldsa_core::{MlDsa44, MlDsa65, MlDsa87};

    use super::*;

    #[test]
    fn memory_for_matrices_suffices_for_every_batch() {
        let layouts = [
            Layout::of::<MlDsa44>(),
            Layout::of::<MlDsa65>(),
            Layout::of::<MlDsa87>(),
        ];
        for layout in layouts {
            for expanded in [8_000, 270_000] {
                for slots in [3, 500, 516, 4_821, 9_000, 16_450, 65_794] {
                    let largest = layout.largest_part(slots, expanded);
                    assert!(largest * layout.polynomials < expanded + layout.polynomials);
                    for n in 1..=slots {
                        let part = layout.part(n, expanded);
                        assert!((1..=largest).contains(&part), "{n} of {slots}: {part}");
                    }
                }
            }
        }
    }

    #[test]
    fn zetas_are_those_of_the_standard() {
        let [r, first, second, third, ..] = zetas();
        // zeta^128 2^32 and so on: 4808194, 3765607, 3761513 of appendix B.
        let times_r = |zeta: i64| ((zeta << 32) % 8_380_417) as i32;
        assert_eq!(r.rem_euclid(8_380_417), times_r(1));
        for (got, zeta) in [(first, 4_808_194), (second, 3_765_607), (third, 3_761_513)] {
            assert_eq!(got.rem_euclid(8_380_417), times_r(zeta));
        }
    }

    #[test]
    fn codes_are_far_from_each_other_and_from_filled_memory() {
        let known: Vec<u8> = (0..=255)
            .filter(|code| Answer::of(*code).is_some())
            .collect();
        assert_eq!(known.len(), 5);
        let pending = 0x78;
        for &code in &known {
            let others = known.iter().filter(|other| **other != code);
            for other in others.chain(&[0, 0xff, POISON, pending]) {
                assert!((code ^ other).count_ones() >= 4, "{code:x} {other:x}");
            }
        }
    }
}
