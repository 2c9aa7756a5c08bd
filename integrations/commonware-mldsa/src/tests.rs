//! Votes and certificates as an engine, and a hostile peer, hand them over.

use std::num::NonZeroUsize;
use std::sync::Arc;

use batch_verify::SignerId;
use bytes::{BufMut, Bytes};
use commonware_codec::{Copying, Decode as _, DecodeExt as _, Encode as _, Error, FixedSize as _};
use commonware_consensus::simplex::types::{Proposal, Subject};
use commonware_consensus::types::{Epoch, Round, View};
use commonware_cryptography::{
    Hasher as _, Sha256, Signer as _,
    certificate::{AssemblyError, Attestation, Scheme as _, Verifier as _},
    ed25519::PrivateKey,
    sha256::Digest,
};
use commonware_parallel::{Rayon, Sequential};
use commonware_utils::{Participant, TryCollect as _, iter::NonEmpty, ordered::Map, test_rng};
use mldsa_core::{
    Context, MlDsa44, MlDsa65, MlDsa87, ParameterSet, PreparedSigningKey, SigningKey, VerifyError,
};
use proptest::prelude::*;

use crate::{
    Certificate, Committee, CommitteeError, NotAMember, Operation, Prepared, PublicKey, Scheme,
    Signature, VoteBackend,
};

const NAMESPACE: &[u8] = b"tests/v1";

type Members<P> = Map<commonware_cryptography::ed25519::PublicKey, PublicKey<P>>;

fn key<P: ParameterSet>(n: u8) -> SigningKey<P> {
    SigningKey::from_seed(&[n; 32])
}

fn members<P: ParameterSet>(who: impl IntoIterator<Item = u8>) -> Members<P> {
    let identity = |n| PrivateKey::from_seed(u64::from(n)).public_key();
    who.into_iter()
        .map(|n| (identity(n), key::<P>(n).verifying_key().clone().into()))
        .try_collect()
        .expect("distinct identities")
}

/// The schemes of all members, in the order of the committee.
fn schemes<P: ParameterSet>(
    committee: Committee<P>,
    who: impl IntoIterator<Item = u8>,
) -> Vec<Scheme<P>> {
    let committee = Arc::new(committee);
    let mut schemes: Vec<_> = who
        .into_iter()
        .map(|n| Scheme::signer(committee.clone(), &key(n)).expect("a member"))
        .collect();
    schemes.sort_by_key(|scheme| scheme.me().map(|me| me.index()));
    schemes
}

