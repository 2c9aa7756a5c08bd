//! Small sessions, and the multisignatures that a quiet session never makes.

use std::sync::Arc;
use std::time::Duration;

use aleph_bft::{Keychain as _, MultiKeychain as _, NodeIndex, PartialMultisignature as _};
use bft_alephbft::{Committee, Keys, Plan, run};
use measure::{How, Meter};
use mldsa_core::{MlDsa44, MlDsa87, SigningKey};

const WAYS: [How; 3] = [How::OneByOne, How::Cold, How::AwsLc];

const PLAN: Plan = Plan {
    members: 4,
    items: 3,
    spoil: 0,
    limit: Duration::from_secs(60),
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everybody_finalises_the_same_order() {
    for how in WAYS {
        assert_eq!(run::<MlDsa44>(PLAN, how).await.unwrap().order.len(), 12);
    }
    assert_eq!(
        run::<MlDsa87>(PLAN, How::OneByOne)
            .await
            .unwrap()
            .order
            .len(),
        12
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_signs_wrongly_is_ignored() {
    let plan = Plan { spoil: 1, ..PLAN };
    for how in WAYS {
        let run = run::<MlDsa44>(plan, how).await.unwrap();
        assert_eq!(run.order.len(), 9);
        assert!(run.row.invalid > 0);
    }
    let plan = Plan { spoil: 2, ..PLAN };
    assert!(run::<MlDsa44>(plan, How::OneByOne).await.is_err());
}

#[test]
fn multisignatures_are_complete_with_a_quorum_of_valid_ones() {
    for how in WAYS {
        let keys: Vec<_> = (1..=4)
            .map(|n| SigningKey::<MlDsa44>::from_seed(&[n; 32]))
            .collect();
        let committee = Committee::new(&keys, how, Arc::new(Meter::default()));
        let chains: Vec<_> = (0..4)
            .map(|n| Keys::new(n, &keys[n], committee.clone(), n == 3))
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
        // Nobody, too short, too long.
        assert!(!chain.verify(b"alert", &signatures[0], NodeIndex(4)));
        assert!(!chain.verify(b"alert", &signatures[0], NodeIndex(usize::MAX)));
        assert!(!chain.verify(b"alert", &signatures[0][1..].to_vec(), NodeIndex(0)));
        assert!(!chain.verify(b"alert", &vec![0; 1 << 20], NodeIndex(0)));
        assert!(chain.verify(b"alert", &signatures[0], NodeIndex(0)));
    }
}
