//! The one thread that calls the driver.
#![allow(unsafe_code, reason = "memory that a device reads and writes")]

use core::mem::{self, ManuallyDrop};
use core::ptr::{NonNull, slice_from_raw_parts, slice_from_raw_parts_mut};
use core::time::Duration;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError};
use std::thread;

use mldsa_core::{ParameterSet, VerifyingKey};

use crate::block::Block;
use crate::driver::{Argument, Device, Driver, Kernel, Memory};
use crate::error::GpuError;
use crate::layout::{Layout, POISON, message_space, planted, zetas};
use crate::options::GpuOptions;
use crate::probe::Probes;
use crate::registry::Table;

/// Valid signatures of the self-test and of the measurement.
const VALID: usize = 128;
/// Keys that are expanded at a time, and most keys of a command.
pub(crate) const KEYS: usize = 256;

/// Opens a driver on the thread that will use it.
pub(crate) type Opener = Box<dyn FnOnce(u32) -> Result<Box<dyn Driver>, GpuError> + Send>;

/// A filled block to verify.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Launch {
    pub(crate) block: Block,
    /// `None` if the items have their keys.
    pub(crate) table: Option<Table>,
    pub(crate) stride: usize,
    /// Words of 8 bytes of messages.
    pub(crate) words: usize,
    pub(crate) slots: usize,
}

/// Who waits for a launch.
pub(crate) trait Launched: Send + Sync {
    fn launch(&self) -> Launch;
    /// Returns whether the job is still left to the device.
    fn is_wanted(&self) -> bool;
    /// Takes the end of the launch, once.
    fn ended(&self, result: Result<(), GpuError>);
}

pub(crate) enum Command<P: ParameterSet> {
    Run(Arc<dyn Launched>),
    Register {
        table: Table,
        places: Vec<u32>,
        keys: Vec<Arc<VerifyingKey<P>>>,
        reply: Sender<Result<(), GpuError>>,
    },
}

/// What the worker has when it is ready.
pub(crate) struct Ready<P: ParameterSet> {
    pub(crate) device: Device,
    pub(crate) blocks: Vec<Block>,
    pub(crate) probes: Probes<P>,
}

/// Queue and memory of one block.
struct Lane {
    queue: usize,
    input: Memory,
    mu: Memory,
    c_bits: Memory,
    w1: Memory,
    verdicts: Memory,
    raw: Memory,
}

struct Worker {
    driver: Box<dyn Driver>,
    layout: Layout,
    lanes: Vec<Lane>,
    /// Of registration.
    queue: usize,
    zetas: Memory,
    failed: Memory,
    prepared: Memory,
    /// `tr` of the keys of both tables.
    trs: [Memory; 2],
    encoded: Memory,
    /// Encoded keys and matrices that are being expanded.
    new_keys: Memory,
    new_raw: Memory,
    /// Page-locked: encoded keys, their `tr`, and a word.
    staging: NonNull<u8>,
    active: Vec<Arc<dyn Launched>>,
}

/// Runs on the thread of the device: opens the device, reports the result, and works until no
/// handle is left.
pub(crate) fn run<P: ParameterSet>(
    open: Opener,
    options: &GpuOptions,
    commands: &Receiver<Command<P>>,
    ready: &Sender<Result<Ready<P>, GpuError>>,
) {
    let (worker, ready_with) = match Worker::open(open, options) {
        Ok(opened) => opened,
        Err(error) => {
            // Whoever waited for it has gone if this fails.
            let _ = ready.send(Err(error));
            return;
        }
    };
    // A panic must not free the memory of batches, which live as long as this thread has commands.
    let mut worker = ManuallyDrop::new(worker);
    if ready.send(Ok(ready_with)).is_ok() {
        worker.work(commands);
    }
    ManuallyDrop::into_inner(worker);
}

