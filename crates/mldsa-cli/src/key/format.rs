//! Key format detection: lengths, DER headers, algorithm identifiers.

use clap::ValueEnum;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use mldsa_core::pkcs8::ObjectIdentifier;
use mldsa_core::pkcs8::der::asn1::AnyRef;
use mldsa_core::pkcs8::der::{Decode, SliceReader, Tag, Tagged};
use mldsa_core::spki::{SignatureAlgorithmIdentifier, SubjectPublicKeyInfoRef};
use mldsa_core::{ParameterSet, VerifyingKey};

use crate::file::output::Content;
use crate::lines::request::{Set, with_set};

pub(crate) const SEED_LEN: usize = 32;

pub(crate) const NOT_SPKI: &str = "malformed SubjectPublicKeyInfo";
pub(crate) const NOT_ML_DSA: &str = "not an ML-DSA key";

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Text with BEGIN and END lines
    Pem,
    /// PKCS#8 or SubjectPublicKeyInfo
    Der,
    /// The encodings of FIPS 204; a seed is 32 bytes
    Raw,
    /// The raw bytes in hexadecimal digits
    Hex,
    /// The raw bytes in base64 (RFC 4648 section 4, with padding)
    Base64,
    /// JSON Web Key (RFC 9964); a private key has the form seed
    Jwk,
    /// COSE key (RFC 9964) in CBOR; a private key has the form seed
    Cose,
}

impl Format {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Pem => "PEM",
            Self::Der => "DER",
            Self::Raw => "raw",
            Self::Hex => "hex",
            Self::Base64 => "base64",
            Self::Jwk => "JWK",
            Self::Cose => "COSE",
        }
    }

    pub(crate) fn public_content(self) -> Content {
        match self {
            Self::Pem | Self::Hex | Self::Base64 | Self::Jwk => Content::Text,
            Self::Der | Self::Raw | Self::Cose => Content::Binary,
        }
    }
}

/// Makes the parser of `--set`: 44 or ML-DSA-44, and so on.
pub(crate) fn set_parser() -> impl TypedValueParser<Value = Set> {
    let values = Set::ALL.into_iter().zip([2, 3, 5]).map(|(set, category)| {
        let name = set.name();
        PossibleValue::new(&name["ML-DSA-".len()..])
            .alias(name)
            .help(format!("{name}, category {category}"))
    });
    PossibleValuesParser::new(values).try_map(|value| {
        let mut sets = Set::ALL.into_iter();
        let found = sets.find(|set| {
            set.name()
                .ends_with(&value[value.len().saturating_sub(2)..])
        });
        found.ok_or("no parameter set")
    })
}

impl Set {
    pub(crate) fn from_signature_len(len: usize) -> Option<Self> {
        let mut sets = Self::ALL.into_iter();
        sets.find(|&set| with_set!(set, P => P::SIG_LEN) == len)
    }

    pub(crate) fn from_algorithm(found: ObjectIdentifier) -> Result<Self, &'static str> {
        let mut sets = Self::ALL.into_iter();
        sets.find(|&set| {
            with_set!(set, P => VerifyingKey::<P>::SIGNATURE_ALGORITHM_IDENTIFIER.oid) == found
        })
        .ok_or(NOT_ML_DSA)
    }
}

/// Decodes the set and the encoded public key of a SubjectPublicKeyInfo.
pub(crate) fn decode_public(
    info: SubjectPublicKeyInfoRef<'_>,
) -> Result<(Set, Vec<u8>), &'static str> {
    let set = Set::from_algorithm(info.algorithm.oid)?;
    let key = with_set!(set, P => VerifyingKey::<P>::try_from(info)
        .map(|key| key.as_bytes().to_vec()))
    .map_err(|_| NOT_SPKI)?;
    Ok((set, key))
}

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
}

