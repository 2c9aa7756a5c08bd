//! Keys in files, recognised by the content.

mod recognise;

use std::io;
use std::path::PathBuf;

use mldsa_core::internals::PrivateKeyChoice;
use mldsa_core::{KeyError, ParameterSet, PrivateKeyForm, SigningKey, VerifyingKey};
use zeroize::Zeroizing;

use crate::backends::chosen;
use crate::certificate::Claims;
use crate::encrypted::PasswordArgs;
use crate::json_request::Set;
use crate::key_format::{Format, SEED_LEN, set_parser};
use crate::paths::Files;

/// A key file as an argument or an option of a command.
macro_rules! key_args {
    ($(#[$doc:meta])* $name:ident, $(#[$path:meta])*) => {
        $(#[$doc])*
        #[derive(clap::Args)]
        pub(crate) struct $name {
            $(#[$path])*
            pub(crate) path: PathBuf,

            #[command(flatten)]
            options: KeyOptions,
        }

        impl $name {
            pub(crate) fn read(&self) -> io::Result<KeyFile> {
                KeyFile::read(&self.path, &self.options)
            }

            pub(crate) fn files(&self) -> Files<'_> {
                let files = Files::default().read([&*self.path]);
                files.read(self.options.password.file())
            }
        }
    };
}
key_args!(
    /// The key of a command over files.
    KeyArgs,
    /// The key: PEM, DER, raw, hex or base64; - is standard input. `sign` needs a private key,
    /// `verify` and `mu` also accept a public key or a certificate of one
    #[arg(long = "key", short = 'k', value_name = "FILE")]
);
key_args!(
    /// A key file as the argument of a command.
    KeyFileArgs,
    /// A key, or a certificate of one: PEM, DER, raw, hex or base64; - is standard input
    #[arg(value_name = "KEY")]
);

/// Options that a key file may need.
#[derive(clap::Args)]
struct KeyOptions {
    /// Parameter set, needed for a bare seed
    #[arg(long, value_parser = set_parser(), ignore_case = true)]
    set: Option<Set>,

    #[command(flatten)]
    password: PasswordArgs,
}

/// A key file, its structure checked and its content not yet.
pub(crate) struct KeyFile {
    pub(crate) format: Format,
    pub(crate) set: Set,
    pub(crate) content: Content,
    /// The unverified fields of the certificate that the key is from.
    pub(crate) claims: Option<Claims>,
}

pub(crate) enum Content {
    /// An encoded public key.
    Public(Vec<u8>),
    Private(PrivateParts),
}

/// The parts of a private key.
pub(crate) struct PrivateParts {
    pub(crate) form: PrivateKeyForm,
    /// The seed, the expanded key, or the first and then the second.
    secret: Zeroizing<Vec<u8>>,
    /// The public key that the file has beside it.
    public: Option<Vec<u8>>,
    /// Whether the algorithm identifier has parameters, which ML-DSA does not have.
    has_parameters: bool,
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

    fn new(form: PrivateKeyForm, secret: Zeroizing<Vec<u8>>) -> Self {
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
    fn signing_key<P: ParameterSet>(&self) -> Result<SigningKey<P>, &'static str> {
        let key: SigningKey<P> = self.choice().signing_key().map_err(explain)?;
        let enclosed = self.public.as_deref();
        let fits = enclosed.is_none_or(|public| public == key.verifying_key().as_ref());
        if self.has_parameters || !fits {
            return Err("algorithm parameters or an enclosed public key do not fit");
        }
        Ok(key.with_backend(chosen()))
    }
}

impl KeyFile {
    /// Imports the private key, with every check.
    pub(crate) fn signing_key<P: ParameterSet>(&self) -> Result<SigningKey<P>, &'static str> {
        match &self.content {
            Content::Private(parts) => parts.signing_key(),
            Content::Public(_) => Err("a public key, where a private one is needed"),
        }
    }

    /// Imports the public key, computed from a private one if need be.
    pub(crate) fn verifying_key<P: ParameterSet>(&self) -> Result<VerifyingKey<P>, &'static str> {
        match &self.content {
            Content::Public(bytes) => VerifyingKey::from_bytes(bytes)
                .map(|key| key.with_backend(chosen()))
                .map_err(explain),
            Content::Private(parts) => Ok(parts.signing_key()?.verifying_key().clone()),
        }
    }
}

fn explain(error: KeyError) -> &'static str {
    match error {
        KeyError::Length => "wrong length of a key part",
        KeyError::SecretRange => "a secret coefficient is out of range",
        _ => "the parts of the private key do not belong together",
    }
}
