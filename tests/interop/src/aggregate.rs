//! All parsers of `mladsa-aggregate`: a decoded object encodes to the same bytes, and no input
//! panics.

use std::sync::{Arc, Mutex, OnceLock};

use mladsa_aggregate::errors::{JournalError, RoundError, StorageError};
use mladsa_aggregate::steps::{
    CommitmentSet, ConflictingMessages, Message, OneTimePublicKey, Round,
};
use mladsa_aggregate::storage::{LogStorage, MarkStorage};
use mladsa_aggregate::test_util::{Commitment, Opening, Response, SignerSet};
use mladsa_aggregate::{
    Aggregate, AggregateCertificate, AttemptId, CommitteeView, Epoch, Error, MasterSeed, Member,
    MemberName, OneTimeKeyJournal, Registration, SigningCommittee as Members, SigningTask,
};
use mldsa_core::Randomness;

/// A committee of two, up to a round with a commitment.
#[derive(Debug)]
pub struct Committee {
    members: Arc<Members>,
    round: Arc<Round>,
    task: SigningTask,
    /// An encoding for each parser, with the byte that selects the parser.
    pub samples: Vec<(u8, Vec<u8>)>,
}

fn committee() -> &'static Committee {
    static COMMITTEE: OnceLock<Committee> = OnceLock::new();
    COMMITTEE.get_or_init(|| Committee::new().expect("a committee"))
}

const FIRST: AttemptId = AttemptId { slot: 0, number: 0 };

fn member(n: u8) -> Result<Member, Error> {
    let epoch = Epoch::new(b"FUZZ", 1, 1, 4)?;
    let seed = MasterSeed::from_bytes(&[n; 32]);
    Ok(Member::new(MemberName::new(&[b'a' + n])?, seed, &epoch)?)
}

impl Committee {
    /// The committee for which all inputs are decoded.
    ///
    /// # Errors
    /// None.
    pub fn new() -> Result<Self, Error> {
        let hedge = Randomness::Deterministic;
        let all = [member(0)?, member(1)?];
        let entries = [all[0].register(hedge)?, all[1].register(hedge)?];
        let registration = entries[0].to_bytes();
        let epoch = Epoch::new(b"FUZZ", 1, 1, 4)?;
        let members = Members::new(&epoch, entries.map(|entry| (entry, 1)), 2)?;
        let task = SigningTask::decision(0, b"payload");
        let mut journals = [
            OneTimeKeyJournal::in_memory(all[0].seed())?,
            OneTimeKeyJournal::in_memory(all[1].seed())?,
        ];
        let (mut openings, mut keys) = (Vec::new(), Vec::new());
        for (member, journal) in all.iter().zip(&mut journals) {
            let opening = member.open(&members, FIRST, journal)?;
            keys.push(members.authenticate(&opening)?);
            openings.push(opening);
        }
        let round_keys = keys.clone();
        let round = Round::new(members.view(), &task, 0, keys)?;
        let mut set = CommitmentSet::new(&round);
        let (mut pending, mut hashes) = (Vec::new(), Vec::new());
        for (member, journal) in all.iter().zip(&mut journals) {
            let (response, hash) = member.commit(&round, journal)?;
            set.add(&hash)?;
            pending.push(response);
            hashes.push(hash);
        }
        // A second hash of the first member for the attempt, for another payload.
        let other = Round::new(
            members.view(),
            &SigningTask::decision(0, b""),
            0,
            round_keys,
        )?;
        let mut second = OneTimeKeyJournal::in_memory(all[0].seed())?;
        let _ = all[0].open(&members, FIRST, &mut second)?;
        let (_, hash) = all[0].commit(&other, &mut second)?;
        let evidence =
            ConflictingMessages::new(&hashes[0], &hash).ok_or(RoundError::NotConflicting)?;
        let commitment = all[0].reveal(&pending[0], &set, &mut journals[0])?;
        let aggregate = [
            &b"MLADSAF3\x00\0\0\0\0\0"[..],
            &[0, 0, 0, 0, 0, 0, 0, 1],
            b"\0\0\0\x07payload\0\0\0\x01\x07",
            &[0; 4627],
        ];
        let aggregate = aggregate.concat();
        let mut certificate = b"MLADSAO2".to_vec();
        for part in [&aggregate[..], openings[0].body(), openings[1].body()] {
            certificate.extend((part.len() as u32).to_be_bytes());
            certificate.extend_from_slice(part);
        }
        let disk = Disk::of(&all[0], &members)?;
        let opening = members.member_opening(all[0].id()).unwrap_or_default();
        let samples = vec![
            (0, registration),
            (1, members.to_bytes()),
            (2, members.view().to_bytes()),
            (3, openings[0].body().to_vec()),
            (4, commitment.body().to_vec()),
            (5, vec![0x80; 2688]),
            (6, aggregate),
            (7, openings[0].to_bytes()),
            (7, hashes[0].to_bytes()),
            (8, evidence.to_bytes()),
            (9, opening),
            (10, vec![2, 0x07]),
            (13, disk.log),
            (14, disk.mark.unwrap_or_default()),
            (16, certificate),
            (17, openings[0].body()[..OneTimePublicKey::LEN].to_vec()),
        ];
        Ok(Self {
            members,
            round,
            task,
            samples,
        })
    }
}

