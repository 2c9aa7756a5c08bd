//! Which library verifies, and how.

use std::borrow::Cow;

use aws_lc_rs::signature::{ML_DSA_44, ML_DSA_65, ML_DSA_87, UnparsedPublicKey};
use batch_verify::{KeySet, SignerId};
use clap::ValueEnum;
use mldsa_core::{Context, ParameterSet, VerifyingKey};

/// How votes are verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum How {
    /// Ours: prepared keys, one batch for what the engine hands over or what has arrived.
    Batched,
    /// Ours: prepared keys, one vote at a time.
    OneByOne,
    /// Ours: one vote at a time, the key expanded for each.
    Cold,
    /// `aws-lc-rs`, one vote at a time. It prepares no keys and takes no context: votes are
    /// signed and verified with the context in front of the message ([`How::frame`]).
    AwsLc,
}

impl How {
    /// As on the command line and in rows.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Batched => "batched",
            Self::OneByOne => "one-by-one",
            Self::Cold => "cold",
            Self::AwsLc => "aws-lc",
        }
    }

    /// What is signed, so that this way can verify it.
    #[must_use]
    pub fn frame<'a>(
        self,
        context: Context<'a>,
        message: &'a [u8],
    ) -> (Context<'a>, Cow<'a, [u8]>) {
        match self {
            Self::AwsLc => (Context::EMPTY, prefixed(context.as_bytes(), message).into()),
            _ => (context, message.into()),
        }
    }

    /// One vote by itself: in batches or not, with the keys of this way.
    #[must_use]
    pub fn verify_one<P: ParameterSet>(
        self,
        keys: &KeySet<P>,
        signer: SignerId,
        context: Context<'_>,
        message: &[u8],
        signature: &[u8],
    ) -> bool {
        let unprepared = |valid: &dyn Fn(&VerifyingKey<P>) -> bool| {
            let key = keys.key(signer);
            key.is_some_and(valid)
        };
        match self {
            Self::Batched | Self::OneByOne => {
                keys.verify_one(signer, message, context, signature).is_ok()
            }
            Self::Cold => unprepared(&|key| key.verify(message, context, signature).is_ok()),
            Self::AwsLc => {
                unprepared(&|key| aws_lc_verify(key, context.as_bytes(), message, signature))
            }
        }
    }
}

/// The parameter set of the votes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Set {
    /// ML-DSA-44.
    #[value(name = "44")]
    MlDsa44,
    /// ML-DSA-65.
    #[value(name = "65")]
    MlDsa65,
    /// ML-DSA-87.
    #[value(name = "87")]
    MlDsa87,
}

impl Set {
    /// As on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::MlDsa44 => "44",
            Self::MlDsa65 => "65",
            Self::MlDsa87 => "87",
        }
    }
}

/// The message that a library without contexts signs: its length's byte, the context, the message,
/// so that no two pairs meet.
fn prefixed(context: &[u8], message: &[u8]) -> Vec<u8> {
    // An ML-DSA context has at most 255 bytes.
    let length = u8::try_from(context.len()).unwrap_or(u8::MAX);
    [&[length], context, message].concat()
}

/// One vote through `aws-lc-rs`: from key bytes, with the context in front. It expands the key for
/// each signature, so one that is parsed once (`ParsedPublicKey`) is no faster: `--bin peer` times
/// both.
fn aws_lc_verify<P: ParameterSet>(
    key: &VerifyingKey<P>,
    context: &[u8],
    message: &[u8],
    signature: &[u8],
) -> bool {
    let algorithm = match P::CATEGORY {
        2 => &ML_DSA_44,
        3 => &ML_DSA_65,
        _ => &ML_DSA_87,
    };
    let key: &[u8] = key.as_ref();
    UnparsedPublicKey::new(algorithm, key)
        .verify(&prefixed(context, message), signature)
        .is_ok()
}
