//! All of it over TCP, small: every honest vote is valid, no forged one is, and a scraper
//! reads what happened.

use batch_verify::IntakeError;

use crate::{Crowd, Frame, run};

fn figure(figures: &str, name: &str) -> f64 {
    let line = figures
        .lines()
        .find_map(|line| line.strip_prefix(&format!("vote_intake_{name} ")));
    line.unwrap().parse().unwrap()
}

#[test]
fn honest_votes_get_through() {
    for (validators, rounds, forgeries) in [(4, 2, 0), (12, 5, 10)] {
        let crowd = Crowd {
            validators,
            rounds,
            forgeries,
        };
        let night = run(crowd, |address| crowd.send(address)).unwrap();
        let honest = validators * rounds;
        assert_eq!(night.honest.len(), honest);
        assert!(night.honest.is_sorted());
        let dropped: usize = night.drops.values().sum();
        assert_eq!(night.refused + dropped, honest * forgeries);
        // Two flooders of 300 forgeries: at least the budget of each is verified.
        if forgeries > 0 {
            assert!(night.refused >= 200);
        }
        assert!(
            night
                .drops
                .keys()
                .all(|error| *error == IntakeError::PeerBudget)
        );
        let figures = &night.figures;
        let whole = |name: &str| figure(figures, name) as usize;
        assert_eq!(whole("items_total{result=\"valid\"}"), honest);
        if forgeries > 0 {
            assert_eq!(whole("items_total{result=\"invalid\"}"), night.refused);
            assert_eq!(whole("items_total{result=\"peer_budget\"}"), dropped);
            let reason = "rejects_total{reason=\"challenge_mismatch\"}";
            assert!(whole(reason) > 0 && whole(reason) <= night.refused);
        }
        let verified = honest + night.refused;
        assert_eq!(whole("verified_total"), verified);
        assert_eq!(whole("batch_items_sum"), verified);
        assert_eq!(whole("wait_seconds_count"), verified);
        let batches = whole("batch_items_count");
        assert!((1..=verified).contains(&batches));
        assert_eq!(whole("batch_items_bucket{le=\"+Inf\"}"), batches);
        assert_eq!(whole("batch_items_bucket{le=\"64\"}"), batches);
        for priority in ["own_round", "next_round", "sync"] {
            assert_eq!(whole(&format!("waiting{{priority=\"{priority}\"}}")), 0);
        }
        // Of the batch that was reported last; workers may report in another order.
        assert!(figure(figures, "memory_misses_total") > 0.0);
        assert_eq!(figure(figures, "memory_hits_total"), 0.0);
        assert_eq!(figure(figures, "key_cache_bytes"), 0.0);
        assert_eq!(figure(figures, "key_cache_hits_total"), 0.0);
    }
}

/// A stream ends between two frames, or it is broken.
#[test]
fn frames() {
    let frame = Frame {
        signer: 7,
        round: 9,
        signature: vec![5; 100],
    };
    let mut bytes = Vec::new();
    frame.write(&mut bytes).unwrap();
    let read = |mut bytes: &[u8]| Frame::read(&mut bytes);
    assert_eq!(read(&bytes).unwrap(), Some(frame));
    assert_eq!(read(&[]).unwrap(), None);
    for cut in 1..bytes.len() {
        let error = read(&bytes[..cut]).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::UnexpectedEof, "{cut}");
    }
    for len in [0, 11, 12 + 3309 + 1, u32::MAX] {
        bytes[..4].copy_from_slice(&len.to_le_bytes());
        let error = read(&bytes).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::InvalidData, "{len}");
    }
}
