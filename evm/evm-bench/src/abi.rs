//! Calldata of the Solidity contracts.

use mldsa_evm_gen::keccak256;
use revm::primitives::Address;

use crate::contracts::{number, word};

/// `verify(bytes,bytes32,bytes)`, which is what it returns (ERC-7913).
pub const VERIFY: [u8; 4] = [0x02, 0x4a, 0xd3, 0x18];
/// `isValidSignature(bytes32,bytes)`, which is what it returns (ERC-1271).
pub const IS_VALID_SIGNATURE: [u8; 4] = [0x16, 0x26, 0xba, 0x7e];

/// First four bytes of the hash of a signature.
pub fn selector(signature: &str) -> [u8; 4] {
    let hash = keccak256(&[signature.as_bytes()]);
    [hash[0], hash[1], hash[2], hash[3]]
}

/// A byte string: length, bytes, zeros to the next word.
fn bytes(value: &[u8]) -> Vec<u8> {
    let mut out = [&number(value.len())[..], value].concat();
    out.resize(out.len().next_multiple_of(32), 0);
    out
}

/// ERC-7913.
pub fn verify(key: &[u8], hash: &[u8; 32], signature: &[u8]) -> Vec<u8> {
    let key = bytes(key);
    [
        &VERIFY[..],
        &number(96),
        hash,
        &number(96 + key.len()),
        &key,
        &bytes(signature),
    ]
    .concat()
}

/// ERC-1271.
pub fn is_valid_signature(hash: &[u8; 32], signature: &[u8]) -> Vec<u8> {
    [
        &IS_VALID_SIGNATURE[..],
        hash,
        &number(64),
        &bytes(signature),
    ]
    .concat()
}

/// What the owner of the account signs for [`is_valid_signature`].
pub fn message_hash(hash: &[u8; 32]) -> Vec<u8> {
    [&selector("messageHash(bytes32)")[..], hash].concat()
}

/// What an account is asked to do: `execute(address,uint256,bytes)`.
pub fn execute(to: Address, value: usize, data: &[u8]) -> Vec<u8> {
    [
        &selector("execute(address,uint256,bytes)")[..],
        &word(to),
        &number(value),
        &number(96),
        &bytes(data),
    ]
    .concat()
}

/// A user operation without paymaster and deployment, and without gas limits, which the
/// account does not read.
#[derive(Clone, Debug)]
pub struct Operation {
    /// The account.
    pub sender: Address,
    /// Its place in the account's order.
    pub nonce: usize,
    /// What the account does.
    pub call_data: Vec<u8>,
}

impl Operation {
    /// The operation of these parts.
    pub fn new(sender: Address, nonce: usize, call_data: Vec<u8>) -> Self {
        Self {
            sender,
            nonce,
            call_data,
        }
    }

    /// What the owner signs: the hash of version 0.7 of ERC-4337.
    pub fn hash(&self, entry_point: Address, chain_id: usize) -> [u8; 32] {
        let empty = keccak256(&[]);
        let inner = keccak256(&[
            &word(self.sender),
            &number(self.nonce),
            &empty,
            &keccak256(&[&self.call_data]),
            &[0; 96],
            &empty,
        ]);
        keccak256(&[&inner, &word(entry_point), &number(chain_id)])
    }

    /// The call of the entry point that asks for validation, and for what is missing of
    /// its fee.
    pub fn validate(&self, hash: &[u8; 32], signature: &[u8], missing: usize) -> Vec<u8> {
        let name = "validateUserOp((address,uint256,bytes,bytes,bytes32,uint256,bytes32,bytes,bytes),bytes32,uint256)";
        // Nine words, then the four byte strings, whose places are among the words.
        let strings = [&[], &self.call_data[..], &[], signature].map(bytes);
        let mut end = 9 * 32;
        let [init_code, call_data, paymaster, signature] = strings.each_ref().map(|string| {
            let at = number(end);
            end += string.len();
            at
        });
        [
            &selector(name)[..],
            &number(96),
            hash,
            &number(missing),
            &word(self.sender),
            &number(self.nonce),
            &init_code,
            &call_data,
            &[0; 96],
            &paymaster,
            &signature,
            &strings.concat(),
        ]
        .concat()
    }
}

/// [`Operation::validate`] of an operation that does nothing.
pub fn validate_user_op(
    sender: Address,
    hash: &[u8; 32],
    signature: &[u8],
    missing: usize,
) -> Vec<u8> {
    Operation::new(sender, 0, Vec::new()).validate(hash, signature, missing)
}
