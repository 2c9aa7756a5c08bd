//! Errors.

use core::fmt;

/// Reason why a device cannot be used, or is not used any more.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GpuError {
    /// The driver's library or one of its functions is absent.
    NoDriver(&'static str),
    /// The driver has no device of this index and kind.
    NoDevice,
    /// The device lacks something that the kernels need.
    Unsuitable(&'static str),
    /// A call of the driver failed.
    Driver {
        /// The function.
        call: &'static str,
        /// Its error code (CUresult, or an error of OpenCL).
        code: i32,
    },
    /// The driver's compiler rejected the kernels.
    Compiler(Box<str>),
    /// Memory of the device or page-locked memory is exhausted.
    Memory,
    /// The options ask for a size that is 0 or too large.
    Options,
    /// The threads of the device could not be started.
    Threads,
    /// The device did not answer in time.
    Deadline,
    /// The device belongs to the parent process: open one here.
    Forked,
    /// The device gave a wrong verdict. No device of this name is used again by this process.
    WrongVerdict,
    /// All batches are in use: submit or drop one.
    Busy,
    /// The table has no room for the keys: evict others, or wait for batches that may use them.
    TableFull,
}

impl fmt::Display for GpuError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoDriver(what) => write!(f, "no driver: {what} is missing"),
            Self::NoDevice => f.write_str("no such device"),
            Self::Unsuitable(what) => write!(f, "the device lacks {what}"),
            Self::Driver { call, code } => write!(f, "{call} failed with code {code}"),
            Self::Compiler(log) => write!(f, "the driver does not compile the kernels: {log}"),
            Self::Memory => f.write_str("memory of the device or page-locked memory is exhausted"),
            Self::Options => f.write_str("a size in the options is 0 or too large"),
            Self::Threads => f.write_str("the threads of the device could not be started"),
            Self::Deadline => f.write_str("the device did not answer in time"),
            Self::Forked => f.write_str("the device belongs to the parent process"),
            Self::WrongVerdict => f.write_str("the device gave a wrong verdict"),
            Self::Busy => f.write_str("all batches are in use"),
            Self::TableFull => f.write_str("the table of keys is full"),
        }
    }
}

impl core::error::Error for GpuError {}

/// Reason why an item was not added to a batch, which is as before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PushError {
    /// The batch has no room for the item: submit it and go on with another.
    Full,
    /// The key was evicted, is of another `Gpu`, or the batch is older than the key's eviction.
    UnknownKey,
    /// The batch takes keys of another table, or encoded keys, or no encoded keys.
    OtherTable,
    /// The batch belongs to the parent process.
    Forked,
}

impl fmt::Display for PushError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full => "the batch is full",
            Self::UnknownKey => "the key is not registered",
            Self::OtherTable => "the batch takes keys in another form",
            Self::Forked => "the batch belongs to the parent process",
        })
    }
}

impl core::error::Error for PushError {}
