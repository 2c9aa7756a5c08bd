//! Checks of the machine code of the kernels of `mldsa-core`, for all inputs, on the program
//! that is linked: `docs/proofs.md`.

mod arithmetic;
mod audit;
mod domain;
mod evaluate;
mod exhaust;
mod faults;
mod forms;
mod image;
mod keccak;
mod ledger;
mod machine;
mod memory;
mod one_instruction;
mod operands;
mod prove;
mod readings;
mod reference;
mod row;
mod rows;
mod scalar;
mod semantics;
mod statements;
mod terms;
mod vector;
mod vector_arithmetic;
mod vector_moves;
mod vector_shuffles;
mod verdict;
mod words;

use core::sync::atomic::{AtomicUsize, Ordering};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Mutex;

use image::Image;
use prove::prove;
use row::{Report, Verdict};
use rows::Row;

const BACKENDS: [&str; 3] = ["portable", "avx2", "avx512"];
/// Rows that take more than a few seconds: `quick` leaves them to `all`.
const SLOW: [&str; 3] = ["commit_row", "public_row", "respond_row"];
const USAGE: &str =
    "usage: mldsa-proofs [quick | all [--write] | rows TEXT | semantics | faults N | --elf PATH]";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // Panics of the domain are open statements, not messages.
    std::panic::set_hook(Box::new(|_| {}));
    match run(&arguments.iter().map(String::as_str).collect::<Vec<_>>()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(text) => {
            eprintln!("{text}");
            ExitCode::from(2)
        }
    }
}

fn run(arguments: &[&str]) -> Result<bool, String> {
    // Links every backend into this program, which is the one that is checked.
    let here: Vec<_> = mldsa_core::Backend::available()
        .map(mldsa_core::Backend::name)
        .collect();
    println!("backends of this CPU: {}", here.join(" "));
    let own = std::env::current_exe().map_err(|e| e.to_string())?;
    match arguments {
        ["quick"] => {
            let reports = reports(&own, &|row| !SLOW.contains(&row.kernel), 1)?;
            same_as_ledger(&reports)
        }
        ["all"] => {
            let reports = reports(&own, &|_| true, 4)?;
            Ok(same_as_ledger(&reports)? & semantics(&own)?)
        }
        ["all", "--write"] => {
            let reports = reports(&own, &|_| true, 4)?;
            ledger::write(&reports, &BACKENDS)?;
            Ok(true)
        }
        ["rows", text] => {
            let reports = reports(
                &own,
                &|row| format!("{} {}", row.kernel, row.parameter).contains(text),
                1,
            )?;
            Ok(reports.iter().all(Report::is_proved))
        }
        ["semantics"] => semantics(&own),
        ["faults", count] => faults(&own, count.parse().map_err(|_| USAGE)?),
        ["--elf", path] => {
            let reports = reports(Path::new(path), &|_| true, 1)?;
            same_as_ledger(&reports)
        }
        _ => Err(USAGE.into()),
    }
}

/// Names of the entries of a table, in order, from the source of the library.
fn entries() -> Result<Vec<String>, String> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../crates/mldsa-core/src/backend/kernels.rs");
    let text =
        std::fs::read_to_string(&source).map_err(|e| format!("{}: {e}", source.display()))?;
    let (_, body) = text
        .split_once("#[repr(C)]\npub(crate) struct Kernels {")
        .ok_or("no kernel table in C order")?;
    let (body, _) = body.split_once("\n}").ok_or("no end of the kernel table")?;
    let names = body
        .lines()
        .filter_map(|line| line.trim().strip_prefix("pub(crate) ")?.split_once(':'));
    Ok(names
        .map(|(name, _)| name.to_owned())
        .filter(|name| name != "name" && name != "dispatched")
        .collect())
}

