//! Around the verifiers: malformed calldata, too little gas, contracts that are not what
//! they should be, calls by way of other contracts.

use evm_bench::abi;
use evm_bench::cases::{Key, Random};
use evm_bench::chain::{Chain, Receipt, SENDER, TRANSACTION_CAP};
use evm_bench::contracts::{Deployed, KeyOnChain, bound_input, number, tail, word};
use mldsa_evm_gen::keccak256;
use mldsa_evm_gen::key::{ExpandedKey, init_code};
use mldsa_evm_gen::lanes::Layout;
use revm::primitives::Address;

const ENTRY_POINT: Address = Address::with_last_byte(0xee);

/// A set with a key everywhere, and a signature.
struct Scene {
    deployed: Deployed,
    pair: Key,
    key: ExpandedKey,
    on_chain: KeyOnChain,
    signature: Vec<u8>,
    hash: [u8; 32],
}

impl Scene {
    fn new(layout: Layout) -> Self {
        let mut deployed = Deployed::new(layout);
        let pair = Key::new(layout.name, &[3; 32]);
        let key = ExpandedKey::new(layout, &pair.pk).unwrap();
        let on_chain = deployed.deploy_key(&key);
        assert_eq!(deployed.register(&pair.pk).output, key.commitment());
        let hash = [0x5a; 32];
        let signature = pair.sign(b"", &hash);
        Self {
            deployed,
            pair,
            key,
            on_chain,
            signature,
            hash,
        }
    }

    /// Contracts and inputs of the variants a, b and c.
    fn valid(&self) -> [(Address, Vec<u8>); 3] {
        let tail = tail(b"", &self.hash);
        let Deployed {
            key_verifier,
            registry,
            stateless,
            ..
        } = self.deployed;
        let code = [&self.on_chain.reference()[..], &self.signature, &tail].concat();
        let bound = bound_input(&self.key, &self.signature, &tail);
        let encoded = [&self.pair.pk[..], &self.signature, &tail].concat();
        [
            (key_verifier, code),
            (registry, bound),
            (stateless, encoded),
        ]
    }
}

fn chain_with(chain: &mut Chain, code: &[u8]) -> Address {
    chain.deploy(init_code(code)).0
}

/// A contract that hands its input to another one by DELEGATECALL (0xf4) or STATICCALL
/// (0xfa), and its answer or its revert back.
fn proxy(to: Address, call: u8) -> Vec<u8> {
    let mut code = hex::decode("365f5f375f5f365f73").unwrap();
    code.extend(to.as_slice());
    code.extend([0x5a, call]);
    code.extend(hex::decode("3d5f5f3e6029573d5ffd5b3d5ff3").unwrap());
    code
}

/// A contract that answers `len` bytes, which begin with the word `value`.
fn answering(value: u8, len: u8) -> Vec<u8> {
    vec![0x60, value, 0x5f, 0x52, 0x60, len, 0x5f, 0xf3]
}

fn first4(receipt: &Receipt) -> [u8; 4] {
    assert!(receipt.success && receipt.output.len() == 32, "{receipt:?}");
    receipt.output[..4].try_into().unwrap()
}

/// Every length short of a whole input, one byte more, and all of one byte.
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
                    receipt.refuses(),
                    "variant {variant}, {len} bytes: {receipt:?}"
                );
            }
            for byte in [0, 0x7f, 0xff] {
                let receipt = chain.call(contract, vec![byte; input.len()]);
                assert!(receipt.refuses(), "variant {variant}, all {byte}");
            }
        }
    }
}

