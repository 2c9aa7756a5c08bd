//! A committee in memory, with everything that precedes a round done.
#![allow(unreachable_pub, reason = "a module of several test programs")]

use std::sync::Arc;

use mladsa_aggregate::*;
use mldsa_core::Hedge;

pub const RHO: [u8; 32] = *b"rho of a committee for the tests";
pub const EPOCH: u64 = 5;

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
        .map(|member| member.register(Hedge::Deterministic).unwrap());
    Registry::new(&RHO, entries).unwrap()
}

pub fn base(name: &str) -> BaseLabel {
    BaseLabel::new(name.as_bytes()).unwrap()
}

pub fn plan(names: &[&str]) -> EpochPlan {
    EpochPlan::new(EPOCH, names.iter().map(|name| base(name)).collect()).unwrap()
}

/// Members, their trees, and the list of roots that all have pinned.
pub struct Committee {
    pub members: Vec<Member>,
    pub trees: Vec<EpochTree>,
    pub pinned: PinnedRoots,
    pub guards: Vec<InMemoryGuardForTests>,
}

impl Committee {
    pub fn new(n: usize, names: &[&str]) -> Self {
        Self::of((0..n).map(member).collect(), names)
    }

    pub fn of(members: Vec<Member>, names: &[&str]) -> Self {
        let registry = registry(&members);
        let plan = plan(names);
        let trees: Vec<EpochTree> = members
            .iter()
            .map(|member| member.epoch_tree(registry.matrix(), &plan).unwrap())
            .collect();
        let announcements: Vec<RootAnnouncement> = members
            .iter()
            .zip(&trees)
            .map(|(member, tree)| member.announce(tree, Hedge::Deterministic).unwrap())
            .collect();
        let mut roots = InMemoryRootsForTests::default();
        let pinned = PinnedRoots::pin(&mut roots, &registry, &plan, &announcements).unwrap();
        let guards = members
            .iter()
            .map(|member| InMemoryGuardForTests::new(member.seed()))
            .collect();
        Self {
            members,
            trees,
            pinned,
            guards,
        }
    }

    /// The authenticated keys of the members in `cohort` for `label`.
    pub fn public_keys(&self, cohort: &[usize], label: &ContentLabel) -> Vec<AuthenticatedKey> {
        let openings: Vec<(MemberId, Opening)> = cohort
            .iter()
            .map(|&n| {
                let (member, tree) = (&self.members[n], &self.trees[n]);
                let opening = member.open(&self.pinned, tree, label).unwrap();
                (id(n), Opening::from_bytes(&opening.to_bytes()).unwrap())
            })
            .collect();
        let public_keys = self.pinned.authenticate_each(label, &openings);
        public_keys.into_iter().map(Result::unwrap).collect()
    }

    pub fn round(&self, cohort: &[usize], label: &ContentLabel, payload: &[u8]) -> Round {
        let decision = Decision {
            ctx: b"TEST",
            label,
            kind: Kind::Decision,
            payload,
        };
        Round::new(&self.pinned, &decision, self.public_keys(cohort, label)).unwrap()
    }

    pub fn everybody(&self) -> Vec<usize> {
        (0..self.members.len()).collect()
    }

    /// One attempt with everybody's step through the wire.
    pub fn attempt(&mut self, cohort: &[usize], round: &Round) -> Result<Aggregate, Error> {
        let mut set = CommitmentSet::new(round);
        let mut pending = Vec::new();
        for &n in cohort {
            let (wait, commitment) = self.members[n].commit(round, &mut self.guards[n])?;
            set.add(
                &id(n),
                Commitment::from_bytes(round, commitment.as_bytes())?,
            )?;
            pending.push(wait);
        }
        let challenge = set.challenge()?;
        let mut combiner = Combiner::new(&challenge);
        for (&n, wait) in cohort.iter().zip(pending) {
            let response = wait.respond(&challenge, &mut self.guards[n])?;
            combiner.add(&id(n), Response::from_bytes(round, response.as_bytes())?)?;
        }
        combiner.finish()
    }

    /// Attempt after attempt, as an application does it.
    pub fn sign(&mut self, cohort: &[usize], name: &str, payload: &[u8]) -> (Aggregate, Round) {
        self.sign_from(cohort, base(name).attempt(0).unwrap(), payload)
    }

    /// From a later attempt on.
    pub fn sign_from(
        &mut self,
        cohort: &[usize],
        mut label: ContentLabel,
        payload: &[u8],
    ) -> (Aggregate, Round) {
        loop {
            let round = self.round(cohort, &label, payload);
            match self.attempt(cohort, &round) {
                Ok(aggregate) => return (aggregate, round),
                Err(Error::Retry(_)) => {
                    for &n in cohort {
                        self.members[n].retire(&label, &mut self.guards[n]).unwrap();
                    }
                    label = label.next().unwrap();
                }
                Err(error) => panic!("{error}"),
            }
        }
    }
}
