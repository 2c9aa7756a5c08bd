//! What a transaction pays besides its execution, under both rule sets.

/// Gas of any transaction.
pub const BASE: u64 = 21_000;

/// Gas of the bytes of a transaction that creates nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Calldata {
    /// Four for a zero byte, sixteen for another.
    pub standard: u64,
    /// Least gas of a transaction by EIP-7623: ten for a zero byte, forty for another.
    pub floor: u64,
    /// The same by EIP-7976: sixty-four for every byte.
    pub next_floor: u64,
}

impl Calldata {
    /// The gas of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        let len = bytes.len() as u64;
        let zeros = bytes.iter().filter(|&&byte| byte == 0).count() as u64;
        Self {
            standard: 4 * zeros + 16 * (len - zeros),
            floor: BASE + 10 * zeros + 40 * (len - zeros),
            next_floor: BASE + 64 * len,
        }
    }
}

/// Gas of a byte of deployed code today.
pub const DEPOSIT: u64 = 200;
/// The same by EIP-8037.
pub const NEXT_DEPOSIT: u64 = 1_530;
/// Gas of a new storage slot today, without the cold access.
pub const NEW_SLOT: u64 = 20_000;
/// The same by EIP-8037: 64 bytes of state, and the write.
pub const NEXT_NEW_SLOT: u64 = 64 * NEXT_DEPOSIT + 2_900;

/// A transaction, measured today.
#[derive(Clone, Copy, Debug)]
pub struct Transaction {
    /// Gas of execution: the call alone.
    pub execution: u64,
    /// Its calldata.
    pub calldata: Calldata,
    /// New storage slots.
    pub slots: u64,
}

impl Transaction {
    /// From what the chain said.
    ///
    /// When the floor decided, what execution cost is not in the receipt; `execution`
    /// must then come from a call of a contract.
    pub fn new(gas: u64, input: &[u8], execution: Option<u64>, slots: u64) -> Self {
        let calldata = Calldata::of(input);
        let execution = execution.unwrap_or(gas.saturating_sub(BASE + calldata.standard));
        Self {
            execution,
            calldata,
            slots,
        }
    }

    /// The whole transaction today.
    pub fn today(&self) -> u64 {
        (BASE + self.calldata.standard + self.execution).max(self.calldata.floor)
    }

    /// The whole transaction under the announced rules.
    pub fn next(&self) -> u64 {
        let execution = self.execution + self.slots * (NEXT_NEW_SLOT - NEW_SLOT);
        (BASE + self.calldata.standard + execution).max(self.calldata.next_floor)
    }
}