fn chain<P: ParameterSet>(n: u8) -> Vec<Scheme<P>> {
    let committee = Committee::new(NAMESPACE, &members(0..n)).expect("a committee");
    schemes(committee, 0..n)
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

/// The vote with another signature.
fn replaced<P: ParameterSet>(
    vote: &Attestation<Scheme<P>>,
    change: impl FnOnce(&mut Vec<u8>),
) -> Attestation<Scheme<P>> {
    let mut bytes = vote.signature.encode().to_vec();
    change(&mut bytes);
    let signature = commonware_codec::types::lazy::Lazy::deferred(&mut Bytes::from(bytes), ());
    Attestation {
        signer: vote.signer,
        signature,
    }
}

fn forged<P: ParameterSet>(vote: &Attestation<Scheme<P>>) -> Attestation<Scheme<P>> {
    replaced(vote, |bytes| bytes[0] ^= 1)
}

/// All ones in the hints: no signature has that form.
fn malformed<P: ParameterSet>(vote: &Attestation<Scheme<P>>) -> Attestation<Scheme<P>> {
    replaced(vote, |bytes| {
        let end = bytes.len() - 16;
        bytes[end..].fill(0xff);
    })
}

fn undecodable<P: ParameterSet>(vote: &Attestation<Scheme<P>>) -> Attestation<Scheme<P>> {
    replaced(vote, |bytes| bytes.truncate(P::SIG_LEN - 1))
}

fn every_vote_counts<P: ParameterSet>() {
    let schemes = chain::<P>(8);
    let proposal = proposal(1, 3);
    let finalize = Subject::Finalize {
        proposal: &proposal,
    };
    let good = votes(&schemes, finalize);
    let mut votes = good.clone();
    votes[1] = forged(&good[1]);
    votes[2] = undecodable(&good[2]);
    votes[3].signer = Participant::new(4);
    votes[4] = schemes[4].sign(notarize(&proposal)).expect("signs");
    votes[5].signer = Participant::new(8);
    votes[6].signer = Participant::new(u32::MAX);
    votes[7] = malformed(&good[7]);
    let refused = votes[1..].iter().map(|vote| vote.signer);
    let refused: Vec<Participant> = refused.collect();

    let parallel = Rayon::new(NonZeroUsize::new(2).expect("two")).expect("threads start");
    let rng = &mut test_rng();
    let scheme = &schemes[0];
    for _ in 0..4 {
        let verified =
            scheme.verify_attestations::<_, Digest, _>(rng, finalize, votes.clone(), &parallel);
        assert_eq!(verified.verified, good[..1]);
        assert_eq!(verified.invalid, refused);
    }
    let verified =
        scheme.verify_attestations::<_, Digest, _>(rng, finalize, good.clone(), &Sequential);
    assert_eq!(
        (verified.verified, verified.invalid),
        (good.clone(), vec![])
    );
    let verified = scheme.verify_attestations::<_, Digest, _>(rng, finalize, [], &Sequential);
    assert!(verified.verified.is_empty() && verified.invalid.is_empty());
    for (n, vote) in votes.iter().enumerate() {
        let alone = scheme.verify_attestation::<_, Digest>(rng, finalize, vote, &Sequential);
        assert_eq!(alone, n == 0, "vote {n}");
    }
}

#[test]
fn each_vote_has_its_own_verdict() {
    every_vote_counts::<MlDsa44>();
    every_vote_counts::<MlDsa65>();
    every_vote_counts::<MlDsa87>();
}

#[test]
fn a_large_batch_runs_on_the_engines_workers() {
    let schemes = chain::<MlDsa44>(40);
    let proposal = proposal(1, 1);
    let good = votes(&schemes, notarize(&proposal));
    let parallel = Rayon::new(NonZeroUsize::new(2).expect("two")).expect("threads start");
    // Often enough for the strategy to try both ways.
    for round in 0..12 {
        let mut votes = good.clone();
        votes[round * 3] = forged(&votes[round * 3]);
        let verified = schemes[0].verify_attestations::<_, Digest, _>(
            &mut test_rng(),
            notarize(&proposal),
            votes,
            &parallel,
        );
        assert_eq!(verified.verified.len(), 39);
        assert_eq!(verified.invalid, [good[round * 3].signer]);
    }
}

#[test]
fn signing_again_gives_the_same_bytes() {
    let schemes = chain::<MlDsa65>(4);
    let round = Round::new(Epoch::new(1), View::new(9));
    let nullify: Subject<'_, Digest> = Subject::Nullify { round };
    assert_eq!(schemes[2].sign(nullify), schemes[2].sign(nullify));
    let observer = Scheme::observer(schemes[2].committee().clone());
    assert_eq!(observer.sign(nullify), None);
    assert_eq!(observer.me(), None);
}

#[test]
fn a_key_outside_the_committee_is_refused() {
    let committee = Committee::new(NAMESPACE, &members::<MlDsa44>(0..4)).expect("a committee");
    let scheme = Scheme::signer(Arc::new(committee), &key(4));
    assert_eq!(scheme.err(), Some(NotAMember));
}

#[test]
fn committees_that_cannot_be() {
    let refused =
        |namespace: &[u8], members: &Members<MlDsa44>| Committee::new(namespace, members).err();
    let empty = members::<MlDsa44>([]);
    assert_eq!(refused(NAMESPACE, &empty), Some(CommitteeError::Empty));
    let four = members(0..4);
    // "_NOTARIZE" and "_FINALIZE" take nine of 255 bytes.
    assert_eq!(refused(&[7; 246], &four), None);
    let long = refused(&[7; 247], &four);
    assert!(
        matches!(long, Some(CommitteeError::Namespace(_))),
        "{long:?}"
    );
    let same = key::<MlDsa44>(0).verifying_key().clone();
    let twice = four.map_values_into(|_, _| PublicKey::from(same.clone()));
    let twice = refused(NAMESPACE, &twice);
    assert!(matches!(twice, Some(CommitteeError::Keys(_))), "{twice:?}");
}

/// What a fault in the computation would do.
#[derive(Clone, Debug)]
struct Faulty;

impl VoteBackend<MlDsa44> for Faulty {
    fn sign(
        &self,
        key: &PreparedSigningKey<MlDsa44>,
        context: Context<'_>,
        message: &[u8],
    ) -> Option<Signature<MlDsa44>> {
        let mut bytes = VoteBackend::sign(&Prepared, key, context, message)?
            .encode()
            .to_vec();
        bytes[0] ^= 1;
        Signature::decode(Bytes::from(bytes)).ok()
    }
}

#[test]
fn a_spoiled_signature_does_not_leave() {
    let scheme = chain::<MlDsa44>(4).remove(0);
    let proposal = proposal(1, 1);
    assert!(scheme.sign(notarize(&proposal)).is_some());
    let faulty = scheme.with_backend(Faulty);
    assert_eq!(faulty.sign(notarize(&proposal)), None);
}

#[test]
fn votes_are_bound_to_chain_kind_and_round() {
    let schemes = chain::<MlDsa44>(4);
    let first = proposal(1, 3);
    let vote = schemes[1].sign(notarize(&first)).expect("signs");
    let valid = |scheme: &Scheme<MlDsa44>, subject: Subject<'_, Digest>| {
        scheme.verify_attestation::<_, Digest>(&mut test_rng(), subject, &vote, &Sequential)
    };
    assert!(valid(&schemes[0], notarize(&first)));
    let finalize = Subject::Finalize { proposal: &first };
    assert!(!valid(&schemes[0], finalize));
    for other in [proposal(1, 4), proposal(2, 3)] {
        assert!(!valid(&schemes[0], notarize(&other)));
    }
    let elsewhere = Committee::new(b"tests/v2", &members(0..4)).expect("a committee");
    let elsewhere = Scheme::observer(Arc::new(elsewhere));
    assert!(!valid(&elsewhere, notarize(&first)));
}

