//! Gives the linker the memory map of the emulated board.

fn main() {
    let here = std::env::var("CARGO_MANIFEST_DIR").expect("set by cargo");
    let target = std::env::var("TARGET").expect("set by cargo");
    let map = if target.starts_with("thumb") {
        "thumb.x"
    } else {
        "riscv32.x"
    };
    println!("cargo:rustc-link-arg=-T{here}/{map}");
    println!("cargo:rerun-if-changed={map}");
}
