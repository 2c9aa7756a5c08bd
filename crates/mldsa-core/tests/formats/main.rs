//! Keys in the formats of other systems, the traits of the `signature` crate,
//! and what the types promise about size and threads.

#![allow(clippy::unwrap_used)]

mod any;
mod joined;
mod layout;
mod pem;
mod pem_table;
mod pkcs8;
mod serde;
mod signature;

/// A key that has its seed: 00 01 .. 1f.
fn key<P: mldsa_core::ParameterSet>() -> mldsa_core::SigningKey<P> {
    mldsa_core::SigningKey::from_seed(&core::array::from_fn(|n| n as u8))
}

/// Runs a generic function once per set.
macro_rules! for_all_sets {
    ($function:ident) => {
        $function::<mldsa_core::MlDsa44>();
        $function::<mldsa_core::MlDsa65>();
        $function::<mldsa_core::MlDsa87>();
    };
}
pub(crate) use for_all_sets;
