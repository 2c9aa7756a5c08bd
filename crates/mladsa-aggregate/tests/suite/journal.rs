//! The durable journal: crashes, damage, rollback and concurrent writers.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use mladsa_aggregate::errors::{JournalError, RootsError, RoundError, StorageError};
use mladsa_aggregate::steps::*;
use mladsa_aggregate::storage::LogStorage;
use mladsa_aggregate::*;
use mldsa_core::Randomness;

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
    pub(crate) member: Member,
    pub(crate) agreed: AgreedRoots,
    tree: EpochTree,
}

impl Steps {
    pub(crate) fn new() -> Self {
        Self::of(EPOCH, 1)
    }

    fn of(epoch: u64, members: usize) -> Self {
        let members: Vec<Member> = (0..members).map(member).collect();
        let mut journals: Vec<_> = members.iter().map(journal).collect();
        let tasks = ["a", "b", "c", "d"].map(task_id).to_vec();
        let plan = EpochPlan::new(epoch, tasks).unwrap();
        let (mut trees, agreed) = agree(&members, &mut journals, &registry(&members), &plan);
        Self {
            member: member(0),
            tree: trees.remove(0),
            agreed,
        }
    }

    pub(crate) fn seed(&self) -> &MasterSeed {
        self.member.seed()
    }

    /// Announcement and acknowledgement: two records.
    pub(crate) fn begin(&self, journal: &mut OneTimeKeyJournal) -> Result<(), RoundError> {
        let hedge = Randomness::Deterministic;
        let _ = self.member.announce(&self.tree, journal, hedge)?;
        let pinned = self.agreed.pinned();
        let _ = self.member.acknowledge(pinned, journal, hedge)?;
        Ok(())
    }

    fn round(
        &self,
        name: &str,
        attempt: u8,
        payload: &[u8],
        journal: &OneTimeKeyJournal,
    ) -> Result<Arc<Round>, RoundError> {
        let id = attempt_id(name, attempt);
        let opening = self.member.open(&self.agreed, &self.tree, &id, journal)?;
        let key = self.agreed.authenticate(&opening)?;
        Round::new(&self.agreed, &task(name, payload), attempt, [key])
    }

    pub(crate) fn commit(
        &self,
        name: &str,
        attempt: u8,
        payload: &[u8],
        journal: &mut OneTimeKeyJournal,
    ) -> Result<SignedMessage, RoundError> {
        let round = self.round(name, attempt, payload, journal)?;
        self.member
            .commit(&round, journal)
            .map(|(_, message)| message)
    }

    fn respond(
        &self,
        name: &str,
        journal: &mut OneTimeKeyJournal,
    ) -> Result<SignedMessage, RoundError> {
        let round = self.round(name, 0, b"payload", journal)?;
        let (pending, message) = self.member.commit(&round, journal)?;
        let mut set = CommitmentSet::new(&round);
        set.add(&message)?;
        set.add(&self.member.reveal(&pending, &set, journal)?)?;
        self.member.respond(pending, &*set.challenge()?, journal)
    }

    pub(crate) fn retire(
        &self,
        name: &str,
        journal: &mut OneTimeKeyJournal,
    ) -> Result<(), RoundError> {
        let attempt = attempt_id(name, 0);
        self.member.retire(&self.agreed, &attempt, journal)
    }
}

/// A log of seven records, one of them a response, with its mark.
fn written(name: &str) -> (TempDir, Steps) {
    let (dir, steps) = (TempDir::new(name), Steps::new());
    let mut journal = dir.create(steps.seed()).unwrap();
    steps.begin(&mut journal).unwrap();
    steps.respond("a", &mut journal).unwrap();
    steps.commit("b", 0, b"payload", &mut journal).unwrap();
    steps.retire("c", &mut journal).unwrap();
    (dir, steps)
}

#[test]
fn states_survive_a_restart() {
    let (dir, steps) = (TempDir::new("restart"), Steps::new());
    let seed = steps.seed();
    assert_eq!(dir.open(seed).unwrap_err(), FAILED);
    let mut journal = dir.create(seed).unwrap();
    steps.begin(&mut journal).unwrap();
    for name in ["a", "b", "c"] {
        steps.retire(name, &mut journal).unwrap();
    }
    // One process at a time.
    assert_eq!(dir.open(seed).unwrap_err(), IN_USE);
    assert_eq!(dir.create(seed).unwrap_err(), IN_USE);
    drop(journal);
    // Neither created again nor opened for another seed.
    assert_eq!(dir.create(seed).unwrap_err(), JournalError::Damaged);
    let other = member(1);
    assert_eq!(dir.open(other.seed()).unwrap_err(), JournalError::Damaged);
    let len = fs::metadata(dir.log()).unwrap().len() as usize;
    assert_eq!(len, HEADER + 5 * RECORD);
    let mut journal = dir.open(seed).unwrap();
    let roots = Some(*steps.agreed.digest());
    assert_eq!(journal.acknowledged_roots(EPOCH), roots);
    steps.begin(&mut journal).unwrap();
    for name in ["a", "b", "c"] {
        steps.retire(name, &mut journal).unwrap();
    }
    // Recorded entries are not written again.
    assert_eq!(fs::metadata(dir.log()).unwrap().len() as usize, len);
}

