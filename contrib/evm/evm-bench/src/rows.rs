//! Rows of the gas-per-secure-bit dataset.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::gas::{NEXT, TODAY};

/// One figure, which becomes a row for each denominator.
#[derive(Clone, Debug)]
pub struct Row {
    /// `ML-DSA-44` and so on, or `ECDSA-secp256k1`.
    pub scheme: String,
    /// Name of the measurement.
    pub bench: String,
    /// Rule set.
    pub profile: &'static str,
    /// Gas.
    pub gas: u64,
    /// Scope of the verification.
    pub notes: String,
    /// `measured`, or the source of a published figure.
    pub provenance: String,
}

/// Rule set of published figures of others: the rules at their time.
pub const PUBLISHED: &str = "as-published";

/// Names that every set has, under both rule sets.
const OF_EVERY_SET: [&str; 9] = [
    "verify-code",
    "verify-calldata",
    "verify-stateless",
    "register-proof",
    "matrix-core",
    "erc7913",
    "erc1271",
    "erc4337",
    "precompile",
];

/// Checks that no row is missing or duplicate, and that published figures of others are
/// marked as such.
///
/// # Errors
/// The first row that breaks it.
pub fn check(rows: &[Row]) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    for row in rows {
        let key = (row.scheme.as_str(), row.bench.as_str(), row.profile);
        if !seen.insert(key) {
            return Err(format!("two rows of {key:?}"));
        }
        let published = [
            row.profile == PUBLISHED,
            row.bench.ends_with("-published"),
            row.notes.starts_with("published. "),
        ];
        if published != [published[0]; 3] {
            return Err(format!("published or not: {key:?}"));
        }
    }
    for rules in [TODAY, NEXT] {
        let sets = ["ML-DSA-44", "ML-DSA-65", "ML-DSA-87"];
        let of_sets = sets
            .iter()
            .flat_map(|set| OF_EVERY_SET.map(|bench| (*set, bench)));
        for (scheme, bench) in of_sets.chain([("ECDSA-secp256k1", "ecrecover")]) {
            if !seen.contains(&(scheme, bench, rules.profile)) {
                return Err(format!("no row {scheme} {bench} {}", rules.profile));
            }
        }
    }
    Ok(())
}

/// Bits of strength of a scheme by its category; category 2 has no entry in the
/// mapping of the dataset and is declared with 128.
pub fn equivalent_bits(scheme: &str) -> u64 {
    match scheme {
        "ML-DSA-65" => 192,
        "ML-DSA-87" | "Falcon-1024" => 256,
        _ => 128,
    }
}

/// Header of the CSV form.
const CSV: &str = "ts_utc,repo,commit,scheme,bench_name,chain_profile,gas_verify,security_metric_type,security_metric_value,gas_per_secure_bit,surface_id,method,surface_layer,hash_profile,security_model,surface_class,key_storage_assumption,lane_assumption,wiring_lane,notes,depends_on,provenance,vector_pack_ref,vector_pack_id,vector_id";

/// Time and commit of the rows.
#[derive(Clone, Debug)]
pub struct Origin {
    /// UTC, RFC 3339.
    pub time: String,
    /// Repository.
    pub repo: String,
    /// Commit.
    pub commit: String,
}