#[test]
fn certificates_need_a_quorum_of_distinct_members() {
    let schemes = chain::<MlDsa44>(7);
    let proposal = proposal(1, 1);
    let subject = notarize(&proposal);
    let votes = votes(&schemes, subject);
    let refused = |votes| assemble(&schemes[0], votes).err();

    let four = refused(votes[..4].to_vec());
    assert_eq!(four, Some(AssemblyError::InsufficientAttestations(5, 4)));
    let mut twice = votes[..5].to_vec();
    twice.push(votes[2].clone());
    let signer = votes[2].signer;
    assert_eq!(refused(twice), Some(AssemblyError::DuplicateSigner(signer)));
    let mut stranger = votes.clone();
    stranger[0].signer = Participant::new(7);
    let signer = Participant::new(7);
    assert_eq!(
        refused(stranger),
        Some(AssemblyError::UnknownSigner(signer))
    );
    let mut bad = votes.clone();
    bad[3] = undecodable(&votes[3]);
    let signer = votes[3].signer;
    assert_eq!(
        refused(bad),
        Some(AssemblyError::MalformedSignature(signer))
    );

    let mut backwards = votes[..5].to_vec();
    backwards.reverse();
    let certificate = assemble(&schemes[0], backwards).expect("a quorum in any order");
    assert!(accepts(&schemes[6], subject, &certificate));
    // Assembling judges nothing; verifying does.
    let mut one_forged = votes[..5].to_vec();
    one_forged[4] = forged(&votes[4]);
    let certificate = assemble(&schemes[0], one_forged).expect("a form");
    assert!(!accepts(&schemes[6], subject, &certificate));
}

