//! The handle of a device.

use core::fmt;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::time::Duration;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Instant;
use std::{process, thread};

use batch_verify::{BatchVerifier, Item, RejectReason};
use mldsa_core::{Context, ParameterSet, VerifyingKey};

use crate::batch::{Batch, Signed};
use crate::cuda::Cuda;
#[cfg(test)]
use crate::driver::Device;
use crate::error::GpuError;
use crate::layout::Layout;
use crate::lock::lock;
use crate::opencl::{Kind, OpenCl};
use crate::options::{Choice, GpuOptions};
use crate::probe::{CONTEXT, Probe};
#[cfg(test)]
use crate::registry::KeyMemory;
use crate::registry::{KeyId, Registry, Table};
use crate::state::{Counts, Shared, check_name};
use crate::watch::Watch;
use crate::worker::{self, Command, KEYS, Opener};

/// Bytes of stack of both threads.
const STACK: usize = 2 << 20;

/// A device that verifies signatures of one parameter set, for the `accelerator` of a verifier of
/// [`batch-verify`](batch_verify). Clones are handles of the same device; `Debug` prints its name and
/// counters.
///
/// ```no_run
/// use batch_verify::{BatchVerifier, Item, RejectReason};
/// use mldsa_core::{Context, MlDsa65, VerifyingKey};
/// use mldsa_gpu::{Gpu, GpuOptions};
///
/// fn audit(
///     signed: &[(VerifyingKey<MlDsa65>, Vec<u8>, Vec<u8>)],
/// ) -> Result<(), Box<dyn std::error::Error>> {
///     let gpu = Gpu::<MlDsa65>::open(GpuOptions::default())?;
///     let verifier = BatchVerifier::builder().accelerator(gpu.clone()).build()?;
///     let items = signed.iter().map(|(key, message, signature)| {
///         Item::new(key, message, Context::EMPTY, signature)
///     });
///     for (index, reason) in verifier.verify_batch(items).rejected() {
///         println!("{index}: {reason}");
///     }
///     println!("{gpu:?}");
///     Ok(())
/// }
/// ```
pub struct Gpu<P: ParameterSet> {
    pub(crate) shared: Arc<Shared<P>>,
}

impl<P: ParameterSet> Clone for Gpu<P> {
    fn clone(&self) -> Self {
        Self {
            shared: self.shared.clone(),
        }
    }
}

/// Opens the chosen device on the thread that calls it.
pub(crate) fn opener(choice: Choice) -> Opener {
    match choice {
        Choice::Any => Box::new(|set| match Cuda::open(0, set) {
            Ok(cuda) => Ok(Box::new(cuda)),
            Err(error) => match OpenCl::open(0, Kind::Gpu, set) {
                Ok(cl) => Ok(Box::new(cl)),
                // Both are absent, or CUDA is there and fails.
                Err(GpuError::NoDriver(_) | GpuError::NoDevice) => Err(error),
                Err(other) => Err(other),
            },
        }),
        Choice::Cuda(index) => Box::new(move |set| Ok(Box::new(Cuda::open(index, set)?))),
        Choice::OpenCl(index) => {
            Box::new(move |set| Ok(Box::new(OpenCl::open(index, Kind::Gpu, set)?)))
        }
        Choice::OpenClCpu(index) => {
            Box::new(move |set| Ok(Box::new(OpenCl::open(index, Kind::Cpu, set)?)))
        }
    }
}

impl<P: ParameterSet> Gpu<P> {
    /// Opens a device: the driver compiles the kernels, and every class of verdict is compared
    /// with the CPU's under keys in every form. Takes a second or two the first time.
    ///
    /// # Errors
    /// Every [`GpuError`] but `Busy` and `TableFull`.
    pub fn open(options: GpuOptions) -> Result<Self, GpuError> {
        Self::open_with(opener(options.device), options)
    }

