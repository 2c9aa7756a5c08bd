//! What lies where: the committee's directory and a member's store.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mladsa_aggregate::errors::StorageError;
use mladsa_aggregate::storage::FileMark;
use mladsa_aggregate::{
    Acknowledgement, AgreedRoots, EpochPlan, EpochTree, Error, FileWriteOnceStore, MasterSeed,
    Member, MemberId, OneTimeKeyJournal, PinnedRoots, Registration, Registry, RootAnnouncement,
    TaskId, WriteOnceStore,
};
use mldsa_core::Randomness;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::PlanArgs;
use crate::commit::{Access, StagedFile, flush_directory};
use crate::input::{self, read_small};
use crate::output::{complain, is_still, lies_in};
use crate::random::random;

/// What the whole committee has agreed on for an epoch, as a file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PlanFile {
    rho: String,
    epoch: u64,
    attempts: u8,
    contents: Vec<String>,
    members: Vec<String>,
    registry_root: String,
}

/// The directory that the committee shares, and one epoch in it: `registrations/`,
/// `epoch-N/plan.json`, `epoch-N/roots/`, `epoch-N/acknowledgements/`. Only files of
/// the members that the plan names are read.
pub(crate) struct Committee {
    epoch: PathBuf,
    pub(crate) registry: Arc<Registry>,
    pub(crate) plan: EpochPlan,
}

impl Committee {
    /// Fixes an epoch over the registrations that are there now.
    pub(crate) fn plan(path: &Path, args: &PlanArgs) -> io::Result<()> {
        let directory = registrations(path);
        let mut ids = Vec::new();
        for path in finished(&directory).map_err(|error| named(&directory, error))? {
            let registration = read(&path).and_then(|bytes| {
                Registration::from_bytes(&bytes).map_err(|error| named(&path, error))
            });
            match registration {
                Ok(registration) => ids.push(*registration.id()),
                Err(error) => skipped(error),
            }
        }
        if !args.members.is_empty() {
            let named: Result<Vec<_>, _> = args
                .members
                .iter()
                .map(|id| member_id(id.as_bytes()))
                .collect();
            ids = named?;
        }
        let rho = *random()?;
        let registry = read_registry(&directory, &rho, &ids)?;
        let plan = PlanFile {
            rho: hex(&rho),
            epoch: args.epoch,
            attempts: args
                .attempts
                .unwrap_or(EpochPlan::attempts_for(registry.len())),
            contents: args.contents.clone(),
            members: registry.ids().map(|id| hex(id.as_bytes())).collect(),
            registry_root: hex(registry.root()),
        };
        plan.parse()?;
        let json = serde_json::to_vec_pretty(&plan)?;
        if json.len() as u64 > MAX_PLAN {
            return Err(io::Error::other("too many or too long contents for a plan"));
        }
        let epoch = path.join(format!("epoch-{}", args.epoch));
        let mut made = Made::default();
        let planned = made
            .directory(&epoch)
            .and_then(|()| publish_new(&epoch.join("plan.json"), &json));
        made.unless(planned)
    }

    pub(crate) fn open(path: &Path, epoch: u64) -> io::Result<Self> {
        let directory = path.join(format!("epoch-{epoch}"));
        let name = directory.join("plan.json");
        // Without what the file says: that goes to a terminal.
        let file: PlanFile = serde_json::from_slice(&read_up_to(&name, MAX_PLAN)?)
            .map_err(|error| named(&name, format!("line {}: not a plan", error.line())))?;
        let (rho, plan, ids) = file.parse().map_err(|error| named(&name, error))?;
        let registry = read_registry(&registrations(path), &rho, &ids)?;
        if hex(registry.root()) != file.registry_root || plan.epoch() != epoch {
            return Err(named(
                &name,
                "a registration is not the one that was planned with",
            ));
        }
        Ok(Self {
            epoch: directory,
            registry,
            plan,
        })
    }

    /// Publishes a member's registration, in nobody's place; it can do so before there
    /// is a plan.
    fn register(path: &Path, store: &Store, made: &mut Made) -> io::Result<()> {
        let directory = registrations(path);
        made.directory(&directory)?;
        let (rnd, id) = (random()?, store.member.id());
        let registration = store
            .member
            .register(Randomness::Hedged(&rnd))
            .map_err(refused)?;
        let path = directory.join(file_name(id));
        if publish_first(&path, &registration.to_bytes())? {
            return Ok(());
        }
        let known = Registration::from_bytes(&read(&path)?).map_err(|error| named(&path, error))?;
        // Its own, from an `init` that was interrupted.
        (known.key() == registration.key())
            .then_some(())
            .ok_or_else(|| taken(&path, id))
    }

