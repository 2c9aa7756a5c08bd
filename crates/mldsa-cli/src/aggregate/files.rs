//! What lies where: the committee's directory and a member's store.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mladsa_aggregate::{
    BaseLabel, EpochPlan, EpochTree, FileGuard, FileRootStore, MasterSeed, Member, MemberId,
    PinnedRoots, Registration, Registry, RootAnnouncement,
};
use mldsa_core::Hedge;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::PlanArgs;

/// What the whole committee has agreed on, as a file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PlanFile {
    rho: String,
    epoch: u64,
    attempts: u8,
    contents: Vec<String>,
}

/// The directory that the committee shares: `plan.json`, `registrations/`,
/// `roots/`.
pub(crate) struct Committee {
    path: PathBuf,
    rho: [u8; 32],
    pub(crate) plan: EpochPlan,
}

impl Committee {
    pub(crate) fn create(path: &Path, args: &PlanArgs) -> io::Result<Self> {
        fs::create_dir_all(path.join("registrations"))?;
        fs::create_dir_all(path.join("roots"))?;
        let mut rho = [0; 32];
        getrandom::fill(&mut rho).map_err(io::Error::other)?;
        let plan = PlanFile {
            rho: rho.iter().map(|byte| format!("{byte:02x}")).collect(),
            epoch: args.epoch,
            attempts: args.attempts,
            contents: args.contents.clone(),
        };
        plan.parse()?;
        write_new(
            &path.join("plan.json"),
            &serde_json::to_vec_pretty(&plan)?,
            false,
        )?;
        Self::open(path)
    }

    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let file: PlanFile = serde_json::from_slice(&read(&path.join("plan.json"))?)?;
        let (rho, plan) = file.parse()?;
        Ok(Self {
            path: path.into(),
            rho,
            plan,
        })
    }

    pub(crate) fn register(&self, store: &Store) -> io::Result<()> {
        let rnd = random()?;
        let registration = store.member.register(Hedge::Bytes(&rnd)).map_err(refused)?;
        publish(
            &self
                .path
                .join("registrations")
                .join(file_name(store.member.id())),
            &registration.to_bytes(),
        )
    }

    pub(crate) fn announce(&self, store: &Store) -> io::Result<()> {
        let tree = self.tree(store)?;
        let rnd = random()?;
        let root = store
            .member
            .announce(&tree, Hedge::Bytes(&rnd))
            .map_err(refused)?;
        publish(
            &self.path.join("roots").join(file_name(store.member.id())),
            &root.to_bytes(),
        )
    }

    pub(crate) fn tree(&self, store: &Store) -> io::Result<EpochTree> {
        let matrix = mladsa_aggregate::Matrix::expand(&self.rho);
        store
            .member
            .epoch_tree(&matrix, &self.plan)
            .map_err(refused)
    }

    /// Reads all registrations and roots and pins the list in `store`: what comes
    /// later is refused.
    pub(crate) fn pin(&self, store: &Path) -> io::Result<PinnedRoots> {
        let entries: Result<Vec<_>, _> = read_all(&self.path.join("registrations"))?
            .iter()
            .map(|bytes| Registration::from_bytes(bytes))
            .collect();
        let registry: Arc<Registry> =
            Registry::new(&self.rho, entries.map_err(refused)?).map_err(refused)?;
        let roots: Result<Vec<_>, _> = read_all(&self.path.join("roots"))?
            .iter()
            .map(|bytes| RootAnnouncement::from_bytes(bytes))
            .collect();
        fs::create_dir_all(store)?;
        let mut pins = FileRootStore::new(store);
        PinnedRoots::pin(&mut pins, &registry, &self.plan, &roots.map_err(refused)?)
            .map_err(refused)
    }
}

