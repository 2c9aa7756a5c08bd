//! Rows, and the verdicts on them one by one.

use std::sync::LazyLock;

use arrow_array::StringArray;
use mldsa_arrow::batch_verify::mldsa_core::{ParameterSet, VerifyError};
use mldsa_arrow::batch_verify::{
    Context, MlDsa44, MlDsa65, MlDsa87, Mu, Randomness, SigningKey, VerifyingKey,
};
use mldsa_arrow::{Set, Verdicts};

/// A row whose values may be anything.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) set: Option<String>,
    pub(crate) key: Option<Vec<u8>>,
    pub(crate) message: Option<Vec<u8>>,
    pub(crate) context: Option<Vec<u8>>,
    pub(crate) signature: Option<Vec<u8>>,
}

/// Valid rows: two keys of each set, two messages of each key.
pub(crate) static VALID: LazyLock<Vec<Row>> = LazyLock::new(|| {
    let mut rows = Vec::new();
    for seed in 0..2 {
        // A long message is hashed once for the rows that share it.
        for text in [&b"first"[..], &[2; 5000]] {
            rows.push(signed::<MlDsa44>(seed, text, b""));
            rows.push(signed::<MlDsa65>(seed, text, b"context"));
            rows.push(signed::<MlDsa87>(seed, text, b"context"));
        }
    }
    rows
});

fn signed<P: ParameterSet>(seed: u8, message: &[u8], context: &[u8]) -> Row {
    let key = SigningKey::<P>::from_seed(&[seed; 32]);
    let of = Context::new(context).unwrap();
    let signature = key.sign_with_context(message, of, Randomness::Deterministic);
    Row {
        set: Some(P::NAME.to_owned()),
        key: Some(key.verifying_key().as_ref().to_vec()),
        message: Some(message.to_vec()),
        context: Some(context.to_vec()).filter(|context| !context.is_empty()),
        signature: Some(signature.unwrap().as_ref().to_vec()),
    }
}

/// Form of a message.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Form {
    Message,
    Mu,
}

impl Row {
    /// The reason by the core's verification of one signature; `None` if it is valid.
    pub(crate) fn reason(&self, has_set: bool, form: Form) -> Option<&'static str> {
        let set = match (&self.set, has_set) {
            (_, false) => None,
            (None, _) => return Some("missing_set"),
            (Some(name), _) => match name.parse::<Set>() {
                Ok(set) => Some(set),
                Err(_) => return Some("unknown_set"),
            },
        };
        let Some(key) = &self.key else {
            return Some("missing_key");
        };
        let Some(message) = &self.message else {
            return Some("missing_message");
        };
        if form == Form::Mu && message.len() != 64 {
            return Some("mu_length");
        }
        let Some(signature) = &self.signature else {
            return Some("missing_signature");
        };
        let context = self.context.as_deref().unwrap_or_default();
        if form == Form::Message && context.len() > 255 {
            return Some("context_too_long");
        }
        match (set, key.len()) {
            (Some(Set::MlDsa44), _) | (None, 1312) => {
                one::<MlDsa44>(key, message, context, signature, form)
            }
            (Some(Set::MlDsa65), _) | (None, 1952) => {
                one::<MlDsa65>(key, message, context, signature, form)
            }
            (Some(Set::MlDsa87), _) | (None, 2592) => {
                one::<MlDsa87>(key, message, context, signature, form)
            }
            _ => Some("public_key_length"),
        }
    }
}

fn one<P: ParameterSet>(
    key: &[u8],
    message: &[u8],
    context: &[u8],
    signature: &[u8],
    form: Form,
) -> Option<&'static str> {
    let Ok(key) = VerifyingKey::<P>::from_bytes(key) else {
        return Some("public_key_length");
    };
    let verdict = match form {
        Form::Message => {
            key.verify_with_context(message, Context::new(context).unwrap(), signature)
        }
        Form::Mu => key.verify_mu(&Mu::from_bytes(message.try_into().unwrap()), signature),
    };
    verdict.err().map(|error| match error {
        VerifyError::SignatureLength => "signature_length",
        VerifyError::HintEncoding => "hint_encoding",
        VerifyError::ResponseNorm => "response_norm",
        VerifyError::ChallengeMismatch => "challenge_mismatch",
        other => panic!("{other}"),
    })
}

/// The reasons of a result, whose columns have to agree.
pub(crate) fn reasons(verdicts: &Verdicts) -> Vec<Option<&str>> {
    let reasons = verdicts.reason.downcast_dict::<StringArray>().unwrap();
    let reasons: Vec<_> = reasons.into_iter().collect();
    let valid: Vec<_> = verdicts.valid.iter().collect();
    let of_reasons: Vec<_> = reasons.iter().map(|one| Some(one.is_none())).collect();
    assert_eq!(valid, of_reasons);
    reasons
}