#[test]
fn log_older_than_its_mark_is_rejected() {
    let (dir, steps) = written("rollback");
    let whole = fs::read(dir.log()).unwrap();
    assert_eq!(whole.len(), HEADER + 7 * RECORD);
    for records in 0..7 {
        dir.assert_damaged(steps.seed(), &whole[..HEADER + records * RECORD]);
    }
    // Torn before the marked position.
    for len in [0, 20, HEADER + 6 * RECORD + 1, HEADER + 7 * RECORD - 1] {
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
            steps.retire("d", &mut journal).unwrap();
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
    steps.retire("a", &mut journal).unwrap();
    // Append, flush, mark.
    let each = disk.steps() - before;
    assert_eq!(each, 3);
    // The entries of one step share a flush.
    let before = disk.steps();
    let fourth = attempt_id("b", 3);
    let retired = steps.member.retire(&steps.agreed, &fourth, &mut journal);
    retired.unwrap();
    assert_eq!(disk.steps() - before, each);
    for fail_at in 0..each {
        let (disk, mut journal) = begun();
        disk.fail_at(disk.steps() + fail_at);
        assert_eq!(steps.retire("a", &mut journal), failed);
        // Also for recorded entries.
        assert_eq!(steps.retire("a", &mut journal), failed);
        assert!(steps.begin(&mut journal).is_err());
        drop(journal);
        disk.repair();
        let journal = OneTimeKeyJournal::open(disk.clone(), disk.clone(), steps.seed());
        let mut journal = journal.unwrap();
        steps.retire("a", &mut journal).unwrap();
        steps.retire("b", &mut journal).unwrap();
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
        &|journal| steps.respond("a", journal).map(drop),
        &|journal| steps.commit("b", 0, b"payload", journal).map(drop),
        &|journal| steps.retire("b", journal),
        &|journal| steps.commit("b", 1, b"payload", journal).map(drop),
        &|journal| Ok(journal.close_epoch(EPOCH - 1)?),
        // The next epoch, with one more member.
        &|journal| next.begin(journal),
        &|journal| Ok(journal.close_epoch(EPOCH)?),
        &|journal| next.commit("a", 0, b"payload", journal).map(drop),
    ];
    let conflict = RootsError::Journal(JournalError::EpochConflict);
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
                let roots = journal.acknowledged_roots(EPOCH + 1);
                assert_eq!(roots, Some(*next.agreed.digest()));
            }
            if done >= 8 {
                assert_eq!(journal.closed_epoch(), Some(EPOCH));
            }
            if journal.closed_epoch() == Some(EPOCH) {
                assert!(done >= 7);
                assert_eq!(steps.begin(&mut journal), Err(conflict.into()));
                next.commit("a", 0, b"payload", &mut journal).unwrap();
                let other = next.commit("a", 0, b"another", &mut journal);
                assert_eq!(other.unwrap_err(), KEY_REUSED);
                continue;
            }
            if done >= 1 {
                let roots = journal.acknowledged_roots(EPOCH);
                assert_eq!(roots, Some(*steps.agreed.digest()));
            } else {
                steps.begin(&mut journal).unwrap();
            }
            // Entry of the script, and a step that it excludes.
            let excluded: [(usize, &str, u8, &[u8]); 4] = [
                (2, "a", 0, b"another"),
                (3, "b", 0, b"another"),
                (4, "b", 0, b"payload"),
                (5, "b", 1, b"another"),
            ];
            for (after, name, attempt, payload) in excluded {
                if done >= after {
                    let result = steps.commit(name, attempt, payload, &mut journal);
                    assert_eq!(result.unwrap_err(), KEY_REUSED);
                }
            }
            if done >= 2 {
                steps.respond("a", &mut journal).unwrap();
            }
            steps.retire("d", &mut journal).unwrap();
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
    let result = steps.commit("a", 0, b"block A", &mut one);
    assert_eq!(result.unwrap_err(), failed);
    // One after the other.
    let (_, mut one, mut other) = two();
    steps.commit("a", 0, b"block A", &mut one).unwrap();
    let result = steps.commit("a", 0, b"block B", &mut other);
    assert_eq!(result.unwrap_err(), failed);
    assert_eq!(steps.retire("b", &mut other).unwrap_err(), failed);
    // The other has written a record and no mark.
    let (disk, mut one, mut other) = two();
    disk.fail_at(disk.steps() + 2);
    let result = steps.commit("a", 0, b"block A", &mut other);
    assert_eq!(result.unwrap_err(), failed);
    disk.repair();
    let result = steps.commit("a", 0, b"block B", &mut one);
    assert_eq!(result.unwrap_err(), failed);
    // The other has written a mark, and its log was restored.
    let (mut disk, mut one, mut other) = two();
    let before = LogStorage::size(&mut disk).unwrap();
    steps.commit("a", 0, b"block A", &mut other).unwrap();
    LogStorage::truncate(&mut disk, before).unwrap();
    let result = steps.commit("a", 0, b"block B", &mut one);
    assert_eq!(result.unwrap_err(), failed);
    // Another file under the name of the log.
    let (dir, steps) = written("moved");
    let mut journal = dir.open(steps.seed()).unwrap();
    let copy = dir.0.join("copy");
    fs::copy(dir.log(), &copy).unwrap();
    fs::rename(&copy, dir.log()).unwrap();
    assert_eq!(steps.retire("d", &mut journal).unwrap_err(), failed);
}

