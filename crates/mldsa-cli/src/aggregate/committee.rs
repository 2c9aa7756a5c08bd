//! Directory of a committee: `registrations/`, `epoch-N/plan.json`, `epoch-N/roots/`,
//! `epoch-N/acknowledgements/`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base16ct::lower::encode_string;
use mladsa_aggregate::{
    Acknowledgement, AgreedRoots, EpochPlan, EpochTree, Error, MemberId, PinnedRoots, Registry,
    RootAnnouncement,
};
use mldsa_core::Randomness;
use serde::{Deserialize, Serialize};

use super::args::PlanArgs;
use super::dirs::{
    TempPaths, content_label, expect_apart, file_name, files_in, member_id, named, publish,
    publish_new, read, read_up_to, refused,
};
use super::pins::Pins;
use super::registrations::{read_registration, read_registry, registrations};
use super::store::Store;
use crate::random::random;
use crate::terminal::complain;

/// Greatest length of a plan, which has a label for each content.
const MAX_PLAN: u64 = 1 << 26;

/// `plan.json`.
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

/// One epoch in the directory of a committee. Only files of members of the plan are read.
pub(crate) struct Committee {
    epoch: PathBuf,
    pub(crate) registry: Arc<Registry>,
    pub(crate) plan: EpochPlan,
}

impl Committee {
    /// Fixes an epoch over the registrations present.
    pub(crate) fn plan(args: &PlanArgs) -> io::Result<()> {
        let directory = registrations(&args.committee);
        let mut ids = Vec::new();
        if args.members.is_empty() {
            for path in files_in(&directory)? {
                match read_registration(&path) {
                    Ok(registration) => ids.push(*registration.id()),
                    Err(error) => skipped(error),
                }
            }
        }
        for id in &args.members {
            ids.push(member_id(id.as_bytes())?);
        }
        let rho = *random()?;
        let registry = read_registry(&directory, &rho, &ids)?;
        let plan = PlanFile {
            rho: encode_string(&rho),
            epoch: args.epoch,
            attempts: args
                .attempts
                .unwrap_or(EpochPlan::attempts_for(registry.len())),
            contents: args.contents.clone(),
            members: registry.ids().map(file_name).collect(),
            registry_root: encode_string(registry.root()),
        };
        plan.parse()?;
        let json = serde_json::to_vec_pretty(&plan)?;
        if json.len() as u64 > MAX_PLAN {
            return Err(io::Error::other("too many or too long contents for a plan"));
        }
        let epoch = args.committee.join(format!("epoch-{}", args.epoch));
        let mut made = TempPaths::default();
        let planned = made
            .directory(&epoch)
            .and_then(|()| publish_new(&epoch.join("plan.json"), &json));
        made.unless(planned)
    }

    pub(crate) fn open(path: &Path, epoch: u64) -> io::Result<Self> {
        let directory = path.join(format!("epoch-{epoch}"));
        let name = directory.join("plan.json");
        // Without the text of the file, which may have control characters.
        let file: PlanFile = serde_json::from_slice(&read_up_to(&name, MAX_PLAN)?)
            .map_err(|error| named(&name, format!("line {}: not a plan", error.line())))?;
        let (rho, plan, ids) = file.parse().map_err(|error| named(&name, error))?;
        let registry = read_registry(&registrations(path), &rho, &ids)?;
        if encode_string(registry.root()) != file.registry_root || plan.epoch() != epoch {
            let why = "a registration is not the one that was planned with";
            return Err(named(&name, why));
        }
        Ok(Self {
            epoch: directory,
            registry,
            plan,
        })
    }

    /// Publishes the root of a member's keys.
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
            .announce(&tree, &mut guard, Randomness::Hedged(&rnd));
        self.share("roots", id, &root.map_err(refused)?.to_bytes())
    }

    /// Publishes the acknowledgement of a pinned list.
    pub(crate) fn acknowledge(&self, store: &Store, pinned: &PinnedRoots) -> io::Result<()> {
        let (rnd, mut guard) = (random()?, store.guard()?);
        let member = &store.member;
        let signed = member.acknowledge(pinned, &mut guard, Randomness::Hedged(&rnd));
        let bytes = signed.map_err(refused)?.to_bytes();
        self.share("acknowledgements", member.id(), &bytes)
    }

    /// Publishes a message of a member for the epoch.
    fn share(&self, directory: &str, id: &MemberId, bytes: &[u8]) -> io::Result<()> {
        let directory = self.epoch.join(directory);
        let mut made = TempPaths::default();
        let shared = made
            .directory(&directory)
            .and_then(|()| publish(&directory.join(file_name(id)), bytes));
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

    fn expect_apart(&self, store: &Path) -> io::Result<()> {
        let committee = self.epoch.parent().unwrap_or(&self.epoch);
        expect_apart("--committee", committee, store)
    }

    /// The list that is pinned in `store`, or a list of all roots present. [`Pins::keep`] pins the
    /// latter, after which no other list is accepted.
    pub(crate) fn pin(&self, store: &Path) -> io::Result<(PinnedRoots, Pins)> {
        self.expect_apart(store)?;
        let mut pins = Pins::new(store);
        let known = PinnedRoots::load(&pins, &self.registry, &self.plan);
        if let Some(pinned) = known.map_err(|error| named(store, error))? {
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

    /// The pinned list with the acknowledgements of all members. `expected` is its digest, from
    /// another channel.
    pub(crate) fn agreed(
        &self,
        store: &Path,
        expected: Option<&str>,
    ) -> io::Result<(AgreedRoots, Pins)> {
        let (pinned, pins) = self.pin(store)?;
        expect_roots(&pinned, expected)?;
        let acknowledgements = self.read_each("acknowledgements", |bytes| {
            let acknowledgement = Acknowledgement::from_bytes(bytes)?;
            acknowledgement.verify(&pinned)?;
            Ok(acknowledgement)
        })?;
        let agreed = AgreedRoots::new(&pinned, &acknowledgements).map_err(refused)?;
        Ok((agreed, pins))
    }

    /// The messages of the plan's members in a directory. Malformed ones are reported and skipped.
    fn read_each<T>(
        &self,
        directory: &str,
        parse: impl Fn(&[u8]) -> Result<T, Error>,
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

fn skipped(error: io::Error) {
    complain(format_args!("skipped {error}"));
}

impl PlanFile {
    fn parse(&self) -> io::Result<([u8; 32], EpochPlan, Vec<MemberId>)> {
        let bad = || io::Error::other("not the hex digits that belong there");
        let unhex = |text: &str| base16ct::mixed::decode_vec(text).map_err(|_| bad());
        let rho = unhex(&self.rho)?.try_into().map_err(|_| bad())?;
        let contents = self.contents.iter().map(|content| content_label(content));
        let contents = contents.collect::<Result<_, _>>()?;
        let plan = EpochPlan::with_attempts(self.epoch, contents, self.attempts);
        let ids = self.members.iter().map(|id| member_id(&unhex(id)?));
        Ok((rho, plan.map_err(refused)?, ids.collect::<Result<_, _>>()?))
    }
}
