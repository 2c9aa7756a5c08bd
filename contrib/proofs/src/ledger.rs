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

/// Rows of the ledger about these backends that are not among `reports`. Kernels and backends of
/// `left_out` do not count.
pub(crate) fn missing(
    reports: &[Report],
    backends: &[&str],
    left_out: &[&str],
) -> Result<Vec<String>, String> {
    let ledger = std::fs::read_to_string(path()).map_err(|e| e.to_string())?;
    let found: Vec<_> = reports.iter().map(key).collect();
    let is_wanted = |line: &&str| {
        let cells: Vec<_> = line.split(" | ").collect();
        cells.len() == 7
            && backends.contains(&cells[2])
            && !left_out.contains(&cells[2])
            && !left_out
                .iter()
                .any(|name| cells[0] == format!("| `{name}`"))
            && !found.iter().any(|key| line.starts_with(&key[..]))
    };
    let rows = ledger.lines().filter(is_wanted);
    Ok(rows.map(str::to_owned).collect())
}

/// Rows whose statements are not those of the ledger. With another compiler the ranges may
/// differ: whether a statement is proved may not.
pub(crate) fn differences(reports: &[Report]) -> Result<Vec<String>, String> {
    let ledger = std::fs::read_to_string(path()).map_err(|e| e.to_string())?;
    let mut out = Vec::new();
    for report in reports {
        let wanted = ledger.lines().find(|line| line.starts_with(&key(report)));
        let Some(wanted) = wanted else {
            out.push(format!("{} is not in the ledger", key(report)));
            continue;
        };
        let proved = |line: &str| {
            line.split(" | ")
                .skip(3)
                .map(|cell| cell.starts_with("proved"))
                .collect::<Vec<_>>()
        };
        if proved(wanted) != proved(&line(report)) {
            out.push(format!("{}: the ledger says\\n  {wanted}", line(report)));
        }
    }
    Ok(out)
}
