//! Store of one member: name, secrets, one-time journal, trees, pinned lists.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mladsa_aggregate::storage::FileMark;
use mladsa_aggregate::{MasterSeed, Member, MemberId, OneTimeKeyJournal};
use mldsa_core::Backend;
use mldsa_core::internals::Shake256;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use super::dirs::{
    TempPaths, expect_apart, expect_private, member_id, named, publish, publish_first, read,
    refused,
};
use super::registrations::{expect_free, register};
use crate::commit::flush_directory;
use crate::input::read_small;
use crate::paths::{is_inside, is_still};
use crate::random::random;

/// A store. Its `secret` file records whether the journal was ever complete: from then on a missing
/// journal is an error and never made anew. After a rotation it also records the last epoch that the
/// new seed does not serve. A change of the secret holds the lock of the store, and the journal's if
/// there is one.
pub(crate) struct Store {
    pub(crate) path: PathBuf,
    secret: Secret,
    pub(crate) member: Arc<Member>,
}

/// The `secret` file: `"MLADSAS4" || has_journal || BE32(generation) || BE64(closed) || seed || xi ||
/// digest`. The digest over all before it binds the public fields to the seed: only a holder of the
/// seed can change them.
struct Secret {
    has_journal: bool,
    /// Number of rotations.
    generation: u32,
    /// The last epoch that the seed does not serve.
    closed: u64,
    /// Master seed and registration seed.
    random: Zeroizing<[u8; 64]>,
}

const MAGIC: &[u8; 8] = b"MLADSAS4";
const CONTENT_LEN: usize = 8 + 1 + 4 + 8 + 64;
const SECRET_LEN: usize = CONTENT_LEN + 32;

impl Secret {
    fn parse(bytes: &[u8]) -> Option<Self> {
        let (content, found) = bytes.split_last_chunk::<32>()?;
        if !bool::from(digest(content).ct_eq(found)) {
            return None;
        }
        let rest = content.strip_prefix(MAGIC)?;
        let (&[has_journal @ 0..=1], rest) = rest.split_first_chunk()? else {
            return None;
        };
        let (&generation, rest) = rest.split_first_chunk()?;
        let (&closed, rest) = rest.split_first_chunk()?;
        let mut random = Zeroizing::new([0; 64]);
        random.copy_from_slice(<&[u8; 64]>::try_from(rest).ok()?);
        Some(Self {
            has_journal: has_journal == 1,
            generation: u32::from_be_bytes(generation),
            closed: u64::from_be_bytes(closed),
            random,
        })
    }

    /// Replaces the file in `store` and overwrites the previous content, as far as the file system
    /// writes in place. The caller holds the lock of the store.
    fn write(&self, store: &Path) -> io::Result<()> {
        let mut bytes = Zeroizing::new([0; SECRET_LEN]);
        bytes[..8].copy_from_slice(MAGIC);
        bytes[8] = self.has_journal.into();
        bytes[9..13].copy_from_slice(&self.generation.to_be_bytes());
        bytes[13..21].copy_from_slice(&self.closed.to_be_bytes());
        bytes[21..CONTENT_LEN].copy_from_slice(&*self.random);
        let (content, end) = bytes.split_at_mut(CONTENT_LEN);
        end.copy_from_slice(&digest(content));
        let path = store.join("secret");
        let write = || {
            let next = store.join(NEXT_SECRET);
            let mut options = OpenOptions::new();
            options.write(true).create_new(true);
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            let mut file = options.open(&next)?;
            let written = file.write_all(&*bytes).and_then(|()| file.sync_all());
            written.inspect_err(|_| drop(erase(&next)))?;
            let old = match OpenOptions::new().write(true).open(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => None,
                old => Some(old?),
            };
            fs::rename(&next, &path)?;
            flush_directory(&path)?;
            old.map_or(Ok(()), overwrite)
        };
        write().map_err(|error: io::Error| named(&path, error))
    }
}

/// Name of a secret that is not complete yet.
const NEXT_SECRET: &str = "secret.next";

fn digest(content: &[u8]) -> [u8; 32] {
    let mut digest = [0; 32];
    let permutation = Backend::detect().permutation();
    Shake256::digest(permutation, &[b"MLADSA secret", content], &mut digest);
    digest
}

