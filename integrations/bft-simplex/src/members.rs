//! A committee for demonstrations: the same keys in every process and every run.

use std::sync::Arc;

use commonware_cryptography::{
    Signer as _,
    ed25519::{PrivateKey, PublicKey as Identity},
};
use commonware_mldsa::{Committee, NotAMember, PublicKey, Scheme};
use commonware_utils::ordered::Map;
use measure::{How, Meter};
use mldsa_core::{ParameterSet, SigningKey};

use crate::measured::Measured;
use crate::{Options, RunError};

/// What the votes are for.
const NAMESPACE: &[u8] = b"example/bft-simplex/v1";

/// A validator: who it is to the network, and what signs its votes.
pub(crate) struct Member<P: ParameterSet> {
    pub(crate) identity: PrivateKey,
    key: SigningKey<P>,
    spoil: bool,
}

impl<P: ParameterSet> Member<P> {
    fn new(n: usize, spoil: bool) -> Self {
        let mut seed = [0x5a; 32];
        seed[..8].copy_from_slice(&(n as u64).to_le_bytes());
        Self {
            identity: PrivateKey::from_seed(n as u64),
            key: SigningKey::from_seed(&seed),
            spoil,
        }
    }

    pub(crate) fn public(&self) -> Identity {
        self.identity.public_key()
    }
}

/// All who are a member in some epoch, and the committee of the first.
///
/// The first members are the faulty ones: those that attack, then those that spoil their
/// signatures. The last one joins with the second epoch, if there is one.
pub(crate) struct Members<P: ParameterSet> {
    pub(crate) all: Vec<Member<P>>,
    pub(crate) first: Arc<Committee<P>>,
    pub(crate) meter: Arc<Meter>,
    pub(crate) how: How,
    validators: usize,
}

impl<P: ParameterSet> Members<P> {
    pub(crate) fn new(options: &Options, how: How) -> Result<Self, RunError> {
        let count = options.validators + usize::from(options.epoch);
        let spoil = options.hostile..options.faulty();
        let member = |n| Member::new(n, spoil.contains(&n));
        let all: Vec<Member<P>> = (0..count).map(member).collect();
        let first = Committee::new(NAMESPACE, &table(&all[..options.validators]))?;
        Ok(Self {
            all,
            first: Arc::new(first),
            meter: Arc::default(),
            how,
            validators: options.validators,
        })
    }

    /// The committee of the second epoch: the member `leaving` goes, the one who was not in the
    /// first comes, and the order is that of the identities again.
    pub(crate) fn second(&self, leaving: usize) -> Result<Arc<Committee<P>>, RunError> {
        let stay = self.all.iter().enumerate().filter(|(n, _)| *n != leaving);
        let second = self.first.next(&table(stay.map(|(_, member)| member)))?;
        Ok(Arc::new(second))
    }

    /// Members of an epoch.
    pub(crate) fn validators(&self) -> usize {
        self.validators
    }

    /// Which member an identity belongs to.
    pub(crate) fn position(&self, identity: &Identity) -> Option<usize> {
        self.all
            .iter()
            .position(|member| member.public() == *identity)
    }

    /// The scheme of a member in a committee; `hedged` is what the engine does not stand.
    pub(crate) fn scheme(
        &self,
        n: usize,
        committee: &Arc<Committee<P>>,
        hedged: bool,
    ) -> Result<Scheme<P, Measured>, NotAMember> {
        let member = &self.all[n];
        let scheme = Scheme::signer(committee.clone(), &member.key)?;
        Ok(scheme.with_voting(Measured {
            how: self.how,
            meter: self.meter.clone(),
            spoil: member.spoil,
            hedged,
        }))
    }
}

fn table<'a, P: ParameterSet>(
    members: impl IntoIterator<Item = &'a Member<P>>,
) -> Map<Identity, PublicKey<P>> {
    let keys = |member: &Member<P>| (member.public(), member.key.verifying_key().clone().into());
    Map::from_iter_dedup(members.into_iter().map(keys))
}
