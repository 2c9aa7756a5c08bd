//! Attacks around the verifiers: malformed calldata, too little gas, wrong contracts, calls
//! through other contracts.

mod contracts;
mod input;

use evm_bench::abi;
use evm_bench::cases::Key;
use evm_bench::chain::{Chain, Receipt};
use evm_bench::contracts::{Deployed, KeyOnChain, bound_input, tail};
use mldsa_evm_gen::key::{ExpandedKey, init_code};
use mldsa_evm_gen::lanes::Layout;
use revm::primitives::Address;

const ENTRY_POINT: Address = Address::with_last_byte(0xee);

/// A parameter set with a key for every variant, and a signature.
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

    /// ERC-7913 over variant a, an account, and the owner's signatures for ERC-1271 and
    /// ERC-4337.
    fn interfaces(&mut self) -> ([Address; 2], [Vec<u8>; 2]) {
        let deployed = &mut self.deployed;
        let (verifier, len) = (deployed.key_verifier, self.signature.len());
        let erc7913 = deployed.deploy_erc7913(verifier, 52, len);
        let (account, _) = deployed.deploy_account(ENTRY_POINT, &self.on_chain);
        let message = deployed.chain.call(account, abi::message_hash(&self.hash));
        let for_1271 = self.pair.sign(b"ERC-1271", &message.output);
        let for_4337 = self.pair.sign(b"ERC-4337", &self.hash);
        ([erc7913, account], [for_1271, for_4337])
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

/// A contract that passes its input to another one by DELEGATECALL (0xf4) or STATICCALL
/// (0xfa), and returns its output or revert.
fn proxy(to: Address, call: u8) -> Vec<u8> {
    let mut code = hex::decode("365f5f375f5f365f73").unwrap();
    code.extend(to.as_slice());
    code.extend([0x5a, call]);
    code.extend(hex::decode("3d5f5f3e6029573d5ffd5b3d5ff3").unwrap());
    code
}

/// A contract that returns `len` bytes, which begin with the word `value`.
fn answering(value: u8, len: u8) -> Vec<u8> {
    vec![0x60, value, 0x5f, 0x52, 0x60, len, 0x5f, 0xf3]
}

fn first4(receipt: &Receipt) -> [u8; 4] {
    assert!(receipt.success && receipt.output.len() == 32, "{receipt:?}");
    receipt.output[..4].try_into().unwrap()
}
