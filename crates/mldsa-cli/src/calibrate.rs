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
use sha2::Digest as _;

use crate::backends::chosen;
use crate::terminal::print;
use crate::{Status, Task};

/// Measure verification relative to Ed25519, secp256k1, SHA-256 and Keccak, for gas schedules
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Rounds, in each of which every operation is measured
    #[arg(long, default_value_t = 31, value_parser = clap::value_parser!(u32).range(11..=100_000))]
    rounds: u32,

    /// Refuse if the middle half of a time or ratio spreads over more than this percentage of its
    /// median (0 to 100)
    #[arg(long, default_value_t = 5.0, value_parser = percentage)]
    spread: f64,
}

/// Bytes of the long message of hashes.
const LONG: usize = 1 << 16;
/// Keys of each algorithm.
const KEYS: usize = 64;
/// Different signatures of each algorithm: a branch predictor that learns one of them makes its
/// decoding look twice as fast.
const SIGNATURES: usize = 1024;
/// Runs over all inputs in a round. The fastest counts, for each part of a run.
const RUNS: u32 = 3;
/// Nanoseconds of a part, at least: many ticks of the clock, and few enough to be undisturbed.
const PART: f64 = 20_000.0;
/// The bound of the instructions by their mean, for an attacker of 2^64 hashes, any step and set, the
/// portable and the AVX2 backend, rounded up (`docs/cost.md`, program `contrib/cost`).
const WORST: f64 = 1.13;
/// Gas of Ethereum's precompile `ecrecover`, which recovers a key and hashes it to an address. Here
/// it is compared with a secp256k1 verification, so the price is not too low.
const ECRECOVER_GAS: f64 = 3_000.0;
/// NEAR's `ed25519_verify_base` in Ggas: 70 with the safety multiplier of 3. It includes the
/// decompression of the key, and not the bytes of the message.
const NEAR_ED25519: f64 = 70.0 * 3.0;
/// Stellar's instructions for `VerifyEd25519Sig`, without those for the key and for the message: the
/// default of `rs-soroban-env` 00068d09. A network sets its own.
const STELLAR_ED25519: f64 = 376_877.0;

/// The decompression of a key, which some prices of Ed25519 include.
const ED25519_KEY: &str = "Ed25519 key";

fn percentage(text: &str) -> Result<f64, String> {
    let valid = |value: &f64| (0.0..=100.0).contains(value);
    let value = text.parse().ok().filter(valid);
    value.ok_or_else(|| "a number from 0 to 100".to_owned())
}

struct Operation {
    name: String,
    /// Processes the input of this number.
    run: Box<dyn Fn(usize)>,
    /// Different inputs.
    inputs: usize,
    /// Nanoseconds of a call in each round.
    times: Vec<f64>,
}

impl Operation {
    fn new(name: &str, inputs: usize, run: impl Fn(usize) + 'static) -> Self {
        Self {
            name: name.to_owned(),
            run: Box::new(run),
            inputs,
            times: Vec::new(),
        }
    }

    /// Measures a call: the mean over all inputs.
    fn measure(&mut self) {
        let known = self.times.first();
        let calls = known.map_or(KEYS, |ns| (PART / ns.max(1.0)).ceil() as usize);
        let mut fastest = vec![f64::INFINITY; self.inputs.div_ceil(calls)];
        for _ in 0..RUNS {
            for (n, fastest) in fastest.iter_mut().enumerate() {
                let inputs = n * calls..self.inputs.min((n + 1) * calls);
                let start = Instant::now();
                inputs.for_each(&self.run);
                *fastest = fastest.min(start.elapsed().as_nanos() as f64);
            }
        }
        let sum: f64 = fastest.iter().sum();
        self.times.push(sum / self.inputs as f64);
    }
}

impl Task for Args {
    fn run(&self) -> io::Result<Status> {
        let mut operations = operations();
        for _ in 0..self.rounds {
            operations.iter_mut().for_each(Operation::measure);
        }
        let report = report(&operations);
        if let Some(row) = noisy(&report, self.spread) {
            let (name, spread) = (&row.name, row.spread * 100.0);
            let noise = format!("too noisy: a time or ratio of {name} spreads over {spread:.1} %");
            return Err(io::Error::other(noise));
        }
        print(table(&report))?;
        Ok(Status::Good)
    }
}

/// Returns the message of this number.
fn message(number: usize) -> [u8; 32] {
    sha2::Sha256::digest(number.to_le_bytes()).into()
}

