//! A chain in memory: revm under the rules of Osaka.

use mldsa_evm_revm::{DRAFT_ADDRESSES, MldsaPrecompiles};
use revm::context::{Context, TxEnv};
use revm::context_interface::result::{ExecutionResult, Output};
use revm::database::{CacheDB, EmptyDB};
use revm::primitives::hardfork::SpecId;
use revm::primitives::{Address, Bytes, TxKind, U256};
use revm::state::AccountInfo;
use revm::{ExecuteCommitEvm, MainBuilder, MainContext};

/// Gas that a transaction may have (EIP-7825).
pub const TRANSACTION_CAP: u64 = 16_777_216;

/// What a transaction did.
#[derive(Clone, Debug)]
pub struct Receipt {
    /// Whether it ended without revert or halt.
    pub success: bool,
    /// Gas of the whole transaction, the calldata floor included.
    pub gas: u64,
    /// What it returned.
    pub output: Vec<u8>,
    /// What it created.
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
    pub fn refuses(&self) -> bool {
        self.success && self.output == [0; 32]
    }
}

/// The chain.
#[derive(Debug)]
pub struct Chain {
    db: CacheDB<EmptyDB>,
    nonce: u64,
    spec: SpecId,
    precompiles: MldsaPrecompiles,
}

/// Who sends what is not sent by someone else.
pub const SENDER: Address = Address::with_last_byte(0xaa);

impl Default for Chain {
    fn default() -> Self {
        let mut db = CacheDB::new(EmptyDB::default());
        let rich = AccountInfo {
            balance: U256::from(1u64) << 80,
            ..Default::default()
        };
        db.insert_account_info(SENDER, rich);
        Self {
            db,
            nonce: 0,
            spec: SpecId::OSAKA,
            precompiles: MldsaPrecompiles::new(SpecId::OSAKA, DRAFT_ADDRESSES),
        }
    }
}

impl Chain {
    fn transact(&mut self, from: Address, kind: TxKind, data: Vec<u8>, gas: u64) -> Receipt {
        let spec = self.spec;
        let mut evm = Context::mainnet()
            .with_db(&mut self.db)
            .modify_cfg_chained(|cfg| {
                cfg.set_spec_and_mainnet_gas_params(spec);
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
            output,
            created,
        }
    }

    /// A transaction to a contract.
    pub fn call(&mut self, to: Address, data: impl Into<Vec<u8>>) -> Receipt {
        self.call_from(SENDER, to, data)
    }

    /// A transaction from somebody.
    pub fn call_from(&mut self, from: Address, to: Address, data: impl Into<Vec<u8>>) -> Receipt {
        self.transact(from, TxKind::Call(to), data.into(), TRANSACTION_CAP)
    }

    /// A transaction with less gas than it may have.
    pub fn call_with_gas(&mut self, to: Address, data: impl Into<Vec<u8>>, gas: u64) -> Receipt {
        self.transact(SENDER, TxKind::Call(to), data.into(), gas)
    }

    /// Gas of the execution alone, also where the calldata floor hides it: what the
    /// same call costs under the rules of Cancun, which have no floor and price every
    /// instruction of our contracts as Osaka does.
    pub fn execution_gas(&mut self, to: Address, data: &[u8]) -> u64 {
        self.spec = SpecId::CANCUN;
        let receipt = self.call(to, data);
        self.spec = SpecId::OSAKA;
        receipt.gas - crate::gas::BASE - crate::gas::Calldata::of(data).standard
    }

    /// A call of any gas, for the plain twin: the rules of Cancun have no cap.
    pub fn call_uncapped(&mut self, to: Address, data: impl Into<Vec<u8>>) -> Receipt {
        self.spec = SpecId::CANCUN;
        let receipt = self.transact(SENDER, TxKind::Call(to), data.into(), 1 << 40);
        self.spec = SpecId::OSAKA;
        receipt
    }

    /// Deploys and returns the address and the gas.
    ///
    /// # Panics
    /// If the constructor fails, or the code exceeds the limits of today.
    pub fn deploy(&mut self, init_code: Vec<u8>) -> (Address, u64) {
        let receipt = self.transact(SENDER, TxKind::Create, init_code, TRANSACTION_CAP);
        let address = receipt.created.filter(|_| receipt.success);
        (
            address.unwrap_or_else(|| panic!("deployment failed: {receipt:?}")),
            receipt.gas,
        )
    }

    /// Whether a deployment is refused.
    pub fn deploy_fails(&mut self, init_code: Vec<u8>) -> bool {
        !self
            .transact(SENDER, TxKind::Create, init_code, TRANSACTION_CAP)
            .success
    }

    /// Bytes of code at an address.
    pub fn code_len(&self, address: Address) -> usize {
        let account = self.db.cache.accounts.get(&address);
        account
            .and_then(|account| account.info.code.as_ref())
            .map_or(0, |code| code.original_bytes().len())
    }

    /// Balance of an address.
    pub fn balance(&self, address: Address) -> U256 {
        let account = self.db.cache.accounts.get(&address);
        account.map_or(U256::ZERO, |account| account.info.balance)
    }

    /// Adds to a balance.
    pub fn give(&mut self, address: Address, amount: U256) {
        let mut info = self
            .db
            .cache
            .accounts
            .get(&address)
            .map(|account| account.info.clone())
            .unwrap_or_default();
        info.balance += amount;
        self.db.insert_account_info(address, info);
    }

    /// Takes the code of an address away, as a contract that destroyed itself.
    pub fn erase(&mut self, address: Address) {
        self.db.insert_account_info(address, AccountInfo::default());
    }
}
