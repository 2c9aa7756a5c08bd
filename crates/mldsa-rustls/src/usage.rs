//! Key usages of certificates with ML-DSA keys (RFC 9881 section 5).

use mldsa_core::Set;
use mldsa_core::pkcs8::der::asn1::{AnyRef, BitStringRef, ObjectIdentifier};
use mldsa_core::pkcs8::der::{self, Decode, Header, Reader, SliceReader, Tag, TagNumber};

const KEY_USAGE: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.29.15");
const BASIC_CONSTRAINTS: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.29.19");

// Bits of KeyUsage (RFC 5280 section 4.2.1.3), the first byte first.
const DIGITAL_SIGNATURE: u16 = 0x8000;
const KEY_CERT_SIGN: u16 = 0x0400;
/// keyEncipherment, dataEncipherment, keyAgreement, encipherOnly and decipherOnly.
const FORBIDDEN: u16 = 0x2000 | 0x1000 | 0x0800 | 0x0100 | 0x0080;

/// Returns whether `id` names one of the sets of ML-DSA.
fn is_ml_dsa(id: &ObjectIdentifier) -> bool {
    Set::ALL.iter().any(|set| &set.oid()[2..] == id.as_bytes())
}

/// Returns whether PKCS#8 says that it is a private key of ML-DSA, whatever follows.
pub(crate) fn is_private_key(pkcs8: &[u8]) -> bool {
    let read = || -> der::Result<bool> {
        let mut fields = SliceReader::new(pkcs8)?;
        Header::decode(&mut fields)?;
        AnyRef::decode(&mut fields)?; // The version.
        let mut algorithm = inside(AnyRef::decode(&mut fields)?)?;
        Ok(is_ml_dsa(&ObjectIdentifier::decode(&mut algorithm)?))
    };
    read().unwrap_or(false)
}

/// Returns whether `message` is the content of a certificate that a certificate authority signs.
pub(crate) fn is_certificate(message: &[u8]) -> bool {
    fields(message).is_ok_and(|mut fields| {
        // Lists of revoked certificates and answers of OCSP have no version in this place.
        let first = AnyRef::decode(&mut fields);
        first.is_ok_and(|version| is_context(&version, 0))
    })
}

/// Returns whether the key of a certificate may have the usages that the certificate states. In a
/// chain of TLS a certificate authority needs keyCertSign, and every other certificate
/// digitalSignature. A certificate without the extension and one of another algorithm's key pass.
///
/// # Errors
/// Those of the decoder, for a certificate that is not well formed.
pub(crate) fn permits(certificate: &[u8]) -> der::Result<bool> {
    let mut fields = fields(certificate)?;
    // Version, serial number, signature, issuer, validity and subject.
    for _ in 0..6 {
        AnyRef::decode(&mut fields)?;
    }
    let mut key = inside(AnyRef::decode(&mut fields)?)?;
    let mut algorithm = inside(AnyRef::decode(&mut key)?)?;
    if !is_ml_dsa(&ObjectIdentifier::decode(&mut algorithm)?) {
        return Ok(true);
    }
    let (mut usages, mut authority) = (None, false);
    while !fields.is_finished() {
        let field = AnyRef::decode(&mut fields)?;
        if !is_context(&field, 3) {
            continue; // Unique identifiers.
        }
        let mut extensions = inside(AnyRef::from_der(field.value())?)?;
        while !extensions.is_finished() {
            let mut extension = inside(AnyRef::decode(&mut extensions)?)?;
            let id = ObjectIdentifier::decode(&mut extension)?;
            Option::<bool>::decode(&mut extension)?; // Whether it is critical.
            let value = <&der::asn1::OctetStringRef>::decode(&mut extension)?.as_bytes();
            if id == KEY_USAGE {
                usages = Some(bits(BitStringRef::from_der(value)?));
            } else if id == BASIC_CONSTRAINTS {
                let mut constraints = inside(AnyRef::from_der(value)?)?;
                authority = Option::<bool>::decode(&mut constraints)?.unwrap_or(false);
            }
        }
    }
    let needed = if authority {
        KEY_CERT_SIGN
    } else {
        DIGITAL_SIGNATURE
    };
    Ok(usages.is_none_or(|usages| usages & FORBIDDEN == 0 && usages & needed != 0))
}

/// Returns a reader of the fields of an encoded SEQUENCE.
pub(crate) fn fields(bytes: &[u8]) -> der::Result<SliceReader<'_>> {
    inside(AnyRef::from_der(bytes)?)
}

/// Returns a reader of the fields of a SEQUENCE.
pub(crate) fn inside(sequence: AnyRef<'_>) -> der::Result<SliceReader<'_>> {
    der::Tagged::tag(&sequence).assert_eq(Tag::Sequence)?;
    SliceReader::new(sequence.value())
}

fn is_context(field: &AnyRef<'_>, number: u32) -> bool {
    let expected = Tag::ContextSpecific {
        constructed: true,
        number: TagNumber(number),
    };
    der::Tagged::tag(field) == expected
}

fn bits(value: BitStringRef<'_>) -> u16 {
    let byte = |at| value.raw_bytes().get(at).copied().unwrap_or(0);
    u16::from_be_bytes([byte(0), byte(1)])
}
