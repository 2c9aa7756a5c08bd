//! Messages of a decision in the directory of a committee: one file each, named by its digest.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::PathBuf;

use base16ct::lower::encode_string;
use mladsa_aggregate::{MemberId, SigningTask};
use sha2::{Digest, Sha256};

use super::committee::Committee;
use super::dirs::{MAX_SHARED, TempPaths, publish_by, read_up_to, sweep_of};

/// Greatest number of messages in memory.
const AT_ONCE: usize = 256;

pub(crate) struct Mailbox {
    directory: PathBuf,
    owner: MemberId,
    /// Greatest length of a certificate, the longest message.
    limit: u64,
    seen: BTreeSet<String>,
}

impl Mailbox {
    /// The messages about a task. The caller holds the journal of `owner`.
    pub(crate) fn new(
        committee: &Committee,
        task: &SigningTask,
        owner: &MemberId,
    ) -> io::Result<Self> {
        let name = encode_string(&Sha256::digest(task.id().as_bytes()));
        let directory = committee.directory().join("decisions").join(name);
        TempPaths::default().directory(&directory)?;
        sweep_of(owner, &directory);
        Ok(Self {
            directory,
            owner: *owner,
            limit: certificate_limit(committee, task),
            seen: BTreeSet::new(),
        })
    }

    /// Writes a message, unless it is there.
    pub(crate) fn send(&mut self, message: &[u8]) -> io::Result<()> {
        let name = encode_string(&Sha256::digest(message));
        let path = self.directory.join(&name);
        self.seen.insert(name);
        if path.exists() {
            return Ok(());
        }
        publish_by(&self.owner, &path, message)
    }

    /// Messages that were not read before, at most [`AT_ONCE`]. Files that are no messages are skipped:
    /// the session verifies all others.
    pub(crate) fn receive(&mut self) -> io::Result<Vec<Vec<u8>>> {
        let mut messages = Vec::new();
        for entry in fs::read_dir(&self.directory)? {
            if messages.len() == AT_ONCE {
                break;
            }
            let Ok(name) = entry?.file_name().into_string() else {
                continue;
            };
            if name.len() == 64
                && !self.seen.contains(&name)
                && let Ok(message) = read_up_to(&self.directory.join(&name), self.limit)
            {
                self.seen.insert(name);
                messages.push(message);
            }
        }
        Ok(messages)
    }

    /// Reads all messages again: a session ignores those of attempts after the next one.
    pub(crate) fn rewind(&mut self) {
        self.seen.clear();
    }
}

/// Greatest length of a certificate with the payload of the task, and with a longer one.
pub(crate) fn certificate_limit(committee: &Committee, task: &SigningTask) -> u64 {
    let openings = committee.registry.len() * (committee.plan.opening_len() + 4);
    (task.payload().len() + openings) as u64 + 2 * MAX_SHARED
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test")]
mod tests {
    use super::*;

    /// A member can write any number of files, and remove those of others.
    #[test]
    fn a_full_directory_is_read_in_parts_and_a_removed_message_is_written_again() {
        let folder = tempfile::tempdir().unwrap();
        let mut mailbox = Mailbox {
            directory: folder.path().into(),
            owner: MemberId::new(b"m0").unwrap(),
            limit: 9,
            seen: BTreeSet::new(),
        };
        for number in 0..300 {
            fs::write(folder.path().join(format!("{number:064}")), b"junk").unwrap();
        }
        let mut receive = || mailbox.receive().unwrap().len();
        assert_eq!([receive(), receive(), receive()], [256, 44, 0]);
        let name = folder
            .path()
            .join(encode_string(&Sha256::digest(b"message")));
        for _ in 0..2 {
            mailbox.send(b"message").unwrap();
            fs::remove_file(&name).unwrap();
        }
    }
}
