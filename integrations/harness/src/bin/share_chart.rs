//! Draws the share of CPU time that verification takes against the number of validators:
//! `share_chart docs/reports/simplex.jsonl CAPTION > docs/reports/share.svg`.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context as _, Error};
use charts::{Axis, Frame, Scale, Series, lines};
use harness::{Row, Strategy};

fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let report = arguments.next().context("no report")?;
    let caption = arguments.next().context("no caption")?;
    // The last row of a size counts.
    let mut shares: BTreeMap<String, BTreeMap<usize, f64>> = BTreeMap::new();
    for line in fs::read_to_string(report)?.lines() {
        let row: Row = serde_json::from_str(line)?;
        if row.network == "sim" && row.set == "ML-DSA-65" && row.blocked.is_empty() {
            let of_strategy = shares.entry(row.strategy).or_default();
            of_strategy.insert(row.validators, 100.0 * row.verify_share);
        }
    }
    let ticks = shares.values().flat_map(BTreeMap::keys);
    let mut ticks: Vec<f64> = ticks.map(|&validators| validators as f64).collect();
    ticks.sort_by(f64::total_cmp);
    ticks.dedup();
    let series = shares.into_iter().map(|(label, points)| Series {
        reference: label == Strategy::AwsLc.name(),
        points: points
            .into_iter()
            .map(|(n, share)| (n as f64, share))
            .collect(),
        label,
    });
    let frame = Frame {
        title: "Simplex, ML-DSA-65: verification as a share of all CPU time (lower is better)",
        caption: &caption,
    };
    let x = Axis {
        label: "validators",
        scale: Scale::Log,
        ticks: &ticks,
    };
    let y = Axis {
        label: "%",
        scale: Scale::Linear,
        ticks: &[],
    };
    let svg = lines(frame, x, y, &series.collect::<Vec<_>>()).map_err(Error::msg)?;
    print!("{svg}");
    Ok(())
}
