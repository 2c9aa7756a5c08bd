//! Random patterns of faults, loss, repetition and forged messages.

use std::sync::Arc;

use super::*;

/// Committees of the random patterns, which are made once: number of members and weights.
pub struct Patterns(Vec<(Vec<u64>, Group)>);

impl Patterns {
    pub fn new() -> Self {
        let weights: [&[u64]; 8] = [
            &[1; 4],
            &[1; 4],
            &[1; 4],
            &[1; 5],
            &[1; 7],
            &[2, 1, 1, 1],
            &[3, 2, 2, 1],
            &[6, 5, 4, 1, 1],
        ];
        let groups = weights.into_iter().map(|weights| {
            // Enough for the bound, also with misses.
            let group = group(weights, 32);
            (weights.to_vec(), group)
        });
        Self(groups.collect())
    }

    /// A random pattern of faults, loss, repetition and forged messages. Returns the attempts, the
    /// bound, and a description.
    pub fn run(&mut self, seed: u64) -> (u64, u64, String) {
        let mut random = seed.wrapping_mul(0x2545_f491_4f6c_dd1d) | 1 << 63;
        let mut draw = |bound: u64| {
            super::draw(&mut random, 1 << 20);
            super::draw(&mut random, bound)
        };
        let which = draw(self.0.len() as u64) as usize;
        let (weights, group) = &self.0[which];
        let n = weights.len();
        let total: u64 = weights.iter().sum();
        let mut left = (total - 1) / 3;
        let mut faults = vec![Honest; n];
        // Of one kind, or of all.
        let one = (draw(3) == 0).then(|| Fault::KINDS[draw(Fault::KINDS.len() as u64) as usize]);
        for _ in 0..1 + draw(2 * n as u64) {
            let at = draw(n as u64) as usize;
            if faults[at] == Honest && weights[at] <= left {
                faults[at] = one.unwrap_or(Fault::KINDS[draw(Fault::KINDS.len() as u64) as usize]);
                left -= weights[at];
            }
        }
        // A member that restarts counts among the faulty ones.
        let at = draw(n as u64) as usize;
        if draw(4) == 0 && faults[at] == Honest && weights[at] <= left {
            let lost = 1 + draw(2 * TIMEOUT);
            faults[at] = Crash(lost, lost + 1 + draw(2 * TIMEOUT));
        }
        // With more loss, a repetition does not arrive in every attempt within a part of the timeout.
        let loss = [0, 0, 10, 10, 20, 50][draw(6) as usize];
        let (repeated, forging) = (100 * draw(3), draw(4) == 0);
        let state = draw(1 << 40) | 1;
        for fault in &mut faults {
            if *fault == TwoHashes && draw(2) == 0 {
                *fault = AlwaysTwoHashes;
            }
        }
        let text = format!("seed {seed}: {weights:?} {faults:?}, loss {loss}, forging {forging}");
        let group = Group {
            members: group.members.clone(),
            committee: Arc::clone(&group.committee),
            journals: Vec::new(),
        };
        let mut simulation = Simulation::of(group, &faults, loss, &seed.to_be_bytes());
        (simulation.random, simulation.forging) = (state, forging);
        simulation.repeated = repeated;
        let attempts = simulation.run();
        (attempts, simulation.bound(), text)
    }
}
