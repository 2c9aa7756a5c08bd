//! Messages of a decision in a directory that the members share: one file each, named by its sender
//! and its digest. For demonstrations: a directory does not authenticate senders.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use base16ct::lower::encode_string;
use mladsa_aggregate::MemberId;
use sha2::{Digest, Sha256};

use crate::files;

/// Greatest number of files that are read at a time.
const AT_ONCE: usize = 256;

pub(crate) struct Mailbox {
    directory: PathBuf,
    owner: String,
    /// Greatest length of a certificate, the longest message.
    limit: u64,
    seen: BTreeSet<String>,
    sent: BTreeMap<String, Vec<u8>>,
}

impl Mailbox {
    pub(crate) fn new(directory: &Path, owner: &MemberId, limit: u64) -> io::Result<Self> {
        fs::create_dir_all(directory)?;
        Ok(Self {
            directory: directory.into(),
            owner: owner.to_string(),
            limit,
            seen: BTreeSet::new(),
            sent: BTreeMap::new(),
        })
    }

    pub(crate) fn send(&mut self, message: &[u8]) -> io::Result<()> {
        let name = format!("{}.{}", self.owner, digest(message));
        let path = self.directory.join(&name);
        self.sent.insert(name, message.into());
        files::write(&path, message, true, true)
    }

    /// Writes messages again that were removed or overwritten.
    pub(crate) fn restore(&self) -> io::Result<()> {
        for (name, message) in &self.sent {
            let path = self.directory.join(name);
            let stored = files::read(&path, message.len() as u64);
            if !stored.is_ok_and(|stored| stored == *message) {
                files::write(&path, message, true, true)?;
            }
        }
        Ok(())
    }

    /// Messages of others that were not read before, with their senders. A file whose content does not
    /// have the digest of its name is read again later.
    pub(crate) fn receive(&mut self) -> io::Result<Vec<(MemberId, Vec<u8>)>> {
        let mut messages = Vec::new();
        for entry in fs::read_dir(&self.directory)? {
            if messages.len() == AT_ONCE {
                break;
            }
            let Ok(name) = entry?.file_name().into_string() else {
                continue;
            };
            let Some((sender, named)) = name.rsplit_once('.') else {
                continue;
            };
            let sender = MemberId::new(sender.as_bytes());
            if self.seen.contains(&name) || self.sent.contains_key(&name) {
                continue;
            }
            if let (Ok(sender), Ok(message)) =
                (sender, files::read(&self.directory.join(&name), self.limit))
                && digest(&message) == named
            {
                self.seen.insert(name);
                messages.push((sender, message));
            }
        }
        Ok(messages)
    }
}

fn digest(message: &[u8]) -> String {
    encode_string(&Sha256::digest(message))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test")]
mod tests {
    use super::*;

    #[test]
    fn overwritten_and_removed_messages_arrive() {
        let folder = tempfile::tempdir().unwrap();
        let mailbox = |name: &[u8]| {
            let id = MemberId::new(name).unwrap();
            Mailbox::new(folder.path(), &id, 99).unwrap()
        };
        let (mut alice, mut bob) = (mailbox(b"alice"), mailbox(b"bob"));
        for number in 0..300 {
            fs::write(folder.path().join(format!("eve.{number:064}")), b"junk").unwrap();
        }
        alice.send(b"message").unwrap();
        let path = folder.path().join(format!("alice.{}", digest(b"message")));
        fs::write(&path, b"junk").unwrap();
        assert_eq!(bob.receive().unwrap(), []);
        alice.restore().unwrap();
        let alice_id = MemberId::new(b"alice").unwrap();
        assert_eq!(bob.receive().unwrap(), [(alice_id, b"message".to_vec())]);
        assert_eq!(bob.receive().unwrap(), []);
        assert_eq!(alice.receive().unwrap(), []);
        fs::remove_file(&path).unwrap();
        alice.restore().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"message");
    }
}
