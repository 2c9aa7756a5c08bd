//! X.509 certificates (RFC 5280), parsed for their public key. Signature, validity and key usage
//! are NOT checked.

use core::fmt::Write as _;

use mldsa_core::AnyVerifyingKey;
use x509_cert::der::Decode;
use x509_cert::der::referenced::OwnedToRef;
use x509_cert::name::Name;
use x509_cert::spki::Error;

/// An unverified certificate of an ML-DSA key.
pub(crate) struct Certificate {
    pub(crate) key: AnyVerifyingKey,
    pub(crate) claims: Claims,
}

/// Fields of a certificate, in printable characters.
pub(crate) struct Claims {
    pub(crate) subject: String,
    pub(crate) issuer: String,
    pub(crate) not_before: String,
    pub(crate) not_after: String,
}

impl Certificate {
    /// Parses one certificate without trailing bytes.
    pub(crate) fn from_der(der: &[u8]) -> Result<Self, &'static str> {
        let parsed = x509_cert::Certificate::from_der(der).map_err(|_| {
            "malformed, if it is a certificate: \
             `openssl x509 -in CERTIFICATE -noout -pubkey` may read its public key"
        })?;
        let signed = parsed.tbs_certificate();
        let info = signed.subject_public_key_info().owned_to_ref();
        let key = AnyVerifyingKey::try_from(info).map_err(|error| match error {
            Error::OidUnknown { .. } => "a certificate of a key that is not an ML-DSA key",
            _ => "a certificate with a malformed public key",
        })?;
        let claims = Claims {
            subject: printable(signed.subject()),
            issuer: printable(signed.issuer()),
            not_before: signed.validity().not_before.to_string(),
            not_after: signed.validity().not_after.to_string(),
        };
        Ok(Self { key, claims })
    }
}

/// Formats a name as in RFC 4514, which escapes unprintable ASCII. Other characters that are not
/// alphanumeric are escaped too: some change the direction of writing.
fn printable(name: &Name) -> String {
    let mut text = String::new();
    for character in name.to_string().chars() {
        if character.is_ascii() || character.is_alphanumeric() {
            text.push(character);
        } else {
            for byte in character.encode_utf8(&mut [0; 4]).bytes() {
                let _ = write!(text, "\\{byte:02x}");
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use mldsa_core::pkcs8::der::pem;

    use super::*;

    /// Every truncation is rejected; a change of one byte outside the key is rejected or leaves
    /// the key.
    #[test]
    fn damaged_certificates() {
        let text = include_bytes!("../../tests/data/ml-dsa-44.crt");
        let (_, mut der) = pem::decode_vec(text).expect("PEM");
        for len in 0..der.len() {
            assert!(Certificate::from_der(&der[..len]).is_err(), "{len}");
        }
        let Certificate { key, .. } = Certificate::from_der(&der).expect("a certificate");
        let begin = memchr::memmem::find(&der, key.as_ref()).expect("is in there");
        let around = (0..begin).chain(begin + key.as_ref().len()..der.len());
        let (mut accepted, mut rejected) = (0, 0);
        for at in around {
            let byte = der[at];
            for change in [1, 2, 4, 8, 0x10, 0x20, 0x40, 0x80, 0xff] {
                der[at] = byte ^ change;
                match Certificate::from_der(&der) {
                    Ok(certificate) => {
                        assert_eq!(certificate.key, key);
                        accepted += 1;
                    }
                    Err(_) => rejected += 1,
                }
            }
            der[at] = byte;
        }
        // Letters of names and bytes of the signature; headers and lengths.
        assert!(accepted > 500 && rejected > 500, "{accepted} {rejected}");
    }
}