fn overwrite(mut file: File) -> io::Result<()> {
    file.write_all(&[0; SECRET_LEN])?;
    file.sync_all()
}

/// Overwrites and removes a file with a secret.
fn erase(path: &Path) -> io::Result<()> {
    overwrite(OpenOptions::new().write(true).open(path)?)?;
    fs::remove_file(path)
}

/// Removes the files that an interrupted command has left in a store; one with a seed is overwritten.
/// The caller holds the lock of the store.
fn sweep(store: &Path) -> io::Result<()> {
    match erase(&store.join(NEXT_SECRET)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => sweep_staged(store),
    }
}

/// The part of [`sweep`] without secrets. The caller holds the lock or the journal of the store.
fn sweep_staged(store: &Path) -> io::Result<()> {
    for entry in fs::read_dir(store)?.flatten() {
        let name = entry.file_name();
        let name = name.as_encoded_bytes();
        let is_staged = name.starts_with(b"mldsa-") && name.ends_with(b".tmp");
        let is_list = name.starts_with(b"epoch-") && name.ends_with(b".next");
        if is_staged || is_list {
            match fs::remove_file(entry.path()) {
                // Another command has removed its own one.
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
    }
    Ok(())
}

impl Store {
    /// Makes a member: directories, secrets, journal, registration. It can be repeated until the
    /// secret records that the journal is complete. A failure before the registration removes what
    /// was made.
    pub(crate) fn init(
        committee: &Path,
        path: &Path,
        id: &str,
        mark: Option<&Path>,
    ) -> io::Result<Self> {
        let id = member_id(id.as_bytes())?;
        let (mut made, mut lock) = (TempPaths::default(), None);
        let begun = Self::begin(committee, path, id, mark, &mut made, &mut lock);
        let registered = begun.and_then(|(store, journal)| {
            register(committee, &store.member, &mut made)?;
            Ok((store, journal))
        });
        let (mut store, _journal) = made.unless(registered)?;
        store.complete()?;
        Ok(store)
    }

    /// The part of [`init`](Self::init) before the registration. The caller holds the lock until
    /// it has removed what was made.
    fn begin(
        committee: &Path,
        path: &Path,
        id: MemberId,
        mark: Option<&Path>,
        made: &mut TempPaths,
        lock: &mut Option<File>,
    ) -> io::Result<(Self, OneTimeKeyJournal)> {
        expect_apart("--committee", committee, path)?;
        let mark = mark.map(|mark| mark_path(mark, committee, path));
        let mark = mark.transpose()?;
        let (name, secret) = (path.join("id"), path.join("secret"));
        // Before anything is made.
        if secret.exists() {
            if !name.exists() {
                return Err(named(path, "the store exists, but its name is gone"));
            }
        } else {
            expect_free(committee, &id)?;
            if let Some(mark) = &mark {
                expect_new(&numbered(mark, 0))?;
            }
        }
        made.private_directory(path)?;
        // Again: a link may lead to the new directory.
        expect_apart("--committee", committee, path)?;
        *lock = Some(Self::lock(path)?);
        if !secret.exists() {
            // The lock is an empty file.
            made.push(&path.join("lock"));
            if has_files(path, b"guard-")? {
                return Err(named(path, "the store exists, but its secret is gone"));
            }
        }
        if publish_first(&name, id.as_bytes())? {
            made.push(&name);
        } else if read(&name)? != id.as_bytes() {
            return Err(named(path, "the store belongs to another member"));
        }
        if !secret.exists() {
            made.push(&secret);
            let new = Secret {
                has_journal: false,
                generation: 0,
                closed: 0,
                random: random()?,
            };
            new.write(path)?;
        }
        let store = Self::read(path)?;
        if store.secret.has_journal {
            return Err(named(path, "the store exists"));
        }
        if store.secret.generation == 0 && has_files(path, b"epoch-")? {
            let why = "the seed of this store has served an epoch: make a new member";
            return Err(named(path, why));
        }
        let journal = store.make_journal(mark.as_deref(), made)?;
        Ok((store, journal))
    }

    /// Locks the store against other processes that make or rotate it.
    fn lock(path: &Path) -> io::Result<File> {
        let name = path.join("lock");
        // Some file systems lock only files that are open for writing.
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true);
        let lock = options.open(&name).map_err(|error| named(&name, error))?;
        match lock.try_lock() {
            // Another process may have removed the file that it had made.
            Ok(()) if is_still(&lock, &name) => {
                sweep(path).map_err(|error| named(path, error))?;
                Ok(lock)
            }
            Err(TryLockError::Error(error)) => {
                let _ = fs::remove_file(&name);
                Err(named(&name, error))
            }
            _ => {
                let why = "another process makes or rotates this store now";
                Err(named(path, why))
            }
        }
    }

    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let store = Self::read(path)?;
        if store.secret.has_journal {
            Ok(store)
        } else {
            let why = "the store is incomplete: finish `init` or `rotate`";
            Err(named(path, why))
        }
    }

    fn read(path: &Path) -> io::Result<Self> {
        expect_private(path)?;
        let bytes = read_small(&path.join("secret"))?;
        let name = path.join("id");
        let id = member_id(&read(&name)?).map_err(|error| named(&name, error))?;
        let secret = Secret::parse(&bytes).ok_or_else(|| {
            let why = "the secret is malformed, or of an older version: retire it";
            named(path, why)
        })?;
        let ([seed, xi], _) = secret.random.as_chunks() else {
            return Err(io::ErrorKind::InvalidData.into());
        };
        let member = Member::new(id, MasterSeed::from_bytes(seed), xi);
        Ok(Self {
            path: path.into(),
            secret,
            member: Arc::new(member),
        })
    }

    /// Makes the journal of a fresh seed, with its mark at `mark` if it has none yet. A new seed
    /// serves no epoch of an old one.
    fn make_journal(
        &self,
        mark: Option<&str>,
        made: &mut TempPaths,
    ) -> io::Result<OneTimeKeyJournal> {
        let generation = self.secret.generation;
        let (log, known) = self.journal_paths(generation)?;
        let chosen = mark.map(|mark| numbered(mark, generation));
        let at = chosen.as_deref().unwrap_or(&known);
        let seed = self.member.seed();
        let open = |mark: &Path| OneTimeKeyJournal::open_files(&log, mark, seed);
        // The log is made first.
        if !log.exists() {
            expect_new(at)?;
            made.push(&log);
        } else if at != known && open(&known).is_ok() {
            return Err(named(&known, "is the mark of this store"));
        }
        let is_new = !at.exists();
        let lock = FileMark::lock_path(at);
        // Only in the own store: elsewhere another journal may hold it.
        if mark.is_none() && !lock.exists() {
            made.push(&lock);
        }
        let mut journal = OneTimeKeyJournal::create_files(&log, at, seed)
            .or_else(|_| open(at))
            .map_err(|error| named(&log, format!("{error}, with its mark at {}", at.display())))?;
        if is_new {
            made.push(at);
        }
        if let Some(mark) = mark {
            let path = self.path.join("mark-path");
            if !path.exists() {
                made.push(&path);
            }
            publish(&path, mark.as_bytes())?;
        }
        if generation > 0 {
            journal.close_epoch(self.secret.closed).map_err(refused)?;
        }
        Ok(journal)
    }

    /// Records in the secret that the journal is complete.
    fn complete(&mut self) -> io::Result<()> {
        self.secret.has_journal = true;
        self.secret.write(&self.path)
    }

    /// Ends all epochs up to `epoch`, makes a new master seed with a new journal, and erases the old
    /// one. The registration stays.
    pub(crate) fn rotate(path: &Path, epoch: u64) -> io::Result<()> {
        let _lock = Self::lock(path)?;
        let mut store = Self::read(path)?;
        if !store.secret.has_journal && store.secret.generation == 0 {
            return Self::open(path).map(drop);
        }
        if store.secret.has_journal {
            let mut journal = store.journal()?;
            if let Some(last) = journal.last_epoch().filter(|last| *last > epoch) {
                return Err(io::Error::other(format!(
                    "the seed has served epoch {last}, which a new one would not: rotate \
                     when that has ended"
                )));
            }
            let generation = store.secret.generation.checked_add(1);
            let generation = generation.ok_or_else(|| io::Error::other("too many rotations"))?;
            // While the old seed exists.
            let (log, mark) = store.journal_paths(generation)?;
            expect_new(&log)?;
            expect_new(&mark)?;
            journal.close_epoch(epoch).map_err(refused)?;
            let mut next = Secret {
                has_journal: false,
                generation,
                closed: epoch,
                random: store.secret.random.clone(),
            };
            next.random[..32].copy_from_slice(&*random::<32>()?);
            next.write(path)?;
            drop(journal);
            store = Self::read(path)?;
        }
        let mut journal = store.make_journal(None, &mut TempPaths::default())?;
        store.complete()?;
        journal.close_epoch(epoch).map_err(refused)
    }

    /// Ends all epochs up to `epoch`.
    pub(crate) fn close(&self, epoch: u64) -> io::Result<()> {
        self.journal()?.close_epoch(epoch).map_err(refused)
    }

    /// Log and mark of the journal of a generation.
    fn journal_paths(&self, generation: u32) -> io::Result<(PathBuf, PathBuf)> {
        let own = |what| self.path.join(format!("guard-{generation}.{what}"));
        let path = self.path.join("mark-path");
        let mark = match fs::read_to_string(&path) {
            Ok(mark) => numbered(&mark, generation),
            Err(error) if error.kind() == io::ErrorKind::NotFound => own("mark"),
            Err(error) => return Err(named(&path, error)),
        };
        Ok((own("log"), mark))
    }

    pub(crate) fn journal(&self) -> io::Result<OneTimeKeyJournal> {
        let (log, mark) = self.journal_paths(self.secret.generation)?;
        if let Some(path) = [&log, &mark].into_iter().find(|path| !path.exists()) {
            return Err(io::Error::other(format!(
                "the journal of this store is gone ({}): what its seed has signed is not \
                 known any more; make a new member, never a new journal",
                path.display()
            )));
        }
        let journal = OneTimeKeyJournal::open_files(&log, &mark, self.member.seed());
        let journal = journal.map_err(|error| named(&log, error))?;
        sweep_staged(&self.path).map_err(|error| named(&self.path, error))?;
        // `rotate` holds the journal of the old seed until the new seed is written.
        if Self::read(&self.path)?.secret.generation != self.secret.generation {
            return Err(named(&self.path, "the store was rotated just now"));
        }
        Ok(journal)
    }

    /// The file of the member's tree in an epoch.
    pub(crate) fn tree(&self, epoch: u64) -> PathBuf {
        let generation = self.secret.generation;
        self.path.join(format!("epoch-{epoch}-{generation}.tree"))
    }

    /// Whether a directory has a complete store.
    pub(crate) fn is_complete(path: &Path) -> bool {
        Self::read(path).is_ok_and(|store| store.secret.has_journal)
    }
}

