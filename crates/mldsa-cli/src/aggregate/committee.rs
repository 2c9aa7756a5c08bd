//! Directory of a committee: `registrations/`, `epoch-N/plan.json`, `epoch-N/roots/`,
//! `epoch-N/acknowledgements/`, `epoch-N/endorsements/`, `epoch-N/evidence/`, `epoch-N/decisions/`.
//! Nothing in it is trusted before [`Committee::agreed`] has compared it with an identity or an epoch
//! that the store has pinned.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use base16ct::lower::encode_string;
use mladsa_aggregate::{
    Acknowledgement, AgreedRoots, Endorsement, EpochPlan, EpochTree, Error, MemberId,
    OneTimeKeyJournal, PinnedRoots, Registry, RootAnnouncement, WriteOnceStore,
};
use mldsa_core::Randomness;
use sha2::{Digest, Sha256};

use super::args::EpochArgs;
use super::dirs::{
    TempPaths, expect_apart, expect_own, file_name, files_in, named, publish, publish_by, read,
    refused, sweep_of,
};
use super::pins::Pins;
use super::plan_file::PlanFile;
use super::settings::Settings;
use super::store::Store;
use crate::random::random;
use crate::terminal::complain;

/// Greatest number of committees between a trusted epoch and the one that is verified.
const MAX_SUCCESSORS: u8 = 32;

/// Length and time of the last change; none if the file is absent.
pub(crate) type FileState = Option<(u64, SystemTime)>;

/// One epoch in the directory of a committee. Only files of members of the plan are read.
pub(crate) struct Committee {
    pub(super) path: PathBuf,
    pub(super) epoch: PathBuf,
    pub(super) file: PlanFile,
    pub(crate) registry: Arc<Registry>,
    pub(crate) plan: EpochPlan,
}

impl Committee {
    /// Opens the epoch of the arguments and compares its identity with the given one.
    pub(crate) fn of(args: &EpochArgs) -> io::Result<Self> {
        let settings = Settings::resolve(args)?;
        let committee = Self::open(&settings.committee, settings.epoch)?;
        committee.expect_identity(args)?;
        Ok(committee)
    }

    /// Compares the identity with the one of the arguments, if they have one.
    pub(crate) fn expect_identity(&self, args: &EpochArgs) -> io::Result<()> {
        match &args.identity {
            Some(identity) if !self.file.identity.eq_ignore_ascii_case(identity) => {
                let why = format!("the committee is {}", self.file.identity);
                Err(io::Error::other(why))
            }
            _ => Ok(()),
        }
    }

    /// Identity, threshold, and the members with the SHA-256 of their keys.
    pub(crate) fn describe(&self) -> String {
        let PlanFile {
            identity,
            weights,
            threshold,
            epoch,
            ..
        } = &self.file;
        let n = self.registry.len();
        let threshold = match weights {
            None => format!("{threshold} of {n} members"),
            Some(weights) => {
                let sum: u64 = weights.iter().sum();
                format!("weight {threshold} of {sum}")
            }
        };
        let mut text = format!("committee: {identity}\nepoch: {epoch}\nquorum: {threshold}\n");
        for (at, id) in self.registry.ids().enumerate() {
            let key = self
                .registry
                .key(id)
                .map(|key| Sha256::digest(key.as_bytes()));
            let fingerprint = encode_string(&key.unwrap_or_default());
            text += &format!("member: {id} {fingerprint}");
            if let Some(weight) = weights.as_ref().and_then(|weights| weights.get(at)) {
                text += &format!(" weight {weight}");
            }
            text.push('\n');
        }
        text
    }

    /// State of the epoch for its members: digest of the list, missing messages, next step. Binds
    /// nothing.
    pub(crate) fn status(&self, store: &Path) -> io::Result<String> {
        let mut text = self.describe();
        let roots = self.roots(store)?;
        let missing = |has: &dyn Fn(&MemberId) -> bool| {
            let ids = self.registry.ids().filter(|id| !has(id));
            ids.map(ToString::to_string).collect::<Vec<_>>().join(" ")
        };
        let no_root = missing(&|id| roots.iter().any(|root| root.id() == id));
        text += &format!("missing roots: {no_root}\n");
        if roots.is_empty() {
            return Ok(text + "next: join\n");
        }
        let (pinned, _) = self.pin(store)?;
        let acknowledged = self.acknowledgements(store, &pinned)?;
        let missing = missing(&|id| acknowledged.iter().any(|known| known.id() == id));
        text += &format!("roots: {}\n", encode_string(pinned.digest()));
        text += &format!("missing acknowledgements: {missing}\n");
        let is_agreed = AgreedRoots::from_pin(&self.id(), &pinned, &acknowledged).is_ok();
        text += match (no_root.is_empty(), is_agreed) {
            (_, true) => "next: sign\n",
            (true, false) => "next: agree\n",
            (false, false) => "next: join, or agree without the missing members\n",
        };
        for path in files_in(&self.epoch.join("evidence")).unwrap_or_default() {
            // Of evidence: another name could contain lines of this text.
            let name = path.file_name().and_then(|name| name.to_str());
            if name.is_some_and(|name| name.bytes().all(|c| c.is_ascii_hexdigit() || c == b'-')) {
                text += &format!("evidence: {}\n", path.display());
            }
        }
        Ok(text)
    }

