//! Small networks, each with one fault, with every strategy.

use bft_malachite::{Forgery, Plan, Rejections, Run, STRATEGIES, run};
use harness::Strategy;
use mldsa_core::{MlDsa44, MlDsa65, MlDsa87, ParameterSet};

fn plan() -> Plan {
    Plan {
        validators: 4,
        heights: 4,
        ..Plan::default()
    }
}

/// Runs the plan with every strategy and compares the decisions.
fn run_all<P: ParameterSet>(plan: Plan) -> Vec<Run> {
    let run = |strategy: &Strategy| run::<P>(plan, *strategy).unwrap();
    let runs: Vec<Run> = STRATEGIES.iter().map(run).collect();
    assert!(runs.iter().all(|run| run.decided == runs[0].decided));
    runs
}

#[test]
fn every_parameter_set_decides() {
    run_all::<MlDsa44>(plan());
    run_all::<MlDsa65>(plan());
    run_all::<MlDsa87>(plan());
}

#[test]
fn wrong_signatures_are_rejected() {
    run_all::<MlDsa44>(Plan {
        byzantine: 1,
        heights: 6,
        ..plan()
    });
    let runs = run_all::<MlDsa44>(Plan {
        validators: 7,
        byzantine: 2,
        heights: 8,
        ..plan()
    });
    // The rounds of byzantine proposers fail.
    assert!(runs[0].failed_rounds > 0);
}

#[test]
fn replays_and_forgeries_have_no_effect() {
    let runs = run_all::<MlDsa44>(Plan {
        forgeries_per_vote: 14,
        ..plan()
    });
    assert_eq!(runs[0].decided, run_all::<MlDsa44>(plan())[0].decided);
    // Every validator received every kind and rejected it for the expected reason.
    let run = &runs[0];
    for (delivered, rejections) in run.delivered.iter().zip(&run.rejections) {
        for forgery in Forgery::ALL {
            let peer = forgery.peer(plan().validators);
            assert!(delivered[&peer] > 0, "{forgery:?}");
            let reasons = rejections.by_peer.keys().filter(|(by, _)| *by == peer);
            let reasons: Vec<_> = reasons.map(|(_, reason)| *reason).collect();
            assert_eq!(reasons, Vec::from_iter(forgery.reason()), "{forgery:?}");
        }
    }
}

#[test]
fn failed_rounds_are_proven_by_certificates() {
    run_all::<MlDsa44>(Plan {
        drop_quorum: 2,
        ..plan()
    });
    run_all::<MlDsa44>(Plan {
        drop_quorum: 3,
        validators: 10,
        heights: 6,
        ..plan()
    });
}

#[test]
fn disconnected_validator_catches_up_from_certificates() {
    run_all::<MlDsa44>(Plan {
        offline: 3,
        heights: 8,
        ..plan()
    });
}

/// Members, order and voting power change every three heights, while votes of both epochs are in
/// flight and one validator has missed two epochs. `run` asserts that no honest vote is rejected and
/// that every decision has a quorum by voting power under the committee of its height.
#[test]
fn validator_set_with_unequal_stake_changes() {
    let runs = run_all::<MlDsa44>(Plan {
        validators: 7,
        heights: 16,
        offline: 7,
        epoch_length: 3,
        ..plan()
    });
    for run in &runs {
        // Some decisions have a quorum of voting power but not of members.
        let by_power = |[signers, members, ..]: &&[u64; 4]| 3 * signers <= 2 * members;
        assert!(
            run.quorums.iter().any(|q| by_power(&q)),
            "{:?}",
            run.quorums
        );
    }
    // Votes of decided heights arrived later, across epochs, and were not held against the sender.
    let late = runs[0]
        .rejections
        .iter()
        .flat_map(|r| r.unverified.values());
    assert!(late.sum::<u64>() > 0);
    // The queue of the service verified them, or said that their epoch is over.
    let sum = |of: fn(&Rejections) -> u64| runs[0].rejections.iter().map(of).sum::<u64>();
    assert!(sum(|r| r.late_valid) > 0 && sum(|r| r.other_epoch) > 0);
}

#[test]
fn validator_set_changes_under_forgeries_and_wrong_signatures() {
    run_all::<MlDsa44>(Plan {
        validators: 13,
        heights: 10,
        byzantine: 1,
        forgeries_per_vote: 7,
        epoch_length: 2,
        ..plan()
    });
}

#[test]
fn too_many_faults_are_rejected() {
    let plan = Plan {
        byzantine: 2,
        ..plan()
    };
    assert!(run::<MlDsa44>(plan, Strategy::Batched).is_err());
}
