//! Planning of an epoch, and reading of its plan.

use std::io;
use std::path::Path;

use base16ct::lower::encode_string;
use mladsa_aggregate::{EpochPlan, MemberId, Registration, Registry, RootAnnouncement, Threshold};
use sha2::{Digest, Sha256};

use super::args::PlanShape;
use super::committee::{Committee, skipped};
use super::dirs::{
    TempPaths, file_name, files_in, member_id, named, publish_by, publish_first_by, publish_new,
    read, read_up_to, refused, sweep_of,
};
use super::plan_file::{Plan, PlanFile};
use super::registrations::{read_registration, read_registrations, registrations};
use crate::terminal::complain;

/// Greatest length of a plan, which has a label for each content.
const MAX_PLAN: u64 = 1 << 26;

impl Committee {
    /// The plan of the arguments. Everyone with the same arguments and registrations makes the same
    /// one, so that no member has to choose it for the others.
    fn new(
        path: &Path,
        epoch: u64,
        shape: &PlanShape,
        ids: &[MemberId],
        threshold: &Threshold,
    ) -> io::Result<Self> {
        if let Some(after) = shape.after.filter(|after| *after >= epoch) {
            return Err(io::Error::other(format!(
                "--after: {after} is not an earlier one than epoch {epoch}"
            )));
        }
        let mut ids = ids.to_vec();
        ids.sort_unstable();
        let (weights, needed) = match threshold {
            Threshold::Weights { weights, threshold } => {
                let weight = |id: &MemberId| weights.iter().find(|(other, _)| other == id);
                let weights = ids
                    .iter()
                    .map(|id| weight(id).map_or(0, |(_, weight)| *weight));
                (Some(weights.collect()), *threshold)
            }
            Threshold::Count(count) => (None, *count as u64),
            Threshold::TwoThirds => (None, 2 * ids.len() as u64 / 3 + 1),
        };
        let attempts = shape.attempts;
        let mut file = PlanFile {
            rho: String::new(),
            epoch,
            attempts: attempts.unwrap_or(EpochPlan::attempts_for(ids.len())),
            contents: shape.contents.clone(),
            members: ids.iter().map(file_name).collect(),
            weights,
            threshold: needed,
            after: shape.after,
            identity: String::new(),
        };
        let members = read_registrations(&registrations(path), &ids)?;
        let rho = matrix_seed(&file, &members)?;
        let registry = Registry::new(&rho, members, threshold).map_err(refused)?;
        file.rho = encode_string(&rho);
        file.identity = encode_string(&registry.identity(epoch));
        Ok(Self {
            path: path.into(),
            epoch: path.join(format!("epoch-{epoch}")),
            plan: file.parse()?.plan,
            file,
            registry,
        })
    }

    fn to_json(&self) -> io::Result<Vec<u8>> {
        let json = serde_json::to_vec_pretty(&self.file)?;
        if json.len() as u64 > MAX_PLAN {
            return Err(io::Error::other("too many or too long contents for a plan"));
        }
        Ok(json)
    }

    /// Fixes an epoch with these members, or with all that have registered.
    pub(crate) fn plan(
        path: &Path,
        epoch: u64,
        shape: &PlanShape,
        threshold: &Threshold,
    ) -> io::Result<Self> {
        let mut ids = members(shape)?;
        if ids.is_empty() {
            for path in files_in(&registrations(path))? {
                match read_registration(&path) {
                    Ok(registration) => ids.push(*registration.id()),
                    Err(error) => skipped(error),
                }
            }
        }
        let planned = Self::new(path, epoch, shape, &ids, threshold)?;
        let json = planned.to_json()?;
        let mut made = TempPaths::default();
        let published = made
            .directory(&planned.epoch)
            .and_then(|()| publish_new(&planned.epoch.join("plan.json"), &json));
        made.unless(published)?;
        Ok(planned)
    }

