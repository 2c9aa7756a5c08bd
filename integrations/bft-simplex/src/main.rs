//! `bft-simplex --net sim --validators 16 --views 50 --set 65`; `--help` lists the rest.

use std::process::ExitCode;
use std::sync::Arc;

use bft_simplex::{Options, RunError, run};
use clap::Parser as _;

fn main() -> ExitCode {
    let options = Options::parse();
    let rows = run(&options, &(Arc::new(|_: &_| {}) as _));
    let printed = rows.and_then(|rows| {
        measure::print(&rows, options.json).map_err(RunError::Json)?;
        Ok(())
    });
    match printed {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bft-simplex: {error}");
            ExitCode::FAILURE
        }
    }
}
