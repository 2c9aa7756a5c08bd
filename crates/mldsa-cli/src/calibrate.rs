//! `mldsa calibrate`: the steps of a verification beside signatures and hashes that have a price.

use core::fmt::Write as _;
use core::hint::black_box;
use std::io;
use std::time::Instant;

use ed25519_dalek::Signer as _;
use k256::ecdsa::signature::hazmat::{PrehashSigner as _, PrehashVerifier as _};
use mldsa_core::{
    AnyDecodedSignature, AnyPreparedVerifyingKey, AnySigningKey, AnyVerifyingKey, Context,
    Randomness, Set, with_set,
};
use mldsa_evm_precompile::Precompile as _;
use serde_json::{Value, json};
use sha2::Digest as _;

use crate::backends::chosen;
use crate::terminal::print;
use crate::{Status, Task};

/// Measure verification relative to Ed25519, secp256k1, SHA-256 and Keccak, for gas schedules
#[derive(clap::Args)]
pub(crate) struct Args {
    /// One JSON object in place of the tables
    #[arg(long)]
    json: bool,

    /// Rounds, in each of which every operation is measured
    #[arg(long, default_value_t = 101, value_parser = clap::value_parser!(u32).range(11..=100_000))]
    rounds: u32,

    /// Refuse if the middle half of a ratio spreads over more than this percentage of its median
    #[arg(long, default_value_t = 5.0)]
    spread: f64,
}

/// Bytes of the long message of hashes.
const LONG: usize = 1 << 16;
/// Runs in a round, of which the fastest counts: a run is short, so one of them is undisturbed.
const RUNS: u32 = 5;
/// The bound for an attacker of 2^64 hashes by the mean, of any step, set and backend, rounded up
/// (`docs/cost.md`, program `contrib/cost`).
const WORST: f64 = 1.13;
/// What the protocols charge for a signature that they have: Ethereum's `ecrecover`, NEAR's Ed25519
/// in Ggas with the multiplier 3, Stellar's Ed25519 in instructions (the default of `rs-soroban-env`
/// 00068d09; a network sets its own).
const ECRECOVER_GAS: f64 = 3_000.0;
const NEAR_ED25519: f64 = 70.0 * 3.0;
const STELLAR_ED25519: f64 = 376_877.0;

struct Operation {
    name: String,
    run: Box<dyn FnMut()>,
    /// Calls in a run, so that a run takes as long as many ticks of the clock.
    calls: u32,
    /// Nanoseconds of a call in each round.
    times: Vec<f64>,
}

/// Nanoseconds of a run, at least.
const RUN: f64 = 20_000.0;

impl Operation {
    fn new(name: &str, run: impl FnMut() + 'static) -> Self {
        Self {
            name: name.to_owned(),
            run: Box::new(run),
            calls: 1,
            times: Vec::new(),
        }
    }

    /// Returns the nanoseconds of a call in one run.
    fn time(&mut self) -> f64 {
        let start = Instant::now();
        (0..self.calls).for_each(|_| (self.run)());
        start.elapsed().as_nanos() as f64 / f64::from(self.calls)
    }

    fn measure(&mut self) {
        let fastest = (0..RUNS).map(|_| self.time()).fold(f64::INFINITY, f64::min);
        if self.times.is_empty() && self.calls == 1 && fastest < RUN {
            self.calls = (RUN / fastest.max(1.0)).ceil() as u32;
            return self.measure();
        }
        self.times.push(fastest);
    }
}

impl Task for Args {
    fn run(&self) -> io::Result<Status> {
        let mut operations = operations();
        for _ in 0..self.rounds {
            operations.iter_mut().for_each(Operation::measure);
        }
        let report = report(&operations);
        let mut rows = report.iter();
        if let Some(Row { name, spread, .. }) = rows.find(|row| row.spread > self.spread / 100.0) {
            let spread = spread * 100.0;
            let noise = format!("the ratio of {name} spreads over {spread:.1} %");
            return Err(io::Error::other(format!(
                "the machine is too noisy: {noise}"
            )));
        }
        if self.json {
            let rows = report.iter().map(|row| {
                json!({
                    "operation": row.name, "ns": row.ns, "ed25519": row.ed25519,
                    "secp256k1": row.secp256k1, "spread": row.spread,
                })
            });
            let prices = Set::ALL.map(|set| {
                let prices = prices(&report, set).map(|(name, value)| (name, Value::from(value)));
                let set = ("set", Value::from(set.name()));
                prices
                    .into_iter()
                    .chain([set])
                    .map(|(name, value)| (name.to_owned(), value))
                    .collect::<serde_json::Map<_, _>>()
            });
            let text = json!({
                "backend": chosen().name(), "rounds": self.rounds, "worst_case": WORST,
                "operations": rows.collect::<Vec<_>>(), "prices": prices,
            });
            print(format!("{text}\n"))?;
        } else {
            print(table(&report))?;
        }
        Ok(Status::Good)
    }
}

