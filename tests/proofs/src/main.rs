//! Checks of the machine code of the kernels of `mldsa-core`, for all inputs, on the program
//! that is linked: `docs/proofs.md`.

mod aarch64;
mod audit;
mod evaluate;
mod exhaust;
mod faults;
mod forms;
mod image;
mod keccak;
mod ledger;
mod machine;
mod reference;
mod row;
mod scalar;
mod semantics;
mod statements;
mod terms;
mod vector;

use core::sync::atomic::{AtomicUsize, Ordering};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;

use image::Image;
use row::{Report, Verdict};
use statements::Row;

const BACKENDS: [(&str, &str); 3] = [
    ("portable", "portable"),
    ("avx2", "avx2"),
    ("avx512", "avx512"),
];
const AARCH64_BACKENDS: [(&str, &str); 3] = [
    ("portable (AArch64)", "portable"),
    ("neon", "neon"),
    ("neon-sha3", "neon-sha3"),
];
/// Rows that take more than a few seconds: `quick` leaves them to `all`.
const SLOW: [&str; 3] = ["commit_row", "public_row", "respond_row"];
const USAGE: &str = "usage: mldsa-proofs [aarch64] quick | all | rows TEXT | semantics | faults N
       mldsa-proofs all --write | --elf PATH";
/// The exit status if a tool or a target is missing.
const NOT_RUN: u8 = 77;

/// What a command established; `None` if it could not run.
type Outcome = Result<Option<bool>, String>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // Panics of the domain are open statements, not messages.
    std::panic::set_hook(Box::new(|_| {}));
    match run(&arguments.iter().map(String::as_str).collect::<Vec<_>>()) {
        Ok(Some(true)) => ExitCode::SUCCESS,
        Ok(Some(false)) => ExitCode::FAILURE,
        Ok(None) => ExitCode::from(NOT_RUN),
        Err(text) => {
            eprintln!("{text}");
            ExitCode::from(2)
        }
    }
}

fn run(arguments: &[&str]) -> Outcome {
    // Links every backend into this program, which is the one that is checked.
    let here: Vec<_> = mldsa_core::Backend::available()
        .map(mldsa_core::Backend::name)
        .collect();
    println!("backends of this CPU: {}", here.join(" "));
    let own = std::env::current_exe().map_err(|e| e.to_string())?;
    match arguments {
        ["all"] => {
            let here = all(&own)?;
            Ok(match aarch64_program()? {
                None if here => None,
                None => Some(false),
                Some(program) => Some(here & all(&program)?),
            })
        }
        ["all", "--write"] => {
            let Some(other) = aarch64_program()? else {
                return Ok(None);
            };
            let mut rows = reports(&own, &|_| true, 4)?;
            rows.extend(reports(&other, &|_| true, 4)?);
            let names: Vec<_> = BACKENDS.iter().chain(&AARCH64_BACKENDS).collect();
            let names: Vec<_> = names.iter().map(|(name, _)| *name).collect();
            ledger::write(&rows, &names)?;
            Ok(Some(true))
        }
        ["--elf", path] => {
            let reports = reports(Path::new(path), &|_| true, 1)?;
            same_as_ledger(&reports).map(Some)
        }
        ["aarch64", rest @ ..] => match aarch64_program()? {
            Some(program) => command(&program, rest).map(Some),
            None => Ok(None),
        },
        rest => command(&own, rest).map(Some),
    }
}

/// The program that is checked for AArch64, if it can be built and its instructions compared.
fn aarch64_program() -> Result<Option<PathBuf>, String> {
    match aarch64::lacking() {
        None => aarch64::build().map(Some),
        Some(reason) => {
            println!("AArch64: NOT RUN, {reason}");
            Ok(None)
        }
    }
}

/// A command about one program.
fn command(program: &Path, arguments: &[&str]) -> Result<bool, String> {
    match arguments {
        ["quick"] => {
            let reports = reports(program, &|row| !SLOW.contains(&row.kernel), 1)?;
            same_as_ledger(&reports)
        }
        ["all"] => all(program),
        ["rows", text] => {
            let reports = reports(
                program,
                &|row| format!("{} {}", row.kernel, row.parameter).contains(text),
                1,
            )?;
            Ok(reports.iter().all(Report::is_proved))
        }
        ["semantics"] => semantics(program),
        ["faults", count] => faults(program, count.parse().map_err(|_| USAGE)?),
        _ => Err(USAGE.into()),
    }
}

/// All rows as the ledger has them, and all forms of instructions.
fn all(program: &Path) -> Result<bool, String> {
    let reports = reports(program, &|_| true, 4)?;
    Ok(same_as_ledger(&reports)? & semantics(program)?)
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

/// Backends of the program: name of the rows, and that of the table.
fn backends(is_aarch64: bool) -> &'static [(&'static str, &'static str)] {
    if is_aarch64 {
        &AARCH64_BACKENDS
    } else {
        &BACKENDS
    }
}

/// The rows of a program.
fn rows(is_aarch64: bool) -> Vec<Row> {
    let mut rows = statements::rows();
    if is_aarch64 {
        rows.extend(aarch64::rows());
    }
    rows
}

