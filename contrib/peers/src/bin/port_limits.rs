//! Lower bound that the execution ports of a CPU with AVX-512 set for each verification, and what is
//! reached.
//!
//! `cargo run --release --manifest-path contrib/peers/Cargo.toml --bin port_limits`
//!
//! Each operation is stepped through once, and its instructions on 512-bit registers are counted by
//! the port they need. Intel's cores have two such ports: one multiplies and shifts, the other permutes,
//! compares and compresses, both add and do logic. The core takes six instructions of any kind a
//! cycle. No program keeps all ports busy all the time; other CPUs have other ports. Cycles are
//! converted to ticks by a chain of multiplications of three cycles each.

use core::error::Error;
use std::process::ExitCode;

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[path = "port_limits/executed.rs"]
mod executed;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("port_limits: {error}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn run() -> Result<(), Box<dyn Error>> {
    Err("steps through x86-64 code on Linux".into())
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn run() -> Result<(), Box<dyn Error>> {
    use clap::Parser as _;

    /// Lower bound by execution ports, and measured time, of verification with AVX-512.
    #[derive(clap::Parser)]
    struct Options {
        /// Seconds per parameter set
        #[arg(long, default_value_t = 4)]
        seconds: u64,
        /// Internal: the process that is stepped through
        #[arg(long, hide = true)]
        traced: bool,
    }
    let options = Options::parse();
    if mldsa_core::Backend::detect().name() != "avx512" {
        return Err("the CPU has no AVX-512, or not all of it".into());
    }
    if options.traced {
        return table::traced();
    }
    table::print(options.seconds)
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod table {
    use core::error::Error;
    use core::hint::black_box;
    use core::time::Duration;
    use std::rc::Rc;

    use benches::{Budget, Contender, Inputs, Op, Part, Set, Stream, contenders, measure, now};
    use mldsa_gates::ptrace_step::wait_for_tracer;

    use super::executed::executed;

    /// Instructions a cycle.
    const WIDTH: f64 = 6.0;

    /// Operations of `mldsa-core` with AVX-512, then that of `aws-lc-rs`.
    fn of(set: Set) -> Vec<Contender> {
        let mut stream = Stream::new(1);
        let inputs = Rc::new(Inputs::random(set, 8, 64, &mut stream));
        let mut all = contenders(Part::Verify, &inputs);
        all.retain(|contender| {
            let ours = contender.peer == "ours" && contender.backend == "avx512";
            ours || contender.peer == "aws-lc-rs" && contender.op == Op::VerifyCold
        });
        all
    }

    pub(super) fn traced() -> Result<(), Box<dyn Error>> {
        wait_for_tracer()?;
        for set in Set::ALL {
            let mut all = of(set);
            all.pop();
            benches::instructions::traced(&mut all)?;
        }
        Ok(())
    }

    /// Cycles in one tick.
    fn cycles_per_tick() -> f64 {
        const CHAIN: u64 = 100_000;
        let best = (0..200).map(|_| {
            let begin = now();
            let mut x = black_box(3_u64);
            for _ in 0..CHAIN / 10 {
                for _ in 0..10 {
                    x = x.wrapping_mul(x);
                }
            }
            black_box(x);
            now() - begin
        });
        3.0 * CHAIN as f64 / best.min().unwrap_or(1) as f64
    }

    pub(super) fn print(seconds: u64) -> Result<(), Box<dyn Error>> {
        benches::pin();
        let time = Duration::from_secs(seconds);
        let budget = Budget { time, cases: 64 };
        let (mut measured, mut ratio) = (Vec::new(), 0.0_f64);
        for set in Set::ALL {
            let mut all = of(set);
            let samples = measure(&mut all, budget);
            ratio = ratio.max(cycles_per_tick());
            measured.push((set, all, samples));
        }
        let mut process = std::process::Command::new(std::env::current_exe()?);
        let mut counted = executed(process.arg("--traced"))?.into_iter();
        println!(
            "| set | operation | instructions | port 0 | port 5 | either | limit, cycles | limit, ticks \
             | measured | over the limit | x aws-lc-rs | at the limit |\n\
             |---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|"
        );
        for (set, all, samples) in &measured {
            let peer = samples.last().map_or(0, benches::Samples::min) as f64;
            for ((contender, samples), executed) in all
                .iter()
                .zip(samples)
                .zip(counted.by_ref().take(all.len() - 1))
            {
                let each = contender.width as f64;
                let [first, second, either] = executed.ports.map(|count| count as f64 / each);
                let instructions = executed.instructions as f64 / each;
                let cycles = (executed.cycles() / each).max(instructions / WIDTH);
                let (ticks, least) = (cycles / ratio, samples.min() as f64);
                println!(
                    "| {} | {} | {instructions:.0} | {first:.0} | {second:.0} | {either:.0} \
                     | {cycles:.0} | {ticks:.0} | {least} | {:.2} | {:.2} | {:.2} |",
                    set.name(),
                    contender.op.name(),
                    least / ticks,
                    peer / least,
                    peer / ticks,
                );
            }
        }
        println!("\n{ratio:.2} cycles in a tick");
        Ok(())
    }
}
