//! Keys on the device.
//!
//! A key that is evicted may still be named by items of batches that exist. Its place is used
//! again when none of them is left, so that no item ever meets another key.

use core::sync::atomic::{AtomicU64, Ordering};
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use mldsa_core::{ParameterSet, VerifyingKey};

use crate::error::GpuError;

/// Form of the keys of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Table {
    /// Expanded once, when they are registered: for keys that verify often.
    Prepared,
    /// Encoded, and expanded for each signature: a fourteenth of the memory.
    Encoded,
}

/// A key on the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KeyId {
    pub(crate) registry: u64,
    pub(crate) table: Table,
    pub(crate) index: u32,
    generation: u32,
}

/// Memory of the keys on the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyMemory {
    /// Expanded keys.
    pub prepared: usize,
    /// Encoded keys.
    pub encoded: usize,
    /// Bytes that they take.
    pub bytes: usize,
    /// Bytes of both tables when they are full.
    pub capacity: usize,
}

struct Place<P: ParameterSet> {
    key: Option<Arc<VerifyingKey<P>>>,
    generation: u32,
}

struct Keys<P: ParameterSet> {
    places: Vec<Place<P>>,
    free: Vec<u32>,
    /// Evicted places, each with the number of the first batch that cannot name it.
    retired: VecDeque<(u64, u32)>,
}

impl<P: ParameterSet> Keys<P> {
    fn new(capacity: usize) -> Self {
        let empty = || Place {
            key: None,
            generation: 0,
        };
        Self {
            places: core::iter::repeat_with(empty).take(capacity).collect(),
            free: (0..capacity as u32).rev().collect(),
            retired: VecDeque::new(),
        }
    }

    fn used(&self) -> usize {
        self.places.len() - self.free.len() - self.retired.len()
    }
}

pub(crate) struct Registry<P: ParameterSet> {
    number: u64,
    prepared: Keys<P>,
    encoded: Keys<P>,
    next_batch: u64,
    batches: BTreeSet<u64>,
}

impl<P: ParameterSet> Registry<P> {
    pub(crate) fn new(prepared: usize, encoded: usize) -> Self {
        static NUMBERS: AtomicU64 = AtomicU64::new(0);
        Self {
            number: NUMBERS.fetch_add(1, Ordering::Relaxed),
            prepared: Keys::new(prepared),
            encoded: Keys::new(encoded),
            next_batch: 0,
            batches: BTreeSet::new(),
        }
    }

    fn keys(&mut self, table: Table) -> &mut Keys<P> {
        match table {
            Table::Prepared => &mut self.prepared,
            Table::Encoded => &mut self.encoded,
        }
    }

    /// Numbers of expanded and encoded keys.
    pub(crate) fn used(&self) -> (usize, usize) {
        (self.prepared.used(), self.encoded.used())
    }

    /// Places for `count` keys, in increasing order.
    pub(crate) fn take(&mut self, table: Table, count: usize) -> Result<Vec<u32>, GpuError> {
        let oldest = self.batches.first().copied().unwrap_or(u64::MAX);
        let keys = self.keys(table);
        while let Some(&(batch, index)) = keys.retired.front() {
            if batch > oldest {
                break;
            }
            keys.retired.pop_front();
            keys.free.push(index);
        }
        let rest = keys
            .free
            .len()
            .checked_sub(count)
            .ok_or(GpuError::TableFull)?;
        let mut taken = keys.free.split_off(rest);
        taken.sort_unstable();
        Ok(taken)
    }

    /// Gives back places that were taken and not filled.
    pub(crate) fn give_back(&mut self, table: Table, places: Vec<u32>) {
        self.keys(table).free.extend(places);
    }

    /// Names keys that are on the device now.
    pub(crate) fn fill(
        &mut self,
        table: Table,
        places: &[u32],
        keys: impl IntoIterator<Item = Arc<VerifyingKey<P>>>,
    ) -> Vec<KeyId> {
        let registry = self.number;
        let own = self.keys(table);
        let name = |(index, key): (&u32, _)| {
            let place = &mut own.places[*index as usize];
            place.key = Some(key);
            KeyId {
                registry,
                table,
                index: *index,
                generation: place.generation,
            }
        };
        places.iter().zip(keys).map(name).collect()
    }

    /// Evicts a key; `false` if the id names none.
    pub(crate) fn evict(&mut self, id: KeyId) -> bool {
        if self.key(id).is_none() {
            return false;
        }
        let batch = self.next_batch;
        let keys = self.keys(id.table);
        // The key stays for batches that name it.
        keys.places[id.index as usize].generation += 1;
        keys.retired.push_back((batch, id.index));
        true
    }

    pub(crate) fn key(&self, id: KeyId) -> Option<&Arc<VerifyingKey<P>>> {
        let keys = match id.table {
            Table::Prepared => &self.prepared,
            Table::Encoded => &self.encoded,
        };
        let place = keys.places.get(id.index as usize)?;
        (id.registry == self.number && place.generation == id.generation).then_some(())?;
        place.key.as_ref()
    }

    /// The key at a place that an item of a batch names.
    pub(crate) fn at(&self, table: Table, index: u32) -> Option<Arc<VerifyingKey<P>>> {
        let keys = match table {
            Table::Prepared => &self.prepared,
            Table::Encoded => &self.encoded,
        };
        keys.places.get(index as usize)?.key.clone()
    }

    /// Begins a batch, whose keys stay until [`end`](Self::end).
    pub(crate) fn begin(&mut self) -> u64 {
        let number = self.next_batch;
        self.next_batch += 1;
        self.batches.insert(number);
        number
    }

    pub(crate) fn end(&mut self, batch: u64) {
        self.batches.remove(&batch);
    }
}
