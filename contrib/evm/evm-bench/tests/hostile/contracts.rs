//! Wrong contracts, and calls through other contracts.

use evm_bench::abi;
use evm_bench::cases::Key;
use evm_bench::contracts::{Deployed, tail, word};
use mldsa_evm_gen::keccak256;
use mldsa_evm_gen::key::ExpandedKey;
use mldsa_evm_gen::lanes::Layout;
use revm::primitives::Address;

use super::{Scene, answering, chain_with, first4, proxy};

/// A verifier that does not exist, or returns anything but a word of one or zero.
#[test]
fn verifiers_that_answer_otherwise() {
    let mut scene = Scene::new(Layout::of(44));
    let call = abi::verify(&scene.on_chain.reference(), &scene.hash, &scene.signature);
    let len = scene.signature.len();
    for (code, no) in [
        (vec![0], false),
        (answering(1, 0), false),
        (answering(1, 31), false),
        (answering(1, 33), false),
        (answering(1, 64), false),
        (answering(2, 32), true),
        (answering(0, 32), true),
        // INVALID, and a revert with a word of one.
        (vec![0xfe], false),
        (vec![0x60, 1, 0x5f, 0x52, 0x60, 32, 0x5f, 0xfd], false),
    ] {
        let verifier = chain_with(&mut scene.deployed.chain, &code);
        let contract = scene.deployed.deploy_erc7913(verifier, 52, len);
        let receipt = scene.deployed.chain.call(contract, &call[..]);
        if no {
            assert_eq!(first4(&receipt), [0xff; 4], "{code:?}");
        } else {
            assert!(!receipt.success, "{code:?}");
        }
    }
    let absent = scene
        .deployed
        .deploy_erc7913(Address::with_last_byte(0x99), 52, len);
    assert!(!scene.deployed.chain.call(absent, &call[..]).success);

    // Expand and core of the registry and of the stateless verifier.
    let [_, (_, bound), (_, encoded)] = scene.valid();
    for code in [vec![0], answering(1, 32), answering(1, 31)] {
        let fake = chain_with(&mut scene.deployed.chain, &code);
        for (name, input) in [("Registry44", &scene.pair.pk), ("Stateless44", &encoded)] {
            let core = scene.deployed.core;
            let (contract, _) = scene.deployed.deploy(name, &[word(fake), word(core)]);
            let receipt = scene.deployed.chain.call(contract, &input[..]);
            assert!(!receipt.success, "{name}: {receipt:?}");
        }
    }
    let fake = chain_with(&mut scene.deployed.chain, &answering(1, 31));
    let expand = scene.deployed.expand;
    let arguments = [word(expand), word(fake)];
    let (registry, _) = scene.deployed.deploy("Registry44", &arguments);
    let chain = &mut scene.deployed.chain;
    assert!(chain.call(registry, &scene.pair.pk[..]).success);
    assert!(!chain.call(registry, bound).success);
}

/// A verifier returns the same verdict through any kind of call. Proofs are in the storage
/// of the contract that executes the registry, and a call that cannot write stores none.
#[test]
fn through_proxies() {
    let mut scene = Scene::new(Layout::of(44));
    let calls = scene.valid();
    let registry = scene.deployed.registry;
    let stranger = Key::new(44, &[9; 32]);
    let foreign = ExpandedKey::new(Layout::of(44), &stranger.pk).unwrap();
    for call in [0xf4, 0xfa] {
        for (contract, input) in &calls {
            let chain = &mut scene.deployed.chain;
            let proxy = chain_with(chain, &proxy(*contract, call));
            let receipt = chain.call(proxy, &input[..]);
            if call == 0xf4 && *contract == registry {
                assert!(receipt.rejects(), "not proven there: {receipt:?}");
            } else {
                assert!(receipt.accepts(), "{call:x}: {receipt:?}");
            }
            let mut other = input.clone();
            *other.last_mut().unwrap() ^= 1;
            assert!(chain.rejects(proxy, other));
        }
    }
    let chain = &mut scene.deployed.chain;
    let read_only = chain_with(chain, &proxy(registry, 0xfa));
    assert!(!chain.call(read_only, &stranger.pk[..]).success);
    let delegating = chain_with(chain, &proxy(registry, 0xf4));
    let receipt = chain.call(delegating, &stranger.pk[..]);
    assert_eq!(receipt.output, foreign.commitment());
    // Proven in the storage of the proxy only.
    assert!(chain.accepts(delegating, foreign.commitment()));
    assert!(chain.rejects(registry, foreign.commitment()));
    // A registration again changes nothing.
    let again = chain.call(registry, &scene.pair.pk[..]);
    assert_eq!(again.output, scene.key.commitment());
    assert!(chain.accepts(registry, scene.key.commitment()));
    assert!(chain.rejects(registry, foreign.commitment()));
}

