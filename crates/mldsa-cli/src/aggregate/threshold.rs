//! Quorum threshold of a plan, from the arguments.

use std::io;
use std::path::Path;

use mladsa_aggregate::{MemberId, Threshold};

use super::args::PlanShape;
use super::dirs::read_named;
use crate::input::{unusable, without_mark};

/// 8,192 names of 64 bytes, each with a weight.
const MAX_WEIGHTS: u64 = 1 << 20;

/// The threshold of a plan: a number of members, or a weight; without arguments more than two thirds of
/// the members.
pub(crate) fn threshold(args: &PlanShape) -> io::Result<Threshold> {
    Ok(match (&args.weights, args.threshold, args.quorum) {
        (Some(path), Some(threshold), None) => Threshold::Weights {
            weights: read_weights(path)?,
            threshold,
        },
        (None, None, Some(quorum)) => Threshold::Count(quorum),
        _ => Threshold::TwoThirds,
    })
}

/// `name weight` lines.
fn read_weights(path: &Path) -> io::Result<Vec<(MemberId, u64)>> {
    let bytes = read_named(path, MAX_WEIGHTS)?;
    let text = str::from_utf8(without_mark(&bytes)).map_err(|_| unusable(path, "not text"))?;
    let mut weights = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let Some(line) = Some(line.trim()).filter(|line| !line.is_empty()) else {
            continue;
        };
        // Without the text of the line, which may have control characters.
        let bad = || {
            let why = format!("line {}: not a member's name and a weight", number + 1);
            unusable(path, why)
        };
        let (id, weight) = line.rsplit_once(char::is_whitespace).ok_or_else(bad)?;
        let id = MemberId::new(id.trim().as_bytes()).map_err(|_| bad())?;
        weights.push((id, weight.parse().map_err(|_| bad())?));
    }
    Ok(weights)
}
