//! `checkpoint`: finalises blocks, and signs every k-th of them together.

use std::error::Error;
use std::process::ExitCode;
use std::time::Instant;

use bft_simplex::{Options, run};
use checkpoint::{Absence, Blocks, Checkpoint, Committee, Price};
use clap::Parser;

/// Every k-th block that a committee finalises, as one ML-DSA-87 signature (experimental).
///
/// The committee finalises its blocks in the simulator first. The first checkpoint is signed with
/// a member that is killed after it has committed and returns, the second with one that stays away.
#[derive(Parser)]
struct Arguments {
    /// Validators.
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(4..=64))]
    validators: u32,
    /// Views that are finalised.
    #[arg(long, default_value_t = 20)]
    views: u64,
    /// Every so manyth finalised block is a checkpoint.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    every: u32,
    /// Lines of JSON instead of text.
    #[arg(long)]
    json: bool,
}

fn main() -> ExitCode {
    match checkpoints(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("checkpoint: {error}");
            ExitCode::FAILURE
        }
    }
}

fn checkpoints(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let validators = arguments.validators as usize;
    let (count, views) = (validators.to_string(), arguments.views.to_string());
    let options = [
        "bft-simplex",
        "--how",
        "batched",
        "--validators",
        &count,
        "--views",
        &views,
    ];
    let blocks = Blocks::default();
    run(&Options::try_parse_from(options)?, &blocks.hook())?;
    let chosen = blocks.every(arguments.every as usize, validators)?;
    if chosen.len() < 2 {
        return Err("fewer than two checkpoints: more --views, or a smaller --every".into());
    }

    let directory = tempfile::tempdir()?;
    let slots = chosen.len() as u64;
    let committee = Committee::new(directory.path(), arguments.validators, 1, slots)?;
    for (slot, payload) in (0..).zip(chosen) {
        let absence = match slot {
            0 => Absence::Short,
            1 => Absence::Long,
            _ => Absence::None,
        };
        let start = Instant::now();
        let signed = committee.sign(slot, payload, absence)?;
        show(
            slot,
            absence,
            &signed,
            start.elapsed().as_millis(),
            arguments.json,
        );
    }
    for n in [4, 16, 64, 100, 128] {
        price(&Price::new(n, slots)?, n == 4, arguments.json)?;
    }
    if !arguments.json {
        println!("{ADVICE}");
    }
    Ok(())
}

fn show(slot: u64, absence: Absence, signed: &Checkpoint, milliseconds: u128, json: bool) {
    let Checkpoint {
        aggregate,
        signers,
        attempts,
        certificate,
        openings,
        sent: (messages, bytes),
    } = signed;
    let object = aggregate.to_bytes().len();
    if json {
        let line = serde_json::json!({
            "checkpoint": slot, "first_member": format!("{absence:?}"), "signers": signers,
            "attempts": attempts, "bytes": object, "certificate": certificate, "openings": openings, "messages": messages,
            "message_bytes": bytes, "milliseconds": milliseconds as u64,
        });
        println!("{line}");
        return;
    }
    let first = match absence {
        Absence::None => "",
        Absence::Short => ", one killed and back",
        Absence::Long => ", one killed and left out",
    };
    println!(
        "checkpoint {slot}: {signers} signers, attempt {attempts}{first}; {certificate} bytes, \
         {} with openings, {object} with label and payload; {messages} messages of {bytes} bytes; {milliseconds} ms; \
         valid for fips204",
        certificate + openings
    );
}

fn price(price: &Price, first: bool, json: bool) -> serde_json::Result<()> {
    if json {
        println!("{}", serde_json::to_string(price)?);
        return Ok(());
    }
    if first {
        println!(
            "\nIn an epoch of as many checkpoints:\n  n  quorum  ed25519  ML-DSA-65  ML-DSA-87  aggregate  with openings"
        );
    }
    println!(
        "{:>3}  {:>6}  {:>7}  {:>9}  {:>9}  {:>9}  {:>13}",
        price.validators,
        price.quorum,
        price.ed25519,
        price.ml_dsa_65,
        price.ml_dsa_87,
        price.aggregate,
        price.aggregate + price.openings,
    );
    Ok(())
}

const ADVICE: &str = "
An aggregate pays for verifiers who hold the openings of its round anyway, because they took part
or followed it, and where its 4.6 KB are stored or sent often and verified by those. For a verifier
who comes later it never does: an opening is larger than the signature that it replaces, and each
checkpoint has its own. Any member can stop an attempt by silence, which costs the others a timeout.";
