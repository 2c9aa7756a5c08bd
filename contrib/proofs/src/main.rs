//! Checks of the machine code of the kernels of `mldsa-core`, for all inputs, on the program
//! that is linked: `LEDGER.md`.

mod aarch64;
mod arithmetic;
mod audit;
mod bounds;
mod builds;
mod domain;
#[cfg(test)]
mod domain_fuzz;
mod evaluate;
mod exhaust;
mod faults;
mod features;
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
mod operations;
mod parallel;
mod permutations;
mod places;
mod prove;
mod readings;
mod rejection;
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

use builds::Build;
use places::{AARCH64_BACKENDS, BACKENDS, Program};
use prove::{print, print_open, reports};
use row::Report;

/// Rows that take more than a few seconds: `quick` leaves them to `all`.
const SLOW: [&str; 5] = [
    "commit_row",
    "expand_a",
    "expand_s",
    "public_row",
    "respond_row",
];
const USAGE: &str =
    "usage: mldsa-proofs [aarch64] quick | all | rows TEXT | operations [TEXT] | semantics [TEXT]
       mldsa-proofs [aarch64] faults [CODE TABLES]
       mldsa-proofs all --write | reference | hints | mutants | --elf PATH [KERNEL OR BACKEND LEFT OUT ..]";
/// The exit status if a tool or a target is missing.
const NOT_RUN: u8 = 77;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // A panic in the abstract domain makes a row open and prints nothing.
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

/// The result of a command; `None` if it could not run.
fn run(arguments: &[&str]) -> Result<Option<bool>, String> {
    if arguments == [operations::LIST] {
        return operations::print().map(|()| Some(true));
    }
    // Links every backend into this program, which is the one that is checked.
    let here: Vec<_> = mldsa_core::Backend::available()
        .map(mldsa_core::Backend::name)
        .collect();
    println!("backends of this CPU: {}", here.join(" "));
    core::hint::black_box(
        mldsa_core::internals::hint::Hint::hint_bit_unpack_vartime as fn(_, _) -> _,
    );
    let own = || Program::load(&std::env::current_exe().map_err(|e| e.to_string())?);
    match arguments {
        ["all"] => {
            let here = all(&own()?)?;
            Ok(match aarch64_program()? {
                Some(program) => Some(here & all(&program)?),
                None => (!here).then_some(false),
            })
        }
        ["all", "--write"] => {
            let Some(other) = aarch64_program()? else {
                return Ok(None);
            };
            let (mut rows, mut is_right) = (Vec::new(), true);
            for program in [&own()?, &other] {
                let found = reports(program, &|_, _, _| true, 4, print)?;
                is_right &= complete(program, &found, &[]);
                rows.extend(found);
            }
            ledger::write(&rows, &[&BACKENDS[..], &AARCH64_BACKENDS].concat())?;
            Ok(Some(is_right))
        }
        ["mutants"] => match aarch64_program()? {
            Some(program) => mutants::run(&own()?, &program).map(Some),
            None => Ok(None),
        },
        ["hints"] => hints::check(&own()?.image).map(Some),
        ["reference"] => reference_vectors::compare().map(Some),
        ["--elf", path, left_out @ ..] => of_user(&Program::load(Path::new(path))?, left_out),
        ["aarch64", rest @ ..] => match aarch64_program()? {
            Some(program) => command(&program, rest).map(Some),
            None => Ok(None),
        },
        rest => command(&own()?, rest).map(Some),
    }
}

/// The program that is checked for AArch64, if it can be built and its instructions compared.
fn aarch64_program() -> Result<Option<Program>, String> {
    match aarch64::lacking() {
        None => Program::load(&Build::Aarch64.program()?).map(Some),
        Some(reason) => {
            println!("AArch64: NOT RUN, {reason}");
            Ok(None)
        }
    }
}

/// A command about one program.
fn command(program: &Program, arguments: &[&str]) -> Result<bool, String> {
    match arguments {
        ["quick"] => {
            let reports = reports(program, &|_, kernel, _| !SLOW.contains(&kernel), 1, print)?;
            // Only `all --write` can add rows to the page: here they are named.
            listed(&reports)?;
            Ok(complete(program, &reports, &SLOW)
                & bounds::check()
                & operations::run(program, "ML-DSA-44")?.0)
        }
        ["all"] => all(program),
        ["rows", text] => {
            let reports = named(program, text)?;
            if reports.is_empty() {
                return Err(format!("no row has `{text}` in its name"));
            }
            Ok(reports.iter().all(Report::is_proved))
        }
        ["operations", text @ ..] => Ok(operations::run(program, &text.concat())?.0),
        ["semantics", text @ ..] => {
            let reports = named(program, &text.concat())?;
            semantics(
                program,
                &reports,
                operations::run(program, &text.concat())?.1,
            )
        }
        ["faults"] => faults::run(program, [1000, 200]),
        ["faults", code, tables] => {
            let number = |text: &str| text.parse().map_err(|_| USAGE);
            faults::run(program, [number(code)?, number(tables)?])
        }
        _ => Err(USAGE.into()),
    }
}

