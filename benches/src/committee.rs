//! Committees for the aggregate rows: real registrations and pinned roots, guards
//! in memory. What happens once per member or epoch is not timed with a decision.

use std::sync::Arc;

use mladsa_aggregate::base::Gate;
use mladsa_aggregate::{
    Aggregate, BaseLabel, Combiner, CommitmentSet, ContentLabel, Decision, EpochPlan, Error,
    InMemoryGuardForTests, InMemoryRootsForTests, Kind, MasterSeed, Member, MemberId, PinnedRoots,
    Registry, Round,
};
use mldsa_core::Hedge;

/// The sizes of the published figures.
pub const SIZES: [usize; 5] = [1, 4, 16, 64, 128];
/// The context of all decisions.
pub const CTX: &[u8] = b"BENCH";

/// Member number `n` of every committee.
#[must_use]
pub fn member(n: usize) -> Member {
    let mut seed = [0x5e; 32];
    seed[..8].copy_from_slice(&n.to_le_bytes());
    let id = MemberId::new(format!("member-{n:04}").as_bytes()).expect("11 bytes");
    let member = MasterSeed::from_bytes(&seed);
    seed[31] = 0x11;
    Member::new(id, member, &seed)
}

/// A committee on one decision.
#[derive(Debug)]
pub struct Committee {
    /// Its members.
    pub members: Vec<Member>,
    /// Base mode for it.
    pub gate: Gate,
    /// Its registry.
    pub registry: Arc<Registry>,
    opening_len: usize,
    round: Round,
}

impl Committee {
    /// `n` members up to the point where a round is open: offset mode, at an
    /// attempt that succeeds.
    ///
    /// # Errors
    /// None for the sizes of this crate.
    pub fn new(n: usize) -> Result<Self, Error> {
        let members: Vec<Member> = (0..n).map(member).collect();
        let entries: Result<Vec<_>, _> = members
            .iter()
            .map(|member| member.register(Hedge::Deterministic))
            .collect();
        let registry = Registry::new(&[0x4d; 32], entries?)?;
        let base = BaseLabel::new(b"decision")?;
        let plan = EpochPlan::new(1, vec![base.clone()])?;
        let mut trees = Vec::new();
        let mut roots = Vec::new();
        for member in &members {
            let tree = member.epoch_tree(registry.matrix(), &plan)?;
            roots.push(member.announce(&tree, Hedge::Deterministic)?);
            trees.push(tree);
        }
        let mut store = InMemoryRootsForTests::default();
        let pinned = PinnedRoots::pin(&mut store, &registry, &plan, &roots)?;
        let open = |label: &ContentLabel| {
            let mut public_keys = Vec::new();
            for (member, tree) in members.iter().zip(&trees) {
                let opening = member.open(&pinned, tree, label)?;
                public_keys.push(pinned.authenticate(member.id(), label, &opening)?);
            }
            let decision = Decision {
                ctx: CTX,
                label,
                kind: Kind::Decision,
                payload: b"payload",
            };
            Round::new(&pinned, &decision, public_keys)
        };
        let mut label = base.attempt(0)?;
        let mut round = open(&label)?;
        while let Err(Error::Retry(_)) = interactive(&members, &round) {
            label = label.next()?;
            round = open(&label)?;
        }
        Ok(Self {
            gate: Gate::new(&registry, 1, base),
            members,
            registry,
            opening_len: plan.opening_len(),
            round,
        })
    }

    /// Both steps of all members, each with its own product, check and
    /// recomputation, and the combination: offset mode, one process, one thread.
    ///
    /// # Errors
    /// None: the attempt is known to succeed.
    pub fn interactive(&self) -> Result<Aggregate, Error> {
        interactive(&self.members, &self.round)
    }

    /// The aggregate of base mode when one party holds all secrets.
    ///
    /// # Errors
    /// None but after 64 misses in a row.
    pub fn one_party(&self, payload: &[u8]) -> Result<Aggregate, Error> {
        self.gate
            .aggregate_one_party(&self.members, CTX, Kind::Decision, payload)
    }

    /// Bytes of each member's opening.
    #[must_use]
    pub fn opening_len(&self) -> usize {
        self.opening_len
    }

    /// The open round.
    #[must_use]
    pub fn round(&self) -> &Round {
        &self.round
    }
}

fn interactive(members: &[Member], round: &Round) -> Result<Aggregate, Error> {
    let mut set = CommitmentSet::new(round);
    let mut pending = Vec::with_capacity(members.len());
    for member in members {
        let mut guard = InMemoryGuardForTests::new(member.seed());
        let (wait, commitment) = member.commit(round, &mut guard)?;
        set.add(member.id(), commitment)?;
        pending.push((wait, guard));
    }
    let challenge = set.challenge()?;
    let mut combiner = Combiner::new(&challenge);
    for (member, (wait, mut guard)) in members.iter().zip(pending) {
        combiner.add(member.id(), wait.respond(&challenge, &mut guard)?)?;
    }
    combiner.finish()
}
