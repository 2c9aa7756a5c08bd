//! Read-ahead thread: `read` waits for its first byte only.

use std::io::{self, Cursor, Read};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use zeroize::Zeroizing;

/// Capacity of a pipe on Linux.
const BLOCK_LEN: usize = 64 << 10;

/// Blocks in the queue: together the buffer of lines.
const BLOCKS: usize = 128;

/// Bytes that are wiped when dropped.
type Block = Cursor<Zeroizing<Vec<u8>>>;

/// A source that is read on a thread of its own while lines are processed. A `read` returns all
/// bytes that are queued, so that single requests are answered at once and long input is read in
/// large pieces.
pub(crate) struct ReadAhead {
    blocks: Receiver<io::Result<Block>>,
    current: Block,
    /// The error after the bytes returned last.
    failed: Option<io::Error>,
}

impl ReadAhead {
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
}

/// Ends with the input, an error, or a dropped receiver.
fn read_all(mut source: impl Read, blocks: &SyncSender<io::Result<Block>>) {
    loop {
        let mut bytes = Zeroizing::new(vec![0; BLOCK_LEN]);
        let block = match source.read(&mut bytes) {
            Ok(0) => return,
            Ok(len) => {
                bytes.truncate(len);
                Ok(Cursor::new(bytes))
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => Err(error),
        };
        let last = block.is_err();
        if blocks.send(block).is_err() || last {
            return;
        }
    }
}

impl Read for ReadAhead {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while filled < out.len() {
            match self.current.read(&mut out[filled..])? {
                0 if self.failed.is_some() => break,
                0 => {
                    let next = if filled == 0 {
                        self.blocks.recv().ok()
                    } else {
                        self.blocks.try_recv().ok()
                    };
                    match next {
                        Some(Ok(block)) => self.current = block,
                        Some(Err(error)) => self.failed = Some(error),
                        None => break,
                    }
                }
                len => filled += len,
            }
        }
        match self.failed.take_if(|_| filled == 0) {
            Some(error) => Err(error),
            None => Ok(filled),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test")]
mod tests {
    use super::*;

    /// Returns pieces of the given sizes, then an error if asked for.
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
    fn bytes_arrive_in_order_before_the_end_or_the_error() {
        for fails in [false, true] {
            let sizes: Vec<usize> = (0..500).map(|n| 1 + n * 7919 % 3000).collect();
            let total: usize = sizes.iter().sum();
            let next = 0;
            let mut ahead = ReadAhead::new(Pieces { sizes, next, fails }).unwrap();
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
            assert_eq!((seen, end.is_err()), (total, fails));
        }
    }
}
