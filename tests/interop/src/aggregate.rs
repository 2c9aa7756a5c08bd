//! Every parser of `mladsa-aggregate`: what is read is written back as it was, and
//! whatever comes in, nothing panics.

use std::sync::{Arc, OnceLock};

use mladsa_aggregate::{
    Acknowledgement, Aggregate, AgreedRoots, BaseLabel, Commitment, ContentLabel, ContentPublicKey,
    Decision, EpochPlan, EpochTree, Equivocation, Error, Guard, InMemoryPinsForTests, Kind,
    LogMedium, MarkMedium, MasterSeed, MediumError, Member, MemberId, Message, Opening, PinStore,
    PinnedRoots, Policy, Registration, Registry, Response, RootAnnouncement, Round, SignerBits,
};
use mldsa_core::Randomness;

/// A committee of two, as far as a round with a commitment.
#[derive(Debug)]
pub struct Committee {
    registry: Arc<Registry>,
    agreed: AgreedRoots,
    round: Arc<Round>,
    label: BaseLabel,
    /// An encoding of everything that there is a parser for, by the byte that chooses it.
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
    /// The committee that all inputs are read for.
    ///
    /// # Errors
    /// None.
    pub fn new() -> Result<Self, Error> {
        let hedge = Randomness::Deterministic;
        let member = |n: u8| {
            Ok(Member::new(
                MemberId::new(&[b'a' + n])?,
                seed(n),
                &[n + 9; 32],
            ))
        };
        let members = [member(0)?, member(1)?];
        let entries = [members[0].register(hedge)?, members[1].register(hedge)?];
        let registration = entries[0].to_bytes();
        let registry = Registry::new(&[7; 32], entries)?;
        let label = BaseLabel::new(b"label")?;
        let plan = EpochPlan::new(1, vec![label.clone()])?;
        let mut guards = [
            Guard::in_memory_for_tests(members[0].seed())?,
            Guard::in_memory_for_tests(members[1].seed())?,
        ];
        let (mut trees, mut roots, mut words) = (Vec::new(), Vec::new(), Vec::new());
        for (member, guard) in members.iter().zip(&mut guards) {
            let tree = member.epoch_tree(&registry, &plan)?;
            roots.push(member.announce(&tree, guard, hedge)?);
            trees.push(tree);
        }
        let mut pins = InMemoryPinsForTests::default();
        let pinned = PinnedRoots::pin(&mut pins, &registry, &plan, &roots)?;
        for (member, guard) in members.iter().zip(&mut guards) {
            words.push(member.acknowledge(&pinned, guard, hedge)?);
        }
        let agreed = AgreedRoots::new(&pinned, &words)?;
        let content = label.attempt(0)?;
        let (mut openings, mut keys) = (Vec::new(), Vec::new());
        for ((member, tree), guard) in members.iter().zip(&trees).zip(&guards) {
            let opening = member.open(&agreed, tree, &content, guard)?;
            keys.push(agreed.authenticate(&opening)?);
            openings.push(opening);
        }
        let decision = Decision {
            ctx: b"FUZZ",
            label: &label,
            kind: Kind::Decision,
            payload: b"payload",
        };
        let round = Round::new(&agreed, &decision, 0, keys)?;
        let (_, commitment) = members[0].commit(&round, &mut guards[0])?;
        let aggregate = [
            &b"MLADSAF2\x01\x00\0\0\0\x04FUZZ\0\0\0\x05label\0"[..],
            &[0, 0, 0, 0, 0, 0, 0, 1],
            b"\0\0\0\x07payload\0\0\0\x01\x07",
            &[0; 4627],
        ];
        let list = pins.pinned("epoch-1.roots")?.unwrap_or_default();
        let disk = Disk::of(&members[0], &pinned)?;
        let samples = vec![
            (0, registration),
            (1, roots[0].to_bytes()),
            (2, words[0].to_bytes()),
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
        ];
        Ok(Self {
            registry,
            agreed,
            round,
            label,
            samples,
        })
    }
}

/// The first byte chooses the parser.
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
        0 => Registration::from_bytes(bytes).map(|read| read.to_bytes()),
        1 => RootAnnouncement::from_bytes(bytes).map(|read| {
            let _ = read.verify(registry, plan);
            read.to_bytes()
        }),
        2 => Acknowledgement::from_bytes(bytes).map(|read| {
            let _ = read.verify(agreed.pinned());
            read.to_bytes()
        }),
        3 => Opening::from_bytes(bytes).map(|read| read.to_bytes()),
        4 => Commitment::from_bytes(round, bytes).map(|read| read.as_bytes().to_vec()),
        5 => Response::from_bytes(round, bytes).map(|read| read.as_bytes().to_vec()),
        6 => Aggregate::from_bytes(bytes).map(|read| {
            believes(committee, &read);
            read.to_bytes()
        }),
        7 => agreed.receive(bytes).map(|read: Message| {
            let _ = agreed.authenticate(&read);
            read.to_bytes()
        }),
        8 => Equivocation::from_bytes(bytes, registry).map(|read| read.to_bytes()),
        9 => EpochTree::from_bytes(registry, plan, bytes).map(|read| read.to_bytes()),
        10 => {
            let Some((&n, bytes)) = bytes.split_first() else {
                return;
            };
            return match SignerBits::from_bytes(bytes, usize::from(n)) {
                Ok(bits) => assert_eq!(bits.as_bytes(), bytes),
                Err(_) => assert!(bytes.len() <= 32 || usize::from(n) < 8 * bytes.len()),
            };
        }
        11 => ContentLabel::from_bytes(bytes).map(|read| read.as_bytes().to_vec()),
        12 => {
            let mut pins = InMemoryPinsForTests::default();
            if pins.pin("epoch-1.roots", bytes).is_ok() {
                let _ = PinnedRoots::load(&pins, registry, plan);
            }
            return;
        }
        13 | 14 => return guard(parser, bytes),
        _ => ContentPublicKey::from_bytes(bytes).map(|read| read.as_bytes().to_vec()),
    };
    if let Ok(written) = written {
        assert_eq!(written, bytes);
    }
}

