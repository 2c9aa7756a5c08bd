//! The store of a member: a private directory with its secret and its journal.

use std::fs::{self, File};
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base16ct::lower::encode_string;
use mladsa_aggregate::{Epoch, MasterSeed, Member, MemberId, OneTimeKeyJournal};
use zeroize::Zeroizing;

use crate::failed;
use crate::files;

/// Greatest length of the secret file.
const SECRET_LIMIT: u64 = 4096;

/// The parameters of a store, and its secret for the epoch.
pub(crate) struct Store {
    directory: PathBuf,
    pub(crate) id: MemberId,
    pub(crate) epoch: Arc<Epoch>,
    seed: Zeroizing<[u8; 32]>,
}

impl Store {
    /// Creates the store of a new member, in a directory that does not exist or is empty.
    pub(crate) fn create(directory: &Path, id: MemberId, epoch: &Arc<Epoch>) -> io::Result<Self> {
        if !directory.exists() {
            #[cfg(unix)]
            let created = std::os::unix::fs::DirBuilderExt::mode(&mut fs::DirBuilder::new(), 0o700)
                .create(directory);
            #[cfg(not(unix))]
            let created = fs::create_dir(directory);
            created?;
        }
        expect_own(directory)?;
        let mut seed = Zeroizing::new([0; 32]);
        getrandom::fill(&mut *seed)?;
        let store = Self {
            directory: directory.into(),
            id,
            epoch: Arc::clone(epoch),
            seed,
        };
        store.create_journal()?;
        files::write(&store.secret(), &store.encode(), false, false)?;
        Ok(store)
    }

    /// Opens a store, which must belong to this user alone.
    pub(crate) fn open(directory: &Path) -> io::Result<Self> {
        expect_own(directory)?;
        let path = directory.join("secret");
        expect_own(&path)?;
        let text = Zeroizing::new(files::read(&path, SECRET_LIMIT)?);
        let decoded = Self::decode(directory, &text);
        decoded.ok_or_else(|| io::Error::other(format!("{}: not a secret", path.display())))
    }

    /// Moves the store to a later epoch: derives the successor of the secret for each epoch between,
    /// creates its journal, replaces and overwrites the secret, and removes the journal before.
    pub(crate) fn advance(&mut self, epoch: &Arc<Epoch>) -> io::Result<()> {
        let between = epoch.number().checked_sub(self.epoch.number());
        let steps = between.filter(|steps| (1..=1 << 20).contains(steps));
        let steps = steps.ok_or_else(|| io::Error::other("the epoch is not a later one"))?;
        let before = self.journal_files();
        for _ in 0..steps {
            let next = MasterSeed::from_bytes(&self.seed).successor();
            *self.seed = next;
        }
        self.epoch = Arc::clone(epoch);
        self.create_journal()?;
        // The name moves to the new secret; the blocks of the old one are overwritten.
        let mut old = File::options().write(true).open(self.secret())?;
        files::write(&self.secret(), &self.encode(), true, false)?;
        old.rewind()?;
        let mut zeros = io::repeat(0).take(old.metadata()?.len());
        io::copy(&mut zeros, &mut old)?;
        old.sync_all()?;
        before.iter().try_for_each(fs::remove_file)
    }

    /// Derives the member and all its one-time keys of the epoch.
    pub(crate) fn member(&self) -> io::Result<Member> {
        let seed = MasterSeed::from_bytes(&self.seed);
        Member::new(self.id, seed, &self.epoch).map_err(failed)
    }

    /// Opens the journal. It is created with the secret only: a secret whose journal is lost signs
    /// nothing.
    pub(crate) fn journal(&self) -> io::Result<OneTimeKeyJournal> {
        let [log, mark] = self.journal_files();
        let seed = MasterSeed::from_bytes(&self.seed);
        OneTimeKeyJournal::open_files(&log, &mark, &seed).map_err(failed)
    }

    /// Creates the journal of the epoch, or finds the one that an interrupted step has created, with
    /// which nothing was signed.
    fn create_journal(&self) -> io::Result<()> {
        let [log, mark] = self.journal_files();
        let seed = MasterSeed::from_bytes(&self.seed);
        match OneTimeKeyJournal::create_files(&log, &mark, &seed) {
            Ok(_) => Ok(()),
            Err(error) => match self.journal() {
                Ok(journal) if journal.committee(self.epoch.number()).is_none() => Ok(()),
                _ => Err(failed(error)),
            },
        }
    }

    fn journal_files(&self) -> [PathBuf; 2] {
        let epoch = self.epoch.number();
        ["log", "mark"].map(|name| self.directory.join(format!("epoch-{epoch}.{name}")))
    }

    fn secret(&self) -> PathBuf {
        self.directory.join("secret")
    }

    fn encode(&self) -> Zeroizing<Vec<u8>> {
        let epoch = &self.epoch;
        let seed = Zeroizing::new(encode_string(&*self.seed));
        let text = format!(
            "mladsa-store-1 {} {} {} {} {} {}\n",
            self.id,
            encode_string(epoch.domain()),
            epoch.number(),
            epoch.slots(),
            epoch.attempts(),
            *seed,
        );
        Zeroizing::new(text.into_bytes())
    }

    fn decode(directory: &Path, text: &[u8]) -> Option<Self> {
        let text = core::str::from_utf8(text).ok()?.strip_suffix('\n')?;
        let [magic, id, domain, number, slots, attempts, digits] =
            text.split(' ').collect::<Vec<_>>().try_into().ok()?;
        let domain = base16ct::lower::decode_vec(domain).ok()?;
        let (number, slots) = (number.parse().ok()?, slots.parse().ok()?);
        let mut seed = Zeroizing::new([0; 32]);
        let decoded = base16ct::lower::decode(digits, &mut *seed).ok()?;
        (magic == "mladsa-store-1" && decoded.len() == 32).then_some(())?;
        Some(Self {
            directory: directory.into(),
            id: MemberId::new(id.as_bytes()).ok()?,
            epoch: Epoch::new(&domain, number, slots, attempts.parse().ok()?).ok()?,
            seed,
        })
    }
}

/// Rejects a path that belongs to another user, or that others can write or, if it is a file, read.
fn expect_own(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let metadata = fs::symlink_metadata(path).map_err(|error| {
            io::Error::new(error.kind(), format!("{}: {error}", path.display()))
        })?;
        let forbidden = if metadata.is_file() { 0o077 } else { 0o022 };
        let own = metadata.uid() == rustix::process::geteuid().as_raw();
        if !own || metadata.is_symlink() || metadata.mode() & forbidden != 0 {
            let why = format!(
                "{}: belongs to another user or is open to others",
                path.display()
            );
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
        }
    }
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
}
