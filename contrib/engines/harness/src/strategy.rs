//! Verification strategies that the programs compare.

use std::borrow::Cow;

use aws_lc_rs::signature::{ML_DSA_44, ML_DSA_65, ML_DSA_87, UnparsedPublicKey};
use batch_verify::{Committee, MemberId, Vote};
use clap::ValueEnum;
use mldsa_core::{Context, ParameterSet, VerifyingKey};

/// Verification strategy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Strategy {
    /// Prepared keys, one batch per call of the engine or per set of arrived messages.
    Batched,
    /// Prepared keys, one vote per call.
    PerVote,
    /// One vote per call, the key expanded for each.
    ColdKeys,
    /// `aws-lc-rs`, one vote per call. It has no prepared keys and no context argument: the
    /// context is part of the message ([`Strategy::frame`]).
    AwsLc,
}

impl Strategy {
    /// Name on the command line and in rows.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Batched => "batched",
            Self::PerVote => "per-vote",
            Self::ColdKeys => "cold-keys",
            Self::AwsLc => "aws-lc",
        }
    }

    /// Context and message to sign, so that this strategy can verify the signature.
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

    /// Verifies one vote of a committee member with the keys of this strategy.
    #[must_use]
    pub fn verify_one<P: ParameterSet>(
        self,
        committee: &Committee<P>,
        member: MemberId,
        message: &[u8],
        signature: &[u8],
    ) -> bool {
        let context = Context::new(committee.context()).expect("checked by the committee");
        let key = || committee.key(member);
        match self {
            Self::Batched | Self::PerVote => {
                let vote = Vote::new(member, message, signature);
                committee.verify(&vote).is_ok()
            }
            Self::ColdKeys => {
                key().is_some_and(|k| k.verify_with_context(message, context, signature).is_ok())
            }
            Self::AwsLc => {
                let message = prefixed(context.as_bytes(), message);
                key().is_some_and(|key| aws_lc_verify(key, &message, signature))
            }
        }
    }
}

/// Injective encoding of context and message: length byte, context, message.
fn prefixed(context: &[u8], message: &[u8]) -> Vec<u8> {
    // An ML-DSA context has at most 255 bytes.
    let length = u8::try_from(context.len()).unwrap_or(u8::MAX);
    [&[length], context, message].concat()
}

/// Verifies through `aws-lc-rs` from key bytes. The library expands the key for each signature,
/// also if the key was parsed before.
fn aws_lc_verify<P: ParameterSet>(key: &VerifyingKey<P>, message: &[u8], signature: &[u8]) -> bool {
    let algorithm = match P::CATEGORY {
        2 => &ML_DSA_44,
        3 => &ML_DSA_65,
        _ => &ML_DSA_87,
    };
    let key: &[u8] = key.as_ref();
    UnparsedPublicKey::new(algorithm, key)
        .verify(message, signature)
        .is_ok()
}
