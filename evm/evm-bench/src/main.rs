//! Gas of everything: `evm-bench [--jsonl FILE] [--csv FILE] [--plot FILE]`.

use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use evm_bench::cases::{Key, Random};
use evm_bench::chain::{Chain, SENDER};
use evm_bench::contracts::{Deployed, bound_input, folder, number, tail, word};
use evm_bench::gas::{DEPOSIT, NEXT_DEPOSIT, Transaction};
use evm_bench::rows::{self, NEXT, Origin, Row, TODAY};
use mldsa_evm_gen::key::{ExpandedKey, parts};
use mldsa_evm_gen::lanes::Layout;
use mldsa_evm_gen::verifier::PARTS;
use mldsa_evm_precompile::Set;
use mldsa_evm_revm::DRAFT_ADDRESSES;
use revm::primitives::{Address, U256};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("evm-bench: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn std::error::Error>> {
    let mut files = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--jsonl" | "--csv" | "--plot" => {
                let file = arguments.next().ok_or(format!("{argument} needs a file"))?;
                files.push((argument, file));
            }
            _ => return Err("usage: evm-bench [--jsonl FILE] [--csv FILE] [--plot FILE]".into()),
        }
    }
    let origin = origin()?;
    println!("{} at {}, {}", origin.repo, origin.commit, origin.time);
    check_compiler()?;
    let mut table = Table::default();
    for layout in Layout::all() {
        measure(layout, &mut table);
    }
    ecrecover(&mut table);
    table.print();
    precompile_prices();
    let mut rows = table.rows;
    rows.extend(rows::published());
    println!("\nPublished by others");
    for row in rows::published() {
        println!(
            "{:<14} {:<28} {:>11}  {}",
            row.scheme, row.bench, row.gas, row.notes
        );
    }
    for (kind, file) in files {
        let text = match kind.as_str() {
            "--jsonl" => rows::jsonl(&rows, &origin),
            "--csv" => rows::csv(&rows, &origin),
            _ => rows::plot(&rows, &origin),
        };
        std::fs::write(&file, text).map_err(|e| format!("{file}: {e}"))?;
    }
    Ok(())
}

fn origin() -> Result<Origin, Box<dyn std::error::Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let git = |arguments: &[&str]| {
        let output = Command::new("git")
            .arg("-C")
            .arg(&root)
            .args(arguments)
            .output()
            .ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| text.trim().to_owned())
    };
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
    Ok(Origin {
        time: utc(seconds),
        repo: git(&["config", "remote.origin.url"])
            .and_then(|url| {
                url.rsplit(['/', ':'])
                    .next()
                    .map(|name| name.trim_end_matches(".git").to_owned())
            })
            .unwrap_or_else(|| "mldsa".to_owned()),
        commit: git(&["rev-parse", "--short=12", "HEAD"]).unwrap_or_else(|| "unknown".to_owned()),
    })
}

/// RFC 3339 from seconds since 1970.
fn utc(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // Civil date of a day count, era by era.
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z",
        rest / 3_600,
        rest / 60 % 60,
        rest % 60
    )
}

/// Compiles the contracts and compares them with the committed code, where node is.
fn check_compiler() -> Result<(), Box<dyn std::error::Error>> {
    let there = |program: &str| {
        Command::new(program)
            .arg("--version")
            .output()
            .is_ok_and(|o| o.status.success())
    };
    if !there("node") || !there("npm") {
        println!("solc: not run, there is no node: the committed code is used");
        return Ok(());
    }
    let folder = folder();
    let out = std::env::temp_dir().join(format!("mldsa-evm-{}", std::process::id()));
    let node = |program: &str, arguments: &[&str]| {
        Command::new(program)
            .current_dir(&folder)
            .args(arguments)
            .output()
    };
    let installed = folder.join("node_modules/solc").is_dir()
        || node("npm", &["ci", "--silent", "--no-audit", "--no-fund"])?
            .status
            .success();
    if !installed {
        println!("solc: not run, npm ci failed: the committed code is used");
        return Ok(());
    }
    let built = node("node", &["build.mjs", &out.to_string_lossy()])?;
    if !built.status.success() {
        return Err(String::from_utf8_lossy(&built.stderr).into());
    }
    let mut count = 0;
    for entry in std::fs::read_dir(&out)? {
        let entry = entry?;
        let committed = std::fs::read(folder.join("artifacts").join(entry.file_name()))?;
        if std::fs::read(entry.path())? != committed {
            return Err(format!(
                "{:?} compiles to other code than is committed",
                entry.file_name()
            )
            .into());
        }
        count += 1;
    }
    std::fs::remove_dir_all(&out)?;
    println!("solc: {count} contracts compile to the committed code");
    Ok(())
}

