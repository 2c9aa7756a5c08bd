//! Entries of the kernel tables in a program, and the rows about them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use mldsa_core::internals::kernels::ENTRIES;

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

/// The address of the slot of an entry.
pub(crate) fn slot(table: u64, kernel: &str) -> Option<u64> {
    let (_, offset) = ENTRIES.iter().find(|(entry, _)| *entry == kernel)?;
    Some(table + *offset as u64)
}

/// The function of an entry of a table.
pub(crate) fn entry(image: &Image, table: u64, kernel: &str) -> Option<u64> {
    image.pointers.get(&slot(table, kernel)?).copied()
}

/// The kernel tables of a program, by name.
///
/// # Errors
/// Two tables of one backend, or one of a backend that is not known: the library could choose it.
pub(crate) fn tables(image: &Image) -> Result<BTreeMap<&'static str, u64>, String> {
    let mut found = BTreeMap::new();
    for (at, name) in image.tables() {
        let mut known = BACKENDS.into_iter().chain(AARCH64_BACKENDS);
        let Some(known) = known.find(|known| *known == name) else {
            return Err(format!("a kernel table has the unknown name `{name}`"));
        };
        if found.insert(known, at).is_some() {
            return Err(format!("{name}: more than one kernel table"));
        }
    }
    Ok(found)
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

/// Every row of the backends of a program, as [`crate::row::Report`] names them: kernel, parameter, backend.
pub(crate) fn expected(image: &Image) -> Vec<(String, String, &'static str)> {
    let mut names = Vec::new();
    let all = all_rows(image);
    for &backend in backends(image) {
        let is_own = |row: &&Row| row.backend == Some(backend);
        let is_replaced = |row: &&Row| {
            all.iter()
                .filter(is_own)
                .any(|own| own.kernel == row.kernel)
        };
        let here = all.iter().filter(|row| match row.backend {
            Some(only) => only == backend,
            None => !is_replaced(row),
        });
        names.extend(here.map(|row| (row.kernel.to_owned(), row.parameter.clone(), backend)));
    }
    names.extend(rejection::names(image));
    names
}

/// A row of a backend with its address.
pub(crate) type Place = (&'static str, u64, Row);

pub(crate) fn places(
    image: &Image,
    wanted: &dyn Fn(&str, &Row) -> bool,
) -> Result<Vec<Place>, String> {
    let tables = tables(image)?;
    let mut places = Vec::new();
    let all = all_rows(image);
    for &backend in backends(image) {
        let Some(&table) = tables.get(backend) else {
            println!("{backend}: no kernel table in this program");
            continue;
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
    for (entry, _) in ENTRIES {
        let known = with_rows.contains(entry)
            || rejection::KERNELS.contains(&entry)
            || rows::WITHOUT_ROWS.iter().any(|(name, _)| *name == entry);
        if !known && entry != "mask_lanes" {
            return Err(format!("`{entry}` has neither a row nor a reason"));
        }
    }
    Ok(places)
}