/// Decodes an input with the parser that its first byte selects.
///
/// # Panics
/// If an encoding is read that is not written back as it was, or a forgery is accepted.
pub fn aggregate(data: &[u8]) {
    let Some((&parser, bytes)) = data.split_first() else {
        return;
    };
    let committee = committee();
    let (members, round) = (&committee.members, &committee.round);
    let written = match parser {
        0 => Registration::from_bytes(bytes).ok().map(|read| {
            let _ = read.verify(members.epoch());
            read.to_bytes()
        }),
        1 => Members::from_bytes(bytes).ok().map(|read| read.to_bytes()),
        2 => CommitteeView::from_bytes(bytes, members.identity())
            .ok()
            .map(|read| read.to_bytes()),
        3 => Opening::from_bytes(bytes).ok().map(|read| read.to_bytes()),
        4 => Commitment::from_bytes(round, bytes)
            .ok()
            .map(|read| read.as_bytes().to_vec()),
        5 => Response::from_bytes(bytes)
            .ok()
            .map(|read| read.as_bytes().to_vec()),
        6 => Aggregate::from_bytes(bytes).ok().map(|read| {
            assert_invalid(committee, &read);
            read.to_bytes()
        }),
        7 => Message::receive(bytes, members).ok().map(|read| {
            let _ = members.authenticate(&read);
            read.to_bytes()
        }),
        8 => ConflictingMessages::from_bytes(bytes, members)
            .ok()
            .map(|read| read.to_bytes()),
        9 => {
            let mut view = members.view().clone();
            let valid = view.add_member(bytes).is_ok();
            let known = |id| members.member_opening(id).is_some_and(|own| own == bytes);
            return assert!(!valid || members.members().any(|(id, _)| known(id)));
        }
        10 => {
            let Some((&n, bytes)) = bytes.split_first() else {
                return;
            };
            return match SignerSet::from_bytes(bytes, usize::from(n)) {
                Ok(set) => assert_eq!(set.as_bytes(), bytes),
                Err(_) => assert!(bytes.len() <= 32 || usize::from(n) < 8 * bytes.len()),
            };
        }
        13 | 14 => return journal(parser, bytes),
        16 => AggregateCertificate::from_bytes(bytes).ok().map(|read| {
            assert!(read.verify(members.view(), &committee.task).is_err());
            read.to_bytes()
        }),
        _ => OneTimePublicKey::from_bytes(bytes)
            .ok()
            .map(|read| read.as_bytes().to_vec()),
    };
    if let Some(written) = written {
        assert_eq!(written, bytes);
    }
}

/// No input is a valid aggregate, because the committee has signed nothing.
fn assert_invalid(committee: &Committee, aggregate: &Aggregate) {
    let verdict = aggregate.verify(committee.members.view(), &[], &committee.task);
    assert!(verdict.is_err());
}

/// A journal with the input as its log or mark: it opens only if it wrote the input itself.
fn journal(parser: u8, bytes: &[u8]) {
    let Ok(member) = member(0) else {
        return;
    };
    let Ok(good) = Disk::of(&member, &committee().members) else {
        return;
    };
    let mut disk = good.clone();
    if parser == 13 {
        disk.log = bytes.into();
    } else {
        disk.mark = Some(bytes.into());
    }
    let shared = Shared(Arc::new(Mutex::new(disk.clone())));
    let opened = OneTimeKeyJournal::open(shared.clone(), shared, member.seed());
    // A torn record after the marked one is truncated.
    let genuine = disk.log.starts_with(&good.log) && disk.mark == good.mark;
    assert!(opened.is_err() || genuine);
}

/// Log and mark in memory.
#[derive(Clone, Default)]
struct Disk {
    log: Vec<u8>,
    mark: Option<Vec<u8>>,
}

impl Disk {
    /// The journal of a member after its first opening.
    fn of(member: &Member, members: &Members) -> Result<Self, Error> {
        let shared = Shared::default();
        let journal = OneTimeKeyJournal::create(shared.clone(), shared.clone(), member.seed());
        let _ = member.open(members, FIRST, &mut journal?)?;
        Ok(shared
            .with(|disk| disk.clone())
            .map_err(JournalError::from)?)
    }
}

/// A disk that can be read while a journal owns it.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Disk>>);

impl Shared {
    fn with<T>(&self, act: impl FnOnce(&mut Disk) -> T) -> Result<T, StorageError> {
        let mut disk = self.0.lock().map_err(|_| StorageError::Failed)?;
        Ok(act(&mut disk))
    }
}

impl LogStorage for Shared {
    fn read(&mut self) -> Result<Vec<u8>, StorageError> {
        self.with(|disk| disk.log.clone())
    }
    fn size(&mut self) -> Result<u64, StorageError> {
        self.with(|disk| disk.log.len() as u64)
    }
    fn append(&mut self, bytes: &[u8]) -> Result<(), StorageError> {
        self.with(|disk| disk.log.extend_from_slice(bytes))
    }
    fn truncate(&mut self, len: u64) -> Result<(), StorageError> {
        let len = usize::try_from(len).map_err(|_| StorageError::Failed)?;
        self.with(|disk| disk.log.truncate(len))
    }
    fn replace(&mut self, bytes: &[u8]) -> Result<(), StorageError> {
        self.with(|disk| disk.log = bytes.into())
    }
}

impl MarkStorage for Shared {
    fn read(&mut self) -> Result<Option<Vec<u8>>, StorageError> {
        self.with(|disk| disk.mark.clone())
    }
    fn publish(&mut self, _: Option<&[u8]>, next: &[u8]) -> Result<(), StorageError> {
        self.with(|disk| disk.mark = Some(next.into()))
    }
}
