//! Batches that the caller fills.

use core::fmt;
use core::sync::atomic::AtomicBool;
use std::sync::Arc;

use batch_verify::RejectReason;
use mldsa_core::{Context, Mu, MuBuilder, ParameterSet, VerifyingKey};

use crate::error::{GpuError, PushError};
use crate::job::{Job, Order, Owner, Pending};
use crate::layout::{LONGEST, MU_GIVEN, PLANTED_MESSAGE, planted};
use crate::lock::lock;
use crate::probe::{CONTEXT, Random};
use crate::registry::{KeyId, Names, Table};
use crate::state::{Loan, Shared};
use crate::worker::Launch;

/// Key of an item.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Key<'a> {
    /// A registered key, in a batch for its table.
    Registered(KeyId),
    /// An encoded key (`P::PK_LEN` bytes when well formed), in a batch with keys.
    Encoded(&'a [u8]),
}

impl From<KeyId> for Key<'_> {
    fn from(id: KeyId) -> Self {
        Self::Registered(id)
    }
}

impl<'a> From<&'a [u8]> for Key<'a> {
    fn from(encoded: &'a [u8]) -> Self {
        Self::Encoded(encoded)
    }
}

impl<'a, P: ParameterSet> From<&'a VerifyingKey<P>> for Key<'a> {
    fn from(key: &'a VerifyingKey<P>) -> Self {
        Self::Encoded(key.as_ref())
    }
}

/// What is signed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Signed<'a> {
    /// A message under a context.
    Message(Context<'a>, &'a [u8]),
    /// A message representative that was computed locally.
    Mu(&'a Mu),
}

/// Signatures to verify, in page-locked memory. It can be filled on one thread while other batches
/// are copied and verified.
pub(crate) struct Batch<P: ParameterSet> {
    loan: Loan<P>,
    /// `None` for a batch with keys.
    names: Option<Names>,
    stride: usize,
    owners: Vec<Owner>,
    /// Words of 8 bytes of messages.
    words: usize,
    /// Reasons of items that are not for the device.
    decided: Vec<(usize, RejectReason)>,
    items: usize,
}

impl<P: ParameterSet> Batch<P> {
    pub(crate) fn new(shared: &Arc<Shared<P>>, table: Option<Table>) -> Result<Self, GpuError> {
        if shared.is_forked() {
            return Err(GpuError::Forked);
        }
        let block = lock(&shared.free).pop().ok_or(GpuError::Busy)?;
        let (batch, names) = lock(&shared.registry).begin(table);
        let layout = shared.layout;
        Ok(Self {
            loan: Loan {
                shared: shared.clone(),
                block,
                batch,
                lost: AtomicBool::new(false),
            },
            stride: match names {
                Some(_) => layout.slot,
                None => layout.slot_with_key,
            },
            names,
            owners: Vec::new(),
            words: 0,
            decided: Vec::new(),
            items: 0,
        })
    }

    fn table(&self) -> Option<Table> {
        self.names.as_ref().map(|names| names.table)
    }

    /// Returns the number of items.
    #[must_use]
    pub(crate) fn len(&self) -> usize {
        self.items
    }

    /// Returns the most items, [`batch_items`](crate::GpuOptions::batch_items).
    #[must_use]
    pub(crate) fn capacity(&self) -> usize {
        self.loan.shared.options.batch_items
    }

