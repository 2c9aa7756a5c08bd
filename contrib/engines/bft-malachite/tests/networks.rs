//! Small networks, each with one fault.

use bft_malachite::{Plan, run};
use mldsa_core::{MlDsa44, MlDsa65, MlDsa87};

fn plan() -> Plan {
    Plan {
        validators: 4,
        heights: 4,
        ..Plan::default()
    }
}

#[test]
fn every_parameter_set_decides() {
    run::<MlDsa44>(plan()).unwrap();
    run::<MlDsa65>(plan()).unwrap();
    run::<MlDsa87>(plan()).unwrap();
}

#[test]
fn wrong_signatures_are_rejected() {
    let result = run::<MlDsa44>(Plan {
        validators: 7,
        byzantine: 2,
        heights: 8,
        ..plan()
    });
    // The rounds of byzantine proposers fail.
    assert!(result.unwrap().failed_rounds > 0);
}

/// Members, order and voting power change every three heights, while votes of both epochs are in
/// flight and one validator has missed two epochs. `run` asserts that no honest vote is rejected and
/// that every decision has a quorum by voting power under the committee of its height.
#[test]
fn validator_set_with_unequal_stake_changes() {
    let result = run::<MlDsa44>(Plan {
        validators: 7,
        heights: 16,
        offline: 7,
        epoch_length: 3,
        ..plan()
    });
    // Some decisions have a quorum of voting power but not of members.
    let quorums = result.unwrap().quorums;
    let by_power = |[signers, members, ..]: &[u64; 4]| 3 * signers <= 2 * members;
    assert!(quorums.iter().any(by_power), "{quorums:?}");
}

#[test]
fn too_many_faults_are_rejected() {
    let plan = Plan {
        byzantine: 2,
        ..plan()
    };
    assert!(run::<MlDsa44>(plan).is_err());
}