/// What was measured, to print and to write.
#[derive(Default)]
struct Table {
    rows: Vec<Row>,
    lines: Vec<String>,
}

impl Table {
    fn add(&mut self, scheme: &str, bench: &str, transaction: Transaction, notes: &str) {
        let surfaces = [
            ("", TODAY, transaction.today()),
            ("", NEXT, transaction.next()),
            (".inner", TODAY, transaction.execution),
            (".floor", TODAY, transaction.calldata.floor),
            (".floor", NEXT, transaction.calldata.next_floor),
        ];
        for (suffix, profile, gas) in surfaces {
            self.row(scheme, &format!("{bench}{suffix}"), profile, gas, notes);
        }
        self.lines.push(format!(
            "{scheme:<16} {bench:<17} {:>10} {:>10} {:>10} {:>10} {:>10}",
            transaction.today(),
            transaction.execution,
            transaction.calldata.floor,
            transaction.next(),
            transaction.calldata.next_floor,
        ));
    }

    fn row(&mut self, scheme: &str, bench: &str, profile: &'static str, gas: u64, notes: &str) {
        self.rows.push(Row {
            scheme: scheme.to_owned(),
            bench: bench.to_owned(),
            profile,
            gas,
            notes: notes.to_owned(),
            provenance: "evm-bench, revm".to_owned(),
        });
    }

    fn print(&self) {
        println!("\nWhole transactions, gas (32-byte message, empty context)");
        println!(
            "{:<16} {:<17} {:>10} {:>10} {:>10} {:>10} {:>10}",
            "scheme", "what", "today", "execution", "floor", "announced", "its floor"
        );
        self.lines.iter().for_each(|line| println!("{line}"));
    }
}

const ENTRY_POINT: Address = Address::with_last_byte(0xee);

