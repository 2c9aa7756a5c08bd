//! All parsers of `mladsa-aggregate`: a decoded object encodes to the same bytes, and no input
//! panics.

use std::sync::{Arc, Mutex, OnceLock};

use mladsa_aggregate::errors::{JournalError, StorageError};
use mladsa_aggregate::steps::{
    AttemptId, CommitmentSet, Equivocation, OneTimePublicKey, Round, SignedMessage,
};
use mladsa_aggregate::storage::{LogStorage, MarkStorage};
use mladsa_aggregate::test_util::{Commitment, Opening, Response, SignerSet};
use mladsa_aggregate::{
    Acknowledgement, Aggregate, AgreedRoots, Certificate, EpochEquivocation, EpochPlan, EpochTree,
    Error, MasterSeed, Member, MemberId, MemoryWriteOnceStore, OneTimeKeyJournal, PinnedRoots,
    Registration, Registry, RootAnnouncement, SigningTask, TaskId, Threshold, WriteOnceStore,
};
use mldsa_core::Randomness;

/// A committee of two, up to a round with a commitment.
#[derive(Debug)]
pub struct Committee {
    registry: Arc<Registry>,
    agreed: AgreedRoots,
    round: Arc<Round>,
    task: SigningTask,
    /// An encoding for each parser, with the byte that selects the parser.
    pub samples: Vec<(u8, Vec<u8>)>,
}

fn committee() -> &'static Committee {
    static COMMITTEE: OnceLock<Committee> = OnceLock::new();
    COMMITTEE.get_or_init(|| Committee::new().expect("a committee"))
}

fn seed(n: u8) -> MasterSeed {
    MasterSeed::from_bytes(&[n; 32])
}

