//! Writes ML-DSA (FIPS 204) verification for the Ethereum Virtual Machine: Yul
//! verifiers, their constants, and keys in the form that they multiply.

pub mod asm;
pub mod expand;
pub mod keccak;
pub mod key;
pub mod lanes;
pub mod ntt;
pub mod plain;
pub mod prea;
pub mod tables;
pub mod verifier;
pub mod yul;

use sha3::{Digest, Keccak256};

use crate::lanes::Layout;
use crate::verifier::Words;

/// Keccak-256 of the concatenation.
pub fn keccak256(parts: &[&[u8]]) -> [u8; 32] {
    let mut hash = Keccak256::new();
    parts.iter().for_each(|part| hash.update(part));
    hash.finalize().into()
}

/// Every contract: file name without ending, and Yul.
pub fn contracts() -> Vec<(String, String)> {
    let mut list = Vec::new();
    for layout in Layout::all() {
        let set = layout.name;
        let mut add = |name: &str, code| list.push((format!("{name}{set}"), code));
        add(
            "KeyVerifier",
            verifier::contract(&layout, Words::Code, false),
        );
        add(
            "KeyVerifierProfile",
            verifier::contract(&layout, Words::Code, true),
        );
        add("Core", verifier::contract(&layout, Words::Calldata, false));
        add("Kernels", verifier::kernels(&layout));
        add("Expand", expand::contract(&layout));
        add("Registry", expand::registry(&layout));
        add("Stateless", expand::stateless(&layout));
        add("Plain", plain::contract(&layout));
    }
    list
}
