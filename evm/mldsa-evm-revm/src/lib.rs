//! The precompiles of EIP-8355 for revm: functions, entries, and a provider for
//! `with_precompiles`. Addresses are the caller's choice, since proposals clash.

use mldsa_evm_precompile::Set;
use revm::context::{Cfg, ContextTr};
use revm::handler::{EthPrecompiles, PrecompileProvider};
use revm::interpreter::{CallInputs, InterpreterResult};
use revm::precompile::{
    EthPrecompileOutput, EthPrecompileResult, Precompile, PrecompileEthFn, PrecompileFn,
    PrecompileHalt, PrecompileId, PrecompileResult, PrecompileSpecId, Precompiles,
    call_eth_precompile,
};
use revm::primitives::hardfork::SpecId;
use revm::primitives::{Address, Bytes, address};

/// The addresses of the draft, in the order 44, 65, 87.
pub const DRAFT_ADDRESSES: [Address; 3] = [
    address!("0x0000000000000000000000000000000000000012"),
    address!("0x0000000000000000000000000000000000000013"),
    address!("0x0000000000000000000000000000000000000014"),
];

macro_rules! functions {
    ($($eth:ident $full:ident $set:ident;)+) => {$(
        #[doc = concat!("EIP-8355 for `", stringify!($set), "`.")]
        ///
        /// # Errors
        /// [`PrecompileHalt::OutOfGas`].
        pub fn $eth(input: &[u8], gas_limit: u64) -> EthPrecompileResult {
            run(Set::$set, input, gas_limit)
        }

        fn $full(input: &[u8], gas_limit: u64, reservoir: u64) -> PrecompileResult {
            Ok(call_eth_precompile($eth, input, gas_limit, reservoir))
        }
    )+};
}
functions! {
    verify_44 verify_44_full MlDsa44;
    verify_65 verify_65_full MlDsa65;
    verify_87 verify_87_full MlDsa87;
}

fn run(set: Set, input: &[u8], gas_limit: u64) -> EthPrecompileResult {
    let output =
        mldsa_evm_precompile::run(set, input, gas_limit).map_err(|_| PrecompileHalt::OutOfGas)?;
    let word = Bytes::copy_from_slice(&output.word());
    Ok(EthPrecompileOutput::new(output.gas_used, word))
}

/// The function of a set, without the reservoir of EIP-8037.
pub const fn eth_function(set: Set) -> PrecompileEthFn {
    match set {
        Set::MlDsa44 => verify_44,
        Set::MlDsa65 => verify_65,
        Set::MlDsa87 => verify_87,
    }
}

/// The function of a set; it passes the reservoir on.
pub const fn function(set: Set) -> PrecompileFn {
    match set {
        Set::MlDsa44 => verify_44_full,
        Set::MlDsa65 => verify_65_full,
        Set::MlDsa87 => verify_87_full,
    }
}

/// The name under which a set is registered.
pub fn id(set: Set) -> PrecompileId {
    PrecompileId::custom(set.name())
}

/// The three precompiles, for [`Precompiles::extend`].
pub fn precompiles(addresses: [Address; 3]) -> impl Iterator<Item = Precompile> {
    Set::ALL
        .into_iter()
        .zip(addresses)
        .map(|(set, address)| Precompile::new(id(set), address, function(set)))
}

/// The precompiles of the chain and these.
#[derive(Clone, Debug)]
pub struct MldsaPrecompiles {
    addresses: [Address; 3],
    inner: EthPrecompiles,
}

impl MldsaPrecompiles {
    /// With the three at these addresses, which win over what the chain has there.
    pub fn new(spec: SpecId, addresses: [Address; 3]) -> Self {
        let mut all = Precompiles::new(PrecompileSpecId::from_spec_id(spec)).clone();
        all.extend(precompiles(addresses));
        Self {
            addresses,
            inner: EthPrecompiles {
                // Lives as long as the node: one set of functions for each fork.
                precompiles: Box::leak(Box::new(all)),
                spec,
            },
        }
    }
}

impl<CTX: ContextTr<Cfg: Cfg<Spec = SpecId>>> PrecompileProvider<CTX> for MldsaPrecompiles {
    type Output = InterpreterResult;

    fn set_spec(&mut self, spec: SpecId) -> bool {
        let changed = spec != self.inner.spec;
        if changed {
            *self = Self::new(spec, self.addresses);
        }
        changed
    }

    fn run(
        &mut self,
        context: &mut CTX,
        inputs: &CallInputs,
    ) -> Result<Option<InterpreterResult>, String> {
        PrecompileProvider::<CTX>::run(&mut self.inner, context, inputs)
    }

    fn warm_addresses(&self) -> &revm::primitives::AddressSet {
        PrecompileProvider::<CTX>::warm_addresses(&self.inner)
    }

    fn contains(&self, address: &Address) -> bool {
        PrecompileProvider::<CTX>::contains(&self.inner, address)
    }
}
