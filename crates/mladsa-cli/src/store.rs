//! The store of a member: a private directory with its secret and its journal.

use std::fs::{self, File};
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base16ct::lower::encode_string;
use mladsa_aggregate::{Epoch, MasterSeed, Member, MemberName, OneTimeKeyJournal, SigningTask};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use crate::failed;
use crate::files;

/// Greatest length of the secret file.
const SECRET_LIMIT: u64 = 4096;

/// The parameters of a store, and its secret for the epoch.
pub(crate) struct Store {
    directory: PathBuf,
    pub(crate) id: MemberName,
    pub(crate) epoch: Arc<Epoch>,
    seed: Zeroizing<[u8; 32]>,
    /// The directory of the high-water marks, if it is another one.
    marks: Option<PathBuf>,
}

/// Where the store of a member is.
#[derive(clap::Args)]
pub(crate) struct StoreArgs {
    /// Directory of the member, readable by its user alone
    #[arg(long, value_name = "DIRECTORY")]
    store: PathBuf,
    /// Directory of the high-water mark of the journal, on a medium that is never restored together
    /// with the store: a restored store is refused then
    #[arg(long, value_name = "DIRECTORY")]
    marks: Option<PathBuf>,
}

impl StoreArgs {
    pub(crate) fn exists(&self) -> bool {
        self.store.join("secret").exists()
    }
}

impl Store {
    /// Creates the store of a new member, in a directory that does not exist or is empty.
    pub(crate) fn create(args: &StoreArgs, id: MemberName, epoch: &Arc<Epoch>) -> io::Result<Self> {
        let directory = &args.store;
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
            marks: args.marks.clone(),
        };
        store.create_journal()?;
        files::write(&store.secret(), &store.encode(), false, false)?;
        Ok(store)
    }

    /// Opens a store, which must belong to this user alone.
    pub(crate) fn open(args: &StoreArgs) -> io::Result<Self> {
        let directory = &args.store;
        expect_own(directory)?;
        let path = directory.join("secret");
        expect_own(&path)?;
        let text = Zeroizing::new(files::read(&path, SECRET_LIMIT)?);
        let decoded = Self::decode(args, &text);
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
        let log = self.directory.join(format!("epoch-{epoch}.log"));
        let mark = match &self.marks {
            Some(marks) => marks.join(format!("{}-epoch-{epoch}.mark", self.id)),
            None => self.directory.join(format!("epoch-{epoch}.mark")),
        };
        [log, mark]
    }

    /// Returns an error if the slot was decided with another payload.
    pub(crate) fn expect_undecided(&self, task: &SigningTask) -> io::Result<()> {
        let path = self.decided(task);
        if path.exists() && files::read(&path, 64)? != payload_digest(task) {
            let slot = task.slot();
            let why = format!("slot {slot} was decided with another payload: use the next slot");
            return Err(io::Error::other(why));
        }
        Ok(())
    }

    /// Records that a slot is decided.
    pub(crate) fn record_decision(&self, task: &SigningTask) -> io::Result<()> {
        files::write(&self.decided(task), &payload_digest(task), true, false)
    }

    fn decided(&self, task: &SigningTask) -> PathBuf {
        let (epoch, slot) = (self.epoch.number(), task.slot());
        self.directory.join(format!("epoch-{epoch}.slot-{slot}"))
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

    fn decode(args: &StoreArgs, text: &[u8]) -> Option<Self> {
        let text = core::str::from_utf8(text).ok()?.strip_suffix('\n')?;
        let [magic, id, domain, number, slots, attempts, digits] =
            text.split(' ').collect::<Vec<_>>().try_into().ok()?;
        let domain = base16ct::lower::decode_vec(domain).ok()?;
        let (number, slots) = (number.parse().ok()?, slots.parse().ok()?);
        let mut seed = Zeroizing::new([0; 32]);
        let decoded = base16ct::lower::decode(digits, &mut *seed).ok()?;
        (magic == "mladsa-store-1" && decoded.len() == 32).then_some(())?;
        Some(Self {
            directory: args.store.clone(),
            id: MemberName::new(id.as_bytes()).ok()?,
            epoch: Epoch::new(&domain, number, slots, attempts.parse().ok()?).ok()?,
            seed,
            marks: args.marks.clone(),
        })
    }
}

fn payload_digest(task: &SigningTask) -> Vec<u8> {
    encode_string(&Sha256::digest(task.payload())).into_bytes()
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
