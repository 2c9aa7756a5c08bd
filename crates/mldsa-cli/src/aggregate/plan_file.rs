//! `plan.json` of an epoch: matrix, members, quorum threshold and contents.

use std::io;

use mladsa_aggregate::{EpochPlan, MemberId, Threshold};
use serde::{Deserialize, Serialize};

use super::dirs::{content_label, member_id, refused};

/// `plan.json`.
#[derive(PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PlanFile {
    pub(super) rho: String,
    pub(super) epoch: u64,
    pub(super) attempts: u8,
    pub(super) contents: Vec<String>,
    pub(super) members: Vec<String>,
    /// In the order of the members; none: one each.
    pub(super) weights: Option<Vec<u64>>,
    pub(super) threshold: u64,
    /// The earlier epoch whose committee endorses this one.
    pub(super) after: Option<u64>,
    pub(super) identity: String,
}

/// The decoded content of `plan.json`.
pub(super) struct Plan {
    pub(super) rho: [u8; 32],
    pub(super) plan: EpochPlan,
    pub(super) ids: Vec<MemberId>,
    pub(super) threshold: Threshold,
}

impl PlanFile {
    pub(super) fn parse(&self) -> io::Result<Plan> {
        let bad = || io::Error::other("not the hex digits that belong there");
        let unhex = |text: &str| base16ct::mixed::decode_vec(text).map_err(|_| bad());
        let rho = unhex(&self.rho)?.try_into().map_err(|_| bad())?;
        let contents = self.contents.iter().map(|content| content_label(content));
        let contents = contents.collect::<Result<_, _>>()?;
        let plan = EpochPlan::with_attempts(self.epoch, contents, self.attempts);
        let ids = self.members.iter().map(|id| member_id(&unhex(id)?));
        let ids: Vec<_> = ids.collect::<Result<_, _>>()?;
        let threshold = self.threshold;
        let threshold = match &self.weights {
            Some(weights) if weights.len() == ids.len() => Threshold::Weights {
                weights: ids.iter().copied().zip(weights.iter().copied()).collect(),
                threshold,
            },
            None if usize::try_from(threshold).is_ok() => Threshold::Count(threshold as usize),
            _ => return Err(io::Error::other("not the weights of the members")),
        };
        Ok(Plan {
            rho,
            plan: plan.map_err(refused)?,
            ids,
            threshold,
        })
    }
}
