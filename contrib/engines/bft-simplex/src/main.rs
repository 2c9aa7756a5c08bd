//! `bft-simplex --net sim --validators 16 --views 50 --set ML-DSA-65`; `--help` lists the options.

use std::process::ExitCode;

use bft_simplex::{Options, run};
use clap::Parser as _;

fn main() -> ExitCode {
    let options = Options::parse();
    harness::finish(run(&options), options.common.json)
}
