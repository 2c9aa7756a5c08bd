//! ERC-7913, ERC-1271 and ERC-4337 over the verifiers; the precompile in both adapters.

use evm_bench::abi;
use evm_bench::cases::Key;
use evm_bench::chain::SENDER;
use evm_bench::contracts::{Deployed, artifact, number, word};
use mldsa_evm_gen::key::ExpandedKey;
use mldsa_evm_gen::lanes::Layout;
use mldsa_evm_precompile::{Precompile as _, Set};
use mldsa_evm_revm::{DRAFT_ADDRESSES, function};
use revm::primitives::{Address, U256};

const NO: [u8; 4] = [0xff; 4];

/// The first four bytes of an answer of one word.
fn selector(output: &[u8]) -> [u8; 4] {
    assert_eq!(output.len(), 32);
    assert_eq!(output[4..], [0; 28]);
    output[..4].try_into().unwrap()
}

#[test]
fn erc7913_over_every_variant() {
    assert_eq!([0x02, 0x4a, 0xd3, 0x18], abi::VERIFY);
    for layout in Layout::all() {
        let mut deployed = Deployed::new(layout);
        let pair = Key::new(layout.name, &[2; 32]);
        let key = ExpandedKey::new(layout, &pair.pk).unwrap();
        let on_chain = deployed.deploy_key(&key);
        assert!(deployed.register(&pair.pk).success);
        let hash = [0x33; 32];
        let signature = pair.sign(b"", &hash);
        let len = layout.p.sig_len();
        let bound = [&key.rho[..], &key.tr, &key.words(), &signature].concat();
        for (verifier, key, signature) in [
            (
                deployed.key_verifier,
                on_chain.reference(),
                signature.clone(),
            ),
            (deployed.registry, key.commitment().to_vec(), bound),
            (deployed.stateless, pair.pk.clone(), signature),
        ] {
            let contract = deployed.deploy_erc7913(verifier, key.len(), signature.len());
            let mut ask = |key: &[u8], hash: &[u8; 32], signature: &[u8]| {
                let receipt = deployed
                    .chain
                    .call(contract, abi::verify(key, hash, signature));
                assert!(receipt.success);
                selector(&receipt.output)
            };
            assert_eq!(ask(&key, &hash, &signature), abi::VERIFY);
            assert_eq!(ask(&key, &[0x34; 32], &signature), NO);
            for at in [0, signature.len() - len, signature.len() - 1] {
                let mut other = signature.clone();
                other[at] ^= 0x40;
                assert_eq!(ask(&key, &hash, &other), NO);
            }
            let mut other = key.clone();
            other[0] ^= 1;
            assert_eq!(ask(&other, &hash, &signature), NO);
            assert_eq!(ask(&key, &hash, &signature[1..]), NO);
            assert_eq!(ask(&key, &hash, &[&signature[..], &[0]].concat()), NO);
            assert_eq!(ask(&key[1..], &hash, &signature), NO);
            assert_eq!(ask(&[], &hash, &[]), NO);
            // The same bytes, cut elsewhere.
            let (first, rest) = signature.split_at(1);
            assert_eq!(ask(&[&key[..], first].concat(), &hash, rest), NO);
        }
    }
}