fn operations() -> Vec<Operation> {
    let message = [7; 32];
    let key = ed25519_dalek::SigningKey::from_bytes(&[1; 32]);
    let (public, signature) = (key.verifying_key(), key.sign(&message));
    let curve = k256::ecdsa::SigningKey::from_slice(&[1; 32]).expect("a key");
    let of_curve: k256::ecdsa::Signature = curve.sign_prehash(&message).expect("a signature");
    let curve = *curve.verifying_key();
    let mut all = vec![
        Operation::new("Ed25519 verify", move || {
            let verified = public.verify_strict(black_box(&message), &signature);
            assert!(verified.is_ok());
        }),
        Operation::new("secp256k1 verify", move || {
            assert!(curve.verify_prehash(black_box(&message), &of_curve).is_ok());
        }),
        Operation::new("SHA-256, 64 KiB", || {
            black_box(sha2::Sha256::digest(black_box([7; LONG])));
        }),
        Operation::new("Keccak-256, 64 KiB", || {
            black_box(sha3::Keccak256::digest(black_box([7; LONG])));
        }),
    ];
    for set in Set::ALL {
        all.extend(steps(set, &message));
    }
    all
}

/// The three steps of a set, and the last one for a long message.
fn steps(set: Set, message: &[u8; 32]) -> [Operation; 4] {
    let empty = Context::EMPTY;
    let signer = with_set!(set, P => {
        AnySigningKey::from(mldsa_core::SigningKey::<P>::from_seed(&[1; 32]))
    });
    let sign = |message: &[u8]| {
        let signature = signer.sign_with_context(message, empty, Randomness::Deterministic);
        let signature = signature.expect("a signature");
        (
            AnyDecodedSignature::decode(set, &signature).expect("well-formed"),
            signature,
        )
    };
    let decode = move |encoded: &[u8]| -> AnyPreparedVerifyingKey {
        let key = AnyVerifyingKey::from_bytes_of(set, encoded).expect("a key");
        with_set!(AnyVerifyingKey, key, key => key.with_backend(chosen()).prepare().into())
    };
    let encoded = signer.verifying_key().as_ref().to_vec();
    let name = |step: &str| format!("{} {step}", set.name());
    let verify = |step, message: Vec<u8>| {
        let (key, (signature, _)) = (decode(&encoded), sign(&message));
        Operation::new(&name(step), move || {
            let verified = key.verify_with_context(black_box(&message), empty, &signature);
            assert_eq!(verified, Ok(()));
        })
    };
    let (short, long) = (
        verify("verify", message.to_vec()),
        verify("verify, 64 KiB", vec![7; LONG]),
    );
    let (_, bytes) = sign(message);
    [
        Operation::new(&name("key"), move || {
            black_box(decode(black_box(&encoded)));
        }),
        Operation::new(&name("signature"), move || {
            assert!(black_box(AnyDecodedSignature::decode(set, black_box(&bytes))).is_ok());
        }),
        short,
        long,
    ]
}

/// An operation: medians of its time and of its ratios of one round, and the spread of the first.
struct Row {
    name: String,
    ns: f64,
    ed25519: f64,
    secp256k1: f64,
    /// The middle half by the median.
    spread: f64,
}

fn report(operations: &[Operation]) -> Vec<Row> {
    let [ed25519, secp256k1, ..] = operations else {
        return Vec::new();
    };
    let by = |of: &Operation, unit: &Operation| {
        let times = of.times.iter().zip(&unit.times);
        quartiles(times.map(|(time, unit)| time / unit).collect())
    };
    let rows = operations.iter().map(|operation| {
        let [low, ratio, high] = by(operation, ed25519);
        Row {
            name: operation.name.clone(),
            ns: quartiles(operation.times.clone())[1],
            ed25519: ratio,
            secp256k1: by(operation, secp256k1)[1],
            spread: (high - low) / ratio,
        }
    });
    rows.collect()
}

fn quartiles(mut values: Vec<f64>) -> [f64; 3] {
    values.sort_unstable_by(f64::total_cmp);
    [1, 2, 3].map(|quarter| values[(values.len() - 1) * quarter / 4])
}