fn measure(layout: Layout, table: &mut Table) {
    let set = layout.name;
    let scheme = format!("ML-DSA-{set}");
    let p = &layout.p;
    let mut deployed = Deployed::new(layout);
    let pair = Key::new(set, &[set; 32]);
    let key = ExpandedKey::new(layout, &pair.pk).expect("a key");
    let message = Random::new(&format!("evm-bench {set}")).bytes(32);
    let signature = pair.sign(b"", &message);
    let tail = tail(b"", &message);
    let on_chain = deployed.deploy_key(&key);

    println!(
        "\n{scheme}: deployment, gas today, bytes of code, code deposit today and by EIP-8037"
    );
    let addresses = [
        deployed.tables,
        deployed.key_verifier,
        deployed.core,
        deployed.expand,
        deployed.registry,
        deployed.stateless,
    ];
    for ((name, gas), address) in deployed.costs.iter().zip(addresses) {
        let len = deployed.chain.code_len(address) as u64;
        println!(
            "  {name:<16} {gas:>9} {len:>6} {:>9} {:>10}",
            len * DEPOSIT,
            len * NEXT_DEPOSIT
        );
    }
    let codes = key.codes(&vec![[0; 20]; parts(&layout) - 1]);
    let len: u64 = codes.iter().map(|code| code.len() as u64).sum();
    println!(
        "  {:<16} {:>9} {len:>6} {:>9} {:>10} in {} contracts",
        "key",
        on_chain.gas,
        len * DEPOSIT,
        len * NEXT_DEPOSIT,
        codes.len()
    );

    // Parts of variant a.
    let profile = deployed.deploy_with_tables("KeyVerifierProfile");
    let input = [&on_chain.reference()[..], &signature, &tail].concat();
    let marks: Vec<u64> = deployed
        .chain
        .call(profile, &input[..])
        .output
        .chunks_exact(32)
        .map(|word| U256::from_be_slice(word).to::<u64>())
        .collect();
    println!("{scheme}: gas of the parts, key in code");
    for (name, pair) in PARTS.iter().zip(marks.windows(2)) {
        println!("  {name:<22} {:>7}", pair[0] - pair[1]);
    }
    // Both transforms and the product, loading the matrix included.
    let core = marks[4] - marks[7];
    table.row(
        &scheme,
        "matrix-core",
        TODAY,
        core,
        "A z - c t1 with both transforms, in NTT lanes; inner part of verify-code",
    );
    table.lines.push(format!(
        "{scheme:<16} {:<17} {:>10} {core:>10}",
        "matrix-core", ""
    ));

    // Variant a, valid and every kind of invalid.
    let receipt = deployed.verify_code(&on_chain, &signature, &tail);
    assert!(receipt.accepts());
    let valid = Transaction::new(receipt.gas, &input, None, 0);
    table.add(
        &scheme,
        "verify-code",
        valid,
        "all of FIPS 204 pure; key words in contract code bound by code hash",
    );
    let hint = p.c_tilde_len + p.l * p.z_poly_len();
    let mut worst = 0;
    for at in [
        0,
        p.c_tilde_len,
        p.c_tilde_len + 3,
        hint,
        hint + p.omega - 1,
        hint + p.omega,
        hint + p.omega + p.k - 1,
    ] {
        for bit in [0, 4, 7] {
            let mut other = signature.clone();
            other[at] ^= 1 << bit;
            let receipt = deployed.verify_code(&on_chain, &other, &tail);
            assert!(receipt.refuses());
            worst = worst.max(receipt.gas);
        }
    }
    println!(
        "{scheme}: worst of 21 invalid signatures, whole transaction: {worst} (valid {})",
        receipt.gas
    );

    // Variant d, then b.
    let receipt = deployed.register(&pair.pk);
    assert_eq!(receipt.output, key.commitment());
    table.add(
        &scheme,
        "register-proof",
        Transaction::new(receipt.gas, &pair.pk, None, 1),
        "expands the key on chain, stores its commitment",
    );
    let input = bound_input(&key, &signature, &tail);
    let receipt = deployed.verify_calldata(&key, &signature, &tail);
    assert!(receipt.accepts());
    let core_gas = deployed.chain.execution_gas(deployed.registry, &input);
    table.add(
        &scheme,
        "verify-calldata",
        Transaction::new(receipt.gas, &input, Some(core_gas), 0),
        "all of FIPS 204 pure; matrix in calldata bound to a proven commitment in one slot",
    );

    // Variant c.
    let input = [&pair.pk[..], &signature, &tail].concat();
    let receipt = deployed.verify_stateless(&pair.pk, &signature, &tail);
    assert!(receipt.accepts());
    table.add(
        &scheme,
        "verify-stateless",
        Transaction::new(receipt.gas, &input, None, 0),
        "all of FIPS 204 pure, from the encoded key",
    );

    // Interfaces over variant a.
    let verifier = word(deployed.key_verifier);
    let (erc7913, _) = deployed.deploy("Mldsa7913", &[verifier, number(52), number(p.sig_len())]);
    let hash: [u8; 32] = message.clone().try_into().expect("32 bytes");
    let input = evm_bench::abi::verify(&on_chain.reference(), &hash, &signature);
    let receipt = deployed.chain.call(erc7913, &input[..]);
    assert_eq!(receipt.output[..4], evm_bench::abi::VERIFY);
    table.add(
        &scheme,
        "erc7913",
        Transaction::new(receipt.gas, &input, None, 0),
        "verify-code behind ERC-7913",
    );
    let (account, _) = deployed.deploy(
        "MldsaAccount",
        &[
            word(ENTRY_POINT),
            verifier,
            word(on_chain.address),
            on_chain.hash,
            number(p.sig_len()),
        ],
    );
    let bound = deployed
        .chain
        .call(account, evm_bench::abi::message_hash(&hash));
    let signature = pair.sign(b"ERC-1271", &bound.output);
    let input = evm_bench::abi::is_valid_signature(&hash, &signature);
    let receipt = deployed.chain.call(account, &input[..]);
    assert_eq!(receipt.output[..4], evm_bench::abi::IS_VALID_SIGNATURE);
    table.add(
        &scheme,
        "erc1271",
        Transaction::new(receipt.gas, &input, None, 0),
        "verify-code behind ERC-1271",
    );
    let signature = pair.sign(b"ERC-4337", &hash);
    let input = evm_bench::abi::validate_user_op(account, &hash, &signature, 0);
    let receipt = deployed.chain.call_from(ENTRY_POINT, account, &input[..]);
    assert!(receipt.refuses(), "zero is valid: {receipt:?}");
    table.add(
        &scheme,
        "erc4337",
        Transaction::new(receipt.gas, &input, None, 0),
        "validateUserOp of an account over verify-code; without the entry point",
    );

    // The precompile.
    let which = Set::ALL[match set {
        44 => 0,
        65 => 1,
        _ => 2,
    }];
    let signature = pair.sign(b"", &message);
    let input = [&pair.pk[..], &signature, &message].concat();
    let receipt = deployed
        .chain
        .call(DRAFT_ADDRESSES[which as usize], &input[..]);
    assert!(receipt.accepts());
    let execution = which.gas(input.len());
    table.add(
        &scheme,
        "precompile",
        Transaction::new(receipt.gas, &input, Some(execution), 0),
        "EIP-8355",
    );
}

