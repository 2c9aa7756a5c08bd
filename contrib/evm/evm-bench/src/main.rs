//! Prints the gas of every variant and writes it to files.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use clap::Parser;
use evm_bench::gas::{NEXT, TODAY, revm_version};
use evm_bench::rows::{self, Origin};
use mldsa_evm_gen::lanes::Layout;

mod measure;

/// Gas of ML-DSA verification in the EVM, by variant.
#[derive(Parser)]
struct Arguments {
    /// Write the rows as JSON, one object a line
    #[arg(long, value_name = "FILE")]
    jsonl: Option<PathBuf>,
    /// Write the rows as CSV
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("evm-bench: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let origin = origin()?;
    println!("{} at {}, {}", origin.repo, origin.commit, origin.time);
    println!("revm {}", revm_version());
    let mut table = measure::Table::default();
    for rules in [TODAY, NEXT] {
        println!("\n== {}", rules.title);
        for layout in Layout::all() {
            measure::measure(rules, layout, &mut table);
        }
        measure::ecrecover(rules, &mut table);
    }
    table.print();
    let mut rows = table.rows;
    rows.extend(rows::published());
    rows::check(&rows)?;
    println!("\nPublished by others");
    for row in rows::published() {
        println!(
            "{:<15} {:<31} {:>10} {:>7.0}/bit  {}",
            row.scheme,
            row.bench,
            row.gas,
            row.gas as f64 / rows::equivalent_bits(&row.scheme) as f64,
            row.notes
        );
    }
    let write = |file: &Option<PathBuf>, text: fn(&[rows::Row], &Origin) -> String| {
        file.as_ref().map_or(Ok(()), |file| {
            std::fs::write(file, text(&rows, &origin))
                .map_err(|error| format!("{}: {error}", file.display()))
        })
    };
    write(&arguments.jsonl, rows::jsonl)?;
    write(&arguments.csv, rows::csv)?;
    Ok(())
}

fn origin() -> Result<Origin, Box<dyn Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let head = Command::new("git")
        .arg("-C")
        .arg(&root)
        .args(["rev-parse", "--short=12", "HEAD"])
        .output();
    let commit = head
        .ok()
        .filter(|output| output.status.success())
        .and_then(|output| String::from_utf8(output.stdout).ok());
    Ok(Origin {
        time: now()?,
        // The project's name in the dataset, independent of the clone's address.
        repo: "mldsa".to_owned(),
        commit: commit.map_or_else(|| "unknown".to_owned(), |text| text.trim().to_owned()),
    })
}

/// The time in UTC as RFC 3339 writes it.
fn now() -> Result<String, Box<dyn Error>> {
    let output = Command::new("date")
        .args(["-u", "+%Y-%m-%dT%H:%M:%SZ"])
        .output()?;
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}