/// The program, and copies of it in which a variable has each of its values.
struct Program {
    image: Image,
    answers: Vec<Image>,
}

impl Program {
    fn load(path: &Path) -> Result<Self, String> {
        let image = Image::load(path)?;
        let answers = if image.is_aarch64() {
            aarch64::choose(&|| Image::load(path))?
        } else {
            Vec::new()
        };
        Ok(Self { image, answers })
    }

    fn of(&self, row: &Row) -> &Image {
        row.answer.map_or(&self.image, |n| &self.answers[n])
    }

    fn of_mut(&mut self, row: &Row) -> &mut Image {
        row.answer
            .map_or(&mut self.image, |n| &mut self.answers[n])
    }
}

/// A row of a backend with its address.
type Place = (&'static str, u64, Row);

fn places(image: &Image, wanted: &dyn Fn(&Row) -> bool) -> Result<Vec<Place>, String> {
    let entries = entries()?;
    let is_aarch64 = image.is_aarch64();
    let mut places = Vec::new();
    for &(backend, name) in backends(is_aarch64) {
        let tables = image.table(name);
        let [table] = tables[..] else {
            return Err(format!(
                "{} kernel tables of the name {name}",
                tables.len()
            ));
        };
        let rows = rows(is_aarch64);
        // Rows of this backend replace those of all.
        let own: BTreeSet<_> = rows
            .iter()
            .filter(|row| row.backend == Some(backend))
            .map(|row| row.kernel)
            .collect();
        for row in rows {
            let is_here = match row.backend {
                Some(only) => only == backend,
                None => !own.contains(row.kernel),
            };
            if !is_here || !wanted(&row) {
                continue;
            }
            let entry = match row.function {
                Some(name) => match image.functions(&[name])[..] {
                    [entry] => entry,
                    _ => return Err(format!("no function {name}")),
                },
                None => {
                    let at = entries
                        .iter()
                        .position(|entry| *entry == row.kernel)
                        .ok_or("an entry without a name")?;
                    *image
                        .pointers
                        .get(&(table + 16 + 8 * at as u64))
                        .ok_or("an entry without an address")?
                }
            };
            places.push((backend, entry, row));
        }
    }
    // Every entry has a row or a reason.
    let with_rows: BTreeSet<_> = statements::rows().iter().map(|row| row.kernel).collect();
    for entry in &entries {
        let known = with_rows.contains(&entry[..])
            || statements::WITHOUT_ROWS
                .iter()
                .any(|(name, _)| name == entry);
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
    let program = Program::load(program)?;
    let is_aarch64 = program.image.is_aarch64();
    let all = places(&program.image, wanted)?;
    let (next, done) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    // Rows hold closures: a thread makes its own.
    let list: Vec<_> = all
        .iter()
        .map(|(backend, entry, row)| {
            let key = (row.kernel, row.parameter.clone(), row.backend);
            (*backend, *entry, key)
        })
        .collect();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            let work = || {
                let rows = rows(is_aarch64);
                loop {
                    let n = next.fetch_add(1, Ordering::Relaxed);
                    let Some((backend, entry, key)) = list.get(n) else {
                        break;
                    };
                    let Some(row) = rows
                        .iter()
                        .find(|row| (row.kernel, row.parameter.clone(), row.backend) == *key)
                    else {
                        break;
                    };
                    let image = program.of(row);
                    let report = statements::prove(image, backend, *entry, row, 0..stacks);
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
    for (backend, _) in backends(is_aarch64) {
        let rows: Vec<_> = reports.iter().filter(|r| r.backend == *backend).collect();
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
    let program = Program::load(program)?;
    let mut met = BTreeMap::new();
    for (_, entry, row) in places(&program.image, &|_| true)? {
        let (machine, _) = row::execute(program.of(&row), entry, &row.arguments, 0);
        met.extend(machine.met);
    }
    println!("instructions met, without repetitions: {}", met.len());
    let (compared, bad) = if program.image.is_aarch64() {
        aarch64::compare(&program.image, &met)?
    } else {
        semantics::compare(&program.image, &met)?
    };
    bad.iter().for_each(|text| println!("{text}"));
    println!(
        "forms that agree with the CPU: {compared}; that differ or were not compared: {}",
        bad.len()
    );
    Ok(bad.is_empty())
}

/// Faults of the rows that take little time, `count` of code and a fifth of tables in each.
fn faults(program: &Path, count: usize) -> Result<bool, String> {
    let mut program = Program::load(program)?;
    let (mut refused, mut harmless) = (0, 0);
    for (n, (backend, entry, row)) in places(&program.image, &|row| !SLOW.contains(&row.kernel))?
        .into_iter()
        .enumerate()
    {
        let report = statements::prove(program.of(&row), backend, entry, &row, 0..1);
        // Only a row that is proved says something when it is refused.
        if !report.is_proved() {
            continue;
        }
        let seed = 0x9e37_79b9_7f4a_7c15u64.wrapping_mul(n as u64 + 1);
        let tally = faults::inject(
            program.of_mut(&row),
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
