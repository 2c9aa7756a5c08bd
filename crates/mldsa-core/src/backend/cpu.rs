//! CPU features of the SIMD backends: detection, and the proof of it.
#![allow(unsafe_code)]

macro_rules! cpu {
    ($(#[$doc:meta])* $token:ident, $detection:ident: $($feature:tt),+) => {
        #[cfg(not(mldsa_pinned))]
        cpufeatures::new!($detection, $($feature),+);
        cpu!($(#[$doc])* $token if $detection::get() => $($feature),+);
    };
    ($(#[$doc:meta])* $token:ident if $detected:expr => $($feature:tt),+) => {
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub(super) struct $token(());

        impl $token {
            /// Names of the features.
            #[cfg(feature = "unstable-internals")]
            pub(super) const FEATURES: &[&str] = &[$($feature),+];

            /// The proof, which only code that is compiled for the features can make.
            #[inline]
            #[target_feature($(enable = $feature),+)]
            pub(super) fn here() -> Self {
                Self(())
            }

            /// Returns whether the CPU has the features and the operating system keeps the
            /// registers (XCR0). With the cfg `mldsa_pinned`: whether the program is compiled for
            /// them, without a look at the CPU.
            #[cfg(not(target_arch = "wasm32"))]
            pub(super) fn is_detected() -> bool {
                #[cfg(mldsa_pinned)]
                return $(cfg!(target_feature = $feature))&&+;
                #[cfg(not(mldsa_pinned))]
                $detected
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
#[cfg(target_arch = "aarch64")]
cpu!(
    /// The CPU has NEON, as every one of its targets.
    Neon, neon: "neon"
);
#[cfg(target_arch = "aarch64")]
cpu!(
    /// The CPU has NEON and its instructions for SHA-3.
    NeonSha3 if has_sha3() => "sha3"
);
#[cfg(target_arch = "wasm32")]
cpu!(
    /// The host of this module has its instructions, or it would have refused it.
    Simd128 if true => "simd128"
);

/// Whether the CPU has the instructions for SHA-3. The standard library detects them on every
/// system. Without it the crate `cpufeatures` does so on Linux and Android; on Apple's systems it
/// would panic where the system call is rejected.
#[cfg(all(target_arch = "aarch64", not(mldsa_pinned)))]
fn has_sha3() -> bool {
    #[cfg(feature = "std")]
    {
        std::arch::is_aarch64_feature_detected!("sha3")
    }
    #[cfg(all(not(feature = "std"), target_vendor = "apple"))]
    {
        cfg!(target_feature = "sha3")
    }
    #[cfg(all(not(feature = "std"), not(target_vendor = "apple")))]
    {
        cpufeatures::new!(neon_sha3, "sha3");
        neon_sha3::get()
    }
}

/// The features that each backend needs besides those of every CPU of its target, by its name.
#[cfg(feature = "unstable-internals")]
pub const FEATURES: &[(&str, &[&str])] = &[
    ("portable", &[]),
    #[cfg(target_arch = "x86_64")]
    ("avx2", Avx2::FEATURES),
    #[cfg(target_arch = "x86_64")]
    ("avx512", Avx512::FEATURES),
    #[cfg(target_arch = "aarch64")]
    ("neon", Neon::FEATURES),
    #[cfg(target_arch = "aarch64")]
    ("neon-sha3", NeonSha3::FEATURES),
    #[cfg(target_arch = "wasm32")]
    ("simd128", Simd128::FEATURES),
];
