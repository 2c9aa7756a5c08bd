//! Small networks, each with one thing that goes wrong, on every way to verify.

use bft_malachite::{Attack, Mode, Plan, Run, run};
use clap::ValueEnum;
use mldsa_core::{MlDsa44, MlDsa65, MlDsa87, ParameterSet};

const QUIET: Plan = Plan {
    validators: 4,
    heights: 4,
    byzantine: 0,
    forgeries_per_vote: 0,
    drop_quorum: 0,
    offline: 0,
};

/// Runs the plan all ways: the same decisions, and everything that was planned.
fn all_ways<P: ParameterSet>(plan: Plan) -> Vec<Run> {
    let runs: Vec<Run> = Mode::value_variants()
        .iter()
        .map(|&way| {
            let result = run::<P>(plan, way).unwrap();
            result.check(&plan, way).unwrap();
            result
        })
        .collect();
    assert!(runs.iter().all(|run| run.decided == runs[0].decided));
    runs
}

#[test]
fn every_parameter_set_decides() {
    all_ways::<MlDsa44>(QUIET);
    all_ways::<MlDsa65>(QUIET);
    all_ways::<MlDsa87>(QUIET);
}

#[test]
fn wrong_signatures_are_refused_and_the_others_decide() {
    all_ways::<MlDsa44>(Plan {
        byzantine: 1,
        heights: 6,
        ..QUIET
    });
    let plan = Plan {
        validators: 7,
        byzantine: 2,
        heights: 8,
        ..QUIET
    };
    // A proposer whose proposals nobody believes has a turn, and loses it.
    assert!(all_ways::<MlDsa44>(plan)[0].rounds > 0);
}

#[test]
fn replays_and_forgeries_change_nothing() {
    let runs = all_ways::<MlDsa44>(Plan {
        forgeries_per_vote: 14,
        ..QUIET
    });
    assert_eq!(runs[0].decided, all_ways::<MlDsa44>(QUIET)[0].decided);
    // All kinds were sent to everybody, and each was refused for what it is.
    for run in &runs[..2] {
        for (sent, refused) in run.sent.iter().zip(&run.refused) {
            for attack in Attack::ALL {
                let peer = attack.peer(QUIET.validators);
                let of = |(who, _): &&(u64, _)| *who == peer;
                assert!(sent[&peer] > 0, "{attack:?}");
                let late = refused.late.get(&peer).unwrap_or(&0);
                match attack.reason() {
                    Some(reason) => {
                        assert_eq!(refused.by_peer[&(peer, reason)] + late, sent[&peer]);
                        assert_eq!(refused.by_peer.keys().filter(of).count(), 1);
                    }
                    None => assert_eq!(refused.by_peer.keys().find(of), None),
                }
            }
        }
    }
}

#[test]
fn failed_rounds_are_proven_by_certificates() {
    all_ways::<MlDsa44>(Plan {
        drop_quorum: 2,
        ..QUIET
    });
    all_ways::<MlDsa44>(Plan {
        drop_quorum: 3,
        validators: 10,
        heights: 6,
        ..QUIET
    });
}

#[test]
fn who_slept_catches_up_on_certificates() {
    all_ways::<MlDsa44>(Plan {
        offline: 3,
        heights: 8,
        ..QUIET
    });
}

#[test]
fn too_many_faults_are_no_plan() {
    let plan = Plan {
        byzantine: 2,
        ..QUIET
    };
    assert!(run::<MlDsa44>(plan, Mode::Batched).is_err());
}
