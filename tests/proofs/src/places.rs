//! Entries of the kernel tables in a program, and the rows about them.

use std::collections::BTreeSet;
use std::path::Path;

use crate::image::Image;
use crate::rows::{self, Row};

pub(crate) const BACKENDS: [&str; 3] = ["portable", "avx2", "avx512"];

/// Names of the entries of a table, in order, from the source of the library.
fn entries() -> Result<Vec<String>, String> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../crates/mldsa-core/src/backend/kernels.rs");
    let text =
        std::fs::read_to_string(&source).map_err(|e| format!("{}: {e}", source.display()))?;
    let (_, body) = text
        .split_once("#[repr(C)]\npub(crate) struct Kernels {")
        .ok_or("no kernel table in C order")?;
    let (body, _) = body.split_once("\n}").ok_or("no end of the kernel table")?;
    let names = body
        .lines()
        .filter_map(|line| line.trim().strip_prefix("pub(crate) ")?.split_once(':'));
    Ok(names
        .map(|(name, _)| name.to_owned())
        .filter(|name| name != "name" && name != "dispatched")
        .collect())
}

/// A row of a backend with its address.
pub(crate) type Place = (&'static str, u64, Row);

pub(crate) fn places(
    image: &Image,
    wanted: &dyn Fn(&str, &Row) -> bool,
) -> Result<Vec<Place>, String> {
    let entries = entries()?;
    let mut places = Vec::new();
    for backend in BACKENDS {
        let tables = image.table(backend);
        let table = match tables[..] {
            [table] => table,
            [] => {
                println!("{backend}: no kernel table in this program");
                continue;
            }
            _ => {
                return Err(format!(
                    "{} kernel tables of the name {backend}",
                    tables.len()
                ));
            }
        };
        for row in rows::rows() {
            if wanted(backend, &row) {
                let at = entries
                    .iter()
                    .position(|entry| *entry == row.kernel)
                    .ok_or("an entry without a name")?;
                let entry = *image
                    .pointers
                    .get(&(table + 16 + 8 * at as u64))
                    .ok_or("an entry without an address")?;
                places.push((backend, entry, row));
            }
        }
    }
    // Every entry has a row or a reason.
    let with_rows: BTreeSet<_> = rows::rows().iter().map(|row| row.kernel).collect();
    for entry in &entries {
        let known = with_rows.contains(&entry[..])
            || rows::WITHOUT_ROWS.iter().any(|(name, _)| name == entry);
        if !known && entry != "mask_lanes" {
            return Err(format!("`{entry}` has neither a row nor a reason"));
        }
    }
    Ok(places)
}
