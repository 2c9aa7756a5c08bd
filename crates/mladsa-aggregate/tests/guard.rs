//! The durable guard: what it survives and what it refuses.
#![allow(clippy::unwrap_used, reason = "a test")]

#[allow(dead_code, reason = "shared with the other tests")]
mod committee;

use std::fs;
use std::io;
use std::path::PathBuf;

use committee::*;
use mladsa_aggregate::*;

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

    fn create(&self, seed: &MasterSeed) -> Result<FileGuard, Error> {
        FileGuard::create(&self.log(), &self.mark(), seed)
    }

    fn open(&self, seed: &MasterSeed) -> Result<FileGuard, Error> {
        FileGuard::open(&self.log(), &self.mark(), seed)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn label(n: u8) -> ContentLabel {
    base(&format!("label {n}")).attempt(0).unwrap()
}

#[test]
fn states_survive_a_restart() {
    let place = Place::new("restart");
    let member = member(0);
    assert_eq!(place.open(member.seed()).unwrap_err(), Error::GuardFailure);
    let mut guard = place.create(member.seed()).unwrap();
    for n in 0..5 {
        member.retire(&label(n), &mut guard).unwrap();
    }
    // One process at a time, by either door.
    assert_eq!(place.open(member.seed()).unwrap_err(), Error::GuardInUse);
    assert_eq!(place.create(member.seed()).unwrap_err(), Error::GuardInUse);
    drop(guard);
    // A store is not made anew, nor opened for another seed.
    assert_eq!(
        place.create(member.seed()).unwrap_err(),
        Error::GuardFailure
    );
    assert_eq!(
        place.open(committee::member(1).seed()).unwrap_err(),
        Error::GuardFailure
    );
    let len = fs::metadata(place.log()).unwrap().len();
    assert_eq!(len, 40 + 5 * 144);
    let mut guard = place.open(member.seed()).unwrap();
    for n in 0..5 {
        member.retire(&label(n), &mut guard).unwrap();
    }
    // What was retired is not written again.
    assert_eq!(fs::metadata(place.log()).unwrap().len(), len);
}

/// A log of five records, one of them a response, with its mark.
fn written(name: &str) -> (Place, Member) {
    let place = Place::new(name);
    let committee = Committee::new(1, &["a", "b", "c"]);
    let member = member(0);
    let mut guard = place.create(member.seed()).unwrap();
    for name in ["a", "b"] {
        let label = base(name).attempt(0).unwrap();
        let round = committee.round(&[0], &label, b"payload");
        let (pending, commitment) = member.commit(&round, &mut guard).unwrap();
        let mut set = CommitmentSet::new(&round);
        set.add(&id(0), commitment).unwrap();
        let challenge = set.challenge().unwrap();
        pending.respond(&challenge, &mut guard).unwrap();
    }
    member.retire(&label(0), &mut guard).unwrap();
    (place, member)
}

#[test]
fn a_log_that_is_older_than_its_mark_is_refused() {
    let (place, member) = written("rollback");
    let whole = fs::read(place.log()).unwrap();
    assert_eq!(whole.len(), 40 + 5 * 144);
    for records in 0..5 {
        fs::write(place.log(), &whole[..40 + records * 144]).unwrap();
        assert_eq!(place.open(member.seed()).unwrap_err(), Error::GuardFailure);
    }
    // Torn below the mark is rolled back too.
    for len in [0, 20, 40 + 4 * 144 + 1, 40 + 5 * 144 - 1] {
        fs::write(place.log(), &whole[..len]).unwrap();
        assert_eq!(place.open(member.seed()).unwrap_err(), Error::GuardFailure);
    }
    fs::write(place.log(), &whole).unwrap();
    assert!(place.open(member.seed()).is_ok());
    fs::remove_file(place.mark()).unwrap();
    assert_eq!(place.open(member.seed()).unwrap_err(), Error::GuardFailure);
}

#[test]
fn a_torn_last_record_is_cut_off_before_anything_is_appended() {
    let (place, member) = written("torn");
    let whole = fs::read(place.log()).unwrap();
    for torn in [1, 8, 143, 144] {
        // Behind the mark's last record: a crash while the sixth was written.
        fs::write(place.log(), [&whole[..], &vec![0xee; torn]].concat()).unwrap();
        let mut guard = place.open(member.seed()).unwrap();
        assert_eq!(fs::read(place.log()).unwrap(), whole);
        if torn == 144 {
            member.retire(&label(9), &mut guard).unwrap();
            drop(guard);
            assert!(place.open(member.seed()).is_ok());
        }
    }
}

#[test]
fn any_other_damage_is_refused() {
    let (place, member) = written("damage");
    let whole = fs::read(place.log()).unwrap();
    for at in (0..whole.len()).step_by(13) {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x10;
        fs::write(place.log(), &damaged).unwrap();
        assert_eq!(
            place.open(member.seed()).unwrap_err(),
            Error::GuardFailure,
            "byte {at}"
        );
    }
    // More than one record's worth of rubbish; two records swapped.
    fs::write(place.log(), [&whole[..], &[0xee; 145]].concat()).unwrap();
    assert_eq!(place.open(member.seed()).unwrap_err(), Error::GuardFailure);
    let mut swapped = whole.clone();
    swapped[40..40 + 144].copy_from_slice(&whole[184..184 + 144]);
    swapped[184..184 + 144].copy_from_slice(&whole[40..40 + 144]);
    fs::write(place.log(), &swapped).unwrap();
    assert_eq!(place.open(member.seed()).unwrap_err(), Error::GuardFailure);

    fs::write(place.log(), &whole).unwrap();
    let mark = fs::read(place.mark()).unwrap();
    for at in 0..mark.len() {
        let mut damaged = mark.clone();
        damaged[at] ^= 1;
        fs::write(place.mark(), &damaged).unwrap();
        assert_eq!(place.open(member.seed()).unwrap_err(), Error::GuardFailure);
    }
    fs::write(place.mark(), &mark[..mark.len() - 1]).unwrap();
    assert_eq!(place.open(member.seed()).unwrap_err(), Error::GuardFailure);
    fs::write(place.mark(), &mark).unwrap();
    assert!(place.open(member.seed()).is_ok());
}

/// A medium whose operation number `fail_at` reports an error.
struct Failing {
    files: FileMedium,
    left: usize,
}

impl Failing {
    fn step(&mut self) -> io::Result<()> {
        if self.left == 0 {
            return Err(io::Error::other("made to fail"));
        }
        self.left -= 1;
        Ok(())
    }
}

impl GuardMedium for Failing {
    fn read_log(&mut self) -> io::Result<Vec<u8>> {
        self.files.read_log()
    }
    fn append_log(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.left == 0 {
            // The disk was full in the middle of it.
            self.files.append_log(&bytes[..bytes.len() / 2])?;
        }
        self.step()?;
        self.files.append_log(bytes)
    }
    fn truncate_log(&mut self, len: u64) -> io::Result<()> {
        self.files.truncate_log(len)
    }
    fn flush_log(&mut self) -> io::Result<()> {
        self.step()?;
        self.files.flush_log()
    }
    fn read_mark(&mut self) -> io::Result<Option<Vec<u8>>> {
        self.files.read_mark()
    }
    fn write_mark(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.step()?;
        self.files.write_mark(bytes)
    }
    fn publish_mark(&mut self) -> io::Result<()> {
        self.step()?;
        self.files.publish_mark()
    }
}

#[test]
fn a_failed_write_or_flush_ends_the_process_s_use_of_the_store() {
    for fail_at in 0..4 {
        let place = Place::new(&format!("failing-{fail_at}"));
        let member = member(0);
        drop(place.create(member.seed()).unwrap());
        let medium = Failing {
            files: FileMedium::open(&place.log(), &place.mark()).unwrap(),
            left: fail_at,
        };
        let mut guard = FileGuard::open_on(medium, member.seed()).unwrap();
        assert_eq!(
            member.retire(&label(0), &mut guard),
            Err(Error::GuardFailure)
        );
        // Also for what would have worked, and for what is already recorded.
        assert_eq!(
            member.retire(&label(0), &mut guard),
            Err(Error::GuardFailure)
        );
        assert_eq!(
            member.retire(&label(1), &mut guard),
            Err(Error::GuardFailure)
        );
        drop(guard);
        let mut guard = place.open(member.seed()).unwrap();
        member.retire(&label(0), &mut guard).unwrap();
        member.retire(&label(1), &mut guard).unwrap();
    }
}

#[test]
fn an_interrupted_creation_is_completed() {
    let member = member(0);
    let reference = Place::new("whole");
    drop(reference.create(member.seed()).unwrap());
    let header = fs::read(reference.log()).unwrap();
    for len in [0, 7, 39, 40] {
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
}

#[test]
fn pinned_lists_are_never_replaced() {
    let place = Place::new("roots");
    let mut store = FileRootStore::new(&place.0);
    store.pin(7, b"list").unwrap();
    let mut restarted = FileRootStore::new(&place.0);
    restarted.pin(7, b"list").unwrap();
    assert_eq!(restarted.pin(7, b"another"), Err(Error::RootNotPinned));
    restarted.pin(8, b"another").unwrap();
    // A process that was killed before its list was in place leaves nothing pinned.
    let torn = place.0.join(format!("epoch-9.{}.next", std::process::id()));
    fs::write(torn, b"lis").unwrap();
    restarted.pin(9, b"list").unwrap();
    assert_eq!(restarted.pin(9, b"lis"), Err(Error::RootNotPinned));
    let file = place.0.join("epoch-7.roots");
    let mut bytes = fs::read(&file).unwrap();
    bytes[0] ^= 1;
    fs::write(&file, bytes).unwrap();
    assert_eq!(store.pin(7, b"list"), Err(Error::RootNotPinned));
    let mut nowhere = FileRootStore::new(&place.0.join("missing"));
    assert_eq!(nowhere.pin(7, b"list"), Err(Error::GuardFailure));
}
