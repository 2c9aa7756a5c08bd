//! `checkpoint`: finalises blocks and signs every k-th of them jointly.

use std::time::Instant;

use anyhow::ensure;
use bft_simplex::{Options, run};
use checkpoint::{Blocks, CertificateSize, Checkpoint, Committee, Fault};
use clap::Parser;
use serde_json::json;

/// Every k-th block that a committee finalises, as one ML-DSA-87 signature (experimental)
///
/// The committee finalises its blocks in the simulator. During the first checkpoint a member is
/// killed after its commitment and restarted; during the second a member stays offline.
#[derive(Parser)]
struct Arguments {
    /// Number of validators
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(4..=64))]
    validators: u32,
    /// Number of views to finalise
    #[arg(long, default_value_t = 20)]
    views: u64,
    /// Distance between checkpoints in finalised blocks
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    every: u32,
    /// Print JSON lines instead of text
    #[arg(long)]
    json: bool,
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let validators = arguments.validators as usize;
    let (count, views) = (validators.to_string(), arguments.views.to_string());
    let options = ["bft-simplex", "--strategy", "batched"];
    let sizes = ["--validators", &count, "--views", &views];
    let blocks = Blocks::default();
    run(
        &Options::try_parse_from(options.iter().chain(&sizes))?,
        &blocks.hook(),
    )?;
    let payloads = blocks.every(arguments.every as usize, validators)?;
    ensure!(
        payloads.len() >= 2,
        "fewer than two checkpoints: raise --views or lower --every"
    );

    let directory = tempfile::tempdir()?;
    let slots = payloads.len() as u64;
    let committee = Committee::new(directory.path(), arguments.validators, 1, slots)?;
    for (slot, payload) in (0..).zip(payloads) {
        let fault = match slot {
            0 => Fault::Restart,
            1 => Fault::Offline,
            _ => Fault::None,
        };
        let start = Instant::now();
        let signed = committee.sign(slot, payload, fault)?;
        print(
            slot,
            fault,
            &signed,
            start.elapsed().as_millis(),
            arguments.json,
        );
    }
    print_sizes(slots, arguments.json)
}

fn print(slot: u64, fault: Fault, signed: &Checkpoint, milliseconds: u128, json: bool) {
    let Checkpoint {
        aggregate,
        signers,
        attempts,
        certificate,
        openings,
        sent: (messages, message_bytes),
    } = signed;
    let bytes = aggregate.to_bytes().len();
    if json {
        let line = json!({
            "checkpoint": slot, "fault": format!("{fault:?}"), "signers": signers,
            "attempts": attempts, "bytes": bytes, "certificate": certificate,
            "openings": openings, "messages": messages, "message_bytes": message_bytes,
            "milliseconds": milliseconds as u64,
        });
        println!("{line}");
        return;
    }
    println!(
        "checkpoint {slot}: {signers} signers, attempt {attempts}, fault {fault:?}; \
         {certificate} bytes, {} with openings, {bytes} with label and payload; \
         {messages} messages of {message_bytes} bytes; {milliseconds} ms; valid for fips204",
        certificate + openings
    );
}

fn print_sizes(checkpoints: u64, json: bool) -> anyhow::Result<()> {
    if !json {
        println!("\nBytes of a certificate in an epoch of {checkpoints} checkpoints:");
        println!("  n  quorum  ed25519  ML-DSA-65  ML-DSA-87  aggregate  with openings");
    }
    for n in [4, 16, 64, 100, 128] {
        let size = CertificateSize::new(n, checkpoints)?;
        if json {
            println!("{}", serde_json::to_string(&size)?);
            continue;
        }
        println!(
            "{n:>3}  {:>6}  {:>7}  {:>9}  {:>9}  {:>9}  {:>13}",
            size.quorum,
            size.ed25519,
            size.ml_dsa_65,
            size.ml_dsa_87,
            size.aggregate,
            size.aggregate + size.openings,
        );
    }
    Ok(())
}
