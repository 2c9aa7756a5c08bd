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

/// ERC-4337.
pub fn validate_user_op(
    sender: Address,
    hash: &[u8; 32],
    signature: &[u8],
    missing: usize,
) -> Vec<u8> {
    let name = "validateUserOp((address,uint256,bytes,bytes,bytes32,uint256,bytes32,bytes,bytes),bytes32,uint256)";
    let empty = bytes(&[]);
    // Nine words, then the four byte strings, three of them empty.
    let at = |n: usize| number(9 * 32 + 32 * n);
    let operation = [
        &word(sender)[..],
        &number(0),
        &at(0),
        &at(1),
        &number(0),
        &number(0),
        &number(0),
        &at(2),
        &at(3),
        &empty,
        &empty,
        &empty,
        &bytes(signature),
    ]
    .concat();
    [
        &selector(name)[..],
        &number(96),
        hash,
        &number(missing),
        &operation,
    ]
    .concat()
}
