#![doc = include_str!("../README.md")]
//!
//! # Types
//!
//! | task | type |
//! |---|---|
//! | the validators of an epoch: keys, weights, threshold, context | [`Committee`] |
//! | lists of their votes, quorums | [`CommitteeVerifier`] |
//! | a quorum to be stored or sent | [`Certificate`] |
//! | votes from the network, as they arrive | [`VerificationService`] |
//! | signatures under keys that are in no committee | [`BatchVerifier`] |
//! | the same for parameter sets that are known at run time | [`AnyCommittee`], [`AnyBatchVerifier`] |
//! | proof of two conflicting signatures for one slot | [`Equivocation`] |
//!
//! Each verdict is the one that `mldsa_core` gives for that signature alone: nothing is
//! combined across signatures, so a batch accepts exactly what single verification accepts and
//! a bad item cannot affect its neighbours. Verdicts never depend on the number of threads or
//! on scheduling, except in [`Mode::AnyInvalid`].
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
//! All inputs of verification are public: time and early exits depend on them. `docs/validity.md`
//! in the repository defines what is accepted and the cost of every kind of rejection. Verdicts,
//! reports and results are `#[must_use]`, and no call returns an `Ok` that may contain a rejection.

#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

mod accelerator;
#[cfg(all(feature = "ml-dsa-44", feature = "ml-dsa-65", feature = "ml-dsa-87"))]
mod any;
mod batch;
mod committee;
mod error;
mod executor;
mod item;
mod quorum;
mod reason;
mod report;
mod service;

pub use accelerator::{Accelerator, AcceleratorJob, AcceleratorMessage};
#[cfg(all(feature = "ml-dsa-44", feature = "ml-dsa-65", feature = "ml-dsa-87"))]
pub use any::{AnyBatchVerifier, AnyCommittee, AnyItem};
pub use batch::{BatchVerifier, CommitteeVerifier, Mode, VerifierBuilder};
pub use committee::{Committee, CommitteeBuilder, KeyCacheStats, KeyStorage, MemberId, Threshold};
pub use error::BuildError;
pub use executor::{ThreadPool, Threads};
pub use item::{Item, Message, Vote};
pub use quorum::{
    Certificate, CertificateError, Equivocation, EquivocationError, QuorumError, QuorumReport,
    QuorumRule,
};
pub use reason::RejectReason;
pub use report::Report;
pub use service::{
    Origin, Pending, RateLimiter, ServiceBuilder, ServiceError, ServiceStats, Source,
    VerificationService,
};

#[cfg(feature = "ml-dsa-44")]
pub use mldsa_core::MlDsa44;
#[cfg(feature = "ml-dsa-65")]
pub use mldsa_core::MlDsa65;
#[cfg(feature = "ml-dsa-87")]
pub use mldsa_core::MlDsa87;
pub use mldsa_core::{
    self, Backend, Context, Mu, ParameterSet, PreHash, Randomness, Set, Signature, SigningKey,
    VerifyingKey,
};

/// Compiles and runs the Rust code of the README.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

/// Compiles and runs the Rust code of the page on engines.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/engines.md")]
struct Engines;