#[test]
fn certificates_of_others_are_refused() {
    let schemes = chain::<MlDsa44>(7);
    let first = proposal(1, 1);
    let subject = notarize(&first);
    let certificate = certificate(&schemes, subject);
    let observer = |committee| Scheme::<MlDsa44>::observer(Arc::new(committee));
    assert!(accepts(&schemes[0], subject, &certificate));
    let finalize = Subject::Finalize { proposal: &first };
    assert!(!accepts(&schemes[0], finalize, &certificate));
    let second = proposal(2, 1);
    assert!(!accepts(&schemes[0], notarize(&second), &certificate));
    // As many members, one of them another; more members; fewer.
    for who in [
        vec![0, 1, 2, 3, 4, 5, 7],
        (0..8).collect(),
        (0..6).collect(),
    ] {
        let committee = Committee::new(NAMESPACE, &members(who)).expect("a committee");
        assert!(!accepts(&observer(committee), subject, &certificate));
    }
    // A certificate that leaves out those who make it a quorum.
    let few = Certificate {
        signers: commonware_cryptography::certificate::Signers::new(
            7,
            (0..4).map(Participant::new),
        )
        .expect("distinct"),
        signatures: certificate.signatures[..4].to_vec(),
    };
    assert!(!accepts(&schemes[0], subject, &few));
}

#[test]
fn the_next_epoch_keeps_who_stays() {
    let first = Committee::new(NAMESPACE, &members::<MlDsa44>(0..7)).expect("a committee");
    // 2 and 5 leave, 9 and 8 join.
    let who = [0, 1, 3, 4, 6, 9, 8];
    let second = first.next(&members(who)).expect("a committee");
    let fresh = Committee::new(NAMESPACE, &members(who)).expect("a committee");
    assert_eq!(second.keys(), fresh.keys());
    assert_eq!(second.participants(), fresh.participants());

    // The same by hand: who leaves, who joins, and the order of the identities.
    let signer = |n| {
        first
            .keys()
            .signer_of(key::<MlDsa44>(n).verifying_key().as_ref())
    };
    let joining: Vec<SigningKey<MlDsa44>> = [9, 8].map(key).into();
    let changed = first.keys().with_changes(
        joining.iter().map(SigningKey::verifying_key),
        [2, 5].map(|n| signer(n).expect("a member")),
    );
    let changed = changed.expect("distinct keys");
    let order: Vec<SignerId> = (0..7)
        .map(|n| second.keys().key(SignerId::new(n)).expect("seven members"))
        .map(|key| changed.signer_of(key.as_ref()).expect("a member"))
        .collect();
    assert_eq!(changed.reordered(&order).as_ref(), Ok(second.keys()));

    let old = schemes(first, 0..7);
    let new = schemes(second, who);
    let (before, after) = (proposal(1, 5), proposal(2, 1));
    let certificate_before = certificate(&old, notarize(&before));
    assert!(accepts(&old[0], notarize(&before), &certificate_before));
    assert!(!accepts(&new[0], notarize(&before), &certificate_before));
    let certificate_after = certificate(&new, notarize(&after));
    assert!(accepts(&new[0], notarize(&after), &certificate_after));
    assert!(!accepts(&old[0], notarize(&after), &certificate_after));
}

