//! A session whose messages are files of a directory that all members share.
#![allow(unreachable_pub, reason = "a module of a test program")]

use core::time::Duration;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::thread;

use mladsa_aggregate::errors::RoundError;
use mladsa_aggregate::{
    AggregateCertificate, MemberName, OneTimeKeyJournal, Session, SessionEvent,
};

use crate::committee::bytes32;

/// Timeout of an attempt: this number of reads of the directory, which take 600 s or longer. No
/// attempt of a test lasts so long, unless it hangs.
pub const TIMEOUT: u64 = 300_000;

/// Runs a session until the task is signed. `staged` is a file of this member alone.
pub fn run(
    mut session: Session,
    own: &MemberName,
    journal: &mut OneTimeKeyJournal,
    directory: &Path,
    staged: &Path,
    kill: impl Fn(),
) -> Result<AggregateCertificate, RoundError> {
    fs::create_dir_all(directory).unwrap();
    let mut seen = BTreeSet::new();
    for now in 1.. {
        let mut events = session.tick(now, journal)?;
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if seen.insert(path.clone()) {
                // The name of a file begins with that of its sender.
                let name = path.file_name().unwrap().to_str().unwrap();
                let from = MemberName::new(name.split_once('.').unwrap().0.as_bytes()).unwrap();
                events.extend(session.receive(&from, &fs::read(path).unwrap(), now, journal)?);
            }
        }
        for event in events {
            match event {
                SessionEvent::Send { message, .. } => {
                    let digest = bytes32(&hex::encode(&message), 0);
                    let path = directory.join(format!("{own}.{}", hex::encode(digest)));
                    if seen.insert(path.clone()) {
                        kill();
                        fs::write(staged, &message).unwrap();
                        fs::rename(staged, path).unwrap();
                        kill();
                    }
                }
                SessionEvent::Completed(certificate) => return Ok(*certificate),
                SessionEvent::Failed(error) => return Err(error),
                other => panic!("{other:?}"),
            }
        }
        thread::sleep(Duration::from_millis(2));
    }
    unreachable!()
}
