#![doc = include_str!("../README.md")]
//!
//! # Calls
//!
//! [`Precompile::execute`] of a [`Set`] is EIP-8355: the input is encoded public key, signature and message,
//! concatenated; the context is empty; the output is one or zero in 32 bytes. A call
//! out of gas returns `None`. The feature `eip-8051` adds the two precompiles of that proposal,
//! the feature `std` a bounded cache of prepared keys.

#![no_std]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

#[cfg(any(feature = "std", test))]
extern crate std;

#[cfg(feature = "std")]
mod cache;
#[cfg(feature = "eip-8051")]
pub mod eip8051;

use mldsa_core::{Context, MlDsa44, MlDsa65, MlDsa87, ParameterSet, VerifyingKey};

#[cfg(feature = "std")]
pub use crate::cache::KeyCache;
pub use mldsa_core::Set;

/// Gas per 32 bytes of message, rounded up.
const GAS_PER_WORD: u64 = 6;

/// The precompile of EIP-8355 for a parameter set; each set has one of its own.
pub trait Precompile: Copy {
    /// Returns the gas of an input of `len` bytes. An input too short for key and signature is
    /// priced without a message.
    fn gas(self, len: usize) -> u64;

    /// Executes the precompile: verifies a signature with an empty context. `None` means out of
    /// gas: `gas_limit` is below [`Self::gas`] of the input, nothing was computed, and the call
    /// consumes all its gas.
    fn execute(self, input: &[u8], gas_limit: u64) -> Option<PrecompileOutput>;
}

impl Precompile for Set {
    fn gas(self, len: usize) -> u64 {
        let base = match self {
            Self::MlDsa44 => 6_500,
            Self::MlDsa65 => 9_000,
            Self::MlDsa87 => 13_500,
        };
        let before_message = self.public_key_len() + self.signature_len();
        base + GAS_PER_WORD * (len.saturating_sub(before_message) as u64).div_ceil(32)
    }

    fn execute(self, input: &[u8], gas_limit: u64) -> Option<PrecompileOutput> {
        charged(self.gas(input.len()), gas_limit, || match self {
            Self::MlDsa44 => verify::<MlDsa44>(input),
            Self::MlDsa65 => verify::<MlDsa65>(input),
            Self::MlDsa87 => verify::<MlDsa87>(input),
        })
    }
}

/// Verdict and cost of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrecompileOutput {
    /// Gas to charge, which does not depend on the verdict.
    pub gas_used: u64,
    /// Whether the signature is valid.
    pub valid: bool,
}

impl PrecompileOutput {
    /// Returns the 32 bytes of the call's output: one or zero, big endian.
    pub const fn word(&self) -> [u8; 32] {
        let mut word = [0; 32];
        word[31] = self.valid as u8;
        word
    }
}

/// Charges the gas, then calls `verify`; `None` if the limit is too low.
fn charged(
    gas_used: u64,
    gas_limit: u64,
    verify: impl FnOnce() -> bool,
) -> Option<PrecompileOutput> {
    (gas_used <= gas_limit).then(|| PrecompileOutput {
        gas_used,
        valid: verify(),
    })
}

/// Splits an input into public key, signature and message; `None` if it is too short.
fn split<P: ParameterSet>(input: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let (pk, rest) = input.split_at_checked(P::PK_LEN)?;
    let (signature, message) = rest.split_at_checked(P::SIG_LEN)?;
    Some((pk, signature, message))
}

fn verify<P: ParameterSet>(input: &[u8]) -> bool {
    split::<P>(input).is_some_and(|(pk, signature, message)| {
        VerifyingKey::<P>::from_bytes(pk).is_ok_and(|key| {
            key.verify_with_context(message, Context::EMPTY, signature)
                .is_ok()
        })
    })
}
