//! Content of a key file, and the import of its private parts.

use mldsa_core::internals::{PrivateKeyChoice, is_joined_private_key};
use mldsa_core::{AnySigningKey, AnyVerifyingKey, KeyError, PrivateKeyForm, Set, with_set};
use zeroize::Zeroizing;

use crate::backends::chosen;
use crate::key::format::SEED_LEN;

#[allow(clippy::large_enum_variant, reason = "there is one of them")]
pub(crate) enum KeyContent {
    Public(AnyVerifyingKey),
    Private(PrivateParts),
}

impl KeyContent {
    pub(crate) fn set(&self) -> Set {
        match self {
            Self::Public(key) => key.set(),
            Self::Private(parts) => parts.set,
        }
    }
}

pub(crate) struct PrivateParts {
    set: Set,
    pub(crate) form: PrivateKeyForm,
    /// The seed, the expanded key, or the first and then the second.
    secret: Zeroizing<Vec<u8>>,
    /// The public key that the file has beside it.
    pub(crate) public: Option<Vec<u8>>,
    /// The name of a form that RFC 9881 does not have.
    pub(crate) older_form: Option<&'static str>,
}

impl PrivateParts {
    pub(crate) fn new(set: Set, form: PrivateKeyForm, secret: &[&[u8]]) -> Self {
        Self {
            set,
            form,
            secret: Zeroizing::new(secret.concat()),
            public: None,
            older_form: None,
        }
    }

    /// Recognises by their length parts without a structure: a seed, an expanded key, a seed and
    /// its expanded key, or an expanded and its public key. Each set has other lengths, except for
    /// the seed.
    pub(crate) fn from_bare(set: Set, bytes: &[u8]) -> Option<Self> {
        let (sk_len, pk_len) = (set.private_key_len(), set.public_key_len());
        if bytes.len() == SEED_LEN {
            return Some(Self::new(set, PrivateKeyForm::Seed, &[bytes]));
        }
        if with_set!(set, P => is_joined_private_key::<P>(bytes)) {
            return Some(Self::new(set, PrivateKeyForm::Both, &[bytes]));
        }
        let (secret, public) = bytes.split_at_checked(sk_len)?;
        let parts = Self::new(set, PrivateKeyForm::Expanded, &[secret]);
        match public.len() {
            0 => Some(parts),
            len if len == pk_len => Some(parts.beside(public)),
            _ => None,
        }
    }

    /// Adds the public key that is beside the parts.
    pub(crate) fn beside(self, public: &[u8]) -> Self {
        Self {
            public: Some(public.to_vec()),
            ..self
        }
    }

    fn choice(&self) -> PrivateKeyChoice<'_> {
        match self.form {
            PrivateKeyForm::Seed => PrivateKeyChoice::Seed(&self.secret),
            PrivateKeyForm::Expanded => PrivateKeyChoice::Expanded(&self.secret),
            PrivateKeyForm::Both => {
                // Parts of another length are rejected with the key.
                let at = SEED_LEN.min(self.secret.len());
                let (seed, expanded) = self.secret.split_at(at);
                PrivateKeyChoice::Both { seed, expanded }
            }
        }
    }

    /// Imports the key, with every check.
    pub(crate) fn signing_key(&self) -> Result<AnySigningKey, KeyError> {
        let key: AnySigningKey = with_set!(self.set, P => {
            self.choice().signing_key::<P>()?.with_backend(chosen()).into()
        });
        let public = key.verifying_key();
        match &self.public {
            Some(enclosed) if enclosed != public.as_ref() => Err(KeyError::Inconsistent),
            _ => Ok(key),
        }
    }
}
