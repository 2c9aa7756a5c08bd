//! The check of transactions.

use std::sync::LazyLock;

use batch_verify::{BatchVerifier, Item};
use mldsa_core::{Context, MlDsa65, VerifyingKey};

use crate::Transaction;

static VERIFIER: LazyLock<BatchVerifier<MlDsa65>> =
    LazyLock::new(|| BatchVerifier::builder().build().expect("the defaults"));

/// Whether a transaction that has just come is signed by the key in it.
pub(crate) fn valid(t: &Transaction) -> bool {
    VerifyingKey::<MlDsa65>::verify_encoded(&t.public_key, &t.body, Context::EMPTY, &t.signature)
        .is_ok()
}

/// The same of every transaction in a block.
pub(crate) fn valid_block(block: &[Transaction]) -> Vec<bool> {
    let items = block
        .iter()
        .map(|t| Item::new(&t.public_key[..], Context::EMPTY, &t.body[..], &t.signature));
    let report = VERIFIER.verify_batch(items);
    report.verdicts().iter().map(Result::is_ok).collect()
}
