//! A committee in memory, up to the agreement on the roots.
#![allow(unreachable_pub, reason = "a module of several test programs")]

use std::sync::Arc;

use mladsa_aggregate::errors::{RootsError, RoundError, VerifyError};
use mladsa_aggregate::steps::*;
use mladsa_aggregate::*;
use mldsa_core::Randomness;

pub const RHO: [u8; 32] = *b"rho of a committee for the tests";
pub const EPOCH: u64 = 5;

/// A decision in the domain of the tests.
pub fn task(name: &str, payload: &[u8]) -> SigningTask {
    SigningTask::decision(task_id(name), b"TEST", payload).unwrap()
}

/// 32 bytes determined by `label` and `n`.
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

/// A registry in which every member is a quorum.
pub fn registry(members: &[Member]) -> Arc<Registry> {
    registry_with(members, &Threshold::Count(1))
}

pub fn registry_with(members: &[Member], threshold: &Threshold) -> Arc<Registry> {
    let entries = members
        .iter()
        .map(|member| member.register(Randomness::Deterministic).unwrap());
    Registry::new(&RHO, entries, threshold).unwrap()
}

pub fn task_id(name: &str) -> TaskId {
    TaskId::new(name.as_bytes()).unwrap()
}

pub fn attempt_id(name: &str, attempt: u8) -> AttemptId {
    task_id(name).attempt(attempt).unwrap()
}

pub fn plan(names: &[&str]) -> EpochPlan {
    EpochPlan::new(EPOCH, names.iter().map(|name| task_id(name)).collect()).unwrap()
}

/// All steps up to the agreement on a list of roots.
pub fn agree(
    members: &[Member],
    journals: &mut [OneTimeKeyJournal],
    registry: &Arc<Registry>,
    plan: &EpochPlan,
) -> (Vec<EpochTree>, AgreedRoots) {
    let (mut trees, mut roots) = (Vec::new(), Vec::new());
    for (member, journal) in members.iter().zip(&mut *journals) {
        let tree = member.epoch_tree(registry, plan).unwrap();
        roots.push(
            member
                .announce(&tree, journal, Randomness::Deterministic)
                .unwrap(),
        );
        trees.push(tree);
    }
    let mut store = MemoryWriteOnceStore::default();
    let pinned = PinnedRoots::pin(&mut store, registry, plan, &roots).unwrap();
    (trees, acknowledge(members, journals, &pinned))
}

/// The agreement on a list of roots of a committee that the caller trusts.
pub fn agreed(pinned: &PinnedRoots, all: &[Acknowledgement]) -> Result<AgreedRoots, RootsError> {
    let identity = pinned.registry().identity(pinned.plan().epoch());
    AgreedRoots::from_pin(&identity, pinned, all)
}

/// The agreement of all members on a list of roots.
pub fn acknowledge(
    members: &[Member],
    journals: &mut [OneTimeKeyJournal],
    pinned: &PinnedRoots,
) -> AgreedRoots {
    let acknowledge = |(member, journal): (&Member, &mut OneTimeKeyJournal)| {
        let acknowledgement = member.acknowledge(pinned, journal, Randomness::Deterministic);
        acknowledgement.unwrap()
    };
    let all: Vec<_> = members.iter().zip(journals).map(acknowledge).collect();
    agreed(pinned, &all).unwrap()
}

/// A set that contains these hashes of commitments.
pub fn hashed(round: &Arc<Round>, hashes: &[SignedMessage]) -> CommitmentSet {
    let mut set = CommitmentSet::new(round);
    hashes.iter().for_each(|hash| set.add(hash).unwrap());
    set
}

pub fn journal(member: &Member) -> OneTimeKeyJournal {
    OneTimeKeyJournal::in_memory(member.seed()).unwrap()
}

/// Members with their trees and journals, and the list of roots that all have acknowledged.
pub struct Committee {
    pub members: Vec<Member>,
    pub trees: Vec<EpochTree>,
    pub agreed: AgreedRoots,
    pub journals: Vec<OneTimeKeyJournal>,
}

impl Committee {
    pub fn new(n: usize, names: &[&str]) -> Self {
        Self::of((0..n).map(member).collect(), names)
    }

    pub fn of(members: Vec<Member>, names: &[&str]) -> Self {
        Self::with_threshold(members, names, &Threshold::Count(1))
    }

    pub fn with_threshold(members: Vec<Member>, names: &[&str], threshold: &Threshold) -> Self {
        let registry = registry_with(&members, threshold);
        let mut journals: Vec<_> = members.iter().map(journal).collect();
        let (trees, agreed) = agree(&members, &mut journals, &registry, &plan(names));
        Self {
            members,
            trees,
            agreed,
            journals,
        }
    }

