//! Batch verification of ML-DSA (FIPS 204) signatures for consensus engines.
//!
//! | task | type |
//! |---|---|
//! | the validators of an epoch: keys, weights, threshold, context | [`Committee`] |
//! | lists of their votes, quorums, certificates | [`CommitteeVerifier`] |
//! | votes from the network, as they arrive | [`VerificationService`] |
//! | signatures under keys that are in no committee | [`BatchVerifier`] |
//! | proof of two conflicting signatures for one slot | [`Equivocation`] |
//!
//! Each verdict is the one that `mldsa_core` gives for that signature alone: nothing is
//! combined across signatures, so a batch accepts exactly what single verification accepts and
//! a bad item cannot affect its neighbours. Verdicts never depend on the number of threads or
//! on scheduling, except in [`Mode::AnyInvalid`].
//!
//! ```
//! use batch_verify::{Committee, QuorumRule, Vote};
//! use mldsa_core::{Context, Randomness, MlDsa44, SigningKey};
//!
//! let keys: Vec<_> = (0..4).map(|i| SigningKey::<MlDsa44>::from_seed(&[i; 32])).collect();
//! let context = Context::new(b"mychain/v1/vote")?;
//! let sign = |key: &SigningKey<_>| key.sign_with_context(b"block 7", context, Randomness::Deterministic);
//! let signatures = keys.iter().map(sign).collect::<Result<Vec<_>, _>>()?;
//!
//! let members = keys.iter().map(|key| (key.verifying_key(), 1));
//! let committee = Committee::<MlDsa44>::builder(context).epoch(1).build(members)?;
//! let verifier = committee.verifier();
//!
//! // Every vote has a verdict.
//! let votes = committee.members().zip(&signatures);
//! let votes = votes.map(|(member, vote)| Vote::new(member, b"block 7", vote.as_ref()));
//! verifier.verify(votes).require_all()?;
//!
//! // Three of four votes are a certificate.
//! let votes = committee.members().zip(&signatures).take(3);
//! let votes: Vec<_> = votes.map(|(member, vote)| (member, vote.as_ref())).collect();
//! let quorum = verifier.verify_quorum(b"block 7", &votes, QuorumRule::Certificate)?;
//! assert_eq!(quorum.carried_by(), [0, 1, 2]);
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```
//!
//! # Speed
//!
//! Keys of a committee are expanded once, not for every signature. Eight signatures share the
//! permutations of their hashes. A batch is sorted by key, so that signatures under one key are
//! neighbours, and divided into one segment for each worker, in whole groups of lanes; a worker
//! that has finished takes chunks of the others.
//!
//! Prepared keys take 20, 36 or 64 KiB each, or three quarters of that in a large committee
//! ([`KeyStorage`]).
//!
//! # Security
//!
//! All inputs of verification are public: time and early exits depend on them.
//! `docs/validity.md` in the repository defines what is accepted and the cost of every kind of
//! rejection. Verdicts, reports and results are `#[must_use]`, and no call returns an `Ok`
//! that may contain a rejection.

#![forbid(unsafe_code)]

mod batch;
mod committee;
mod error;
mod executor;
mod item;
mod quorum;
mod reason;
mod report;
mod service;
mod vertex;

pub use batch::{BatchVerifier, BatchVerifierBuilder, CommitteeVerifier, Mode};
pub use committee::{Committee, CommitteeBuilder, KeyStorage, MemberId, Threshold};
pub use error::BuildError;
pub use executor::Threads;
pub use item::{Item, Message, Vote};
pub use quorum::{Equivocation, EquivocationError, QuorumError, QuorumReport, QuorumRule};
pub use reason::RejectReason;
pub use report::{Rejection, Report};
pub use service::{
    Origin, Pending, RateLimiter, ServiceBuilder, ServiceError, ServiceStats, Source,
    VerificationService,
};

/// Compiles and runs the Rust code of the README.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

/// Compiles and runs the Rust code of the page on engines.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/engines.md")]
struct Engines;
