//! Tests of the public interface.

#![allow(clippy::unwrap_used, reason = "a test")]

mod accelerator;
mod any;
mod batch;
mod bounds;
mod certificate;
mod committee;
mod duplicates;
mod executors;
mod fixture;
mod forms;
mod key_cache;
mod load;
mod quorum;
mod quorum_flood;
mod serde;
mod service;
mod service_end;
mod service_faults;
mod service_flood;
mod traps;
mod validity;