/// Key recovery of today, the baseline.
fn ecrecover(table: &mut Table) {
    // A signature of the well-known vector of the precompile's tests.
    let input = hex::decode(concat!(
        "18c547e4f7b0f325ad1e56f57e26c745b09a3e503d86e00e5255ff7f715d3d1c",
        "000000000000000000000000000000000000000000000000000000000000001c",
        "73b1693892219d736caba55bdb67216e485557ea6b6af75f37096c9aa6a5a75f",
        "eeb940b1d03b21e36b0e47e79769f095fe2ab855bd91e3a38756b7d75a9c4549"
    ))
    .expect("hex");
    let mut chain = Chain::default();
    let receipt = chain.call_from(SENDER, Address::with_last_byte(1), &input[..]);
    let signer = hex::decode("a94f5374fce5edbc8e2a8697c15331677e6ebf0b").expect("hex");
    assert_eq!(receipt.output[12..], signer);
    let transaction = Transaction::new(receipt.gas, &input, Some(3_000), 0);
    table.add(
        "ECDSA-secp256k1",
        "ecrecover",
        transaction,
        "everything; broken by a quantum computer",
    );
}

/// Time of a call for each unit of its gas, valid and at its slowest invalid.
fn precompile_prices() {
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let cpu = cpu.lines().find_map(|line| line.strip_prefix("model name"));
    println!(
        "\nPrecompile on one thread of{}",
        cpu.unwrap_or(" an unknown CPU")
    );
    println!(
        "{:<10} {:>8} {:>12} {:>12} {:>10} {:>10} {:>16}",
        "set", "gas", "valid ns", "invalid ns", "ns/gas", "ns/gas", "gas at 100 Mgas/s"
    );
    for (set, name) in Set::ALL.into_iter().zip([44, 65, 87]) {
        let pair = Key::new(name, &[name; 32]);
        let signature = pair.sign(b"", &[1; 32]);
        let valid = [&pair.pk[..], &signature, &[1; 32]].concat();
        // Fails at the end only: another message.
        let mut invalid = valid.clone();
        *invalid.last_mut().expect("bytes") ^= 1;
        let gas = set.gas(valid.len());
        let time = |input: &[u8]| {
            let mut best = u128::MAX;
            for _ in 0..50 {
                let start = Instant::now();
                for _ in 0..20 {
                    let output = mldsa_evm_precompile::run(set, std::hint::black_box(input), gas);
                    std::hint::black_box(output.is_ok());
                }
                best = best.min(start.elapsed().as_nanos() / 20);
            }
            best as f64
        };
        let (good, bad) = (time(&valid), time(&invalid));
        println!(
            "{:<10} {gas:>8} {good:>12.0} {bad:>12.0} {:>10.2} {:>10.2} {:>16.0}",
            set.name(),
            good / gas as f64,
            bad / gas as f64,
            good.max(bad) / 10.0
        );
    }
}
