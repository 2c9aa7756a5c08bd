//! Gas of every variant, as whole transactions and by their parts.

use evm_bench::abi;
use evm_bench::cases::{Key, Random};
use evm_bench::chain::{Chain, Receipt, SENDER};
use evm_bench::contracts::{Deployed, bound_input, tail};
use evm_bench::gas::{NEXT, NEXT_CODE_LIMIT, Rules, TODAY, revm_version};
use evm_bench::rows::{Row, equivalent_bits};
use indexmap::IndexMap;
use mldsa_evm_gen::key::{ExpandedKey, parts, parts_within};
use mldsa_evm_gen::lanes::Layout;
use mldsa_evm_gen::verifier::PARTS;
use mldsa_evm_precompile::{Precompile as _, Set};
use mldsa_evm_revm::DRAFT_ADDRESSES;
use revm::primitives::{Address, U256};

/// A transaction, measured.
#[derive(Clone, Copy)]
struct Gas {
    whole: u64,
    inner: u64,
    floor: u64,
}

/// The measured figures, to print and to write.
#[derive(Default)]
pub(crate) struct Table {
    pub(crate) rows: Vec<Row>,
    /// By scheme and name, the gas of both rule sets.
    lines: IndexMap<(String, String), [Option<Gas>; 2]>,
}

impl Table {
    /// Measures a transaction. If the floor decided its gas, its execution is measured again
    /// without one.
    fn transaction(
        &mut self,
        chain: &mut Chain,
        (scheme, bench, notes): (&str, &str, &str),
        [from, to]: [Address; 2],
        input: &[u8],
    ) -> Receipt {
        let receipt = chain.call_from(from, to, input);
        let inner = if receipt.gas == receipt.floor {
            chain.inner(to, input)
        } else {
            receipt.inner
        };
        let gas = Gas {
            whole: receipt.gas,
            inner,
            floor: receipt.floor,
        };
        for (suffix, gas) in [("", gas.whole), (".inner", inner), (".floor", gas.floor)] {
            self.row(chain.rules, scheme, &format!("{bench}{suffix}"), gas, notes);
        }
        let line = self
            .lines
            .entry((scheme.to_owned(), bench.to_owned()))
            .or_default();
        line[usize::from(chain.rules == NEXT)] = Some(gas);
        receipt
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
            "{:<16} {:<17} {:>10} {:>10} {:>10} {:>10} | {:>10} {:>10} {:>10} {:>10}",
            "scheme",
            "what",
            "whole",
            "execution",
            "floor",
            "gas/bit",
            "whole",
            "execution",
            "floor",
            "gas/bit"
        );
        for ((scheme, bench), both) in &self.lines {
            let bits = equivalent_bits(scheme);
            let [today, next] = both.map(|gas| {
                gas.map_or_else(
                    String::new,
                    |Gas {
                         whole,
                         inner,
                         floor,
                     }| {
                        let per_bit = (whole as f64 / bits as f64).round();
                        format!("{whole:>10} {inner:>10} {floor:>10} {per_bit:>10}")
                    },
                )
            });
            println!("{scheme:<16} {bench:<17} {today:>43} | {next:>43}");
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

    let Deployed {
        key_verifier,
        registry,
        stateless,
        ..
    } = deployed;
    let mut measured = |chain: &mut Chain, bench, notes, from, to, input: &[u8]| {
        table.transaction(chain, (&scheme, bench, notes), [from, to], input)
    };

    // Variant a, valid and every kind of invalid.
    let notes = "all of FIPS 204 pure; key words in contract code bound by code hash";
    let chain = &mut deployed.chain;
    let receipt = measured(chain, "verify-code", notes, SENDER, key_verifier, &input);
    assert!(receipt.accepts());
    let hint = p.c_tilde_len + p.l * p.z_poly_len();
    let (counts, end) = (hint + p.omega, hint + p.omega + p.k);
    let mut worst = 0;
    for at in [
        0,
        p.c_tilde_len,
        p.c_tilde_len + 3,
        hint,
        counts - 1,
        counts,
        end - 1,
    ] {
        for bit in [0, 4, 7] {
            let mut other = signature.clone();
            other[at] ^= 1 << bit;
            let receipt = deployed.verify_code(&on_chain, &other, &tail);
            assert!(receipt.rejects());
            worst = worst.max(receipt.gas);
        }
    }
    println!(
        "{scheme}: worst of 21 invalid signatures, whole transaction: {worst} (valid {})",
        receipt.gas
    );

    // Variant d, then b, then c.
    let chain = &mut deployed.chain;
    let notes = "expands the key on chain, stores its commitment";
    let receipt = measured(chain, "register-proof", notes, SENDER, registry, &pair.pk);
    assert_eq!(receipt.output, key.commitment());
    let notes = "all of FIPS 204 pure; matrix in calldata bound to a proven commitment in one slot";
    let input = bound_input(&key, &signature, &tail);
    let receipt = measured(chain, "verify-calldata", notes, SENDER, registry, &input);
    assert!(receipt.accepts());
    let notes = "all of FIPS 204 pure, from the encoded key";
    let input = [&pair.pk[..], &signature, &tail].concat();
    let receipt = measured(chain, "verify-stateless", notes, SENDER, stateless, &input);
    assert!(receipt.accepts());

    // Interfaces over variant a.
    let erc7913 = deployed.deploy_erc7913(key_verifier, 52, p.sig_len());
    let chain = &mut deployed.chain;
    let hash: [u8; 32] = message.clone().try_into().expect("32 bytes");
    let notes = "verify-code called through ERC-7913";
    let input = abi::verify(&on_chain.reference(), &hash, &signature);
    let receipt = measured(chain, "erc7913", notes, SENDER, erc7913, &input);
    assert_eq!(receipt.output[..4], abi::VERIFY);
    let (account, _) = deployed.deploy_account(ENTRY_POINT, &on_chain);
    let chain = &mut deployed.chain;
    let notes = "verify-code called through ERC-1271";
    let bound = chain.call(account, abi::message_hash(&hash));
    let input = abi::is_valid_signature(&hash, &pair.sign(b"ERC-1271", &bound.output));
    let receipt = measured(chain, "erc1271", notes, SENDER, account, &input);
    assert_eq!(receipt.output[..4], abi::IS_VALID_SIGNATURE);
    let notes = "validateUserOp of an account over verify-code; without the entry point";
    let input = abi::validate_user_op(account, &hash, &pair.sign(b"ERC-4337", &hash), 0);
    let receipt = measured(chain, "erc4337", notes, ENTRY_POINT, account, &input);
    assert!(receipt.rejects(), "zero is valid: {receipt:?}");
    assert_ne!(receipt.gas, receipt.floor);

    // The precompile.
    let mut precompiles = Set::ALL.into_iter().zip(DRAFT_ADDRESSES);
    let (which, address) = precompiles
        .find(|(which, _)| which.name() == scheme)
        .expect("a set");
    let input = [&pair.pk[..], &signature, &message].concat();
    let receipt = measured(chain, "precompile", "EIP-8355", SENDER, address, &input);
    assert!(receipt.accepts());
    let execution = chain.inner(address, &input);
    assert_eq!(execution, which.gas(input.len()));
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
    let notes = "everything; broken by a quantum computer";
    let names = ("ECDSA-secp256k1", "ecrecover", notes);
    let receipt = table.transaction(&mut chain, names, [SENDER, address], &input);
    let signer = hex::decode("a94f5374fce5edbc8e2a8697c15331677e6ebf0b").expect("hex");
    assert_eq!(receipt.output[12..], signer);
}
