//! What the host needs of a driver. Implementations are used by one thread.
#![allow(unsafe_code, reason = "memory that a device reads and writes")]

use core::fmt;
use core::ptr::NonNull;

use crate::error::GpuError;

/// Memory of a device: a `CUdeviceptr` or a `cl_mem`.
pub(crate) type Memory = u64;

/// Names and sizes of a device, for logs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Device {
    /// `CUDA` or `OpenCL`.
    pub(crate) interface: &'static str,
    /// The device's name.
    pub(crate) name: String,
    /// The driver's version.
    pub(crate) driver: String,
    /// Bytes of the device's memory.
    pub(crate) memory: u64,
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mebibytes = self.memory >> 20;
        write!(
            f,
            "{} {}, driver {}, {mebibytes} MiB",
            self.interface, self.name, self.driver
        )
    }
}

/// Result of a call of the driver.
pub(crate) type Done = Result<(), GpuError>;

/// Argument of a kernel.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Argument {
    Memory(Memory),
    Word(u32),
}

/// The kernels of `kernels/5-kernels.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kernel {
    Messages,
    Expand,
    Prepare,
    LatticePrepared,
    LatticeEncoded,
    Challenges,
}

impl Kernel {
    pub(crate) const ALL: [Self; 6] = [
        Self::Messages,
        Self::Expand,
        Self::Prepare,
        Self::LatticePrepared,
        Self::LatticeEncoded,
        Self::Challenges,
    ];

    pub(crate) const fn name(self) -> &'static core::ffi::CStr {
        match self {
            Self::Messages => c"messages",
            Self::Expand => c"expand",
            Self::Prepare => c"prepare",
            Self::LatticePrepared => c"lattice_prepared",
            Self::LatticeEncoded => c"lattice_encoded",
            Self::Challenges => c"challenges",
        }
    }

    /// Returns the number of threads of a group, where a team of 32 is `teams` times in a group of
    /// a lattice kernel.
    pub(crate) const fn threads(self, teams: u32) -> u32 {
        match self {
            Self::Messages | Self::Challenges => 64,
            Self::Expand | Self::Prepare => 32,
            Self::LatticePrepared | Self::LatticeEncoded => 32 * teams,
        }
    }
}

/// The translation unit that is compiled for each set.
pub(crate) const SOURCE: &str = concat!(
    include_str!("../kernels/1-prelude.h"),
    include_str!("../kernels/2-keccak.h"),
    include_str!("../kernels/3-ring.h"),
    include_str!("../kernels/4-lattice.h"),
    include_str!("../kernels/5-kernels.h"),
);

/// A device with the kernels of one set, and queues of commands that run in order. All memory
/// that it hands out lives as long as the value.
pub(crate) trait Driver {
    fn device(&self) -> &Device;

    /// Returns `TEAMS` of the kernels: items in a group of a lattice kernel.
    fn teams(&self) -> u32;

    fn allocate(&mut self, bytes: usize) -> Result<Memory, GpuError>;

    /// Allocates zeroed memory of the host, aligned to 16 bytes at least.
    fn page_locked(&mut self, bytes: usize) -> Result<NonNull<u8>, GpuError>;

    /// Adds a queue; they are numbered from 0.
    fn add_queue(&mut self) -> Result<usize, GpuError>;

    /// Copies memory of the host to the device.
    ///
    /// # Safety
    /// `from` is valid and unchanged until the queue is idle, and `to` has room for it at `at`.
    unsafe fn upload(&mut self, queue: usize, to: Memory, at: usize, from: *const [u8]) -> Done;

    /// Fills memory of the device with a byte.
    fn fill(&mut self, queue: usize, to: Memory, byte: u8, len: usize) -> Result<(), GpuError>;

    /// Copies memory of the device to the host.
    ///
    /// # Safety
    /// `to` is valid and used by nobody else until the queue is idle, and `from` is not shorter.
    unsafe fn download(&mut self, queue: usize, to: *mut [u8], from: Memory) -> Done;

    /// Starts a kernel.
    ///
    /// # Safety
    /// The arguments are those of the kernel in number, kind and size of memory.
    unsafe fn launch(
        &mut self,
        queue: usize,
        kernel: Kernel,
        groups: u32,
        arguments: &[Argument],
    ) -> Result<(), GpuError>;

    /// Starts what was added to the queue, whose last command is a download.
    fn start(&mut self, queue: usize) -> Result<(), GpuError>;

    /// Returns whether the last download of the queue, and all before it, has ended.
    fn is_idle(&mut self, queue: usize) -> Result<bool, GpuError>;

    /// Waits for the queue.
    fn wait(&mut self, queue: usize) -> Result<(), GpuError>;
}
