//! A committee in memory.
#![allow(unreachable_pub, reason = "a module of several test programs")]

use std::sync::Arc;

use mladsa_aggregate::errors::RoundError;
use mladsa_aggregate::steps::*;
use mladsa_aggregate::*;
use mldsa_core::Randomness::Deterministic;

pub const EPOCH: u64 = 5;
pub const DOMAIN: &[u8] = b"TEST";

/// 32 bytes determined by `label` and `n`.
pub fn bytes32(label: &str, n: usize) -> [u8; 32] {
    use sha2::{Digest, Sha256};
    Sha256::digest(format!("{label}/{n}")).into()
}

/// Epoch with this number, of 4 slots with 4 attempts each.
pub fn epoch(number: u64) -> Arc<Epoch> {
    Epoch::new(DOMAIN, number, 4, 4).unwrap()
}

pub fn id(n: usize) -> MemberName {
    MemberName::new(format!("member-{n:04}").as_bytes()).unwrap()
}

pub fn seed(n: usize) -> MasterSeed {
    MasterSeed::from_bytes(&bytes32("seed", n))
}

pub fn member(n: usize, epoch: &Arc<Epoch>) -> Member {
    Member::new(id(n), seed(n), epoch).unwrap()
}

pub fn at(slot: u32, number: u8) -> AttemptId {
    AttemptId { slot, number }
}

pub fn journal(member: &Member) -> OneTimeKeyJournal {
    OneTimeKeyJournal::in_memory(member.seed()).unwrap()
}

/// The committee of these members with these weights.
pub fn committee_of<'a>(
    members: impl IntoIterator<Item = &'a Member>,
    weights: &[u64],
    threshold: u64,
    epoch: &Arc<Epoch>,
) -> Arc<SigningCommittee> {
    let members = members.into_iter().zip(weights);
    let members =
        members.map(|(member, weight)| (member.register(Deterministic).unwrap(), *weight));
    SigningCommittee::new(epoch, members, threshold).unwrap()
}

/// A set that contains these hashes of commitments.
pub fn hashed(round: &Arc<Round>, hashes: &[Message]) -> CommitmentSet {
    let mut set = CommitmentSet::new(round);
    hashes.iter().for_each(|hash| set.add(hash).unwrap());
    set
}

/// Members with their committee and their journals.
pub struct Group {
    pub members: Vec<Arc<Member>>,
    pub committee: Arc<SigningCommittee>,
    pub journals: Vec<OneTimeKeyJournal>,
}

impl Group {
    /// Members of equal weight, each of which reaches the threshold.
    pub fn new(n: usize) -> Self {
        Self::with(&epoch(EPOCH), &vec![1; n], 1)
    }

    pub fn with(epoch: &Arc<Epoch>, weights: &[u64], threshold: u64) -> Self {
        let members = (0..weights.len()).map(|n| Arc::new(member(n, epoch)));
        Self::of(members.collect(), weights, threshold, epoch)
    }

    pub fn of(
        members: Vec<Arc<Member>>,
        weights: &[u64],
        threshold: u64,
        epoch: &Arc<Epoch>,
    ) -> Self {
        let all = members.iter().map(Arc::as_ref);
        Self {
            committee: committee_of(all, weights, threshold, epoch),
            journals: members.iter().map(|member| journal(member)).collect(),
            members,
        }
    }

    pub fn all(&self) -> Vec<usize> {
        (0..self.members.len()).collect()
    }

    pub fn receive(&self, message: &Message) -> Message {
        Message::receive(&message.to_bytes(), &self.committee).unwrap()
    }

    /// The opening of member `n`, encoded and received.
    pub fn open(&mut self, n: usize, attempt: AttemptId) -> Message {
        let message = self.members[n].open(&self.committee, attempt, &mut self.journals[n]);
        self.receive(&message.unwrap())
    }

    /// The authenticated keys of `signers` for `attempt`.
    pub fn keys(&mut self, signers: &[usize], attempt: AttemptId) -> Vec<AuthenticatedKey> {
        let key = |&n: &usize| {
            let message = self.open(n, attempt);
            self.committee.authenticate(&message).unwrap()
        };
        signers.iter().map(key).collect()
    }

    pub fn round(&mut self, signers: &[usize], attempt: AttemptId, payload: &[u8]) -> Arc<Round> {
        let task = SigningTask::decision(attempt.slot, payload);
        let keys = self.keys(signers, attempt);
        Round::new(self.committee.view(), &task, attempt.number, keys).unwrap()
    }

    /// The hashes of the commitments of all signers, with their pending responses.
    pub fn commit(
        &mut self,
        round: &Arc<Round>,
        signers: &[usize],
    ) -> (Vec<PendingResponse>, Vec<Message>) {
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
        hashes: &[Message],
    ) -> (CommitmentSet, Vec<Message>) {
        let set = hashed(round, hashes);
        let reveal = signers.iter().zip(pending).map(|(&n, pending)| {
            let message = self.members[n].reveal(pending, &set, &mut self.journals[n]);
            message.unwrap()
        });
        let commitments = reveal.collect();
        (set, commitments)
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
            set.add(&self.receive(&hash))?;
            pending.push(response);
        }
        for (&n, pending) in signers.iter().zip(&pending) {
            let message = self.members[n].reveal(pending, &set, &mut self.journals[n])?;
            set.add(&self.receive(&message))?;
        }
        let challenge = set.challenge()?;
        let mut combiner = Combiner::new(&challenge);
        for (&n, response) in signers.iter().zip(pending) {
            let message = self.members[n].respond(response, &challenge, &mut self.journals[n])?;
            combiner.add(&self.receive(&message))?;
        }
        combiner.finish()
    }

    /// Attempts until one succeeds.
    pub fn sign(
        &mut self,
        signers: &[usize],
        slot: u32,
        payload: &[u8],
    ) -> (Aggregate, Arc<Round>) {
        self.sign_from(signers, at(slot, 0), payload)
    }

    /// [`Self::sign`] from a later attempt on.
    pub fn sign_from(
        &mut self,
        signers: &[usize],
        mut attempt: AttemptId,
        payload: &[u8],
    ) -> (Aggregate, Arc<Round>) {
        loop {
            let round = self.round(signers, attempt, payload);
            match self.run_attempt(signers, &round) {
                Ok(aggregate) => return (aggregate, round),
                Err(error) if error.is_miss() => {
                    for &n in signers {
                        let journal = &mut self.journals[n];
                        self.members[n].retire(attempt, journal).unwrap();
                    }
                    attempt.number += 1;
                }
                Err(error) => panic!("{error}"),
            }
        }
    }
}
