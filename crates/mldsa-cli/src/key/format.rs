//! Formats and parameter sets, as options name them.

use clap::ValueEnum;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use mldsa_core::Set;

use crate::file::output::Content;

pub(crate) const SEED_LEN: usize = 32;

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
    fn value(set: Set) -> PossibleValue {
        let help = format!("{set}, category {}", set.category());
        let name = set.name();
        PossibleValue::new(&name["ML-DSA-".len()..])
            .alias(name)
            .help(help)
    }
    PossibleValuesParser::new(Set::ALL.map(value)).try_map(|text| {
        let mut sets = Set::ALL.into_iter();
        sets.find(|set| value(*set).matches(&text, true))
            .ok_or("no parameter set")
    })
}