impl Worker {
    fn open<P: ParameterSet>(
        open: Opener,
        options: &GpuOptions,
    ) -> Result<(Self, Ready<P>), GpuError> {
        let layout = Layout::of::<P>();
        let mut driver = open(layout.set)?;
        let device = driver.device().clone();
        let slots = options.batch_items + planted(options.batch_items);
        let bound = message_space(options.batch_items, options.message_bytes).next_multiple_of(256);
        let len = bound + slots * layout.slot_with_key;
        let queue = driver.add_queue()?;
        let (mut lanes, mut blocks) = (Vec::new(), Vec::new());
        for index in 0..options.batches {
            lanes.push(Lane {
                queue: driver.add_queue()?,
                input: driver.allocate(len)?,
                mu: driver.allocate(slots * 64)?,
                c_bits: driver.allocate(slots * 64)?,
                w1: driver.allocate(slots * layout.w1)?,
                verdicts: driver.allocate(slots)?,
                raw: driver.allocate(layout.largest_tile(slots) * layout.raw)?,
            });
            let (start, verdicts) = (driver.page_locked(len)?, driver.page_locked(slots)?);
            blocks.push(Block {
                index,
                start,
                len,
                bound,
                verdicts,
            });
        }
        // One more for the probes.
        let (prepared, encoded) = (options.prepared_keys + 1, options.encoded_keys + 1);
        let mut worker = Self {
            queue,
            lanes,
            zetas: driver.allocate(1024)?,
            failed: driver.allocate(16)?,
            prepared: driver.allocate(prepared * layout.prepared_key)?,
            trs: [
                driver.allocate(prepared * 64)?,
                driver.allocate(encoded * 64)?,
            ],
            encoded: driver.allocate(encoded * layout.public_key)?,
            new_keys: driver.allocate(KEYS * layout.public_key)?,
            new_raw: driver.allocate(KEYS * layout.raw)?,
            staging: driver.page_locked((KEYS * (layout.public_key + 64)).max(1024) + 16)?,
            driver,
            layout,
            active: Vec::new(),
        };
        let table = zetas().map(i32::to_le_bytes);
        let table = table.as_flattened();
        // SAFETY: the staging has 1024 bytes, and the queue is waited for.
        unsafe {
            worker
                .staging
                .copy_from_nonoverlapping(NonNull::from(&table[0]), table.len());
            let from = worker.staging.as_ptr();
            let from = slice_from_raw_parts(from, table.len());
            worker.driver.upload(queue, worker.zetas, 0, from)?;
        }
        worker.driver.wait(queue)?;
        // Signing takes more stack than a caller may have.
        let probes = Probes::new(VALID)?;
        Ok((
            worker,
            Ready {
                device,
                blocks,
                probes,
            },
        ))
    }

    fn work<P: ParameterSet>(&mut self, commands: &Receiver<Command<P>>) {
        let mut idle_rounds = 0_u32;
        loop {
            // A batch takes 100 microseconds at least, and the next may come soon: first spin,
            // then sleep.
            let is_patient = idle_rounds < 2000;
            let command = if is_patient || !self.active.is_empty() {
                match commands.try_recv() {
                    Ok(command) => Some(command),
                    Err(TryRecvError::Empty) => None,
                    Err(TryRecvError::Disconnected) if self.active.is_empty() => return,
                    Err(TryRecvError::Disconnected) => None,
                }
            } else {
                match commands.recv() {
                    Ok(command) => Some(command),
                    Err(_) => return,
                }
            };
            let has_command = command.is_some();
            match command {
                Some(Command::Run(job)) => match self.start(&*job) {
                    Ok(()) => self.active.push(job),
                    Err(error) => job.ended(Err(error)),
                },
                Some(Command::Register {
                    table,
                    places,
                    keys,
                    reply,
                }) => {
                    let result = self.register(table, &places, &keys);
                    // The caller may have gone after its deadline.
                    let _ = reply.send(result);
                }
                None => {}
            }
            match self.collect() || has_command {
                true => idle_rounds = 0,
                false => idle_rounds = idle_rounds.saturating_add(1),
            }
            match idle_rounds {
                0 => {}
                _ if is_patient => thread::yield_now(),
                _ => thread::sleep(Duration::from_micros(50)),
            }
        }
    }

    /// Passes on what has ended. Returns whether anything has.
    fn collect(&mut self) -> bool {
        let idle = |job: &Arc<dyn Launched>| {
            let queue = self.lanes[job.launch().block.index].queue;
            self.driver.is_idle(queue)
        };
        let states = self.active.iter().map(idle);
        let ended = states.enumerate().find(|(_, idle)| *idle != Ok(false));
        match ended {
            None => return false,
            Some((at, Ok(_))) => self.active.remove(at).ended(Ok(())),
            Some((_, Err(error))) => {
                let lost = mem::take(&mut self.active).into_iter();
                lost.for_each(|job| job.ended(Err(error.clone())));
            }
        }
        true
    }