/// The rows whose names contain a text.
fn named(program: &Program, text: &str) -> Result<Vec<Report>, String> {
    let is_named = |backend: &str, kernel: &str, parameter: &str| {
        format!("{backend}::{kernel} {parameter}").contains(text)
    };
    reports(program, &is_named, 1, print)
}

/// All rows as the ledger has them, and all forms of instructions.
fn all(program: &Program) -> Result<bool, String> {
    let reports = reports(program, &|_, _, _| true, 4, print)?;
    let (whole, met) = operations::run(program, "")?;
    Ok(complete(program, &reports, &[])
        & listed(&reports)?
        & bounds::check()
        & whole
        & semantics(program, &reports, met)?)
}

/// The rows of any program that links the library, except for those of some kernels or backends, and
/// the forms of their instructions.
fn of_user(program: &Program, left_out: &[&str]) -> Result<Option<bool>, String> {
    let is_wanted = |backend: &str, kernel: &str, _: &str| {
        !left_out.contains(&kernel) && !left_out.contains(&backend)
    };
    let reports = reports(program, &is_wanted, 1, print_open)?;
    let found: Vec<&str> = BACKENDS
        .into_iter()
        .chain(AARCH64_BACKENDS)
        .filter(|backend| reports.iter().any(|r| r.backend == *backend))
        .collect();
    if found.is_empty() {
        return Err(format!(
            "{}: no row of a kernel table",
            program.path.display()
        ));
    }
    println!("found: kernel tables of {}", found.join(", "));
    println!(
        "proved: {} of {} rows",
        reports.iter().filter(|r| r.is_proved()).count(),
        reports.len()
    );
    let is_right = complete(program, &reports, left_out);
    let without: Vec<_> = rows::WITHOUT_ROWS.iter().map(|row| row.0).collect();
    println!(
        "not covered: {}; and all code outside the kernel tables",
        without.join(", ")
    );
    if program.image.is_aarch64()
        && let Some(reason) = aarch64::lacking()
    {
        println!("forms of instructions: NOT RUN, {reason}");
        return Ok((!is_right).then_some(false));
    }
    Ok(Some(
        is_right & semantics(program, &reports, BTreeMap::new())?,
    ))
}

/// Whether every row of the backends of this architecture was run and is proved.
fn complete(program: &Program, reports: &[Report], left_out: &[&str]) -> bool {
    let missing = ledger::missing(reports, &places::expected(&program.image), left_out);
    let unexpected = ledger::unexpected(reports);
    missing.iter().for_each(|row| println!("not run: {row}"));
    unexpected.iter().for_each(|row| println!("{row}"));
    println!(
        "rows that were not run: {}, that are open and not named: {}",
        missing.len(),
        unexpected.len()
    );
    missing.is_empty() && unexpected.is_empty()
}

/// Whether the ledger has every row.
fn listed(reports: &[Report]) -> Result<bool, String> {
    let unlisted = ledger::unlisted(reports)?;
    unlisted
        .iter()
        .for_each(|row| println!("not in LEDGER.md: {row}"));
    Ok(unlisted.is_empty())
}

/// Compares every form of instruction that the rows execute, and those that were met besides.
fn semantics(
    program: &Program,
    reports: &[Report],
    mut met: BTreeMap<Vec<u8>, u64>,
) -> Result<bool, String> {
    let image = &program.image;
    for &(at, len) in reports.iter().flat_map(|report| &report.code) {
        let code = image.code(at).ok_or("an instruction without code")?;
        met.insert(code[..len].to_vec(), at);
    }
    println!("instructions met, without repetitions: {}", met.len());
    let (compared, bad) = if image.is_aarch64() {
        semantics::compare::<aarch64::Instruction>(image, &met)?
    } else {
        semantics::compare::<iced_x86::Instruction>(image, &met)?
    };
    bad.iter().for_each(|text| println!("{text}"));
    println!(
        "forms that agree with the CPU: {compared}; that differ or were not compared: {}",
        bad.len()
    );
    Ok(bad.is_empty())
}