    /// The plan of the arguments, whatever plan is in the directory: anyone can have put it there. An
    /// error if `owner` has joined another plan, or so many of the members that one of them is honest.
    /// An error of the kind `NotFound` while members have not registered.
    pub(crate) fn join(
        path: &Path,
        epoch: u64,
        shape: &PlanShape,
        threshold: &Threshold,
        owner: &MemberId,
    ) -> io::Result<Self> {
        let ids = members(shape)?;
        let planned = Self::new(path, epoch, shape, &ids, threshold);
        let found = Self::open(path, epoch).ok();
        let is_planned = |found: &Self| planned.as_ref().is_ok_and(|own| own.file == found.file);
        if let Some(found) = found.filter(|found| !is_planned(found)) {
            let joined = found.joined(&ids);
            if joined.contains(owner) || joined.len() > ids.len().saturating_sub(1) / 3 {
                let names: Vec<_> = joined.iter().map(ToString::to_string).collect();
                let why = format!(
                    "is another plan than that of the arguments, and {} joined it: compare members, \
                     contents, attempts and threshold, or join a later epoch",
                    names.join(" ")
                );
                return Err(named(&found.epoch.join("plan.json"), why));
            }
        }
        planned
    }

    /// Writes the plan into the directory, in place of another one. The caller holds the journal of
    /// `owner`, which is bound to this plan.
    pub(crate) fn publish(&self, owner: &MemberId) -> io::Result<()> {
        let (name, json) = (self.epoch.join("plan.json"), self.to_json()?);
        sweep_of(owner, &self.epoch);
        if publish_first_by(owner, &name, &json)?
            || read_up_to(&name, MAX_PLAN).is_ok_and(|known| known == json)
        {
            return Ok(());
        }
        complain(named(&name, "was another plan, and is replaced"));
        publish_by(owner, &name, &json)
    }

    /// Those of `ids` whose root for this plan is in the directory.
    fn joined(&self, ids: &[MemberId]) -> Vec<MemberId> {
        let has_joined = |id: &&MemberId| {
            let root = read(&self.epoch.join("roots").join(file_name(id))).ok();
            let root = root.and_then(|bytes| RootAnnouncement::from_bytes(&bytes).ok());
            root.is_some_and(|root| {
                root.id() == *id && root.verify(&self.registry, &self.plan).is_ok()
            })
        };
        ids.iter().filter(has_joined).copied().collect()
    }

    pub(super) fn open(path: &Path, epoch: u64) -> io::Result<Self> {
        let directory = path.join(format!("epoch-{epoch}"));
        let name = directory.join("plan.json");
        // Without the text of the file, which may have control characters.
        let file: PlanFile = serde_json::from_slice(&read_up_to(&name, MAX_PLAN)?)
            .map_err(|error| named(&name, format!("line {}: not a plan", error.line())))?;
        let Plan {
            rho,
            plan,
            ids,
            threshold,
        } = file.parse().map_err(|error| named(&name, error))?;
        let members = read_registrations(&registrations(path), &ids)?;
        let registry = Registry::new(&rho, members, &threshold).map_err(refused)?;
        // In another order the weights would be shown with other names.
        if !registry.ids().eq(&ids) {
            return Err(named(&name, "the members are not in order"));
        }
        if encode_string(&registry.identity(epoch)) != file.identity || plan.epoch() != epoch {
            let why = "a registration is not the one that was planned with";
            return Err(named(&name, why));
        }
        Ok(Self {
            path: path.into(),
            epoch: directory,
            file,
            registry,
            plan,
        })
    }
}

/// The names of the arguments, in order.
fn members(shape: &PlanShape) -> io::Result<Vec<MemberId>> {
    let ids = shape.members.iter().map(|id| member_id(id.as_bytes()));
    let mut ids = ids.collect::<io::Result<Vec<_>>>()?;
    ids.sort_unstable();
    Ok(ids)
}

/// The seed of the matrix: a digest of the plan and of the registration keys.
fn matrix_seed(plan: &PlanFile, members: &[Registration]) -> io::Result<[u8; 32]> {
    let mut hash = Sha256::new();
    hash.update(b"MLADSA matrix");
    // The other parts have a fixed length.
    for member in members {
        hash.update(Sha256::digest(member.key().as_bytes()));
    }
    hash.update(serde_json::to_vec(plan)?);
    Ok(hash.finalize().into())
}
