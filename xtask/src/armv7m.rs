//! Writes the assembly of the backend for ARMv7-M, or compares it with what is there.

use std::fs;

mod keccak;
mod transform;

/// Where the files are, from the root of the repository.
const FOLDER: &str = "crates/mldsa-core/src/backend/armv7m";

/// `cargo xtask armv7m [--bless]`: fails if a file is not what this program generates.
pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    let bless = match arguments {
        [] => false,
        [flag] if flag == "--bless" => true,
        _ => return Err("cargo xtask armv7m [--bless]".into()),
    };
    let folder = crate::root().join(FOLDER);
    let files = [
        ("keccak_small.s", keccak::small::assembly()),
        ("keccak_4.s", keccak::assembly(4)),
        ("rotations.in", keccak::rotations()),
        ("first_layers.s", transform::first_layers()),
        ("last_layers.s", transform::last_layers()),
        ("first_inverse_layers.s", transform::first_inverse_layers()),
        ("row_product.s", transform::row_product()),
        ("sums_of_three.s", transform::sums_of_three()),
        ("last_inverse_layers.s", transform::last_inverse_layers()),
    ];
    for (name, text) in files {
        let path = folder.join(name);
        if bless {
            fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
        } else if fs::read(&path).is_ok_and(|found| found == text.as_bytes()) {
            println!("{FOLDER}/{name}: {} bytes, as generated", text.len());
        } else {
            return Err(format!(
                "{FOLDER}/{name} is not what `cargo xtask armv7m --bless` writes"
            ));
        }
    }
    Ok(())
}