impl Row {
    fn denominators(&self) -> [(&'static str, u64); 2] {
        [
            ("lambda_eff", 128),
            ("security_equiv_bits", equivalent_bits(&self.scheme)),
        ]
    }

    /// The rows as JSON.
    pub fn json(&self, origin: &Origin) -> Vec<Value> {
        let row = |(denominator, bits): (&str, u64)| {
            json!({
                "ts_utc": origin.time, "repo": origin.repo, "commit": origin.commit,
                "scheme": self.scheme, "bench_name": self.bench,
                "chain_profile": self.profile, "gas": self.gas,
                "denominator": denominator, "denom_bits": bits,
                "gas_per_bit": self.gas as f64 / bits as f64,
                "notes": self.notes, "provenance": self.provenance, "depends_on": [],
            })
        };
        self.denominators().into_iter().map(row).collect()
    }

    /// The rows as CSV lines.
    pub fn csv(&self, origin: &Origin) -> Vec<String> {
        let surface = match self.bench.split_once('.') {
            Some((_, surface)) => surface,
            None if self.bench.starts_with("matrix-core") => "inner",
            None => "transaction",
        };
        let hash = match self.scheme.as_str() {
            "ML-DSA-44" | "ML-DSA-65" | "ML-DSA-87" => "FIPS 202",
            _ => "Keccak-256",
        };
        let storage = match self.bench.split('.').next().unwrap_or_default() {
            "verify-code" | "erc7913" | "erc1271" | "erc4337" => "contract code",
            "verify-calldata" => "calldata bound by one slot",
            _ => "none",
        };
        let line = |(denominator, bits): (&str, u64)| {
            let notes = self.notes.replace('"', "'");
            format!(
                "{},{},{},{},{},{},{},{denominator},{bits},{},{surface},evm,{surface},{hash},EUF-CMA,verification,{storage},,,\"{notes}\",,\"{}\",,,",
                origin.time,
                origin.repo,
                origin.commit,
                self.scheme,
                self.bench,
                self.profile,
                self.gas,
                self.gas as f64 / bits as f64,
                self.provenance
            )
        };
        self.denominators().into_iter().map(line).collect()
    }
}

/// The whole CSV file.
pub fn csv(rows: &[Row], origin: &Origin) -> String {
    let lines = rows.iter().flat_map(|row| row.csv(origin));
    [String::from(CSV)]
        .into_iter()
        .chain(lines)
        .map(|line| line + "\n")
        .collect()
}

/// The whole JSONL file.
pub fn jsonl(rows: &[Row], origin: &Origin) -> String {
    rows.iter()
        .flat_map(|row| row.json(origin))
        .map(|row| row.to_string() + "\n")
        .collect()
}

/// Figures of others, as published, with what they verify.
pub fn published() -> Vec<Row> {
    [
        (
            "ML-DSA-44",
            "verify-solidity-published",
            8_200_226,
            "all of FIPS 204, expanded key in code",
            "ZKNOX Solidity verifier, measured in revm",
        ),
        (
            "ML-DSA-44",
            "verify-solidity-older-published",
            20_160_000,
            "all of FIPS 204; above the transaction cap",
            "ZKNOX Solidity verifier, older",
        ),
        (
            "ML-DSA-44-ETH",
            "verify-solidity-published",
            4_900_000,
            "another hash: not FIPS 204",
            "ZKNOX, Keccak variant",
        ),
        (
            "ML-DSA-44-ETH",
            "verify-solidity-older-published",
            13_500_000,
            "another hash: not FIPS 204",
            "ZKNOX, Keccak variant, older",
        ),
        (
            "ML-DSA-65",
            "matrix-core-published",
            1_499_354,
            "A z - c t1 only, matrix unbound: no verification",
            "PreA",
        ),
        (
            "ML-DSA-65",
            "verify-poc-published",
            68_901_612,
            "hints ignored, wrong tau, no mu; above the transaction cap",
            "PreA",
        ),
        (
            "Falcon-1024",
            "verify-published",
            10_336_055,
            "Keccak counter hash, uncompressed signature, key in transform form; execution only",
            "Falcon verifier",
        ),
        (
            "ECDSA-secp256k1",
            "ecrecover-published",
            21_126,
            "everything; broken by a quantum computer",
            "dataset baseline",
        ),
    ]
    .map(|(scheme, bench, gas, notes, source)| Row {
        scheme: scheme.to_owned(),
        bench: bench.to_owned(),
        profile: PUBLISHED,
        gas,
        notes: format!("published. {notes}"),
        provenance: source.to_owned(),
    })
    .into()
}
