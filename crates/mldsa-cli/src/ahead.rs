//! Reading ahead on a thread: what has arrived can be had without waiting for
//! what has not.

use std::io::{self, Read};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::thread;

use zeroize::Zeroizing;

/// As much as a pipe holds.
const BLOCK_LEN: usize = 64 << 10;

/// Blocks that may wait: as much as the buffer of lines takes.
const BLOCKS: usize = 128;

/// A source whose `read` waits for the first byte only and then takes all that is
/// there. While its owner works, the next input gathers: who asks and waits is
/// answered at once, and long input comes in large pieces.
pub(crate) struct Ahead {
    blocks: Receiver<io::Result<Block>>,
    current: Block,
    /// What came behind the bytes given out last.
    failed: Option<io::Error>,
}

/// Some bytes, wiped when dropped; the end of the input has none.
#[derive(Default)]
struct Block {
    bytes: Zeroizing<Vec<u8>>,
    start: usize,
    end: usize,
}

impl Ahead {
    pub(crate) fn new(source: impl Read + Send + 'static) -> io::Result<Self> {
        let (sender, blocks) = sync_channel(BLOCKS);
        thread::Builder::new()
            .name("input".into())
            .spawn(move || read_all(source, &sender))?;
        Ok(Self {
            blocks,
            current: Block::default(),
            failed: None,
        })
    }

    /// The next block, waiting for it if asked to; whether there is one.
    fn advance(&mut self, wait: bool) -> bool {
        let next = if wait {
            self.blocks.recv().map_err(|_| TryRecvError::Disconnected)
        } else {
            self.blocks.try_recv()
        };
        match next {
            Ok(Ok(block)) => self.current = block,
            Ok(Err(error)) => self.failed = Some(error),
            Err(_) => return false,
        }
        self.failed.is_none()
    }
}

/// Ends with the input, an error, or when nobody listens any more.
fn read_all(mut source: impl Read, blocks: &SyncSender<io::Result<Block>>) {
    loop {
        let mut bytes = Zeroizing::new(vec![0; BLOCK_LEN]);
        let block = match source.read(&mut bytes) {
            Ok(0) => return,
            Ok(end) => Ok(Block {
                bytes,
                start: 0,
                end,
            }),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => Err(error),
        };
        let last = block.is_err();
        if blocks.send(block).is_err() || last {
            return;
        }
    }
}

impl Read for Ahead {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while filled < out.len() {
            if self.current.start == self.current.end && !self.advance(filled == 0) {
                break;
            }
            let block = &mut self.current;
            let len = (block.end - block.start).min(out.len() - filled);
            out[filled..filled + len].copy_from_slice(&block.bytes[block.start..block.start + len]);
            block.start += len;
            filled += len;
        }
        match self.failed.take() {
            // The bytes first.
            Some(error) if filled == 0 => Err(error),
            failed => {
                self.failed = failed;
                Ok(filled)
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test")]
mod tests {
    use super::*;

    /// Gives out pieces of the given sizes, then an error if asked for.
    struct Pieces {
        sizes: Vec<usize>,
        next: u8,
        fails: bool,
    }

    impl Read for Pieces {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let Some(size) = self.sizes.pop() else {
                return if self.fails {
                    Err(io::Error::other("broken"))
                } else {
                    Ok(0)
                };
            };
            for byte in &mut out[..size] {
                *byte = self.next;
                self.next = self.next.wrapping_add(1);
            }
            Ok(size)
        }
    }

    #[test]
    fn every_byte_in_order_then_the_end_or_the_error() {
        for fails in [false, true] {
            let sizes: Vec<usize> = (0..500).map(|n| 1 + n * 7919 % 3000).collect();
            let total: usize = sizes.iter().sum();
            let source = Pieces {
                sizes,
                next: 0,
                fails,
            };
            let mut ahead = Ahead::new(source).unwrap();
            let mut buffer = vec![0; 5001];
            let mut seen = 0;
            let end = loop {
                match ahead.read(&mut buffer) {
                    Ok(0) => break Ok(()),
                    Ok(len) => {
                        for byte in &buffer[..len] {
                            assert_eq!(*byte, seen as u8);
                            seen += 1;
                        }
                    }
                    Err(error) => break Err(error.to_string()),
                }
            };
            assert_eq!(seen, total);
            assert_eq!(end.is_err(), fails);
        }
    }
}