/// What a verification costs by the rules of each protocol, the worst case in it.
fn prices(report: &[Row], set: Set) -> [(&'static str, f64); 8] {
    let named = |step: &str| format!("{} {step}", set.name());
    let row = |step: &str| report.iter().find(|row| row.name == named(step));
    let steps = ["key", "signature", "verify"].map(row);
    let sum = |of: fn(&Row) -> f64| WORST * steps.iter().flatten().map(|&row| of(row)).sum::<f64>();
    let step = |n: usize| WORST * STELLAR_ED25519 * steps[n].map_or(0.0, |row| row.ed25519);
    let word = match (row("verify, 64 KiB"), row("verify")) {
        (Some(long), Some(short)) => (long.ns - short.ns) / (LONG - 32) as f64 * 32.0,
        _ => 0.0,
    };
    [
        ("gas_eip8355", set.gas(0) as f64),
        ("gas_at_100_mgas", sum(|row| row.ns) / 10.0),
        ("gas_by_ecrecover", sum(|row| row.secp256k1) * ECRECOVER_GAS),
        ("gas_per_word_at_100_mgas", word / 10.0),
        ("near_ggas", sum(|row| row.ed25519) * NEAR_ED25519),
        ("stellar_key", step(0)),
        ("stellar_signature", step(1)),
        ("stellar_verify", step(2)),
    ]
}

fn table(report: &[Row]) -> String {
    let mut text = format!(
        "backend {}\n| operation | ns | by Ed25519 | by secp256k1 | spread, % |\n|---|--:|--:|--:|--:|\n",
        chosen().name()
    );
    for row in report {
        let (name, ns, spread) = (&row.name, row.ns, row.spread * 100.0);
        let (ed25519, secp256k1) = (row.ed25519, row.secp256k1);
        let _ = writeln!(
            text,
            "| {name} | {ns:.0} | {ed25519:.4} | {secp256k1:.4} | {spread:.1} |"
        );
    }
    let _ = writeln!(text, "\nwith the factor {WORST} of the worst case:");
    for (n, set) in Set::ALL.into_iter().enumerate() {
        let prices = prices(report, set);
        if n == 0 {
            let names: Vec<_> = prices.iter().map(|(name, _)| *name).collect();
            let _ = writeln!(
                text,
                "| set | {} |\n|---|{}",
                names.join(" | "),
                "--:|".repeat(names.len())
            );
        }
        let values: Vec<_> = prices
            .iter()
            .map(|(_, value)| format!("{value:.1}"))
            .collect();
        let _ = writeln!(text, "| {} | {} |", set.name(), values.join(" | "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operation(name: &str, times: &[f64]) -> Operation {
        Operation {
            times: times.to_vec(),
            ..Operation::new(name, || {})
        }
    }

    #[test]
    fn ratios_are_those_of_rounds() {
        // A machine that becomes half as fast changes no ratio; one that disturbs an operation does.
        let rows = report(&[
            operation("Ed25519 verify", &[10.0, 20.0, 10.0, 20.0, 20.0]),
            operation("secp256k1 verify", &[20.0, 40.0, 20.0, 40.0, 40.0]),
            operation("disturbed", &[10.0, 40.0, 30.0, 20.0, 80.0]),
        ]);
        assert_eq!(
            (rows[1].ed25519, rows[1].secp256k1, rows[1].spread),
            (2.0, 1.0, 0.0)
        );
        assert_eq!((rows[2].ed25519, rows[2].spread), (2.0, 1.0));
        assert!(report(&[]).is_empty());
    }

    #[test]
    fn prices_are_ratios_of_what_is_charged_today() {
        let rows: Vec<_> = ["key", "signature", "verify", "verify, 64 KiB"]
            .map(|step| operation(&format!("ML-DSA-44 {step}"), &[1_000.0; 11]))
            .into();
        let units =
            ["Ed25519 verify", "secp256k1 verify"].map(|name| operation(name, &[1_000.0; 11]));
        let prices = prices(
            &report(&units.into_iter().chain(rows).collect::<Vec<_>>()),
            Set::MlDsa44,
        );
        let named = |wanted: &str| {
            prices
                .iter()
                .find(|(name, _)| *name == wanted)
                .expect("a price")
                .1
        };
        assert!((named("gas_by_ecrecover") - 9_000.0 * WORST).abs() < 1e-6);
        assert!((named("gas_at_100_mgas") - 300.0 * WORST).abs() < 1e-6);
        assert!((named("near_ggas") - 630.0 * WORST).abs() < 1e-6);
        assert!((named("stellar_key") - STELLAR_ED25519 * WORST).abs() < 1e-6);
    }
}
