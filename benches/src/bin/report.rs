//! `cargo run --release -p benches --bin report [-- --quick]`: every comparison and every
//! figure of memory as one report, in `target/report`: Markdown with drawings, JSON lines,
//! CSV, and an HTML page that needs no other file.

use core::error::Error;
use core::iter::successors;
use std::path::PathBuf;
use std::time::Instant;
use std::{fs, thread};

use benches::report::render::{self, Run};
use benches::report::{Effort, Measure, Part, batches, libraries, memory, schemes};
use benches::{Runner, cpu_name, pin};
use clap::Parser;
use mldsa_core::Backend;

/// What heap is counted with. While nobody counts, a block costs the timed calls one
/// lock.
#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

/// Writes and prints the report.
#[derive(Parser)]
struct Options {
    /// A fraction of the samples, in less than three minutes.
    #[arg(long)]
    quick: bool,
    /// This section only; may be given several times.
    #[arg(long)]
    only: Vec<Name>,
    /// Where the report goes.
    #[arg(long, default_value = "target/report")]
    out: PathBuf,
    /// Seed of the inputs.
    #[arg(long, default_value_t = 7)]
    seed: u64,
}

/// The sections.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Name {
    Schemes,
    Libraries,
    Batches,
    Memory,
}

/// In order.
const SECTIONS: [(Name, Measure); 4] = [
    (Name::Schemes, schemes::section),
    (Name::Libraries, libraries::section),
    (Name::Batches, batches::section),
    (Name::Memory, memory::section),
];

fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::parse();
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let run = Run {
        cpu: cpu_name().unwrap_or("a CPU without a name").to_owned(),
        date: jiff::Timestamp::now().strftime("%Y-%m-%d").to_string(),
        command: command(),
        rustc: env!("BENCHES_RUSTC"),
        backend: Backend::detect().name(),
        threads,
        load: load(),
        seed: options.seed,
    };
    // Rather now than after the minutes that it takes.
    fs::create_dir_all(&options.out)?;
    println!("{}", run.markdown());
    // Before this thread is pinned: threads inherit that.
    let sizes = successors(Some(1), |n| Some(n * 2)).take_while(|n| *n < threads);
    let pools = sizes.chain([threads]).map(Runner::pool).collect();
    pin();
    let effort = Effort {
        quick: options.quick,
        seed: options.seed,
        pools,
    };
    let mut sections = Vec::new();
    for (name, measure) in SECTIONS {
        if options.only.is_empty() || options.only.contains(&name) {
            let begin = Instant::now();
            let section = measure(&effort)?;
            println!("\n## {}", section.title);
            for part in &section.parts {
                if let Part::Table(table) = part
                    && table.main
                {
                    print!("\n{}", table.markdown());
                }
            }
            eprintln!("{}: {:.0} s", section.title, begin.elapsed().as_secs_f64());
            sections.push(section);
        }
    }
    render::write(&options.out, &run, &sections)?;
    println!("\n{}", options.out.join("report.html").display());
    Ok(())
}

/// What was typed, as far as it matters.
fn command() -> String {
    let release = if cfg!(debug_assertions) {
        ""
    } else {
        " --release"
    };
    let mut command = format!("cargo run{release} -p benches --bin report");
    for (n, argument) in std::env::args().skip(1).enumerate() {
        command.push_str(if n == 0 { " -- " } else { " " });
        command.push_str(&argument);
    }
    command
}

/// The load of the last minute, where the system tells.
fn load() -> Option<f64> {
    let load = fs::read_to_string("/proc/loadavg").ok()?;
    load.split_whitespace().next()?.parse().ok()
}
