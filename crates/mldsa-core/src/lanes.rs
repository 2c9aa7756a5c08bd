//! Several signatures side by side: what a verification is given, hashing in
//! lanes, verification in lanes.

pub(crate) mod job;
#[cfg(all(feature = "simd", any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(crate) mod sponge;
#[cfg(all(feature = "simd", any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(crate) mod interleaved;
#[cfg(all(feature = "simd", any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(crate) mod verify;
