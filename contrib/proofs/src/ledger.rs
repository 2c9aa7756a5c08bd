//! `LEDGER.md`: the table of rows.

use std::path::PathBuf;

use crate::row::{Checked, Report};
use crate::rows::WITHOUT_ROWS;

const HEAD: &str = "# Ledger of the proofs

`cargo run --release --manifest-path contrib/proofs/Cargo.toml -- all --write` generates this page.
[README.md](README.md) explains the statements and what is not proved.
";

fn path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("LEDGER.md")
}

fn cell(verdict: &Checked) -> String {
    match verdict {
        Ok(text) if text.is_empty() => "proved".into(),
        Ok(text) => format!("proved: {text}"),
        Err(_) => "open".into(),
    }
}

fn key(report: &Report) -> String {
    format!(
        "| `{}` | {} | {} |",
        report.kernel, report.parameter, report.backend
    )
}

fn line(report: &Report) -> String {
    let cells: Vec<_> = report.verdicts.iter().map(cell).collect();
    format!("{} {} |", key(report), cells.join(" | "))
}

/// The text of the ledger.
fn text(reports: &[Report], backends: &[&str]) -> String {
    let mut out = HEAD.to_owned();
    out.push_str(
        "\n## Rows\n\n| backend | rows | proved | of these statements open |\n|---|--:|--:|--:|\n",
    );
    for backend in backends {
        let rows: Vec<_> = reports.iter().filter(|r| r.backend == *backend).collect();
        let proved = rows.iter().filter(|r| r.is_proved()).count();
        let all = rows.iter().flat_map(|r| &r.verdicts);
        let open = all.filter(|v| v.is_err()).count();
        out.push_str(&format!(
            "| {backend} | {} | {proved} | {open} of {} |\n",
            rows.len(),
            4 * rows.len()
        ));
    }
    out.push_str("\n| kernel | parameter | backend | value | range | constant time | memory |\n|---|---|---|---|---|---|---|\n");
    for report in reports {
        out.push_str(&line(report));
        out.push('\n');
    }
    out.push_str("\n## Open statements\n\n");
    let is_open = |report: &&Report| !report.is_proved();
    for report in reports.iter().filter(is_open) {
        // Without the addresses of this build.
        let open = report.verdicts.iter().filter_map(|v| v.as_ref().err());
        let open = open.filter_map(|text| text.split(" at 0x").next());
        let text = open.collect::<Vec<_>>().join("; ");
        out.push_str(&format!("- {} {text}\n", key(report)));
    }
    if reports.iter().all(Report::is_proved) {
        out.push_str("None.\n");
    }
    out.push_str("\n## Entries without a row\n\n");
    for (entry, reason) in WITHOUT_ROWS {
        out.push_str(&format!("- `{entry}`: {reason}.\n"));
    }
    out
}

pub(crate) fn write(reports: &[Report], backends: &[&str]) -> Result<(), String> {
    std::fs::write(path(), text(reports, backends)).map_err(|e| e.to_string())
}

/// Rows that may be open: kernel, parameter, backend. Every other row has to be proved, whatever
/// the page says.
const OPEN: [(&str, &str, &str); 0] = [];

/// Rows that are open and not named, or named and proved.
pub(crate) fn unexpected(reports: &[Report]) -> Vec<String> {
    of_names(reports, &OPEN)
}

fn of_names(reports: &[Report], open: &[(&str, &str, &str)]) -> Vec<String> {
    let is_named = |r: &Report| open.contains(&(&r.kernel, &r.parameter, r.backend));
    let bad = reports.iter().filter(|r| r.is_proved() == is_named(r));
    bad.map(|report| match report.is_proved() {
        true => format!("proved, and named as open: {}", key(report)),
        false => format!("open: {}", line(report)),
    })
    .collect()
}

/// Rows that were expected and not run. Kernels and backends of `left_out` do not count.
pub(crate) fn missing(
    reports: &[Report],
    expected: &[(String, String, &'static str)],
    left_out: &[&str],
) -> Vec<String> {
    let is_missing = |(kernel, parameter, backend): &&(String, String, &str)| {
        let is_wanted = !left_out.contains(&&kernel[..]) && !left_out.contains(backend);
        let mut run = reports.iter();
        is_wanted
            && !run.any(|r| (&r.kernel, &r.parameter, &r.backend) == (kernel, parameter, backend))
    };
    let missing = expected.iter().filter(is_missing);
    missing
        .map(|(kernel, parameter, backend)| format!("{backend}::{kernel} {parameter}"))
        .collect()
}

/// Rows that the page does not have.
pub(crate) fn unlisted(reports: &[Report]) -> Result<Vec<String>, String> {
    let page = std::fs::read_to_string(path()).map_err(|e| e.to_string())?;
    let keys = reports.iter().map(key);
    let unlisted = keys.filter(|key| !page.lines().any(|line| line.starts_with(&key[..])));
    Ok(unlisted.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_open_row_fails_unless_it_is_named() {
        let open = Report::open("ntt", "avx2", String::new());
        let mut proved = open.clone();
        proved.verdicts = core::array::from_fn(|_| Ok(String::new()));
        let names = [("ntt", "", "avx2")];
        assert!(unexpected(core::slice::from_ref(&proved)).is_empty());
        assert_eq!(unexpected(core::slice::from_ref(&open)).len(), 1);
        assert!(of_names(core::slice::from_ref(&open), &names).is_empty());
        assert_eq!(of_names(core::slice::from_ref(&proved), &names).len(), 1);
    }

    #[test]
    fn a_row_that_was_not_run_is_missing() {
        let report = Report::open("ntt", "avx2", String::new());
        let names = [("ntt", "avx2"), ("ntt", "portable"), ("inv_ntt", "avx2")];
        let expected = names.map(|(kernel, backend)| (kernel.to_owned(), String::new(), backend));
        let run = core::slice::from_ref(&report);
        let missing = |left_out: &[&str]| missing(run, &expected, left_out).len();
        assert_eq!(
            (missing(&[]), missing(&["portable"]), missing(&["inv_ntt"])),
            (2, 1, 1)
        );
    }
}