#[test]
fn interrupted_creation_is_completed() {
    let member = member(0);
    let reference = TempDir::new("whole");
    drop(reference.create(member.seed()).unwrap());
    let header = fs::read(reference.log()).unwrap();
    for len in [0, 7, HEADER - 1, HEADER] {
        let dir = TempDir::new(&format!("creation-{len}"));
        fs::write(dir.log(), &header[..len]).unwrap();
        let error = dir.open(member.seed()).unwrap_err();
        assert_eq!(error, JournalError::Damaged);
        drop(dir.create(member.seed()).unwrap());
        dir.open(member.seed()).unwrap();
    }
    let dir = TempDir::new("foreign");
    fs::write(dir.log(), b"something else").unwrap();
    let error = dir.create(member.seed()).unwrap_err();
    assert_eq!(error, JournalError::Damaged);
    assert_eq!(fs::read(dir.log()).unwrap(), b"something else");
    // The magic of an earlier version.
    let mut old = header;
    old[7] = b'1';
    fs::copy(reference.mark(), dir.mark()).unwrap();
    dir.assert_damaged(member.seed(), &old);
}

#[test]
fn closed_epoch_leaves_the_log_and_stays_closed() {
    let (dir, steps) = written("closed");
    let len = |dir: &TempDir| fs::metadata(dir.log()).unwrap().len() as usize;
    // The next epoch has begun when this one is closed.
    let registry = Arc::clone(steps.agreed.registry());
    let next = EpochPlan::new(EPOCH + 1, vec![task_id("a")]).unwrap();
    let mut journals = [dir.open(steps.seed()).unwrap()];
    let members = [member(0)];
    let (trees, agreed) = agree(&members, &mut journals, &registry, &next);
    let [mut journal] = journals;
    assert_eq!(len(&dir), HEADER + 9 * RECORD);
    journal.close_epoch(EPOCH).unwrap();
    assert_eq!(len(&dir), HEADER + 3 * RECORD);
    assert_eq!(journal.closed_epoch(), Some(EPOCH));
    // Locked across the replacement of the log.
    assert_eq!(dir.open(steps.seed()).unwrap_err(), IN_USE);
    for restarted in [false, true] {
        if restarted {
            drop(journal);
            journal = dir.open(steps.seed()).unwrap();
        }
        let conflict = RootsError::Journal(JournalError::EpochConflict);
        assert_eq!(steps.begin(&mut journal), Err(conflict.into()));
        let result = steps.commit("d", 0, b"payload", &mut journal);
        assert_eq!(
            result.unwrap_err(),
            JournalError::RootsNotAcknowledged.into()
        );
        let opening = steps
            .member
            .open(&agreed, &trees[0], &attempt_id("a", 0), &journal);
        opening.unwrap();
    }
    journal.close_epoch(EPOCH).unwrap();
    journal.close_epoch(EPOCH - 1).unwrap();
    assert_eq!(journal.closed_epoch(), Some(EPOCH));
}
