//! What the SIMD backends ask of a CPU, and the proof that it has it.
#![allow(unsafe_code)]

macro_rules! cpu {
    ($(#[$doc:meta])* $token:ident, $detection:ident: $($feature:tt),+) => {
        cpufeatures::new!($detection, $($feature),+);

        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub(super) struct $token(());

        impl $token {
            /// The proof: the compiler lets only code that is compiled for the features
            /// ask for it.
            #[inline]
            #[target_feature($(enable = $feature),+)]
            pub(super) fn here() -> Self {
                Self(())
            }

            /// Whether the CPU has the features and the operating system keeps the
            /// registers (XCR0).
            pub(super) fn is_detected() -> bool {
                $detection::get()
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
cpu!(
    /// The CPU has AVX2, and BMI1 and BMI2 as every such CPU.
    Avx2, avx2: "avx2", "bmi1", "bmi2"
);
#[cfg(target_arch = "x86_64")]
cpu!(
    /// The CPU has AVX-512 as far as this crate uses it.
    Avx512, avx512:
    "avx2", "avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512vbmi", "avx512ifma",
    "bmi1", "bmi2", "popcnt"
);
#[cfg(all(
    target_arch = "aarch64",
    target_feature = "neon",
    target_endian = "little"
))]
cpu!(
    /// The CPU has NEON, as every one of its targets.
    Neon, neon: "neon"
);
#[cfg(all(
    target_arch = "aarch64",
    target_feature = "neon",
    target_endian = "little"
))]
cpu!(
    /// The CPU has NEON and its instructions for SHA-3.
    NeonSha3, neon_sha3: "sha3"
);