    /// Refuses the name of a member that has registered, before a store bears it, too.
    fn expect_free(path: &Path, id: &MemberId) -> io::Result<()> {
        let path = registrations(path).join(file_name(id));
        match fs::symlink_metadata(&path) {
            Ok(_) => Err(taken(&path, id)),
            Err(_) => Ok(()),
        }
    }

    pub(crate) fn announce(&self, store: &Store) -> io::Result<()> {
        self.expect_apart(&store.path)?;
        let tree = self.tree(store)?;
        let (rnd, mut guard) = (random()?, store.guard()?);
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
            .announce(&tree, &mut guard, Randomness::Hedged(&rnd))
            .map_err(refused)?;
        self.share("roots", id, &root.to_bytes())
    }

    pub(crate) fn acknowledge(&self, store: &Store, pinned: &PinnedRoots) -> io::Result<()> {
        let (rnd, mut guard) = (random()?, store.guard()?);
        let word = store
            .member
            .acknowledge(pinned, &mut guard, Randomness::Hedged(&rnd))
            .map_err(refused)?;
        self.share("acknowledgements", store.member.id(), &word.to_bytes())
    }

    /// Publishes what a member says in an epoch.
    fn share(&self, directory: &str, id: &MemberId, bytes: &[u8]) -> io::Result<()> {
        let directory = self.epoch.join(directory);
        let mut made = Made::default();
        let shared = made
            .directory(&directory)
            .and_then(|()| publish(&directory.join(file_name(id)), bytes));
        made.unless(shared)
    }

    /// A member's tree, from its store after it was derived once.
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

    fn expect_apart(&self, store: &Path) -> io::Result<()> {
        let committee = self.epoch.parent().unwrap_or(&self.epoch);
        expect_apart("--committee", committee, store)
    }

    /// The list that is pinned in `store`, or the one of all roots that are there:
    /// pinned from [`Pins::keep`] on, when what comes later is refused.
    pub(crate) fn pin(&self, store: &Path) -> io::Result<(PinnedRoots, Pins)> {
        self.expect_apart(store)?;
        let mut pins = Pins::new(store);
        let known = PinnedRoots::load(&pins, &self.registry, &self.plan)
            .map_err(|error| named(store, error))?;
        if let Some(pinned) = known {
            return Ok((pinned, pins));
        }
        let roots = self.read_each("roots", |bytes| {
            let root = RootAnnouncement::from_bytes(bytes)?;
            root.verify(&self.registry, &self.plan)?;
            Ok(root)
        })?;
        let pinned = PinnedRoots::pin(&mut pins, &self.registry, &self.plan, &roots);
        Ok((pinned.map_err(|error| named(store, error))?, pins))
    }

    /// The pinned list with everybody's acknowledgements; `expected` is what somebody
    /// has read to the caller.
    pub(crate) fn agreed(
        &self,
        store: &Path,
        expected: Option<&str>,
    ) -> io::Result<(AgreedRoots, Pins)> {
        let (pinned, pins) = self.pin(store)?;
        expect_roots(&pinned, expected)?;
        let words = self.read_each("acknowledgements", |bytes| {
            let word = Acknowledgement::from_bytes(bytes)?;
            word.verify(&pinned)?;
            Ok(word)
        })?;
        let agreed = AgreedRoots::new(&pinned, &words).map_err(refused)?;
        Ok((agreed, pins))
    }

