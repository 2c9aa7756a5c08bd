//! Content of a key file, and the import of its private parts.

use mldsa_core::internals::PrivateKeyChoice;
use mldsa_core::{KeyError, ParameterSet, PrivateKeyForm, SigningKey};
use zeroize::Zeroizing;

use crate::backends::chosen;
use crate::key::format::SEED_LEN;

pub(crate) enum KeyContent {
    /// An encoded public key.
    Public(Vec<u8>),
    Private(PrivateParts),
}

pub(crate) struct PrivateParts {
    pub(crate) form: PrivateKeyForm,
    /// The seed, the expanded key, or the first and then the second.
    secret: Zeroizing<Vec<u8>>,
    /// The public key that the file has beside it.
    pub(crate) public: Option<Vec<u8>>,
    /// Whether the algorithm identifier has parameters, which ML-DSA does not have.
    pub(crate) has_parameters: bool,
    /// The name of a form that RFC 9881 does not have.
    pub(crate) older_form: Option<&'static str>,
}

impl PrivateParts {
    /// Makes the parts of a seed and of the public key beside it.
    pub(crate) fn from_seed(seed: Zeroizing<Vec<u8>>, public: Option<Vec<u8>>) -> Self {
        Self {
            public,
            ..Self::new(PrivateKeyForm::Seed, seed)
        }
    }

    pub(crate) fn new(form: PrivateKeyForm, secret: Zeroizing<Vec<u8>>) -> Self {
        Self {
            form,
            secret,
            public: None,
            has_parameters: false,
            older_form: None,
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
    pub(crate) fn signing_key<P: ParameterSet>(&self) -> Result<SigningKey<P>, &'static str> {
        let key: SigningKey<P> = self.choice().signing_key().map_err(explain)?;
        let enclosed = self.public.as_deref();
        let fits = enclosed.is_none_or(|public| public == key.verifying_key().as_ref());
        if self.has_parameters || !fits {
            return Err("algorithm parameters or an enclosed public key do not fit");
        }
        Ok(key.with_backend(chosen()))
    }
}

pub(crate) fn explain(error: KeyError) -> &'static str {
    match error {
        KeyError::Length => "wrong length of a key part",
        KeyError::SecretRange => "a secret coefficient is out of range",
        _ => "the parts of the private key do not belong together",
    }
}
