//! Committees for the aggregate rows: registrations, pinned roots, journals in memory. Steps that are
//! taken once for each member or epoch are not timed with a task.

use std::sync::Arc;

use mladsa_aggregate::errors::RoundError;
use mladsa_aggregate::open_commitments::OpenCommitments;
use mladsa_aggregate::steps::{Combiner, CommitmentSet, Round};
use mladsa_aggregate::test_util::{Commitment, Response};
use mladsa_aggregate::{
    Aggregate, AgreedRoots, EpochPlan, Error, MasterSeed, Member, MemberId, MemoryWriteOnceStore,
    OneTimeKeyJournal, PinnedRoots, Registry, SigningTask, TaskId, Threshold,
};
use mldsa_core::{MlDsa87, ParameterSet as _, Randomness};

/// The sizes of the published figures.
pub(crate) const SIZES: [usize; 5] = [1, 4, 16, 64, 128];
/// The domain of all tasks.
const DOMAIN: &[u8] = b"BENCH";

/// Member number `n` of every committee.
pub(crate) fn member(n: usize) -> Member {
    let mut seed = [0x5e; 32];
    seed[..8].copy_from_slice(&n.to_le_bytes());
    let id = MemberId::new(format!("member-{n:04}").as_bytes()).expect("11 bytes");
    let member = MasterSeed::from_bytes(&seed);
    seed[31] = 0x11;
    Member::new(id, member, &seed)
}

/// Authentication of messages between members.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Channels {
    /// By signatures.
    Signed,
    /// By the channel.
    Authenticated,
}

/// A committee with one task.
#[derive(Debug)]
pub(crate) struct Committee {
    /// Its members.
    pub(crate) members: Vec<Member>,
    authenticated: Vec<Member>,
    /// Rounds with open commitments for it.
    pub(crate) open: OpenCommitments,
    agreed: AgreedRoots,
    opening_len: usize,
    opening_message_len: usize,
    round: Arc<Round>,
}

impl Committee {
    /// `n` members with a round with offset commitments, at an attempt that succeeds.
    pub(crate) fn new(n: usize) -> Result<Self, Error> {
        let members: Vec<Member> = (0..n).map(member).collect();
        let entries: Result<Vec<_>, _> = members
            .iter()
            .map(|member| member.register(Randomness::Deterministic))
            .collect();
        let registry = Registry::new(&[0x4d; 32], entries?, &Threshold::TwoThirds)?;
        let task = task(b"payload")?;
        let plan = EpochPlan::new(1, vec![task.id().clone()])?;
        let mut journals = members
            .iter()
            .map(|member| OneTimeKeyJournal::in_memory(member.seed()))
            .collect::<Result<Vec<_>, _>>()?;
        let mut trees = Vec::new();
        let mut roots = Vec::new();
        for (member, journal) in members.iter().zip(&mut journals) {
            let tree = member.epoch_tree(&registry, &plan)?;
            roots.push(member.announce(&tree, journal, Randomness::Deterministic)?);
            trees.push(tree);
        }
        let mut store = MemoryWriteOnceStore::default();
        let pinned = PinnedRoots::pin(&mut store, &registry, &plan, &roots)?;
        let mut acknowledgements = Vec::new();
        for (member, journal) in members.iter().zip(&mut journals) {
            acknowledgements.push(member.acknowledge(
                &pinned,
                journal,
                Randomness::Deterministic,
            )?);
        }
        let agreed =
            AgreedRoots::from_pin(&registry.identity(plan.epoch()), &pinned, &acknowledgements)?;
        let attempt_id = task.id().attempt(0)?;
        let opening = members[0].open(&agreed, &trees[0], &attempt_id, &journals[0])?;
        let opening_message_len = opening.to_bytes().len();
        let open = |attempt: u8| {
            let attempt_id = task.id().attempt(attempt)?;
            let mut keys = Vec::new();
            for ((member, tree), journal) in members.iter().zip(&trees).zip(&journals) {
                let opening = member.open(&agreed, tree, &attempt_id, journal)?;
                keys.push(agreed.authenticate(&opening)?);
            }
            Round::new(&agreed, &task, attempt, keys)
        };
        // An attempt that succeeds, with new journals for each.
        let mut attempt = 0;
        let mut round = open(attempt)?;
        let run = |round: &Arc<Round>| {
            let mut journals = journals_for(&members, &agreed, round)?;
            interactive(&members, &mut journals, round)
        };
        while run(&round).is_err_and(|error| error.is_miss()) {
            attempt += 1;
            round = open(attempt)?;
        }
        Ok(Self {
            open: OpenCommitments::new(&registry, 1),
            agreed,
            authenticated: (0..n)
                .map(|n| member(n).with_authenticated_channels())
                .collect(),
            members,
            opening_len: plan.opening_len(),
            opening_message_len,
            round,
        })
    }

