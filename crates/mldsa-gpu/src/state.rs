//! What the handles of one device share.

use core::panic::AssertUnwindSafe;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::collections::{BTreeMap, HashMap};
use std::panic::catch_unwind;
use std::process;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, OnceLock};

use batch_verify::{BatchVerifier, MemberId};
use mldsa_core::ParameterSet;

use crate::block::Block;
use crate::driver::Device;
use crate::error::GpuError;
use crate::layout::Layout;
use crate::lock::lock;
use crate::options::GpuOptions;
use crate::probe::Probes;
use crate::registry::{KeyId, Registry};
use crate::watch::Watch;
use crate::worker::Command;

/// Whether a device gave a wrong verdict to this process, for each name of a device.
static WRONG: Mutex<BTreeMap<String, Arc<AtomicBool>>> = Mutex::new(BTreeMap::new());

/// Returns what all handles of devices of this name look at. Fails if one of them has given a wrong
/// verdict to this process.
pub(crate) fn check_name(device: &Device) -> Result<Arc<AtomicBool>, GpuError> {
    let mut wrong = lock(&WRONG);
    let was_wrong = wrong.entry(device.name.clone()).or_default();
    match was_wrong.load(Ordering::Relaxed) {
        true => Err(GpuError::WrongVerdict),
        false => Ok(was_wrong.clone()),
    }
}

/// Counters since the device was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Batches with verdicts.
    pub(crate) batches: u64,
    /// Items of these batches.
    pub(crate) items: u64,
    /// Batches without an answer of the device.
    pub(crate) batches_without_device: u64,
    /// Items that the CPU verified beside the device ([`GpuOptions::cross_check`]).
    pub(crate) verified_again: u64,
}

pub(crate) struct Shared<P: ParameterSet> {
    pub(crate) layout: Layout,
    pub(crate) options: GpuOptions,
    pub(crate) device: Device,
    pub(crate) commands: Sender<Command<P>>,
    /// Blocks that are not lent.
    pub(crate) free: Mutex<Vec<Block>>,
    /// Ordinary memory of blocks that were lost.
    pub(crate) replaced: Mutex<Vec<Vec<u8>>>,
    pub(crate) registry: Mutex<Registry<P>>,
    pub(crate) watch: Arc<Watch>,
    pub(crate) verifier: BatchVerifier<P>,
    pub(crate) probes: Probes<P>,
    /// The key of the probes in both tables.
    pub(crate) probe_keys: OnceLock<[KeyId; 2]>,
    /// Members' keys on the device.
    pub(crate) members: Mutex<HashMap<MemberId, KeyId>>,
    pub(crate) fault: OnceLock<GpuError>,
    /// Whether a device of this name gave a wrong verdict to any handle of this process.
    pub(crate) was_wrong: Arc<AtomicBool>,
    /// A child made by `fork` has neither the threads nor the device.
    pub(crate) process: u32,
    pub(crate) counts: Mutex<Counts>,
    pub(crate) threshold: AtomicUsize,
}

impl<P: ParameterSet> Shared<P> {
    /// Returns the reason why the device is not used any more.
    pub(crate) fn fault(&self) -> Option<&GpuError> {
        if self.is_forked() {
            return Some(&GpuError::Forked);
        }
        if self.was_wrong.load(Ordering::Relaxed) && self.fault.get().is_none() {
            self.give_up(&GpuError::WrongVerdict);
        }
        self.fault.get()
    }

    /// Returns whether this process is a child made by `fork`. Its blocks may be the parent's
    /// memory, and so it neither writes nor reads them.
    pub(crate) fn is_forked(&self) -> bool {
        self.process != process::id()
    }

    /// Gives the device up. What is in flight and what comes goes to the CPU.
    pub(crate) fn give_up(&self, error: &GpuError) {
        if *error == GpuError::WrongVerdict {
            self.was_wrong.store(true, Ordering::Relaxed);
        }
        if self.fault.set(error.clone()).is_ok()
            && let Some(report) = self.options.on_fault
        {
            // A panic of the caller's function must not end a thread of this crate.
            let _ = catch_unwind(AssertUnwindSafe(|| report(error)));
        }
    }
}

impl<P: ParameterSet> Drop for Shared<P> {
    fn drop(&mut self) {
        if !self.is_forked() {
            self.watch.close();
        }
    }
}

/// The right to a block and to the keys that its items name. Ends when it is dropped.
pub(crate) struct Loan<P: ParameterSet> {
    pub(crate) shared: Arc<Shared<P>>,
    pub(crate) block: Block,
    /// Number of the batch in the registry.
    pub(crate) batch: u64,
    /// Set if the device may still use the block: its place is taken by ordinary memory, which is
    /// for the CPU, since the device is given up.
    pub(crate) lost: AtomicBool,
}

impl<P: ParameterSet> Drop for Loan<P> {
    fn drop(&mut self) {
        if self.shared.is_forked() {
            return;
        }
        let mut block = self.block;
        lock(&self.shared.registry).end(self.batch);
        if self.lost.load(Ordering::Relaxed) {
            let mut memory = Vec::new();
            // Without memory there is one block less.
            if memory.try_reserve_exact(block.len).is_err() {
                return;
            }
            memory.resize(block.len, 0);
            let mut replaced = lock(&self.shared.replaced);
            replaced.push(memory);
            let start = replaced.last_mut().map(|memory| memory.as_mut_ptr());
            let Some(start) = start.and_then(NonNull::new) else {
                return;
            };
            block.start = start;
        }
        lock(&self.shared.free).push(block);
    }
}
