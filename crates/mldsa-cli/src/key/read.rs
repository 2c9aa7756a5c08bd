//! Recognition of the format and the set of a key file by its content.

use std::borrow::Cow;

use mldsa_core::internals::decode_pem;
use mldsa_core::{PemError, Set};

use crate::file::input::without_mark;
use crate::file::text::{from_base64, from_hex, is_digits};
use crate::key::bare::bare;
use crate::key::certificate::Claims;
use crate::key::encrypted::PasswordArgs;
use crate::key::format::{Format, SEED_LEN};
use crate::key::parts::KeyContent;
use crate::key::structure::{LABELS, Structure, is_der};
use crate::key::{cose, jwk};

/// Reason why a file has no usable key.
pub(crate) type Problem = Cow<'static, str>;

/// What a file contains: the key, and the unverified fields of a certificate.
type Found = (KeyContent, Option<Claims>);

/// The bytes of a file, and the options for it.
struct Input<'a> {
    bytes: &'a [u8],
    /// The bytes without a byte order mark.
    text: &'a [u8],
    set: Option<Set>,
    password: &'a PasswordArgs,
}

/// Reads a file of one format. `None` means that the file is of another format.
type Reader = fn(&Input<'_>) -> Option<Result<Found, Problem>>;

/// The formats in the order in which they are tried. Those with a structure come before those that
/// are recognised by a length: a private key is never taken for the bytes of a public one.
const READERS: [(Format, Reader); 7] = [
    (Format::Der, der),
    // DER may contain the characters of PEM.
    (Format::Pem, pem),
    (Format::Jwk, |input| {
        Some(unclaimed(jwk::decode(input.text)?))
    }),
    (Format::Cose, |input| {
        Some(unclaimed(cose::decode(input.bytes)?))
    }),
    (Format::Hex, hex),
    (Format::Base64, base64),
    (Format::Raw, |input| {
        bare(input.bytes, input.set).map(unclaimed)
    }),
];

/// Recognises the format of a file, and decodes its key.
pub(crate) fn recognise(
    bytes: &[u8],
    set: Option<Set>,
    password: &PasswordArgs,
) -> Result<(Format, KeyContent, Option<Claims>), Problem> {
    let text = without_mark(bytes);
    let input = Input {
        bytes,
        text,
        set,
        password,
    };
    for (format, read) in READERS {
        if let Some(found) = read(&input) {
            let (content, claims) = found?;
            return Ok((format, content, claims));
        }
    }
    let is_signature = Set::from_signature_len(bytes.len()).is_some();
    let hint = if is_signature {
        "as long as a signature, and "
    } else {
        ""
    };
    Err(format!("{hint}not a key in PEM, DER, JWK, COSE, raw, hex or base64").into())
}

fn unclaimed(key: Result<KeyContent, &'static str>) -> Result<Found, Problem> {
    Ok((key?, None))
}

fn der(input: &Input<'_>) -> Option<Result<Found, Problem>> {
    // No key in DER is as short as a seed.
    let is_key = input.bytes.len() != SEED_LEN && is_der(input.bytes);
    is_key.then(|| {
        let structure = Structure::detect(input.bytes);
        let structure = structure.ok_or("DER, but of no key that can be used")?;
        structure.decode(input.bytes, input.password)
    })
}

fn pem(input: &Input<'_>) -> Option<Result<Found, Problem>> {
    memchr::memmem::find(input.bytes, b"-----BEGIN")?;
    let read = || {
        let (label, der) = decode_pem(input.bytes, LABELS).map_err(explain_pem)?;
        let structure = Structure::from_label(label).ok_or("PEM of no key that can be used")?;
        structure.decode(&der, input.password)
    };
    Some(read())
}

/// Explains why a PEM text was rejected.
fn explain_pem(error: PemError) -> Problem {
    let hint = match &error {
        PemError::Label { found, .. } => label_hint(found),
        PemError::Headers => "; `openssl pkey` of OpenSSL 3.5 or newer reads it",
        PemError::Several { .. } => ": leave the one to be used",
        _ => "",
    };
    format!("{error}{hint}").into()
}

/// Returns what helps with a PEM label that is none of [`LABELS`].
fn label_hint(label: &str) -> &'static str {
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

fn hex(input: &Input<'_>) -> Option<Result<Found, Problem>> {
    is_digits(input.text).then(|| {
        let bytes = from_hex(input.text).unwrap_or_default();
        let key = bare(&bytes, input.set).ok_or(
            "hexadecimal digits, but as many as no key has: 64 for a seed, 2624, 3904 or 5184 for a \
             public key, 5120, 8064 or 9792 for an expanded one, 5184, 8128 or 9856 for a seed with \
             its expanded key",
        )?;
        unclaimed(key)
    })
}

fn base64(input: &Input<'_>) -> Option<Result<Found, Problem>> {
    let decoded = from_base64(input.text)?;
    bare(&decoded, input.set).map(unclaimed)
}
