//! Keys in files, recognised by the content.

pub(crate) mod certificate;
mod cose;
mod encode;
mod encrypted;
pub(crate) mod format;
pub(crate) mod inspect;
mod jwk;
pub(crate) mod keygen;
mod parts;
mod pbes2;
pub(crate) mod pubkey;
mod recognise;

use std::io;
use std::path::PathBuf;

use mldsa_core::{ParameterSet, SigningKey, VerifyingKey};

use crate::backends::chosen;
use crate::file::paths::Files;
use crate::key::certificate::Claims;
use crate::key::encrypted::PasswordArgs;
use crate::key::format::{Format, set_parser};
use crate::key::parts::{KeyContent, explain};
use crate::lines::request::Set;

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
    pub(crate) content: KeyContent,
    /// The unverified fields of the certificate that the key is from.
    pub(crate) claims: Option<Claims>,
}

impl KeyFile {
    /// Imports the private key, with every check.
    pub(crate) fn signing_key<P: ParameterSet>(&self) -> Result<SigningKey<P>, &'static str> {
        match &self.content {
            KeyContent::Private(parts) => parts.signing_key(),
            KeyContent::Public(_) => Err("a public key, where a private one is needed"),
        }
    }

    /// Imports the public key, computed from a private one if need be.
    pub(crate) fn verifying_key<P: ParameterSet>(&self) -> Result<VerifyingKey<P>, &'static str> {
        match &self.content {
            KeyContent::Public(bytes) => VerifyingKey::from_bytes(bytes)
                .map(|key| key.with_backend(chosen()))
                .map_err(explain),
            KeyContent::Private(parts) => Ok(parts.signing_key()?.verifying_key().clone()),
        }
    }
}
