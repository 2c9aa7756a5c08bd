#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

mod error;
mod reason;
mod bytes;
mod keys;
mod inputs;
mod verifier;
#[doc(hidden)]
pub mod thrift;

pub use batch_verify;
pub use batch_verify::mldsa_core::Set;
#[cfg(feature = "gpu")]
pub use mldsa_gpu;

pub use bytes::Column;
pub use error::ColumnError;
pub use inputs::{ContextOf, Inputs, KeyOf, MessageOf, SetOf};
pub use keys::{Id, KeyTable};
pub use reason::Reason;
pub use verifier::{Options, Verdicts, Verifier};
