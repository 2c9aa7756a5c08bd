//! `encrypted` without the feature `encrypted-keys`: an error that names encrypted keys.

use std::io;
use std::path::Path;

use zeroize::Zeroizing;

/// No options.
#[derive(clap::Args)]
pub(crate) struct PasswordArgs {}

impl PasswordArgs {
    pub(crate) fn file(&self) -> Option<&Path> {
        None
    }

    pub(crate) fn read(&self) -> io::Result<Option<Zeroizing<Vec<u8>>>> {
        Ok(None)
    }
}

pub(crate) const WRONG_PASSWORD: &str = "wrong password, or damaged";

pub(crate) fn decrypt(_: &[u8], _: Option<&[u8]>) -> Result<Zeroizing<Vec<u8>>, &'static str> {
    Err(
        "an encrypted private key: `openssl pkcs8 -in ENCRYPTED -out KEY` decrypts it; mldsa \
         reads it when built with the feature encrypted-keys",
    )
}
