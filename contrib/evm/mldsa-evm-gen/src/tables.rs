//! The constants that all contracts read: one contract whose code they are.

use ruint::aliases::U256;

use crate::keccak::{Copies, constant_words};
use crate::ntt::{ZETA_OFFSET, quotient, table_zetas};

/// Offset of the quotients of 25 bits.
pub const QUOTIENTS_25: usize = 0;
/// Offset of the zetas.
pub const ZETAS: usize = ZETA_OFFSET;
/// Offset of the quotients of 32 bits.
pub const QUOTIENTS_32: usize = 2 * ZETA_OFFSET;
/// Offset of the round constants of [`Copies::Same`].
pub const CONSTANTS: usize = 3 * ZETA_OFFSET;

/// The code of the tables: exactly the 24,576 bytes that EIP-170 allows. Its first
/// byte is zero, the instruction STOP.
pub fn code() -> Vec<u8> {
    let zetas = table_zetas();
    let words = |value: fn(u64) -> u64| zetas.iter().map(move |&zeta| U256::from(value(zeta)));
    words(|zeta| quotient(zeta, 25))
        .chain(words(|zeta| zeta))
        .chain(words(|zeta| quotient(zeta, 32)))
        .chain(constant_words(Copies::Same))
        .flat_map(|word| word.to_be_bytes::<32>())
        .collect()
}

/// Keccak-256 of the code, as a Yul literal.
pub fn code_hash() -> String {
    let hash = crate::keccak256(&[&code()]);
    crate::lanes::literal(U256::from_be_bytes(hash))
}
