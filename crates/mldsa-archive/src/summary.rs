//! Counts of a run.

use core::fmt;
use std::collections::BTreeMap;

use arrow_array::{Array, RecordBatch};
use mldsa_arrow::Reason;
use serde::{Deserialize, Serialize};

use crate::output::{MALFORMED, Rows};
use crate::{Failure, Status};

/// Keys that are listed: those with most rejected rows.
const LISTED: usize = 10;

/// Valid and rejected rows.
#[derive(Clone, Copy, Default, Serialize, Deserialize)]
struct Counts {
    valid: u64,
    rejected: u64,
}

#[derive(Default, Serialize, Deserialize)]
pub(crate) struct Summary {
    rows: u64,
    reasons: BTreeMap<String, u64>,
    keys: BTreeMap<String, Counts>,
    /// Files and row groups that could not be read.
    pub(crate) failures: u64,
    /// Pages of Parquet of which damage cannot be seen.
    pub(crate) without_checksum: u64,
}

impl Summary {
    /// Adds rows of verdicts.
    pub(crate) fn add(&mut self, batch: &RecordBatch) -> Result<(), Failure> {
        let rows = Rows::of(batch)?;
        self.rows += batch.num_rows() as u64;
        for row in 0..batch.num_rows() {
            let valid = rows.valid.value(row);
            if !valid {
                count(&mut self.reasons, rows.reason.value(row), |n| *n += 1);
            }
            if rows.key.is_valid(row) {
                count(&mut self.keys, rows.key.value(row), |counts| match valid {
                    true => counts.valid += 1,
                    false => counts.rejected += 1,
                });
            }
        }
        Ok(())
    }

    /// Adds what another summary has counted.
    pub(crate) fn absorb(&mut self, other: Self) {
        self.rows += other.rows;
        self.failures += other.failures;
        self.without_checksum += other.without_checksum;
        for (reason, n) in other.reasons {
            *self.reasons.entry(reason).or_default() += n;
        }
        for (key, Counts { valid, rejected }) in other.keys {
            let counts = self.keys.entry(key).or_default();
            counts.valid += valid;
            counts.rejected += rejected;
        }
    }

    pub(crate) fn status(&self) -> Status {
        let is_unusable = |name: &String| {
            name == MALFORMED || name.parse::<Reason>().is_ok_and(Reason::is_unusable)
        };
        match () {
            () if self.failures > 0 || self.rows == 0 => Status::Unusable,
            () if self.reasons.keys().any(is_unusable) => Status::Unusable,
            () if !self.reasons.is_empty() => Status::Invalid,
            () => Status::Good,
        }
    }
}

/// Changes the counter of a name.
fn count<C: Default>(counters: &mut BTreeMap<String, C>, name: &str, change: impl Fn(&mut C)) {
    match counters.get_mut(name) {
        Some(counter) => change(counter),
        None => change(counters.entry(name.to_owned()).or_default()),
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rejected: u64 = self.reasons.values().sum();
        writeln!(f, "rows {}", self.rows)?;
        writeln!(f, "valid {}", self.rows - rejected)?;
        for (reason, count) in &self.reasons {
            writeln!(f, "{} {count}", reason.escape_debug())?;
        }
        writeln!(f, "unreadable {}", self.failures)?;
        writeln!(f, "pages_without_checksum {}", self.without_checksum)?;
        writeln!(f, "keys {}", self.keys.len())?;
        let mut worst: Vec<_> = self.keys.iter().filter(|(_, of)| of.rejected > 0).collect();
        worst.sort_by_key(|(_, counts)| core::cmp::Reverse(counts.rejected));
        for (key, Counts { valid, rejected }) in worst.iter().take(LISTED) {
            // An id is whatever the file has.
            let key = key.escape_debug();
            writeln!(f, "key {key}: valid {valid}, rejected {rejected}")?;
        }
        match worst.len().saturating_sub(LISTED) {
            0 => Ok(()),
            more => writeln!(f, "{more} more keys have rejected rows"),
        }
    }
}
