//! The check of transactions.

use aws_lc_rs::signature::{ML_DSA_65, UnparsedPublicKey};
use rayon::prelude::*;

use crate::Transaction;

/// Whether a transaction that has just come is signed by the key in it.
pub(crate) fn valid(t: &Transaction) -> bool {
    let key = UnparsedPublicKey::new(&ML_DSA_65, &t.public_key);
    key.verify(&t.body, &t.signature).is_ok()
}

/// The same of every transaction in a block.
pub(crate) fn valid_block(block: &[Transaction]) -> Vec<bool> {
    block.par_iter().map(valid).collect()
}