    /// What the members of the plan have put into a directory. What is malformed is
    /// named and skipped.
    fn read_each<T>(
        &self,
        directory: &str,
        parse: impl Fn(&[u8]) -> Result<T, mladsa_aggregate::Error>,
    ) -> io::Result<Vec<T>> {
        let mut found = Vec::new();
        for id in self.registry.ids() {
            let path = self.epoch.join(directory).join(file_name(id));
            match read(&path) {
                Ok(bytes) => match parse(&bytes) {
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

/// Pinned lists, of which a new one is kept when its step has come to a good end: a
/// step that fails leaves nothing behind.
pub(crate) struct Pins {
    directory: PathBuf,
    new: Option<(String, Vec<u8>)>,
}

impl Pins {
    fn new(directory: &Path) -> Self {
        Self {
            directory: directory.into(),
            new: None,
        }
    }

    /// Refuses a result where the list will be, or a directory that leads there.
    pub(crate) fn keep_apart(&self, result: &Path) -> io::Result<()> {
        match &self.new {
            Some((name, _)) if lies_in(&self.directory.join(name), result) => {
                let why = "is where the list of roots is kept, write elsewhere";
                Err(named(result, why))
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn keep(&self) -> io::Result<()> {
        let Some((name, list)) = &self.new else {
            return Ok(());
        };
        let mut made = Made::default();
        let kept = own_directory(&self.directory, &mut made).and_then(|()| {
            let pinned = FileWriteOnceStore::new(&self.directory).write(name, list);
            pinned.map_err(|error| named(&self.directory.join(name), error))
        });
        made.unless(kept)
    }
}

impl WriteOnceStore for Pins {
    fn write(&mut self, name: &str, list: &[u8]) -> Result<(), StorageError> {
        match self.read(name)? {
            Some(known) => (known == list)
                .then_some(())
                .ok_or(StorageError::OtherValue),
            None => {
                self.new = Some((name.into(), list.into()));
                Ok(())
            }
        }
    }

    fn read(&self, name: &str) -> Result<Option<Vec<u8>>, StorageError> {
        FileWriteOnceStore::new(&self.directory).read(name)
    }
}

/// Compares the digest of a list with the one that was read out.
pub(crate) fn expect_roots(pinned: &PinnedRoots, expected: Option<&str>) -> io::Result<()> {
    match expected {
        Some(expected) if !hex(pinned.digest()).eq_ignore_ascii_case(expected) => Err(
            io::Error::other(format!("the list of roots is {}", hex(pinned.digest()))),
        ),
        _ => Ok(()),
    }
}

fn registrations(committee: &Path) -> PathBuf {
    committee.join("registrations")
}

fn taken(path: &Path, id: &MemberId) -> io::Error {
    named(path, format!("the name {id} is taken"))
}

fn read_registry(directory: &Path, rho: &[u8; 32], ids: &[MemberId]) -> io::Result<Arc<Registry>> {
    let mut entries = Vec::new();
    for id in ids {
        let path = directory.join(file_name(id));
        let registration = Registration::from_bytes(&read(&path)?);
        entries.push(registration.map_err(|error| named(&path, error))?);
    }
    Registry::new(rho, entries).map_err(refused)
}

fn skipped(error: io::Error) {
    complain(format_args!("skipped {error}"));
}

impl PlanFile {
    fn parse(&self) -> io::Result<([u8; 32], EpochPlan, Vec<MemberId>)> {
        let bad = || io::Error::other("not the hex digits that belong there");
        let rho = unhex(&self.rho).and_then(|rho| rho.try_into().ok());
        let contents: Result<Vec<_>, _> = self
            .contents
            .iter()
            .map(|content| content_label(content))
            .collect();
        let contents = contents?;
        let plan =
            EpochPlan::with_attempts(self.epoch, contents, self.attempts).map_err(refused)?;
        let mut ids = Vec::new();
        for id in &self.members {
            let id = unhex(id).ok_or_else(bad)?;
            ids.push(member_id(&id)?);
        }
        Ok((rho.ok_or_else(bad)?, plan, ids))
    }
}

/// Refuses a store among files that others write, or the other way round. What `shared`
/// is, its option says.
pub(crate) fn expect_apart(option: &str, shared: &Path, store: &Path) -> io::Result<()> {
    if !lies_in(store, shared) && !lies_in(shared, store) {
        return Ok(());
    }
    let why = format!(
        "{option} is for everybody, --store for one member alone: name two directories, \
         neither in the other"
    );
    Err(named(store, why))
}

/// What a store keeps of `--mark`: the number of the guard comes behind it.
fn mark_path(mark: &Path, committee: &Path, store: &Path) -> io::Result<String> {
    // /media/card would become /media/card.0, which is on no card.
    if mark.is_dir() {
        return Err(named(mark, "is a directory: name a file in it"));
    }
    let path = std::path::absolute(mark).map_err(|error| named(mark, error))?;
    let path = path
        .to_str()
        .ok_or_else(|| io::Error::other("--mark: not a text"))?;
    let first = numbered(path, 0);
    for directory in [committee, store] {
        if lies_in(&first, directory) || lies_in(directory, &first) {
            let why = "--mark is to outlive both --committee and --store: name a file elsewhere";
            return Err(named(mark, why));
        }
    }
    match first.parent() {
        Some(parent) if parent.is_dir() => Ok(path.into()),
        _ => Err(named(mark, "is in no directory that exists")),
    }
}

/// A mark that is there already is another guard's.
fn expect_new(mark: &Path) -> io::Result<()> {
    if mark.exists() {
        return Err(named(mark, "exists, and is not of this store"));
    }
    Ok(())
}

/// Whether a store has ever been made here.
fn has_guard(store: &Path) -> io::Result<bool> {
    let entries = fs::read_dir(store).map_err(|error| named(store, error))?;
    let mut names = entries.flatten().map(|entry| entry.file_name());
    Ok(names.any(|name| name.as_encoded_bytes().starts_with(b"guard-")))
}

fn numbered(mark: &str, generation: u32) -> PathBuf {
    PathBuf::from(format!("{mark}.{generation}"))
}

const SECRET: &[u8; 8] = b"MLADSAS3";
const SECRET_LEN: usize = 8 + 1 + 4 + 8 + 64;

/// A member's own directory: its name, its secrets (mode 0600), its guard, its trees
/// and the lists that it has pinned.
///
/// The secret says whether its guard was ever complete. Once it was, a guard that is
/// missing is an error and never made anew. Of a seed that took the place of another it
/// says up to which epoch it serves nothing. Who changes the secret holds the lock of the
/// store, and that of the guard, if there is one.
pub(crate) struct Store {
    path: PathBuf,
    generation: u32,
    closed: u64,
    guarded: bool,
    pub(crate) member: Member,
}

impl Store {
    /// Makes a member: directories, secrets, guard, registration. The secret says last
    /// that all is there, and `init` can be repeated until then; before the member is
    /// registered, what fails removes what it has made.
    pub(crate) fn init(
        committee: &Path,
        path: &Path,
        id: &str,
        mark: Option<&Path>,
    ) -> io::Result<Self> {
        let id = member_id(id.as_bytes())?;
        let (mut made, mut lock) = (Made::default(), None);
        let begun = Self::begin(committee, path, id, mark, &mut made, &mut lock);
        let registered = begun.and_then(|(store, guard)| {
            Committee::register(committee, &store, &mut made)?;
            Ok((store, guard))
        });
        let (mut store, _guard) = made.unless(registered)?;
        store.complete()?;
        Ok(store)
    }

    /// Everything up to the registration. The lock is the caller's, who may have to
    /// remove things under it.
    fn begin(
        committee: &Path,
        path: &Path,
        id: MemberId,
        mark: Option<&Path>,
        made: &mut Made,
        lock: &mut Option<File>,
    ) -> io::Result<(Self, OneTimeKeyJournal)> {
        let apart = || expect_apart("--committee", committee, path);
        apart()?;
        let mark = mark.map(|mark| mark_path(mark, committee, path));
        let mark = mark.transpose()?;
        let (name, secret) = (path.join("id"), path.join("secret"));
        // Before anything is made.
        if secret.exists() {
            if !name.exists() {
                return Err(named(path, "the store exists, but its name is gone"));
            }
        } else {
            Committee::expect_free(committee, &id)?;
            if let Some(mark) = &mark {
                expect_new(&numbered(mark, 0))?;
            }
        }
        own_directory(path, made)?;
        // Again, now that the name of a link may lead to it.
        apart()?;
        *lock = Some(Self::lock(path)?);
        if !secret.exists() {
            // Nobody misses an empty file.
            made.0.push(path.join("lock"));
            if has_guard(path)? {
                return Err(named(path, "the store exists, but its secret is gone"));
            }
        }
        if publish_first(&name, id.as_bytes())? {
            made.0.push(name);
        } else if read(&name)? != id.as_bytes() {
            return Err(named(path, "the store belongs to another member"));
        }
        if !secret.exists() {
            made.0.push(secret);
            put_secret(path, &*encode_secret(0, 0, false, &*random()?))?;
        }
        let store = Self::read(path)?;
        if store.guarded {
            return Err(named(path, "the store exists"));
        }
        let guard = store.make_guard(mark.as_deref(), made)?;
        Ok((store, guard))
    }

    /// Nobody else makes or rotates the store meanwhile.
    fn lock(path: &Path) -> io::Result<File> {
        let name = path.join("lock");
        // Some file systems lock only what may be written.
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true);
        let lock = options.open(&name).map_err(|error| named(&name, error))?;
        match lock.try_lock() {
            // Who was first may have removed what it made.
            Ok(()) if is_still(&lock, &name) => Ok(lock),
            Err(TryLockError::Error(error)) => {
                let _ = fs::remove_file(&name);
                Err(named(&name, error))
            }
            _ => Err(named(
                path,
                "another process makes or rotates this store now",
            )),
        }
    }

    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let store = Self::read(path)?;
        if store.guarded {
            Ok(store)
        } else {
            Err(named(
                path,
                "the store is incomplete: finish `init` or `rotate`",
            ))
        }
    }

    fn read(path: &Path) -> io::Result<Self> {
        expect_private(path)?;
        let secret = read_small(&path.join("secret"))?;
        let name = path.join("id");
        let id = member_id(&read(&name)?).map_err(|error| named(&name, error))?;
        let bad = || {
            named(
                path,
                "the secret is malformed, or of an older version: retire it",
            )
        };
        let rest = secret.strip_prefix(SECRET).ok_or_else(bad)?;
        let (&[guarded @ 0..=1], rest) = rest.split_first_chunk::<1>().ok_or_else(bad)? else {
            return Err(bad());
        };
        let (generation, rest) = rest.split_first_chunk().ok_or_else(bad)?;
        let (closed, rest) = rest.split_first_chunk().ok_or_else(bad)?;
        let ([seed, xi], []) = rest.as_chunks() else {
            return Err(bad());
        };
        Ok(Self {
            path: path.into(),
            generation: u32::from_be_bytes(*generation),
            closed: u64::from_be_bytes(*closed),
            guarded: guarded == 1,
            member: Member::new(id, MasterSeed::from_bytes(seed), xi),
        })
    }

    /// Makes the guard of a fresh seed, with its mark at `mark` if it has none yet. A new
    /// seed serves no epoch that an old one has served.
    fn make_guard(&self, mark: Option<&str>, made: &mut Made) -> io::Result<OneTimeKeyJournal> {
        let (log, known) = self.guard_paths(self.generation)?;
        let chosen = mark.map(|mark| numbered(mark, self.generation));
        let at = chosen.as_deref().unwrap_or(&known);
        let seed = self.member.seed();
        let open = |mark: &Path| OneTimeKeyJournal::open_files(&log, mark, seed);
        // The log is made first.
        if !log.exists() {
            expect_new(at)?;
            made.0.push(log.clone());
        } else if at != known && open(&known).is_ok() {
            return Err(named(&known, "is the mark of this store"));
        }
        let is_new = !at.exists();
        let lock = FileMark::lock_path(at);
        // Only in the own store: elsewhere another journal may hold it.
        if mark.is_none() && !lock.exists() {
            made.0.push(lock);
        }
        let mut guard = OneTimeKeyJournal::create_files(&log, at, seed)
            .or_else(|_| open(at))
            .map_err(|error| named(&log, format!("{error}, with its mark at {}", at.display())))?;
        if is_new {
            made.0.push(at.into());
        }
        if let Some(mark) = mark {
            let path = self.path.join("mark-path");
            if !path.exists() {
                made.0.push(path.clone());
            }
            publish(&path, mark.as_bytes())?;
        }
        if self.generation > 0 {
            guard.close_epoch(self.closed).map_err(refused)?;
        }
        Ok(guard)
    }

    /// Says in the secret that there is a guard.
    fn complete(&mut self) -> io::Result<()> {
        let secret = encode_secret(self.generation, self.closed, true, &*self.random()?);
        put_secret(&self.path, &*secret)?;
        self.guarded = true;
        Ok(())
    }

    /// Ends all epochs up to `epoch`, takes a new master seed with a new guard, and
    /// erases the old one. The registration stays.
    pub(crate) fn rotate(path: &Path, epoch: u64) -> io::Result<()> {
        let _lock = Self::lock(path)?;
        let mut store = Self::read(path)?;
        if !store.guarded && store.generation == 0 {
            return Self::open(path).map(drop);
        }
        if store.guarded {
            let mut guard = store.guard()?;
            if let Some(last) = guard.last_epoch().filter(|last| *last > epoch) {
                return Err(io::Error::other(format!(
                    "the seed has served epoch {last}, which a new one would not: rotate \
                     when that has ended"
                )));
            }
            let generation = store.generation.checked_add(1);
            let generation = generation.ok_or_else(|| io::Error::other("too many rotations"))?;
            // While the old seed is there.
            let (log, mark) = store.guard_paths(generation)?;
            expect_new(&log)?;
            expect_new(&mark)?;
            guard.close_epoch(epoch).map_err(refused)?;
            let mut secret = store.random()?;
            secret[..32].copy_from_slice(&*random::<32>()?);
            put_secret(path, &*encode_secret(generation, epoch, false, &secret))?;
            drop(guard);
            store = Self::read(path)?;
        }
        let mut guard = store.make_guard(None, &mut Made::default())?;
        store.complete()?;
        guard.close_epoch(epoch).map_err(refused)
    }

    /// Ends all epochs up to `epoch`.
    pub(crate) fn close(&self, epoch: u64) -> io::Result<()> {
        self.guard()?.close_epoch(epoch).map_err(refused)
    }

    /// Master seed and registration half.
    fn random(&self) -> io::Result<Zeroizing<[u8; 64]>> {
        let secret = read_small(&self.path.join("secret"))?;
        let random = secret.last_chunk().ok_or(io::ErrorKind::InvalidData)?;
        Ok(Zeroizing::new(*random))
    }

    fn guard_paths(&self, generation: u32) -> io::Result<(PathBuf, PathBuf)> {
        let name = |what| format!("guard-{generation}.{what}");
        let mark = match fs::read_to_string(self.path.join("mark-path")) {
            Ok(mark) => numbered(&mark, generation),
            Err(error) if error.kind() == io::ErrorKind::NotFound => self.path.join(name("mark")),
            Err(error) => return Err(named(&self.path.join("mark-path"), error)),
        };
        Ok((self.path.join(name("log")), mark))
    }

    pub(crate) fn guard(&self) -> io::Result<OneTimeKeyJournal> {
        let (log, mark) = self.guard_paths(self.generation)?;
        for path in [&log, &mark] {
            if !path.exists() {
                return Err(io::Error::other(format!(
                    "the guard of this store is gone ({}): what its seed has signed is not \
                     known any more; make a new member, never a new guard",
                    path.display()
                )));
            }
        }
        let guard = OneTimeKeyJournal::open_files(&log, &mark, self.member.seed());
        let guard = guard.map_err(|error| named(&log, error))?;
        // `rotate` holds the guard of the old seed until the new one is there.
        if Self::read(&self.path)?.generation != self.generation {
            return Err(named(&self.path, "the store was rotated just now"));
        }
        Ok(guard)
    }

    fn tree(&self, epoch: u64) -> PathBuf {
        self.path
            .join(format!("epoch-{epoch}-{}.tree", self.generation))
    }
}

/// `"MLADSAS3" || guarded || BE32(generation) || BE64(closed) || seed || xi`.
fn encode_secret(
    generation: u32,
    closed: u64,
    guarded: bool,
    random: &[u8; 64],
) -> Zeroizing<[u8; SECRET_LEN]> {
    let mut out = Zeroizing::new([0; SECRET_LEN]);
    let (head, tail) = out.split_at_mut(21);
    head[..8].copy_from_slice(SECRET);
    head[8] = guarded.into();
    head[9..13].copy_from_slice(&generation.to_be_bytes());
    head[13..].copy_from_slice(&closed.to_be_bytes());
    tail.copy_from_slice(random);
    out
}

/// Replaces the secret file and overwrites the previous content, as far as the file system writes
/// in place.
fn put_secret(store: &Path, secret: &[u8]) -> io::Result<()> {
    let path = store.join("secret");
    let put = || {
        let staged = StagedFile::write(&path, secret, Access::Owner)?;
        let old = match OpenOptions::new().write(true).open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            old => Some(old?),
        };
        staged.replace()?;
        flush_directory(&path)?;
        match old {
            Some(mut old) => old
                .write_all(&[0; SECRET_LEN])
                .and_then(|()| old.sync_all()),
            None => Ok(()),
        }
    };
    put().map_err(|error| named(&path, error))
}

/// What a step has made, in this order: removed again if the step comes to nothing.
#[derive(Default)]
pub(crate) struct Made(Vec<PathBuf>);

impl Made {
    /// A directory for many, with the mode that the umask gives it.
    pub(crate) fn directory(&mut self, path: &Path) -> io::Result<()> {
        self.build(path, &DirBuilder::new())
    }

    fn build(&mut self, path: &Path, builder: &DirBuilder) -> io::Result<()> {
        let missing = path.ancestors().take_while(|place| !place.exists());
        let missing: Vec<_> = missing
            .filter(|place| !place.as_os_str().is_empty())
            .collect();
        for place in missing.into_iter().rev() {
            match builder.create(place) {
                Ok(()) => self.0.push(place.into()),
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                    return Err(named(path, error));
                }
                // Somebody else's, meanwhile.
                Err(_) => {}
            }
        }
        if path.is_dir() {
            Ok(())
        } else {
            Err(named(path, io::Error::from(io::ErrorKind::NotADirectory)))
        }
    }

    /// The result, without what was made if it is an error. Directories stay if others
    /// have put something there.
    pub(crate) fn unless<T>(&self, result: io::Result<T>) -> io::Result<T> {
        result.inspect_err(|_| {
            for path in self.0.iter().rev() {
                let _ = fs::remove_file(path).or_else(|_| fs::remove_dir(path));
            }
        })
    }
}

/// The directory of one member or verifier, for its owner alone: made so, or given so if
/// it is there and empty. One with files in it stays as it is, unless others may put a
/// guard or a list of theirs there.
fn own_directory(path: &Path, made: &mut Made) -> io::Result<()> {
    #[cfg_attr(not(unix), allow(unused_mut, reason = "modes are Unix's"))]
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
        builder.mode(0o700);
        if path.is_dir() {
            let mut entries = fs::read_dir(path).map_err(|error| named(path, error))?;
            if entries.next().is_none() {
                return fs::set_permissions(path, fs::Permissions::from_mode(0o700))
                    .map_err(|error| named(path, error));
            }
            return expect_private(path);
        }
    }
    made.build(path, &builder)
}

/// Refuses a directory that others may write into.
fn expect_private(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let metadata = fs::metadata(path).map_err(|error| named(path, error))?;
        if metadata.is_dir() && metadata.permissions().mode() & 0o022 != 0 {
            return Err(named(
                path,
                "others may write into this directory: a store is its owner's alone, \
                 name a new one or `chmod 700` this one",
            ));
        }
    }
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
}

pub(crate) fn member_id(id: &[u8]) -> io::Result<MemberId> {
    let why = || format!("a member's name has 1 to 64 bytes, not {}", id.len());
    MemberId::new(id).map_err(|_| io::Error::other(why()))
}

pub(crate) fn content_label(content: &str) -> io::Result<TaskId> {
    let why = || format!("a content label has 1 to 1024 bytes, not {}", content.len());
    TaskId::new(content.as_bytes()).map_err(|_| io::Error::other(why()))
}

pub(crate) fn refused(error: impl Into<Error>) -> io::Error {
    io::Error::other(error.into())
}

/// A name that every file system takes.
pub(crate) fn file_name(id: &MemberId) -> String {
    hex(id.as_bytes())
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    base16ct::mixed::decode_vec(text).ok()
}

/// What one member writes for the others is shorter.
pub(crate) const MAX_SHARED: u64 = 1 << 14;
/// A plan has one label for each content.
const MAX_PLAN: u64 = 1 << 26;

/// Reads what the caller has named: a file, a pipe or standard input.
pub(crate) fn read_named(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    input::open(path)
        .and_then(|file| read_from(file, limit).map_err(|error| input::named(path, &error)))
}

/// Reads what anybody may have put there: a regular file, as far as it can mean
/// anything.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    read_up_to(path, MAX_SHARED)
}

fn read_up_to(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let failed = |error: io::Error| input::named(path, &error);
    // Before it is opened: a pipe would wait for its other end.
    if !fs::metadata(path).map_err(failed)?.is_file() {
        return Err(named(path, "is not a regular file"));
    }
    let file = File::open(path).map_err(failed)?;
    read_from(file, limit).map_err(failed)
}

/// All of `file`, unless it is longer than `limit`.
fn read_from(file: File, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(io::Error::other(format!(
            "is too long: {limit} bytes at most"
        )));
    }
    Ok(bytes)
}

