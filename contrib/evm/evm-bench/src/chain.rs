//! A chain in memory: revm under a rule set, of today if nothing else is said.

use std::fs::OpenOptions;
use std::io::Write as _;

use mldsa_evm_revm::{DRAFT_ADDRESSES, MldsaPrecompiles};
use revm::context::{Context, TxEnv};
use revm::context_interface::cfg::gas::calculate_initial_tx_gas_for_tx;
use revm::context_interface::cfg::gas_params::{Eip2780TxInfo, GasId, GasParams};
use revm::context_interface::result::{ExecutionResult, Output};
use revm::database::{CacheDB, EmptyDB};
use revm::primitives::hardfork::SpecId;
use revm::primitives::{Address, Bytes, TxKind, U256};
use revm::state::{AccountInfo, Bytecode};
use revm::{ExecuteCommitEvm, MainBuilder, MainContext};

use crate::gas::{Rules, TODAY};

/// Gas that a transaction may have (EIP-7825).
pub const TRANSACTION_CAP: u64 = 16_777_216;

/// Result of a transaction.
#[derive(Clone, Debug)]
pub struct Receipt {
    /// Whether it ended without revert or halt.
    pub success: bool,
    /// Gas of the whole transaction, the calldata floor included.
    pub gas: u64,
    /// Gas of the execution alone, if the floor did not decide.
    pub inner: u64,
    /// Least gas of a transaction with this input.
    pub floor: u64,
    /// Returned bytes.
    pub output: Vec<u8>,
    /// Created contract.
    pub created: Option<Address>,
}

impl Receipt {
    /// Whether it succeeded with one in 32 bytes.
    pub fn accepts(&self) -> bool {
        let mut one = [0; 32];
        one[31] = 1;
        self.success && self.output == one
    }

    /// Whether it succeeded with zero in 32 bytes.
    pub fn rejects(&self) -> bool {
        self.success && self.output == [0; 32]
    }
}

/// The chain.
#[derive(Debug)]
pub struct Chain {
    db: CacheDB<EmptyDB>,
    nonce: u64,
    /// The rules that it is under.
    pub rules: Rules,
    floor: bool,
    precompiles: MldsaPrecompiles,
}

/// The prices of a fork without the floor for calldata.
fn without_floor(spec: SpecId) -> GasParams {
    let mut gas = GasParams::new_spec(spec);
    gas.override_gas([(GasId::tx_floor_cost_per_token(), 0)]);
    gas
}

/// Default sender.
pub const SENDER: Address = Address::with_last_byte(0xaa);

impl Default for Chain {
    fn default() -> Self {
        Self::new(TODAY)
    }
}

impl Chain {
    /// An empty chain under these rules.
    pub fn new(rules: Rules) -> Self {
        let mut db = CacheDB::new(EmptyDB::default());
        let rich = AccountInfo {
            balance: U256::from(1u64) << 80,
            ..Default::default()
        };
        db.insert_account_info(SENDER, rich);
        Self {
            db,
            nonce: 0,
            rules,
            floor: true,
            precompiles: MldsaPrecompiles::new(rules.spec, DRAFT_ADDRESSES),
        }
    }

    /// Executes a transaction. `MLDSA_TX_LOG` names a file to which it is appended, for `../geth`.
    fn transact(&mut self, from: Address, kind: TxKind, data: Vec<u8>, gas: u64) -> Receipt {
        let log = std::env::var_os("MLDSA_TX_LOG").map(|file| (file, hex::encode(&data)));
        let (nonce, spec) = (self.nonce, format!("{:?}", self.rules.spec));
        let receipt = self.execute(from, kind, data, gas);
        if let Some((file, data)) = log {
            let created = receipt.created.map(hex::encode).unwrap_or_default();
            let line = serde_json::json!({
                "spec": spec, "floor": self.floor, "from": hex::encode(from), "nonce": nonce,
                "to": kind.to().map(hex::encode).unwrap_or_default(), "data": data, "gas": gas,
                "success": receipt.success, "used": receipt.gas,
                "output": hex::encode(&receipt.output), "created": created,
            });
            // One write, so that the chains of several tests could only interleave, which they must
            // not: one thread.
            let mut file =
                (OpenOptions::new().append(true).create(true).open(file)).expect("a log");
            file.write_all(format!("{line}\n").as_bytes())
                .expect("a log");
        }
        receipt
    }