    pub(crate) fn open_with(opener: Opener, options: GpuOptions) -> Result<Self, GpuError> {
        options.check()?;
        let verifier = BatchVerifier::<P>::builder().threads(options.threads.clone());
        let verifier = verifier.build().map_err(|_| GpuError::Threads)?;
        let (commands, receiver) = channel::<Command<P>>();
        let (ready, is_ready) = channel();
        let for_worker = options.clone();
        let spawned = thread::Builder::new()
            .name("mldsa-gpu".into())
            .stack_size(STACK)
            .spawn(move || worker::run(opener, &for_worker, &receiver, &ready));
        spawned.map_err(|_| GpuError::Threads)?;
        let ready = match is_ready.recv_timeout(options.open_deadline) {
            Ok(ready) => ready?,
            Err(RecvTimeoutError::Timeout) => return Err(GpuError::Deadline),
            // The thread panicked.
            Err(RecvTimeoutError::Disconnected) => return Err(GpuError::Threads),
        };
        let was_wrong = check_name(&ready.device)?;
        let watch = Arc::new(Watch::default());
        let checker = watch.clone();
        let shared = Arc::new(Shared {
            layout: Layout::of::<P>(),
            device: ready.device,
            commands,
            free: Mutex::new(ready.blocks),
            replaced: Mutex::default(),
            registry: Mutex::new(Registry::new(
                options.prepared_keys + 1,
                options.encoded_keys + 1,
            )),
            watch,
            verifier,
            probes: ready.probes,
            probe_keys: OnceLock::new(),
            members: Mutex::default(),
            fault: OnceLock::new(),
            was_wrong,
            process: process::id(),
            counts: Mutex::default(),
            threshold: AtomicUsize::new(options.threshold.unwrap_or(usize::MAX)),
            options,
        });
        let spawned = thread::Builder::new()
            .name("mldsa-gpu-check".into())
            .stack_size(STACK)
            .spawn(move || checker.run());
        spawned.map_err(|_| GpuError::Threads)?;
        let gpu = Self { shared };
        gpu.self_test()?;
        if gpu.shared.options.threshold.is_none() {
            let threshold = gpu.measure()?;
            gpu.shared.threshold.store(threshold, Ordering::Relaxed);
        }
        match gpu.fault().cloned() {
            Some(error) => Err(error),
            None => Ok(gpu),
        }
    }

    /// Returns the names of the device and of its driver.
    #[cfg(test)]
    #[must_use]
    pub(crate) fn device(&self) -> &Device {
        &self.shared.device
    }

    /// Returns the reason why the device is not used any more. The CPU verifies then.
    #[must_use]
    pub fn fault(&self) -> Option<&GpuError> {
        self.shared.fault()
    }

    /// Returns the counters since the device was opened, with those of its self-test.
    #[must_use]
    pub(crate) fn counts(&self) -> Counts {
        *lock(&self.shared.counts)
    }

    /// Returns the number of items of a prepared batch from which the device is faster than all
    /// threads of the CPU; `usize::MAX` if it never is.
    #[must_use]
    pub fn threshold(&self) -> usize {
        self.shared.threshold.load(Ordering::Relaxed)
    }

    /// Brings keys to the device, all or none. They stay until [`evict`](Self::evict).
    ///
    /// # Errors
    /// [`GpuError::TableFull`], or the device fails.
    pub(crate) fn register(
        &self,
        table: Table,
        keys: &[VerifyingKey<P>],
    ) -> Result<Vec<KeyId>, GpuError> {
        let shared = &self.shared;
        if let Some(error) = shared.fault() {
            return Err(error.clone());
        }
        let places = lock(&shared.registry).take(table, keys.len())?;
        let keys: Vec<_> = keys.iter().cloned().map(Arc::new).collect();
        // A device that has many keys to expand is not late.
        let mut parts = places.chunks(KEYS).zip(keys.chunks(KEYS));
        let answer = parts.try_for_each(|(places, keys)| {
            let (reply, answer) = channel();
            let command = Command::Register {
                table,
                places: places.to_vec(),
                keys: keys.to_vec(),
                reply,
            };
            let sent = shared.commands.send(command);
            sent.map_err(|_| GpuError::Threads)?;
            match answer.recv_timeout(shared.options.deadline) {
                Ok(result) => result,
                Err(RecvTimeoutError::Timeout) => Err(GpuError::Deadline),
                Err(RecvTimeoutError::Disconnected) => Err(GpuError::Threads),
            }
        });
        if let Err(error) = answer {
            shared.give_up(&error);
            lock(&shared.registry).give_back(table, places);
            return Err(error);
        }
        Ok(lock(&shared.registry).fill(table, &places, keys))
    }

    /// Evicts keys and returns how many of the ids named one. Batches that exist are verified
    /// under their keys; items under an evicted id cannot be added any more.
    pub(crate) fn evict(&self, ids: &[KeyId]) -> usize {
        let mut registry = lock(&self.shared.registry);
        let is_probe = |id: &KeyId| {
            let own = self.shared.probe_keys.get();
            own.is_some_and(|own| own.contains(id))
        };
        ids.iter()
            .filter(|id| !is_probe(id) && registry.evict(**id))
            .count()
    }

    /// Returns the memory of the keys on the device.
    #[cfg(test)]
    #[must_use]
    pub(crate) fn key_memory(&self) -> KeyMemory {
        let [prepared, encoded] = lock(&self.shared.registry).used();
        let (options, layout) = (&self.shared.options, self.shared.layout);
        let bytes = |prepared: usize, encoded: usize| {
            prepared * (layout.prepared_key + 64) + encoded * (layout.public_key + 64)
        };
        KeyMemory {
            prepared,
            encoded,
            bytes: bytes(prepared, encoded),
            capacity: bytes(options.prepared_keys + 1, options.encoded_keys + 1),
        }
    }

