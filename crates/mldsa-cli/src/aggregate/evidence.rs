//! Evidence of equivocation: `epoch-N/evidence/` of a committee, and the first statement of each member
//! that a store has seen.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use base16ct::lower::encode_string;
use mladsa_aggregate::errors::{EncodingError, RootsError};
use mladsa_aggregate::steps::Equivocation;
use mladsa_aggregate::{EpochEquivocation, Error, MemberId};
use sha2::{Digest, Sha256};

use super::args::EvidenceArgs;
use super::committee::Committee;
use super::dirs::{MAX_SHARED, TempPaths, file_name, named, read, read_named};
use crate::terminal::{complain, print};
use crate::{Status, input};

impl Committee {
    /// Compares a statement with the first one of this member that the store has seen. Two contradicting
    /// ones are evidence, which is published.
    pub(super) fn compare(&self, store: &Path, kind: &str, id: &MemberId, statement: &[u8]) {
        let (epoch, name) = (self.plan.epoch(), file_name(id));
        let path = store.join(format!("seen-{epoch}-{kind}-{name}"));
        let check =
            |first: &[u8]| EpochEquivocation::new(first, statement, &self.registry, &self.plan);
        let first = read(&path).unwrap_or_default();
        match check(&first) {
            _ if first == statement => {}
            Ok(evidence) => self.publish_evidence(id, &evidence.to_bytes()),
            // No first one, or a torn one. A valid statement does not contradict itself.
            Err(RootsError::Encoding(_))
                if store.is_dir() && check(statement) == Err(RootsError::NotConflicting) =>
            {
                let _ = fs::write(&path, statement);
            }
            Err(_) => {}
        }
    }

    /// Publishes evidence. It decides nothing, so that a failure is reported only.
    pub(super) fn publish_evidence(&self, id: &MemberId, evidence: &[u8]) {
        let directory = self.directory().join("evidence");
        let digest = encode_string(&Sha256::digest(evidence)[..8]);
        let path = directory.join(format!("{}-{digest}", file_name(id)));
        if read(&path).is_ok_and(|known| known == evidence) {
            return;
        }
        let made = TempPaths::default().directory(&directory);
        match made.and_then(|()| write_anew(&path, evidence)) {
            Ok(()) => complain(format_args!(
                "{id} has signed contradicting messages: {}",
                path.display()
            )),
            Err(error) => complain(error),
        }
    }
}

/// Writes a file without a temporary one: a torn one is written again. A member knows the path in
/// advance, so a link or a pipe there is removed and never opened.
fn write_anew(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let removed = fs::remove_file(path);
    removed.or_else(|error| match error.kind() {
        io::ErrorKind::NotFound => Ok(()),
        _ => Err(named(path, error)),
    })?;
    let mut file = File::create_new(path).map_err(|error| named(path, error))?;
    file.write_all(bytes)
}

/// `evidence`: verifies a file of the directory.
pub(crate) fn verify(committee: &Committee, args: &EvidenceArgs) -> io::Result<Status> {
    let bytes = read_named(&args.file, 4 * MAX_SHARED)?;
    let registry = &*committee.registry;
    let member: Result<_, Error> =
        match EpochEquivocation::from_bytes(&bytes, registry, &committee.plan) {
            // The evidence of an attempt has the version before.
            Err(RootsError::Encoding(EncodingError::OtherVersion)) => {
                let evidence = Equivocation::from_bytes(&bytes, registry);
                evidence.map(|evidence| *evidence.id()).map_err(Into::into)
            }
            evidence => evidence.map(|evidence| *evidence.id()).map_err(Into::into),
        };
    match member {
        Ok(id) => {
            print(format!("{id} has signed contradicting messages\n"))?;
            Ok(Status::Good)
        }
        Err(error) => {
            complain(input::unusable(&args.file, error));
            Ok(Status::Invalid)
        }
    }
}
