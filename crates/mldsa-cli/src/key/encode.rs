//! Keys in the formats of files.

use std::io;

use mldsa_core::pkcs8::der::pem;
use mldsa_core::pkcs8::{EncodePublicKey, LineEnding};
use mldsa_core::{AnySigningKey, AnyVerifyingKey, PrivateKeyForm};
use zeroize::Zeroizing;

use crate::file::text::encode_bytes;
use crate::key::encrypted::encrypt;
use crate::key::format::Format;
use crate::key::{cose, jwk};

/// Encodes a private key in the chosen format and form, under a password if there is one.
pub(crate) fn encode_private(
    key: &AnySigningKey,
    format: Format,
    form: PrivateKeyForm,
    password: Option<&[u8]>,
) -> io::Result<Zeroizing<Vec<u8>>> {
    let unknown = || io::Error::other("the seed of this key is not known");
    let seed_only = || match form {
        PrivateKeyForm::Seed => key.seed().ok_or_else(unknown),
        _ => Err(io::Error::other(
            "JWK and COSE keys have the form seed only",
        )),
    };
    let der = || {
        let der = key.to_pkcs8_der_as(form).map_err(|_| unknown())?.to_bytes();
        match password {
            Some(password) => encrypt(&der, password).map(Zeroizing::new),
            None => Ok(der),
        }
    };
    if password.is_some() && !matches!(format, Format::Pem | Format::Der) {
        return Err(io::Error::other("an encrypted key needs PEM or DER"));
    }
    Ok(match (format, form) {
        (Format::Pem, _) => {
            let label = match password {
                Some(_) => "ENCRYPTED PRIVATE KEY",
                None => "PRIVATE KEY",
            };
            let text = pem::encode_string(label, LineEnding::LF, &der()?);
            Zeroizing::new(text.map_err(io::Error::other)?.into_bytes())
        }
        (Format::Der, _) => der()?,
        (Format::Jwk, _) => jwk::encode(&key.verifying_key(), Some(seed_only()?)),
        (Format::Cose, _) => cose::encode(&key.verifying_key(), Some(seed_only()?)),
        (_, PrivateKeyForm::Seed) => encode_bytes(key.seed().ok_or_else(unknown)?, format),
        (_, PrivateKeyForm::Expanded) => encode_bytes(key.expanded(), format),
        (_, PrivateKeyForm::Both) => {
            return Err(io::Error::other("seed and expanded key need PEM or DER"));
        }
    })
}

pub(crate) fn encode_public(
    key: &AnyVerifyingKey,
    format: Format,
) -> io::Result<Zeroizing<Vec<u8>>> {
    Ok(match format {
        Format::Pem => {
            let text = key.to_public_key_pem(LineEnding::LF);
            Zeroizing::new(text.map_err(io::Error::other)?.into_bytes())
        }
        Format::Der => {
            let der = key.to_public_key_der().map_err(io::Error::other)?;
            Zeroizing::new(der.into_vec())
        }
        Format::Jwk => jwk::encode(key, None),
        Format::Cose => cose::encode(key, None),
        Format::Raw | Format::Hex | Format::Base64 => encode_bytes(key.as_ref(), format),
    })
}
