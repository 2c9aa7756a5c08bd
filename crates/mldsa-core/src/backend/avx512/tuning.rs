//! Microarchitecture tuning: the place of the ninth Keccak state, by the maker of the CPU.

use core::arch::x86_64::__cpuid;
use core::sync::atomic::{AtomicU8, Ordering};

/// The result of [`prefer_spare_lane`], or [`UNKNOWN`].
static ANSWER: AtomicU8 = AtomicU8::new(UNKNOWN);
const UNKNOWN: u8 = 2;

/// Whether a hash interleaved with ExpandA belongs into a lane rather than into scalar
/// registers, even if the groups of ExpandA become smaller by that.
///
/// On Intel's cores 512-bit instructions share their ports with scalar ones, so that a
/// ninth state in scalar registers takes nearly as long as one on its own. AMD's have
/// others for them, and the ninth state costs next to nothing.
pub(super) fn prefer_spare_lane() -> bool {
    let mut answer = ANSWER.load(Ordering::Relaxed);
    if answer == UNKNOWN {
        answer = u8::from(is_intel(vendor()));
        ANSWER.store(answer, Ordering::Relaxed);
    }
    answer == 1
}

/// The maker's name as CPUID gives it.
fn vendor() -> [u8; 12] {
    // SAFETY: a CPU with AVX-512 has the instruction. (For later compilers the call is safe.)
    #[allow(unused_unsafe)]
    let leaf = unsafe { __cpuid(0) };
    let mut name = [0; 12];
    for (bytes, word) in name
        .as_chunks_mut::<4>()
        .0
        .iter_mut()
        .zip([leaf.ebx, leaf.edx, leaf.ecx])
    {
        *bytes = word.to_le_bytes();
    }
    name
}

fn is_intel(vendor: [u8; 12]) -> bool {
    vendor == *b"GenuineIntel"
}

/// Runs `act` as if on either kind of CPU.
#[cfg(test)]
#[cfg(all(feature = "ml-dsa-44", feature = "ml-dsa-65", feature = "ml-dsa-87"))]
pub(super) fn with_either_answer(act: impl Fn()) {
    for answer in [0, 1, UNKNOWN] {
        ANSWER.store(answer, Ordering::Relaxed);
        act();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn makers_by_their_names() {
        assert!(is_intel(*b"GenuineIntel"));
        for other in [b"AuthenticAMD", b"HygonGenuine", b"CentaurHauls"] {
            assert!(!is_intel(*other));
        }
        assert!(vendor().iter().all(u8::is_ascii_graphic));
    }
}