/// Between the gas of the calldata and enough there is no answer, least of all a wrong
/// one: 1/64 that a caller keeps suffices for saying no.
#[test]
fn too_little_gas_is_never_an_answer() {
    let mut scene = Scene::new(Layout::of(44));
    let len = scene.signature.len();
    let over_code = scene
        .deployed
        .deploy_erc7913(scene.deployed.key_verifier, 52, len);
    let over_key =
        scene
            .deployed
            .deploy_erc7913(scene.deployed.stateless, scene.pair.pk.len(), len);
    let account = scene
        .deployed
        .deploy_account(ENTRY_POINT, &scene.on_chain)
        .0;
    let message = scene
        .deployed
        .chain
        .call(account, abi::message_hash(&scene.hash));
    let for_1271 = scene.pair.sign(b"ERC-1271", &message.output);
    let for_4337 = scene.pair.sign(b"ERC-4337", &scene.hash);
    let yes = |receipt: &Receipt| receipt.accepts();
    let zero = |receipt: &Receipt| receipt.refuses();
    let verified = |receipt: &Receipt| first4(receipt) == abi::VERIFY;
    let approved = |receipt: &Receipt| first4(receipt) == abi::IS_VALID_SIGNATURE;
    let [code, bound, encoded] = scene.valid();
    let reference = scene.on_chain.reference();
    type Right<'a> = &'a dyn Fn(&Receipt) -> bool;
    let calls: [(Address, Address, Vec<u8>, Right<'_>); 8] = [
        (SENDER, code.0, code.1, &yes),
        (SENDER, bound.0, bound.1, &yes),
        (SENDER, encoded.0, encoded.1, &yes),
        (
            SENDER,
            over_code,
            abi::verify(&reference, &scene.hash, &scene.signature),
            &verified,
        ),
        (
            SENDER,
            over_key,
            abi::verify(&scene.pair.pk, &scene.hash, &scene.signature),
            &verified,
        ),
        (
            SENDER,
            account,
            abi::is_valid_signature(&scene.hash, &for_1271),
            &approved,
        ),
        (
            ENTRY_POINT,
            account,
            abi::validate_user_op(account, &scene.hash, &for_4337, 0),
            &zero,
        ),
        (
            SENDER,
            scene.deployed.registry,
            scene.pair.pk.clone(),
            &|receipt| receipt.success && receipt.output == scene.key.commitment(),
        ),
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
        // What a caller keeps, once and twice.
        for kept in [1, high / 64, high / 64 + high / 4096] {
            assert!(!ask(high - kept).success);
        }
    }
}

/// Offsets and lengths of the ABI that point elsewhere: a revert, a no, or the parts
/// that they name.
#[test]
fn malformed_abi() {
    let mut scene = Scene::new(Layout::of(44));
    let len = scene.signature.len();
    let erc7913 = scene
        .deployed
        .deploy_erc7913(scene.deployed.key_verifier, 52, len);
    let account = scene
        .deployed
        .deploy_account(ENTRY_POINT, &scene.on_chain)
        .0;
    let message = scene
        .deployed
        .chain
        .call(account, abi::message_hash(&scene.hash));
    let signed = scene.pair.sign(b"ERC-1271", &message.output);
    let signed_operation = scene.pair.sign(b"ERC-4337", &scene.hash);
    let verify = abi::verify(&scene.on_chain.reference(), &scene.hash, &scene.signature);
    let approve = abi::is_valid_signature(&scene.hash, &signed);
    let validate = abi::validate_user_op(account, &scene.hash, &signed_operation, 0);
    let right: [&dyn Fn(&Receipt) -> bool; 3] = [
        &|receipt| first4(receipt) == abi::VERIFY,
        &|receipt| first4(receipt) == abi::IS_VALID_SIGNATURE,
        &|receipt| receipt.refuses(),
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
        // Cut anywhere but in the zeros that fill the last word, and bytes behind the end,
        // which the ABI lets stand.
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

/// A verifier that is not there, or answers something else than a word of one or zero.
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
    let nobody = scene
        .deployed
        .deploy_erc7913(Address::with_last_byte(0x99), 52, len);
    assert!(!scene.deployed.chain.call(nobody, &call[..]).success);

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
    assert!(
        scene
            .deployed
            .chain
            .call(registry, &scene.pair.pk[..])
            .success
    );
    assert!(!scene.deployed.chain.call(registry, bound).success);
}

/// What a proxy may do: a verifier answers the same by any call; proofs are in the
/// storage of whoever runs the registry, and a call that may not write proves nothing.
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
                assert!(receipt.refuses(), "not proven there: {receipt:?}");
            } else {
                assert!(receipt.accepts(), "{call:x}: {receipt:?}");
            }
            let mut other = input.clone();
            *other.last_mut().unwrap() ^= 1;
            assert!(chain.call(proxy, other).refuses());
        }
    }
    let chain = &mut scene.deployed.chain;
    let read_only = chain_with(chain, &proxy(registry, 0xfa));
    assert!(!chain.call(read_only, &stranger.pk[..]).success);
    let delegating = chain_with(chain, &proxy(registry, 0xf4));
    let receipt = chain.call(delegating, &stranger.pk[..]);
    assert_eq!(receipt.output, foreign.commitment());
    // Proven in the storage of the proxy only.
    assert!(chain.call(delegating, foreign.commitment()).accepts());
    assert!(chain.call(registry, foreign.commitment()).refuses());
    // A registration again changes nothing.
    let again = chain.call(registry, &scene.pair.pk[..]);
    assert_eq!(again.output, scene.key.commitment());
    assert!(chain.call(registry, scene.key.commitment()).accepts());
    assert!(chain.call(registry, foreign.commitment()).refuses());
}

