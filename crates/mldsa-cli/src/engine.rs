//! `--engine`: which implementation works on the lines. Answers do not depend on it.

use base16ct::lower::encode_string;
use clap::ValueEnum;
use mldsa_core::siblings::{Secret, Zeroed};
use mldsa_core::{Context, Hedge, KeyError, ParameterSet, PreHash, PreHashed, SigningKey};
use mldsa_lowmem::{
    Balanced, Cached, ExpandedKey, Floor, KeepW0, OwnOutput, Signer, Tier, Workspace,
    keygen_from_seed,
};
use zeroize::Zeroizing;

use crate::jsonl::LineError;
use crate::request::Message;

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Engine {
    /// mldsa-core, the fastest this machine can
    Core,
    /// mldsa-lowmem in its smallest tier, as on a device
    LowmemFloor,
    /// mldsa-lowmem, keeping the low part of w
    LowmemKeepW0,
    /// mldsa-lowmem in at most 15.3 kB
    LowmemBalanced,
    /// mldsa-lowmem, holding the matrix
    LowmemCached,
}

/// A private key as a line gives it.
pub(crate) enum PrivateKey {
    Seed(Zeroizing<[u8; 32]>),
    Expanded(Zeroizing<Vec<u8>>),
}

/// What to sign, and how.
pub(crate) struct Order<'a> {
    pub(crate) message: &'a Message,
    pub(crate) context: Context<'a>,
    pub(crate) hedge: Hedge<'a>,
}

/// The public key, and the signature if one was ordered, in hex.
pub(crate) struct Answer {
    pub(crate) pk: String,
    pub(crate) sig: Option<String>,
}

impl Engine {
    /// Imports the key, checked, and signs.
    pub(crate) fn sign<P: ParameterSet>(
        self,
        key: &PrivateKey,
        order: Option<&Order<'_>>,
    ) -> Result<Answer, LineError>
    where
        KeepW0: Tier<P>,
        Balanced: Tier<P>,
        Cached: Tier<P>,
    {
        match self {
            Self::Core => sign_core::<P>(key, order),
            Self::LowmemFloor => sign_lowmem::<P, Floor>(key, order),
            Self::LowmemKeepW0 => sign_lowmem::<P, KeepW0>(key, order),
            Self::LowmemBalanced => sign_lowmem::<P, Balanced>(key, order),
            Self::LowmemCached => sign_lowmem::<P, Cached>(key, order),
        }
    }
}

fn sign_core<P: ParameterSet>(
    key: &PrivateKey,
    order: Option<&Order<'_>>,
) -> Result<Answer, LineError> {
    let key = match key {
        PrivateKey::Seed(seed) => SigningKey::<P>::from_seed(seed),
        PrivateKey::Expanded(sk) => {
            SigningKey::from_expanded(sk).map_err(|e| refused::<P>(sk, e))?
        }
    };
    let sign = |order: &Order<'_>| {
        let &Order { context, hedge, .. } = order;
        let signature = match order.message {
            Message::Bytes(message) => key.sign(message, context, hedge),
            Message::Mu(mu) => key.sign_mu(mu, hedge),
            Message::PreHashed { hash, digest } => {
                key.sign_prehashed(&pre_hashed(*hash, digest)?, context, hedge)
            }
        };
        let signature = signature.map_err(|error| failed(&error))?;
        Ok(encode_string(signature.as_ref()))
    };
    Ok(Answer {
        sig: order.map(sign).transpose()?,
        pk: encode_string(key.verifying_key().as_ref()),
    })
}

fn sign_lowmem<P: ParameterSet, T: Tier<P>>(
    key: &PrivateKey,
    order: Option<&Order<'_>>,
) -> Result<Answer, LineError> {
    let mut pk = P::PublicKeyBytes::zeroed();
    let mut expanded = Secret::<P::SecretKeyBytes>::zeroed();
    let key = match key {
        PrivateKey::Seed(seed) => {
            keygen_from_seed::<P>(seed, &mut pk, expanded.expose_mut());
            ExpandedKey::<P>::new(expanded.expose().as_ref())
        }
        PrivateKey::Expanded(sk) => {
            let key = ExpandedKey::<P>::checked(sk).map_err(|e| refused::<P>(sk, e))?;
            key.write_public_key(&mut pk);
            Ok(key)
        }
    };
    let key = key
        .and_then(|key| key.with_public_key(pk.as_ref()))
        .map_err(|error| failed(&error))?;
    let sign = |order: &Order<'_>| {
        let &Order { context, hedge, .. } = order;
        let mut workspace = Workspace::<P, T>::new();
        let mut signer = Signer::new(&key, &mut workspace);
        let mut own = OwnOutput::<P>::new();
        let out = own.output();
        let signature = match order.message {
            Message::Bytes(message) => signer.sign(message, context, hedge, out),
            Message::Mu(mu) => signer.sign_mu(mu, hedge, out),
            Message::PreHashed { hash, digest } => {
                signer.sign_prehashed(&pre_hashed(*hash, digest)?, context, hedge, out)
            }
        };
        Ok(encode_string(signature.map_err(|error| failed(&error))?))
    };
    Ok(Answer {
        sig: order.map(sign).transpose()?,
        pk: encode_string(pk.as_ref()),
    })
}

fn refused<P: ParameterSet>(sk: &[u8], error: KeyError) -> LineError {
    LineError::new(match error {
        KeyError::Length => format!(
            "field \"sk\" has {} bytes, not the {} of {}",
            sk.len(),
            P::SK_LEN,
            P::NAME
        ),
        error => format!("field \"sk\" is refused: {error}"),
    })
}

fn failed(error: &dyn core::error::Error) -> LineError {
    LineError::new(format!("signing failed: {error}"))
}

/// The pair was checked with the line.
fn pre_hashed<P: ParameterSet>(
    hash: PreHash,
    digest: &[u8],
) -> Result<PreHashed<'_, P>, LineError> {
    PreHashed::new_allow_weak(hash, digest).map_err(|error| LineError::new(error.to_string()))
}
