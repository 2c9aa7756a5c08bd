//! A committee in memory, with everything that precedes a round done.
#![allow(unreachable_pub, reason = "a module of several test programs")]

use std::sync::Arc;

use mladsa_aggregate::*;
use mldsa_core::Randomness;

pub const RHO: [u8; 32] = *b"rho of a committee for the tests";
pub const EPOCH: u64 = 5;

/// A decision of the tests' domain.
pub fn decision<'a>(label: &'a BaseLabel, payload: &'a [u8]) -> Decision<'a> {
    Decision {
        ctx: b"TEST",
        label,
        kind: Kind::Decision,
        payload,
    }
}

/// 32 bytes that only `label` and `n` determine.
pub fn bytes32(label: &str, n: usize) -> [u8; 32] {
    use sha2::{Digest, Sha256};
    Sha256::digest(format!("{label}/{n}")).into()
}

pub fn id(n: usize) -> MemberId {
    MemberId::new(format!("member-{n:04}").as_bytes()).unwrap()
}

pub fn member(n: usize) -> Member {
    let seed = MasterSeed::from_bytes(&bytes32("seed", n));
    Member::new(id(n), seed, &bytes32("xi", n))
}

pub fn registry(members: &[Member]) -> Arc<Registry> {
    let entries = members
        .iter()
        .map(|member| member.register(Randomness::Deterministic).unwrap());
    Registry::new(&RHO, entries).unwrap()
}

pub fn base(name: &str) -> BaseLabel {
    BaseLabel::new(name.as_bytes()).unwrap()
}

pub fn plan(names: &[&str]) -> EpochPlan {
    EpochPlan::new(EPOCH, names.iter().map(|name| base(name)).collect()).unwrap()
}

/// Everything up to the agreement on a list of roots.
pub fn agree(
    members: &[Member],
    guards: &mut [Guard],
    registry: &Arc<Registry>,
    plan: &EpochPlan,
) -> (Vec<EpochTree>, AgreedRoots) {
    let trees: Vec<EpochTree> = members
        .iter()
        .map(|member| member.epoch_tree(registry, plan).unwrap())
        .collect();
    let announcements: Vec<RootAnnouncement> = members
        .iter()
        .zip(&trees)
        .zip(&mut *guards)
        .map(|((member, tree), guard)| {
            member
                .announce(tree, guard, Randomness::Deterministic)
                .unwrap()
        })
        .collect();
    let mut pins = InMemoryPinsForTests::default();
    let pinned = PinnedRoots::pin(&mut pins, registry, plan, &announcements).unwrap();
    let acknowledgements: Vec<Acknowledgement> = members
        .iter()
        .zip(guards)
        .map(|(member, guard)| {
            member
                .acknowledge(&pinned, guard, Randomness::Deterministic)
                .unwrap()
        })
        .collect();
    (trees, AgreedRoots::new(&pinned, &acknowledgements).unwrap())
}

pub fn guard(member: &Member) -> Guard {
    Guard::in_memory_for_tests(member.seed()).unwrap()
}

/// Members, their trees, and the list of roots that all have acknowledged.
pub struct Committee {
    pub members: Vec<Member>,
    pub trees: Vec<EpochTree>,
    pub agreed: AgreedRoots,
    pub guards: Vec<Guard>,
}

impl Committee {
    pub fn new(n: usize, names: &[&str]) -> Self {
        Self::of((0..n).map(member).collect(), names)
    }

    pub fn of(members: Vec<Member>, names: &[&str]) -> Self {
        let registry = registry(&members);
        let mut guards: Vec<Guard> = members.iter().map(guard).collect();
        let (trees, agreed) = agree(&members, &mut guards, &registry, &plan(names));
        Self {
            members,
            trees,
            agreed,
            guards,
        }
    }

    /// The opening of member `n`, through the wire.
    pub fn open(&self, n: usize, label: &ContentLabel) -> Message {
        let (member, tree) = (&self.members[n], &self.trees[n]);
        let message = member
            .open(&self.agreed, tree, label, &self.guards[n])
            .unwrap();
        self.agreed.receive(&message.to_bytes()).unwrap()
    }

    /// The authenticated keys of the members in `cohort` for `label`.
    pub fn public_keys(&self, cohort: &[usize], label: &ContentLabel) -> Vec<AuthenticatedKey> {
        let messages: Vec<Message> = cohort.iter().map(|&n| self.open(n, label)).collect();
        let public_keys = self.agreed.authenticate_each(&messages);
        public_keys.into_iter().map(Result::unwrap).collect()
    }

    pub fn round(&self, cohort: &[usize], label: &ContentLabel, payload: &[u8]) -> Arc<Round> {
        let base = BaseLabel::new(label.base()).unwrap();
        let public_keys = self.public_keys(cohort, label);
        let decision = decision(&base, payload);
        Round::new(&self.agreed, &decision, label.attempt(), public_keys).unwrap()
    }

    /// The verdict of who expects `payload` under `label` and is content with one
    /// signer.
    pub fn verify(
        &self,
        aggregate: &Aggregate,
        public_keys: &[AuthenticatedKey],
        label: &BaseLabel,
        payload: &[u8],
    ) -> Result<Arc<Round>, Error> {
        let policy = Policy::count(self.agreed.registry(), 1).unwrap();
        aggregate.verify_expecting(
            &self.agreed,
            public_keys,
            &decision(label, payload),
            &policy,
        )
    }

    pub fn everybody(&self) -> Vec<usize> {
        (0..self.members.len()).collect()
    }

    /// One attempt with everybody's step through the wire.
    pub fn attempt(&mut self, cohort: &[usize], round: &Arc<Round>) -> Result<Aggregate, Error> {
        let mut set = CommitmentSet::new(round);
        let mut pending = Vec::new();
        for &n in cohort {
            let (wait, message) = self.members[n].commit(round, &mut self.guards[n])?;
            set.add(&self.agreed.receive(&message.to_bytes())?)?;
            pending.push(wait);
        }
        let challenge = set.challenge()?;
        let mut combiner = Combiner::new(&challenge);
        for (&n, wait) in cohort.iter().zip(pending) {
            let message = self.members[n].respond(wait, &challenge, &mut self.guards[n])?;
            combiner.add(&self.agreed.receive(&message.to_bytes())?)?;
        }
        combiner.finish()
    }

    /// Attempt after attempt, as an application does it.
    pub fn sign(
        &mut self,
        cohort: &[usize],
        name: &str,
        payload: &[u8],
    ) -> (Aggregate, Arc<Round>) {
        self.sign_from(cohort, base(name).attempt(0).unwrap(), payload)
    }

    /// From a later attempt on.
    pub fn sign_from(
        &mut self,
        cohort: &[usize],
        mut label: ContentLabel,
        payload: &[u8],
    ) -> (Aggregate, Arc<Round>) {
        loop {
            let round = self.round(cohort, &label, payload);
            match self.attempt(cohort, &round) {
                Ok(aggregate) => return (aggregate, round),
                Err(Error::Retry(_)) => {
                    for &n in cohort {
                        self.members[n]
                            .retire(&self.agreed, &label, &mut self.guards[n])
                            .unwrap();
                    }
                    label = label.next().unwrap();
                }
                Err(error) => panic!("{error}"),
            }
        }
    }
}
