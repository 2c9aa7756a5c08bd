//! Sets `BENCHES_RUSTC` to the version of the compiler.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = Command::new(rustc).arg("--version").output();
    let version = version
        .ok()
        .and_then(|out| String::from_utf8(out.stdout).ok());
    let version = version.unwrap_or_else(|| "unknown".to_owned());
    println!("cargo::rustc-env=BENCHES_RUSTC={}", version.trim());
}
