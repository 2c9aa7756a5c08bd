//! `join`: store, registration, plan and root of a member in one command.

use std::fs;
use std::io;

use super::args::JoinArgs;
use super::committee::Committee;
use super::dirs::{file_name, member_id, named, wait};
use super::registrations::{read_registration, registrations};
use super::settings::Settings;
use super::store::Store;
use super::threshold::threshold;
use crate::terminal::print;

/// It can be repeated after an interruption at any time.
pub(crate) fn join(args: &JoinArgs) -> io::Result<()> {
    let (epoch, shape) = (&args.epoch, &args.plan);
    let mut settings = Settings::resolve(epoch)?;
    if let Some(ctx) = &args.ctx {
        settings.ctx.clone_from(ctx);
    }
    if shape.members.is_empty() {
        return Err(io::Error::other(
            "--members is required: the names of all members",
        ));
    }
    let threshold = threshold(shape)?;
    let path = &settings.committee;
    let store = if Store::is_complete(&epoch.store) {
        Store::open(&epoch.store)?
    } else {
        Store::init(path, &epoch.store, args.new.id()?, args.new.mark.as_deref())?
    };
    let id = *store.member.id();
    if args
        .new
        .id
        .as_ref()
        .is_some_and(|name| name.as_bytes() != id.as_bytes())
    {
        return Err(named(&epoch.store, "the store belongs to another member"));
    }
    // An error for a store of another committee.
    read_registration(&registrations(path).join(file_name(&id)))?;
    let mut journal = store.journal()?;
    let committee = wait(args.wait.timeout, || {
        match Committee::join(path, settings.epoch, shape, &threshold, &id) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let mut missing = Vec::new();
                for name in &shape.members {
                    let file = registrations(path).join(file_name(&member_id(name.as_bytes())?));
                    if fs::metadata(file).is_err() {
                        missing.push(name.as_str());
                    }
                }
                Ok(Err(format!("join of {}", missing.join(" "))))
            }
            joined => joined.map(Ok),
        }
    })?;
    committee.expect_identity(epoch)?;
    // First: it fails if the seed serves another plan.
    committee.announce(&store, &mut journal)?;
    committee.publish(&id)?;
    // Last: what the other commands use is not changed by a `join` that fails.
    settings.keep(&epoch.store)?;
    print(committee.describe())
}
