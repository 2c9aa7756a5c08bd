//! The precompiles of EIP-8355 for revm: functions, entries, and a provider for
//! `with_precompiles`. The caller chooses the addresses, because proposals claim the same
//! ones.
//!
//! ```
//! use mldsa_core::{Context, Randomness, MlDsa44, SigningKey};
//! use mldsa_evm_revm::{DRAFT_ADDRESSES, MldsaPrecompiles};
//! use revm::context::TxEnv;
//! use revm::database::InMemoryDB;
//! use revm::primitives::{TxKind, hardfork::SpecId};
//! use revm::{ExecuteEvm, MainBuilder, MainContext};
//!
//! let mut evm = revm::Context::mainnet()
//!     .with_db(InMemoryDB::default())
//!     .modify_cfg_chained(|cfg| cfg.set_spec_and_mainnet_gas_params(SpecId::OSAKA))
//!     .build_mainnet()
//!     .with_precompiles(MldsaPrecompiles::new(SpecId::OSAKA, DRAFT_ADDRESSES));
//!
//! let key = SigningKey::<MlDsa44>::from_seed(&[7; 32]);
//! let signature = key.sign_with_context(b"Hello world", Context::EMPTY, Randomness::Deterministic)?;
//! let input = [key.verifying_key().as_ref(), signature.as_ref(), b"Hello world"].concat();
//! let call = TxEnv::builder()
//!     .kind(TxKind::Call(DRAFT_ADDRESSES[0]))
//!     .data(input.into())
//!     .gas_limit(1_000_000)
//!     .build()
//!     .expect("a transaction");
//! let result = evm.transact(call)?.result;
//! assert!(result.is_success());
//! assert_eq!(result.output().map(|word| word[31]), Some(1));
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```

use mldsa_evm_precompile::{Precompile as _, Set};
use revm::context::{Cfg, ContextTr};
use revm::handler::{EthPrecompiles, PrecompileProvider, precompile_output_to_interpreter_result};
use revm::interpreter::{CallInputs, InterpreterResult};
use revm::precompile::{
    EthPrecompileOutput, EthPrecompileResult, Precompile, PrecompileEthFn, PrecompileFn,
    PrecompileHalt, PrecompileId, PrecompileResult, call_eth_precompile,
};
use revm::primitives::hardfork::SpecId;
use revm::primitives::{Address, AddressSet, Bytes, address};

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
    let output = set
        .execute(input, gas_limit)
        .ok_or(PrecompileHalt::OutOfGas)?;
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

/// The function of a set, with the reservoir of EIP-8037.
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

/// Provider of the precompiles of the chain and of the three of EIP-8355.
#[derive(Clone, Debug)]
pub struct MldsaPrecompiles {
    addresses: [Address; 3],
    chain: EthPrecompiles,
    /// Addresses of both.
    warm: AddressSet,
}

impl MldsaPrecompiles {
    /// The precompiles of EIP-8355 at `addresses`, which take precedence over
    /// precompiles of the chain at the same addresses.
    pub fn new(spec: SpecId, addresses: [Address; 3]) -> Self {
        let mut new = Self {
            addresses,
            chain: EthPrecompiles::new(spec),
            warm: AddressSet::default(),
        };
        new.warm_up();
        new
    }

    fn warm_up(&mut self) {
        self.warm.clone_from(self.chain.warm_addresses());
        self.warm.extend(self.addresses);
    }
}

impl<CTX: ContextTr<Cfg: Cfg<Spec = SpecId>>> PrecompileProvider<CTX> for MldsaPrecompiles {
    type Output = InterpreterResult;

    fn set_spec(&mut self, spec: SpecId) -> bool {
        let changed = PrecompileProvider::<CTX>::set_spec(&mut self.chain, spec);
        if changed {
            self.warm_up();
        }
        changed
    }

    fn run(
        &mut self,
        context: &mut CTX,
        inputs: &CallInputs,
    ) -> Result<Option<InterpreterResult>, String> {
        let mut sets = Set::ALL.into_iter().zip(self.addresses);
        let Some((set, _)) = sets.find(|(_, address)| *address == inputs.bytecode_address) else {
            return PrecompileProvider::<CTX>::run(&mut self.chain, context, inputs);
        };
        let output = function(set)(
            &inputs.input.as_bytes(context),
            inputs.gas_limit,
            inputs.reservoir,
        );
        let output = output.map_err(|error| error.to_string())?;
        let result = precompile_output_to_interpreter_result(output, inputs.gas_limit);
        Ok(Some(result))
    }

    fn warm_addresses(&self) -> &AddressSet {
        &self.warm
    }
}
