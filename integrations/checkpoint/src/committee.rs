//! Members with guards on disk and agreed key roots.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mladsa_aggregate::errors::JournalError;
use mladsa_aggregate::{
    AgreedRoots, EpochPlan, EpochTree, Error, FileWriteOnceStore, MasterSeed, MemberId,
    OneTimeKeyJournal, PinnedRoots, QuorumRule, Registry, TaskId,
};
use mldsa_core::Randomness;

/// Domain of all checkpoints.
pub(crate) const DOMAIN: &[u8] = b"example/checkpoint/v1";

/// Member: keys, guard directory and agreed roots.
#[derive(Debug)]
pub struct Member {
    pub(crate) member: Arc<mladsa_aggregate::Member>,
    pub(crate) tree: Arc<EpochTree>,
    pub(crate) agreed: AgreedRoots,
    directory: PathBuf,
}

/// Members of one epoch.
#[derive(Debug)]
pub struct Committee {
    pub(crate) members: Vec<Member>,
    epoch: u64,
}

impl Member {
    /// Opens the guard of the member.
    ///
    /// # Errors
    /// [`JournalError`] if another guard is open, or if the files are not the last state written.
    pub fn guard(&self) -> Result<OneTimeKeyJournal, JournalError> {
        let [log, mark] = self.files();
        OneTimeKeyJournal::open_files(&log, &mark, self.member.seed())
    }

    /// Guard files: log and high-water mark.
    #[must_use]
    pub fn files(&self) -> [PathBuf; 2] {
        files(&self.directory)
    }

    pub(crate) fn id(&self) -> MemberId {
        *self.member.id()
    }
}

/// Guard files. In production the mark is on another device, so that no backup contains both.
fn files(directory: &Path) -> [PathBuf; 2] {
    ["guard", "mark"].map(|name| directory.join(name))
}

impl Committee {
    /// Committee of `n` members that may sign `checkpoints` checkpoints in this epoch. Its files
    /// are created in the empty directory `directory`.
    ///
    /// # Errors
    /// File system errors and [`Error`].
    pub fn new(directory: &Path, n: u32, epoch: u64, checkpoints: u64) -> anyhow::Result<Self> {
        let members: Vec<_> = (0..n).map(member).collect::<Result<_, _>>()?;
        let registrations = members
            .iter()
            .map(|m| m.register(Randomness::Deterministic));
        let registrations = registrations.collect::<Result<Vec<_>, _>>()?;
        let registry = Registry::new(&[7; 32], registrations, &QuorumRule::TwoThirds)?;
        let identity = registry.identity(epoch);
        let plan = plan(n as usize, epoch, checkpoints)?;

        let (mut guards, mut trees, mut roots) = (Vec::new(), Vec::new(), Vec::new());
        let homes: Vec<_> = (0..n).map(|n| directory.join(n.to_string())).collect();
        for (member, home) in members.iter().zip(&homes) {
            fs::create_dir_all(home.join("pins"))?;
            let [log, mark] = files(home);
            let mut guard = OneTimeKeyJournal::create_files(&log, &mark, member.seed())?;
            let tree = member.epoch_tree(&registry, &plan)?;
            roots.push(member.announce(&tree, &mut guard, Randomness::Deterministic)?);
            trees.push(tree);
            guards.push(guard);
        }
        // Each member pins the announced roots and acknowledges them. Agreement requires equal
        // acknowledgements of more than two thirds.
        let (mut pinned, mut acknowledgements) = (Vec::new(), Vec::new());
        for ((member, guard), home) in members.iter().zip(&mut guards).zip(&homes) {
            let mut pins = FileWriteOnceStore::new(&home.join("pins"));
            let roots = PinnedRoots::pin(&mut pins, &registry, &plan, &roots)?;
            acknowledgements.push(member.acknowledge(&roots, guard, Randomness::Deterministic)?);
            pinned.push(roots);
        }
        let agreed: Result<Vec<_>, _> = pinned
            .iter()
            .map(|p| AgreedRoots::from_pin(&identity, p, &acknowledgements))
            .collect();
        let members = members.into_iter().zip(trees).zip(agreed?).zip(homes);
        Ok(Self {
            members: members
                .map(|(((member, tree), agreed), directory)| Member {
                    member: Arc::new(member),
                    tree: Arc::new(tree),
                    agreed,
                    directory,
                })
                .collect(),
            epoch,
        })
    }

    /// Members, in order.
    #[must_use]
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    pub(crate) fn label(&self, slot: u64) -> TaskId {
        label(self.epoch, slot)
    }
}

/// Plan of an epoch of `n` members.
pub(crate) fn plan(n: usize, epoch: u64, checkpoints: u64) -> Result<EpochPlan, Error> {
    let contents = (0..checkpoints).map(|slot| label(epoch, slot)).collect();
    let attempts = EpochPlan::attempts_for(n);
    Ok(EpochPlan::with_attempts(epoch, contents, attempts)?)
}

fn label(epoch: u64, slot: u64) -> TaskId {
    TaskId::for_slot(DOMAIN, epoch, slot, 0)
}

/// Member with fixed secrets, so that runs are repeatable. In production a seed is random and
/// belongs to one guard.
fn member(n: u32) -> Result<mladsa_aggregate::Member, Error> {
    let id = MemberId::new(format!("validator-{n}").as_bytes())?;
    let secret = |first: u8| {
        let mut seed = [first; 32];
        seed[..4].copy_from_slice(&n.to_le_bytes());
        seed
    };
    let seed = MasterSeed::from_bytes(&secret(1));
    Ok(mladsa_aggregate::Member::new(id, seed, &secret(2)))
}