    /// The opening of member `n`, encoded and received.
    pub fn open(&self, n: usize, attempt: &AttemptId) -> SignedMessage {
        let (member, tree) = (&self.members[n], &self.trees[n]);
        let message = member
            .open(&self.agreed, tree, attempt, &self.journals[n])
            .unwrap();
        self.agreed.receive(&message.to_bytes()).unwrap()
    }

    /// The authenticated keys of `signers` for `attempt`.
    pub fn keys(&self, signers: &[usize], attempt: &AttemptId) -> Vec<AuthenticatedKey> {
        let messages: Vec<_> = signers.iter().map(|&n| self.open(n, attempt)).collect();
        let keys = self.agreed.authenticate_each(&messages);
        keys.into_iter().map(Result::unwrap).collect()
    }

    pub fn round(&self, signers: &[usize], attempt: &AttemptId, payload: &[u8]) -> Arc<Round> {
        let id = TaskId::new(attempt.task()).unwrap();
        let task = SigningTask::decision(id, b"TEST", payload).unwrap();
        let keys = self.keys(signers, attempt);
        Round::new(&self.agreed, &task, attempt.attempt(), keys).unwrap()
    }

    /// The hashes of the commitments of all signers, with their pending responses.
    pub fn commit(
        &mut self,
        round: &Arc<Round>,
        signers: &[usize],
    ) -> (Vec<PendingResponse>, Vec<SignedMessage>) {
        let commit = |&n: &usize| {
            let commitment = self.members[n].commit(round, &mut self.journals[n]);
            commitment.unwrap()
        };
        signers.iter().map(commit).unzip()
    }

    /// The commitments of all signers of `round`, which answer these hashes, with a set that
    /// contains the hashes.
    pub fn reveal(
        &mut self,
        signers: &[usize],
        pending: &[PendingResponse],
        round: &Arc<Round>,
        hashes: &[SignedMessage],
    ) -> (CommitmentSet, Vec<SignedMessage>) {
        let set = hashed(round, hashes);
        let reveal = signers.iter().zip(pending).map(|(&n, pending)| {
            let message = self.members[n].reveal(pending, &set, &mut self.journals[n]);
            message.unwrap()
        });
        let commitments = reveal.collect();
        (set, commitments)
    }

    /// Verifies `aggregate` with the threshold of the registry.
    pub fn verify(
        &self,
        aggregate: &Aggregate,
        keys: &[AuthenticatedKey],
        task: &SigningTask,
    ) -> Result<Arc<Round>, VerifyError> {
        aggregate.verify(&self.agreed, keys, task)
    }

    pub fn all(&self) -> Vec<usize> {
        (0..self.members.len()).collect()
    }

    /// One attempt, with all messages encoded and received.
    pub fn run_attempt(
        &mut self,
        signers: &[usize],
        round: &Arc<Round>,
    ) -> Result<Aggregate, RoundError> {
        let mut set = CommitmentSet::new(round);
        let mut pending = Vec::new();
        for &n in signers {
            let (response, hash) = self.members[n].commit(round, &mut self.journals[n])?;
            set.add(&self.agreed.receive(&hash.to_bytes())?)?;
            pending.push(response);
        }
        for (&n, pending) in signers.iter().zip(&pending) {
            let message = self.members[n].reveal(pending, &set, &mut self.journals[n])?;
            set.add(&self.agreed.receive(&message.to_bytes())?)?;
        }
        let challenge = set.challenge()?;
        let mut combiner = Combiner::new(&challenge);
        for (&n, response) in signers.iter().zip(pending) {
            let message = self.members[n].respond(response, &challenge, &mut self.journals[n])?;
            combiner.add(&self.agreed.receive(&message.to_bytes())?)?;
        }
        combiner.finish()
    }

    /// Attempts until one succeeds.
    pub fn sign(
        &mut self,
        signers: &[usize],
        name: &str,
        payload: &[u8],
    ) -> (Aggregate, Arc<Round>) {
        self.sign_from(signers, attempt_id(name, 0), payload)
    }

    /// [`Self::sign`] from a later attempt on.
    pub fn sign_from(
        &mut self,
        signers: &[usize],
        mut attempt: AttemptId,
        payload: &[u8],
    ) -> (Aggregate, Arc<Round>) {
        loop {
            let round = self.round(signers, &attempt, payload);
            match self.run_attempt(signers, &round) {
                Ok(aggregate) => return (aggregate, round),
                Err(error) if error.is_miss() => {
                    for &n in signers {
                        let journal = &mut self.journals[n];
                        let retired = self.members[n].retire(&self.agreed, &attempt, journal);
                        retired.unwrap();
                    }
                    attempt = attempt.next().unwrap();
                }
                Err(error) => panic!("{error}"),
            }
        }
    }
}
