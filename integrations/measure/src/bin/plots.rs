//! Draws reports: `plots docs/reports/*.jsonl --out docs/reports`.
//!
//! Reads the lines that the programs of this workspace print with `--json`: rows, and the price
//! list of `checkpoint`; lines of other kinds are left out, and runs with faulty members. Writes
//! `share.svg`, `finality.svg` and `certificate.svg`, and prints where certificates cost the same.

use std::collections::BTreeMap;
use std::error::Error;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::{fs, io};

use clap::Parser;
use measure::Row;
use plotters::prelude::*;
use serde::Deserialize;

/// Draws what the reports of this workspace say.
#[derive(Parser)]
struct Options {
    /// Files of JSON lines.
    #[arg(required = true)]
    reports: Vec<PathBuf>,
    /// Where the drawings go.
    #[arg(long, default_value = ".")]
    out: PathBuf,
}

/// A line of a report.
#[derive(Deserialize)]
#[serde(untagged)]
enum Line {
    Row(Box<Row>),
    Prices(Prices),
    Other(serde::de::IgnoredAny),
}

/// Bytes of certificates for a committee: lists of signatures, and an aggregate, for which a
/// verifier who does not know the committee's one-time keys needs openings too.
#[derive(Deserialize)]
struct Prices {
    validators: usize,
    ed25519: usize,
    ml_dsa_65: usize,
    ml_dsa_87: usize,
    aggregate: usize,
    openings: usize,
}

/// By legend: points by number of validators, the last one told for each.
type Lines = BTreeMap<String, BTreeMap<usize, f64>>;

fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::parse();
    let (mut share, mut finality, mut certificate) = (Lines::new(), Lines::new(), Lines::new());
    let add = |lines: &mut Lines, legend: String, n: usize, value: f64| {
        lines.entry(legend).or_default().insert(n, value);
    };
    for path in &options.reports {
        for line in fs::read_to_string(path)?.lines() {
            let line: Line = serde_json::from_str(line).map_err(|error| {
                let what = format!("{}: {error}", path.display());
                io::Error::new(io::ErrorKind::InvalidData, what)
            })?;
            let row = match line {
                Line::Row(row) => row,
                Line::Prices(prices) => {
                    let whole = prices.aggregate + prices.openings;
                    for (legend, bytes) in [
                        ("list of ed25519 signatures", prices.ed25519),
                        ("list of ML-DSA-65 signatures", prices.ml_dsa_65),
                        ("list of ML-DSA-87 signatures", prices.ml_dsa_87),
                        ("ML-ADSA-87 aggregate", prices.aggregate),
                        ("ML-ADSA-87 aggregate with openings", whole),
                    ] {
                        let n = prices.validators;
                        add(&mut certificate, legend.into(), n, bytes as f64);
                    }
                    continue;
                }
                Line::Other(_) => continue,
            };
            if !row.blocked.is_empty() {
                continue;
            }
            let n = row.validators;
            if row.net == "sim" {
                let legend = format!("{}, {}", row.set, row.how);
                add(&mut share, legend, n, 100.0 * row.verify_share);
            }
            if row.how != "batched" {
                continue;
            }
            if let Some([p50, ..]) = row.finality_ms {
                add(&mut finality, format!("{}, {}", row.set, row.net), n, p50);
            }
            if let Some(bytes) = row.certificate_bytes {
                let legend = format!("list of {} signatures", row.set);
                add(&mut certificate, legend, n, bytes as f64);
            }
        }
    }
    let crossings = crossings(&certificate);
    if crossings.is_empty() {
        println!("certificates: no two lines cross within the sizes that were measured");
    }
    for (one, other, n) in crossings {
        println!("certificates: {one} and {other} have as many bytes at {n:.1} validators");
    }
    let draw = |name, title, unit, lines| draw(&options.out.join(name), title, unit, lines);
    draw("share.svg", "share of the CPU that verifies", "%", &share)?;
    draw("finality.svg", "finality, median", "ms", &finality)?;
    draw("certificate.svg", "a certificate", "bytes", &certificate)
}

/// Where two lines meet, drawn as they are: straight between measured sizes.
fn crossings(lines: &Lines) -> Vec<(&str, &str, f64)> {
    let mut found = Vec::new();
    for (one, a) in lines {
        for (other, b) in lines.range::<String, _>(one.clone()..).skip(1) {
            let both: Vec<(f64, f64)> = a
                .iter()
                .filter_map(|(n, a)| Some((*n as f64, a - b.get(n)?)))
                .collect();
            for pair in both.windows(2) {
                if let [(n, before), (m, after)] = *pair
                    && before * after < 0.0
                {
                    let part = before / (before - after);
                    found.push((one.as_str(), other.as_str(), n + part * (m - n)));
                }
            }
        }
    }
    found
}

fn draw(path: &Path, title: &str, unit: &str, lines: &Lines) -> Result<(), Box<dyn Error>> {
    let points = || {
        lines
            .values()
            .flatten()
            .map(|(n, value)| (*n as f64, *value))
    };
    if points().next().is_none() {
        println!("nothing to draw in {}", path.display());
        return Ok(());
    }
    let (across, up) = (range(points().map(|p| p.0)), range(points().map(|p| p.1)));
    let area = SVGBackend::new(path, (900, 560)).into_drawing_area();
    area.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&area)
        .caption(title, ("sans-serif", 22))
        .margin(12)
        .x_label_area_size(44)
        .y_label_area_size(72)
        .build_cartesian_2d(across.log_scale(), up.log_scale())?;
    chart
        .configure_mesh()
        .x_desc("validators")
        .y_desc(unit)
        .x_label_formatter(&|n| format!("{n:.0}"))
        .draw()?;
    for (index, (legend, points)) in lines.iter().enumerate() {
        let colour = Palette99::pick(index).stroke_width(2);
        let points = points.iter().map(|(n, value)| (*n as f64, *value));
        chart
            .draw_series(LineSeries::new(points, colour).point_size(3))?
            .label(legend)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], colour));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK)
        .draw()?;
    area.present()?;
    Ok(())
}

/// All values, with room around them; a logarithmic axis has no zero.
fn range(values: impl Iterator<Item = f64>) -> Range<f64> {
    let (least, most) = values.fold((f64::INFINITY, 0_f64), |(least, most), value| {
        (least.min(value), most.max(value))
    });
    (least * 0.8).max(1e-3)..(most * 1.5).max(1e-2)
}
