//! Votes and certificates as passed by an engine and by a hostile peer.

mod certificates;
mod codec;
mod votes;

use std::sync::Arc;

use bytes::Bytes;
use commonware_codec::{Encode as _, types::lazy::Lazy};
use commonware_consensus::simplex::types::{Proposal, Subject};
use commonware_consensus::types::{Epoch, Round, View};
use commonware_cryptography::{
    Hasher as _, Sha256, Signer as _,
    certificate::{AssemblyError, Attestation, Scheme as _, Verifier as _},
    ed25519::PrivateKey,
    sha256::Digest,
};
use commonware_parallel::Sequential;
use commonware_utils::{TryCollect as _, iter::NonEmpty, ordered::Map, test_rng};
use mldsa_core::{MlDsa44, MlDsa65, MlDsa87, ParameterSet, SigningKey};

use crate::{Certificate, PublicKey, Scheme, Signature, Validators};

const NAMESPACE: &[u8] = b"tests/v1";

type Members<P> = Map<commonware_cryptography::ed25519::PublicKey, PublicKey<P>>;

fn key<P: ParameterSet>(n: u8) -> SigningKey<P> {
    SigningKey::from_seed(&[n; 32])
}

fn members<P: ParameterSet>(numbers: impl IntoIterator<Item = u8>) -> Members<P> {
    let identity = |n| PrivateKey::from_seed(u64::from(n)).public_key();
    numbers
        .into_iter()
        .map(|n| (identity(n), key::<P>(n).verifying_key().clone().into()))
        .try_collect()
        .expect("distinct identities")
}

/// Schemes of all members, in the order of the participants.
fn schemes<P: ParameterSet>(
    validators: Validators<P>,
    numbers: impl IntoIterator<Item = u8>,
) -> Vec<Scheme<P>> {
    let validators = Arc::new(validators);
    let mut schemes: Vec<_> = numbers
        .into_iter()
        .map(|n| Scheme::signer(validators.clone(), &key(n)).expect("a member"))
        .collect();
    schemes.sort_by_key(|scheme| scheme.me().map(|me| me.index()));
    schemes
}

fn chain<P: ParameterSet>(n: u8) -> Vec<Scheme<P>> {
    let validators = Validators::new(NAMESPACE, &members(0..n)).expect("validators");
    schemes(validators, 0..n)
}

fn proposal(epoch: u64, view: u64) -> Proposal<Digest> {
    let round = Round::new(Epoch::new(epoch), View::new(view));
    Proposal::new(round, View::new(view - 1), Sha256::hash(&[b"block"]))
}

fn notarize(proposal: &Proposal<Digest>) -> Subject<'_, Digest> {
    Subject::Notarize { proposal }
}

fn votes<P: ParameterSet>(
    schemes: &[Scheme<P>],
    subject: Subject<'_, Digest>,
) -> Vec<Attestation<Scheme<P>>> {
    let votes = schemes.iter().map(|scheme| scheme.sign(subject));
    votes.collect::<Option<_>>().expect("members sign")
}

fn certificate<P: ParameterSet>(
    schemes: &[Scheme<P>],
    subject: Subject<'_, Digest>,
) -> Certificate<P> {
    assemble(&schemes[0], votes(schemes, subject)).expect("a quorum")
}

fn assemble<P: ParameterSet>(
    scheme: &Scheme<P>,
    votes: Vec<Attestation<Scheme<P>>>,
) -> Result<Certificate<P>, AssemblyError> {
    let votes = NonEmpty::try_new(votes.into_iter()).expect("votes");
    scheme.assemble(votes, &Sequential)
}

fn accepts<P: ParameterSet>(
    scheme: &Scheme<P>,
    subject: Subject<'_, Digest>,
    certificate: &Certificate<P>,
) -> bool {
    scheme.verify_certificate::<_, Digest>(&mut test_rng(), subject, certificate, &Sequential)
}

/// The vote with a changed signature.
fn replaced<P: ParameterSet>(
    vote: &Attestation<Scheme<P>>,
    change: impl FnOnce(&mut Vec<u8>),
) -> Attestation<Scheme<P>> {
    let mut bytes = vote.signature.encode().to_vec();
    change(&mut bytes);
    let signature = Lazy::deferred(&mut Bytes::from(bytes), ());
    Attestation {
        signer: vote.signer,
        signature,
    }
}

fn forged<P: ParameterSet>(vote: &Attestation<Scheme<P>>) -> Attestation<Scheme<P>> {
    replaced(vote, |bytes| bytes[0] ^= 1)
}

/// The vote with an invalid hint encoding.
fn malformed<P: ParameterSet>(vote: &Attestation<Scheme<P>>) -> Attestation<Scheme<P>> {
    replaced(vote, |bytes| {
        let end = bytes.len() - 16;
        bytes[end..].fill(0xff);
    })
}

fn undecodable<P: ParameterSet>(vote: &Attestation<Scheme<P>>) -> Attestation<Scheme<P>> {
    replaced(vote, |bytes| bytes.truncate(P::SIG_LEN - 1))
}
