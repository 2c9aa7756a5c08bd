//! Small sessions, and multisignatures, which a session without forks does not contain.

use aleph_bft::{Keychain as _, MultiKeychain as _, NodeIndex, PartialMultisignature as _};
use bft_alephbft::{Keys, Plan, Validators, run};
use harness::{hang_limit, signing_key};
use mldsa_core::{MlDsa44, MlDsa87, SigningKey};

fn plan(byzantine: usize) -> Plan {
    Plan {
        members: 4,
        items: 3,
        byzantine,
        limit: hang_limit(),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn honest_members_finalise_one_order() {
    let session = run::<MlDsa44>(plan(0)).await.unwrap();
    assert_eq!(session.order.len(), 12);
    let session = run::<MlDsa87>(plan(0)).await.unwrap();
    assert_eq!(session.order.len(), 12);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn byzantine_members_are_ignored() {
    let session = run::<MlDsa44>(plan(1)).await.unwrap();
    assert_eq!(session.order.len(), 9);
    assert!(session.rejected > 0);
    assert!(run::<MlDsa44>(plan(2)).await.is_err());
}

#[test]
fn multisignatures_need_a_quorum_of_valid_signatures() {
    let keys: Vec<SigningKey<MlDsa44>> = (0..4).map(signing_key).collect();
    let validators = Validators::new(&keys);
    let chains: Vec<_> = (0..4)
        .map(|n| Keys::new(n, &keys[n], validators.clone(), n == 3))
        .collect();
    let signatures: Vec<_> = chains.iter().map(|chain| chain.sign(b"alert")).collect();
    let chain = &chains[0];
    let of = |members: &[usize]| {
        let first = chain.bootstrap_multi(&signatures[members[0]], NodeIndex(members[0]));
        members[1..].iter().fold(first, |partial, &n| {
            partial.add_signature(&signatures[n], NodeIndex(n))
        })
    };
    assert!(!chain.is_complete(b"alert", &of(&[0, 1])), "too few");
    assert!(chain.is_complete(b"alert", &of(&[0, 1, 2])));
    assert!(
        !chain.is_complete(b"alert", &of(&[0, 1, 3])),
        "one is wrong"
    );
    assert!(
        !chain.is_complete(b"alert", &of(&[0, 1, 2, 3])),
        "one is wrong"
    );
    assert!(!chain.is_complete(b"another", &of(&[0, 1, 2])));
    // Unknown index, wrong lengths.
    assert!(!chain.verify(b"alert", &signatures[0], NodeIndex(4)));
    assert!(!chain.verify(b"alert", &signatures[0], NodeIndex(usize::MAX)));
    assert!(!chain.verify(b"alert", &signatures[0][1..].to_vec(), NodeIndex(0)));
    assert!(!chain.verify(b"alert", &vec![0; 1 << 20], NodeIndex(0)));
    assert!(chain.verify(b"alert", &signatures[0], NodeIndex(0)));
}