/// An account that delegates to a key contract (EIP-7702) is no key contract, and a
/// contract with the right head is a key of its own.
#[test]
fn accounts_that_look_like_keys() {
    for layout in Layout::all() {
        let mut scene = Scene::new(layout);
        let key_verifier = scene.deployed.key_verifier;
        let tail = tail(b"", &scene.hash);
        let signature = scene.signature.clone();
        let delegating = Address::with_last_byte(0x77);
        let chain = &mut scene.deployed.chain;
        chain.delegate(delegating, scene.on_chain.address);
        let designator = [&[0xef, 1, 0], scene.on_chain.address.as_slice()].concat();
        for hash in [scene.on_chain.hash, keccak256(&[&designator]), [0; 32]] {
            let input = [delegating.as_slice(), &hash, &signature, &tail].concat();
            let receipt = chain.call(key_verifier, input);
            assert!(receipt.rejects(), "{receipt:?}");
        }
        // The head alone, a truncated key, and bytes after it.
        let addresses: Vec<[u8; 20]> = scene.on_chain.others.iter().map(|a| a.0.0).collect();
        let whole = scene.key.codes(&addresses)[0].clone();
        let half = whole.len() / 2;
        for code in [whole[..14].to_vec(), whole[..half].to_vec()] {
            let address = chain_with(&mut scene.deployed.chain, &code);
            let input = [address.as_slice(), &keccak256(&[&code]), &signature, &tail].concat();
            let chain = &mut scene.deployed.chain;
            assert!(chain.rejects(key_verifier, input), "{} bytes", code.len());
        }
        // Any contract of this repository in the place of a key.
        for address in [
            scene.deployed.tables,
            scene.deployed.key_verifier,
            scene.deployed.registry,
        ] {
            let hash = scene.deployed.chain.code_hash(address);
            let input = [address.as_slice(), &hash, &signature, &tail].concat();
            assert!(scene.deployed.chain.rejects(key_verifier, input));
        }
    }
}

/// ERC-7562, the rules for what a bundler validates: no opcode that it forbids, GAS in
/// front of calls only, and no storage but the registry's.
#[test]
fn validation_uses_what_bundlers_allow() {
    for layout in Layout::all() {
        let mut scene = Scene::new(layout);
        let ([erc7913, account], _) = scene.interfaces();
        let Deployed {
            key_verifier,
            core,
            expand,
            registry,
            stateless,
            ..
        } = scene.deployed;
        let verifiers = [
            erc7913,
            account,
            key_verifier,
            core,
            expand,
            stateless,
            registry,
        ];
        for address in verifiers {
            let code = scene.deployed.chain.code(address);
            assert!(!code.is_empty());
            let mut at = 0;
            // Constants may follow INVALID, the end of the code.
            while at < code.len() && code[at] != 0xfe {
                let op = code[at];
                let next = at
                    + 1
                    + if (0x60..0x80).contains(&op) {
                        usize::from(op - 0x5f)
                    } else {
                        0
                    };
                let forbidden = matches!(
                    op,
                    0x31 | 0x32 | 0x3a | 0x40..=0x45 | 0x47..=0x4a | 0xf0 | 0xf2 | 0xf4 | 0xf5 | 0xff
                );
                assert!(!forbidden, "{address}: opcode {op:#x} at {at}");
                if op == 0x5a {
                    assert!(
                        matches!(code.get(next), Some(0xf1 | 0xfa)),
                        "{address}: GAS at {at}"
                    );
                }
                if matches!(op, 0x54 | 0x55 | 0x5c | 0x5d) {
                    assert_eq!(address, registry, "storage at {at}");
                }
                at = next;
            }
            assert!(code.len() <= at + 256, "{address}: the code ends at {at}");
        }
    }
}
