//! Keys on the device.
//!
//! A key that is evicted may still be named by items of batches that exist. Its place is used
//! again when none of them is left, so that no item ever meets another key.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use mldsa_core::{ParameterSet, VerifyingKey};

use crate::error::GpuError;

/// Form of the keys of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Table {
    /// Expanded once, when they are registered: for keys that verify often.
    Prepared,
    /// Encoded, and expanded for each signature: a fourteenth of the memory.
    Encoded,
}

/// A key on the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct KeyId {
    pub(crate) registry: u64,
    pub(crate) table: Table,
    pub(crate) index: u32,
    generation: u32,
}

/// Memory of the keys on the device.
#[cfg(test)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeyMemory {
    /// Expanded keys.
    pub(crate) prepared: usize,
    /// Encoded keys.
    pub(crate) encoded: usize,
    /// Bytes that they take.
    pub(crate) bytes: usize,
    /// Bytes of both tables when they are full.
    pub(crate) capacity: usize,
}

/// What a batch needs to tell whether an id names a key, without a lock. The key of an id that
/// was good after the batch began stays at its place until the batch ends.
#[derive(Clone)]
pub(crate) struct Names {
    registry: u64,
    pub(crate) table: Table,
    generations: Arc<[AtomicU32]>,
}

impl Names {
    pub(crate) fn has(&self, id: KeyId) -> bool {
        let generation = self.generations.get(id.index as usize);
        (id.registry, id.table) == (self.registry, self.table)
            && generation.is_some_and(|own| own.load(Ordering::Acquire) == id.generation)
    }
}

struct Keys<P: ParameterSet> {
    places: Vec<Option<Arc<VerifyingKey<P>>>>,
    names: Names,
    free: Vec<u32>,
    /// Evicted places, each with the number of the first batch that cannot name it.
    retired: VecDeque<(u64, u32)>,
}

impl<P: ParameterSet> Keys<P> {
    fn new(registry: u64, table: Table, capacity: usize) -> Self {
        Self {
            places: vec![None; capacity],
            names: Names {
                registry,
                table,
                generations: (0..capacity).map(|_| AtomicU32::new(0)).collect(),
            },
            free: (0..capacity as u32).rev().collect(),
            retired: VecDeque::new(),
        }
    }

    #[cfg(test)]
    fn used(&self) -> usize {
        self.places.len() - self.free.len() - self.retired.len()
    }
}

pub(crate) struct Registry<P: ParameterSet> {
    tables: [Keys<P>; 2],
    next_batch: u64,
    batches: BTreeSet<u64>,
}

impl<P: ParameterSet> Registry<P> {
    pub(crate) fn new(prepared: usize, encoded: usize) -> Self {
        static NUMBERS: AtomicU64 = AtomicU64::new(0);
        let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
        Self {
            tables: [
                Keys::new(number, Table::Prepared, prepared),
                Keys::new(number, Table::Encoded, encoded),
            ],
            next_batch: 0,
            batches: BTreeSet::new(),
        }
    }

    /// Returns the numbers of expanded and encoded keys.
    #[cfg(test)]
    pub(crate) fn used(&self) -> [usize; 2] {
        self.tables.each_ref().map(Keys::used)
    }

    /// Takes places for `count` keys, in increasing order.
    pub(crate) fn take(&mut self, table: Table, count: usize) -> Result<Vec<u32>, GpuError> {
        let oldest = self.batches.first().copied().unwrap_or(u64::MAX);
        let keys = &mut self.tables[table as usize];
        let settled = keys
            .retired
            .iter()
            .take_while(|(batch, _)| *batch <= oldest);
        let settled = settled.count();
        keys.free
            .extend(keys.retired.drain(..settled).map(|(_, index)| index));
        let rest = keys.free.len().checked_sub(count);
        let mut taken = keys.free.split_off(rest.ok_or(GpuError::TableFull)?);
        taken.sort_unstable();
        Ok(taken)
    }

    /// Gives back places that were taken and not filled.
    pub(crate) fn give_back(&mut self, table: Table, places: Vec<u32>) {
        self.tables[table as usize].free.extend(places);
    }

    /// Names keys that are on the device now.
    pub(crate) fn fill(
        &mut self,
        table: Table,
        places: &[u32],
        keys: impl IntoIterator<Item = Arc<VerifyingKey<P>>>,
    ) -> Vec<KeyId> {
        let own = &mut self.tables[table as usize];
        let name = |(&index, key): (&u32, _)| {
            own.places[index as usize] = Some(key);
            KeyId {
                registry: own.names.registry,
                table,
                index,
                generation: own.names.generations[index as usize].load(Ordering::Relaxed),
            }
        };
        places.iter().zip(keys).map(name).collect()
    }

    /// Evicts a key; `false` if the id names none.
    pub(crate) fn evict(&mut self, id: KeyId) -> bool {
        let (batch, keys) = (self.next_batch, &mut self.tables[id.table as usize]);
        let is_known = keys.names.has(id);
        if is_known {
            // The key stays for batches that name it.
            let generation = &keys.names.generations[id.index as usize];
            generation.fetch_add(1, Ordering::Release);
            keys.retired.push_back((batch, id.index));
        }
        is_known
    }

    /// Returns the key at a place that an item of a batch names.
    pub(crate) fn at(&self, table: Table, index: u32) -> Option<Arc<VerifyingKey<P>>> {
        self.tables[table as usize]
            .places
            .get(index as usize)?
            .clone()
    }

    /// Begins a batch, whose keys stay until [`end`](Self::end).
    pub(crate) fn begin(&mut self, table: Option<Table>) -> (u64, Option<Names>) {
        let number = self.next_batch;
        self.next_batch += 1;
        self.batches.insert(number);
        (
            number,
            table.map(|table| self.tables[table as usize].names.clone()),
        )
    }

    pub(crate) fn end(&mut self, batch: u64) {
        self.batches.remove(&batch);
    }
}
