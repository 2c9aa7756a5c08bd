//! Gas of every variant, as whole transactions and by their parts.

use evm_bench::abi;
use evm_bench::cases::{Key, Random};
use evm_bench::chain::{Chain, Receipt};
use evm_bench::contracts::{Deployed, bound_input, tail};
use evm_bench::gas::{NEXT, NEXT_CODE_LIMIT, Rules, TODAY, revm_version};
use evm_bench::rows::Row;
use mldsa_evm_gen::key::{ExpandedKey, parts, parts_within};
use mldsa_evm_gen::lanes::Layout;
use mldsa_evm_gen::verifier::PARTS;
use mldsa_evm_precompile::Set;
use mldsa_evm_revm::DRAFT_ADDRESSES;
use revm::primitives::{Address, U256};

/// A transaction, measured.
#[derive(Clone, Copy)]
struct Gas {
    whole: u64,
    inner: u64,
    floor: u64,
}

impl Gas {
    /// If the floor decided, the execution is measured again without one.
    fn of(receipt: &Receipt, chain: &mut Chain, to: Address, input: &[u8]) -> Self {
        let hidden = receipt.gas == receipt.floor;
        Self {
            whole: receipt.gas,
            inner: if hidden {
                chain.inner(to, input)
            } else {
                receipt.inner
            },
            floor: receipt.floor,
        }
    }
}

/// The measured figures, to print and to write.
#[derive(Default)]
pub(crate) struct Table {
    pub(crate) rows: Vec<Row>,
    /// Scheme, name, and the gas of both rule sets.
    lines: Vec<(String, String, [Option<Gas>; 2])>,
}

impl Table {
    fn add(&mut self, rules: Rules, scheme: &str, bench: &str, gas: Gas, notes: &str) {
        let surfaces = [
            ("", gas.whole),
            (".inner", gas.inner),
            (".floor", gas.floor),
        ];
        for (suffix, gas) in surfaces {
            self.row(rules, scheme, &format!("{bench}{suffix}"), gas, notes);
        }
        let which = usize::from(rules == NEXT);
        let same = |line: &&mut (String, String, _)| line.0 == scheme && line.1 == bench;
        match self.lines.iter_mut().find(same) {
            Some(line) => line.2[which] = Some(gas),
            None => {
                let mut both = [None; 2];
                both[which] = Some(gas);
                self.lines.push((scheme.to_owned(), bench.to_owned(), both));
            }
        }
    }

    fn row(&mut self, rules: Rules, scheme: &str, bench: &str, gas: u64, notes: &str) {
        self.rows.push(Row {
            scheme: scheme.to_owned(),
            bench: bench.to_owned(),
            profile: rules.profile,
            gas,
            notes: notes.to_owned(),
            provenance: format!("evm-bench, revm {}", revm_version()),
        });
    }

    pub(crate) fn print(&self) {
        println!("\nWhole transactions, gas (32-byte message, empty context)");
        println!("left {}; right {}", TODAY.title, NEXT.title);
        println!(
            "{:<16} {:<17} {:>10} {:>10} {:>10} | {:>10} {:>10} {:>10}",
            "scheme", "what", "whole", "execution", "floor", "whole", "execution", "floor"
        );
        for (scheme, bench, both) in &self.lines {
            let [today, next] = both.map(|gas| {
                gas.map_or_else(String::new, |gas| {
                    format!("{:>10} {:>10} {:>10}", gas.whole, gas.inner, gas.floor)
                })
            });
            println!("{scheme:<16} {bench:<17} {today:>32} | {next:>32}");
        }
    }
}

/// Name of the part that others published alone.
const MATRIX_CORE: &str = "matrix-core";

const ENTRY_POINT: Address = Address::with_last_byte(0xee);

