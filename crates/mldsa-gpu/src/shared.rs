//! What the handles of one device share.

use core::panic::AssertUnwindSafe;
use core::sync::atomic::AtomicUsize;
use std::collections::BTreeSet;
use std::panic::catch_unwind;
use std::sync::mpsc::Sender;
use std::sync::{
    Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
};

use batch_verify::BatchVerifier;
use mldsa_core::ParameterSet;

use crate::accelerator::Members;
use crate::block::Block;
use crate::checker::Watch;
use crate::driver::Device;
use crate::error::GpuError;
use crate::layout::Layout;
use crate::options::GpuOptions;
use crate::probe::Probes;
use crate::registry::{KeyId, Registry};
use crate::worker::Command;

/// Locks; a thread that panicked leaves nothing half done behind these locks.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn write<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}

/// Names of devices that gave a wrong verdict to this process.
static LIARS: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// Fails if a device of this name has given a wrong verdict to this process.
pub(crate) fn trust(device: &Device) -> Result<(), GpuError> {
    match lock(&LIARS).contains(&device.name) {
        true => Err(GpuError::WrongVerdict),
        false => Ok(()),
    }
}

/// Counters since the device was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Batches with verdicts.
    pub batches: u64,
    /// Items of these batches.
    pub items: u64,
    /// Batches that the CPU verified alone.
    pub batches_without_device: u64,
    /// Items that the CPU verified after the device: rejections and the share of acceptances.
    pub verified_again: u64,
}

pub(crate) struct Shared<P: ParameterSet> {
    pub(crate) layout: Layout,
    pub(crate) options: GpuOptions,
    pub(crate) device: Device,
    pub(crate) commands: Sender<Command<P>>,
    /// Blocks that are not lent.
    pub(crate) free: Mutex<Vec<Block>>,
    pub(crate) registry: RwLock<Registry<P>>,
    pub(crate) watch: Arc<Watch<P>>,
    pub(crate) verifier: BatchVerifier<P>,
    pub(crate) probes: Probes<P>,
    /// The key of the probes in both tables.
    pub(crate) probe_keys: OnceLock<[KeyId; 2]>,
    pub(crate) members: Mutex<Members>,
    pub(crate) fault: OnceLock<GpuError>,
    pub(crate) counts: Mutex<Counts>,
    pub(crate) threshold: AtomicUsize,
}

impl<P: ParameterSet> Shared<P> {
    /// Gives the device up. What is in flight and what comes goes to the CPU.
    pub(crate) fn give_up(&self, error: &GpuError) {
        if *error == GpuError::WrongVerdict {
            lock(&LIARS).insert(self.device.name.clone());
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
        self.watch.close();
    }
}
