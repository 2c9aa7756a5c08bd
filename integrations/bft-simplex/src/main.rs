//! `bft-simplex --net sim --validators 16 --views 50 --set 65`; `--help` lists the options.

use std::process::ExitCode;
use std::sync::Arc;

use bft_simplex::{Options, run};
use clap::Parser as _;

fn main() -> ExitCode {
    let options = Options::parse();
    let rows = run(&options, &(Arc::new(|_: &_| {}) as _));
    harness::finish(rows, options.common.json)
}