    /// Journals of all members before the commitment.
    pub(crate) fn journals(&self) -> Result<Vec<OneTimeKeyJournal>, Error> {
        Ok(journals_for(&self.members, &self.agreed, &self.round)?)
    }

    /// All steps of all members, each with its own product, check and recomputation, and the
    /// combination: offset commitments, one thread.
    pub(crate) fn interactive(
        &self,
        channels: Channels,
        journals: &mut [OneTimeKeyJournal],
    ) -> Result<Aggregate, Error> {
        let members = match channels {
            Channels::Signed => &self.members,
            Channels::Authenticated => &self.authenticated,
        };
        Ok(interactive(members, journals, &self.round)?)
    }

    /// The aggregate with open commitments when one party holds all secrets.
    pub(crate) fn one_party(&self, payload: &[u8]) -> Result<Aggregate, Error> {
        let task = task(payload)?;
        Ok(self.open.aggregate_one_party(&self.members, &task)?)
    }

    /// A payload whose first attempt succeeds when one party holds all secrets, so that
    /// runs are alike.
    pub(crate) fn payload_at_first_attempt(&self) -> Result<[u8; 8], Error> {
        (0u64..)
            .map(u64::to_be_bytes)
            .find(|payload| {
                let aggregate = self.one_party(payload);
                aggregate.is_ok_and(|aggregate| aggregate.attempt_id().attempt() == 0)
            })
            .ok_or(RoundError::AttemptsExhausted.into())
    }

    /// Bytes of each member's opening.
    pub(crate) fn opening_len(&self) -> usize {
        self.opening_len
    }

    /// Bytes of the messages that a member sends in one attempt, without its opening.
    pub(crate) fn sent(&self) -> usize {
        let envelope = self.opening_message_len - self.opening_len;
        3 * envelope + 64 + MlDsa87::SIG_LEN + Commitment::LEN + Response::LEN
    }

    /// The open round.
    pub(crate) fn round(&self) -> &Arc<Round> {
        &self.round
    }
}

fn task(payload: &[u8]) -> Result<SigningTask, Error> {
    let id = TaskId::new(b"decision")?;
    Ok(SigningTask::decision(id, DOMAIN, payload)?)
}

fn journal(
    member: &Member,
    agreed: &AgreedRoots,
    round: &Round,
) -> Result<OneTimeKeyJournal, RoundError> {
    let mut journal = OneTimeKeyJournal::in_memory(member.seed())?;
    let _ = member.acknowledge(agreed.pinned(), &mut journal, Randomness::Deterministic)?;
    for attempt in 0..round.attempt_id().attempt() {
        let attempt = round.task().id().attempt(attempt)?;
        member.retire(agreed, &attempt, &mut journal)?;
    }
    Ok(journal)
}

fn journals_for(
    members: &[Member],
    agreed: &AgreedRoots,
    round: &Round,
) -> Result<Vec<OneTimeKeyJournal>, RoundError> {
    let journals = members.iter().map(|member| journal(member, agreed, round));
    journals.collect()
}

fn interactive(
    members: &[Member],
    journals: &mut [OneTimeKeyJournal],
    round: &Arc<Round>,
) -> Result<Aggregate, RoundError> {
    let mut set = CommitmentSet::new(round);
    let mut pending = Vec::with_capacity(members.len());
    for (member, journal) in members.iter().zip(&mut *journals) {
        let (response, hash) = member.commit(round, journal)?;
        set.add(&hash)?;
        pending.push(response);
    }
    let mut commitments = Vec::with_capacity(members.len());
    for ((member, response), journal) in members.iter().zip(&pending).zip(&mut *journals) {
        commitments.push(member.reveal(response, &set, journal)?);
    }
    for commitment in &commitments {
        set.add(commitment)?;
    }
    let challenge = set.challenge()?;
    let mut combiner = Combiner::new(&challenge);
    for ((member, response), journal) in members.iter().zip(pending).zip(journals) {
        combiner.add(&member.respond(response, &challenge, journal)?)?;
    }
    combiner.finish()
}
