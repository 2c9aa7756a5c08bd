//! The durable journal: crashes, damage, rollback and concurrent writers.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use mladsa_aggregate::errors::{JournalError, RoundError, StorageError};
use mladsa_aggregate::steps::*;
use mladsa_aggregate::storage::LogStorage;
use mladsa_aggregate::*;

use crate::committee::*;
use crate::contributions::KEY_REUSED;
use crate::disk::Disk;

const HEADER: usize = 112;
const RECORD: usize = 152;
pub(crate) const FAILED: JournalError = JournalError::Storage(StorageError::Failed);
pub(crate) const IN_USE: JournalError = JournalError::Storage(StorageError::InUse);

/// Temporary directory, removed on drop.
pub(crate) struct TempDir(pub(crate) PathBuf);

impl TempDir {
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("mladsa-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.0.join("guard.log")
    }

    pub(crate) fn mark(&self) -> PathBuf {
        self.0.join("guard.mark")
    }

    pub(crate) fn create(&self, seed: &MasterSeed) -> Result<OneTimeKeyJournal, JournalError> {
        OneTimeKeyJournal::create_files(&self.log(), &self.mark(), seed)
    }

    pub(crate) fn open(&self, seed: &MasterSeed) -> Result<OneTimeKeyJournal, JournalError> {
        OneTimeKeyJournal::open_files(&self.log(), &self.mark(), seed)
    }

