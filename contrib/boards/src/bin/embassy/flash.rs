//! A small flash whose content `build.rs` makes, with faults.

use embedded_storage::nor_flash::{ErrorType, NorFlashErrorKind, ReadNorFlash, check_read};

use crate::inputs;

/// The genuine content, one with another key, one with another message, and one whose `tr` is not that of the seed. Each has
/// its hashes.
static GENUINE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/flash.0"));
static OTHER_KEY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/flash.1"));
static OTHER_MESSAGE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/flash.2"));
static WRONG_TR: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/flash.3"));

/// What is wrong with a flash. Reads are counted from 0.
#[derive(Clone, Copy, Debug)]
pub enum Fault {
    None,
    /// The read of this number fails.
    Fails(u32),
    /// It has less than it says.
    Short,
    /// A bit of the byte `at` changes before read `from`.
    Flips {
        from: u32,
        at: u32,
    },
    /// The whole content changes before read `from`.
    OtherKey {
        from: u32,
    },
    OtherMessage {
        from: u32,
    },
    WrongTr,
}

pub struct Flash {
    fault: Fault,
    reads: u32,
}

impl Flash {
    pub fn new(fault: Fault) -> Self {
        Self { fault, reads: 0 }
    }

    pub fn message_len(&self) -> u32 {
        let more = u32::from(matches!(self.fault, Fault::Short));
        inputs::MESSAGE.len() as u32 + 4 * more
    }

    pub fn reads(&self) -> u32 {
        self.reads
    }
}

impl ErrorType for Flash {
    type Error = NorFlashErrorKind;
}

impl ReadNorFlash for Flash {
    const READ_SIZE: usize = 4;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), NorFlashErrorKind> {
        let content = match self.fault {
            Fault::Fails(read) if read == self.reads => return Err(NorFlashErrorKind::Other),
            Fault::OtherKey { from } if self.reads >= from => OTHER_KEY,
            Fault::OtherMessage { from } if self.reads >= from => OTHER_MESSAGE,
            Fault::WrongTr => WRONG_TR,
            _ => GENUINE,
        };
        check_read(self, offset, bytes.len())?;
        let content = content.get(offset as usize..);
        let content = content.and_then(|rest| rest.get(..bytes.len()));
        bytes.copy_from_slice(content.ok_or(NorFlashErrorKind::OutOfBounds)?);
        if let Fault::Flips { from, at } = self.fault
            && self.reads >= from
            && let Some(byte) = bytes.get_mut(at.wrapping_sub(offset) as usize)
        {
            *byte ^= 1;
        }
        self.reads += 1;
        Ok(())
    }

    fn capacity(&self) -> usize {
        GENUINE.len()
    }
}
