//! The other implementations, each behind its ordinary public interface.

mod aws_lc;
mod fips204;
mod libcrux;
mod ml_dsa;
#[cfg(feature = "mldsa-native-rs")]
mod mldsa_native;

use std::rc::Rc;

use crate::{Contender, Inputs, Set};

/// Whether an encoded public key accepts a message and its signature.
pub(crate) type Verify = fn(&[u8], &[u8], &[u8]) -> bool;

/// The verification of a peer on encodings.
pub(crate) fn verifier(name: &str, set: Set) -> Option<Verify> {
    match name {
        "aws-lc-rs" => Some(aws_lc::verifier(set)),
        "libcrux-ml-dsa" => Some(libcrux::verifier(set)),
        _ => None,
    }
}

/// Every operation of every peer.
pub(crate) fn contenders(inputs: &Rc<Inputs>) -> Vec<Contender> {
    let mut all = aws_lc::contenders(inputs);
    all.extend(libcrux::contenders(inputs));
    all.extend(ml_dsa::contenders(inputs));
    all.extend(fips204::contenders(inputs));
    #[cfg(feature = "mldsa-native-rs")]
    all.extend(mldsa_native::contenders(inputs));
    all
}