pub(crate) fn named(path: &Path, error: impl core::fmt::Display) -> io::Error {
    io::Error::other(format!("{}: {error}", path.display()))
}

/// All finished files of a directory, in the order of their names.
fn finished(path: &Path) -> io::Result<Vec<PathBuf>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(path)? {
        let path = entry?.path();
        if path.extension().is_none() && path.is_file() {
            names.push(path);
        }
    }
    names.sort();
    Ok(names)
}

/// Writes or replaces a file atomically.
pub(crate) fn publish(path: &Path, bytes: &[u8]) -> io::Result<()> {
    StagedFile::write(path, bytes, Access::Umask)
        .and_then(StagedFile::replace)
        .map_err(|error| named(path, error))
}

/// Creates a file atomically; `false` if there is one already.
fn publish_first(path: &Path, bytes: &[u8]) -> io::Result<bool> {
    let staged = StagedFile::write(path, bytes, Access::Umask);
    match staged.and_then(|file| file.create()) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        written => written.map(|()| true).map_err(|error| named(path, error)),
    }
}

/// Creates a file atomically and durably.
fn publish_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if !publish_first(path, bytes)? {
        return Err(named(path, io::Error::from(io::ErrorKind::AlreadyExists)));
    }
    flush_directory(path).map_err(|error| {
        let _ = fs::remove_file(path);
        named(path, error)
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test")]
mod tests {
    use super::*;

    /// A step that has read the secret before a rotation goes on after it.
    #[test]
    fn an_old_seed_has_no_guard_any_more() {
        let place = std::env::temp_dir().join(format!("mldsa-stale-{}", std::process::id()));
        let _ = fs::remove_dir_all(&place);
        let store = place.join("store");
        let stale = Store::init(&place.join("committee"), &store, "m0", None).unwrap();
        drop(stale.guard().unwrap());
        Store::rotate(&store, 1).unwrap();
        let refused = stale.guard().map(drop).unwrap_err().to_string();
        assert!(
            refused.ends_with("the store was rotated just now"),
            "{refused}"
        );
        stale.close(9).unwrap_err();
        Store::open(&store).unwrap().close(9).unwrap();
        fs::remove_dir_all(&place).unwrap();
    }

    /// One that was stopped on its way goes on when others have come and gone.
    #[test]
    fn nobody_makes_or_rotates_a_store_beside_another() {
        let place = std::env::temp_dir().join(format!("mldsa-beside-{}", std::process::id()));
        let _ = fs::remove_dir_all(&place);
        let (committee, path) = (place.join("committee"), place.join("store"));
        let (mut made, mut lock) = (Made::default(), None);
        let id = member_id(b"m0").unwrap();
        let begun = Store::begin(&committee, &path, id, None, &mut made, &mut lock);
        let (mut store, guard) = begun.unwrap();
        let beside = |result: io::Result<()>| {
            let refused = result.unwrap_err().to_string();
            assert!(refused.ends_with("rotates this store now"), "{refused}");
        };
        beside(Store::init(&committee, &path, "m0", None).map(drop));
        beside(Store::rotate(&path, 1));
        Committee::register(&committee, &store, &mut made).unwrap();
        store.complete().unwrap();
        beside(Store::rotate(&path, 1));
        drop((guard, lock));
        Store::rotate(&path, 1).unwrap();
        assert_eq!(Store::open(&path).unwrap().generation, 1);
        fs::remove_dir_all(&place).unwrap();
    }

    /// A plan that loses removes an empty directory that the winner has use for.
    #[test]
    fn what_is_shared_needs_no_directory_before() {
        let place = std::env::temp_dir().join(format!("mldsa-shared-{}", std::process::id()));
        let _ = fs::remove_dir_all(&place);
        let (committee, path) = (place.join("committee"), place.join("store"));
        let store = Store::init(&committee, &path, "m0", None).unwrap();
        let args = PlanArgs {
            committee: committee.clone(),
            epoch: 1,
            contents: vec!["content".into()],
            attempts: None,
            members: Vec::new(),
        };
        Committee::plan(&committee, &args).unwrap();
        Committee::plan(&committee, &args).unwrap_err();
        let shared = Committee::open(&committee, 1).unwrap();
        shared.announce(&store).unwrap();
        let roots = committee.join("epoch-1/roots");
        fs::remove_dir_all(&roots).unwrap();
        shared.announce(&store).unwrap();
        assert_eq!(fs::read_dir(&roots).unwrap().count(), 1);
        fs::remove_dir_all(&place).unwrap();
    }
}