/// No input is an aggregate of the committee: nothing was signed.
fn believes(committee: &Committee, aggregate: &Aggregate) {
    let decision = Decision {
        ctx: b"FUZZ",
        label: &committee.label,
        kind: Kind::Decision,
        payload: b"payload",
    };
    let policy = Policy::two_thirds(&committee.registry);
    let verdict = aggregate.verify_expecting(&committee.agreed, &[], &decision, &policy);
    assert!(verdict.is_err());
}

/// A guard whose log, or mark, is the input: it opens only on what it wrote itself.
fn guard(parser: u8, bytes: &[u8]) {
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
    let opened = Guard::open(disk.clone(), disk.clone(), member.seed());
    // A torn record after the mark's last one is cut off.
    let genuine = disk.log.starts_with(&good.log) && disk.mark == good.mark;
    assert!(opened.is_err() || genuine);
}

/// A log and a mark in memory.
#[derive(Clone, Default)]
struct Disk {
    log: Vec<u8>,
    mark: Option<Vec<u8>>,
    staged: Option<Vec<u8>>,
}

impl Disk {
    /// The contents of a member's guard after it has acknowledged a list.
    fn of(member: &Member, pinned: &PinnedRoots) -> Result<Self, Error> {
        let shared = Shared::default();
        let mut guard = Guard::create(shared.clone(), shared.clone(), member.seed())?;
        member.acknowledge(pinned, &mut guard, Randomness::Deterministic)?;
        let disk = shared.0.lock().map_err(|_| Error::GuardFailure)?.clone();
        Ok(disk)
    }
}

impl LogMedium for Disk {
    fn read(&mut self) -> Result<Vec<u8>, MediumError> {
        Ok(self.log.clone())
    }
    fn size(&mut self) -> Result<u64, MediumError> {
        Ok(self.log.len() as u64)
    }
    fn append(&mut self, bytes: &[u8]) -> Result<(), MediumError> {
        self.log.extend_from_slice(bytes);
        Ok(())
    }
    fn truncate(&mut self, len: u64) -> Result<(), MediumError> {
        self.log
            .truncate(usize::try_from(len).map_err(|_| MediumError)?);
        Ok(())
    }
    fn flush(&mut self) -> Result<(), MediumError> {
        Ok(())
    }
    fn replace(&mut self, bytes: &[u8]) -> Result<(), MediumError> {
        self.log = bytes.into();
        Ok(())
    }
}

impl MarkMedium for Disk {
    fn read(&mut self) -> Result<Option<Vec<u8>>, MediumError> {
        Ok(self.mark.clone())
    }
    fn stage(&mut self, bytes: &[u8]) -> Result<(), MediumError> {
        self.staged = Some(bytes.into());
        Ok(())
    }
    fn publish(&mut self) -> Result<(), MediumError> {
        self.mark = self.staged.take();
        Ok(())
    }
}

/// The same, to be looked at from outside.
#[derive(Clone, Default)]
struct Shared(Arc<std::sync::Mutex<Disk>>);

impl Shared {
    fn with<T>(
        &self,
        act: impl FnOnce(&mut Disk) -> Result<T, MediumError>,
    ) -> Result<T, MediumError> {
        act(&mut *self.0.lock().map_err(|_| MediumError)?)
    }
}

impl LogMedium for Shared {
    fn read(&mut self) -> Result<Vec<u8>, MediumError> {
        self.with(LogMedium::read)
    }
    fn size(&mut self) -> Result<u64, MediumError> {
        self.with(LogMedium::size)
    }
    fn append(&mut self, bytes: &[u8]) -> Result<(), MediumError> {
        self.with(|disk| disk.append(bytes))
    }
    fn truncate(&mut self, len: u64) -> Result<(), MediumError> {
        self.with(|disk| disk.truncate(len))
    }
    fn flush(&mut self) -> Result<(), MediumError> {
        Ok(())
    }
    fn replace(&mut self, bytes: &[u8]) -> Result<(), MediumError> {
        self.with(|disk| disk.replace(bytes))
    }
}

impl MarkMedium for Shared {
    fn read(&mut self) -> Result<Option<Vec<u8>>, MediumError> {
        self.with(MarkMedium::read)
    }
    fn stage(&mut self, bytes: &[u8]) -> Result<(), MediumError> {
        self.with(|disk| disk.stage(bytes))
    }
    fn publish(&mut self) -> Result<(), MediumError> {
        self.with(MarkMedium::publish)
    }
}
