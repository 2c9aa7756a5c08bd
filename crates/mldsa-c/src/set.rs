//! Parameter sets by number.

use mldsa_core::{MlDsa44, MlDsa65, MlDsa87, ParameterSet};

use crate::Status;

/// ML-DSA-44.
pub const SET_44: u32 = 44;
/// ML-DSA-65.
pub const SET_65: u32 = 65;
/// ML-DSA-87.
pub const SET_87: u32 = 87;

/// Evaluates an expression with `P` as the parameter set of a number.
macro_rules! with_set {
    ($set:expr, $P:ident => $value:expr) => {
        match $set {
            $crate::SET_44 => {
                type $P = mldsa_core::MlDsa44;
                $value
            }
            $crate::SET_65 => {
                type $P = mldsa_core::MlDsa65;
                $value
            }
            $crate::SET_87 => {
                type $P = mldsa_core::MlDsa87;
                $value
            }
            _ => Err($crate::Status::Argument),
        }
    };
}
pub(crate) use with_set;

/// The number of a parameter set.
pub(crate) trait Numbered: ParameterSet {
    const NUMBER: u32;
}

impl Numbered for MlDsa44 {
    const NUMBER: u32 = SET_44;
}

impl Numbered for MlDsa65 {
    const NUMBER: u32 = SET_65;
}

impl Numbered for MlDsa87 {
    const NUMBER: u32 = SET_87;
}

/// Returns the length of a public key in bytes: 1312, 1952 or 2592; 0 for an unknown parameter set.
#[unsafe(no_mangle)]
pub extern "C" fn mldsa_public_key_len(set: u32) -> usize {
    with_set!(set, P => Ok::<_, Status>(P::PK_LEN)).unwrap_or(0)
}

/// Returns the length of an expanded private key in bytes: 2560, 4032 or 4896; 0 for an unknown parameter set.
#[unsafe(no_mangle)]
pub extern "C" fn mldsa_expanded_key_len(set: u32) -> usize {
    with_set!(set, P => Ok::<_, Status>(P::SK_LEN)).unwrap_or(0)
}

/// Returns the length of a signature in bytes: 2420, 3309 or 4627; 0 for an unknown parameter set.
#[unsafe(no_mangle)]
pub extern "C" fn mldsa_signature_len(set: u32) -> usize {
    with_set!(set, P => Ok::<_, Status>(P::SIG_LEN)).unwrap_or(0)
}
