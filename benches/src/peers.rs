//! The other implementations, each behind its ordinary public interface.

mod aws_lc;
mod fips204;
mod libcrux;
mod ml_dsa;
#[cfg(feature = "mldsa-native-rs")]
mod mldsa_native;

use std::rc::Rc;

use crate::{Contender, Inputs};

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
