//! Writes cases for another EVM or another verifier: `vectors FILE [SEED [COUNT]]`.
//!
//! JSON: for each set the tables, the codes of the key contracts, and cases with
//! public key, PreA form, commitment, matrix words, context, message, signature and the
//! core's verdict.

use std::process::ExitCode;

use evm_bench::cases::{Key, Random, case, verdict};
use mldsa_evm_gen::key::{ExpandedKey, parts};
use mldsa_evm_gen::lanes::Layout;
use mldsa_evm_gen::prea;
use mldsa_evm_gen::tables;
use serde_json::json;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(file) = arguments.next() else {
        eprintln!("usage: vectors FILE [SEED [COUNT]]");
        return ExitCode::FAILURE;
    };
    let seed = arguments.next().unwrap_or_else(|| "evm vectors".to_owned());
    let count: usize = arguments.next().and_then(|n| n.parse().ok()).unwrap_or(24);
    let sets: Vec<_> = Layout::all()
        .into_iter()
        .map(|layout| {
            let mut random = Random::new(&format!("{seed} {}", layout.name));
            let bytes = random.bytes(32).try_into().unwrap_or([0; 32]);
            let pair = Key::new(layout.name, &bytes);
            let key = ExpandedKey::new(layout, &pair.pk).unwrap_or_else(|e| panic!("{e}"));
            // The addresses of the parts in the other EVM are 10.., 11...
            let others: Vec<[u8; 20]> = (1..parts(&layout)).map(|n| [0x10 + n as u8; 20]).collect();
            let codes: Vec<String> = key.codes(&others).iter().map(hex::encode).collect();
            let cases: Vec<_> = (0..count)
                .map(|_| {
                    let case = case(&pair, &layout.p, &mut random);
                    let valid = verdict(
                        layout.name,
                        &pair.pk,
                        &case.ctx,
                        &case.message,
                        &case.signature,
                    );
                    json!({
                        "name": case.name,
                        "ctx": hex::encode(&case.ctx),
                        "msg": hex::encode(&case.message),
                        "sig": hex::encode(&case.signature),
                        "valid": valid,
                    })
                })
                .collect();
            json!({
                "set": layout.name,
                "pk": hex::encode(&pair.pk),
                "packed": hex::encode(prea::pack_key(&key)),
                "commit": hex::encode(key.commitment()),
                "words": hex::encode(key.words()),
                "codes": codes,
                "cases": cases,
            })
        })
        .collect();
    let file_text = json!({ "tables": hex::encode(tables::code()), "sets": sets }).to_string();
    match std::fs::write(&file, file_text + "\n") {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{file}: {error}");
            ExitCode::FAILURE
        }
    }
}
