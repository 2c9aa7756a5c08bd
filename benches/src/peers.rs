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
        "ml-dsa" => Some(ml_dsa::verifier(set)),
        "fips204" => Some(fips204::verifier(set)),
        _ => None,
    }
}

/// A loaded key: what it was loaded from, and what it takes in memory.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub implementation: &'static str,
    pub object: &'static str,
    pub encoded: usize,
    pub memory: usize,
}

impl Loaded {
    pub(crate) fn new(
        implementation: &'static str,
        object: &'static str,
        encoding: &[u8],
        memory: usize,
    ) -> Self {
        Self {
            implementation,
            object,
            encoded: encoding.len(),
            memory,
        }
    }
}

/// Loaded keys of the peers whose memory is seen.
pub(crate) fn loaded(inputs: &Inputs) -> Vec<Loaded> {
    let mut all = libcrux::loaded(inputs);
    all.extend(ml_dsa::loaded(inputs));
    all.extend(fips204::loaded(inputs));
    all
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
