//! Vector files: the checked-in rejection tables and the large files in the
//! folder that `MLDSA_VECTORS` names.

use std::io::Read;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use serde_json::Value;

use crate::set::Set;

/// The folder of large files, or `None` with a line that says so. A relative
/// path starts at the workspace root.
///
/// # Panics
/// When the variable names no folder: a wrong path must not look like a run.
#[must_use]
pub fn folder(suite: &str) -> Option<PathBuf> {
    let Some(name) = std::env::var_os("MLDSA_VECTORS") else {
        crate::tally::say(&format!("{suite}: not run: MLDSA_VECTORS unset"));
        return None;
    };
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(name);
    assert!(
        path.is_dir(),
        "MLDSA_VECTORS names no folder: {}",
        path.display()
    );
    Some(path)
}

/// Content of a text file, unpacked when it ends in `.gz`.
///
/// # Panics
/// When it cannot be read.
#[must_use]
pub fn text(path: &Path) -> String {
    let bytes = std::fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut out = String::new();
    let read = if path.extension().is_some_and(|ext| ext == "gz") {
        GzDecoder::new(&bytes[..]).read_to_string(&mut out)
    } else {
        (&bytes[..]).read_to_string(&mut out)
    };
    read.unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    out
}

/// A JSON file, unpacked when it ends in `.gz`.
///
/// # Panics
/// When it cannot be read or is no JSON.
#[must_use]
pub fn json(path: &Path) -> Value {
    serde_json::from_str(&text(path)).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Fields of a JSON object, as vector files write them.
pub trait Fields {
    /// An array.
    fn list(&self, key: &str) -> &[Value];
    /// A string, if the field is there.
    fn maybe_text(&self, key: &str) -> Option<&str>;
    /// Bytes in hex, if the field is there.
    fn maybe_bytes(&self, key: &str) -> Option<Vec<u8>>;
    /// A number.
    fn number(&self, key: &str) -> usize;
    /// A truth value.
    fn flag(&self, key: &str) -> bool;

    /// A string.
    fn text(&self, key: &str) -> &str {
        self.maybe_text(key)
            .unwrap_or_else(|| panic!("no field {key}"))
    }
    /// Bytes in hex.
    fn bytes(&self, key: &str) -> Vec<u8> {
        self.maybe_bytes(key)
            .unwrap_or_else(|| panic!("no field {key}"))
    }
    /// Bytes in hex of a fixed length, if the field is there.
    fn maybe_array<const N: usize>(&self, key: &str) -> Option<[u8; N]> {
        self.maybe_bytes(key).map(|bytes| {
            bytes
                .try_into()
                .unwrap_or_else(|_| panic!("field {key} is not {N} bytes"))
        })
    }
    /// Bytes in hex of a fixed length.
    fn array<const N: usize>(&self, key: &str) -> [u8; N] {
        self.maybe_array(key)
            .unwrap_or_else(|| panic!("no field {key}"))
    }
}

impl Fields for Value {
    fn list(&self, key: &str) -> &[Value] {
        self[key]
            .as_array()
            .unwrap_or_else(|| panic!("no list {key}"))
    }
    fn maybe_text(&self, key: &str) -> Option<&str> {
        self[key].as_str()
    }
    fn maybe_bytes(&self, key: &str) -> Option<Vec<u8>> {
        let digits = self.maybe_text(key)?;
        Some(hex::decode(digits).unwrap_or_else(|e| panic!("field {key}: {e}")))
    }
    fn number(&self, key: &str) -> usize {
        let number = self[key]
            .as_u64()
            .unwrap_or_else(|| panic!("no number {key}"));
        usize::try_from(number).unwrap_or_else(|e| panic!("field {key}: {e}"))
    }
    fn flag(&self, key: &str) -> bool {
        self[key]
            .as_bool()
            .unwrap_or_else(|| panic!("no flag {key}"))
    }
}

/// A seed and a formatted message whose signing is rejected a known number of
/// times for each reason.
#[derive(Debug, PartialEq, Eq)]
pub struct RejectionKat {
    /// Parameter set.
    pub set: &'static Set,
    /// Private key seed.
    pub seed: [u8; 32],
    /// SHA-256 of public key and expanded private key.
    pub sha256_pk_sk: Vec<u8>,
    /// `M'`.
    pub m_prime: Vec<u8>,
    /// Message representative.
    pub mu: [u8; 64],
    /// SHA-256 of the deterministic signature.
    pub sha256_sig: Vec<u8>,
    /// Rejections by z, r0, ct0 and hint weight.
    pub rejections: [usize; 4],
}

/// The checked-in rejection tables.
///
/// # Panics
/// When the file is damaged.
#[must_use]
pub fn rejection_kats() -> Vec<RejectionKat> {
    let table = include_str!("../data/rejection-kats.json");
    rejection_rows(&serde_json::from_str(table).expect("rejection-kats.json"))
}

/// The rows of a rejection table.
///
/// # Panics
/// When a field is missing.
#[must_use]
pub fn rejection_rows(table: &Value) -> Vec<RejectionKat> {
    let rows = table.as_array().expect("a list of rows");
    rows.iter()
        .map(|row| RejectionKat {
            set: Set::named(&format!("ML-DSA-{}", row.number("level"))),
            seed: row.array("seed"),
            sha256_pk_sk: row.bytes("sha256_pk_sk"),
            m_prime: row.bytes("m_prime"),
            mu: row.array("mu"),
            sha256_sig: row.bytes("sha256_sig"),
            rejections: ["z", "r0", "ct0", "h"].map(|reason| row["by"].number(reason)),
        })
        .collect()
}
