//! Faults: single bits of instructions and of tables are flipped. Then a row has to be refused, or
//! its statements have to hold for the changed code too.

use std::collections::BTreeMap;

use crate::parallel;
use crate::places::{Program, places};
use crate::prove::prove;
use crate::row::Report;
use crate::semantics::Random;

pub(crate) const LEAK: &str = "a branch or an address depends on data";

/// Flips `code` bits of instructions and `tables` bits of constants, spread over all rows that
/// are proved.
pub(crate) fn run(program: &Program, [code, tables]: [usize; 2]) -> Result<bool, String> {
    let image = &program.image;
    let all = places(image, &|_, _| true)?;
    let reports = parallel::map(all.len(), |n| {
        let (backend, entry, row) = &all[n];
        prove(program.of(row), backend, *entry, row, 0..1)
    })?;
    // Only a row that is proved says something when it is refused.
    let proved: Vec<usize> = (0..all.len()).filter(|&n| reports[n].is_proved()).collect();
    let has_tables = |&n: &usize| !reports[n].data.is_empty();
    let with_tables: Vec<usize> = proved.iter().copied().filter(has_tables).collect();
    if proved.is_empty() || with_tables.is_empty() {
        return Err("no row is proved".into());
    }
    let faults: Vec<(usize, bool, u64)> = (0..code)
        .map(|n| (proved[n % proved.len()], true))
        .chain((0..tables).map(|n| (with_tables[n % with_tables.len()], false)))
        .enumerate()
        .map(|(n, (row, is_code))| (row, is_code, n as u64 + 1))
        .collect();
    println!(
        "{} rows are proved, {} of them read tables",
        proved.len(),
        with_tables.len()
    );
    let outcomes = parallel::map(faults.len(), |n| {
        let (row, is_code, seed) = faults[n];
        let (address, bit) = choose(&reports[row], is_code, seed);
        let (backend, entry, statement) = &all[row];
        let mut image = program.of(statement).clone();
        image.change(address, 1 << bit);
        let after = prove(&image, backend, *entry, statement, 0..1);
        let result = refusal(&after);
        if result.is_none() {
            println!(
                "proved again: {backend}::{} {}, bit {bit} at {}",
                statement.kernel,
                statement.parameter,
                image.name(address)
            );
        }
        (is_code, result)
    })?;
    for (is_code, what) in [(true, "instructions"), (false, "tables")] {
        let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
        let (mut all, mut refused) = (0, 0);
        for (_, result) in outcomes.iter().filter(|outcome| outcome.0 == is_code) {
            all += 1;
            refused += usize::from(result.is_some());
            *kinds.entry(result.unwrap_or("proved again")).or_default() += 1;
        }
        println!(
            "faults of {what}: {all}, refused {refused}, proved again {}",
            all - refused
        );
        for (kind, count) in kinds {
            println!("    {kind}: {count}");
        }
    }
    Ok(outcomes.len() == code + tables)
}

/// A bit that the row executed or read.
fn choose(report: &Report, is_code: bool, seed: u64) -> (u64, u8) {
    let mut state = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut random = |below: usize| {
        let last = (0..4).fold(0, |_, _| state.next());
        (last >> 11) as usize % below
    };
    let mut places = [&report.data, &report.code][usize::from(is_code)].clone();
    places.sort_unstable();
    let (at, len) = places[random(places.len())];
    (at + random(len) as u64, random(8) as u8)
}

/// Why the row is refused; `None` if all statements are proved again.
pub(crate) fn refusal(after: &Report) -> Option<&'static str> {
    let text = after.verdicts.iter().find_map(|v| v.as_ref().err())?;
    let known = [
        ("not constant time", LEAK),
        ("memory", "an access outside the regions"),
        ("not modelled", "an instruction is not modelled"),
        ("the domain gave up", "the domain gave up"),
    ];
    let kind = known.iter().find(|(start, _)| text.starts_with(start));
    Some(kind.map_or("value or range", |kind| kind.1))
}
