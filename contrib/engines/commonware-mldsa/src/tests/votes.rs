//! Signing and verification of votes.

use std::num::NonZeroUsize;

use commonware_parallel::Rayon;
use commonware_utils::Participant;
use proptest::prelude::*;

use super::*;
use crate::NotAMember;

fn verdicts_are_per_vote<P: ParameterSet>() {
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
    let rejected = votes[1..].iter().map(|vote| vote.signer);
    let rejected: Vec<Participant> = rejected.collect();

    let parallel = Rayon::new(NonZeroUsize::new(2).expect("two")).expect("threads start");
    let rng = &mut test_rng();
    let scheme = &schemes[0];
    for _ in 0..4 {
        let verified =
            scheme.verify_attestations::<_, Digest, _>(rng, finalize, votes.clone(), &parallel);
        assert_eq!(verified.verified, good[..1]);
        assert_eq!(verified.invalid, rejected);
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
        let valid = scheme.verify_attestation::<_, Digest>(rng, finalize, vote, &Sequential);
        assert_eq!(valid, n == 0, "vote {n}");
    }
}

#[test]
fn each_vote_has_a_verdict() {
    verdicts_are_per_vote::<MlDsa44>();
    verdicts_are_per_vote::<MlDsa65>();
    verdicts_are_per_vote::<MlDsa87>();
}

#[test]
fn large_batch_runs_on_the_pool_of_the_engine() {
    let schemes = chain::<MlDsa44>(40);
    let proposal = proposal(1, 1);
    let good = votes(&schemes, notarize(&proposal));
    let parallel = Rayon::new(NonZeroUsize::new(2).expect("two")).expect("threads start");
    // The strategy alternates between serial and parallel execution.
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
fn signatures_are_deterministic() {
    let schemes = chain::<MlDsa65>(4);
    let round = Round::new(Epoch::new(1), View::new(9));
    let nullify: Subject<'_, Digest> = Subject::Nullify { round };
    assert_eq!(schemes[2].sign(nullify), schemes[2].sign(nullify));
    let observer = Scheme::observer(schemes[2].validators().clone());
    assert_eq!(observer.sign(nullify), None);
    assert_eq!(observer.me(), None);
}

#[test]
fn key_outside_of_the_committee_is_rejected() {
    let validators = Validators::new(NAMESPACE, &members::<MlDsa44>(0..4)).expect("validators");
    let scheme = Scheme::signer(Arc::new(validators), &key(4));
    assert_eq!(scheme.err(), Some(NotAMember));
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
    let other_chain = Validators::new(b"tests/v2", &members(0..4)).expect("validators");
    let other_chain = Scheme::observer(Arc::new(other_chain));
    assert!(!valid(&other_chain, notarize(&first)));
}

proptest! {
    #[test]
    fn changed_byte_is_rejected(place in 0..MlDsa44::SIG_LEN, change in 1..=u8::MAX) {
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
