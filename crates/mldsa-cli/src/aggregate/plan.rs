//! Planning of an epoch, and reading of its plan.

use std::io;
use std::path::Path;

use base16ct::lower::encode_string;
use mladsa_aggregate::{EpochPlan, MemberId, QuorumRule};

use super::args::PlanShape;
use super::committee::{Committee, skipped};
use super::dirs::{
    TempPaths, file_name, files_in, member_id, named, publish_new, read_up_to, sweep_of,
};
use super::plan_file::{Plan, PlanFile};
use super::registrations::{read_registration, read_registry, registrations};
use crate::random::random;

/// Greatest length of a plan, which has a label for each content.
const MAX_PLAN: u64 = 1 << 26;

impl Committee {
    /// The plan of the arguments, with a matrix.
    fn new(
        path: &Path,
        epoch: u64,
        shape: &PlanShape,
        ids: &[MemberId],
        rule: &QuorumRule,
        rho: &[u8; 32],
    ) -> io::Result<Self> {
        let registry = read_registry(&registrations(path), rho, ids, rule)?;
        let (weights, threshold) = match rule {
            QuorumRule::Weights { weights, threshold } => {
                let weight = |id: &MemberId| weights.iter().find(|(other, _)| other == id);
                let weights = registry
                    .ids()
                    .map(|id| weight(id).map_or(0, |(_, weight)| *weight));
                (Some(weights.collect()), *threshold)
            }
            QuorumRule::Count(count) => (None, *count as u64),
            QuorumRule::TwoThirds => (None, 2 * registry.len() as u64 / 3 + 1),
        };
        let attempts = shape.attempts;
        let file = PlanFile {
            rho: encode_string(rho),
            epoch,
            attempts: attempts.unwrap_or(EpochPlan::attempts_for(registry.len())),
            contents: shape.contents.clone(),
            members: registry.ids().map(file_name).collect(),
            weights,
            threshold,
            after: shape.after,
            identity: encode_string(&registry.identity(epoch)),
        };
        Ok(Self {
            path: path.into(),
            epoch: path.join(format!("epoch-{epoch}")),
            plan: file.parse()?.plan,
            file,
            registry,
        })
    }

    /// Fixes an epoch with these members, or with all that have registered.
    pub(crate) fn plan(
        path: &Path,
        epoch: u64,
        shape: &PlanShape,
        rule: &QuorumRule,
        owner: Option<&MemberId>,
    ) -> io::Result<Self> {
        let mut ids = Vec::new();
        if shape.members.is_empty() {
            for path in files_in(&registrations(path))? {
                match read_registration(&path) {
                    Ok(registration) => ids.push(*registration.id()),
                    Err(error) => skipped(error),
                }
            }
        }
        for id in &shape.members {
            ids.push(member_id(id.as_bytes())?);
        }
        let planned = Self::new(path, epoch, shape, &ids, rule, &*random()?)?;
        let json = serde_json::to_vec_pretty(&planned.file)?;
        if json.len() as u64 > MAX_PLAN {
            return Err(io::Error::other("too many or too long contents for a plan"));
        }
        let mut made = TempPaths::default();
        let published = made
            .directory(&planned.epoch)
            .and_then(|()| publish_new(owner, &planned.epoch.join("plan.json"), &json));
        made.unless(published)?;
        Ok(planned)
    }

    /// The epoch as it is planned, which must be the plan of the arguments; the first member makes it.
    /// An error of the kind `NotFound` while members have not registered. The caller holds the journal
    /// of `owner`.
    pub(crate) fn join(
        path: &Path,
        epoch: u64,
        shape: &PlanShape,
        rule: &QuorumRule,
        owner: &MemberId,
    ) -> io::Result<Self> {
        let directory = path.join(format!("epoch-{epoch}"));
        sweep_of(owner, &directory);
        let name = directory.join("plan.json");
        if !name.exists()
            && let Err(error) = Self::plan(path, epoch, shape, rule, Some(owner))
            && !name.exists()
        {
            return Err(error);
        }
        let found = Self::open(path, epoch)?;
        let Plan { rho, ids, .. } = found.file.parse()?;
        let own = shape.members.iter().map(|id| member_id(id.as_bytes()));
        let mut own = own.collect::<io::Result<Vec<_>>>()?;
        own.sort_unstable();
        if own != ids || Self::new(path, epoch, shape, &ids, rule, &rho)?.file != found.file {
            let why = "is another plan than that of the arguments: compare members, contents, attempts \
                       and quorum rule";
            return Err(named(&name, why));
        }
        Ok(found)
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
            rule,
        } = file.parse().map_err(|error| named(&name, error))?;
        let registry = read_registry(&registrations(path), &rho, &ids, &rule)?;
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