/// A row of a backend with its address.
type Place = (&'static str, u64, Row);

fn places(image: &Image, wanted: &dyn Fn(&Row) -> bool) -> Result<Vec<Place>, String> {
    let entries = entries()?;
    let mut places = Vec::new();
    for backend in BACKENDS {
        let tables = image.table(backend);
        let [table] = tables[..] else {
            return Err(format!(
                "{} kernel tables of the name {backend}",
                tables.len()
            ));
        };
        for row in rows::rows() {
            if wanted(&row) {
                let at = entries
                    .iter()
                    .position(|entry| *entry == row.kernel)
                    .ok_or("an entry without a name")?;
                let entry = *image
                    .pointers
                    .get(&(table + 16 + 8 * at as u64))
                    .ok_or("an entry without an address")?;
                places.push((backend, entry, row));
            }
        }
    }
    // Every entry has a row or a reason.
    let with_rows: BTreeSet<_> = rows::rows().iter().map(|row| row.kernel).collect();
    for entry in &entries {
        let known = with_rows.contains(&entry[..])
            || rows::WITHOUT_ROWS.iter().any(|(name, _)| name == entry);
        if !known && entry != "mask_lanes" {
            return Err(format!("`{entry}` has neither a row nor a reason"));
        }
    }
    Ok(places)
}

/// Runs the rows on two threads, each with as many places of the stack.
fn reports(
    program: &Path,
    wanted: &dyn Fn(&Row) -> bool,
    stacks: i64,
) -> Result<Vec<Report>, String> {
    let image = Image::load(program)?;
    let all = places(&image, wanted)?;
    let (next, done) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    // Rows hold closures: a thread makes its own.
    let list: Vec<_> = all
        .iter()
        .map(|(backend, entry, row)| (*backend, *entry, row.kernel, row.parameter.clone()))
        .collect();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            let work = || {
                let rows = rows::rows();
                loop {
                    let n = next.fetch_add(1, Ordering::Relaxed);
                    let Some((backend, entry, kernel, parameter)) = list.get(n) else {
                        break;
                    };
                    let Some(row) = rows
                        .iter()
                        .find(|row| row.kernel == *kernel && row.parameter == *parameter)
                    else {
                        break;
                    };
                    let report = prove(&image, backend, *entry, row, 0..stacks);
                    print(&report);
                    if let Ok(mut done) = done.lock() {
                        done.insert(n, report);
                    }
                }
            };
            // Terms are deep: the recursion over them needs a large stack.
            let _ = std::thread::Builder::new()
                .stack_size(1 << 28)
                .spawn_scoped(scope, work);
        }
    });
    let reports: Vec<Report> = done
        .into_inner()
        .map_err(|_| "a thread stopped")?
        .into_values()
        .collect();
    if reports.len() != list.len() {
        return Err("rows are missing".into());
    }
    for backend in BACKENDS {
        let rows: Vec<_> = reports.iter().filter(|r| r.backend == backend).collect();
        let proved = rows.iter().filter(|r| r.is_proved()).count();
        let statements = rows
            .iter()
            .flat_map(|r| &r.verdicts)
            .filter(|v| matches!(v, Verdict::Proved(_)))
            .count();
        println!(
            "{backend}: {proved} of {} rows proved, {statements} of {} statements",
            rows.len(),
            4 * rows.len()
        );
    }
    Ok(reports)
}

fn print(report: &Report) {
    let names = ["value", "range", "constant time", "memory"];
    let mut text = format!(
        "{}::{} {}: {} instructions, {} cases",
        report.backend, report.kernel, report.parameter, report.executed, report.exhausted
    );
    for (name, verdict) in names.iter().zip(&report.verdicts) {
        match verdict {
            Verdict::Proved(detail) => text.push_str(&format!("\n    {name}: proved {detail}")),
            Verdict::Open(detail) => text.push_str(&format!("\n    {name}: open, {detail}")),
        }
    }
    println!("{text}");
}

fn same_as_ledger(reports: &[Report]) -> Result<bool, String> {
    let differences = ledger::differences(reports)?;
    differences.iter().for_each(|text| println!("{text}"));
    println!(
        "rows that differ from docs/proofs.md: {}",
        differences.len()
    );
    Ok(differences.is_empty())
}

/// Compares every form of instruction that the rows execute.
fn semantics(program: &Path) -> Result<bool, String> {
    let image = Image::load(program)?;
    let mut met = BTreeMap::new();
    for (_, entry, row) in places(&image, &|_| true)? {
        let (machine, _) = row::execute(&image, entry, &row.arguments, 0);
        met.extend(machine.met);
    }
    println!("instructions met, without repetitions: {}", met.len());
    let (compared, bad) = semantics::compare(&image, &met)?;
    bad.iter().for_each(|text| println!("{text}"));
    println!(
        "forms that agree with the CPU: {compared}; that differ or were not compared: {}",
        bad.len()
    );
    Ok(bad.is_empty())
}

/// Faults of the rows that take little time, `count` of code and a fifth of tables in each.
fn faults(program: &Path, count: usize) -> Result<bool, String> {
    let mut image = Image::load(program)?;
    let (mut refused, mut harmless) = (0, 0);
    for (n, (backend, entry, row)) in places(&image, &|row| !SLOW.contains(&row.kernel))?
        .into_iter()
        .enumerate()
    {
        let report = prove(&image, backend, entry, &row, 0..1);
        // Only a row that is proved says something when it is refused.
        if !report.is_proved() {
            continue;
        }
        let seed = 0x9e37_79b9_7f4a_7c15u64.wrapping_mul(n as u64 + 1);
        let tally = faults::inject(
            &mut image,
            (backend, entry, &row),
            &report,
            [count, count.div_ceil(5)],
            seed,
        );
        println!(
            "{backend}::{} {}: {} refused, {} harmless",
            row.kernel,
            row.parameter,
            tally.refused,
            tally.harmless.len()
        );
        tally
            .harmless
            .iter()
            .for_each(|text| println!("    {text}"));
        refused += tally.refused;
        harmless += tally.harmless.len();
    }
    println!("faults: {refused} refused, {harmless} after which the row still holds");
    Ok(refused > 0)
}
