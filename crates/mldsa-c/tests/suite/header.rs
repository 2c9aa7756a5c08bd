//! The checked-in header is the one that the crate gives.

use std::path::Path;

/// `MLDSA_BLESS=1` writes the header instead.
#[test]
fn the_header_describes_the_library() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut config =
        cbindgen::Config::from_file(package.join("cbindgen.toml")).expect("cbindgen.toml");
    let texts = config.after_includes.get_or_insert_default();
    texts.push_str(
        "\n\n/* KiB of stack that each function takes in ML-DSA-44, 65 and 87, the largest of\n \
         * portable, AVX2 and AVX-512 code (docs/c.md):\n *\n",
    );
    texts.push_str(&crate::stack::comment());
    texts.push_str(" */");
    let bindings = cbindgen::Builder::new()
        .with_crate(package)
        .with_config(config)
        .generate()
        .expect("a header");
    let mut made = Vec::new();
    bindings.write(&mut made);
    let made = String::from_utf8(made).expect("UTF-8");
    let path = package.join("include/mldsa.h");
    if std::env::var_os("MLDSA_BLESS").is_some() {
        std::fs::write(&path, &made).expect("a writable header");
    }
    let header = std::fs::read_to_string(&path).expect("include/mldsa.h");
    assert!(
        header == made,
        "include/mldsa.h differs: MLDSA_BLESS=1 cargo test -p mldsa-c header"
    );
}
