//! The precompiles of EIP-8355 for alloy-evm, and thereby for reth and foundry.
//!
//! ```
//! use alloy_evm::{EthEvmFactory, Evm, EvmEnv, EvmFactory};
//! use mldsa_core::{Context, Randomness, MlDsa44, SigningKey};
//! use mldsa_evm_alloy::{DRAFT_ADDRESSES, precompiles};
//! use revm::context::{BlockEnv, CfgEnv, TxEnv};
//! use revm::database::InMemoryDB;
//! use revm::primitives::{TxKind, hardfork::SpecId};
//!
//! // A node does this in its own `EvmFactory`.
//! let env = EvmEnv::new(CfgEnv::new_with_spec(SpecId::OSAKA), BlockEnv::default());
//! let mut evm = EthEvmFactory::default().create_evm(InMemoryDB::default(), env);
//! evm.precompiles_mut().extend_precompiles(precompiles(DRAFT_ADDRESSES));
//!
//! let key = SigningKey::<MlDsa44>::from_seed(&[7; 32]);
//! let signature = key.sign_with_context(b"Hello world", Context::EMPTY, Randomness::Deterministic)?;
//! let mut input = [key.verifying_key().as_ref(), signature.as_ref(), b"Hello world"].concat();
//! let mut ask = |input: &[u8]| {
//!     let call = TxEnv::builder()
//!         .kind(TxKind::Call(DRAFT_ADDRESSES[0]))
//!         .data(input.to_vec().into())
//!         .gas_limit(1_000_000)
//!         .build()
//!         .expect("a transaction");
//!     let result = evm.transact_raw(call).expect("a valid transaction").result;
//!     assert!(result.is_success());
//!     result.output().expect("an output")[31]
//! };
//! assert_eq!(ask(&input), 1);
//! input[2_000] ^= 1;
//! assert_eq!(ask(&input), 0);
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```

use alloy_evm::precompiles::{DynPrecompile, PrecompileInput};
use mldsa_evm_precompile::Set;
use mldsa_evm_revm::{function, id};
use revm::primitives::Address;

pub use mldsa_evm_revm::DRAFT_ADDRESSES;

/// The three precompiles, in the order 44, 65, 87. They are pure, so their results may
/// be cached.
pub fn precompiles(addresses: [Address; 3]) -> impl Iterator<Item = (Address, DynPrecompile)> {
    Set::ALL.into_iter().zip(addresses).map(|(set, address)| {
        let run = function(set);
        let precompile = DynPrecompile::new(id(set), move |input: PrecompileInput<'_>| {
            run(input.data, input.gas, input.reservoir)
        });
        (address, precompile)
    })
}