    /// Adds an item and copies its signature. Returns its index. A key or a signature of a wrong
    /// length makes an item that is rejected for that reason.
    ///
    /// # Errors
    /// Every [`PushError`]; the batch is as before.
    pub(crate) fn push<'a>(
        &mut self,
        key: impl Into<Key<'a>>,
        signed: Signed<'_>,
        signature: &[u8],
    ) -> Result<usize, PushError> {
        let key = key.into();
        let wrong_key = matches!(key, Key::Encoded(bytes) if bytes.len() != P::PK_LEN);
        let reason = if wrong_key {
            RejectReason::PublicKeyLength
        } else if signature.len() != P::SIG_LEN {
            RejectReason::SignatureLength
        } else {
            self.slot(key, signed)?.copy_from_slice(signature);
            return Ok(self.items - 1);
        };
        self.check(key)?;
        self.decided.push((self.items, reason));
        self.items += 1;
        Ok(self.items - 1)
    }

    /// Adds an item and returns the place of its signature, `P::SIG_LEN` bytes that
    /// are no valid signature until they are written.
    ///
    /// # Errors
    /// As [`push`](Self::push), and [`PushError::UnknownKey`] for an encoded key of a wrong length.
    pub(crate) fn slot<'a>(
        &mut self,
        key: impl Into<Key<'a>>,
        signed: Signed<'_>,
    ) -> Result<&mut [u8], PushError> {
        let key = key.into();
        self.check(key)?;
        let mu = match signed {
            Signed::Message(context, message)
                if 2 + context.as_bytes().len() + message.len() > LONGEST =>
            {
                let mut mu = MuBuilder::from_tr(&self.tr(key)?, context);
                mu.update(message);
                Some(mu.finish())
            }
            _ => None,
        };
        let signed = mu.as_ref().map_or(signed, Signed::Mu);
        let reserved = planted(self.capacity()) * PLANTED_MESSAGE;
        let item = Owner::Item(self.items as u32);
        let slot = self.add(key, signed, item, reserved)?;
        self.items += 1;
        let start = self.loan.block.bound + slot * self.stride;
        let place = &mut self.bytes_mut()[start..start + P::SIG_LEN];
        // An earlier signature must not stand in for one that is never written.
        place[..P::C_TILDE_LEN].fill(0);
        Ok(place)
    }

    /// Returns the signatures of the items that have a place, in order, so that several threads can
    /// write them. There is none in a child made by `fork`.
    pub(crate) fn signatures_mut(&mut self) -> impl ExactSizeIterator<Item = &mut [u8]> {
        let (start, stride) = (self.loan.block.bound, self.stride);
        let slots = match self.loan.shared.is_forked() {
            false => self.owners.len(),
            true => 0,
        };
        let end = start + slots * stride;
        let slots = self.bytes_mut()[start..end].chunks_exact_mut(stride);
        slots.map(|slot| &mut slot[..P::SIG_LEN])
    }

    /// Starts verification and returns at once. Without a device, and in a child made by `fork`,
    /// items are [`NotVerified`](RejectReason::NotVerified).
    pub(crate) fn submit(mut self) -> Pending<P> {
        let shared = self.loan.shared.clone();
        if !self.owners.is_empty() && !shared.is_forked() {
            // Without planted items nothing goes to the device.
            self.plant().unwrap_or_else(|error| shared.give_up(&error));
        }
        let order = Order {
            launch: Launch {
                block: self.loan.block,
                table: self.table(),
                stride: self.stride,
                words: self.words,
                slots: self.owners.len(),
            },
            owners: self.owners,
            decided: self.decided,
            items: self.items,
        };
        Job::submit(self.loan, order)
    }

    /// Checks whether an item under `key` could be added.
    fn check(&self, key: Key<'_>) -> Result<(), PushError> {
        if self.loan.shared.is_forked() {
            return Err(PushError::Forked);
        }
        match (key, &self.names) {
            (Key::Registered(id), Some(names)) if id.table == names.table => {
                names.has(id).then_some(()).ok_or(PushError::UnknownKey)?;
            }
            (Key::Encoded(_), None) => {}
            _ => return Err(PushError::OtherTable),
        }
        match self.items < self.capacity() {
            true => Ok(()),
            false => Err(PushError::Full),
        }
    }

    fn tr(&self, key: Key<'_>) -> Result<[u8; 64], PushError> {
        let key = match key {
            Key::Registered(id) => lock(&self.loan.shared.registry).at(id.table, id.index),
            Key::Encoded(bytes) => VerifyingKey::<P>::from_bytes(bytes).ok().map(Arc::new),
        };
        Ok(*key.ok_or(PushError::UnknownKey)?.tr())
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        #[allow(unsafe_code, reason = "page-locked memory")]
        // SAFETY: the loan is this batch's alone, and the slice borrows the batch.
        unsafe {
            self.loan.block.bytes_mut()
        }
    }

    /// Writes all of a slot but the signature. `reserved` bytes of the messages stay free.
    fn add(
        &mut self,
        key: Key<'_>,
        signed: Signed<'_>,
        owner: Owner,
        reserved: usize,
    ) -> Result<usize, PushError> {
        let (len, given) = match signed {
            Signed::Message(context, message) => {
                let len = 2 + context.as_bytes().len() + message.len();
                (len, len as u32)
            }
            Signed::Mu(_) => (64, MU_GIVEN),
        };
        let (words, bound) = (self.words + len.div_ceil(8), self.loan.block.bound);
        if words * 8 + reserved > bound {
            return Err(PushError::Full);
        }
        let (index, encoded) = match key {
            Key::Registered(id) => (id.index, None),
            Key::Encoded(bytes) if bytes.len() == P::PK_LEN => (0, Some(bytes)),
            Key::Encoded(_) => return Err(PushError::UnknownKey),
        };
        let (slot, layout) = (self.owners.len(), self.loan.shared.layout);
        let start = bound + slot * self.stride;
        let bytes = self.bytes_mut();
        let to = &mut bytes[bound - 8 * words..][..len.next_multiple_of(8)];
        match signed {
            Signed::Message(context, message) => {
                let context = context.as_bytes();
                to[..2].copy_from_slice(&[0, context.len() as u8]);
                to[2..2 + context.len()].copy_from_slice(context);
                to[2 + context.len()..len].copy_from_slice(message);
                to[len..].fill(0);
            }
            Signed::Mu(mu) => to.copy_from_slice(mu.as_bytes()),
        }
        let meta = [index, words as u32, given, 0].map(u32::to_le_bytes);
        bytes[start + layout.meta..][..16].copy_from_slice(meta.as_flattened());
        if let Some(encoded) = encoded {
            bytes[start + layout.slot..][..P::PK_LEN].copy_from_slice(encoded);
        }
        self.words = words;
        self.owners.push(owner);
        Ok(slot)
    }

    /// Adds items with known verdicts, valid and invalid in turn, and moves each to a random
    /// place.
    ///
    /// # Errors
    /// There is no room for one, or no key.
    fn plant(&mut self) -> Result<(), GpuError> {
        const NONE: GpuError = GpuError::Unsuitable("planted items");
        let shared = self.loan.shared.clone();
        let mut random = Random::new();
        let context = Context::new(CONTEXT).map_err(|_| NONE)?;
        let key = shared.probe_key(self.table()).ok_or(NONE)?;
        for n in 0..planted(self.owners.len()) {
            let of_class = &shared.probes.by_class[n % 2];
            let index = *of_class.get(random.below(of_class.len())).ok_or(NONE)?;
            let probe = &shared.probes.all[index];
            let signed = Signed::Message(context, &probe.message);
            let planted = self.add(key, signed, Owner::Planted(index as u32), 0);
            let last = planted.map_err(|_| NONE)?;
            let (bound, stride) = (self.loan.block.bound, self.stride);
            let slots = &mut self.bytes_mut()[bound..];
            slots[last * stride..][..P::SIG_LEN].copy_from_slice(&probe.signature);
            let other = random.below(last + 1);
            if other < last {
                let (front, back) = slots.split_at_mut(last * stride);
                front[other * stride..][..stride].swap_with_slice(&mut back[..stride]);
                self.owners.swap(other, last);
            }
        }
        Ok(())
    }
}

impl<P: ParameterSet> Shared<P> {
    /// Returns the key of the probes for a table, or with its bytes. `None` before it is registered.
    pub(crate) fn probe_key(&self, table: Option<Table>) -> Option<Key<'_>> {
        let Some(table) = table else {
            return Some(Key::from(&self.probes.key));
        };
        let &[prepared, encoded] = self.probe_keys.get()?;
        Some(match table {
            Table::Prepared => prepared.into(),
            Table::Encoded => encoded.into(),
        })
    }
}

impl<P: ParameterSet> fmt::Debug for Batch<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batch")
            .field("set", &P::NAME)
            .field("table", &self.table())
            .field("items", &self.items)
            .finish_non_exhaustive()
    }
}
