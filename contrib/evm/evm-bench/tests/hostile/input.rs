//! Malformed input and too little gas.

use evm_bench::abi;
use evm_bench::cases::Random;
use evm_bench::chain::{Receipt, SENDER, TRANSACTION_CAP};
use evm_bench::contracts::number;
use mldsa_evm_gen::lanes::Layout;
use revm::primitives::Address;

use super::{ENTRY_POINT, Scene, first4};

/// Every length below that of an input, and inputs of one repeated byte.
#[test]
fn every_length() {
    for layout in Layout::all() {
        let mut scene = Scene::new(layout);
        for (variant, (contract, input)) in scene.valid().into_iter().enumerate() {
            let chain = &mut scene.deployed.chain;
            assert!(chain.call(contract, &input[..]).accepts());
            // Calldata of b is long: its ends, and every 64th length.
            let dense = |len: usize| variant != 1 || len % 64 == 1 || input.len() - len < 40;
            for len in (0..input.len()).filter(|&len| dense(len)) {
                // The length of a key is a registration, 32 bytes are a question.
                if variant == 1 && [32, layout.p.pk_len()].contains(&len) {
                    continue;
                }
                let receipt = chain.call(contract, &input[..len]);
                assert!(
                    receipt.rejects(),
                    "variant {variant}, {len} bytes: {receipt:?}"
                );
            }
            for byte in [0, 0x7f, 0xff] {
                let receipt = chain.call(contract, vec![byte; input.len()]);
                assert!(receipt.rejects(), "variant {variant}, all {byte}");
            }
        }
    }
}

