//! Tells the crate whether its target has a SIMD backend, and how its own code is optimised: kernels that
//! are less optimised, or optimised for size, leave secrets in larger frames, which are overwritten.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(mldsa_simd)");
    println!("cargo::rustc-check-cfg=cfg(mldsa_armv7m)");
    println!("cargo::rustc-check-cfg=cfg(mldsa_interleaved)");
    println!("cargo::rustc-check-cfg=cfg(mldsa_thumb2)");
    println!("cargo::rustc-check-cfg=cfg(mldsa_small)");
    println!("cargo::rustc-check-cfg=cfg(mldsa_halves)");
    println!("cargo::rustc-check-cfg=cfg(mldsa_pinned)");
    println!("cargo::rustc-check-cfg=cfg(mldsa_opt_level, values(\"0\", \"1\", \"s\", \"z\"))");
    if env::var_os("CARGO_FEATURE_SIMD").is_some() && has_vectors() {
        println!("cargo::rustc-cfg=mldsa_simd");
    }
    let level = env::var("OPT_LEVEL").unwrap_or_default();
    if ["0", "1", "s", "z"].contains(&level.as_str()) {
        println!("cargo::rustc-cfg=mldsa_opt_level=\"{level}\"");
    }
    // Firmware that is optimised for size has one loop where others have one for each use.
    let firmware = env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("none");
    let small = firmware && ["s", "z"].contains(&level.as_str());
    // The permutation of the device takes plain lanes.
    let hardware = env::var_os("CARGO_CFG_MLDSA_HARDWARE_KECCAK").is_some();
    if small {
        println!("cargo::rustc-cfg=mldsa_small");
    }
    if small && !hardware {
        println!("cargo::rustc-cfg=mldsa_halves");
    }
    // The instruction set is a feature of the target that stable compilers do not tell of.
    let target = env::var("TARGET").unwrap_or_default();
    if ["thumbv7m-", "thumbv7em-", "thumbv8m.main-"]
        .iter()
        .any(|name| target.starts_with(name))
    {
        println!("cargo::rustc-cfg=mldsa_thumb2");
        if !small {
            println!("cargo::rustc-cfg=mldsa_armv7m");
        }
        if !small && !hardware {
            println!("cargo::rustc-cfg=mldsa_interleaved");
        }
    }
}

/// Whether every CPU of the target has vector registers for which there is a backend. Kernels and
/// firmware have none, nor has AArch64 with the other byte order.
fn has_vectors() -> bool {
    let setting = |name: &str| env::var(name).unwrap_or_default();
    let feature = match setting("CARGO_CFG_TARGET_ARCH").as_str() {
        "x86_64" => "sse2",
        "aarch64" if setting("CARGO_CFG_TARGET_ENDIAN") == "little" => "neon",
        "wasm32" => "simd128",
        _ => return false,
    };
    let features = setting("CARGO_CFG_TARGET_FEATURE");
    features.split(',').any(|found| found == feature)
}
