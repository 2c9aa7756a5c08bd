//! The durable guard: what it survives and what it refuses.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use mladsa_aggregate::*;
use mldsa_core::Randomness;

use crate::committee::*;
use crate::disk::Disk;

const HEADER: usize = 112;
const RECORD: usize = 152;

/// A directory of its own, removed afterwards.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("mladsa-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    fn log(&self) -> PathBuf {
        self.0.join("guard.log")
    }

    fn mark(&self) -> PathBuf {
        self.0.join("guard.mark")
    }

    fn create(&self, seed: &MasterSeed) -> Result<Guard, Error> {
        Guard::create_files(&self.log(), &self.mark(), seed)
    }

    fn open(&self, seed: &MasterSeed) -> Result<Guard, Error> {
        Guard::open_files(&self.log(), &self.mark(), seed)
    }

    /// The log with `bytes`, whose opening fails.
    fn refuses(&self, seed: &MasterSeed, bytes: &[u8]) {
        fs::write(self.log(), bytes).unwrap();
        assert_eq!(self.open(seed).unwrap_err(), Error::GuardFailure);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Steps of member 0 of a committee of its own, on a guard of the caller.
struct Steps {
    member: Member,
    agreed: AgreedRoots,
    tree: EpochTree,
    pinned: PinnedRoots,
}

impl Steps {
    fn new() -> Self {
        Self::of(EPOCH, 1)
    }

    /// In an epoch with so many members.
    fn of(epoch: u64, n: usize) -> Self {
        let members: Vec<Member> = (0..n).map(member).collect();
        let mut guards: Vec<Guard> = members.iter().map(guard).collect();
        let labels = ["a", "b", "c", "d"].map(base).to_vec();
        let plan = EpochPlan::new(epoch, labels).unwrap();
        let (mut trees, agreed) = agree(&members, &mut guards, &registry(&members), &plan);
        Self {
            member: member(0),
            tree: trees.remove(0),
            pinned: agreed.pinned().clone(),
            agreed,
        }
    }

    fn seed(&self) -> &MasterSeed {
        self.member.seed()
    }

    /// The two records that precede every round.
    fn begin(&self, guard: &mut Guard) -> Result<(), Error> {
        self.member
            .announce(&self.tree, guard, Randomness::Deterministic)?;
        self.member
            .acknowledge(&self.pinned, guard, Randomness::Deterministic)?;
        Ok(())
    }

    fn round(
        &self,
        name: &str,
        attempt: u8,
        payload: &[u8],
        guard: &Guard,
    ) -> Result<Arc<Round>, Error> {
        let label = base(name);
        let content = label.attempt(attempt)?;
        let opening = self
            .member
            .open(&self.agreed, &self.tree, &content, guard)?;
        let key = self.agreed.authenticate(&opening)?;
        Round::new(&self.agreed, &decision(&label, payload), attempt, [key])
    }

    fn commit(
        &self,
        name: &str,
        attempt: u8,
        payload: &[u8],
        guard: &mut Guard,
    ) -> Result<(Pending, Message), Error> {
        let round = self.round(name, attempt, payload, guard)?;
        self.member.commit(&round, guard)
    }

    fn respond(&self, name: &str, guard: &mut Guard) -> Result<Message, Error> {
        let round = self.round(name, 0, b"payload", guard)?;
        let (pending, message) = self.member.commit(&round, guard)?;
        let mut set = CommitmentSet::new(&round);
        set.add(&message)?;
        let challenge = set.challenge()?;
        self.member.respond(pending, &challenge, guard)
    }

    fn retire(&self, name: &str, guard: &mut Guard) -> Result<(), Error> {
        self.member
            .retire(&self.agreed, &base(name).attempt(0)?, guard)
    }
}

#[test]
fn states_survive_a_restart() {
    let (place, steps) = (Place::new("restart"), Steps::new());
    let seed = steps.seed();
    assert_eq!(place.open(seed).unwrap_err(), Error::GuardFailure);
    let mut guard = place.create(seed).unwrap();
    steps.begin(&mut guard).unwrap();
    for name in ["a", "b", "c"] {
        steps.retire(name, &mut guard).unwrap();
    }
    // One process at a time, by either door.
    assert_eq!(place.open(seed).unwrap_err(), Error::GuardInUse);
    assert_eq!(place.create(seed).unwrap_err(), Error::GuardInUse);
    drop(guard);
    // A store is not made anew, nor opened for another seed.
    assert_eq!(place.create(seed).unwrap_err(), Error::GuardFailure);
    let other = crate::committee::member(1);
    assert_eq!(place.open(other.seed()).unwrap_err(), Error::GuardFailure);
    let len = fs::metadata(place.log()).unwrap().len() as usize;
    assert_eq!(len, HEADER + 5 * RECORD);
    let mut guard = place.open(seed).unwrap();
    assert_eq!(guard.roots(EPOCH), Some(*steps.pinned.digest()));
    steps.begin(&mut guard).unwrap();
    for name in ["a", "b", "c"] {
        steps.retire(name, &mut guard).unwrap();
    }
    // What is recorded is not written again.
    assert_eq!(fs::metadata(place.log()).unwrap().len() as usize, len);
}

/// A log of six records, one of them a response, with its mark.
fn written(name: &str) -> (Place, Steps) {
    let (place, steps) = (Place::new(name), Steps::new());
    let mut guard = place.create(steps.seed()).unwrap();
    steps.begin(&mut guard).unwrap();
    steps.respond("a", &mut guard).unwrap();
    steps.commit("b", 0, b"payload", &mut guard).unwrap();
    steps.retire("c", &mut guard).unwrap();
    (place, steps)
}

#[test]
fn a_log_that_is_older_than_its_mark_is_refused() {
    let (place, steps) = written("rollback");
    let whole = fs::read(place.log()).unwrap();
    assert_eq!(whole.len(), HEADER + 6 * RECORD);
    for records in 0..6 {
        place.refuses(steps.seed(), &whole[..HEADER + records * RECORD]);
    }
    // Torn below the mark is rolled back too.
    for len in [0, 20, HEADER + 5 * RECORD + 1, HEADER + 6 * RECORD - 1] {
        place.refuses(steps.seed(), &whole[..len]);
    }
    fs::write(place.log(), &whole).unwrap();
    assert!(place.open(steps.seed()).is_ok());
    fs::remove_file(place.mark()).unwrap();
    assert_eq!(place.open(steps.seed()).unwrap_err(), Error::GuardFailure);
}

#[test]
fn a_torn_last_record_is_cut_off_before_anything_is_appended() {
    let (place, steps) = written("torn");
    let whole = fs::read(place.log()).unwrap();
    for torn in [1, 8, RECORD - 1, RECORD] {
        // Behind the mark's last record: a crash while the seventh was written.
        fs::write(place.log(), [&whole[..], &vec![0xee; torn]].concat()).unwrap();
        let mut guard = place.open(steps.seed()).unwrap();
        assert_eq!(fs::read(place.log()).unwrap(), whole);
        if torn == RECORD {
            steps.retire("d", &mut guard).unwrap();
            drop(guard);
            assert!(place.open(steps.seed()).is_ok());
        }
    }
}

#[test]
fn any_other_damage_is_refused() {
    let (place, steps) = written("damage");
    let seed = steps.seed();
    let whole = fs::read(place.log()).unwrap();
    for at in (0..whole.len()).step_by(13) {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x10;
        place.refuses(seed, &damaged);
    }
    // More than one record's worth of rubbish; two records swapped.
    place.refuses(seed, &[&whole[..], &[0xee; RECORD + 1]].concat());
    let mut swapped = whole.clone();
    let (first, second) = (
        HEADER..HEADER + RECORD,
        HEADER + RECORD..HEADER + 2 * RECORD,
    );
    swapped[first.clone()].copy_from_slice(&whole[second.clone()]);
    swapped[second].copy_from_slice(&whole[first]);
    place.refuses(seed, &swapped);

    fs::write(place.log(), &whole).unwrap();
    let mark = fs::read(place.mark()).unwrap();
    for at in 0..mark.len() {
        let mut damaged = mark.clone();
        damaged[at] ^= 1;
        fs::write(place.mark(), &damaged).unwrap();
        assert_eq!(place.open(seed).unwrap_err(), Error::GuardFailure);
    }
    fs::write(place.mark(), &mark[..mark.len() - 1]).unwrap();
    assert_eq!(place.open(seed).unwrap_err(), Error::GuardFailure);
    fs::write(place.mark(), &mark).unwrap();
    assert!(place.open(seed).is_ok());
}

#[test]
fn a_failed_write_or_flush_ends_the_process_s_use_of_the_store() {
    let steps = Steps::new();
    let disk = Disk::new();
    let mut guard = Guard::create(disk.log(), disk.mark(), steps.seed()).unwrap();
    let all = disk.steps();
    steps.begin(&mut guard).unwrap();
    // Append, flush, and two steps of the mark.
    let each = (disk.steps() - all) / 2;
    assert_eq!(each, 4);
    // What belongs together is flushed together.
    let all = disk.steps();
    let fourth = base("a").attempt(3).unwrap();
    steps
        .member
        .retire(&steps.agreed, &fourth, &mut guard)
        .unwrap();
    assert_eq!(disk.steps() - all, each);
    for fail_at in 0..each {
        let disk = Disk::new();
        let mut guard = Guard::create(disk.log(), disk.mark(), steps.seed()).unwrap();
        steps.begin(&mut guard).unwrap();
        disk.fail_at(disk.steps() + fail_at);
        assert_eq!(steps.retire("a", &mut guard), Err(Error::GuardFailure));
        // Also for what would have worked, and for what is already recorded.
        assert_eq!(steps.retire("a", &mut guard), Err(Error::GuardFailure));
        assert_eq!(steps.begin(&mut guard), Err(Error::GuardFailure));
        drop(guard);
        disk.repair();
        let mut guard = Guard::open(disk.log(), disk.mark(), steps.seed()).unwrap();
        steps.retire("a", &mut guard).unwrap();
        steps.retire("b", &mut guard).unwrap();
    }
}

/// The power is cut at every step, and whatever was not flushed is lost, all of it
/// or but for a part: what a guard has let out, it still knows.
#[test]
fn a_disk_that_loses_what_was_not_flushed_loses_nothing_that_was_released() {
    let (steps, next) = (Steps::new(), Steps::of(EPOCH + 1, 2));
    type Step<'a> = &'a dyn Fn(&mut Guard) -> Result<(), Error>;
    let script: [Step<'_>; 9] = [
        &|guard| steps.begin(guard),
        &|guard| steps.respond("a", guard).map(drop),
        &|guard| steps.commit("b", 0, b"payload", guard).map(drop),
        &|guard| steps.retire("b", guard),
        &|guard| steps.commit("b", 1, b"payload", guard).map(drop),
        &|guard| guard.close_epoch(EPOCH - 1),
        // The next epoch, with one member more.
        &|guard| next.begin(guard),
        &|guard| guard.close_epoch(EPOCH),
        &|guard| next.commit("a", 0, b"payload", guard).map(drop),
    ];
    let mut cuts = 0;
    for keep in [0, 1, 77, usize::MAX] {
        for cut_at in 0.. {
            let disk = Disk::new();
            disk.fail_at(cut_at);
            let mut done = 0;
            let created = Guard::create(disk.log(), disk.mark(), steps.seed());
            let was_created = created.is_ok();
            if let Ok(mut guard) = created {
                done = script
                    .iter()
                    .take_while(|step| step(&mut guard).is_ok())
                    .count();
            }
            if done == script.len() {
                break;
            }
            cuts += 1;
            disk.cut_power(keep);
            let opened = Guard::open(disk.log(), disk.mark(), steps.seed());
            let mut guard = match opened {
                Ok(guard) => guard,
                Err(error) => {
                    // Only a store that has never been complete.
                    assert!(!was_created, "cut at {cut_at}, kept {keep}: {error}");
                    Guard::create(disk.log(), disk.mark(), steps.seed()).unwrap()
                }
            };
            if done >= 7 {
                assert_eq!(guard.roots(EPOCH + 1), Some(*next.pinned.digest()));
            }
            if done >= 8 {
                assert_eq!(guard.closed(), Some(EPOCH));
            }
            if guard.closed() == Some(EPOCH) {
                // What was answered is still not answered otherwise.
                assert!(done >= 7);
                assert_eq!(steps.begin(&mut guard), Err(Error::EpochConflict));
                next.commit("a", 0, b"payload", &mut guard).unwrap();
                let other = next.commit("a", 0, b"another", &mut guard);
                assert_eq!(other.unwrap_err(), Error::OneTimeViolation);
                continue;
            }
            if done >= 1 {
                assert_eq!(guard.roots(EPOCH), Some(*steps.pinned.digest()));
            } else {
                steps.begin(&mut guard).unwrap();
            }
            if done >= 2 {
                let other = steps.commit("a", 0, b"another", &mut guard);
                assert_eq!(other.unwrap_err(), Error::OneTimeViolation);
                steps.respond("a", &mut guard).unwrap();
            }
            if done >= 3 {
                let other = steps.commit("b", 0, b"another", &mut guard);
                assert_eq!(other.unwrap_err(), Error::OneTimeViolation);
            }
            if done >= 4 {
                let retired = steps.commit("b", 0, b"payload", &mut guard);
                assert_eq!(retired.unwrap_err(), Error::OneTimeViolation);
            }
            if done >= 5 {
                let other = steps.commit("b", 1, b"another", &mut guard);
                assert_eq!(other.unwrap_err(), Error::OneTimeViolation);
            }
            // And it goes on.
            steps.retire("d", &mut guard).unwrap();
        }
    }
    assert!(cuts > 100, "{cuts}");
}

/// A log that two processes write to because locks do not work: neither releases
/// what the other does not know.
#[test]
fn two_writers_without_a_lock_see_each_other() {
    let steps = Steps::new();
    for first in [false, true] {
        let disk = Disk::new();
        let mut guard = Guard::create(disk.log(), disk.mark(), steps.seed()).unwrap();
        steps.begin(&mut guard).unwrap();
        drop(guard);
        let open = || Guard::open(disk.log(), disk.mark(), steps.seed()).unwrap();
        let (mut one, mut two) = (open(), open());
        if first {
            // Both look before either writes.
            disk.write_between(two);
            let refused = steps.commit("a", 0, b"block A", &mut one);
            assert_eq!(refused.unwrap_err(), Error::GuardFailure);
        } else {
            steps.commit("a", 0, b"block A", &mut one).unwrap();
            let refused = steps.commit("a", 0, b"block B", &mut two);
            assert_eq!(refused.unwrap_err(), Error::GuardFailure);
            // It looks again before each step, not only at the first.
            let refused = steps.retire("b", &mut two);
            assert_eq!(refused.unwrap_err(), Error::GuardFailure);
        }
    }
    // Of the other there is only a record yet, or only a mark: its log was restored.
    for restored in [false, true] {
        let disk = Disk::new();
        let mut guard = Guard::create(disk.log(), disk.mark(), steps.seed()).unwrap();
        steps.begin(&mut guard).unwrap();
        let before = disk.log().size().unwrap();
        drop(guard);
        let open = || Guard::open(disk.log(), disk.mark(), steps.seed()).unwrap();
        let (mut one, mut two) = (open(), open());
        if restored {
            steps.commit("a", 0, b"block A", &mut two).unwrap();
            disk.log().truncate(before).unwrap();
        } else {
            disk.fail_at(disk.steps() + 2);
            let refused = steps.commit("a", 0, b"block A", &mut two);
            assert_eq!(refused.unwrap_err(), Error::GuardFailure);
            disk.repair();
        }
        let refused = steps.commit("a", 0, b"block B", &mut one);
        assert_eq!(refused.unwrap_err(), Error::GuardFailure, "{restored}");
    }
    // Two files, one of them moved into the place of the other.
    let (place, steps) = written("moved");
    let mut guard = place.open(steps.seed()).unwrap();
    let copy = place.0.join("copy");
    fs::copy(place.log(), &copy).unwrap();
    fs::rename(&copy, place.log()).unwrap();
    let refused = steps.retire("d", &mut guard);
    assert_eq!(refused.unwrap_err(), Error::GuardFailure);
}

/// A mark may lie where others write.
#[cfg(unix)]
#[test]
fn a_link_in_the_way_of_the_mark_is_not_followed() {
    let (place, steps) = written("link");
    let other = place.0.join("other");
    fs::write(&other, b"somebody's").unwrap();
    let mut next = place.mark().into_os_string();
    next.push(".next");
    std::os::unix::fs::symlink(&other, next).unwrap();
    let mut guard = place.open(steps.seed()).unwrap();
    steps.retire("d", &mut guard).unwrap();
    assert_eq!(fs::read(other).unwrap(), b"somebody's");
    drop(guard);
    assert!(place.open(steps.seed()).is_ok());
}

#[test]
fn an_interrupted_creation_is_completed() {
    let member = member(0);
    let reference = Place::new("whole");
    drop(reference.create(member.seed()).unwrap());
    let header = fs::read(reference.log()).unwrap();
    for len in [0, 7, HEADER - 1, HEADER] {
        let place = Place::new(&format!("creation-{len}"));
        fs::write(place.log(), &header[..len]).unwrap();
        assert_eq!(place.open(member.seed()).unwrap_err(), Error::GuardFailure);
        drop(place.create(member.seed()).unwrap());
        assert!(place.open(member.seed()).is_ok());
    }
    let place = Place::new("foreign");
    fs::write(place.log(), b"something else").unwrap();
    assert_eq!(
        place.create(member.seed()).unwrap_err(),
        Error::GuardFailure
    );
    assert_eq!(fs::read(place.log()).unwrap(), b"something else");
    // A log of the version before has another magic.
    let mut old = header;
    old[7] = b'1';
    fs::copy(reference.mark(), place.mark()).unwrap();
    place.refuses(member.seed(), &old);
}

#[test]
fn a_closed_epoch_leaves_the_log_and_stays_closed() {
    let (place, steps) = written("closed");
    let len = |place: &Place| fs::metadata(place.log()).unwrap().len() as usize;
    let mut guard = place.open(steps.seed()).unwrap();
    // The next epoch has begun when this one is closed.
    let registry = Arc::clone(steps.agreed.registry());
    let next = EpochPlan::new(EPOCH + 1, vec![base("a")]).unwrap();
    let mut guards = [guard];
    let members = [member(0)];
    let (trees, agreed) = agree(&members, &mut guards, &registry, &next);
    [guard] = guards;
    assert_eq!(len(&place), HEADER + 8 * RECORD);
    guard.close_epoch(EPOCH).unwrap();
    assert_eq!(len(&place), HEADER + 3 * RECORD);
    assert_eq!(guard.closed(), Some(EPOCH));
    // Locked all the time, and usable by nobody else.
    assert_eq!(place.open(steps.seed()).unwrap_err(), Error::GuardInUse);
    for restarted in [false, true] {
        if restarted {
            drop(guard);
            guard = place.open(steps.seed()).unwrap();
        }
        assert_eq!(steps.begin(&mut guard), Err(Error::EpochConflict));
        let refused = steps.commit("d", 0, b"payload", &mut guard);
        assert_eq!(refused.unwrap_err(), Error::RootsNotAgreed);
        let label = base("a").attempt(0).unwrap();
        steps
            .member
            .open(&agreed, &trees[0], &label, &guard)
            .unwrap();
    }
    guard.close_epoch(EPOCH).unwrap();
    guard.close_epoch(EPOCH - 1).unwrap();
    assert_eq!(guard.closed(), Some(EPOCH));
}

#[test]
fn pinned_values_are_never_replaced() {
    let place = Place::new("pins");
    let mut store = FilePins::new(&place.0);
    store.pin("seven", b"list").unwrap();
    let mut restarted = FilePins::new(&place.0);
    restarted.pin("seven", b"list").unwrap();
    assert_eq!(
        restarted.pin("seven", b"another"),
        Err(Error::RootNotPinned)
    );
    restarted.pin("eight", b"another").unwrap();
    assert_eq!(store.pinned("seven"), Ok(Some(b"list".to_vec())));
    assert_eq!(store.pinned("nine"), Ok(None));
    // A process that was killed before its list was in place leaves nothing pinned,
    // and does not stand in the way of another of the same number.
    let torn = place.0.join(format!("nine.{}-0.next", std::process::id()));
    fs::write(torn, b"lis").unwrap();
    restarted.pin("nine", b"list").unwrap();
    assert_eq!(restarted.pin("nine", b"lis"), Err(Error::RootNotPinned));
    let file = place.0.join("seven");
    let mut bytes = fs::read(&file).unwrap();
    bytes[0] ^= 1;
    fs::write(&file, bytes).unwrap();
    assert_eq!(store.pin("seven", b"list"), Err(Error::RootNotPinned));
    assert_eq!(store.pinned("seven"), Err(Error::GuardFailure));
    let mut nowhere = FilePins::new(&place.0.join("missing"));
    assert_eq!(nowhere.pin("seven", b"list"), Err(Error::GuardFailure));
}

/// Processes of one number, as in containers: here threads. Whoever hears `Ok` has
/// its list in the file.
#[test]
fn a_race_to_pin_has_one_winner() {
    let place = Place::new("race");
    for round in 0..200 {
        let name = format!("list-{round}");
        let racers: Vec<_> = (0..2u8)
            .map(|n| {
                let (mut store, name) = (FilePins::new(&place.0), name.clone());
                std::thread::spawn(move || store.pin(&name, &[n; 9000]).is_ok().then_some(n))
            })
            .collect();
        let winners: Vec<u8> = racers
            .into_iter()
            .filter_map(|racer| racer.join().unwrap())
            .collect();
        let [winner] = winners[..] else {
            panic!("{winners:?} have pinned {name}");
        };
        let kept = FilePins::new(&place.0).pinned(&name).unwrap();
        assert_eq!(kept, Some(vec![winner; 9000]));
    }
}

/// Two stores that were given one mark: the one whose guard was made keeps it, and the
/// other has none to release anything with.
#[test]
fn a_race_for_a_mark_has_one_winner() {
    let place = Place::new("mark-race");
    for round in 0..50u8 {
        let mark = place.0.join(format!("mark-{round}"));
        let racers: Vec<_> = (0..2u8)
            .map(|n| {
                let log = place.0.join(format!("log-{round}-{n}"));
                let mark = mark.clone();
                std::thread::spawn(move || {
                    let seed = MasterSeed::from_bytes(&[2 * round + n; 32]);
                    let made = Guard::create_files(&log, &mark, &seed);
                    let made = made.and_then(|mut guard| guard.close_epoch(1)).is_ok();
                    (made, Guard::open_files(&log, &mark, &seed).is_ok())
                })
            })
            .collect();
        let mut ends: Vec<_> = racers
            .into_iter()
            .map(|racer| racer.join().unwrap())
            .collect();
        ends.sort_unstable();
        assert_eq!(ends, [(false, false), (true, true)]);
    }
    // Three files a round, and nothing beside them.
    assert_eq!(fs::read_dir(&place.0).unwrap().count(), 150);
}