#[test]
fn many_certificates_are_judged_as_one_by_one() {
    let schemes = chain::<MlDsa44>(7);
    let proposals: Vec<_> = (1..6).map(|view| proposal(1, view)).collect();
    let mut certificates: Vec<_> = proposals
        .iter()
        .map(|proposal| certificate(&schemes, notarize(proposal)))
        .collect();
    let bad = forged(&votes(&schemes[2..3], notarize(&proposals[1]))[0]);
    certificates[1].signatures[2] = bad.signature;
    let bad = undecodable(&votes(&schemes[..1], notarize(&proposals[2]))[0]);
    certificates[2].signatures[0] = bad.signature;
    certificates[4].signatures.pop();
    let pairs: Vec<_> = proposals.iter().map(notarize).zip(&certificates).collect();

    let (scheme, rng) = (&schemes[6], &mut test_rng());
    let together = scheme.verify_certificates_bisect::<_, Digest>(rng, &pairs, &Sequential);
    let alone: Vec<bool> = pairs
        .iter()
        .map(|(subject, certificate)| accepts(scheme, *subject, certificate))
        .collect();
    assert_eq!(together, [true, false, false, true, false]);
    assert_eq!(together, alone);
    let mut all = |pairs: &[_]| {
        let pairs = NonEmpty::try_new(pairs.iter().copied()).expect("pairs");
        scheme.verify_certificates::<_, Digest, _>(rng, pairs, &Sequential)
    };
    assert!(!all(&pairs));
    assert!(all(&pairs[..1]));
    assert!(
        scheme
            .verify_certificates_bisect::<_, Digest>(&mut test_rng(), &[], &Sequential)
            .is_empty()
    );
}

fn forms<P: ParameterSet>() {
    let schemes = chain::<P>(4);
    let proposal = proposal(1, 1);
    let vote = votes(&schemes[..1], notarize(&proposal)).remove(0);
    let bytes = vote.signature.encode();
    assert_eq!(bytes.len(), Signature::<P>::SIZE);
    assert_eq!(Signature::<P>::SIZE, P::SIG_LEN);
    let signature = Signature::<P>::decode(bytes.clone()).expect("a signature");
    assert_eq!(Some(&signature), vote.signature.get());
    assert_eq!(signature.encode(), bytes);

    let public: PublicKey<P> = key::<P>(0).verifying_key().clone().into();
    assert_eq!(PublicKey::<P>::SIZE, P::PK_LEN);
    let read = PublicKey::<P>::decode(public.encode());
    assert_eq!(read.expect("a key"), public);

    for len in [0, 1, P::SIG_LEN - 1] {
        let short = Signature::<P>::decode(bytes.slice(..len));
        assert!(matches!(short, Err(Error::EndOfBuffer)), "{len}");
    }
    for len in [0, 31, P::PK_LEN - 1] {
        let short = PublicKey::<P>::decode(public.encode().slice(..len));
        assert!(matches!(short, Err(Error::EndOfBuffer)), "{len}");
    }
    let mut long = bytes.to_vec();
    long.push(0);
    let long = Signature::<P>::decode(Bytes::from(long));
    assert!(matches!(long, Err(Error::ExtraData(1))));
    assert!(mldsa_core::Signature::<P>::try_from(&signature).is_ok());
    let malformed = Signature::<P>::decode(malformed(&vote).signature.encode());
    let malformed = mldsa_core::Signature::<P>::try_from(&malformed.expect("its length"));
    assert_eq!(malformed.err(), Some(VerifyError::HintEncoding));

    // A certificate by all is as large as one can be, and its size is known beforehand.
    let certificate = certificate(&schemes, notarize(&proposal));
    let encoded = certificate.encode();
    assert!(encoded.len() <= Certificate::<P>::max_size(4));
    assert!(Certificate::<P>::max_size(4) < encoded.len() + 5);
    let decoded = Certificate::<P>::decode_cfg(encoded.clone(), &4);
    assert_eq!(decoded.expect("a certificate"), certificate);
    assert!(Certificate::<P>::decode_cfg(encoded.clone(), &3).is_err());
    for len in [0, 1, 8, 9, 10, encoded.len() - 1] {
        assert!(Certificate::<P>::decode_cfg(encoded.slice(..len), &4).is_err());
    }
}

