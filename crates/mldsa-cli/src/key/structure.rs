//! ASN.1 structures with a key: PKCS#8, SubjectPublicKeyInfo, encrypted keys, certificates.

use mldsa_core::internals::{self, PrivateKeyChoice};
use mldsa_core::pkcs8::ObjectIdentifier;
use mldsa_core::pkcs8::der::asn1::AnyRef;
use mldsa_core::pkcs8::der::{Decode, SliceReader, Tag, Tagged};
use mldsa_core::{AnyVerifyingKey, KeyError, PrivateKeyForm, Set};

use crate::key::certificate::{Certificate, Claims};
use crate::key::encrypted::{PasswordArgs, WRONG_PASSWORD, decrypt};
use crate::key::format::SEED_LEN;
use crate::key::parts::{KeyContent, PrivateParts};
use crate::key::read::Problem;

/// Returns whether the bytes are one DER SEQUENCE.
pub(crate) fn is_der(bytes: &[u8]) -> bool {
    AnyRef::from_der(bytes).is_ok_and(|value| value.tag() == Tag::Sequence)
}

#[derive(Clone, Copy)]
pub(crate) enum Structure {
    /// PKCS#8.
    Private,
    /// SubjectPublicKeyInfo.
    Public,
    /// PKCS#8's EncryptedPrivateKeyInfo.
    Encrypted,
    /// X.509.
    Certificate,
}

impl Structure {
    /// Detects the structure of a SEQUENCE by its first elements.
    pub(crate) fn detect(der: &[u8]) -> Option<Self> {
        const PKCS5: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.5");
        const PKCS12: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.12");
        let first_in = |der| AnyRef::decode(&mut SliceReader::new(der).ok()?).ok();
        let first = first_in(AnyRef::from_der(der).ok()?.value())?;
        match first.tag() {
            // A version.
            Tag::Integer => return Some(Self::Private),
            Tag::Sequence => {}
            _ => return None,
        }
        let first = first_in(first.value())?;
        match first.tag() {
            // Of the key, or of its encryption.
            Tag::ObjectIdentifier => {
                let oid = first.decode_as::<ObjectIdentifier>().ok()?;
                let encrypted = [PKCS5, PKCS12].iter().any(|arc| oid.starts_with(*arc));
                Some(if encrypted {
                    Self::Encrypted
                } else {
                    Self::Public
                })
            }
            // The version of a certificate, or the serial number of one without.
            Tag::ContextSpecific { .. } | Tag::Integer => Some(Self::Certificate),
            _ => None,
        }
    }

    /// Returns the structure of a PEM label: `None` if it is none of [`LABELS`].
    pub(crate) fn from_label(label: &str) -> Option<Self> {
        match label {
            "PRIVATE KEY" => Some(Self::Private),
            "PUBLIC KEY" => Some(Self::Public),
            "ENCRYPTED PRIVATE KEY" => Some(Self::Encrypted),
            "CERTIFICATE" | "X509 CERTIFICATE" => Some(Self::Certificate),
            _ => None,
        }
    }

    /// Decodes the key, and the unverified fields of a certificate.
    pub(crate) fn decode(
        self,
        der: &[u8],
        password: &PasswordArgs,
    ) -> Result<(KeyContent, Option<Claims>), Problem> {
        let content = match self {
            Self::Private => private(der).map_err(|why| explain(why, "PKCS#8"))?,
            Self::Public => {
                let key = AnyVerifyingKey::from_public_key_der(der);
                KeyContent::Public(key.map_err(|why| explain(why, "SubjectPublicKeyInfo"))?)
            }
            Self::Certificate => {
                let Certificate { key, claims } = Certificate::from_der(der)?;
                return Ok((KeyContent::Public(key), Some(claims)));
            }
            Self::Encrypted => private(&decrypt(der, password)?).map_err(|why| match why {
                KeyError::Structure => WRONG_PASSWORD.into(),
                why => explain(why, "PKCS#8"),
            })?,
        };
        Ok((content, None))
    }
}

/// Labels of PEM files that have a key.
pub(crate) const LABELS: &[&str] = &[
    "PRIVATE KEY",
    "PUBLIC KEY",
    "ENCRYPTED PRIVATE KEY",
    "CERTIFICATE",
    "X509 CERTIFICATE",
];

fn explain(error: KeyError, structure: &str) -> Problem {
    match error {
        KeyError::UnknownSet => "not an ML-DSA key".into(),
        KeyError::Structure => format!("malformed {structure}").into(),
        error => error.to_string().into(),
    }
}

/// Decodes a private key in a form of RFC 9881 or in an older one.
fn private(der: &[u8]) -> Result<KeyContent, KeyError> {
    let internals::PrivateParts {
        set,
        choice: inner,
        public_key,
    } = internals::PrivateParts::decode(der)?;
    let parts = match older_form(set, inner) {
        Some(parts) => parts,
        None => {
            let choice = PrivateKeyChoice::from_der(inner).map_err(|_| KeyError::Form)?;
            match choice {
                PrivateKeyChoice::Both { seed, .. } if seed.len() != SEED_LEN => {
                    return Err(KeyError::Length);
                }
                PrivateKeyChoice::Seed(secret) | PrivateKeyChoice::Expanded(secret) => {
                    PrivateParts::new(set, choice.form(), &[secret])
                }
                PrivateKeyChoice::Both { seed, expanded } => {
                    PrivateParts::new(set, choice.form(), &[seed, expanded])
                }
            }
        }
    };
    Ok(KeyContent::Private(match public_key {
        // A public key with unused bits fits no private key.
        Some(key) => parts.beside(key.as_bytes().unwrap_or_default()),
        None => parts,
    }))
}

/// Decodes the content of `privateKey` in a form that was in use before RFC 9881: parts without a
/// tag, or in an OCTET STRING. None of them has the length of a form of the RFC.
fn older_form(set: Set, inner: &[u8]) -> Option<PrivateParts> {
    let named = |mut parts: PrivateParts, names: [&'static str; 3]| {
        parts.older_form = Some(match (parts.form, &parts.public) {
            (PrivateKeyForm::Seed, _) => names[0],
            (PrivateKeyForm::Expanded, None) => names[1],
            _ => names[2],
        });
        Some(parts)
    };
    if let Some(parts) = PrivateParts::from_bare(set, inner) {
        let without_tag = [
            "seed without a tag",
            "expanded key without a tag",
            "two keys, joined, without a tag",
        ];
        return named(parts, without_tag);
    }
    match PrivateKeyChoice::from_der(inner) {
        Ok(PrivateKeyChoice::Expanded(content)) if content.len() != set.private_key_len() => {
            let parts = PrivateParts::from_bare(set, content)?;
            let joined = match parts.form {
                PrivateKeyForm::Both => "seed and expanded key, joined",
                _ => "expanded and public key, joined",
            };
            named(parts, ["seed as an OCTET STRING", joined, joined])
        }
        _ => None,
    }
}
