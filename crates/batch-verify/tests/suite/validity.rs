//! The page `docs/validity.md`. Its vectors are in `tests/kat`.

use batch_verify::RejectReason;

/// The tables of the page have every reason, and those of rules are in the order of the checks.
#[test]
fn every_reason_has_a_row() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/validity.md");
    let page = std::fs::read_to_string(page).unwrap();
    let row = |reason: &RejectReason| {
        let cell = format!("| `{reason}` |");
        let mut rows = page.lines().filter(|line| line.starts_with("| "));
        rows.position(|row| row.contains(&cell)).expect(&cell)
    };
    let is_rule = |reason: &&RejectReason| {
        use RejectReason::{NotVerified, Other};
        ![Other, NotVerified].contains(*reason)
    };
    let (rules, others): (Vec<_>, Vec<_>) = RejectReason::ALL.iter().partition(is_rule);
    let rows: Vec<usize> = rules.into_iter().chain(others).map(row).collect();
    assert!(rows.is_sorted());
}
