//! Small networks, each with one thing that goes wrong, on every way to verify.

use bft_malachite::{Attack, Plan, Run, Way, run};
use clap::ValueEnum;
use mldsa_core::{MlDsa44, MlDsa65, MlDsa87, ParameterSet};

const QUIET: Plan = Plan {
    validators: 4,
    heights: 4,
    spoil: 0,
    attack: 0,
    lose: 0,
    asleep: 0,
};

/// Runs the plan all ways: the same decisions, and everything that was planned.
fn all_ways<P: ParameterSet>(plan: Plan) -> Vec<Run> {
    let runs: Vec<Run> = Way::value_variants()
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
        spoil: 1,
        heights: 6,
        ..QUIET
    });
    let plan = Plan {
        validators: 7,
        spoil: 2,
        heights: 8,
        ..QUIET
    };
    // A proposer whose proposals nobody believes has a turn, and loses it.
    assert!(all_ways::<MlDsa44>(plan)[0].rounds > 0);
}

#[test]
fn replays_and_forgeries_change_nothing() {
    let runs = all_ways::<MlDsa44>(Plan {
        attack: 14,
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
    all_ways::<MlDsa44>(Plan { lose: 2, ..QUIET });
    all_ways::<MlDsa44>(Plan {
        lose: 3,
        validators: 10,
        heights: 6,
        ..QUIET
    });
}

#[test]
fn who_slept_catches_up_on_certificates() {
    all_ways::<MlDsa44>(Plan {
        asleep: 3,
        heights: 8,
        ..QUIET
    });
}

#[test]
fn too_many_faults_are_no_plan() {
    let plan = Plan { spoil: 2, ..QUIET };
    assert!(run::<MlDsa44>(plan, Way::Batched).is_err());
}