    /// Copies a batch, verifies it and copies the verdicts, without waiting.
    fn start(&mut self, job: &dyn Launched) -> Result<(), GpuError> {
        use Argument::{Memory as M, Word as W};
        if !job.is_wanted() {
            // Its batch goes to the CPU, and the first error remains.
            return Err(GpuError::Deadline);
        }
        let (order, layout) = (job.launch(), self.layout);
        let lane = &self.lanes[order.block.index];
        let (queue, block, n) = (lane.queue, order.block, order.slots);
        let from = block.bound - 8 * order.words;
        let len = 8 * order.words + n * order.stride;
        let [count, bound, stride] = [n, block.bound, order.stride].map(|word| W(word as u32));
        let [mu, c_bits, w1, raw] = [lane.mu, lane.c_bits, lane.w1, lane.raw].map(M);
        let [input, verdicts, zetas] = [lane.input, lane.verdicts, self.zetas].map(M);
        let trs = M(self.trs[usize::from(order.table == Some(Table::Encoded))]);
        let (teams, driver) = (self.driver.teams() as usize, &mut self.driver);
        let groups = |n: usize, each: usize| n.div_ceil(each) as u32;
        // SAFETY: the block is lent to this job until it is settled, and lost if that is before
        // the queue is idle. Lane and arguments are those of `open` and of the kernels.
        unsafe {
            block.verdicts.write_bytes(POISON, n);
            let filled = slice_from_raw_parts(block.start.as_ptr().add(from), len);
            driver.upload(queue, lane.input, from, filled)?;
            driver.fill(queue, lane.verdicts, POISON, n)?;
            let arguments = [count, input, bound, stride, trs, mu, c_bits];
            driver.launch(queue, Kernel::Messages, groups(n, 64), &arguments)?;
            if order.table == Some(Table::Prepared) {
                let keys = M(self.prepared);
                let arguments = [
                    count, input, bound, stride, keys, c_bits, w1, verdicts, zetas,
                ];
                driver.launch(queue, Kernel::LatticePrepared, groups(n, teams), &arguments)?;
            } else {
                let (table, tile) = (M(self.encoded), layout.tile(n));
                for start in (0..n).step_by(tile) {
                    let items = tile.min(n - start);
                    let polys = items * layout.polynomials;
                    let [first, count, total] = [start, items, polys].map(|word| W(word as u32));
                    let arguments = [first, total, input, bound, stride, table, raw];
                    driver.launch(queue, Kernel::Expand, groups(polys, 32), &arguments)?;
                    let arguments = [
                        first, count, input, bound, stride, table, raw, c_bits, w1, verdicts, zetas,
                    ];
                    let groups = groups(items, teams);
                    driver.launch(queue, Kernel::LatticeEncoded, groups, &arguments)?;
                }
            }
            let arguments = [count, input, bound, stride, mu, w1, verdicts];
            driver.launch(queue, Kernel::Challenges, groups(n, 64), &arguments)?;
            let verdicts = slice_from_raw_parts_mut(block.verdicts.as_ptr(), n);
            driver.download(queue, verdicts, lane.verdicts)?;
        }
        driver.start(queue)
    }

    /// Brings keys to their places. No batch that exists names these places.
    fn register<P: ParameterSet>(
        &mut self,
        table: Table,
        places: &[u32],
        keys: &[Arc<VerifyingKey<P>>],
    ) -> Result<(), GpuError> {
        let mut rest = places.iter().zip(keys).peekable();
        while let Some((&first, key)) = rest.next() {
            // Neighbours go together.
            let mut run = vec![key];
            while let Some((_, key)) = rest.next_if(|(place, _)| {
                run.len() < KEYS && **place as usize == first as usize + run.len()
            }) {
                run.push(key);
            }
            self.register_run(table, first as usize, &run)?;
        }
        Ok(())
    }

    fn register_run<P: ParameterSet>(
        &mut self,
        table: Table,
        first: usize,
        keys: &[&Arc<VerifyingKey<P>>],
    ) -> Result<(), GpuError> {
        use Argument::{Memory as M, Word as W};
        let (layout, n, queue) = (self.layout, keys.len(), self.queue);
        let (key_bytes, tr_bytes) = (n * layout.public_key, n * 64);
        let (driver, staging) = (&mut self.driver, self.staging.as_ptr());
        let trs = self.trs[usize::from(table == Table::Encoded)];
        // SAFETY: the staging has room for KEYS keys with their tr and a word, nobody else uses
        // it, and the queue is waited for. Places are below the capacity.
        unsafe {
            for (n, key) in keys.iter().enumerate() {
                let (encoded, tr) = (key.as_bytes().as_ref(), key.tr());
                staging
                    .add(n * layout.public_key)
                    .copy_from(encoded.as_ptr(), encoded.len());
                staging.add(key_bytes + n * 64).copy_from(tr.as_ptr(), 64);
            }
            let word = slice_from_raw_parts_mut(staging.add(key_bytes + tr_bytes), 4);
            word.cast::<u8>().write_bytes(0, 4);
            let encoded = slice_from_raw_parts(staging, key_bytes);
            let from = slice_from_raw_parts(staging.add(key_bytes), tr_bytes);
            driver.upload(queue, trs, first * 64, from)?;
            match table {
                Table::Encoded => {
                    let at = first * layout.public_key;
                    driver.upload(queue, self.encoded, at, encoded)?;
                }
                Table::Prepared => {
                    driver.upload(queue, self.new_keys, 0, encoded)?;
                    driver.upload(queue, self.failed, 0, word)?;
                    let (total, keys) = (n * layout.polynomials, M(self.new_keys));
                    let (raw, none) = (M(self.new_raw), W(0));
                    let arguments = [none, W(total as u32), keys, none, none, keys, raw];
                    driver.launch(queue, Kernel::Expand, total.div_ceil(32) as u32, &arguments)?;
                    let (to, failed) = (M(self.prepared), M(self.failed));
                    let arguments = [W(first as u32), raw, keys, to, failed, M(self.zetas)];
                    let rows = (n * layout.k) as u32;
                    driver.launch(queue, Kernel::Prepare, rows, &arguments)?;
                    driver.download(queue, word, self.failed)?;
                }
            }
            driver.wait(queue)?;
            // A key that needs a sixth block is taken for a fault.
            match &*word {
                [0, 0, 0, 0] => Ok(()),
                _ => Err(GpuError::WrongVerdict),
            }
        }
    }
}
