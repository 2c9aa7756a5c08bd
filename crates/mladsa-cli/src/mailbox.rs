//! Messages of a decision in a directory that the members share: one file each, with the decision, its
//! sender and its digest in the name. For demonstrations: a directory does not authenticate senders.
//!
//! Others can write to the directory too, so that everything in it can change at any time. An error
//! there is reported and ends nothing: what could not be written is written later.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use base16ct::lower::encode_string;
use mladsa_aggregate::MemberName;
use sha2::{Digest, Sha256};

use crate::files;

/// Greatest number of files that are read at a time.
const AT_ONCE: usize = 256;
/// Greatest number of files without a message that are remembered.
const MOST_JUNK: usize = 1 << 16;

pub(crate) struct Mailbox {
    directory: PathBuf,
    /// First part of the names of the files of this decision.
    decision: String,
    owner: MemberName,
    /// Greatest length of a certificate, the longest message.
    limit: u64,
    /// Senders and digests of the messages that were read.
    seen: BTreeSet<(MemberName, String)>,
    /// Files without the message that their names promise, with length and time of change. They are
    /// read again when these have changed.
    junk: BTreeMap<String, (u64, Option<SystemTime>)>,
    /// Messages of the owner by digest, with the names of their files.
    sent: BTreeMap<String, (Option<String>, Vec<u8>)>,
    /// Kinds of the errors that were reported.
    reported: BTreeSet<io::ErrorKind>,
}

impl Mailbox {
    /// Opens the mailbox of `owner` for a decision, in a directory that is created if there is
    /// none.
    pub(crate) fn new(
        directory: &Path,
        decision: String,
        owner: MemberName,
        limit: u64,
    ) -> io::Result<Self> {
        create_shared(directory)?;
        fs::read_dir(directory)?;
        Ok(Self {
            directory: directory.into(),
            decision,
            owner,
            limit,
            seen: BTreeSet::new(),
            junk: BTreeMap::new(),
            sent: BTreeMap::new(),
            reported: BTreeSet::new(),
        })
    }

    pub(crate) fn send(&mut self, message: &[u8]) {
        let digest = digest(message);
        let sent = self.sent.get(&digest);
        let name = sent.and_then(|(name, _)| name.clone());
        let name = self.store(&digest, name, message);
        self.sent.insert(digest, (name, message.into()));
    }

    /// Writes messages that are not there: those that could not be written before, and those that were
    /// removed or overwritten.
    pub(crate) fn restore(&mut self) {
        let mut sent = core::mem::take(&mut self.sent);
        for (digest, (name, message)) in &mut sent {
            *name = self.store(digest, name.take(), message);
        }
        self.sent = sent;
    }

    /// Makes sure that a message is in the directory. Returns the name of its file, if it could be
    /// written.
    fn store(&mut self, digest: &str, name: Option<String>, message: &[u8]) -> Option<String> {
        let stored = self.try_store(digest, name, message);
        stored.inspect_err(|error| self.report(error)).ok()
    }

    /// Stores a message. The name is a new one if something with the name before cannot be
    /// replaced.
    fn try_store(&self, digest: &str, name: Option<String>, message: &[u8]) -> io::Result<String> {
        if let Some(name) = name {
            let path = self.directory.join(&name);
            let stored = files::read_foreign(&path, message.len() as u64);
            if stored.is_ok_and(|stored| stored == *message)
                || files::write(&path, message, true, true).is_ok()
            {
                return Ok(name);
            }
        }
        create_shared(&self.directory)?;
        // Nobody can occupy the name in advance.
        let mut nonce = [0; 8];
        getrandom::fill(&mut nonce)?;
        let nonce = encode_string(&nonce);
        let name = format!("{}.{}.{nonce}.{digest}", self.decision, self.owner);
        files::write(&self.directory.join(&name), message, false, true)?;
        Ok(name)
    }

    /// Returns the messages of others that were not read before, with their senders. A file whose
    /// content does not have the digest of its name is read again when it has changed.
    pub(crate) fn receive(&mut self) -> Vec<(MemberName, Vec<u8>)> {
        let mut messages = Vec::new();
        let entries = match fs::read_dir(&self.directory) {
            Ok(entries) => entries,
            Err(error) => {
                self.report(&error);
                return messages;
            }
        };
        let mut read = 0;
        for entry in entries {
            if read == AT_ONCE {
                break;
            }
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    self.report(&error);
                    break;
                }
            };
            let name = entry.file_name();
            let Some(name) = name.to_str() else {
                continue;
            };
            let Some((sender, named)) = self.parse(name) else {
                continue;
            };
            let key = (sender, named.to_owned());
            if sender == self.owner || self.seen.contains(&key) {
                continue;
            }
            let state = entry.metadata();
            let state = state.map_or((0, None), |state| (state.len(), state.modified().ok()));
            if self.junk.get(name) == Some(&state) {
                continue;
            }
            read += 1;
            // Whatever others put there under a name of the right form is no reason for a report.
            if let Ok(message) = files::read_foreign(&entry.path(), self.limit)
                && digest(&message) == named
            {
                self.seen.insert(key);
                self.junk.remove(name);
                messages.push((sender, message));
            } else {
                if self.junk.len() == MOST_JUNK {
                    self.junk.clear();
                }
                self.junk.insert(name.to_owned(), state);
            }
        }
        messages
    }

    /// Returns sender and digest in the name of a file of this decision.
    fn parse<'a>(&self, name: &'a str) -> Option<(MemberName, &'a str)> {
        let rest = name.strip_prefix(&self.decision)?.strip_prefix('.')?;
        let (rest, digest) = rest.rsplit_once('.')?;
        let (sender, _) = rest.rsplit_once('.')?;
        Some((MemberName::new(sender.as_bytes()).ok()?, digest))
    }

    /// Reports the first error of each kind.
    fn report(&mut self, error: &io::Error) {
        if self.reported.insert(error.kind()) {
            eprintln!(
                "mladsa: {}: {error}; trying again",
                self.directory.display()
            );
        }
    }
}

