//! Types of a chain with small values (`Context` of the engine).

use core::fmt;
use core::marker::PhantomData;
use std::sync::Arc;

use arc_malachitebft_core_types::{
    self as types, Context, LinearTimeouts, NilOrVal, Round, SignedExtension, VoteType,
};
use mldsa_core::{ParameterSet, VerifyingKey};

use crate::scheme::Scheme;

/// Chain context of the engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Chain<P>(PhantomData<P>);

impl<P> Default for Chain<P> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

macro_rules! number {
    ($(#[$doc:meta] $name:ident($inner:ty);)+) => {$(
        #[$doc]
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub(crate) struct $name(pub(crate) $inner);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    )+};
}

number! {
    /// Address of a validator, independent of its position in a set.
    Address(u32);
    /// Block number.
    Height(u64);
    /// Block value, which is its own id.
    Value(u64);
}

impl types::Address for Address {}

impl types::Height for Height {
    const ZERO: Self = Self(0);
    const INITIAL: Self = Self(1);

    fn increment_by(&self, n: u64) -> Self {
        Self(self.0.saturating_add(n))
    }

    fn decrement_by(&self, n: u64) -> Option<Self> {
        self.0.checked_sub(n).map(Self)
    }

    fn as_u64(&self) -> u64 {
        self.0
    }
}

impl types::Value for Value {
    type Id = Self;

    fn id(&self) -> Self {
        *self
    }
}

/// Proposal part; unused, because values are part of the proposal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NoPart;

impl<P: ParameterSet> types::ProposalPart<Chain<P>> for NoPart {
    fn is_first(&self) -> bool {
        true
    }

    fn is_last(&self) -> bool {
        true
    }
}

/// Proposed value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Proposal {
    /// Height.
    pub(crate) height: Height,
    /// Round.
    pub(crate) round: Round,
    /// Value.
    pub(crate) value: Value,
    /// Round of an earlier polka for the value.
    pub(crate) pol_round: Round,
    /// Proposer.
    pub(crate) by: Address,
}

impl<P: ParameterSet> types::Proposal<Chain<P>> for Proposal {
    fn height(&self) -> Height {
        self.height
    }

    fn round(&self) -> Round {
        self.round
    }

    fn value(&self) -> &Value {
        &self.value
    }

    fn take_value(self) -> Value {
        self.value
    }

    fn pol_round(&self) -> Round {
        self.pol_round
    }

    fn validator_address(&self) -> &Address {
        &self.by
    }
}

/// Prevote or precommit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Vote {
    /// Prevote or precommit.
    pub(crate) kind: VoteType,
    /// Height.
    pub(crate) height: Height,
    /// Round.
    pub(crate) round: Round,
    /// Value, or nil.
    pub(crate) value: NilOrVal<Value>,
    /// Voter.
    pub(crate) by: Address,
}

/// Votes of this chain have no extensions.
impl<P: ParameterSet> types::Vote<Chain<P>> for Vote {
    fn height(&self) -> Height {
        self.height
    }

    fn round(&self) -> Round {
        self.round
    }

    fn value(&self) -> &NilOrVal<Value> {
        &self.value
    }

    fn take_value(self) -> NilOrVal<Value> {
        self.value
    }

    fn vote_type(&self) -> VoteType {
        self.kind
    }

    fn validator_address(&self) -> &Address {
        &self.by
    }

    fn extension(&self) -> Option<&SignedExtension<Chain<P>>> {
        None
    }

    fn take_extension(&mut self) -> Option<SignedExtension<Chain<P>>> {
        None
    }

    fn extend(self, _: SignedExtension<Chain<P>>) -> Self {
        self
    }
}

/// Member of a validator set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Member<P: ParameterSet> {
    address: Address,
    key: VerifyingKey<P>,
    power: u64,
}

impl<P: ParameterSet> types::Validator<Chain<P>> for Member<P> {
    fn address(&self) -> &Address {
        &self.address
    }

    fn public_key(&self) -> &VerifyingKey<P> {
        &self.key
    }

    fn voting_power(&self) -> u64 {
        self.power
    }
}

/// Validators of an epoch, in order. Clones share them, because the engine clones sets often.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ValidatorSet<P: ParameterSet>(Arc<[Member<P>]>);

impl<P: ParameterSet> ValidatorSet<P> {
    /// Set of validators with address, key and voting power.
    pub(crate) fn new(members: impl IntoIterator<Item = (Address, VerifyingKey<P>, u64)>) -> Self {
        let member = |(address, key, power)| Member {
            address,
            key,
            power,
        };
        Self(members.into_iter().map(member).collect())
    }

    /// Position of a validator in the set.
    pub(crate) fn position(&self, address: Address) -> Option<usize> {
        self.0.iter().position(|member| member.address == address)
    }

    /// Voting power of a validator.
    pub(crate) fn power(&self, address: Address) -> Option<u64> {
        self.position(address).map(|at| self.0[at].power)
    }
}

impl<P: ParameterSet> types::ValidatorSet<Chain<P>> for ValidatorSet<P> {
    fn count(&self) -> usize {
        self.0.len()
    }

    fn total_voting_power(&self) -> u64 {
        self.0.iter().map(|member| member.power).sum()
    }

    fn get_by_address(&self, address: &Address) -> Option<&Member<P>> {
        self.0.get(self.position(*address)?)
    }

    fn get_by_index(&self, index: usize) -> Option<&Member<P>> {
        self.0.get(index)
    }
}

/// Position of the proposer: validators take turns.
pub(crate) fn proposer(validators: usize, height: Height, round: Round) -> usize {
    let turn = height.0 + u64::from(round.as_u32().unwrap_or(0));
    (turn % validators as u64) as usize
}

impl<P: ParameterSet> Context for Chain<P> {
    type Address = Address;
    type Height = Height;
    type ProposalPart = NoPart;
    type Proposal = Proposal;
    type Validator = Member<P>;
    type ValidatorSet = ValidatorSet<P>;
    type Timeouts = LinearTimeouts;
    type Value = Value;
    type Vote = Vote;
    type Extension = ();
    type SigningScheme = Scheme<P>;

    fn select_proposer<'a>(
        &self,
        set: &'a ValidatorSet<P>,
        height: Height,
        round: Round,
    ) -> &'a Member<P> {
        &set.0[proposer(set.0.len(), height, round)]
    }

    fn new_proposal(
        &self,
        height: Height,
        round: Round,
        value: Value,
        pol_round: Round,
        by: Address,
    ) -> Proposal {
        Proposal {
            height,
            round,
            value,
            pol_round,
            by,
        }
    }

    fn new_prevote(
        &self,
        height: Height,
        round: Round,
        value: NilOrVal<Value>,
        by: Address,
    ) -> Vote {
        let kind = VoteType::Prevote;
        Vote {
            kind,
            height,
            round,
            value,
            by,
        }
    }

    fn new_precommit(
        &self,
        height: Height,
        round: Round,
        value: NilOrVal<Value>,
        by: Address,
    ) -> Vote {
        let kind = VoteType::Precommit;
        Vote {
            kind,
            height,
            round,
            value,
            by,
        }
    }
}