    /// Writes `bytes` to the log and checks that it does not open.
    fn assert_damaged(&self, seed: &MasterSeed, bytes: &[u8]) {
        fs::write(self.log(), bytes).unwrap();
        assert_eq!(self.open(seed).unwrap_err(), JournalError::Damaged);
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Steps of member 0 of a committee, with a journal of the caller.
pub(crate) struct Steps {
    pub(crate) member: Arc<Member>,
    pub(crate) committee: Arc<SigningCommittee>,
}

impl Steps {
    pub(crate) fn new() -> Self {
        Self::of(EPOCH, 1)
    }

    fn of(number: u64, members: usize) -> Self {
        let mut group = Group::with(&epoch(number), &vec![1; members], 1);
        Self {
            member: group.members.remove(0),
            committee: group.committee,
        }
    }

    pub(crate) fn seed(&self) -> &MasterSeed {
        self.member.seed()
    }

    /// The first opening, which binds the seed to the committee: one record.
    pub(crate) fn begin(&self, journal: &mut OneTimeKeyJournal) -> Result<(), RoundError> {
        self.member
            .open(&self.committee, at(0, 0), journal)
            .map(drop)
    }

    fn round(
        &self,
        attempt: AttemptId,
        payload: &[u8],
        journal: &mut OneTimeKeyJournal,
    ) -> Result<Arc<Round>, RoundError> {
        let opening = self.member.open(&self.committee, attempt, journal)?;
        let key = self.committee.authenticate(&opening)?;
        let task = SigningTask::decision(attempt.slot, payload);
        Round::new(self.committee.view(), &task, attempt.number, [key])
    }

    pub(crate) fn commit(
        &self,
        slot: u32,
        attempt: u8,
        payload: &[u8],
        journal: &mut OneTimeKeyJournal,
    ) -> Result<Message, RoundError> {
        let round = self.round(at(slot, attempt), payload, journal)?;
        self.member
            .commit(&round, journal)
            .map(|(_, message)| message)
    }

    fn respond(&self, slot: u32, journal: &mut OneTimeKeyJournal) -> Result<Message, RoundError> {
        let round = self.round(at(slot, 0), b"payload", journal)?;
        let (pending, message) = self.member.commit(&round, journal)?;
        let mut set = CommitmentSet::new(&round);
        set.add(&message)?;
        set.add(&self.member.reveal(&pending, &set, journal)?)?;
        self.member.respond(pending, &*set.challenge()?, journal)
    }

    pub(crate) fn retire(
        &self,
        slot: u32,
        journal: &mut OneTimeKeyJournal,
    ) -> Result<(), RoundError> {
        self.member.retire(at(slot, 0), journal)
    }
}

/// A log of six records, one of them a response, with its mark.
fn written(name: &str) -> (TempDir, Steps) {
    let (dir, steps) = (TempDir::new(name), Steps::new());
    let mut journal = dir.create(steps.seed()).unwrap();
    steps.begin(&mut journal).unwrap();
    steps.respond(0, &mut journal).unwrap();
    steps.commit(1, 0, b"payload", &mut journal).unwrap();
    steps.retire(2, &mut journal).unwrap();
    (dir, steps)
}

#[test]
fn states_survive_a_restart() {
    let (dir, steps) = (TempDir::new("restart"), Steps::new());
    let seed = steps.seed();
    assert_eq!(dir.open(seed).unwrap_err(), FAILED);
    let mut journal = dir.create(seed).unwrap();
    steps.begin(&mut journal).unwrap();
    for slot in [0, 1, 2] {
        steps.retire(slot, &mut journal).unwrap();
    }
    // One process at a time.
    assert_eq!(dir.open(seed).unwrap_err(), IN_USE);
    assert_eq!(dir.create(seed).unwrap_err(), IN_USE);
    drop(journal);
    // Neither created again nor opened for another seed.
    assert_eq!(dir.create(seed).unwrap_err(), JournalError::Damaged);
    let other = crate::committee::seed(1);
    assert_eq!(dir.open(&other).unwrap_err(), JournalError::Damaged);
    let len = fs::metadata(dir.log()).unwrap().len() as usize;
    assert_eq!(len, HEADER + 4 * RECORD);
    let mut journal = dir.open(seed).unwrap();
    let identity = Some(*steps.committee.identity());
    assert_eq!(journal.committee(EPOCH), identity);
    steps.begin(&mut journal).unwrap();
    for slot in [0, 1, 2] {
        steps.retire(slot, &mut journal).unwrap();
    }
    // Recorded entries are not written again.
    assert_eq!(fs::metadata(dir.log()).unwrap().len() as usize, len);
}

#[test]
fn log_older_than_its_mark_is_rejected() {
    let (dir, steps) = written("rollback");
    let whole = fs::read(dir.log()).unwrap();
    assert_eq!(whole.len(), HEADER + 6 * RECORD);
    for records in 0..6 {
        dir.assert_damaged(steps.seed(), &whole[..HEADER + records * RECORD]);
    }
    // Torn before the marked position.
    for len in [0, 20, HEADER + 5 * RECORD + 1, HEADER + 6 * RECORD - 1] {
        dir.assert_damaged(steps.seed(), &whole[..len]);
    }
    fs::write(dir.log(), &whole).unwrap();
    dir.open(steps.seed()).unwrap();
    fs::remove_file(dir.mark()).unwrap();
    let error = dir.open(steps.seed()).unwrap_err();
    assert_eq!(error, JournalError::Damaged);
}

#[test]
fn torn_last_record_is_truncated_before_the_next_append() {
    let (dir, steps) = written("torn");
    let whole = fs::read(dir.log()).unwrap();
    for torn in [1, 8, RECORD - 1, RECORD] {
        fs::write(dir.log(), [&whole[..], &vec![0xee; torn]].concat()).unwrap();
        let mut journal = dir.open(steps.seed()).unwrap();
        assert_eq!(fs::read(dir.log()).unwrap(), whole);
        if torn == RECORD {
            steps.retire(3, &mut journal).unwrap();
            drop(journal);
            dir.open(steps.seed()).unwrap();
        }
    }
}

#[test]
fn damage_is_rejected() {
    let (dir, steps) = written("damage");
    let seed = steps.seed();
    let whole = fs::read(dir.log()).unwrap();
    for at in (0..whole.len()).step_by(13) {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x10;
        dir.assert_damaged(seed, &damaged);
    }
    // More than one torn record; two records swapped.
    dir.assert_damaged(seed, &[&whole[..], &[0xee; RECORD + 1]].concat());
    let (header, records) = whole.split_at(HEADER);
    let (first, rest) = records.split_at(RECORD);
    let (second, rest) = rest.split_at(RECORD);
    dir.assert_damaged(seed, &[header, second, first, rest].concat());

    fs::write(dir.log(), &whole).unwrap();
    let mark = fs::read(dir.mark()).unwrap();
    let flipped = (0..mark.len()).map(|at| {
        let mut damaged = mark.clone();
        damaged[at] ^= 1;
        damaged
    });
    for damaged in flipped.chain([mark[..mark.len() - 1].to_vec()]) {
        fs::write(dir.mark(), &damaged).unwrap();
        assert_eq!(dir.open(seed).unwrap_err(), JournalError::Damaged);
    }
    fs::write(dir.mark(), &mark).unwrap();
    dir.open(seed).unwrap();
}

#[test]
fn failed_write_disables_the_journal_until_it_is_opened_again() {
    let failed = Err(RoundError::Journal(FAILED));
    let steps = Steps::new();
    let begun = || {
        let disk = Disk::new();
        let journal = OneTimeKeyJournal::create(disk.clone(), disk.clone(), steps.seed());
        let mut journal = journal.unwrap();
        steps.begin(&mut journal).unwrap();
        (disk, journal)
    };
    let (disk, mut journal) = begun();
    let before = disk.steps();
    steps.retire(0, &mut journal).unwrap();
    // Append, flush, mark.
    let each = disk.steps() - before;
    assert_eq!(each, 3);
    // The entries of one step share a flush.
    let before = disk.steps();
    steps.member.retire(at(1, 3), &mut journal).unwrap();
    assert_eq!(disk.steps() - before, each);
    for fail_at in 0..each {
        let (disk, mut journal) = begun();
        disk.fail_at(disk.steps() + fail_at);
        assert_eq!(steps.retire(0, &mut journal), failed);
        // Also for recorded entries.
        assert_eq!(steps.retire(0, &mut journal), failed);
        assert!(steps.begin(&mut journal).is_err());
        drop(journal);
        disk.repair();
        let journal = OneTimeKeyJournal::open(disk.clone(), disk.clone(), steps.seed());
        let mut journal = journal.unwrap();
        steps.retire(0, &mut journal).unwrap();
        steps.retire(1, &mut journal).unwrap();
    }
}

/// Cuts the power at every step, with all, none or a part of the unflushed data lost: the journal
/// still contains everything that was released.
#[test]
fn power_cut_loses_nothing_that_was_released() {
    let (steps, next) = (Steps::new(), Steps::of(EPOCH + 1, 2));
    type Step<'a> = &'a dyn Fn(&mut OneTimeKeyJournal) -> Result<(), RoundError>;
    let script: [Step<'_>; 9] = [
        &|journal| steps.begin(journal),
        &|journal| steps.respond(0, journal).map(drop),
        &|journal| steps.commit(1, 0, b"payload", journal).map(drop),
        &|journal| steps.retire(1, journal),
        &|journal| steps.commit(1, 1, b"payload", journal).map(drop),
        &|journal| Ok(journal.close_epoch(EPOCH - 1)?),
        // The next epoch, with one more member.
        &|journal| next.begin(journal),
        &|journal| Ok(journal.close_epoch(EPOCH)?),
        &|journal| next.commit(0, 0, b"payload", journal).map(drop),
    ];
    let conflict = RoundError::Journal(JournalError::EpochConflict);
    let mut cuts = 0;
    for keep in [0, 77, usize::MAX] {
        for cut_at in 0.. {
            let disk = Disk::new();
            disk.fail_at(cut_at);
            let create = || OneTimeKeyJournal::create(disk.clone(), disk.clone(), steps.seed());
            let open = || OneTimeKeyJournal::open(disk.clone(), disk.clone(), steps.seed());
            let created = create();
            let was_created = created.is_ok();
            let done = created.map_or(0, |mut journal| {
                let steps = script.iter();
                steps.take_while(|step| step(&mut journal).is_ok()).count()
            });
            if done == script.len() {
                break;
            }
            cuts += 1;
            disk.cut_power(keep);
            let mut journal = open().unwrap_or_else(|error| {
                assert!(!was_created, "cut at {cut_at}, kept {keep}: {error}");
                create().unwrap()
            });
            if done >= 7 {
                let identity = Some(*next.committee.identity());
                assert_eq!(journal.committee(EPOCH + 1), identity);
            }
            if done >= 8 {
                assert_eq!(journal.closed_epoch(), Some(EPOCH));
            }
            if journal.closed_epoch() == Some(EPOCH) {
                assert!(done >= 7);
                assert_eq!(steps.begin(&mut journal), Err(conflict));
                next.commit(0, 0, b"payload", &mut journal).unwrap();
                let other = next.commit(0, 0, b"another", &mut journal);
                assert_eq!(other.unwrap_err(), KEY_REUSED);
                continue;
            }
            if done >= 1 {
                let identity = Some(*steps.committee.identity());
                assert_eq!(journal.committee(EPOCH), identity);
            } else {
                steps.begin(&mut journal).unwrap();
            }
            // Entry of the script, and a step that it excludes.
            let excluded: [(usize, u32, u8, &[u8]); 4] = [
                (2, 0, 0, b"another"),
                (3, 1, 0, b"another"),
                (4, 1, 0, b"payload"),
                (5, 1, 1, b"another"),
            ];
            for (after, slot, attempt, payload) in excluded {
                if done >= after {
                    let result = steps.commit(slot, attempt, payload, &mut journal);
                    assert_eq!(result.unwrap_err(), KEY_REUSED);
                }
            }
            if done >= 2 {
                steps.respond(0, &mut journal).unwrap();
            }
            steps.retire(3, &mut journal).unwrap();
        }
    }
    assert!(cuts > 100, "{cuts}");
}

/// Two journals with one storage without locks: neither releases anything after the other has
/// written.
#[test]
fn second_writer_without_a_lock_is_detected() {
    let failed = RoundError::Journal(FAILED);
    let steps = Steps::new();
    let two = || {
        let disk = Disk::new();
        let journal = OneTimeKeyJournal::create(disk.clone(), disk.clone(), steps.seed());
        steps.begin(&mut journal.unwrap()).unwrap();
        let open = || OneTimeKeyJournal::open(disk.clone(), disk.clone(), steps.seed()).unwrap();
        let (one, two) = (open(), open());
        (disk, one, two)
    };
    // Both check before either writes.
    let (disk, mut one, other) = two();
    disk.write_between(other);
    let result = steps.commit(0, 0, b"block A", &mut one);
    assert_eq!(result.unwrap_err(), failed);
    // One after the other.
    let (_, mut one, mut other) = two();
    steps.commit(0, 0, b"block A", &mut one).unwrap();
    let result = steps.commit(0, 0, b"block B", &mut other);
    assert_eq!(result.unwrap_err(), failed);
    assert_eq!(steps.retire(1, &mut other).unwrap_err(), failed);
    // The other has written a record and no mark.
    let (disk, mut one, mut other) = two();
    disk.fail_at(disk.steps() + 2);
    let result = steps.commit(0, 0, b"block A", &mut other);
    assert_eq!(result.unwrap_err(), failed);
    disk.repair();
    let result = steps.commit(0, 0, b"block B", &mut one);
    assert_eq!(result.unwrap_err(), failed);
    // The other has written a mark, and its log was restored.
    let (mut disk, mut one, mut other) = two();
    let before = LogStorage::size(&mut disk).unwrap();
    steps.commit(0, 0, b"block A", &mut other).unwrap();
    LogStorage::truncate(&mut disk, before).unwrap();
    let result = steps.commit(0, 0, b"block B", &mut one);
    assert_eq!(result.unwrap_err(), failed);
    // Another file under the name of the log.
    let (dir, steps) = written("moved");
    let mut journal = dir.open(steps.seed()).unwrap();
    let copy = dir.0.join("copy");
    fs::copy(dir.log(), &copy).unwrap();
    fs::rename(&copy, dir.log()).unwrap();
    assert_eq!(steps.retire(3, &mut journal).unwrap_err(), failed);
}

#[test]
fn interrupted_creation_is_completed() {
    let seed = &crate::committee::seed(0);
    let reference = TempDir::new("whole");
    drop(reference.create(seed).unwrap());
    let header = fs::read(reference.log()).unwrap();
    for len in [0, 7, HEADER - 1, HEADER] {
        let dir = TempDir::new(&format!("creation-{len}"));
        fs::write(dir.log(), &header[..len]).unwrap();
        let error = dir.open(seed).unwrap_err();
        assert_eq!(error, JournalError::Damaged);
        drop(dir.create(seed).unwrap());
        dir.open(seed).unwrap();
    }
    let dir = TempDir::new("foreign");
    fs::write(dir.log(), b"something else").unwrap();
    let error = dir.create(seed).unwrap_err();
    assert_eq!(error, JournalError::Damaged);
    assert_eq!(fs::read(dir.log()).unwrap(), b"something else");
    // The magic of an earlier version.
    let mut old = header;
    old[7] = b'1';
    fs::copy(reference.mark(), dir.mark()).unwrap();
    dir.assert_damaged(seed, &old);
}

#[test]
fn closed_epoch_leaves_the_log_and_stays_closed() {
    let (dir, steps) = written("closed");
    let len = |dir: &TempDir| fs::metadata(dir.log()).unwrap().len() as usize;
    // The next epoch has begun when this one is closed.
    let next = Steps::of(EPOCH + 1, 1);
    let mut journal = dir.open(steps.seed()).unwrap();
    next.begin(&mut journal).unwrap();
    assert_eq!(len(&dir), HEADER + 7 * RECORD);
    journal.close_epoch(EPOCH).unwrap();
    assert_eq!(len(&dir), HEADER + 2 * RECORD);
    assert_eq!(journal.closed_epoch(), Some(EPOCH));
    // Locked across the replacement of the log.
    assert_eq!(dir.open(steps.seed()).unwrap_err(), IN_USE);
    for restarted in [false, true] {
        if restarted {
            drop(journal);
            journal = dir.open(steps.seed()).unwrap();
        }
        let conflict = RoundError::Journal(JournalError::EpochConflict);
        assert_eq!(steps.begin(&mut journal), Err(conflict));
        let result = steps.commit(3, 0, b"payload", &mut journal);
        assert_eq!(result.unwrap_err(), conflict);
        next.begin(&mut journal).unwrap();
    }
    journal.close_epoch(EPOCH).unwrap();
    journal.close_epoch(EPOCH - 1).unwrap();
    assert_eq!(journal.closed_epoch(), Some(EPOCH));
}