/// Creates a directory in which every user can write, and remove their own files (mode 1777), if there
/// is none.
fn create_shared(directory: &Path) -> io::Result<()> {
    if directory.is_dir() {
        return Ok(());
    }
    if let Some(parent) = directory.parent() {
        fs::create_dir_all(parent)?;
    }
    match fs::create_dir(directory) {
        // Another member was faster.
        Err(_) if directory.is_dir() => return Ok(()),
        created => created?,
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
        // The mode of what was created, not of what a link in its place leads to.
        let flags = rustix::fs::OFlags::DIRECTORY | rustix::fs::OFlags::NOFOLLOW;
        let mut options = fs::File::options();
        options.read(true).custom_flags(flags.bits().cast_signed());
        let created = options.open(directory)?;
        created.set_permissions(fs::Permissions::from_mode(0o1777))?;
    }
    Ok(())
}

fn digest(message: &[u8]) -> String {
    encode_string(&Sha256::digest(message))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test")]
mod tests {
    use super::*;

    fn mailbox(folder: &Path, name: &[u8]) -> Mailbox {
        let id = MemberName::new(name).unwrap();
        Mailbox::new(folder, "decision-0".into(), id, 99).unwrap()
    }

    /// Returns the only file of alice.
    fn file_of_alice(folder: &Path) -> PathBuf {
        let entries = fs::read_dir(folder).unwrap();
        let mut paths = entries.map(|entry| entry.unwrap().path()).filter(|path| {
            let name = path.file_name().unwrap().to_str().unwrap();
            name.starts_with("decision-0.alice.") && path.is_file()
        });
        let path = paths.next().unwrap();
        assert_eq!(paths.next(), None);
        path
    }

    #[test]
    fn overwritten_and_removed_messages_arrive() {
        let folder = tempfile::tempdir().unwrap();
        let mailbox = |name| mailbox(folder.path(), name);
        let (mut alice, mut bob) = (mailbox(b"alice"), mailbox(b"bob"));
        for number in 0..300 {
            let name = format!("decision-0.eve.00.{number:064}");
            fs::write(folder.path().join(name), b"junk").unwrap();
        }
        alice.send(b"message");
        let path = file_of_alice(folder.path());
        fs::write(&path, b"junk").unwrap();
        // 300 files of junk and the overwritten message take two looks, and are not read again.
        assert_eq!(bob.receive(), []);
        assert_eq!(bob.receive(), []);
        assert_eq!(bob.junk.len(), 301);
        alice.restore();
        let alice_id = MemberName::new(b"alice").unwrap();
        assert_eq!(bob.receive(), [(alice_id, b"message".to_vec())]);
        assert_eq!(bob.receive(), []);
        assert_eq!(alice.receive(), []);
        fs::remove_file(&path).unwrap();
        alice.restore();
        assert_eq!(fs::read(&path).unwrap(), b"message");
        // Messages of another decision are not read.
        let other = MemberName::new(b"carol").unwrap();
        let mut other = Mailbox::new(folder.path(), "decision-01".into(), other, 99).unwrap();
        assert_eq!(other.receive(), []);
    }

    /// A directory under the name of a message, and a removed folder, end nothing.
    #[test]
    fn messages_arrive_in_spite_of_directories_and_removal() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("shared");
        let (mut alice, mut bob) = (mailbox(&folder, b"alice"), mailbox(&folder, b"bob"));
        alice.send(b"message");
        let path = file_of_alice(&folder);
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert_eq!(bob.receive(), []);
        alice.restore();
        let alice_id = MemberName::new(b"alice").unwrap();
        assert_eq!(bob.receive(), [(alice_id, b"message".to_vec())]);
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(bob.receive(), []);
        alice.send(b"next");
        assert_eq!(bob.receive(), [(alice_id, b"next".to_vec())]);
        // A file in place of the folder is an error that passes.
        fs::remove_dir_all(&folder).unwrap();
        fs::write(&folder, b"junk").unwrap();
        alice.send(b"last");
        assert_eq!(bob.receive(), []);
        let kinds = [io::ErrorKind::NotFound, io::ErrorKind::NotADirectory];
        assert!(bob.reported.iter().eq(&kinds), "{:?}", bob.reported);
        fs::remove_file(&folder).unwrap();
        alice.restore();
        assert_eq!(bob.receive(), [(alice_id, b"last".to_vec())]);
    }

    /// Pipes do not block, links are not followed, and long files are not read.
    #[cfg(unix)]
    #[test]
    fn only_regular_files_of_bounded_size_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let mut bob = mailbox(folder.path(), b"bob");
        let named = |message: &[u8]| {
            let name = format!("decision-0.eve.00.{}", digest(message));
            folder.path().join(name)
        };
        let made = std::process::Command::new("mkfifo")
            .arg(named(b"pipe"))
            .arg(folder.path().join("decision-0.eve.x.y"))
            .status();
        assert!(made.unwrap().success());
        fs::write(folder.path().join("elsewhere"), b"link").unwrap();
        std::os::unix::fs::symlink("elsewhere", named(b"link")).unwrap();
        fs::write(named(&[1; 100]), [1; 100]).unwrap();
        fs::create_dir(named(b"directory")).unwrap();
        assert_eq!(bob.receive(), []);
        fs::write(named(&[1; 99]), [1; 99]).unwrap();
        assert_eq!(bob.receive().len(), 1);
        assert_eq!(bob.reported.len(), 0);
    }
}
