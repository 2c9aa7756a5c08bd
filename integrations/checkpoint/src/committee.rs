//! Members with their guards on disk, who have agreed on the roots of their keys.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mladsa_aggregate::errors::JournalError;
use mladsa_aggregate::{
    AgreedRoots, EpochPlan, EpochTree, Error, FileWriteOnceStore, MasterSeed, MemberId,
    OneTimeKeyJournal, PinnedRoots, QuorumPolicy, Registry, TaskId,
};
use mldsa_core::Randomness;

/// What all checkpoints are for.
pub(crate) const DOMAIN: &[u8] = b"example/checkpoint/v1";

/// A member: its keys, the directory of its guard, and what it has agreed to.
#[derive(Debug)]
pub struct Member {
    pub(crate) member: Arc<mladsa_aggregate::Member>,
    pub(crate) tree: Arc<EpochTree>,
    pub(crate) agreed: AgreedRoots,
    directory: PathBuf,
}

/// All members of one epoch.
#[derive(Debug)]
pub struct Committee {
    pub(crate) members: Vec<Member>,
    epoch: u64,
}

impl Member {
    /// Opens its guard as the last one has left it.
    ///
    /// # Errors
    /// [`JournalError`] if the files are not what the guard wrote last.
    pub fn guard(&self) -> Result<OneTimeKeyJournal, JournalError> {
        let [log, mark] = self.files();
        OneTimeKeyJournal::open_files(&log, &mark, self.member.seed())
    }

    /// The files of its guard: the log, and its mark.
    #[must_use]
    pub fn files(&self) -> [PathBuf; 2] {
        files(&self.directory)
    }

    pub(crate) fn id(&self) -> MemberId {
        *self.member.id()
    }

    pub(crate) fn policy(&self) -> QuorumPolicy {
        QuorumPolicy::two_thirds(self.agreed.registry())
    }
}

/// The log, and its mark: in real life on another device, so that no backup has both.
fn files(directory: &Path) -> [PathBuf; 2] {
    ["guard", "mark"].map(|name| directory.join(name))
}

impl Committee {
    /// A committee of `n` that may sign `checkpoints` in this epoch, with everything that it keeps
    /// below `directory`, which is empty.
    ///
    /// # Errors
    /// What the disk says, and [`Error`].
    pub fn new(
        directory: &Path,
        n: u32,
        epoch: u64,
        checkpoints: u64,
    ) -> Result<Self, Box<dyn std::error::Error>> {
        let members: Vec<_> = (0..n).map(member).collect::<Result<_, _>>()?;
        let registrations = members.iter().map(|m| m.register(Randomness::Deterministic));
        let registry = Registry::new(&[7; 32], registrations.collect::<Result<Vec<_>, _>>()?)?;
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
        // Everybody pins what it has heard, and says so; nothing is opened before more than two
        // thirds have heard the same.
        let (mut pinned, mut words) = (Vec::new(), Vec::new());
        for ((member, guard), home) in members.iter().zip(&mut guards).zip(&homes) {
            let mut pins = FileWriteOnceStore::new(&home.join("pins"));
            let heard = PinnedRoots::pin(&mut pins, &registry, &plan, &roots)?;
            words.push(member.acknowledge(&heard, guard, Randomness::Deterministic)?);
            pinned.push(heard);
        }
        let agreed: Result<Vec<_>, _> =
            pinned.iter().map(|p| AgreedRoots::new(p, &words)).collect();
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

    /// Its members.
    #[must_use]
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    pub(crate) fn label(&self, slot: u64) -> TaskId {
        label(self.epoch, slot)
    }
}

/// What `n` members may sign in an epoch.
pub(crate) fn plan(n: usize, epoch: u64, checkpoints: u64) -> Result<EpochPlan, Error> {
    let contents = (0..checkpoints).map(|slot| label(epoch, slot)).collect();
    let attempts = EpochPlan::attempts_for(n);
    Ok(EpochPlan::with_attempts(epoch, contents, attempts)?)
}

fn label(epoch: u64, slot: u64) -> TaskId {
    TaskId::for_slot(DOMAIN, epoch, slot, 0)
}

/// Fixed secrets, so that a run can be repeated. A seed is random in real life, and for one guard
/// for ever.
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