/// With less gas than needed a call reverts and never returns a verdict, also if the
/// caller keeps 1/64.
#[test]
fn too_little_gas_is_never_an_answer() {
    let mut scene = Scene::new(Layout::of(44));
    let len = scene.signature.len();
    let ([over_code, account], [for_1271, for_4337]) = scene.interfaces();
    let stateless = scene.deployed.stateless;
    let pk = scene.pair.pk.clone();
    let over_key = scene.deployed.deploy_erc7913(stateless, pk.len(), len);
    let yes = |receipt: &Receipt| receipt.accepts();
    let zero = |receipt: &Receipt| receipt.rejects();
    let verified = |receipt: &Receipt| first4(receipt) == abi::VERIFY;
    let approved = |receipt: &Receipt| first4(receipt) == abi::IS_VALID_SIGNATURE;
    let [code, bound, encoded] = scene.valid();
    let reference = scene.on_chain.reference();
    type Right<'a> = &'a dyn Fn(&Receipt) -> bool;
    let (hash, signature) = (&scene.hash, &scene.signature);
    let verify_code = abi::verify(&reference, hash, signature);
    let verify_key = abi::verify(&pk, hash, signature);
    let approve = abi::is_valid_signature(hash, &for_1271);
    let validate = abi::validate_user_op(account, hash, &for_4337, 0);
    let commitment = scene.key.commitment();
    let registered = |receipt: &Receipt| receipt.success && receipt.output == commitment;
    let calls: [(Address, Address, Vec<u8>, Right<'_>); 8] = [
        (SENDER, code.0, code.1, &yes),
        (SENDER, bound.0, bound.1, &yes),
        (SENDER, encoded.0, encoded.1, &yes),
        (SENDER, over_code, verify_code, &verified),
        (SENDER, over_key, verify_key, &verified),
        (SENDER, account, approve, &approved),
        (ENTRY_POINT, account, validate, &zero),
        (SENDER, scene.deployed.registry, pk, &registered),
    ];
    let mut random = Random::new("too little gas");
    for (n, (from, to, input, right)) in calls.into_iter().enumerate() {
        let chain = &mut scene.deployed.chain;
        let mut ask = |gas| {
            let receipt = chain.call_with_gas(from, to, &input[..], gas);
            assert!(
                !receipt.success || right(&receipt),
                "call {n}, {gas} gas: {receipt:?}"
            );
            receipt
        };
        let whole = ask(TRANSACTION_CAP);
        assert!(whole.success);
        let (mut low, mut high) = (whole.floor, TRANSACTION_CAP);
        assert!(!ask(low).success || low == whole.gas);
        while high - low > 1 {
            let middle = low.midpoint(high);
            if ask(middle).success {
                high = middle;
            } else {
                low = middle;
            }
        }
        for _ in 0..16 {
            let gas = whole.floor + random.below((high - whole.floor) as usize) as u64;
            assert!(!ask(gas).success);
        }
        // The 1/64 that a caller keeps, for one and two levels of calls.
        for kept in [1, high / 64, high / 64 + high / 4096] {
            assert!(!ask(high - kept).success);
        }
    }
}

/// Wrong offsets and lengths of the ABI: a revert, an invalid verdict, or the verdict on
/// the parts that they select.
#[test]
fn malformed_abi() {
    let mut scene = Scene::new(Layout::of(44));
    let len = scene.signature.len();
    let ([erc7913, account], [signed, signed_operation]) = scene.interfaces();
    let verify = abi::verify(&scene.on_chain.reference(), &scene.hash, &scene.signature);
    let approve = abi::is_valid_signature(&scene.hash, &signed);
    let validate = abi::validate_user_op(account, &scene.hash, &signed_operation, 0);
    let right: [&dyn Fn(&Receipt) -> bool; 3] = [
        &|receipt| first4(receipt) == abi::VERIFY,
        &|receipt| first4(receipt) == abi::IS_VALID_SIGNATURE,
        &|receipt| receipt.rejects(),
    ];
    // Words that are offsets, then words that are lengths, counted from the selector.
    let operation = 3 * 32;
    let calls = [
        (SENDER, erc7913, verify, vec![0, 64, 96, 96 + 32 + 64], 0),
        (SENDER, account, approve, vec![32, 64], 1),
        (
            ENTRY_POINT,
            account,
            validate,
            // The operation, its signature, and the length of that.
            vec![0, operation + 8 * 32, operation + 12 * 32],
            2,
        ),
    ];
    let wide = |high: u8, low: usize| {
        let mut word = number(low);
        word[0] = high;
        word
    };
    for (from, to, input, places, which) in calls {
        let chain = &mut scene.deployed.chain;
        let mut ask = |input: &[u8]| chain.call_from(from, to, input);
        assert!(right[which](&ask(&input)));
        for &place in &places {
            let at = 4 + place;
            let old = usize::from_str_radix(&hex::encode(&input[at + 24..at + 32]), 16).unwrap();
            let mut values = vec![
                wide(0, 0),
                wide(0, 1),
                wide(0, old + 1),
                wide(0, old + 32),
                wide(0, input.len()),
                wide(0, u32::MAX as usize),
                wide(0, usize::MAX),
                wide(0x80, old),
                [0xff; 32],
            ];
            // -32 and -4: an offset that wraps back into what was read already.
            for back in [0xe0, 0xfc] {
                let mut word = [0xff; 32];
                word[31] = back;
                values.push(word);
            }
            values.extend(old.checked_sub(1).map(|less| wide(0, less)));
            for value in values {
                let mut other = input.clone();
                other[at..at + 32].copy_from_slice(&value);
                let receipt = ask(&other);
                assert!(
                    !receipt.success || !right[which](&receipt),
                    "interface {which}, word at {place} is {}",
                    hex::encode(value)
                );
            }
        }
        // Truncated before the zeros that pad the last word, and with bytes after the end,
        // which the ABI permits.
        let end = input.len() - (32 - len % 32);
        for cut in [4, 31, 100, end / 2, end - 32, end - 1] {
            let receipt = ask(&input[..cut]);
            assert!(!receipt.success || !right[which](&receipt), "{cut} bytes");
        }
        assert!(right[which](&ask(&[&input[..], &[7; 33]].concat())));
    }

    // The same parts in another order, and key and signature in the same place.
    let chain = &mut scene.deployed.chain;
    let selector = &abi::VERIFY[..];
    let reference = [&scene.on_chain.reference()[..], &[0; 12]].concat();
    let signature = [&scene.signature[..], &[0; 12]].concat();
    let swapped = [
        selector,
        &number(96 + 32 + signature.len()),
        &scene.hash,
        &number(96),
        &number(len),
        &signature,
        &number(52),
        &reference,
    ]
    .concat();
    assert_eq!(first4(&chain.call(erc7913, swapped)), abi::VERIFY);
    let same = [
        selector,
        &number(96),
        &scene.hash,
        &number(96),
        &number(len),
        &signature,
    ]
    .concat();
    assert_eq!(first4(&chain.call(erc7913, same)), [0xff; 4]);
}
