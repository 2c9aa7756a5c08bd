//! The types of a chain with small values: what Malachite calls a context.

use core::fmt;
use core::marker::PhantomData;
use std::sync::Arc;

use arc_malachitebft_core_types::{
    self as types, Context, LinearTimeouts, NilOrVal, Round, SignedExtension, VoteType,
};
use mldsa_core::{ParameterSet, VerifyingKey};

use crate::scheme::Scheme;

/// The chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain<P>(PhantomData<P>);

impl<P> Default for Chain<P> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

macro_rules! number {
    ($(#[$doc:meta] $name:ident($inner:ty);)+) => {$(
        #[$doc]
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub $inner);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    )+};
}

number! {
    /// A validator: its place in the set, which is its id in the key set.
    Address(u32);
    /// The number of a block.
    Height(u64);
    /// A block; its own id.
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

/// Values are small enough for the proposal itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoPart;

impl<P: ParameterSet> types::ProposalPart<Chain<P>> for NoPart {
    fn is_first(&self) -> bool {
        true
    }

    fn is_last(&self) -> bool {
        true
    }
}

/// A proposed value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    /// For which height.
    pub height: Height,
    /// In which round.
    pub round: Round,
    /// The value.
    pub value: Value,
    /// The round of the polka that it had before.
    pub pol_round: Round,
    /// Who proposes it.
    pub by: Address,
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

/// A prevote or precommit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vote<P: ParameterSet> {
    /// Which of the two.
    pub kind: VoteType,
    /// For which height.
    pub height: Height,
    /// In which round.
    pub round: Round,
    /// For what.
    pub value: NilOrVal<Value>,
    /// Who votes.
    pub by: Address,
    extension: Option<SignedExtension<Chain<P>>>,
}

impl<P: ParameterSet> Vote<P> {
    fn new(
        kind: VoteType,
        height: Height,
        round: Round,
        value: NilOrVal<Value>,
        by: Address,
    ) -> Self {
        Self {
            kind,
            height,
            round,
            value,
            by,
            extension: None,
        }
    }
}

impl<P: ParameterSet> types::Vote<Chain<P>> for Vote<P> {
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
        self.extension.as_ref()
    }

    fn take_extension(&mut self) -> Option<SignedExtension<Chain<P>>> {
        self.extension.take()
    }

    fn extend(self, extension: SignedExtension<Chain<P>>) -> Self {
        Self {
            extension: Some(extension),
            ..self
        }
    }
}

/// A member of the validator set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member<P: ParameterSet> {
    address: Address,
    key: VerifyingKey<P>,
}

impl<P: ParameterSet> types::Validator<Chain<P>> for Member<P> {
    fn address(&self) -> &Address {
        &self.address
    }

    fn public_key(&self) -> &VerifyingKey<P> {
        &self.key
    }

    fn voting_power(&self) -> u64 {
        1
    }
}

/// The validators, by address. The engine clones sets often, so clones share the members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValidatorSet<P: ParameterSet>(Arc<[Member<P>]>);

impl<P: ParameterSet> ValidatorSet<P> {
    /// The set of these keys; the n-th gets address n.
    pub fn new<'a>(keys: impl IntoIterator<Item = &'a VerifyingKey<P>>) -> Self {
        let member = |(address, key): (u32, &VerifyingKey<P>)| Member {
            address: Address(address),
            key: key.clone(),
        };
        Self((0..).zip(keys).map(member).collect())
    }

    /// The encoded keys, in order.
    pub fn keys(&self) -> impl Iterator<Item = &[u8]> {
        self.0.iter().map(|member| member.key.as_bytes().as_ref())
    }
}

impl<P: ParameterSet> types::ValidatorSet<Chain<P>> for ValidatorSet<P> {
    fn count(&self) -> usize {
        self.0.len()
    }

    fn total_voting_power(&self) -> u64 {
        self.0.len() as u64
    }

    fn get_by_address(&self, address: &Address) -> Option<&Member<P>> {
        self.0.get(address.0 as usize)
    }

    fn get_by_index(&self, index: usize) -> Option<&Member<P>> {
        self.0.get(index)
    }
}

/// Who proposes: the validators take turns.
#[must_use]
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
    type Vote = Vote<P>;
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
    ) -> Vote<P> {
        Vote::new(VoteType::Prevote, height, round, value, by)
    }

    fn new_precommit(
        &self,
        height: Height,
        round: Round,
        value: NilOrVal<Value>,
        by: Address,
    ) -> Vote<P> {
        Vote::new(VoteType::Precommit, height, round, value, by)
    }
}
