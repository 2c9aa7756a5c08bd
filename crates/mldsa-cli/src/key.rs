//! Key files: [`read`] recognises a file by its content, [`structure`] decodes ASN.1, [`bare`] keys
//! without a structure, [`encode`] writes; then the commands.

mod bare;
pub(crate) mod certificate;
mod cose;
pub(crate) mod encode;
pub(crate) mod encrypted;
pub(crate) mod format;
pub(crate) mod inspect;
pub(crate) mod issue;
mod jwk;
pub(crate) mod keygen;
mod parts;
mod pbes2;
pub(crate) mod pubkey;
mod read;
mod structure;

use std::io;
use std::path::{Path, PathBuf};

use mldsa_core::{AnySigningKey, AnyVerifyingKey, KeyError, Set, with_set};

use crate::backends::chosen;
use crate::file::input::{read_small, unusable};
use crate::file::paths::Files;
use crate::key::certificate::Claims;
use crate::key::encrypted::PasswordArgs;
use crate::key::format::{Format, set_parser};
use crate::key::parts::KeyContent;

/// A key file as an argument or an option of a command.
macro_rules! key_args {
    ($(#[$doc:meta])* $name:ident, $(#[$path:meta])*) => {
        $(#[$doc])*
        #[derive(clap::Args)]
        pub(crate) struct $name {
            $(#[$path])*
            path: PathBuf,

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

/// A key file, its structure checked and the parts of a private key not yet.
pub(crate) struct KeyFile {
    path: PathBuf,
    format: Format,
    content: KeyContent,
    /// The unverified fields of the certificate that the key is from.
    claims: Option<Claims>,
}

impl KeyFile {
    /// Reads a key file. A bare seed needs the option for the set; with any other file the option
    /// has to agree.
    fn read(path: &Path, options: &KeyOptions) -> io::Result<Self> {
        let bytes = read_small(path)?;
        let (format, content, claims) = read::recognise(&bytes, options.set, &options.password)
            .map_err(|why| unusable(path, why))?;
        let found = content.set();
        match options.set.filter(|set| *set != found) {
            Some(set) => Err(unusable(path, format!("a key of {found}, not of {set}"))),
            None => Ok(Self {
                path: path.to_owned(),
                format,
                content,
                claims,
            }),
        }
    }

    /// Imports the private key, with every check.
    pub(crate) fn signing_key(&self) -> io::Result<AnySigningKey> {
        match &self.content {
            KeyContent::Private(parts) => parts.signing_key().map_err(|why| self.unusable(why)),
            KeyContent::Public(_) => {
                Err(self.unusable("a public key, where a private one is needed"))
            }
        }
    }

    /// Returns the public key, computed from a private one if need be.
    pub(crate) fn verifying_key(&self) -> io::Result<AnyVerifyingKey> {
        self.check().map_err(|why| self.unusable(why))
    }

    fn check(&self) -> Result<AnyVerifyingKey, KeyError> {
        match &self.content {
            KeyContent::Public(key) => {
                let key = key.clone();
                Ok(with_set!(AnyVerifyingKey, key, key => key.with_backend(chosen()).into()))
            }
            KeyContent::Private(parts) => Ok(parts.signing_key()?.verifying_key()),
        }
    }

    /// Makes an error about this file.
    fn unusable(&self, why: impl core::fmt::Display) -> io::Error {
        unusable(&self.path, why)
    }
}