    fn id(&self) -> [u8; 32] {
        self.registry.identity(self.plan.epoch())
    }

    /// Pins the identity in `store`, so that `verify` trusts it and its successors.
    pub(crate) fn trust(&self, store: &Path) -> io::Result<()> {
        self.expect_store(store)?;
        let mut pins = Pins::new(store);
        let pinned = pins.write(&self.pin_name(), &self.id());
        pinned.map_err(|error| named(store, error))?;
        pins.keep()
    }

    fn pin_name(&self) -> String {
        format!("epoch-{}.committee", self.plan.epoch())
    }

    /// Publishes the endorsement of this committee by a member of the one before it.
    pub(crate) fn endorse(&self, store: &Store, journal: &mut OneTimeKeyJournal) -> io::Result<()> {
        let previous = self.previous(&store.path, MAX_SUCCESSORS)?;
        let previous = previous.ok_or_else(|| io::Error::other("the plan is after no epoch"))?;
        let rnd = random()?;
        let (epoch, hedge) = (self.plan.epoch(), Randomness::Hedged(&rnd));
        let member = &store.member;
        let signed = member.endorse(&previous, epoch, &self.id(), journal, hedge);
        let bytes = signed.map_err(refused)?.to_bytes();
        self.share("endorsements", member.id(), &bytes)
    }

    /// The trusted committee of the earlier epoch that the plan names.
    fn previous(&self, store: &Path, left: u8) -> io::Result<Option<AgreedRoots>> {
        let Some(after) = self.file.after.filter(|after| *after < self.plan.epoch()) else {
            return Ok(None);
        };
        let previous = Self::open(&self.path, after)?;
        let (pinned, pins) = previous.pin(store)?;
        previous
            .trusted(store, &pinned, pins.is_new(), left)
            .map(Some)
    }

    /// The agreement on `pinned`, by a committee that the store trusts: `is_new` is false for a list
    /// that the store had pinned when the committee was trusted.
    fn trusted(
        &self,
        store: &Path,
        pinned: &PinnedRoots,
        is_new: bool,
        left: u8,
    ) -> io::Result<AgreedRoots> {
        let acknowledgements = self.acknowledgements(store, pinned)?;
        let pin = Pins::new(store).read(&self.pin_name());
        let pin = pin.map_err(|error| named(store, error))?;
        let agreed = match (pin, left.checked_sub(1)) {
            (Some(pin), _) if *pin == self.id() => {
                AgreedRoots::from_pin(&self.id(), pinned, &acknowledgements)
            }
            (Some(pin), _) => {
                let why = format!("another committee is pinned: {}", encode_string(&pin));
                return Err(named(store, why));
            }
            (None, _) if !is_new => AgreedRoots::from_pin(&self.id(), pinned, &acknowledgements),
            (None, Some(left)) => {
                let Some(previous) = self.previous(store, left)? else {
                    return Err(self.not_trusted());
                };
                let endorsements =
                    self.read_each("endorsements", previous.registry(), |_, bytes| {
                        Ok(Endorsement::from_bytes(bytes)?)
                    })?;
                AgreedRoots::successor_of(&previous, pinned, &acknowledgements, &endorsements)
            }
            (None, None) => return Err(self.not_trusted()),
        };
        agreed.map_err(refused)
    }

    fn not_trusted(&self) -> io::Error {
        let epoch = self.plan.epoch();
        io::Error::other(format!(
            "the committee of epoch {epoch} is not trusted: get its identity from a source that you \
             trust, not from this directory, and give it as --identity, or pin it with `trust`; a member runs `agree`"
        ))
    }

    /// Publishes the root of a member's keys.
    pub(crate) fn announce(
        &self,
        store: &Store,
        journal: &mut OneTimeKeyJournal,
    ) -> io::Result<()> {
        self.expect_store(&store.path)?;
        let tree = self.tree(store)?;
        let rnd = random()?;
        let id = store.member.id();
        let own = store
            .member
            .register(Randomness::Hedged(&rnd))
            .map_err(refused)?;
        if self.registry.key(id) != Some(own.key()) {
            let why = format!("the committee knows another key of {id}: this store is not its");
            return Err(named(&store.path, why));
        }
        let rnd = random()?;
        let root = store
            .member
            .announce(&tree, journal, Randomness::Hedged(&rnd));
        self.share("roots", id, &root.map_err(refused)?.to_bytes())
    }

    /// Publishes the acknowledgement of a pinned list.
    pub(crate) fn acknowledge(
        &self,
        store: &Store,
        pinned: &PinnedRoots,
        journal: &mut OneTimeKeyJournal,
    ) -> io::Result<()> {
        let rnd = random()?;
        let member = &store.member;
        let signed = member.acknowledge(pinned, journal, Randomness::Hedged(&rnd));
        let bytes = signed.map_err(refused)?.to_bytes();
        self.share("acknowledgements", member.id(), &bytes)
    }

