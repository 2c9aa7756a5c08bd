//! Settings in a store: committee, epoch and domain.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::args::EpochArgs;
use super::dirs::{named, publish, read};

/// `settings.json` of a store. Nothing in it is trusted: identities and lists are pinned elsewhere.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Settings {
    pub(crate) committee: PathBuf,
    pub(crate) epoch: u64,
    pub(crate) ctx: String,
}

const NAME: &str = "settings.json";

impl Settings {
    /// The settings of a store, if it has any.
    pub(crate) fn of(store: &Path) -> io::Result<Option<Self>> {
        let path = store.join(NAME);
        match read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes)
                .map(Some)
                .map_err(|error| named(&path, format!("line {}: no settings", error.line()))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The committee and the epoch of the arguments, else those of the store.
    pub(crate) fn resolve(args: &EpochArgs) -> io::Result<Self> {
        let known = Self::of(&args.store)?;
        let (committee, epoch, ctx) = match known {
            Some(known) => (Some(known.committee), Some(known.epoch), known.ctx),
            None => (None, None, String::new()),
        };
        let committee = args.committee.clone().or(committee).ok_or_else(|| {
            let why = "the store has no committee: --committee is required";
            named(&args.store, why)
        })?;
        Ok(Self {
            committee,
            epoch: args.epoch.or(epoch).unwrap_or(1),
            ctx,
        })
    }

    /// Stores the settings.
    pub(crate) fn keep(&self, store: &Path) -> io::Result<()> {
        let absolute = std::path::absolute(&self.committee);
        let settings = Self {
            committee: absolute.map_err(|error| named(&self.committee, error))?,
            epoch: self.epoch,
            ctx: self.ctx.clone(),
        };
        publish(&store.join(NAME), &serde_json::to_vec_pretty(&settings)?)
    }
}