fn operations() -> Vec<Operation> {
    let signed = |n: usize| {
        let key = ed25519_dalek::SigningKey::from_bytes(&message(n % KEYS));
        (key.verifying_key(), message(n), key.sign(&message(n)))
    };
    let signed: Vec<_> = (0..SIGNATURES).map(signed).collect();
    let encoded: Vec<_> = signed.iter().map(|(key, ..)| key.to_bytes()).collect();
    let on_curve = |n: usize| {
        let key = k256::ecdsa::SigningKey::from_slice(&message(n % KEYS)).expect("a key");
        let signature = key.sign_prehash(&message(n)).expect("a signature");
        (*key.verifying_key(), message(n), signature)
    };
    let on_curve: Vec<(_, _, k256::ecdsa::Signature)> = (0..SIGNATURES).map(on_curve).collect();
    let mut all = vec![
        Operation::new("Ed25519 verify", SIGNATURES, move |n| {
            let (key, message, signature) = &signed[n];
            assert!(key.verify_strict(black_box(message), signature).is_ok());
        }),
        Operation::new("secp256k1 verify", SIGNATURES, move |n| {
            let (key, message, signature) = &on_curve[n];
            assert!(key.verify_prehash(black_box(message), signature).is_ok());
        }),
        Operation::new(ED25519_KEY, KEYS, move |n| {
            let key = ed25519_dalek::VerifyingKey::from_bytes(black_box(&encoded[n]));
            assert!(black_box(key).is_ok());
        }),
        Operation::new("SHA-256, 64 KiB", KEYS, |_| {
            black_box(sha2::Sha256::digest(black_box([7; LONG])));
        }),
        Operation::new("Keccak-256, 64 KiB", KEYS, |_| {
            black_box(sha3::Keccak256::digest(black_box([7; LONG])));
        }),
    ];
    all.extend(Set::ALL.into_iter().flat_map(steps));
    all
}

/// Returns the three steps of a set, and the last one for a long message under each key.
fn steps(set: Set) -> [Operation; 4] {
    let empty = Context::EMPTY;
    let signer = |n: usize| -> AnySigningKey {
        with_set!(set, P => mldsa_core::SigningKey::<P>::from_seed(&message(n)).into())
    };
    let signers: Vec<_> = (0..KEYS).map(signer).collect();
    let sign = |n: usize, message: &[u8]| {
        let signature = &signers[n % KEYS];
        let signature = signature.sign_with_context(message, empty, Randomness::Deterministic);
        signature.expect("a signature")
    };
    let decode = move |encoded: &[u8]| -> AnyPreparedVerifyingKey {
        let key = AnyVerifyingKey::from_bytes_of(set, encoded).expect("a key");
        with_set!(AnyVerifyingKey, key, key => key.with_backend(chosen()).prepare().into())
    };
    let encode = |signer: &AnySigningKey| signer.verifying_key().as_ref().to_vec();
    let encoded: Vec<_> = signers.iter().map(encode).collect();
    let name = |step: &str| format!("{} {step}", set.name());
    let verify = |step, inputs, message: fn(usize) -> Vec<u8>| {
        let keys: Vec<_> = encoded.iter().map(|key| decode(key)).collect();
        let signed = |n| {
            let signature = sign(n, &message(n));
            AnyDecodedSignature::decode(set, &signature).expect("well-formed")
        };
        let signatures: Vec<_> = (0..inputs).map(signed).collect();
        let messages: Vec<_> = (0..inputs).map(message).collect();
        Operation::new(&name(step), inputs, move |n| {
            let (key, message) = (&keys[n % KEYS], black_box(&messages[n]));
            let verified = key.verify_with_context(message, empty, &signatures[n]);
            assert_eq!(verified, Ok(()));
        })
    };
    let short = verify("verify", SIGNATURES, |n| message(n).to_vec());
    let long = verify("verify, 64 KiB", KEYS, |n| vec![n as u8; LONG]);
    let signatures: Vec<_> = (0..SIGNATURES).map(|n| sign(n, &message(n))).collect();
    [
        Operation::new(&name("key"), KEYS, move |n| {
            black_box(decode(black_box(&encoded[n])));
        }),
        Operation::new(&name("signature"), SIGNATURES, move |n| {
            let decoded = AnyDecodedSignature::decode(set, black_box(&signatures[n]));
            assert!(black_box(decoded).is_ok());
        }),
        short,
        long,
    ]
}

/// An operation: medians of its time and of its ratios of one round, and their greatest spread.
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
        let ns = quartiles(operation.times.clone());
        let (ed25519, secp256k1) = (by(operation, ed25519), by(operation, secp256k1));
        let spread = |[low, median, high]: [f64; 3]| ((high - low) / median).abs();
        let spreads = [ns, ed25519, secp256k1].map(spread).into_iter();
        let most = spreads.max_by(f64::total_cmp);
        Row {
            name: operation.name.clone(),
            ns: ns[1],
            ed25519: ed25519[1],
            secp256k1: secp256k1[1],
            spread: most.unwrap_or(f64::NAN),
        }
    });
    rows.collect()
}

/// Returns a row that spreads over more than `limit` percent, or over what is no number.
fn noisy(report: &[Row], limit: f64) -> Option<&Row> {
    let quiet = |row: &&Row| row.spread * 100.0 <= limit;
    report.iter().find(|row| !quiet(row))
}