    /// Publishes a message of a member for the epoch. The caller holds the journal of the member.
    fn share(&self, directory: &str, id: &MemberId, bytes: &[u8]) -> io::Result<()> {
        let directory = self.epoch.join(directory);
        let mut made = TempPaths::default();
        let shared = made.directory(&directory).and_then(|()| {
            sweep_of(id, &directory);
            publish_by(id, &directory.join(file_name(id)), bytes)
        });
        made.unless(shared)
    }

    /// The tree of a member, read from its store or derived and written there.
    pub(crate) fn tree(&self, store: &Store) -> io::Result<EpochTree> {
        let path = store.tree(self.plan.epoch());
        if let Ok(bytes) = fs::read(&path)
            && let Ok(tree) = EpochTree::from_bytes(&self.registry, &self.plan, &bytes)
        {
            return Ok(tree);
        }
        let tree = store.member.epoch_tree(&self.registry, &self.plan);
        let tree = tree.map_err(refused)?;
        publish(&path, &tree.to_bytes())?;
        Ok(tree)
    }

    /// Rejects a store in which others can write.
    fn expect_store(&self, store: &Path) -> io::Result<()> {
        expect_own(store)?;
        expect_apart("--committee", &self.path, store)
    }

    /// The list that is pinned in `store`, or a list of all roots present. [`Pins::keep`] pins the
    /// latter, after which no other list is accepted.
    pub(crate) fn pin(&self, store: &Path) -> io::Result<(PinnedRoots, Pins)> {
        self.expect_store(store)?;
        let mut pins = Pins::new(store);
        let known = PinnedRoots::load(&pins, &self.registry, &self.plan);
        if let Some(pinned) = known.map_err(|error| named(store, error))? {
            return Ok((pinned, pins));
        }
        let roots = self.roots(store)?;
        let pinned = PinnedRoots::pin(&mut pins, &self.registry, &self.plan, &roots);
        Ok((pinned.map_err(|error| named(store, error))?, pins))
    }

    fn roots(&self, store: &Path) -> io::Result<Vec<RootAnnouncement>> {
        self.read_each("roots", &self.registry, |id, bytes| {
            let root = RootAnnouncement::from_bytes(bytes)?;
            root.verify(&self.registry, &self.plan)?;
            self.compare(store, "root", id, bytes);
            Ok(root)
        })
    }

    fn acknowledgements(
        &self,
        store: &Path,
        pinned: &PinnedRoots,
    ) -> io::Result<Vec<Acknowledgement>> {
        self.read_each("acknowledgements", &self.registry, |id, bytes| {
            self.compare(store, "acknowledgement", id, bytes);
            let acknowledgement = Acknowledgement::from_bytes(bytes)?;
            acknowledgement.verify(pinned)?;
            Ok(acknowledgement)
        })
    }

    /// The state of the file with the acknowledgement of each member, which changes with it.
    pub(crate) fn acknowledgement_files(&self) -> Vec<FileState> {
        let directory = self.epoch.join("acknowledgements");
        let state = |id| {
            let file = fs::metadata(directory.join(file_name(id))).ok()?;
            Some((file.len(), file.modified().ok()?))
        };
        self.registry.ids().map(state).collect()
    }

    /// The directory of the epoch.
    pub(crate) fn directory(&self) -> &Path {
        &self.epoch
    }

    /// The list of roots on which a trusted committee has agreed. The committee is trusted if its
    /// identity was given, which [`Self::of`] has compared, or by the pins of the store.
    pub(crate) fn agreed(&self, store: &Path, args: &EpochArgs) -> io::Result<(AgreedRoots, Pins)> {
        let (pinned, pins) = self.pin(store)?;
        expect_roots(&pinned, args.expect_roots.as_deref())?;
        let is_new = pins.is_new() && args.identity.is_none();
        let agreed = self.trusted(store, &pinned, is_new, MAX_SUCCESSORS)?;
        Ok((agreed, pins))
    }

    /// The messages of the members of a registry in a directory. Malformed ones are reported and
    /// skipped.
    fn read_each<T>(
        &self,
        directory: &str,
        registry: &Registry,
        parse: impl Fn(&MemberId, &[u8]) -> Result<T, Error>,
    ) -> io::Result<Vec<T>> {
        let mut found = Vec::new();
        for id in registry.ids() {
            let path = self.epoch.join(directory).join(file_name(id));
            match read(&path) {
                Ok(bytes) => match parse(id, &bytes) {
                    Ok(item) => found.push(item),
                    Err(error) => skipped(named(&path, error)),
                },
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => skipped(error),
            }
        }
        Ok(found)
    }
}

/// Compares the digest of a list with the expected one.
pub(crate) fn expect_roots(pinned: &PinnedRoots, expected: Option<&str>) -> io::Result<()> {
    let digest = encode_string(pinned.digest());
    match expected {
        Some(expected) if !digest.eq_ignore_ascii_case(expected) => {
            Err(io::Error::other(format!("the list of roots is {digest}")))
        }
        _ => Ok(()),
    }
}

pub(super) fn skipped(error: io::Error) {
    complain(format_args!("skipped {error}"));
}