#[test]
fn encodings_have_their_lengths_and_no_others() {
    forms::<MlDsa44>();
    forms::<MlDsa65>();
    forms::<MlDsa87>();
}

#[test]
fn a_claimed_length_allocates_nothing() {
    // A bitmap of nobody but one, and four thousand million signatures that are not there.
    let signers = commonware_cryptography::certificate::Signers::new(4, [Participant::new(0)]);
    let mut bytes = signers.expect("one").encode().to_vec();
    bytes.put_slice(&[0xff, 0xff, 0xff, 0xff, 0x0f]);
    let read = Certificate::<MlDsa44>::decode_cfg(Bytes::from(bytes), &(u32::MAX as usize));
    assert!(matches!(read, Err(Error::EndOfBuffer)), "{read:?}");
    // A bitmap of four thousand million members in nine bytes.
    let mut bytes = vec![0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff];
    bytes.push(1);
    let read = Certificate::<MlDsa44>::decode_cfg(Bytes::from(bytes), &(u32::MAX as usize));
    assert!(matches!(read, Err(Error::EndOfBuffer)), "{read:?}");
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..3_000)) {
        let signature = Signature::<MlDsa44>::decode(Copying(&bytes));
        prop_assert_eq!(signature.is_ok(), bytes.len() == MlDsa44::SIG_LEN);
        let public = PublicKey::<MlDsa44>::decode(Copying(&bytes));
        prop_assert_eq!(public.is_ok(), bytes.len() == MlDsa44::PK_LEN);
        if let Ok(read) = Certificate::<MlDsa44>::decode_cfg(Copying(&bytes), &100) {
            prop_assert_eq!(read.encode(), bytes);
        }
    }

    #[test]
    fn a_changed_byte_is_noticed(place in 0..MlDsa44::SIG_LEN, change in 1..=u8::MAX) {
        let scheme = chain::<MlDsa44>(1).remove(0);
        let proposal = proposal(1, 1);
        let vote = scheme.sign(notarize(&proposal)).expect("signs");
        let vote = replaced(&vote, |bytes| bytes[place] ^= change);
        let valid = scheme.verify_attestation::<_, Digest>(
            &mut test_rng(), notarize(&proposal), &vote, &Sequential,
        );
        prop_assert!(!valid);
    }
}

/// What the engine is asked while a vote is signed and verified.
#[test]
fn work_is_named() {
    #[derive(Clone, Debug, Default)]
    struct Named(Arc<std::sync::Mutex<Vec<Operation>>>);
    impl VoteBackend<MlDsa44> for Named {
        fn instrument<R>(&self, work: Operation, call: impl FnOnce() -> R) -> R {
            self.0.lock().expect("no panic").push(work);
            call()
        }
    }
    let named = Named::default();
    let scheme = chain::<MlDsa44>(1).remove(0).with_backend(named.clone());
    let proposal = proposal(1, 1);
    let vote = scheme.sign(notarize(&proposal)).expect("signs");
    let certificate = scheme.optimistic_assemble::<_, Digest, _, _>(
        &mut test_rng(),
        notarize(&proposal),
        [vote],
        [],
        &Sequential,
    );
    let certificate = certificate.ok().expect("a quorum of one");
    let subject = notarize(&proposal);
    let rng = &mut test_rng();
    assert!(scheme.verify_certificate::<_, Digest>(rng, subject, &certificate, &Sequential));
    let works = named.0.lock().expect("no panic");
    assert_eq!(
        *works,
        [
            Operation::Sign,
            Operation::VerifyVotes,
            Operation::VerifyCertificates
        ]
    );
}