#[test]
fn account() {
    let entry_point = Address::with_last_byte(0xee);
    for layout in Layout::all() {
        let mut deployed = Deployed::new(layout);
        let pair = Key::new(layout.name, &[2; 32]);
        let key = ExpandedKey::new(layout, &pair.pk).unwrap();
        let on_chain = deployed.deploy_key(&key);
        let wrong = [
            word(entry_point),
            word(deployed.key_verifier),
            word(on_chain.address),
            [1; 32],
            number(layout.p.sig_len()),
        ];
        let code = [artifact("MldsaAccount"), wrong.concat()].concat();
        assert!(deployed.chain.deploy_fails(code), "a key that is not there");
        let (account, _) = deployed.deploy_account(entry_point, &on_chain);
        let (other_account, _) = deployed.deploy_account(entry_point, &on_chain);

        // ERC-1271
        let hash = [0x44; 32];
        let mut bound = |account| {
            deployed
                .chain
                .call(account, abi::message_hash(&hash))
                .output
        };
        let (message, other_message) = (bound(account), bound(other_account));
        assert_ne!(message, other_message);
        let signature = pair.sign(b"ERC-1271", &message);
        let mut ask = |hash: &[u8; 32], signature: &[u8]| {
            let call = abi::is_valid_signature(hash, signature);
            let receipt = deployed.chain.call(account, call);
            assert!(receipt.success);
            selector(&receipt.output)
        };
        assert_eq!(ask(&hash, &signature), abi::IS_VALID_SIGNATURE);
        assert_eq!(ask(&[0x45; 32], &signature), NO);
        assert_eq!(ask(&hash, &signature[1..]), NO);
        assert_eq!(ask(&hash, &[]), NO);
        for (ctx, message) in [
            (&b""[..], &message),
            (b"ERC-4337", &message),
            (b"ERC-1271", &other_message),
            (b"ERC-1271", &hash.to_vec()),
        ] {
            assert_eq!(ask(&hash, &pair.sign(ctx, message)), NO);
        }

        // ERC-4337
        let signature = pair.sign(b"ERC-4337", &hash);
        let call =
            |signature: &[u8], missing| abi::validate_user_op(account, &hash, signature, missing);
        let valid = call(&signature, 0);
        assert!(
            deployed
                .chain
                .call_from(entry_point, account, &valid[..])
                .rejects()
        );
        assert!(
            !deployed
                .chain
                .call_from(SENDER, account, &valid[..])
                .success
        );
        let mut tampered = signature.clone();
        tampered[100] ^= 1;
        for bad in [
            &tampered[..],
            &signature[1..],
            &[],
            &pair.sign(b"ERC-1271", &hash),
        ] {
            let receipt = deployed.chain.call_from(entry_point, account, call(bad, 0));
            assert!(receipt.accepts(), "one is invalid: {receipt:?}");
        }
        // The missing fee is paid from the balance of the account.
        deployed.chain.give(account, U256::from(1_000));
        let before = deployed.chain.balance(entry_point);
        let receipt = deployed
            .chain
            .call_from(entry_point, account, call(&signature, 400));
        assert!(receipt.rejects());
        assert_eq!(deployed.chain.balance(account), U256::from(600));
        assert_eq!(
            deployed.chain.balance(entry_point) - before,
            U256::from(400)
        );
    }
}

/// In a transaction the precompile answers the word, or takes all gas.
#[test]
fn precompile() {
    for (n, set) in Set::ALL.into_iter().enumerate() {
        let layout = Layout::all()[n];
        let mut deployed = Deployed::new(layout);
        let pair = Key::new(layout.name, &[2; 32]);
        for (name, input, valid) in evm_bench::cases::precompile(layout.name) {
            let receipt = deployed.chain.call(DRAFT_ADDRESSES[n], &input[..]);
            assert!(
                if valid {
                    receipt.accepts()
                } else {
                    receipt.rejects()
                },
                "{name}"
            );
        }
        let mut input = [
            &pair.pk[..],
            &pair.sign(b"", b"Hello world"),
            b"Hello world",
        ]
        .concat();
        input[pair.pk.len()] ^= 1;

        let gas = set.gas(input.len());
        let reservoir = 123;
        let output = function(set)(&input, gas, reservoir).unwrap();
        assert_eq!((output.gas_used, output.reservoir), (gas, reservoir));
        assert!(output.is_success() && output.bytes[..] == [0; 32]);
        let output = function(set)(&input, gas - 1, reservoir).unwrap();
        assert!(output.is_halt() && output.reservoir == reservoir);
    }
}
