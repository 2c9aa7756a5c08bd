//! Committees for the aggregate tables: real registrations and pinned roots, journals in memory.
//! Setup for each member and epoch is not timed.

use std::sync::Arc;

use mladsa_aggregate::base::Gate;
use mladsa_aggregate::{
    Aggregate, AgreedRoots, BaseLabel, COMMITMENT_LEN, Combiner, CommitmentSet, Decision,
    EpochPlan, Error, Guard, InMemoryPinsForTests, Kind, MasterSeed, Member, MemberId, PinnedRoots,
    RESPONSE_LEN, Registry, Round,
};
use mldsa_core::Randomness;

/// Committee sizes of the published figures.
pub(crate) const SIZES: [usize; 5] = [1, 4, 16, 64, 128];
/// Context of all decisions.
const CTX: &[u8] = b"BENCH";

/// Member number `n` of every committee.
pub(crate) fn member(n: usize) -> Member {
    let mut seed = [0x5e; 32];
    seed[..8].copy_from_slice(&n.to_le_bytes());
    let id = MemberId::new(format!("member-{n:04}").as_bytes()).expect("11 bytes");
    let member = MasterSeed::from_bytes(&seed);
    seed[31] = 0x11;
    Member::new(id, member, &seed)
}

/// A committee on one decision.
#[derive(Debug)]
pub(crate) struct Committee {
    /// The members.
    pub(crate) members: Vec<Member>,
    /// Base mode of the committee.
    pub(crate) gate: Gate,
    base: BaseLabel,
    agreed: AgreedRoots,
    opening_len: usize,
    opening_message_len: usize,
    round: Arc<Round>,
}

impl Committee {
    /// `n` members with an open round: offset mode, at an attempt that succeeds.
    pub(crate) fn new(n: usize) -> Result<Self, Error> {
        let members: Vec<Member> = (0..n).map(member).collect();
        let entries: Result<Vec<_>, _> = members
            .iter()
            .map(|member| member.register(Randomness::Deterministic))
            .collect();
        let registry = Registry::new(&[0x4d; 32], entries?)?;
        let base = BaseLabel::new(b"decision")?;
        let plan = EpochPlan::new(1, vec![base.clone()])?;
        let mut guards = guards(&members)?;
        let mut trees = Vec::new();
        let mut roots = Vec::new();
        for (member, guard) in members.iter().zip(&mut guards) {
            let tree = member.epoch_tree(&registry, &plan)?;
            roots.push(member.announce(&tree, guard, Randomness::Deterministic)?);
            trees.push(tree);
        }
        let mut store = InMemoryPinsForTests::default();
        let pinned = PinnedRoots::pin(&mut store, &registry, &plan, &roots)?;
        let mut words = Vec::new();
        for (member, guard) in members.iter().zip(&mut guards) {
            words.push(member.acknowledge(&pinned, guard, Randomness::Deterministic)?);
        }
        let agreed = AgreedRoots::new(&pinned, &words)?;
        let label = base.attempt(0)?;
        let opening = members[0].open(&agreed, &trees[0], &label, &guards[0])?;
        let opening_message_len = opening.to_bytes().len();
        let open = |attempt: u8| {
            let label = base.attempt(attempt)?;
            let mut public_keys = Vec::new();
            for ((member, tree), guard) in members.iter().zip(&trees).zip(&guards) {
                let opening = member.open(&agreed, tree, &label, guard)?;
                public_keys.push(agreed.authenticate(&opening)?);
            }
            Round::new(&agreed, &decision(&base, b"payload"), attempt, public_keys)
        };
        // Each attempt has new journals.
        let mut attempt = 0;
        let mut round = open(attempt)?;
        while let Err(Error::Retry(_)) = interactive(&members, &agreed, &round) {
            attempt += 1;
            round = open(attempt)?;
        }
        Ok(Self {
            gate: Gate::new(&registry, 1, base.clone()),
            base,
            agreed,
            members,
            opening_len: plan.opening_len(),
            opening_message_len,
            round,
        })
    }

    /// Both steps of all members and the combination, on this thread. The attempt succeeds.
    pub(crate) fn interactive(&self) -> Result<Aggregate, Error> {
        interactive(&self.members, &self.agreed, &self.round)
    }

    /// The aggregate of base mode when one party holds all secrets.
    pub(crate) fn one_party(&self, payload: &[u8]) -> Result<Aggregate, Error> {
        self.gate
            .aggregate_one_party(&self.members, &decision(&self.base, payload))
    }

    /// A payload whose first attempt succeeds in [`one_party`](Self::one_party).
    pub(crate) fn payload_at_first_attempt(&self) -> Result<[u8; 8], Error> {
        (0u64..)
            .map(u64::to_be_bytes)
            .find(|payload| {
                let aggregate = self.one_party(payload);
                aggregate.is_ok_and(|aggregate| aggregate.label().attempt() == 0)
            })
            .ok_or(Error::AttemptsExhausted)
    }

    /// Bytes of each member's opening.
    pub(crate) fn opening_len(&self) -> usize {
        self.opening_len
    }

    /// Bytes that a member sends in one attempt, without its opening.
    pub(crate) fn sent(&self) -> usize {
        let envelope = self.opening_message_len - self.opening_len;
        2 * envelope + COMMITMENT_LEN + RESPONSE_LEN
    }

    /// A journal that is ready for a commitment.
    pub(crate) fn guard(&self, member: &Member) -> Result<Guard, Error> {
        guard(member, &self.agreed, &self.round)
    }

    /// The open round.
    pub(crate) fn round(&self) -> &Arc<Round> {
        &self.round
    }
}

fn decision<'a>(label: &'a BaseLabel, payload: &'a [u8]) -> Decision<'a> {
    Decision {
        ctx: CTX,
        label,
        kind: Kind::Decision,
        payload,
    }
}

fn guards(members: &[Member]) -> Result<Vec<Guard>, Error> {
    let guards = members.iter();
    guards
        .map(|member| Guard::in_memory_for_tests(member.seed()))
        .collect()
}

fn guard(member: &Member, agreed: &AgreedRoots, round: &Round) -> Result<Guard, Error> {
    let mut guard = Guard::in_memory_for_tests(member.seed())?;
    member.acknowledge(agreed.pinned(), &mut guard, Randomness::Deterministic)?;
    for attempt in 0..round.label().attempt() {
        let label = BaseLabel::new(round.label().base())?.attempt(attempt)?;
        member.retire(agreed, &label, &mut guard)?;
    }
    Ok(guard)
}

fn interactive(
    members: &[Member],
    agreed: &AgreedRoots,
    round: &Arc<Round>,
) -> Result<Aggregate, Error> {
    let mut set = CommitmentSet::new(round);
    let mut pending = Vec::with_capacity(members.len());
    for member in members {
        let mut guard = guard(member, agreed, round)?;
        let (wait, commitment) = member.commit(round, &mut guard)?;
        set.add(&commitment)?;
        pending.push((wait, guard));
    }
    let challenge = set.challenge()?;
    let mut combiner = Combiner::new(&challenge);
    for (member, (wait, mut guard)) in members.iter().zip(pending) {
        combiner.add(&member.respond(wait, &challenge, &mut guard)?)?;
    }
    combiner.finish()
}
