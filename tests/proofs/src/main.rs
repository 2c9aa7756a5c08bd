//! Checks of the machine code of the kernels of `mldsa-core`, for all inputs, on the program
//! that is linked: `docs/proofs.md`.

mod arithmetic;
mod audit;
mod bounds;
mod domain;
mod evaluate;
mod exhaust;
mod faults;
mod forms;
mod hints;
mod image;
mod keccak;
mod ledger;
mod machine;
mod memory;
mod mutants;
mod one_instruction;
mod operands;
mod parallel;
mod places;
mod prove;
mod readings;
mod reference;
mod reference_vectors;
mod row;
mod rows;
mod scalar;
mod scheme;
mod semantics;
mod statements;
mod terms;
mod vector;
mod vector_arithmetic;
mod vector_moves;
mod vector_shuffles;
mod verdict;
mod words;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

use image::Image;
use places::{BACKENDS, places};
use prove::reports;
use row::Report;

/// Rows that take more than a few seconds: `quick` leaves them to `all`.
const SLOW: [&str; 3] = ["commit_row", "public_row", "respond_row"];
const USAGE: &str = "usage: mldsa-proofs [quick | all [--write] | rows TEXT | semantics | reference | hints | faults [CODE TABLES] | mutants | --elf PATH]";

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
    core::hint::black_box(
        mldsa_core::internals::hint::Hint::hint_bit_unpack_vartime as fn(_, _) -> _,
    );
    let own = std::env::current_exe().map_err(|e| e.to_string())?;
    match arguments {
        ["quick"] => {
            let reports = reports(&own, &|_, row| !SLOW.contains(&row.kernel), 1)?;
            Ok(same_as_ledger(&reports)? & bounds::check())
        }
        ["all"] => {
            let reports = reports(&own, &|_, _| true, 4)?;
            Ok(same_as_ledger(&reports)? & bounds::check() & semantics(&own)?)
        }
        ["all", "--write"] => {
            let reports = reports(&own, &|_, _| true, 4)?;
            ledger::write(&reports, &BACKENDS)?;
            Ok(true)
        }
        ["rows", text] => {
            let reports = reports(
                &own,
                &|backend, row| {
                    format!("{backend}::{} {}", row.kernel, row.parameter).contains(text)
                },
                1,
            )?;
            Ok(reports.iter().all(Report::is_proved))
        }
        ["semantics"] => semantics(&own),
        ["faults"] => faults::run(&own, [1000, 200]),
        ["faults", code, tables] => {
            let number = |text: &str| text.parse().map_err(|_| USAGE);
            faults::run(&own, [number(code)?, number(tables)?])
        }
        ["mutants"] => mutants::run(&own),
        ["hints"] => hints::check(&Image::load(&own)?),
        ["reference"] => reference_vectors::compare(),
        ["--elf", path] => {
            let reports = reports(Path::new(path), &|_, _| true, 1)?;
            let found: Vec<_> = BACKENDS
                .into_iter()
                .filter(|backend| reports.iter().any(|r| r.backend == *backend))
                .collect();
            println!("found: kernel tables of {}", found.join(", "));
            println!(
                "proved: {} of {} rows",
                reports.iter().filter(|r| r.is_proved()).count(),
                reports.len()
            );
            let without: Vec<_> = rows::WITHOUT_ROWS.iter().map(|row| row.0).collect();
            println!(
                "not covered: {}; and all code outside the kernel tables",
                without.join(", ")
            );
            same_as_ledger(&reports)
        }
        _ => Err(USAGE.into()),
    }
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
    for (_, entry, row) in places(&image, &|_, _| true)? {
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
