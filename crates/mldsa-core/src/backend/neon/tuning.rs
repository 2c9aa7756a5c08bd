//! Microarchitecture tuning: the form of Keccak, by the core.

use core::sync::atomic::{AtomicU8, Ordering};

/// Arm cores on which a state in scalar registers costs little in parallel with two in
/// vectors, by the part number in MIDR_EL1: they have more scalar units than vector
/// units, and the instructions for SHA-3, if at all, on one of these. The first four rest
/// on LLVM's models (`contrib/peers/arm-cycles.py`), V3 on the dispatch of AWS-LC.
const SCALAR_IN_PARALLEL: [u64; 5] = [
    0xd0c, // Neoverse N1
    0xd40, // Neoverse V1
    0xd49, // Neoverse N2
    0xd4f, // Neoverse V2
    0xd84, // Neoverse V3
];

/// Whether this is such a core. `false` for all others, Apple's among them, and where the system
/// does not name the core: the form of the fewest instructions.
///
/// The result is the same in all calls of a process, on whichever core they run.
pub(super) fn scalar_interleaved() -> bool {
    const UNKNOWN: u8 = 2;
    static ANSWER: AtomicU8 = AtomicU8::new(UNKNOWN);
    let mut answer = ANSWER.load(Ordering::Relaxed);
    if answer == UNKNOWN {
        let found = u8::from(midr().is_some_and(in_table));
        // Another thread may be on another kind of core: the first one decides.
        answer = ANSWER
            .compare_exchange(UNKNOWN, found, Ordering::Relaxed, Ordering::Relaxed)
            .map_or_else(|first| first, |_| found);
    }
    answer == 1
}

/// Whether MIDR_EL1 is that of a core in the table.
fn in_table(midr: u64) -> bool {
    const ARM: u64 = 0x41;
    let (implementer, part) = (midr >> 24 & 0xff, midr >> 4 & 0xfff);
    implementer == ARM && SCALAR_IN_PARALLEL.contains(&part)
}

/// MIDR_EL1, where the system lets a program read it.
#[cfg(all(feature = "std", any(target_os = "linux", target_os = "android")))]
fn midr() -> Option<u64> {
    use core::ffi::c_ulong;

    unsafe extern "C" {
        safe fn getauxval(kind: c_ulong) -> c_ulong;
    }
    const AT_HWCAP: c_ulong = 16;
    const HWCAP_CPUID: c_ulong = 1 << 11;
    if getauxval(AT_HWCAP) & HWCAP_CPUID == 0 {
        return None;
    }
    let midr;
    // SAFETY: reads a register, which the operating system emulates.
    unsafe {
        core::arch::asm!(
            "mrs {midr}, midr_el1",
            midr = out(reg) midr,
            // Not pure: the thread may be on another core next time.
            options(nomem, nostack, preserves_flags),
        );
    }
    Some(midr)
}

#[cfg(not(all(feature = "std", any(target_os = "linux", target_os = "android"))))]
fn midr() -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_by_their_registers() {
        // Neoverse N1 r3p1, V1 r1p1, N2 r0p3, V2 r0p1; Cortex-A72 r0p3; Apple's M1; an
        // emulator's own; Arm's number of V1 with another implementer.
        for (midr, expected) in [
            (0x413f_d0c1, true),
            (0x411f_d401, true),
            (0x410f_d493, true),
            (0x410f_d4f1, true),
            (0x410f_d083, false),
            (0x611f_0221, false),
            (0x000f_0510, false),
            (0x610f_d401, false),
        ] {
            assert_eq!(in_table(midr), expected, "{midr:#x}");
        }
        assert_eq!(scalar_interleaved(), midr().is_some_and(in_table));
    }
}