/// An account that delegates to a key contract (EIP-7702) is no key contract, and a
/// contract with the right head is a key of its own.
#[test]
fn accounts_that_look_like_keys() {
    for layout in Layout::all() {
        let mut scene = Scene::new(layout);
        let tail = tail(b"", &scene.hash);
        let signature = scene.signature.clone();
        let delegating = Address::with_last_byte(0x77);
        let chain = &mut scene.deployed.chain;
        chain.delegate(delegating, scene.on_chain.address);
        let designator = [&[0xef, 1, 0], scene.on_chain.address.as_slice()].concat();
        for hash in [scene.on_chain.hash, keccak256(&[&designator]), [0; 32]] {
            let input = [delegating.as_slice(), &hash, &signature, &tail].concat();
            let receipt = chain.call(scene.deployed.key_verifier, input);
            assert!(receipt.refuses(), "{receipt:?}");
        }
        // The head alone, the key cut short, and bytes behind it.
        let addresses: Vec<[u8; 20]> = scene.on_chain.others.iter().map(|a| a.0.0).collect();
        let whole = scene.key.codes(&addresses)[0].clone();
        let half = whole.len() / 2;
        for code in [whole[..14].to_vec(), whole[..half].to_vec()] {
            let address = chain_with(&mut scene.deployed.chain, &code);
            let input = [address.as_slice(), &keccak256(&[&code]), &signature, &tail].concat();
            let receipt = scene
                .deployed
                .chain
                .call(scene.deployed.key_verifier, input);
            assert!(receipt.refuses(), "{} bytes: {receipt:?}", code.len());
        }
        // Any contract of ours in the place of a key.
        for address in [
            scene.deployed.tables,
            scene.deployed.key_verifier,
            scene.deployed.registry,
        ] {
            let hash = scene.deployed.chain.code_hash(address);
            let input = [address.as_slice(), &hash, &signature, &tail].concat();
            let receipt = scene
                .deployed
                .chain
                .call(scene.deployed.key_verifier, input);
            assert!(receipt.refuses());
        }
    }
}

/// ERC-7562, the rules for what a bundler validates: no opcode that it forbids, GAS in
/// front of calls only, and no storage but the registry's.
#[test]
fn validation_uses_what_bundlers_allow() {
    for layout in Layout::all() {
        let mut scene = Scene::new(layout);
        let erc7913 =
            scene
                .deployed
                .deploy_erc7913(scene.deployed.key_verifier, 52, scene.signature.len());
        let account = scene
            .deployed
            .deploy_account(ENTRY_POINT, &scene.on_chain)
            .0;
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
            // Behind INVALID, the end of the code, constants may stand.
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