fn quartiles(mut values: Vec<f64>) -> [f64; 3] {
    values.sort_unstable_by(f64::total_cmp);
    [1, 2, 3].map(|quarter| values[(values.len() - 1) * quarter / 4])
}

/// Returns what a verification costs by the rules of each protocol, the worst case in it.
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
    let key = report.iter().find(|row| row.name == ED25519_KEY);
    let with_key = 1.0 + key.map_or(0.0, |row| row.ed25519);
    let near = sum(|row| row.ed25519) / with_key * NEAR_ED25519;
    [
        ("gas_eip8355", set.gas(0) as f64),
        ("gas_at_100_mgas", sum(|row| row.ns) / 10.0),
        ("gas_by_ecrecover", sum(|row| row.secp256k1) * ECRECOVER_GAS),
        ("gas_per_word_at_100_mgas", word / 10.0),
        ("near_ggas", near),
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
    let names = prices(report, Set::MlDsa44).map(|(name, _)| name);
    let columns = "--:|".repeat(names.len());
    let _ = writeln!(text, "| set | {} |\n|---|{columns}", names.join(" | "));
    for set in Set::ALL {
        let values = prices(report, set).map(|(_, value)| format!("{value:.1}"));
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
            ..Operation::new(name, 0, |_| {})
        }
    }

    #[test]
    fn ratios_are_those_of_rounds() {
        // A machine that becomes half as fast changes no ratio; one that disturbs an operation does.
        let mut rows = report(&[
            operation("Ed25519 verify", &[10.0, 20.0, 10.0, 20.0, 20.0]),
            operation("secp256k1 verify", &[20.0, 40.0, 20.0, 40.0, 40.0]),
            operation("disturbed", &[10.0, 40.0, 30.0, 20.0, 80.0]),
        ]);
        assert_eq!((rows[1].ed25519, rows[1].secp256k1), (2.0, 1.0));
        // Prices by time need the same time in each round.
        assert_eq!((rows[1].ns, rows[1].spread), (40.0, 0.5));
        assert_eq!((rows[2].ed25519, rows[2].spread), (2.0, 1.0));
        assert!(report(&[]).is_empty());
        assert!(noisy(&rows, 100.0).is_none());
        assert_eq!(noisy(&rows, 50.0).expect("noise").name, "disturbed");
        rows[0].spread = f64::NAN;
        assert_eq!(noisy(&rows, 100.0).expect("noise").name, "Ed25519 verify");
        let unmeasured = report(&["no time", "nor here"].map(|name| operation(name, &[0.0; 11])));
        assert!(noisy(&unmeasured, 100.0).is_some());
    }

    #[test]
    fn the_limit_of_noise_is_a_percentage() {
        let refused = ["nan", "inf", "-1", "100.1", "1e9", ""].map(percentage);
        assert!(refused.iter().all(Result::is_err), "{refused:?}");
        assert_eq!((percentage("0"), percentage("100")), (Ok(0.0), Ok(100.0)));
    }

    /// A run processes each input as often as any other.
    #[test]
    fn all_inputs_are_measured() {
        let inputs = KEYS + 1;
        let seen = std::rc::Rc::new(core::cell::RefCell::new(vec![0; inputs]));
        let calls = seen.clone();
        let mut operation = Operation::new("", inputs, move |n| calls.borrow_mut()[n] += 1);
        operation.measure();
        operation.measure();
        assert_eq!(*seen.borrow(), vec![2 * RUNS; inputs]);
        assert_eq!(operation.times.len(), 2);
    }

    #[test]
    fn prices_are_ratios_of_what_is_charged_today() {
        let rows: Vec<_> = ["key", "signature", "verify", "verify, 64 KiB"]
            .map(|step| operation(&format!("ML-DSA-44 {step}"), &[1_000.0; 11]))
            .into();
        let units =
            ["Ed25519 verify", "secp256k1 verify"].map(|name| operation(name, &[1_000.0; 11]));
        let key = operation(ED25519_KEY, &[250.0; 11]);
        let prices = prices(
            &report(
                &units
                    .into_iter()
                    .chain([key])
                    .chain(rows)
                    .collect::<Vec<_>>(),
            ),
            Set::MlDsa44,
        );
        let price = |wanted: &str| prices.iter().find(|price| price.0 == wanted);
        let named = |wanted: &str| price(wanted).expect("a price").1;
        assert!((named("gas_by_ecrecover") - 9_000.0 * WORST).abs() < 1e-6);
        assert!((named("gas_at_100_mgas") - 300.0 * WORST).abs() < 1e-6);
        assert!((named("near_ggas") - 630.0 / 1.25 * WORST).abs() < 1e-6);
        // NEAR's price includes the key of Ed25519, Stellar's does not.
        assert!((named("stellar_key") - STELLAR_ED25519 * WORST).abs() < 1e-6);
    }
}
