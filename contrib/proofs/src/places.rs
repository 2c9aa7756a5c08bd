//! Entries of the kernel tables in a program, and the rows about them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::aarch64;
use crate::image::Image;
use crate::rows::{self, Row};
use crate::{permutations, rejection};

pub(crate) const BACKENDS: [&str; 3] = ["portable", "avx2", "avx512"];
pub(crate) const AARCH64_BACKENDS: [&str; 2] = ["neon", "neon-sha3"];

/// Backends of the program.
pub(crate) fn backends(image: &Image) -> &'static [&'static str] {
    if image.is_aarch64() {
        &AARCH64_BACKENDS
    } else {
        &BACKENDS
    }
}

/// A program as it was when it was loaded, with what a row assumes about it.
pub(crate) struct Program {
    pub(crate) path: PathBuf,
    pub(crate) image: Image,
    answers: Vec<(&'static str, Image)>,
}

impl Program {
    pub(crate) fn load(path: &Path) -> Result<Self, String> {
        let mut image = Image::load(path)?;
        if image.functions("mldsa_core").is_empty() {
            permutations::find(&mut image)?;
        }
        let answers = if image.is_aarch64() {
            aarch64::answers(&image)?
        } else {
            Vec::new()
        };
        Ok(Self {
            path: path.to_owned(),
            image,
            answers,
        })
    }

    pub(crate) fn of(&self, row: &Row) -> &Image {
        row.answer.map_or(&self.image, |n| &self.answers[n].1)
    }
}

/// Names of the entries of a table, in order, from the source of the library.
pub(crate) fn entries() -> Result<Vec<String>, String> {
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

/// The function of an entry of a table.
pub(crate) fn entry(image: &Image, table: u64, kernel: &str) -> Option<u64> {
    let at = entries().ok()?.iter().position(|entry| entry == kernel)?;
    image.pointers.get(&(table + 16 + 8 * at as u64)).copied()
}

/// The rows of a program.
fn all_rows(image: &Image) -> Vec<Row> {
    let mut rows = rows::rows();
    rows.extend(permutations::rows(backends(image)));
    if image.is_aarch64() {
        rows.extend(aarch64::rows());
    }
    rows
}

/// A row of a backend with its address.
pub(crate) type Place = (&'static str, u64, Row);

pub(crate) fn places(
    image: &Image,
    wanted: &dyn Fn(&str, &Row) -> bool,
) -> Result<Vec<Place>, String> {
    let entries = entries()?;
    let mut places = Vec::new();
    let all = all_rows(image);
    for &backend in backends(image) {
        let table = match image.table(backend)[..] {
            [table] => table,
            [] => {
                println!("{backend}: no kernel table in this program");
                continue;
            }
            _ => return Err(format!("{backend}: more than one kernel table")),
        };
        // Rows of this backend replace those of all.
        let own: BTreeSet<_> = all
            .iter()
            .filter(|row| row.backend == Some(backend))
            .map(|row| row.kernel)
            .collect();
        for row in all_rows(image) {
            let is_here = match row.backend {
                Some(only) => only == backend,
                None => !own.contains(row.kernel),
            };
            if !is_here || !wanted(backend, &row) {
                continue;
            }
            let entry = match row.function {
                Some(name) => match image.functions(name)[..] {
                    [entry] => entry,
                    _ => {
                        println!("{backend}::{}: no function of its own", row.kernel);
                        continue;
                    }
                },
                None => entry(image, table, row.kernel).ok_or("no such entry")?,
            };
            places.push((backend, entry, row));
        }
    }
    // Every entry has a row or a reason.
    let with_rows: BTreeSet<_> = rows::rows().iter().map(|row| row.kernel).collect();
    for entry in &entries {
        let known = with_rows.contains(&entry[..])
            || rejection::KERNELS.contains(&&entry[..])
            || rows::WITHOUT_ROWS.iter().any(|(name, _)| name == entry);
        if !known && entry != "mask_lanes" {
            return Err(format!("`{entry}` has neither a row nor a reason"));
        }
    }
    Ok(places)
}