    fn execute(&mut self, from: Address, kind: TxKind, data: Vec<u8>, gas: u64) -> Receipt {
        let (spec, floor) = (self.rules.spec, self.floor);
        let mut evm = Context::mainnet()
            .with_db(&mut self.db)
            .modify_cfg_chained(|cfg| {
                cfg.set_spec_and_mainnet_gas_params(spec);
                if !floor {
                    cfg.set_gas_params(without_floor(spec));
                }
                cfg.disable_nonce_check = true;
            })
            .build_mainnet()
            .with_precompiles(self.precompiles.clone());
        let tx = TxEnv::builder()
            .caller(from)
            .kind(kind)
            .data(Bytes::from(data))
            .gas_limit(gas)
            .gas_price(0)
            .nonce(self.nonce)
            .build()
            .expect("a transaction");
        self.nonce += 1;
        let new_base = spec
            .is_enabled_in(SpecId::AMSTERDAM)
            .then_some(Eip2780TxInfo {
                value: U256::ZERO,
                is_self_transfer: false,
            });
        let intrinsic = calculate_initial_tx_gas_for_tx(&tx, spec, new_base);
        let result = evm.transact_commit(tx).expect("a valid transaction");
        let (output, created) = match &result {
            ExecutionResult::Success {
                output: Output::Create(code, address),
                ..
            } => (code.to_vec(), *address),
            _ => (result.output().cloned().unwrap_or_default().to_vec(), None),
        };
        Receipt {
            success: result.is_success(),
            gas: result.tx_gas_used(),
            inner: (result.gas().spent_sub_refunded())
                .saturating_sub(intrinsic.initial_regular_gas()),
            floor: result.gas().floor_gas(),
            output,
            created,
        }
    }

    /// A transaction to a contract.
    pub fn call(&mut self, to: Address, data: impl Into<Vec<u8>>) -> Receipt {
        self.call_from(SENDER, to, data)
    }

    /// Whether a call returns one.
    pub fn accepts(&mut self, to: Address, data: impl Into<Vec<u8>>) -> bool {
        self.call(to, data).accepts()
    }

    /// Whether a call returns zero.
    pub fn rejects(&mut self, to: Address, data: impl Into<Vec<u8>>) -> bool {
        self.call(to, data).rejects()
    }

    /// A transaction from `from`.
    pub fn call_from(&mut self, from: Address, to: Address, data: impl Into<Vec<u8>>) -> Receipt {
        self.transact(from, TxKind::Call(to), data.into(), TRANSACTION_CAP)
    }

    /// A transaction with less gas than it may have.
    pub fn call_with_gas(
        &mut self,
        from: Address,
        to: Address,
        data: impl Into<Vec<u8>>,
        gas: u64,
    ) -> Receipt {
        self.transact(from, TxKind::Call(to), data.into(), gas)
    }

    /// Gas of the execution alone, where the floor decides about the transaction.
    pub fn inner(&mut self, to: Address, data: &[u8]) -> u64 {
        self.floor = false;
        let receipt = self.call(to, data);
        self.floor = true;
        receipt.inner
    }

    /// A call of any gas, for the verifier in plain Yul: the rules of Cancun have no cap.
    pub fn call_uncapped(&mut self, to: Address, data: impl Into<Vec<u8>>) -> Receipt {
        let spec = core::mem::replace(&mut self.rules.spec, SpecId::CANCUN);
        let receipt = self.transact(SENDER, TxKind::Call(to), data.into(), 1 << 40);
        self.rules.spec = spec;
        receipt
    }

    fn create(&mut self, init_code: Vec<u8>) -> Receipt {
        // From EIP-8037 on the cap is for everything but new state.
        let gas = if self.rules.spec.is_enabled_in(SpecId::AMSTERDAM) {
            16 * TRANSACTION_CAP
        } else {
            TRANSACTION_CAP
        };
        self.transact(SENDER, TxKind::Create, init_code, gas)
    }

    /// Deploys and returns the address and the gas.
    ///
    /// # Panics
    /// If the constructor fails, or the code exceeds the limits of the rules.
    pub fn deploy(&mut self, init_code: Vec<u8>) -> (Address, u64) {
        let receipt = self.create(init_code);
        let address = receipt.created.filter(|_| receipt.success);
        (
            address.unwrap_or_else(|| panic!("deployment failed: {receipt:?}")),
            receipt.gas,
        )
    }

    /// Whether a deployment is rejected.
    pub fn deploy_fails(&mut self, init_code: Vec<u8>) -> bool {
        !self.create(init_code).success
    }

    /// The code at an address.
    pub fn code(&self, address: Address) -> Vec<u8> {
        let account = self.db.cache.accounts.get(&address);
        account
            .and_then(|account| account.info.code.as_ref())
            .map_or_else(Vec::new, |code| code.original_bytes().to_vec())
    }

    /// The hash of the code at an address.
    pub fn code_hash(&self, address: Address) -> [u8; 32] {
        mldsa_evm_gen::keccak256(&[&self.code(address)])
    }

    /// Balance of an address.
    pub fn balance(&self, address: Address) -> U256 {
        let account = self.db.cache.accounts.get(&address);
        account.map_or(U256::ZERO, |account| account.info.balance)
    }

    /// Adds to a balance.
    pub fn give(&mut self, address: Address, amount: U256) {
        let account = self.db.cache.accounts.get(&address);
        let mut info = account.map_or_else(AccountInfo::default, |account| account.info.clone());
        info.balance += amount;
        self.db.insert_account_info(address, info);
    }

    /// Delegates an address to a contract (EIP-7702).
    pub fn delegate(&mut self, address: Address, to: Address) {
        let info = AccountInfo::from_bytecode(Bytecode::new_eip7702(to));
        self.db.insert_account_info(address, info);
    }

    /// Takes the code of an address away, as a contract that destroyed itself.
    pub fn erase(&mut self, address: Address) {
        self.db.insert_account_info(address, AccountInfo::default());
    }
}
