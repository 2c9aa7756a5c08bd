//! One run as a row.

use std::fmt::Display;
use std::process::ExitCode;
use std::time::Duration;

use comfy_table::{Table, presets::ASCII_MARKDOWN};
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use crate::{How, Kind, Meter};

/// Times from proposal to finalisation.
#[derive(Debug)]
pub struct Finality(Histogram<u64>);

impl Default for Finality {
    fn default() -> Self {
        // Microseconds up to an hour, in three digits.
        Self(Histogram::new_with_max(3_600_000_000, 3).expect("a range that a histogram can have"))
    }
}

impl Finality {
    /// One validator finalised one block.
    pub fn record(&mut self, time: Duration) {
        self.0
            .saturating_record(u64::try_from(time.as_micros()).unwrap_or(u64::MAX));
    }

    fn milliseconds(&self, quantile: f64) -> Option<f64> {
        (!self.0.is_empty()).then(|| rounded(self.0.value_at_quantile(quantile) as f64 / 1e3))
    }
}

/// What one run cost. Times are of the CPU unless a name says otherwise.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Row {
    /// The engine and its version.
    pub engine: String,
    /// Simulator, TCP or processes.
    pub net: String,
    /// The parameter set.
    pub set: String,
    /// [`How::name`].
    pub how: String,
    /// Validators.
    pub validators: usize,
    /// Views, heights or blocks that were finalised.
    pub views: u64,
    /// Views a second of wall clock.
    pub views_a_second: f64,
    /// Seconds of CPU of the whole process.
    pub cpu_seconds: f64,
    /// Signatures verified as votes, in certificates, in proposals.
    pub votes: [u64; 3],
    /// Their bytes.
    pub bytes: [u64; 3],
    /// Of them refused.
    pub invalid: u64,
    /// Votes a call, mean.
    pub mean_batch: f64,
    /// Votes a call, largest.
    pub largest_batch: u64,
    /// Microseconds a signature, in the library's call.
    pub us_inside: f64,
    /// Microseconds a signature, with decoding and lists.
    pub us_around: f64,
    /// Part of the CPU spent verifying.
    pub verify_share: f64,
    /// Microseconds a signature made.
    pub us_sign: f64,
    /// Part of the CPU spent signing.
    pub sign_share: f64,
    /// Milliseconds from proposal to finalisation: p50, p95, p99.
    pub finality_ms: Option<[f64; 3]>,
    /// Bytes of a certificate.
    pub certificate_bytes: Option<usize>,
    /// Bytes of the engine's journals, of all validators.
    pub journal_bytes: Option<u64>,
    /// Members the engine blocked.
    pub blocked: Vec<String>,
}

impl Row {
    /// What the meter says of a run of `views` views that took `wall` and `cpu`.
    #[must_use]
    #[allow(clippy::too_many_arguments, reason = "a row has many columns")]
    pub fn new(
        engine: &str,
        net: &str,
        set: &str,
        how: How,
        validators: usize,
        views: u64,
        wall: Duration,
        cpu: Duration,
        meter: &Meter,
        finality: &Finality,
    ) -> Self {
        let ratio = |a: f64, b: f64| if b > 0.0 { rounded(a / b) } else { 0.0 };
        let all = |of: fn(&Meter, usize) -> u64| meter.total(of) as f64;
        let each = |of: fn(&Meter, usize) -> u64| [0, 1, 2].map(|kind| of(meter, kind));
        let (vote, nanos) = (Kind::Vote as usize, cpu.as_nanos() as f64);
        let verified = all(Meter::votes);
        let quantiles = [0.5, 0.95, 0.99].map(|quantile| finality.milliseconds(quantile));
        Self {
            engine: engine.into(),
            net: net.into(),
            set: set.into(),
            how: how.name().into(),
            validators,
            views,
            views_a_second: ratio(views as f64, wall.as_secs_f64()),
            cpu_seconds: rounded(cpu.as_secs_f64()),
            votes: each(Meter::votes),
            bytes: each(Meter::bytes),
            invalid: meter.refused(),
            mean_batch: ratio(meter.votes(vote) as f64, meter.calls(vote) as f64),
            largest_batch: meter.largest(vote),
            us_inside: ratio(meter.inside_nanos() as f64 / 1e3, verified),
            us_around: ratio(all(Meter::around) / 1e3, verified),
            verify_share: ratio(all(Meter::around), nanos),
            us_sign: ratio(
                meter.signing_nanos() as f64 / 1e3,
                meter.signatures() as f64,
            ),
            sign_share: ratio(meter.signing_nanos() as f64, nanos),
            finality_ms: match quantiles {
                [Some(p50), Some(p95), Some(p99)] => Some([p50, p95, p99]),
                _ => None,
            },
            certificate_bytes: None,
            journal_bytes: None,
            blocked: Vec::new(),
        }
    }
}

/// Four decimals are more than any of this is good for.
fn rounded(value: f64) -> f64 {
    (value * 1e4).round() / 1e4
}

/// What a program ends with: its rows, or why there are none.
pub fn finish<E: Display>(program: &str, rows: Result<Vec<Row>, E>, json: bool) -> ExitCode {
    let rows = rows.map_err(|error| error.to_string());
    let printed = rows.and_then(|rows| print(&rows, json).map_err(|error| error.to_string()));
    match printed {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{program}: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Rows as a table, or as lines of JSON.
///
/// # Errors
/// What writing JSON says.
pub fn print(rows: &[Row], json: bool) -> serde_json::Result<()> {
    if json {
        for row in rows {
            println!("{}", serde_json::to_string(row)?);
        }
        return Ok(());
    }
    let Some(first) = rows.first() else {
        return Ok(());
    };
    let mut table = Table::new();
    table.load_preset(ASCII_MARKDOWN).set_header([
        "net",
        "set",
        "how",
        "n",
        "views",
        "/s",
        "votes",
        "batch",
        "max",
        "us inside",
        "us around",
        "verify",
        "us sign",
        "sign",
        "finality p50/95/99 ms",
        "certificate",
        "journal",
        "blocked",
    ]);
    for row in rows {
        let percent = |share: f64| format!("{:.1} %", share * 100.0);
        let or_none = |text: Option<String>| text.unwrap_or_else(|| "-".into());
        let finality = row
            .finality_ms
            .map(|[a, b, c]| format!("{a:.1}/{b:.1}/{c:.1}"));
        table.add_row([
            row.net.clone(),
            row.set.clone(),
            row.how.clone(),
            row.validators.to_string(),
            row.views.to_string(),
            format!("{:.1}", row.views_a_second),
            row.votes.map(|n| n.to_string()).join("/"),
            format!("{:.1}", row.mean_batch),
            row.largest_batch.to_string(),
            format!("{:.2}", row.us_inside),
            format!("{:.2}", row.us_around),
            percent(row.verify_share),
            format!("{:.0}", row.us_sign),
            percent(row.sign_share),
            or_none(finality),
            or_none(row.certificate_bytes.map(|n| n.to_string())),
            or_none(row.journal_bytes.map(|n| n.to_string())),
            row.blocked.len().to_string(),
        ]);
    }
    println!("{}", first.engine);
    println!("{table}");
    Ok(())
}
