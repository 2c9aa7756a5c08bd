//! Writes vectors of EIP-8355 in the form of execution clients' tests: `vectors FILE`.

use std::process::ExitCode;

use evm_bench::cases::precompile;
use mldsa_evm_precompile::{Precompile as _, Set};
use serde_json::json;

fn main() -> ExitCode {
    let Some(file) = std::env::args().nth(1) else {
        eprintln!("usage: vectors FILE");
        return ExitCode::FAILURE;
    };
    let sets = Set::ALL.into_iter().zip([44, 65, 87]);
    let vectors: Vec<_> = sets
        .flat_map(|(set, number)| {
            let cases = precompile(number).into_iter();
            cases.map(move |(name, input, valid)| {
                json!({
                    "Name": format!("mldsa{number}, {name}"),
                    "Input": hex::encode(&input),
                    "Expected": format!("{:064x}", u8::from(valid)),
                    "Gas": set.gas(input.len()),
                    "NoBenchmark": false,
                })
            })
        })
        .collect();
    match std::fs::write(&file, serde_json::Value::from(vectors).to_string() + "\n") {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{file}: {error}");
            ExitCode::FAILURE
        }
    }
}
