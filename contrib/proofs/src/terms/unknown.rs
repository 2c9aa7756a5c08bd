//! Bits about which nothing is known but the inputs that they may depend on.

use super::Lit;

/// Kinds of inputs that an unknown bit may depend on, as bits of a set.
pub(crate) mod secret {
    /// K of a private key.
    pub(crate) const K: u8 = 1;
    /// s1 and s2.
    pub(crate) const S: u8 = 2;
    pub(crate) const T0: u8 = 4;
    /// Every other input: seeds, randomness, messages.
    pub(crate) const OTHER: u8 = 8;
    pub(crate) const ALL: u8 = 15;
}

/// A bit about which nothing is known but the inputs that it may depend on: two of them need not
/// be equal. Rows have none, whole operations nothing else that is not a constant.
pub(crate) const fn unknown_of(inputs: u8) -> Lit {
    2 + 2 * inputs as Lit
}

/// An unknown bit that may depend on every input.
pub(crate) const ANY: Lit = unknown_of(secret::ALL);
/// An unknown bit that depends on nothing but what is public.
pub(crate) const PUBLIC: Lit = unknown_of(0);

/// Whether a literal is unknown, negated or not.
pub(crate) const fn is_any(lit: Lit) -> bool {
    lit > 1 && lit & !1 <= ANY
}

/// The inputs that an unknown bit may depend on; none for a constant.
pub(crate) const fn inputs_of(lit: Lit) -> u8 {
    if is_any(lit) {
        ((lit & !1) - 2) as u8 / 2
    } else {
        0
    }
}

/// An unknown bit that depends on these.
pub(crate) fn any_of<'a>(bits: impl IntoIterator<Item = &'a Lit>) -> Lit {
    let known = |&bit: &Lit| {
        if bit < 2 || is_any(bit) {
            inputs_of(bit)
        } else {
            secret::ALL
        }
    };
    unknown_of(bits.into_iter().fold(0, |all, bit| all | known(bit)))
}
