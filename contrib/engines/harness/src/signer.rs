//! Validator keys and signing.

use std::sync::Arc;

use mldsa_core::{Context, ParameterSet, PreparedSigningKey, Randomness, SigningKey};

use crate::{Meter, Strategy, ThreadTime};

/// Signing key of validator `n`. The seed is fixed, so that runs are repeatable.
#[must_use]
pub fn signing_key<P: ParameterSet>(n: usize) -> SigningKey<P> {
    let mut seed = [0; 32];
    seed[..8].copy_from_slice(&(n as u64 + 1).to_le_bytes());
    SigningKey::from_seed(&seed)
}

/// The signature with the lowest bit of its challenge flipped: well formed and invalid.
#[must_use]
pub fn flip_bit(signature: &[u8]) -> Vec<u8> {
    let mut bytes = signature.to_vec();
    if let Some(byte) = bytes.first_mut() {
        *byte ^= 1;
    }
    bytes
}

/// Validator key with CPU-time accounting. Clones share the key.
#[derive(Clone, Debug)]
pub struct Signer<P: ParameterSet> {
    key: Arc<PreparedSigningKey<P>>,
    strategy: Strategy,
    meter: Arc<Meter>,
}

impl<P: ParameterSet> Signer<P> {
    /// Signer whose signatures `strategy` can verify.
    #[must_use]
    pub fn new(key: &SigningKey<P>, strategy: Strategy, meter: Arc<Meter>) -> Self {
        Self {
            key: Arc::new(key.prepare()),
            strategy,
            meter,
        }
    }

    /// Signs deterministically: a vote signed again, after a restart for example, has the same
    /// bytes and cannot be taken for equivocation.
    ///
    /// # Panics
    /// If `context` is longer than 255 bytes.
    #[must_use]
    pub fn sign(&self, context: &[u8], message: &[u8]) -> Vec<u8> {
        let start = ThreadTime::now();
        let context = Context::new(context).expect("contexts here are short");
        let (context, message) = self.strategy.frame(context, message);
        let signature = self
            .key
            .sign_with_context(&message, context, Randomness::Deterministic);
        // FIPS 204 allows an error after 821 rejected attempts; its probability is below 2^-256.
        let signature = signature.expect("signing ends").as_ref().to_vec();
        self.meter.record_signature(start.elapsed());
        signature
    }
}
