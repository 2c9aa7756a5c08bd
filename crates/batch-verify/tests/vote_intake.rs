//! The example over TCP, small: every honest vote is valid, no forged one is, and a
//! scraper reads what happened.

#![allow(clippy::unwrap_used, reason = "a test")]

#[path = "../examples/vote_intake.rs"]
#[allow(dead_code, reason = "its main is the example's")]
mod example;

use batch_verify::IntakeError;

fn figure(figures: &str, name: &str) -> f64 {
    let line = figures
        .lines()
        .find_map(|line| line.strip_prefix(&format!("vote_intake_{name} ")));
    line.unwrap().parse().unwrap()
}

#[test]
fn honest_votes_get_through() {
    for (validators, rounds, forgeries) in [(4, 2, 0), (12, 5, 10)] {
        let night = example::run(validators, rounds, forgeries).unwrap();
        let honest = validators * rounds;
        assert_eq!(night.honest.len(), honest);
        assert!(night.honest.is_sorted());
        let dropped: usize = night.drops.values().sum();
        assert_eq!(night.refused + dropped, honest * forgeries);
        // Two flooders of 300 forgeries: heard until the budget is spent.
        if forgeries > 0 {
            assert!(night.drops[&IntakeError::PeerBudget] > 0);
            assert!(night.refused >= 200);
        }
        assert!(
            night
                .drops
                .keys()
                .all(|error| *error == IntakeError::PeerBudget)
        );
        let figures = &night.figures;
        assert_eq!(
            figure(figures, "items_total") as usize,
            honest * (1 + forgeries)
        );
        assert_eq!(
            figure(figures, "verified_total") as usize,
            honest + night.refused
        );
        assert_eq!(figure(figures, "peer_budget_total") as usize, dropped);
        assert_eq!(figure(figures, "waiting"), 0.0);
        assert!(figure(figures, "batches_total") >= 1.0);
        assert!(figure(figures, "memory_bytes") > 3309.0);
        assert_eq!(
            figures
                .lines()
                .filter(|line| line.starts_with("# TYPE"))
                .count(),
            10
        );
    }
}
