//! Committee with fixed keys, equal in every process and every run.

use std::sync::Arc;

use commonware_cryptography::{
    Signer as _,
    ed25519::{PrivateKey, PublicKey as Identity},
};
use commonware_mldsa::{NotAMember, PublicKey, Scheme, Validators};
use commonware_utils::ordered::Map;
use harness::{Meter, Strategy, signing_key};
use mldsa_core::{ParameterSet, SigningKey};

use crate::Options;
use crate::metered::Metered;

/// Namespace of all votes.
const NAMESPACE: &[u8] = b"example/bft-simplex/v1";

/// Validator: network identity and vote key.
pub(crate) struct Member<P: ParameterSet> {
    pub(crate) identity: PrivateKey,
    key: SigningKey<P>,
    byzantine: bool,
}

impl<P: ParameterSet> Member<P> {
    fn new(n: usize, byzantine: bool) -> Self {
        Self {
            identity: PrivateKey::from_seed(n as u64),
            key: signing_key(n),
            byzantine,
        }
    }

    pub(crate) fn public(&self) -> Identity {
        self.identity.public_key()
    }
}

/// Members of all epochs and the validators of the first.
///
/// The first members are the faulty ones: attackers, then members with wrong signatures. With a
/// second epoch the last member joins in that epoch.
pub(crate) struct Members<P: ParameterSet> {
    pub(crate) all: Vec<Member<P>>,
    pub(crate) first: Arc<Validators<P>>,
    pub(crate) meter: Arc<Meter>,
    pub(crate) strategy: Strategy,
}

impl<P: ParameterSet> Members<P> {
    pub(crate) fn new(options: &Options, strategy: Strategy) -> anyhow::Result<Self> {
        let count = options.validators() + usize::from(options.epoch);
        let byzantine = options.attackers..options.faulty();
        let member = |n| Member::new(n, byzantine.contains(&n));
        let all: Vec<Member<P>> = (0..count).map(member).collect();
        let first = Validators::new(NAMESPACE, &table(&all[..options.validators()]))?;
        Ok(Self {
            all,
            first: Arc::new(first),
            meter: Arc::default(),
            strategy,
        })
    }

    /// Validators of the second epoch: without `leaving`, with the member that was not in the
    /// first, in the order of the identities.
    pub(crate) fn second(&self, leaving: usize) -> anyhow::Result<Arc<Validators<P>>> {
        let stay = self.all.iter().enumerate().filter(|(n, _)| *n != leaving);
        let second = self.first.next(&table(stay.map(|(_, member)| member)))?;
        Ok(Arc::new(second))
    }

    /// Number of the member with this identity.
    pub(crate) fn position(&self, identity: &Identity) -> Option<usize> {
        let mut all = self.all.iter();
        all.position(|member| member.public() == *identity)
    }

    /// Scheme of a member in an epoch.
    pub(crate) fn scheme(
        &self,
        n: usize,
        validators: &Arc<Validators<P>>,
        hedged: bool,
    ) -> Result<Scheme<P, Metered>, NotAMember> {
        let member = &self.all[n];
        let scheme = Scheme::signer(validators.clone(), &member.key)?;
        Ok(scheme.with_backend(Metered {
            strategy: self.strategy,
            meter: self.meter.clone(),
            byzantine: member.byzantine,
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
