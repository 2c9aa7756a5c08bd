//! The precompiles of EIP-8355 for alloy-evm, so for reth and foundry.
//!
//! ```
//! use alloy_evm::precompiles::PrecompilesMap;
//! use mldsa_evm_alloy::{DRAFT_ADDRESSES, precompiles};
//! use revm::precompile::Precompiles;
//!
//! // Where an `EvmFactory` makes its EVM.
//! let mut map = PrecompilesMap::from_static(Precompiles::osaka());
//! map.extend_precompiles(precompiles(DRAFT_ADDRESSES));
//! assert!(DRAFT_ADDRESSES.iter().all(|address| map.get(address).is_some()));
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
