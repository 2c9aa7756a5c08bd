//! Calldata of the Solidity contracts.

use alloy_sol_types::SolCall;
use mldsa_evm_gen::keccak256;
use revm::primitives::{Address, U256};

use crate::contracts::{number, word};

use self::interface::{
    PackedUserOperation, executeCall, isValidSignatureCall, messageHashCall, validateUserOpCall,
    verifyCall,
};

#[allow(missing_docs)]
mod interface {
    alloy_sol_types::sol! {
        // ERC-7913 and ERC-1271.
        function verify(bytes key, bytes32 hash, bytes signature);
        function isValidSignature(bytes32 hash, bytes signature);

        // The account.
        function messageHash(bytes32 hash);
        function execute(address to, uint256 value, bytes data);

        // ERC-4337, version 0.7.
        struct PackedUserOperation {
            address sender;
            uint256 nonce;
            bytes initCode;
            bytes callData;
            bytes32 accountGasLimits;
            uint256 preVerificationGas;
            bytes32 gasFees;
            bytes paymasterAndData;
            bytes signature;
        }
        function validateUserOp(PackedUserOperation operation, bytes32 hash, uint256 missing);
    }
}

/// Selector of `verify(bytes,bytes32,bytes)`, which a valid signature returns (ERC-7913).
pub const VERIFY: [u8; 4] = verifyCall::SELECTOR;
/// Selector of `isValidSignature(bytes32,bytes)`, which a valid signature returns
/// (ERC-1271).
pub const IS_VALID_SIGNATURE: [u8; 4] = isValidSignatureCall::SELECTOR;

/// Call of ERC-7913.
pub fn verify(key: &[u8], hash: &[u8; 32], signature: &[u8]) -> Vec<u8> {
    verifyCall {
        key: key.to_vec().into(),
        hash: hash.into(),
        signature: signature.to_vec().into(),
    }
    .abi_encode()
}

/// Call of ERC-1271.
pub fn is_valid_signature(hash: &[u8; 32], signature: &[u8]) -> Vec<u8> {
    isValidSignatureCall {
        hash: hash.into(),
        signature: signature.to_vec().into(),
    }
    .abi_encode()
}

/// Call that returns the message that the owner of the account signs for
/// [`is_valid_signature`].
pub fn message_hash(hash: &[u8; 32]) -> Vec<u8> {
    messageHashCall { hash: hash.into() }.abi_encode()
}

/// Call of the account's `execute`: `value` wei and `data` to `to`.
pub fn execute(to: Address, value: usize, data: &[u8]) -> Vec<u8> {
    executeCall {
        to,
        value: U256::from(value),
        data: data.to_vec().into(),
    }
    .abi_encode()
}

/// A user operation without paymaster and deployment, and without gas limits, which the
/// account does not read.
#[derive(Clone, Debug)]
pub struct Operation {
    /// The account.
    pub sender: Address,
    /// Its place in the account's order.
    pub nonce: usize,
    /// Call that the account executes.
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

    /// Hash that the owner signs, by version 0.7 of ERC-4337.
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

    /// Call of the entry point that asks for validation; `missing` is the part of the
    /// fee that the account has to pay.
    pub fn validate(&self, hash: &[u8; 32], signature: &[u8], missing: usize) -> Vec<u8> {
        let operation = PackedUserOperation {
            sender: self.sender,
            nonce: U256::from(self.nonce),
            initCode: Vec::new().into(),
            callData: self.call_data.clone().into(),
            accountGasLimits: [0; 32].into(),
            preVerificationGas: U256::ZERO,
            gasFees: [0; 32].into(),
            paymasterAndData: Vec::new().into(),
            signature: signature.to_vec().into(),
        };
        validateUserOpCall {
            operation,
            hash: hash.into(),
            missing: U256::from(missing),
        }
        .abi_encode()
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
