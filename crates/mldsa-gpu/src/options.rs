//! Options of a device.

use core::str::FromStr;
use core::time::Duration;
use std::thread::available_parallelism;

use batch_verify::Threads;

use crate::error::GpuError;

/// The device that is opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Choice {
    /// The first device of CUDA, or else the first GPU of OpenCL.
    #[default]
    Any,
    /// The device of CUDA with this number.
    Cuda(u32),
    /// The GPU or accelerator of OpenCL with this number, over all platforms.
    OpenCl(u32),
    /// The CPU of OpenCL with this number: for tests of the kernels without a GPU.
    OpenClCpu(u32),
}

impl FromStr for Choice {
    type Err = &'static str;

    /// Reads `any`, `cuda`, `opencl` or `opencl-cpu`: the first such device.
    fn from_str(name: &str) -> Result<Self, Self::Err> {
        match name {
            "any" => Ok(Self::Any),
            "cuda" => Ok(Self::Cuda(0)),
            "opencl" => Ok(Self::OpenCl(0)),
            "opencl-cpu" => Ok(Self::OpenClCpu(0)),
            _ => Err("expected any, cuda, opencl or opencl-cpu"),
        }
    }
}

/// Options of [`Gpu::open`](crate::Gpu::open) and [`LazyGpu::new`](crate::LazyGpu::new). Memory of the device: the tables of keys, and for each
/// batch its items, about 1 kB more for each item, and up to 227 MB for matrices of encoded keys.
#[derive(Clone, Debug)]
pub struct GpuOptions {
    /// The device.
    pub device: Choice,
    /// Items of a batch, 1 to 2^20 (16,384).
    pub batch_items: usize,
    /// Bytes for context and message of an item on average, 96 to 4,096 (128). A message of more
    /// than 2,048 bytes is hashed by the CPU, and 64 bytes of `mu` go to the device.
    pub message_bytes: usize,
    /// Batches that exist at a time, 1 to 64 (3): one is filled, one is copied, one is verified.
    pub batches: usize,
    /// Capacity for expanded keys, of 15, 28 or 49 kB each (4,096).
    pub prepared_keys: usize,
    /// Capacity for encoded keys, of 1.4, 2.0 or 2.7 kB each (65,536).
    pub encoded_keys: usize,
    /// Time from `submit` to the verdicts after which the CPU takes the batch and the device is
    /// given up (5 s, 2^32 s at most). The same for each 256 keys that are registered.
    pub deadline: Duration,
    /// Time for opening, with the driver's compilation of the kernels (120 s).
    pub open_deadline: Duration,
    /// The CPU verifies one item of so many as well, at random (1,024); 0 and 1 are all, and `None` is
    /// none. It verifies every rejection whatever this says.
    pub cross_check: Option<u32>,
    /// Threads of the CPU for [`cross_check`](Self::cross_check) (one for each core). With [`Threads::Shared`] no thread of the pool may wait for a batch.
    pub threads: Threads,
    /// Smallest run that [`batch-verify`](batch_verify) gives to the device. `None` measures it
    /// when the device is opened.
    pub threshold: Option<usize>,
    /// Called once, from a thread of this crate, when the device is given up.
    pub on_fault: Option<fn(&GpuError)>,
}

impl Default for GpuOptions {
    fn default() -> Self {
        let cores = available_parallelism().map_or(1, usize::from);
        Self {
            device: Choice::Any,
            batch_items: 16_384,
            message_bytes: 128,
            batches: 3,
            prepared_keys: 4_096,
            encoded_keys: 65_536,
            deadline: Duration::from_secs(5),
            open_deadline: Duration::from_secs(120),
            cross_check: Some(1024),
            threads: Threads::Dedicated(cores),
            threshold: None,
            on_fault: None,
        }
    }
}

impl GpuOptions {
    /// Returns the options for items that bring their keys: no key can be registered. The CPU of
    /// OpenCL, which is for tests, gets every batch.
    #[must_use]
    pub fn without_tables(device: Choice) -> Self {
        Self {
            device,
            prepared_keys: 0,
            encoded_keys: 0,
            threshold: matches!(device, Choice::OpenClCpu(_)).then_some(1),
            ..Self::default()
        }
    }

    pub(crate) fn check(&self) -> Result<(), GpuError> {
        let sizes = [
            (1..=1 << 20).contains(&self.batch_items),
            (96..=4096).contains(&self.message_bytes),
            (1..=64).contains(&self.batches),
            self.prepared_keys < 1 << 28,
            self.encoded_keys < 1 << 28,
            // Offsets of messages are words of 32 bits. Other sizes are checked above.
            self.batch_items
                .saturating_mul(self.message_bytes.min(4096).next_multiple_of(8))
                < 1 << 31,
            // Clocks have room for it.
            self.deadline <= Duration::from_secs(1 << 32),
            // Sizes of memory have more than 32 bits.
            usize::BITS == 64,
        ];
        match sizes.iter().all(|fits| *fits) {
            true => Ok(()),
            false => Err(GpuError::Options),
        }
    }
}
