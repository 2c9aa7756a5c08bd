//! Instructions that a CPU of a backend may not have.

use std::sync::Arc;

use iced_x86::{CpuidFeature as F, Instruction, Mnemonic};
use mldsa_core::internals::kernels::FEATURES;

use crate::aarch64;
use crate::places::{AARCH64_BACKENDS, BACKENDS};

/// Of every CPU for x86-64, the encodings without effect on older ones among them.
const EVERY_CPU: [F; 12] = [
    F::INTEL8086,
    F::INTEL186,
    F::INTEL286,
    F::INTEL386,
    F::INTEL486,
    F::X64,
    F::CMOV,
    F::SSE,
    F::SSE2,
    F::MULTIBYTENOP,
    F::PAUSE,
    F::CET_IBT,
];
/// Features by their names in Rust, with those that a CPU has if it has them.
#[rustfmt::skip] // One line for each entry.
const NAMES: [(&str, &[F]); 10] = [
    ("avx2", &[F::SSE3, F::SSSE3, F::SSE4_1, F::SSE4_2, F::AVX, F::AVX2]),
    ("bmi1", &[F::BMI1]),
    ("bmi2", &[F::BMI2]),
    ("popcnt", &[F::POPCNT]),
    ("avx512f", &[F::AVX512F]),
    ("avx512bw", &[F::AVX512BW]),
    ("avx512dq", &[F::AVX512DQ]),
    ("avx512vl", &[F::AVX512VL]),
    ("avx512vbmi", &[F::AVX512_VBMI]),
    ("avx512ifma", &[F::AVX512_IFMA]),
];
/// What only the SHA-3 instructions of AArch64 are; the others that have semantics here are of
/// every CPU.
const SHA3: [&str; 4] = ["eor3", "rax1", "xar", "bcax"];

/// What the CPUs have on which a backend is chosen.
#[derive(Clone)]
pub(crate) struct Features {
    backend: &'static str,
    x86: Arc<Vec<F>>,
}

impl Features {
    /// The features that the library detects for a backend; `None` for what is no backend.
    pub(crate) fn of(backend: &str) -> Option<Self> {
        let mut all = BACKENDS.into_iter().chain(AARCH64_BACKENDS);
        let backend = all.find(|known| *known == backend)?;
        let found = FEATURES.iter().find(|(name, _)| *name == backend);
        let names = found.map_or(&[][..], |(_, names)| names);
        let of_name = |name: &&str| NAMES.iter().find(|(known, _)| known == name);
        let named = names
            .iter()
            .filter_map(of_name)
            .flat_map(|(_, all)| all.iter());
        let x86 = Arc::new(EVERY_CPU.iter().chain(named).copied().collect());
        Some(Self { backend, x86 })
    }

    /// Those that this CPU has.
    pub(crate) fn here() -> Self {
        #[cfg(target_arch = "x86_64")]
        let has = |name: &str| match name {
            "avx2" => std::arch::is_x86_feature_detected!("avx2"),
            "bmi1" => std::arch::is_x86_feature_detected!("bmi1"),
            "bmi2" => std::arch::is_x86_feature_detected!("bmi2"),
            "popcnt" => std::arch::is_x86_feature_detected!("popcnt"),
            "avx512f" => std::arch::is_x86_feature_detected!("avx512f"),
            "avx512bw" => std::arch::is_x86_feature_detected!("avx512bw"),
            "avx512dq" => std::arch::is_x86_feature_detected!("avx512dq"),
            "avx512vl" => std::arch::is_x86_feature_detected!("avx512vl"),
            "avx512vbmi" => std::arch::is_x86_feature_detected!("avx512vbmi"),
            "avx512ifma" => std::arch::is_x86_feature_detected!("avx512ifma"),
            _ => false,
        };
        #[cfg(not(target_arch = "x86_64"))]
        let has = |_: &str| false;
        let named = NAMES.iter().filter(|(name, _)| has(name));
        let named = named.flat_map(|(_, features)| features.iter());
        Self {
            backend: "this CPU",
            x86: Arc::new(EVERY_CPU.iter().chain(named).copied().collect()),
        }
    }

    /// Whether all features of that name are there.
    pub(crate) fn has(&self, name: &str) -> bool {
        let found = NAMES.iter().find(|(known, _)| *known == name);
        found.is_some_and(|(_, all)| all.iter().all(|feature| self.x86.contains(feature)))
    }

    /// Why the instruction may be missing, if it may.
    pub(crate) fn lacks(&self, i: &Instruction) -> Option<String> {
        let mut needed = i.cpuid_features().iter();
        let lacking = needed.find(|feature| !self.x86.contains(feature))?;
        // A CPU without it executes `bsf`: see `Machine::arithmetic`.
        if i.mnemonic() == Mnemonic::Tzcnt {
            return None;
        }
        Some(format!(
            "{:?} needs {lacking:?}, which not every CPU of {} has",
            i.mnemonic(),
            self.backend
        ))
    }

    /// The same for AArch64.
    pub(crate) fn lacks_aarch64(&self, i: &aarch64::Instruction) -> Option<String> {
        let is_missing = SHA3.contains(&&i.mnemonic[..]) && self.backend != "neon-sha3";
        is_missing.then(|| {
            format!(
                "{} needs SHA-3, which {} does not",
                i.mnemonic, self.backend
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_feature_that_is_detected_has_a_meaning() {
        for name in FEATURES.iter().flat_map(|(_, names)| *names) {
            assert!(NAMES.iter().any(|(known, _)| known == name), "{name}");
        }
    }
}