impl PlanFile {
    fn parse(&self) -> io::Result<([u8; 32], EpochPlan)> {
        let bad = || io::Error::other("plan.json: rho is not 64 hex digits");
        let mut rho = [0; 32];
        if self.rho.len() != 64 || !self.rho.is_ascii() {
            return Err(bad());
        }
        for (n, byte) in rho.iter_mut().enumerate() {
            let digits = self.rho.get(2 * n..2 * n + 2).ok_or_else(bad)?;
            *byte = u8::from_str_radix(digits, 16).map_err(|_| bad())?;
        }
        let contents: Result<Vec<_>, _> = self
            .contents
            .iter()
            .map(|content| BaseLabel::new(content.as_bytes()))
            .collect();
        let contents = contents.map_err(refused)?;
        let plan =
            EpochPlan::with_attempts(self.epoch, contents, self.attempts).map_err(refused)?;
        Ok((rho, plan))
    }
}

/// A member's own directory: its name, its secrets (mode 0600), its guard and the
/// lists that it has pinned.
pub(crate) struct Store {
    path: PathBuf,
    pub(crate) member: Member,
}

impl Store {
    /// Makes the secrets and the guard, or completes an interrupted beginning.
    pub(crate) fn create(path: &Path, id: &[u8]) -> io::Result<Self> {
        fs::create_dir_all(path)?;
        MemberId::new(id).map_err(refused)?;
        if !path.join("secret").exists() {
            let mut secret = Zeroizing::new([0; 64]);
            getrandom::fill(&mut *secret).map_err(io::Error::other)?;
            write_new(&path.join("secret"), &*secret, true)?;
        }
        if !path.join("id").exists() {
            write_new(&path.join("id"), id, false)?;
        }
        let store = Self::open(path)?;
        if store.member.id().as_bytes() != id {
            return Err(io::Error::other("the store belongs to another member"));
        }
        FileGuard::create(
            &path.join("guard.log"),
            &path.join("guard.mark"),
            store.member.seed(),
        )
        .map_err(refused)?;
        Ok(store)
    }

    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let secret = Zeroizing::new(read(&path.join("secret"))?);
        let id = MemberId::new(&read(&path.join("id"))?).map_err(refused)?;
        let (seed, xi) = match secret.as_chunks() {
            ([seed, xi], []) => (seed, xi),
            _ => return Err(io::Error::other("the secret does not have 64 bytes")),
        };
        Ok(Self {
            path: path.into(),
            member: Member::new(id, MasterSeed::from_bytes(seed), xi),
        })
    }

    pub(crate) fn guard(&self) -> io::Result<FileGuard> {
        let (log, mark) = (self.path.join("guard.log"), self.path.join("guard.mark"));
        FileGuard::open(&log, &mark, self.member.seed()).map_err(refused)
    }
}

pub(crate) fn refused(error: mladsa_aggregate::Error) -> io::Error {
    io::Error::other(error)
}

/// A name that every file system takes.
pub(crate) fn file_name(id: &MemberId) -> String {
    id.as_bytes()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

fn random() -> io::Result<Zeroizing<[u8; 32]>> {
    let mut rnd = Zeroizing::new([0; 32]);
    getrandom::fill(&mut *rnd).map_err(io::Error::other)?;
    Ok(rnd)
}

pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    fs::read(path)
        .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))
}

/// All finished files of a directory, in the order of their names.
fn read_all(path: &Path) -> io::Result<Vec<Vec<u8>>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(path)? {
        let path = entry?.path();
        if path.extension().is_none() {
            names.push(path);
        }
    }
    names.sort();
    names.iter().map(|path| read(path)).collect()
}

/// Writes a file that others may read at any time: whole or not at all.
pub(crate) fn publish(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let next = path.with_extension(format!("{}.tmp", std::process::id()));
    fs::write(&next, bytes)?;
    fs::rename(&next, path)
}

/// Writes a file that must not exist yet, and flushes it.
fn write_new(path: &Path, bytes: &[u8], secret: bool) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    if secret {
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    }
    #[cfg(not(unix))]
    let _ = secret;
    let mut file = options
        .open(path)
        .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))?;
    file.write_all(bytes)?;
    file.sync_all()
}
