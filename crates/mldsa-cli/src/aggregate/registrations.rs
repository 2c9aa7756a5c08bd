//! Directory `registrations/` of a committee: one file per member.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use mladsa_aggregate::{Member, MemberId, Registration};
use mldsa_core::Randomness;

use super::dirs::{TempPaths, file_name, named, publish_first_by, read, refused, sweep_of};
use crate::random::random;

/// Publishes the registration of a member under a name that no other member has. A plan is not
/// needed. The caller holds the lock of the store.
pub(crate) fn register(path: &Path, member: &Member, made: &mut TempPaths) -> io::Result<()> {
    let directory = registrations(path);
    made.directory(&directory)?;
    let (rnd, id) = (random()?, member.id());
    let registration = member.register(Randomness::Hedged(&rnd)).map_err(refused)?;
    let path = directory.join(file_name(id));
    let published = publish_first_by(id, &path, &registration.to_bytes());
    if !matches!(published, Ok(true)) {
        // The member's own one, of an `init` that was interrupted, is no error. The owner of the name
        // may have removed the temporary file of this `init`.
        match read_registration(&path) {
            Ok(found) if found.key() == registration.key() => {}
            Ok(_) => return Err(taken(&path, id)),
            Err(error) => return Err(published.err().unwrap_or(error)),
        }
    }
    // Only now: another store may be registering the same name.
    sweep_of(id, &directory);
    Ok(())
}

/// Rejects the name of a registered member.
pub(crate) fn expect_free(path: &Path, id: &MemberId) -> io::Result<()> {
    let path = registrations(path).join(file_name(id));
    match fs::symlink_metadata(&path) {
        Ok(_) => Err(taken(&path, id)),
        Err(_) => Ok(()),
    }
}

/// The directory of a committee's registrations.
pub(crate) fn registrations(committee: &Path) -> PathBuf {
    committee.join("registrations")
}

fn taken(path: &Path, id: &MemberId) -> io::Error {
    named(path, format!("the name {id} is taken"))
}

/// Reads one registration; its signature is not verified here.
pub(crate) fn read_registration(path: &Path) -> io::Result<Registration> {
    Registration::from_bytes(&read(path)?).map_err(|error| named(path, error))
}

/// The registrations of the members `ids`.
pub(crate) fn read_registrations(
    directory: &Path,
    ids: &[MemberId],
) -> io::Result<Vec<Registration>> {
    ids.iter()
        .map(|id| read_registration(&directory.join(file_name(id))))
        .collect()
}
