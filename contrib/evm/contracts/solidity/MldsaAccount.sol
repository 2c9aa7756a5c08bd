// SPDX-License-Identifier: Apache-2.0 OR MIT
pragma solidity 0.8.37;

/// Of ERC-4337, version 0.7 and later.
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

/// An account whose only owner is an ML-DSA key in contract code: ERC-1271 and the
/// validation of ERC-4337. An example, kept small: no recovery, no change of key.
///
/// The context separates the two uses of the key, and a message for ERC-1271 is bound
/// to chain and account (the hash of a user operation already is).
contract MldsaAccount {
    address public immutable entryPoint;
    address public immutable verifier;
    address public immutable key;
    bytes32 public immutable keyCodeHash;
    uint256 public immutable signatureLength;

    constructor(address entryPoint_, address verifier_, address key_, bytes32 keyCodeHash_, uint256 signatureLength_) {
        // A wrong key would lock the account for ever.
        require(key_.codehash == keyCodeHash_ && key_.code.length > 0);
        entryPoint = entryPoint_;
        verifier = verifier_;
        key = key_;
        keyCodeHash = keyCodeHash_;
        signatureLength = signatureLength_;
    }

    receive() external payable {}

    /// Message that the owner signs, under the context "ERC-1271", to approve `hash`.
    function messageHash(bytes32 hash) public view returns (bytes32) {
        return keccak256(abi.encode(block.chainid, address(this), hash));
    }

    /// ERC-1271.
    function isValidSignature(bytes32 hash, bytes calldata signature) external view returns (bytes4) {
        return _valid("ERC-1271", messageHash(hash), signature) ? this.isValidSignature.selector : bytes4(0xffffffff);
    }

    /// ERC-4337: 0 for a valid signature, 1 for another. The entry
    /// point checks the nonce.
    function validateUserOp(PackedUserOperation calldata operation, bytes32 operationHash, uint256 missingFunds)
        external
        returns (uint256 invalid)
    {
        require(msg.sender == entryPoint);
        invalid = _valid("ERC-4337", operationHash, operation.signature) ? 0 : 1;
        if (missingFunds > 0) {
            // The entry point checks what it received.
            (bool paid,) = msg.sender.call{value: missingFunds}("");
            paid;
        }
    }

    /// Calls as the account, for the entry point.
    function execute(address to, uint256 value, bytes calldata data) external {
        require(msg.sender == entryPoint);
        (bool done, bytes memory answer) = to.call{value: value}(data);
        if (!done) {
            assembly { revert(add(answer, 32), mload(answer)) }
        }
    }

    function _valid(bytes8 context, bytes32 message, bytes calldata signature) private view returns (bool) {
        if (signature.length != signatureLength) return false;
        (bool answered, bytes memory answer) =
            verifier.staticcall(abi.encodePacked(key, keyCodeHash, signature, uint8(8), context, message));
        require(answered && answer.length == 32);
        return abi.decode(answer, (uint256)) == 1;
    }
}