/// Labels of PEM files that have a key.
pub(crate) const LABELS: &[&str] = &[
    "PRIVATE KEY",
    "PUBLIC KEY",
    "ENCRYPTED PRIVATE KEY",
    "CERTIFICATE",
    "X509 CERTIFICATE",
];

/// Returns what helps with a PEM label that is none of [`LABELS`].
pub(crate) fn label_hint(label: &str) -> &'static str {
    match label {
        "TRUSTED CERTIFICATE" => {
            "; it has settings of OpenSSL: `openssl x509 -in CERTIFICATE -noout -pubkey` writes its \
             public key"
        }
        "CERTIFICATE REQUEST" | "NEW CERTIFICATE REQUEST" => {
            "; `openssl req -in REQUEST -noout -pubkey` writes its public key"
        }
        _ if label.starts_with("ML-DSA") => {
            "; a key of RFC 9881 has the label PRIVATE KEY or PUBLIC KEY"
        }
        _ => "",
    }
}

/// Returns whether bytes with the length of a public key hold a private one: text with padding,
/// DER with padding, or an expanded key between other bytes. Without branches on the bytes, which
/// may be secret.
pub(crate) fn holds_private_key(bytes: &[u8]) -> bool {
    has_text(bytes) | has_algorithm(bytes) | has_secret_polynomial(bytes)
}

/// Returns whether there are 48 characters of ASCII in a row, zero bytes not counted (UTF-16).
/// Random bytes of a public key have them with a probability of 2^-54: (99/256)^48 a position.
fn has_text(bytes: &[u8]) -> bool {
    let mut run = 0u32;
    bytes.iter().fold(false, |found, &byte| {
        let character = matches!(byte, b' '..=b'~' | b'\t' | b'\n' | b'\r');
        run = (run + u32::from(character)) * u32::from(character || byte == 0);
        found | (run >= 48)
    })
}

/// Returns whether there is the DER of an object identifier of ML-DSA: 2^-68 of random bytes.
fn has_algorithm(bytes: &[u8]) -> bool {
    const ARC: &[u8] = b"\x06\x09\x60\x86\x48\x01\x65\x03\x04\x03";
    let differing = |window: &[u8]| {
        let pairs = window.iter().zip(ARC);
        pairs.fold(0, |differing, (a, b)| differing | (a ^ b))
    };
    let windows = bytes.windows(ARC.len());
    windows.fold(false, |found, window| found | (differing(window) == 0))
}

/// Returns whether there is a polynomial of s1 or s2 in its encoding: 96 bytes of fields of three
/// bits that are at most 4 (eta = 2), or 128 bytes of fields of four bits that are at most 8
/// (eta = 4), at least half of them different from their neighbour. Random bytes of a public key
/// have one with a probability of 2^-160.
fn has_secret_polynomial(bytes: &[u8]) -> bool {
    // Fields of three bits repeat every three bytes: one run for each alignment.
    let mut runs = [(0u32, 0u32); 4];
    let mut found = false;
    let mut extend = |(run, changes): &mut (u32, u32), fits: bool, changed: bool, enough: u32| {
        *run = (*run + 1) * u32::from(fits);
        *changes = (*changes + u32::from(changed)) * u32::from(fits);
        found |= (*run >= enough) & (*changes >= enough / 2);
    };
    for (at, three) in bytes.windows(3).enumerate() {
        let word = u32::from(three[0]) | u32::from(three[1]) << 8 | u32::from(three[2]) << 16;
        // A field is above 4 if its highest bit and another one are set.
        let above = (word >> 2) & ((word >> 1) | word) & 0o11_111_111;
        extend(&mut runs[at % 3], above == 0, three[0] != three[1], 32);
    }
    for two in bytes.windows(2) {
        let above = (two[0] >> 3) & ((two[0] >> 2) | (two[0] >> 1) | two[0]) & 0x11;
        extend(&mut runs[3], above == 0, two[0] != two[1], 128);
    }
    found
}
