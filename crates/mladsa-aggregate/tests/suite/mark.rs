//! The high-water mark in a file, with concurrent processes.

use std::fs;
use std::sync::{Arc, Barrier, Mutex};

use mladsa_aggregate::errors::{JournalError, StorageError};
use mladsa_aggregate::storage::{FileLog, FileMark, MarkStorage};
use mladsa_aggregate::*;

#[cfg(unix)]
use crate::journal::Steps;
use crate::journal::TempDir;

/// A mark may be in a directory in which other users can write.
#[cfg(unix)]
#[test]
fn link_under_the_staging_name_is_not_followed() {
    let (dir, steps) = (TempDir::new("link"), Steps::new());
    drop(dir.create(steps.seed()).unwrap());
    let other = dir.0.join("other");
    fs::write(&other, b"content").unwrap();
    std::os::unix::fs::symlink(&other, dir.0.join("guard.mark.next")).unwrap();
    let mut journal = dir.open(steps.seed()).unwrap();
    steps.begin(&mut journal).unwrap();
    assert_eq!(fs::read(other).unwrap(), b"content");
    drop(journal);
    dir.open(steps.seed()).unwrap();
}

/// The mark moved from the directory that the link leads to, and was left there unchanged: a copy of
/// the journal with a link of its own signed again.
#[cfg(unix)]
#[test]
fn link_to_a_mark_stays() {
    let (dir, steps) = (TempDir::new("mark-link"), Steps::new());
    drop(dir.create(steps.seed()).unwrap());
    let [log, mark] = ["copy.log", "copy.mark"].map(|name| dir.0.join(name));
    fs::copy(dir.log(), &log).unwrap();
    std::os::unix::fs::symlink(dir.mark(), &mark).unwrap();
    let open = || OneTimeKeyJournal::open_files(&log, &mark, steps.seed());
    let journal = dir.open(steps.seed()).unwrap();
    let in_use = JournalError::Storage(StorageError::InUse);
    assert_eq!(open().unwrap_err(), in_use);
    drop(journal);
    steps.begin(&mut open().unwrap()).unwrap();
    assert!(mark.is_symlink());
    assert_eq!(dir.open(steps.seed()).unwrap_err(), JournalError::Damaged);
    fs::remove_file(dir.mark()).unwrap();
    assert!(FileMark::open(&mark).is_err());
}

/// A planted log or mark would decide what was signed.
#[cfg(unix)]
#[test]
fn files_of_others_are_rejected() {
    use std::os::unix::fs::{PermissionsExt, chown};
    let (dir, steps) = (TempDir::new("owner"), Steps::new());
    drop(dir.create(steps.seed()).unwrap());
    let other_owner = JournalError::Storage(StorageError::OtherOwner);
    for path in [dir.log(), FileMark::lock_path(&dir.mark())] {
        let mode = |mode| fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        for open_to_others in [0o620, 0o602] {
            mode(open_to_others);
            assert_eq!(dir.open(steps.seed()).unwrap_err(), other_owner);
        }
        mode(0o600);
        // Only the superuser can give files away.
        if chown(&path, Some(65_534), None).is_ok() {
            assert_eq!(dir.open(steps.seed()).unwrap_err(), other_owner);
            chown(&path, Some(0), None).unwrap();
        }
        dir.open(steps.seed()).unwrap();
    }
}

/// A pipe blocked the reader, and a file without end filled its memory.
#[cfg(unix)]
#[test]
fn marks_are_regular_files() {
    let dir = TempDir::new("regular");
    let pipe = || {
        let made = std::process::Command::new("mkfifo")
            .arg(dir.mark())
            .status();
        assert!(made.unwrap().success());
    };
    let long = || {
        fs::File::create(dir.mark())
            .unwrap()
            .set_len(1 << 40)
            .unwrap()
    };
    for make in [&pipe as &dyn Fn(), &long] {
        make();
        let mut mark = FileMark::open(&dir.mark()).unwrap();
        assert_eq!(mark.read(), Err(StorageError::Failed));
        fs::remove_file(dir.mark()).unwrap();
    }
}

/// A pipe that took the name of the file between a look at the name and its opening blocked the reader.
#[cfg(unix)]
#[test]
fn a_pipe_in_place_of_a_mark_blocks_no_reader() {
    let dir = TempDir::new("exchange");
    let [file, pipe, staged] = ["file", "pipe", "staged"].map(|name| dir.0.join(name));
    fs::write(&file, b"mark").unwrap();
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    let mut mark = FileMark::open(&dir.mark()).unwrap();
    let path = dir.mark();
    std::thread::scope(|scope| {
        let (stop, stopped) = std::sync::mpsc::channel::<()>();
        scope.spawn(move || {
            while let Err(std::sync::mpsc::TryRecvError::Empty) = stopped.try_recv() {
                for source in [&file, &pipe] {
                    fs::hard_link(source, &staged).unwrap();
                    fs::rename(&staged, &path).unwrap();
                }
            }
        });
        for _ in 0..5_000 {
            let read = mark.read();
            let known = Ok(Some(b"mark".to_vec()));
            assert!(read == Ok(None) || read == known || read == Err(StorageError::Failed));
        }
        drop(stop);
    });
}

