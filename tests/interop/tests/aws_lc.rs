//! Keys and signatures between this library and `aws-lc-rs`, both directions.
//! Feature `aws-lc-rs`: needs a C compiler and minutes to build.
#![cfg(feature = "aws-lc-rs")]

use aws_lc_rs::signature::{KeyPair, UnparsedPublicKey};
use aws_lc_rs::unstable as _;