impl Committee {
    /// The committee for which all inputs are decoded.
    ///
    /// # Errors
    /// None.
    pub fn new() -> Result<Self, Error> {
        let hedge = Randomness::Deterministic;
        let member = |n: u8| {
            Ok::<_, Error>(Member::new(
                MemberId::new(&[b'a' + n])?,
                seed(n),
                &[n + 9; 32],
            ))
        };
        let members = [member(0)?, member(1)?];
        let entries = [members[0].register(hedge)?, members[1].register(hedge)?];
        let registration = entries[0].to_bytes();
        let registry = Registry::new(&[7; 32], entries, &Threshold::TwoThirds)?;
        let task = SigningTask::decision(TaskId::new(b"label")?, b"FUZZ", b"payload")?;
        let plan = EpochPlan::new(1, vec![task.id().clone()])?;
        let mut journals = [
            OneTimeKeyJournal::in_memory(members[0].seed())?,
            OneTimeKeyJournal::in_memory(members[1].seed())?,
        ];
        let (mut trees, mut roots, mut acknowledgements) = (Vec::new(), Vec::new(), Vec::new());
        for (member, journal) in members.iter().zip(&mut journals) {
            let tree = member.epoch_tree(&registry, &plan)?;
            roots.push(member.announce(&tree, journal, hedge)?);
            trees.push(tree);
        }
        let mut store = MemoryWriteOnceStore::default();
        let pinned = PinnedRoots::pin(&mut store, &registry, &plan, &roots)?;
        for (member, journal) in members.iter().zip(&mut journals) {
            acknowledgements.push(member.acknowledge(&pinned, journal, hedge)?);
        }
        let agreed = AgreedRoots::from_pin(&registry.identity(1), &pinned, &acknowledgements)?;
        let attempt = task.id().attempt(0)?;
        let (mut openings, mut keys) = (Vec::new(), Vec::new());
        for ((member, tree), journal) in members.iter().zip(&trees).zip(&journals) {
            let opening = member.open(&agreed, tree, &attempt, journal)?;
            keys.push(agreed.authenticate(&opening)?);
            openings.push(opening);
        }
        let round = Round::new(&agreed, &task, 0, keys)?;
        let mut set = CommitmentSet::new(&round);
        let mut pending = Vec::new();
        for (member, journal) in members.iter().zip(&mut journals) {
            let (response, hash) = member.commit(&round, journal)?;
            set.add(&hash)?;
            pending.push(response);
        }
        let commitment = members[0].reveal(&pending[0], &set, &mut journals[0])?;
        let aggregate = [
            &b"MLADSAF2\x01\x00\0\0\0\x04FUZZ\0\0\0\x05label\0"[..],
            &[0, 0, 0, 0, 0, 0, 0, 1],
            b"\0\0\0\x07payload\0\0\0\x01\x07",
            &[0; 4627],
        ];
        let list = store.read("epoch-1.roots")?.unwrap_or_default();
        let disk = Disk::of(&members[0], &pinned)?;
        let samples = vec![
            (0, registration),
            (1, roots[0].to_bytes()),
            (2, acknowledgements[0].to_bytes()),
            (3, openings[0].body().to_vec()),
            (4, commitment.body().to_vec()),
            (5, vec![0x80; 2688]),
            (6, aggregate.concat()),
            (7, openings[0].to_bytes()),
            (7, commitment.to_bytes()),
            (8, b"MLADSAE1".to_vec()),
            (9, trees[0].to_bytes()),
            (10, vec![2, 0x07]),
            (11, b"label\x03".to_vec()),
            (12, list),
            (13, disk.log),
            (14, disk.mark.unwrap_or_default()),
            (15, [&b"MLADSAE2"[..], &[0; 16]].concat()),
            (16, b"MLADSAO1".to_vec()),
        ];
        Ok(Self {
            registry,
            agreed,
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
    let (registry, round) = (&committee.registry, &committee.round);
    let (agreed, plan) = (&committee.agreed, committee.agreed.plan());
    let written = match parser {
        0 => Registration::from_bytes(bytes)
            .ok()
            .map(|read| read.to_bytes()),
        1 => RootAnnouncement::from_bytes(bytes).ok().map(|read| {
            let _ = read.verify(registry, plan);
            read.to_bytes()
        }),
        2 => Acknowledgement::from_bytes(bytes).ok().map(|read| {
            let _ = read.verify(agreed.pinned());
            read.to_bytes()
        }),
        3 => Opening::from_bytes(bytes).ok().map(|read| read.to_bytes()),
        4 => Commitment::from_bytes(round, bytes)
            .ok()
            .map(|read| read.as_bytes().to_vec()),
        5 => Response::from_bytes(round, bytes)
            .ok()
            .map(|read| read.as_bytes().to_vec()),
        6 => Aggregate::from_bytes(bytes).ok().map(|read| {
            assert_invalid(committee, &read);
            read.to_bytes()
        }),
        7 => agreed.receive(bytes).ok().map(|read: SignedMessage| {
            let _ = agreed.authenticate(&read);
            read.to_bytes()
        }),
        8 => Equivocation::from_bytes(bytes, registry)
            .ok()
            .map(|read| read.to_bytes()),
        9 => EpochTree::from_bytes(registry, plan, bytes)
            .ok()
            .map(|read| read.to_bytes()),
        10 => {
            let Some((&n, bytes)) = bytes.split_first() else {
                return;
            };
            return match SignerSet::from_bytes(bytes, usize::from(n)) {
                Ok(set) => assert_eq!(set.as_bytes(), bytes),
                Err(_) => assert!(bytes.len() <= 32 || usize::from(n) < 8 * bytes.len()),
            };
        }
        11 => AttemptId::from_bytes(bytes)
            .ok()
            .map(|read| read.as_bytes().to_vec()),
        12 => {
            let mut store = MemoryWriteOnceStore::default();
            if store.write("epoch-1.roots", bytes).is_ok() {
                let _ = PinnedRoots::load(&store, registry, plan);
            }
            return;
        }
        13 | 14 => return journal(parser, bytes),
        15 => EpochEquivocation::from_bytes(bytes, registry, plan)
            .ok()
            .map(|read| read.to_bytes()),
        16 => Certificate::from_bytes(bytes).ok().map(|read| {
            assert!(read.verify(agreed, &committee.task).is_err());
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
    let verdict = aggregate.verify(&committee.agreed, &[], &committee.task);
    assert!(verdict.is_err());
}

/// A journal with the input as its log or mark: it opens only if it wrote the input itself.
fn journal(parser: u8, bytes: &[u8]) {
    let Ok(member) = MemberId::new(b"a").map(|id| Member::new(id, seed(0), &[9; 32])) else {
        return;
    };
    let Ok(good) = Disk::of(&member, committee().agreed.pinned()) else {
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
    /// The journal of a member after it has acknowledged a list.
    fn of(member: &Member, pinned: &PinnedRoots) -> Result<Self, Error> {
        let shared = Shared::default();
        let journal = OneTimeKeyJournal::create(shared.clone(), shared.clone(), member.seed());
        let _ = member.acknowledge(pinned, &mut journal?, Randomness::Deterministic)?;
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
