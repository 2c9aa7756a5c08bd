//! ML-DSA votes for commonware's simplex.
//!
//! ed25519 identities name the participants and authenticate the network; ML-DSA keys, of any of
//! the three parameter sets, sign the votes. [`Scheme`] is both halves of
//! [`commonware_cryptography::certificate`]: hand it to the engine as its `scheme`.
//!
//! ```
//! use std::sync::Arc;
//! use commonware_cryptography::{Signer as _, ed25519::PrivateKey};
//! use commonware_mldsa::{Committee, PublicKey, Scheme};
//! use commonware_utils::{TryCollect as _, ordered::Map};
//! use mldsa_core::{MlDsa65, SigningKey};
//!
//! let keys: Vec<SigningKey<MlDsa65>> = (0..4).map(|n| SigningKey::from_seed(&[n; 32])).collect();
//! let members: Map<_, PublicKey<MlDsa65>> = keys
//!     .iter()
//!     .zip(0..)
//!     .map(|(key, n)| (PrivateKey::from_seed(n).public_key(), key.verifying_key().clone().into()))
//!     .try_collect()?;
//! let committee = Arc::new(Committee::new(b"mychain/v1", &members)?);
//! let scheme = Scheme::signer(committee, &keys[2])?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What it does
//!
//! - A vote is an ML-DSA signature of the encoded subject; the engine's namespace (the chain's
//!   name and the kind of vote) is the *context* of FIPS 204, not a prefix of the message.
//! - Participant `i` is signer `i` of one [`batch_verify::KeySet`], whose keys are expanded once.
//! - Votes that the engine hands over together are one call of [`batch_verify::BatchVerifier`]; a
//!   lone one takes [`verify_one`](batch_verify::KeySet::verify_one). Verdicts are for each vote
//!   by itself, so nothing is searched for by halving, and all certificates of one call are one
//!   batch.
//! - The work runs where the engine says ([`Strategy`](commonware_parallel::Strategy)): on the
//!   calling thread or on the engine's pool, which is lent to the batch.
//! - A certificate is a bitmap of signers and their signatures: nothing shorter is as sound. The
//!   README has its size.
//!
//! # Signatures are deterministic
//!
//! The engine requires it: it compares encoded votes, and a vote that is made again with other
//! bytes (a nullify is, after each timeout and after a restart) looks like misbehaviour. With
//! hedged signatures honest members block each other as soon as a view stalls. The price is that of every
//! deterministic lattice signature: whoever can disturb the computation and has the same message
//! signed twice, once with a fault, can learn the key. So a signature is verified before it
//! leaves; one that a fault has spoiled does not. That stops the known single faults, not an
//! attacker who can also disturb the verification: a validator on hardware in the hands of
//! others needs more than this.

mod backend;
mod certificate;
mod codec;
mod committee;
mod scheme;

#[cfg(test)]
mod tests;

pub use backend::{Operation, Prepared, Vote, VoteBackend};
pub use certificate::Certificate;
pub use codec::{PublicKey, Signature};
pub use committee::{Committee, CommitteeError};
pub use scheme::{NotAMember, Scheme};