/// Measures one parameter set under `rules`; asserts every verdict.
pub(crate) fn measure(rules: Rules, layout: Layout, table: &mut Table) {
    let set = layout.name;
    let scheme = format!("ML-DSA-{set}");
    let p = &layout.p;
    let mut deployed = Deployed::under(rules, layout);
    let pair = Key::new(set, &[set; 32]);
    let key = ExpandedKey::new(layout, &pair.pk).expect("a key");
    let message = Random::new(&format!("evm-bench {set}")).bytes(32);
    let signature = pair.sign(b"", &message);
    let tail = tail(b"", &message);
    let on_chain = deployed.deploy_key(&key);

    println!("\n{scheme}: deployment, gas, bytes of code, of which the code deposit costs");
    let addresses = [
        deployed.tables,
        deployed.key_verifier,
        deployed.core,
        deployed.expand,
        deployed.registry,
        deployed.stateless,
    ];
    for ((name, gas), address) in deployed.costs.iter().zip(addresses) {
        let len = deployed.chain.code(address).len() as u64;
        println!(
            "  {name:<16} {gas:>10} {len:>6} {:>10}",
            len * rules.code_byte
        );
    }
    let codes = key.codes(&vec![[0; 20]; parts(&layout) - 1]);
    let len: u64 = codes.iter().map(|code| code.len() as u64).sum();
    println!(
        "  {:<16} {:>10} {len:>6} {:>10} in {} contracts; {} by EIP-7954",
        "key",
        on_chain.gas,
        len * rules.code_byte,
        codes.len(),
        parts_within(&layout, NEXT_CODE_LIMIT)
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
    println!("  {MATRIX_CORE:<22} {core:>7}");
    let notes = "A z - c t1 with both transforms, in NTT lanes; inner part of verify-code";
    table.row(rules, &scheme, MATRIX_CORE, core, notes);

    // Variant a, valid and every kind of invalid.
    let receipt = deployed.verify_code(&on_chain, &signature, &tail);
    assert!(receipt.accepts());
    let gas = Gas::of(&receipt, &mut deployed.chain, deployed.key_verifier, &input);
    table.add(
        rules,
        &scheme,
        "verify-code",
        gas,
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
    let gas = Gas::of(&receipt, &mut deployed.chain, deployed.registry, &pair.pk);
    table.add(
        rules,
        &scheme,
        "register-proof",
        gas,
        "expands the key on chain, stores its commitment",
    );
    let input = bound_input(&key, &signature, &tail);
    let receipt = deployed.verify_calldata(&key, &signature, &tail);
    assert!(receipt.accepts());
    let gas = Gas::of(&receipt, &mut deployed.chain, deployed.registry, &input);
    table.add(
        rules,
        &scheme,
        "verify-calldata",
        gas,
        "all of FIPS 204 pure; matrix in calldata bound to a proven commitment in one slot",
    );

    // Variant c.
    let input = [&pair.pk[..], &signature, &tail].concat();
    let receipt = deployed.verify_stateless(&pair.pk, &signature, &tail);
    assert!(receipt.accepts());
    let gas = Gas::of(&receipt, &mut deployed.chain, deployed.stateless, &input);
    table.add(
        rules,
        &scheme,
        "verify-stateless",
        gas,
        "all of FIPS 204 pure, from the encoded key",
    );

    // Interfaces over variant a.
    let erc7913 = deployed.deploy_erc7913(deployed.key_verifier, 52, p.sig_len());
    let hash: [u8; 32] = message.clone().try_into().expect("32 bytes");
    let input = abi::verify(&on_chain.reference(), &hash, &signature);
    let receipt = deployed.chain.call(erc7913, &input[..]);
    assert_eq!(receipt.output[..4], abi::VERIFY);
    let gas = Gas::of(&receipt, &mut deployed.chain, erc7913, &input);
    table.add(
        rules,
        &scheme,
        "erc7913",
        gas,
        "verify-code behind ERC-7913",
    );
    let (account, _) = deployed.deploy_account(ENTRY_POINT, &on_chain);
    let bound = deployed.chain.call(account, abi::message_hash(&hash));
    let signature = pair.sign(b"ERC-1271", &bound.output);
    let input = abi::is_valid_signature(&hash, &signature);
    let receipt = deployed.chain.call(account, &input[..]);
    assert_eq!(receipt.output[..4], abi::IS_VALID_SIGNATURE);
    let gas = Gas::of(&receipt, &mut deployed.chain, account, &input);
    table.add(
        rules,
        &scheme,
        "erc1271",
        gas,
        "verify-code behind ERC-1271",
    );
    let signature = pair.sign(b"ERC-4337", &hash);
    let input = abi::validate_user_op(account, &hash, &signature, 0);
    let receipt = deployed.chain.call_from(ENTRY_POINT, account, &input[..]);
    assert!(receipt.refuses(), "zero is valid: {receipt:?}");
    assert_ne!(receipt.gas, receipt.floor);
    let gas = Gas::of(&receipt, &mut deployed.chain, account, &input);
    table.add(
        rules,
        &scheme,
        "erc4337",
        gas,
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
    let address = DRAFT_ADDRESSES[which as usize];
    let receipt = deployed.chain.call(address, &input[..]);
    assert!(receipt.accepts());
    let gas = Gas::of(&receipt, &mut deployed.chain, address, &input);
    assert_eq!(gas.inner, which.gas(input.len()));
    table.add(rules, &scheme, "precompile", gas, "EIP-8355");
}

/// Measures key recovery on secp256k1, the baseline.
pub(crate) fn ecrecover(rules: Rules, table: &mut Table) {
    // A signature of the well-known vector of the precompile's tests.
    let input = hex::decode(concat!(
        "18c547e4f7b0f325ad1e56f57e26c745b09a3e503d86e00e5255ff7f715d3d1c",
        "000000000000000000000000000000000000000000000000000000000000001c",
        "73b1693892219d736caba55bdb67216e485557ea6b6af75f37096c9aa6a5a75f",
        "eeb940b1d03b21e36b0e47e79769f095fe2ab855bd91e3a38756b7d75a9c4549"
    ))
    .expect("hex");
    let mut chain = Chain::new(rules);
    let address = Address::with_last_byte(1);
    let receipt = chain.call(address, &input[..]);
    let signer = hex::decode("a94f5374fce5edbc8e2a8697c15331677e6ebf0b").expect("hex");
    assert_eq!(receipt.output[12..], signer);
    let gas = Gas::of(&receipt, &mut chain, address, &input);
    table.add(
        rules,
        "ECDSA-secp256k1",
        "ecrecover",
        gas,
        "everything; broken by a quantum computer",
    );
}
