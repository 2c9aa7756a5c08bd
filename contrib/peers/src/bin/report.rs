//! Single operations of every implementation as multiples of the speed of the most widely used one, with a
//! chart, and the memory of key sets.
//!
//! `cargo run --release --manifest-path contrib/peers/Cargo.toml --bin report [-- --quick]`

use core::error::Error;
use core::time::Duration;
use std::fs;
use std::path::PathBuf;

use batch_verify::{Committee, KeyStorage, Threads};
use benches::table::Table;
use benches::{Op, Part, Plan, Score, Set, cells, cpu_name, pin, score, us};
use charts::{Bar, Frame};
use clap::Parser;
use mldsa_core::{ParameterSet, SigningKey, with_set};

/// Counts heap memory. While no count is requested, an allocation takes one lock more.
#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

/// Measures and prints the report.
#[derive(Parser)]
struct Options {
    /// Fewer samples: less than three minutes.
    #[arg(long)]
    quick: bool,
    /// Measure this section only.
    #[arg(long)]
    only: Option<Section>,
    /// Output directory of the chart.
    #[arg(long, default_value = "target/report")]
    out: PathBuf,
    /// Seed of the inputs.
    #[arg(long, default_value_t = 7)]
    seed: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Section {
    Libraries,
    Memory,
}

/// Implementation that ratios compare with: the most widely used one.
const REFERENCE: &str = "aws-lc-rs";
/// Parameter set of the chart.
const DRAWN_SET: Set = Set::MlDsa65;
/// Groups of bars in the chart.
const DRAWN: [(Op, &str); 4] = [
    (
        Op::VerifyPrepared,
        "Verify, prepared key (aws-lc-rs: encoded key)",
    ),
    (Op::VerifyCold, "Verify, encoded key"),
    (Op::Sign, "Sign"),
    (Op::Keygen, "Generate a key"),
];

fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::parse();
    // An unusable directory is reported before the measurements.
    fs::create_dir_all(&options.out)?;
    pin();
    println!("{}\n{}", circumstances(), command());
    if options.only != Some(Section::Memory) {
        libraries(&options)?;
    }
    if options.only != Some(Section::Libraries) {
        println!("\n{}", memory(&options).markdown());
    }
    Ok(())
}

/// CPU, date and compiler.
fn circumstances() -> String {
    let date = jiff::Timestamp::now().strftime("%Y-%m-%d");
    let cpu = cpu_name().unwrap_or("unnamed CPU");
    format!("{cpu}, {date}, {}", env!("BENCHES_RUSTC"))
}

/// Command line without the path of the program.
fn command() -> String {
    let release = match cfg!(debug_assertions) {
        true => "",
        false => " --release",
    };
    let mut command =
        format!("cargo run{release} --manifest-path contrib/peers/Cargo.toml --bin report");
    for (n, argument) in std::env::args().skip(1).enumerate() {
        command.push_str(if n == 0 { " -- " } else { " " });
        command.push_str(&argument);
    }
    command
}

/// Measures all implementations, prints the table and draws the chart.
fn libraries(options: &Options) -> Result<(), Box<dyn Error>> {
    let mut table = Table::new(&[
        "set",
        "operation",
        "implementation",
        "time_us",
        "median_us",
        "x_aws-lc-rs",
        "calls",
    ]);
    let mut groups = DRAWN.map(|(_, name)| (name.to_owned(), Vec::new()));
    let plan = Plan {
        validators: 8,
        messages: if options.quick { 100 } else { 1000 },
        time: Duration::from_millis(if options.quick { 400 } else { 4000 }),
        seed: options.seed,
    };
    for set in Set::ALL {
        for part in [Part::Keygen, Part::Sign, Part::Verify] {
            let scores = score(set, part, plan, |_| true);
            for one in &scores {
                let op = one.contender.op;
                let is_reference = |other: &&Score| {
                    other.contender.peer == REFERENCE && other.contender.op == op.reference()
                };
                let reference = scores.iter().find(is_reference);
                let ratio = reference.map(|reference| figure(reference) / figure(one));
                table.push(cells![
                    set.name(),
                    op.name(),
                    one.contender.title(),
                    figure(one),
                    us(one.samples.median() as f64),
                    ratio,
                    one.samples.len(),
                ]);
                let group = DRAWN.iter().position(|(drawn, _)| *drawn == op);
                if let (Some(group), Some(value), DRAWN_SET) = (group, ratio, set) {
                    groups[group].1.push(Bar {
                        label: one.contender.title(),
                        value,
                        highlighted: one.contender.peer == "ours",
                    });
                }
            }
        }
    }
    println!("\n{}", table.markdown());
    let title = format!(
        "{}, times as fast as {REFERENCE} (longer is faster)",
        DRAWN_SET.name()
    );
    let frame = Frame {
        title: &title,
        caption: [&circumstances(), &command()],
    };
    let svg = charts::bars(frame, &format!("times as fast as {REFERENCE}"), &groups)?;
    fs::write(options.out.join("libraries.svg"), svg)?;
    Ok(())
}

/// Microseconds that ratios are made of: the mean for signing, whose attempts depend on the message, and
/// the minimum for everything else.
fn figure(one: &Score) -> f64 {
    match one.contender.op.reference() {
        Op::Sign => us(one.samples.mean()),
        _ => us(one.samples.min() as f64),
    }
}

/// Returns the heap held by key sets, for each key, and the maximum while a set is built.
fn memory(options: &Options) -> Table {
    let columns = [
        "set",
        "keys",
        "form",
        "held_bytes",
        "key_bytes",
        "peak_bytes",
    ];
    let mut table = Table::new(&columns);
    let sizes = if options.quick {
        &[64][..]
    } else {
        &[16, 64, 1024]
    };
    for set in Set::ALL {
        with_set!(set, P => key_sets::<P>(&mut table, sizes));
    }
    table
}

fn key_sets<P: ParameterSet>(table: &mut Table, sizes: &[usize]) {
    let seed = |n: usize| {
        let mut seed = [0x4d; 32];
        seed[..8].copy_from_slice(&(n as u64).to_le_bytes());
        seed
    };
    let most = sizes.iter().copied().max().unwrap_or(0);
    let seeds: Vec<_> = (0..most).map(seed).collect();
    let keys: Vec<SigningKey<P>> = SigningKey::from_seeds(&seeds);
    let forms = [
        ("wide", KeyStorage::Wide),
        ("packed", KeyStorage::Packed),
        ("compact", KeyStorage::Compact),
    ];
    for &size in sizes {
        for (form, storage) in forms {
            let builder = Committee::<P>::builder(b"").key_storage(storage);
            let builder = builder.threads(Threads::Inline);
            let members = keys[..size].iter().map(|key| (key.verifying_key(), 1));
            let profiler = dhat::Profiler::builder().testing().build();
            let committee = builder.build(members);
            let stats = dhat::HeapStats::get();
            drop(profiler);
            committee.expect("distinct keys");
            let held = stats.curr_bytes;
            table.push(cells![
                P::NAME,
                size,
                form,
                held,
                held / size,
                stats.max_bytes
            ]);
        }
    }
}
