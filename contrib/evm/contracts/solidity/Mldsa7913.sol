// SPDX-License-Identifier: Apache-2.0 OR MIT
pragma solidity 0.8.37;

/// ERC-7913 around any of the raw verifiers, whose inputs all read: key, signature,
/// length of the context, context, message. The context is empty, the message is the
/// hash.
///
/// | verifier | key | signature |
/// | --- | --- | --- |
/// | KeyVerifier | address and code hash of the first key contract, 52 bytes | FIPS 204 |
/// | Registry | commitment, 32 bytes | rho, tr, words, FIPS 204 |
/// | Stateless | FIPS 204 | FIPS 204 |
contract Mldsa7913 {
    address public immutable verifier;
    uint256 public immutable keyLength;
    uint256 public immutable signatureLength;

    constructor(address verifier_, uint256 keyLength_, uint256 signatureLength_) {
        verifier = verifier_;
        keyLength = keyLength_;
        signatureLength = signatureLength_;
    }

    /// The selector of this function if the signature is valid, else 0xffffffff.
    /// Reverts when the gas does not suffice for an answer.
    function verify(bytes calldata key, bytes32 hash, bytes calldata signature) external view returns (bytes4) {
        // Two parts of other lengths could be the same bytes together.
        if (key.length != keyLength || signature.length != signatureLength) return 0xffffffff;
        (bool answered, bytes memory answer) =
            verifier.staticcall(abi.encodePacked(key, signature, uint8(0), hash));
        require(answered && answer.length == 32);
        return abi.decode(answer, (uint256)) == 1 ? this.verify.selector : bytes4(0xffffffff);
    }
}
