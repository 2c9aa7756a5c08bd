//! Passes the path of `memory.x` to the linker, and the build settings to the program.

fn main() {
    let here = std::env::var("CARGO_MANIFEST_DIR").expect("set by cargo");
    let level = std::env::var("OPT_LEVEL").expect("set by cargo");
    let target = std::env::var("TARGET").expect("set by cargo");
    println!("cargo:rustc-link-search={here}");
    if target.starts_with("thumb") {
        for program in ["cortex-m", "differential"] {
            println!("cargo:rustc-link-arg-bin={program}=-Tlink.x");
        }
    }
    println!("cargo:rustc-env=OPT_LEVEL={level}");
    println!("cargo:rustc-env=BOARD_TARGET={target}");
    println!("cargo:rerun-if-changed=memory.x");
}
