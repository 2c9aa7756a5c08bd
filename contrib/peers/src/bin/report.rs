//! Report of all comparisons and memory figures on this machine, in `target/report`: Markdown with
//! charts, and JSON lines.
//!
//! `cargo run --release --manifest-path contrib/peers/Cargo.toml --bin report [-- --quick]`; with `MLDSA_BACKEND=avx2` (or
//! `portable`) the section `memory` runs on that backend.

use core::error::Error;
use std::path::PathBuf;
use std::time::Instant;
use std::{fs, thread};

use benches::report::{Measure, Part, Run, libraries, memory};
use benches::{cpu_name, pin};
use clap::Parser;
use mldsa_core::Backend;

/// Counts heap memory. While no count is requested, an allocation takes one lock more.
#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

/// Measures, prints and writes the report.
#[derive(Parser)]
struct Options {
    /// Fewer samples: less than three minutes.
    #[arg(long)]
    quick: bool,
    /// Measure this section only; can be repeated.
    #[arg(long)]
    only: Vec<Name>,
    /// Output directory.
    #[arg(long, default_value = "target/report")]
    out: PathBuf,
    /// Seed of the inputs.
    #[arg(long, default_value_t = 7)]
    seed: u64,
}

/// A section.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Name {
    Libraries,
    Memory,
}

const SECTIONS: [(Name, Measure); 2] = [
    (Name::Libraries, libraries::section),
    (Name::Memory, memory::section),
];

fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::parse();
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let run = Run {
        cpu: cpu_name().unwrap_or("unnamed CPU").to_owned(),
        date: jiff::Timestamp::now().strftime("%Y-%m-%d").to_string(),
        command: command(),
        rustc: env!("BENCHES_RUSTC"),
        backend: Backend::detect().name(),
        threads,
        load: load(),
        quick: options.quick,
        seed: options.seed,
    };
    // An unusable directory is reported before the measurements.
    fs::create_dir_all(&options.out)?;
    println!("{}", run.markdown());
    pin();
    let mut sections = Vec::new();
    for (name, measure) in SECTIONS {
        if options.only.is_empty() || options.only.contains(&name) {
            let begin = Instant::now();
            let section = measure(&run)?;
            println!("\n## {}", section.title);
            for part in &section.parts {
                if let Part::Table(table) = part {
                    print!("\n{}", table.markdown());
                }
            }
            eprintln!("{}: {:.0} s", section.title, begin.elapsed().as_secs_f64());
            sections.push(section);
        }
    }
    run.write(&options.out, &sections)?;
    println!("\n{}", options.out.join("report.md").display());
    Ok(())
}

/// Command line without the path of the program.
fn command() -> String {
    let release = if cfg!(debug_assertions) {
        ""
    } else {
        " --release"
    };
    let mut command =
        format!("cargo run{release} --manifest-path contrib/peers/Cargo.toml --bin report");
    for (n, argument) in std::env::args().skip(1).enumerate() {
        command.push_str(if n == 0 { " -- " } else { " " });
        command.push_str(&argument);
    }
    command
}

/// Load average of the last minute, on Linux.
fn load() -> Option<f64> {
    let load = fs::read_to_string("/proc/loadavg").ok()?;
    load.split_whitespace().next()?.parse().ok()
}
