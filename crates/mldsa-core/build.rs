//! Tells the crate how far its own code is optimised: less optimised kernels leave secrets in larger
//! frames, which are overwritten.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(mldsa_opt_level, values(\"0\", \"1\"))");
    if let Ok(level @ ("0" | "1")) = std::env::var("OPT_LEVEL").as_deref() {
        println!("cargo::rustc-cfg=mldsa_opt_level=\"{level}\"");
    }
}