/// The text that a store keeps of `--mark`; the generation of the journal is appended to it.
fn mark_path(mark: &Path, committee: &Path, store: &Path) -> io::Result<String> {
    // /media/card would become /media/card.0, which is not on the card.
    if mark.is_dir() {
        return Err(named(mark, "is a directory: name a file in it"));
    }
    let path = std::path::absolute(mark).map_err(|error| named(mark, error))?;
    let path = path.into_os_string().into_string();
    let path = path.map_err(|_| io::Error::other("--mark: not a text"))?;
    let first = numbered(&path, 0);
    for directory in [committee, store] {
        if is_inside(&first, directory) || is_inside(directory, &first) {
            let why = "--mark is to outlive both --committee and --store: name a file elsewhere";
            return Err(named(mark, why));
        }
    }
    match first.parent() {
        Some(parent) if parent.is_dir() => Ok(path),
        _ => Err(named(mark, "is in no directory that exists")),
    }
}

fn numbered(mark: &str, generation: u32) -> PathBuf {
    PathBuf::from(format!("{mark}.{generation}"))
}

/// Rejects a log or mark that exists: it is of another journal.
fn expect_new(path: &Path) -> io::Result<()> {
    if path.exists() {
        return Err(named(path, "exists, and is not of this store"));
    }
    Ok(())
}

/// Whether a store has files whose names begin like this.
fn has_files(store: &Path, prefix: &[u8]) -> io::Result<bool> {
    let entries = fs::read_dir(store).map_err(|error| named(store, error))?;
    let mut names = entries.flatten().map(|entry| entry.file_name());
    Ok(names.any(|name| name.as_encoded_bytes().starts_with(prefix)))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test")]
mod tests;
