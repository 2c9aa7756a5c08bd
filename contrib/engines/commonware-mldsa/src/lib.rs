//! ML-DSA votes for commonware's simplex.
//!
//! ed25519 identities name the participants and authenticate the network; ML-DSA keys of one of
//! the three parameter sets sign the votes. [`Scheme`] implements both traits of
//! [`commonware_cryptography::certificate`] and is passed to the engine as its `scheme`.
//!
//! ```
//! use std::sync::Arc;
//! use commonware_cryptography::{Signer as _, ed25519::PrivateKey};
//! use commonware_mldsa::{PublicKey, Scheme, Validators};
//! use commonware_utils::{TryCollect as _, ordered::Map};
//! use mldsa_core::{MlDsa65, SigningKey};
//!
//! let keys: Vec<SigningKey<MlDsa65>> = (0..4).map(|n| SigningKey::from_seed(&[n; 32])).collect();
//! let members: Map<_, PublicKey<MlDsa65>> = keys
//!     .iter()
//!     .zip(0..)
//!     .map(|(key, n)| (PrivateKey::from_seed(n).public_key(), key.verifying_key().clone().into()))
//!     .try_collect()?;
//! let validators = Arc::new(Validators::new(b"mychain/v1", &members)?);
//! let scheme = Scheme::signer(validators, &keys[2])?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Design
//!
//! - A vote is an ML-DSA signature of the encoded subject. The namespace of the engine (chain and
//!   kind of vote) is the *context* of FIPS 204, not a prefix of the message.
//! - Each kind of vote has a [`batch_verify::Committee`]; participant `i` is member `i`. The three
//!   committees share their expanded keys.
//! - Votes passed together are verified in batches of a [`batch_verify::CommitteeVerifier`], a
//!   single vote by [`Committee::verify`](batch_verify::Committee::verify). Each vote has its own
//!   verdict, so no bisection is needed, and all certificates of a call are one batch.
//! - Batches run where the engine requests it ([`Strategy`](commonware_parallel::Strategy)): on the
//!   calling thread or on the engine's pool.
//! - A certificate is a bitmap of signers and their signatures.
//!
//! # Signatures are deterministic
//!
//! The engine compares encoded votes: a vote signed again with other bytes (a nullify after each
//! timeout, any vote after a restart) counts as misbehaviour. With hedged signatures honest
//! members therefore block each other as soon as a view stalls. Deterministic lattice signatures
//! are vulnerable to fault injection: two signatures of one message, one of them with a fault, can
//! reveal the key. `mldsa-core` therefore verifies each signature before it returns it. That covers known single faults, but not an attacker who can also disturb the
//! verification; validators on hardware under the control of others need further protection.

mod certificate;
mod codec;
mod scheme;
mod validators;

#[cfg(test)]
mod tests;

pub use certificate::Certificate;
pub use codec::{PublicKey, Signature};
pub use scheme::{NotAMember, Scheme};
pub use validators::Validators;
