//! Parallel batch verification of ML-DSA (FIPS 204) signatures.
//!
//! A consensus node checks thousands of votes from the same few hundred
//! validators. [`BatchVerifier`] takes them as one slice, spreads them over
//! threads ([`Executor`]) and answers for every item, in input order. The answer never
//! depends on the number of threads or on scheduling, except in
//! [`Mode::AnyInvalid`], which says so.
//!
//! Each verdict is the one `mldsa_core` gives for that item alone: nothing is
//! combined across signatures, so a batch accepts exactly what single
//! verification accepts and a bad item cannot affect its neighbours.
//!
//! ```
//! use batch_verify::{BatchVerifier, Item, KeySet, Mode, Outcome};
//! use mldsa_core::{Context, Randomness, MlDsa44, SigningKey};
//!
//! let network = b"mychain/v1/vote";
//! let signers: Vec<SigningKey<MlDsa44>> =
//!     (0..4).map(|i| SigningKey::from_seed(&[i; 32])).collect();
//! let votes: Vec<_> = signers
//!     .iter()
//!     .map(|key| key.sign(b"block 7", Context::new(network).unwrap(), Randomness::Deterministic).unwrap())
//!     .collect();
//!
//! let keys = KeySet::<MlDsa44>::from_public_keys(
//!     signers.iter().map(|key| key.verifying_key()),
//! )?;
//! let engine = BatchVerifier::builder().keys(keys).context(network).mode(Mode::Full).build()?;
//!
//! let items: Vec<Item> = votes
//!     .iter()
//!     .enumerate()
//!     .map(|(i, vote)| Item::new(i as u32, b"block 7", vote.as_ref()))
//!     .collect();
//! let report = engine.verify(&items);
//! assert!(report.all_valid());
//! assert_eq!(report.outcomes()[3], Outcome::Valid);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What is in it
//!
//! - [`KeySet`]: the validators of an epoch, expanded ahead of time and shared;
//!   [`KeySet::with_changes`] makes the next epoch's from it.
//! - [`BatchVerifier::verify`], [`verify_into`](BatchVerifier::verify_into) without
//!   allocation, [`verify_by`](BatchVerifier::verify_by) on the caller's own type,
//!   [`verify_all`](BatchVerifier::verify_all) and
//!   [`verify_each`](BatchVerifier::verify_each).
//! - [`BatchVerifier::verify_quorum`]: votes for one message against a threshold.
//! - [`BatchVerifier::tally`]: votes for several messages, counted and not judged.
//! - [`EpochVerifier`]: a place for the verifier of the current epoch.
//! - [`KeySet::verify_one`]: a lone vote, without batch machinery.
//! - [`Intake`]: votes that arrive one by one, verified together and remembered;
//!   `AsyncIntake` (feature `async`) for code that awaits.
//! - [`BatchQueue`]: signatures collected one at a time.
//! - [`verify_vertex_signatures_batch`] and its async form, for DAG engines.
//!
//! # Where the speed comes from
//!
//! A key is expanded once, not for every signature. Eight signatures share the
//! permutations of their hashes. A batch is sorted by key, so that signatures under
//! one key are neighbours, and cut into one segment for each worker, in whole
//! groups of lanes; a worker that is done helps the others. Since the order is that
//! of the keys, a worker meets the same keys again in the next round.
//!
//! Expanded keys take 20, 36 or 64 KiB each, or three quarters of that in a large
//! set on a machine where loading costs more than unpacking ([`KeyStorage`]).
//!
//! All inputs of verification are public: time and early exit depend on them.
//! `docs/validity.md` in the repository has the exact set of what is accepted and
//! the cost of every kind of refusal.

#![forbid(unsafe_code)]

mod batch;
#[cfg(feature = "tokio")]
mod blocking;
mod builder;
mod cache;
mod caught;
mod epoch;
mod error;
mod executor;
mod intake;
mod item;
mod judge;
mod key_set;
mod memory;
mod oneshot;
mod options;
mod owned;
mod plan;
mod queue;
mod quorum;
mod schedule;
mod signer_id;
mod verdict;
mod vertex;

pub use batch::BatchVerifier;
#[cfg(feature = "tokio")]
pub use blocking::BlockingPool;
pub use builder::Builder;
pub use epoch::EpochVerifier;
pub use error::{BatchError, BuildError, Panicked};
pub use executor::{CallerPool, Executor, Roused, Threads};
pub use intake::{
    Admission, Answered, Intake, IntakeBuilder, IntakeError, IntakeLimits, IntakeMetrics,
    IntakeStats, Origin, Pending, Priority, Verified,
};
#[cfg(feature = "async")]
pub use intake::{
    AsyncIntake, Drain, OwnedQuorum, QuorumFailure, Submit, SubmitBatch, SubmitQuorum, Unanswered,
};
pub use item::{Item, Message, Signer};
pub use key_set::{KeyPolicy, KeySet, KeySetBuilder, KeySetError, KeyStorage};
pub use memory::MemoryStats;
pub use options::{BatchSize, Duplicates, Mode};
pub use owned::{OwnedContext, OwnedItem, OwnedMessage, OwnedSigner, OwnedSubject, OwnedVote};
pub use queue::{BatchQueue, QueueFull, QueueLimits, QueueReport};
pub use quorum::{
    Policy, QuorumError, QuorumReport, Subject, Tally, Threshold, Vote, VoteFor, Weights,
};
pub use signer_id::SignerId;
pub use verdict::{Outcome, Reason, Repeat, Report, Summary};
pub use vertex::{
    SignedVertex, VertexVerdicts, verify_vertex_signatures_batch,
    verify_vertex_signatures_batch_async,
};

/// Compiles and runs the Rust code of the README.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
