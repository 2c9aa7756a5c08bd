//! RFC 9881 key files and certificates, read with the `pkcs8` and `der`
//! crates.

use pkcs8::der::asn1::{AnyRef, BitStringRef, OctetStringRef};
use pkcs8::der::{Decode, Encode, Reader, SecretDocument, Tag, Tagged};
use pkcs8::{PrivateKeyInfoRef, SubjectPublicKeyInfoRef};

/// The private key CHOICE of RFC 9881: one of the two forms, or both.
#[derive(Debug, PartialEq, Eq)]
pub struct PrivateKeyFile {
    /// The seed, 32 bytes in a well-formed file.
    pub seed: Option<Vec<u8>>,
    /// The expanded private key.
    pub expanded: Option<Vec<u8>>,
}

/// The inputs for verifying the signature of a certificate.
#[derive(Debug)]
pub struct Certificate {
    /// The signed bytes.
    pub tbs: Vec<u8>,
    /// The public key the certificate is about.
    pub pk: Vec<u8>,
    /// The signature over `tbs`.
    pub sig: Vec<u8>,
}

/// DER from PEM.
///
/// # Panics
/// When it is no PEM.
#[must_use]
pub fn der(pem: &str) -> Vec<u8> {
    let (_, document) = SecretDocument::from_pem(pem).expect("PEM");
    document.as_bytes().to_vec()
}

/// The private key of a PKCS#8 file.
///
/// # Errors
/// When it is not well formed.
pub fn private_key(der: &[u8]) -> Result<PrivateKeyFile, pkcs8::der::Error> {
    let info = PrivateKeyInfoRef::from_der(der)?;
    let key = info.private_key.as_bytes();
    // The seed is `[0] IMPLICIT OCTET STRING`.
    if let [0x80, 32, seed @ ..] = key
        && seed.len() == 32
    {
        return Ok(PrivateKeyFile {
            seed: Some(seed.to_vec()),
            expanded: None,
        });
    }
    let key = AnyRef::from_der(key)?;
    if key.tag() == Tag::OctetString {
        return Ok(PrivateKeyFile {
            seed: None,
            expanded: Some(key.value().to_vec()),
        });
    }
    key.sequence(|both| {
        let mut next = || {
            both.decode::<&OctetStringRef>()
                .map(|part| Some(part.as_bytes().to_vec()))
        };
        Ok(PrivateKeyFile {
            seed: next()?,
            expanded: next()?,
        })
    })
}

/// The public key of a SubjectPublicKeyInfo.
///
/// # Errors
/// When it is not well formed.
pub fn public_key(der: &[u8]) -> Result<Vec<u8>, pkcs8::der::Error> {
    Ok(SubjectPublicKeyInfoRef::from_der(der)?
        .subject_public_key
        .raw_bytes()
        .to_vec())
}

/// A certificate: of the fields, only the public key is looked at.
///
/// # Errors
/// When it is not well formed.
pub fn certificate(der: &[u8]) -> Result<Certificate, pkcs8::der::Error> {
    AnyRef::from_der(der)?.sequence(|certificate| {
        let tbs: AnyRef<'_> = certificate.decode()?;
        let _algorithm: AnyRef<'_> = certificate.decode()?;
        let sig: BitStringRef<'_> = certificate.decode()?;
        let pk = tbs.sequence(|fields| {
            // Version, serial number, algorithm, issuer, validity, subject.
            for _ in 0..6 {
                let _: AnyRef<'_> = fields.decode()?;
            }
            let spki: SubjectPublicKeyInfoRef<'_> = fields.decode()?;
            while !fields.is_finished() {
                let _: AnyRef<'_> = fields.decode()?;
            }
            Ok::<_, pkcs8::der::Error>(spki.subject_public_key.raw_bytes().to_vec())
        })?;
        Ok(Certificate {
            tbs: tbs.to_der()?,
            pk,
            sig: sig.raw_bytes().to_vec(),
        })
    })
}
