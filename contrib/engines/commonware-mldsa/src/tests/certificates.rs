//! Certificates and committees.

use commonware_utils::Participant;

use super::*;

#[test]
fn invalid_committees_are_rejected() {
    let error =
        |namespace: &[u8], members: &Members<MlDsa44>| Validators::new(namespace, members).err();
    assert!(error(NAMESPACE, &members([])).is_some(), "no members");
    let four = members(0..4);
    // "_NOTARIZE" and "_FINALIZE" take nine of 255 bytes.
    assert_eq!(error(&[7; 246], &four), None);
    assert!(error(&[7; 247], &four).is_some(), "a long namespace");
    let same = key::<MlDsa44>(0).verifying_key().clone();
    let twice = four.map_values_into(|_, _| PublicKey::from(same.clone()));
    assert!(error(NAMESPACE, &twice).is_some(), "a repeated key");
}

#[test]
fn certificates_need_a_quorum_of_distinct_members() {
    let schemes = chain::<MlDsa44>(7);
    let proposal = proposal(1, 1);
    let subject = notarize(&proposal);
    let votes = votes(&schemes, subject);
    let error = |votes| assemble(&schemes[0], votes).err();

    let four = error(votes[..4].to_vec());
    assert_eq!(four, Some(AssemblyError::InsufficientAttestations(5, 4)));
    let mut twice = votes[..5].to_vec();
    twice.push(votes[2].clone());
    let signer = votes[2].signer;
    assert_eq!(error(twice), Some(AssemblyError::DuplicateSigner(signer)));
    let mut unknown = votes.clone();
    unknown[0].signer = Participant::new(7);
    let signer = Participant::new(7);
    assert_eq!(error(unknown), Some(AssemblyError::UnknownSigner(signer)));
    let mut bad = votes.clone();
    bad[3] = undecodable(&votes[3]);
    let signer = votes[3].signer;
    assert_eq!(error(bad), Some(AssemblyError::MalformedSignature(signer)));

    let mut backwards = votes[..5].to_vec();
    backwards.reverse();
    let certificate = assemble(&schemes[0], backwards).expect("a quorum in any order");
    assert!(accepts(&schemes[6], subject, &certificate));
    // Assembling does not verify.
    let mut one_forged = votes[..5].to_vec();
    one_forged[4] = forged(&votes[4]);
    let certificate = assemble(&schemes[0], one_forged).expect("well formed");
    assert!(!accepts(&schemes[6], subject, &certificate));
}

#[test]
fn certificates_of_other_committees_are_rejected() {
    let schemes = chain::<MlDsa44>(7);
    let first = proposal(1, 1);
    let subject = notarize(&first);
    let certificate = certificate(&schemes, subject);
    let observer = |validators| Scheme::<MlDsa44>::observer(Arc::new(validators));
    assert!(accepts(&schemes[0], subject, &certificate));
    let finalize = Subject::Finalize { proposal: &first };
    assert!(!accepts(&schemes[0], finalize, &certificate));
    let second = proposal(2, 1);
    assert!(!accepts(&schemes[0], notarize(&second), &certificate));
    // Another member, one more, one fewer.
    for numbers in [
        vec![0, 1, 2, 3, 4, 5, 7],
        (0..8).collect(),
        (0..6).collect(),
    ] {
        let validators = Validators::new(NAMESPACE, &members(numbers)).expect("validators");
        assert!(!accepts(&observer(validators), subject, &certificate));
    }
    // Fewer signatures than a quorum.
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
fn next_epoch_has_its_own_certificates() {
    let first = Validators::new(NAMESPACE, &members::<MlDsa44>(0..7)).expect("validators");
    // 2 and 5 leave, 9 and 8 join.
    let numbers = [0, 1, 3, 4, 6, 9, 8];
    let second = first.next(&members(numbers)).expect("validators");
    let fresh = Validators::new(NAMESPACE, &members(numbers)).expect("validators");
    assert_eq!(second.participants(), fresh.participants());

    let old = schemes(first, 0..7);
    let new = schemes(second, numbers);
    let positions = schemes(fresh, numbers);
    let me = |scheme: &Scheme<MlDsa44>| scheme.me();
    assert!(new.iter().map(me).eq(positions.iter().map(me)));
    let (before, after) = (proposal(1, 5), proposal(2, 1));
    let certificate_before = certificate(&old, notarize(&before));
    assert!(accepts(&old[0], notarize(&before), &certificate_before));
    assert!(!accepts(&new[0], notarize(&before), &certificate_before));
    let certificate_after = certificate(&new, notarize(&after));
    assert!(accepts(&new[0], notarize(&after), &certificate_after));
    assert!(!accepts(&old[0], notarize(&after), &certificate_after));
}

#[test]
fn certificates_in_a_batch_have_the_same_verdicts() {
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