    /// Starts an empty batch for keys of a table.
    ///
    /// # Errors
    /// [`GpuError::Busy`], [`GpuError::Forked`].
    #[cfg(test)]
    pub(crate) fn batch(&self, table: Table) -> Result<Batch<P>, GpuError> {
        Batch::new(&self.shared, Some(table))
    }

    /// Starts an empty batch whose items carry their encoded keys.
    ///
    /// # Errors
    /// [`GpuError::Busy`], [`GpuError::Forked`].
    #[cfg(test)]
    pub(crate) fn batch_with_keys(&self) -> Result<Batch<P>, GpuError> {
        Batch::new(&self.shared, None)
    }

    /// Verifies as many of the probes as a batch has room for, and compares the verdicts. Returns
    /// their number.
    fn probe(
        &self,
        table: Option<Table>,
        probes: &mut dyn Iterator<Item = &Probe>,
    ) -> Result<usize, GpuError> {
        const WRONG: GpuError = GpuError::WrongVerdict;
        let mut batch = Batch::new(&self.shared, table)?;
        let context = Context::new(CONTEXT).map_err(|_| WRONG)?;
        let key = self.shared.probe_key(table).ok_or(WRONG)?;
        let mut wanted = Vec::new();
        while batch.len() < batch.capacity()
            && let Some(probe) = probes.next()
        {
            let signed = Signed::Message(context, &probe.message);
            let pushed = batch.push(key, signed, &probe.signature);
            pushed.map_err(|_| WRONG)?;
            wanted.push(probe.verdict);
        }
        let verdicts = batch.submit().wait();
        if let Some(error) = self.fault() {
            return Err(error.clone());
        }
        let is_left = |verdict: &_| *verdict == Err(RejectReason::NotVerified);
        let mut pairs = verdicts.iter().zip(&wanted);
        if !pairs.all(|(verdict, wanted)| verdict == wanted || is_left(verdict)) {
            self.shared.give_up(&WRONG);
            return Err(WRONG);
        }
        Ok(wanted.len())
    }

    /// Verifies every probe under its key in every form.
    fn self_test(&self) -> Result<(), GpuError> {
        let key = [self.shared.probes.key.clone()];
        let [prepared] = self.register(Table::Prepared, &key)?[..] else {
            return Err(GpuError::WrongVerdict);
        };
        let [encoded] = self.register(Table::Encoded, &key)?[..] else {
            return Err(GpuError::WrongVerdict);
        };
        let _ = self.shared.probe_keys.set([prepared, encoded]);
        for table in [None, Some(Table::Prepared), Some(Table::Encoded)] {
            let probes = &self.shared.probes;
            let mut all = probes.all.iter().chain(&probes.valid);
            while self.probe(table, &mut all)? > 0 {}
        }
        Ok(())
    }

    /// Measures where the device begins to win: its time is a constant and a time for each item,
    /// from two sizes, and the CPU's is a time for each item.
    fn measure(&self) -> Result<usize, GpuError> {
        let valid = &self.shared.probes.valid;
        let fastest = |run: &dyn Fn() -> Result<(), GpuError>| {
            let mut best = Duration::MAX;
            for _ in 0..3 {
                let start = Instant::now();
                run()?;
                best = best.min(start.elapsed());
            }
            Ok::<_, GpuError>(best.as_secs_f64())
        };
        let device = |items: usize| {
            fastest(&|| {
                let mut probes = valid.iter().cycle().take(items);
                self.probe(Some(Table::Prepared), &mut probes).map(drop)
            })
        };
        let context = Context::new(CONTEXT).map_err(|_| GpuError::WrongVerdict)?;
        let key = &self.shared.probes.key;
        let cpu = fastest(&|| {
            let items = valid
                .iter()
                .map(|probe| Item::new(key, &probe.message, context, &probe.signature));
            let _ = self.shared.verifier.verify_batch(items);
            Ok(())
        })?;
        let many = self.shared.options.batch_items.min(1024);
        let few = (many / 16).max(1);
        let (short, long) = (device(few)?, device(many)?);
        let each = (long - short).max(0.0) / (many - few).max(1) as f64;
        let constant = (short - few as f64 * each).max(0.0);
        let gain = cpu / valid.len() as f64 - each;
        // Rounded towards zero, and saturating.
        Ok(if gain > 0.0 {
            (constant / gain) as usize + 1
        } else {
            usize::MAX
        })
    }
}

impl<P: ParameterSet> fmt::Debug for Gpu<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = self.counts();
        f.debug_struct("Gpu")
            .field("set", &P::NAME)
            .field("device", &format_args!("{}", self.shared.device))
            .field("fault", &self.shared.fault())
            .field("batches", &counts.batches)
            .field("items", &counts.items)
            .field("batches_without_device", &counts.batches_without_device)
            .field("verified_again", &counts.verified_again)
            .finish_non_exhaustive()
    }
}