#[test]
fn mark_is_published_only_over_the_expected_one() {
    let dir = TempDir::new("swap");
    let mut mark = FileMark::open(&dir.mark()).unwrap();
    let failed = Err(StorageError::Failed);
    assert_eq!(mark.publish(Some(b"one"), b"two"), failed);
    mark.publish(None, b"one").unwrap();
    assert_eq!(mark.publish(None, b"two"), failed);
    assert_eq!(mark.publish(Some(b"two"), b"three"), failed);
    mark.publish(Some(b"one"), b"two").unwrap();
    assert_eq!(mark.read(), Ok(Some(b"two".to_vec())));
    // One owner at a time.
    let second = FileMark::open(&dir.mark()).unwrap_err();
    assert_eq!(second, StorageError::InUse);
    // A removed lock file protects no longer.
    let lock = FileMark::lock_path(&dir.mark());
    fs::remove_file(&lock).unwrap();
    assert_eq!(mark.publish(Some(b"two"), b"three"), failed);
    drop(mark);
    // Remainders of a crash are replaced.
    fs::write(dir.0.join("guard.mark.next"), b"torn").unwrap();
    let mut mark = FileMark::open(&dir.mark()).unwrap();
    mark.publish(Some(b"two"), b"three").unwrap();
    assert_eq!(fs::read_dir(&dir.0).unwrap().count(), 2);
}

/// Number of trials of the stress tests; `MLADSA_MARK_TRIALS` replaces it.
fn trials() -> u64 {
    let number = std::env::var("MLADSA_MARK_TRIALS");
    number.map_or(50, |number| number.parse().unwrap())
}

/// Two copies of a journal with one mark write at the same time. If both succeeded, both could
/// release a commitment to one nonce, which reveals the key.
fn race_copies<M: MarkStorage + 'static>(
    dir: &TempDir,
    open_mark: impl Fn() -> Result<M, StorageError> + Sync,
) {
    let seed = MasterSeed::from_bytes(&[7; 32]);
    let logs = [dir.0.join("log-0"), dir.0.join("log-1")];
    let log = FileLog::create(&logs[0]).unwrap();
    drop(OneTimeKeyJournal::create(log, open_mark().unwrap(), &seed).unwrap());
    for trial in 0..trials() {
        fs::copy(&logs[0], &logs[1]).unwrap();
        let barrier = Barrier::new(2);
        let write = |n: usize| -> Result<(), JournalError> {
            barrier.wait();
            let log = FileLog::open(&logs[n])?;
            let mut journal = OneTimeKeyJournal::open(log, open_mark()?, &seed)?;
            journal.close_epoch(2 * trial + n as u64 + 1)
        };
        let write = &write;
        let results = std::thread::scope(|scope| {
            let threads = [0, 1].map(|n| scope.spawn(move || write(n)));
            threads.map(|thread| thread.join().unwrap())
        });
        match results {
            [Ok(()), Err(_)] => {}
            [Err(_), Ok(())] => fs::rename(&logs[1], &logs[0]).unwrap(),
            other => panic!("trial {trial}: {other:?}"),
        }
    }
}

#[test]
fn one_of_two_copies_writes_with_a_mark_in_a_file() {
    let dir = TempDir::new("copies-file");
    race_copies(&dir, || FileMark::open(&dir.mark()));
}

/// Both copies are open at the same time; only the compare-and-swap decides.
#[test]
fn one_of_two_copies_writes_with_a_compare_and_swap() {
    #[derive(Clone, Default)]
    struct SharedMark(Arc<Mutex<Option<Vec<u8>>>>);
    impl MarkStorage for SharedMark {
        fn read(&mut self) -> Result<Option<Vec<u8>>, StorageError> {
            Ok(self.0.lock().unwrap().clone())
        }
        fn publish(&mut self, expected: Option<&[u8]>, next: &[u8]) -> Result<(), StorageError> {
            let mut present = self.0.lock().unwrap();
            if present.as_deref() != expected {
                return Err(StorageError::Failed);
            }
            *present = Some(next.to_vec());
            Ok(())
        }
    }
    let mark = SharedMark::default();
    race_copies(&TempDir::new("copies-swap"), || Ok(mark.clone()));
}

/// Two seeds with one mark: the first journal keeps it, the other is never created.
#[test]
fn mark_belongs_to_one_journal() {
    let dir = TempDir::new("mark-race");
    for round in 0..50u8 {
        let mark = dir.0.join(format!("mark-{round}"));
        let log = |n: u8| dir.0.join(format!("log-{round}-{n}"));
        let seed = |n: u8| MasterSeed::from_bytes(&[2 * round + n; 32]);
        let create = |n: u8| {
            let journal = OneTimeKeyJournal::create_files(&log(n), &mark, &seed(n));
            journal.and_then(|mut journal| journal.close_epoch(1))
        };
        let create = &create;
        let created = std::thread::scope(|scope| {
            let threads = [0, 1].map(|n| scope.spawn(move || create(n).is_ok()));
            threads.map(|thread| thread.join().unwrap())
        });
        assert_ne!(created[0], created[1], "round {round}");
        let opens = [0, 1].map(|n| OneTimeKeyJournal::open_files(&log(n), &mark, &seed(n)).is_ok());
        assert_eq!(opens, created, "round {round}");
    }
    // Two logs, a mark and its lock each round.
    assert_eq!(fs::read_dir(&dir.0).unwrap().count(), 200);
}
