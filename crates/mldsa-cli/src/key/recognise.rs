//! Recognition of the format and the set of a key.

use std::borrow::Cow;
use std::io;
use std::path::Path;

use mldsa_core::PrivateKeyForm::{self, Both, Expanded, Seed};
use mldsa_core::internals::{PrivateKeyChoice, decode_pem, is_joined_private_key};
use mldsa_core::pkcs8::PrivateKeyInfoRef;
use mldsa_core::pkcs8::der::Decode;
use mldsa_core::spki::SubjectPublicKeyInfoRef;
use mldsa_core::{ParameterSet, PemError};
use zeroize::Zeroizing;

use super::{KeyFile, KeyOptions};
use crate::file::input::{read_small, unusable, without_mark};
use crate::file::text::{from_base64, from_hex, is_digits};
use crate::key::certificate::{Certificate, Claims};
use crate::key::encrypted::{PasswordArgs, WRONG_PASSWORD, decrypt};
use crate::key::format::{
    Format, LABELS, NOT_SPKI, SEED_LEN, Structure, decode_public, holds_private_key, is_der,
    label_hint,
};
use crate::key::parts::{KeyContent, PrivateParts};
use crate::key::{cose, jwk};
use crate::lines::request::{Set, with_set};

/// Reason why a file has no usable key.
type Problem = Cow<'static, str>;

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

const NOT_PKCS8: &str = "malformed PKCS#8";
const NO_KEY: &str = "DER, but of no key that can be used";
const NOT_A_KEY: &str = "not a key in PEM, DER, JWK, COSE, raw, hex or base64";

impl KeyFile {
    /// Reads a key file. A bare seed needs the option for the set; with any other file the option
    /// has to agree.
    pub(super) fn read(path: &Path, options: &KeyOptions) -> io::Result<Self> {
        let bytes = read_small(path)?;
        let password = &options.password;
        let key = Self::parse(&bytes, options.set, password).map_err(|why| unusable(path, why))?;
        match options.set {
            Some(set) if set != key.set => {
                let (found, set) = (key.set.name(), set.name());
                Err(unusable(path, format!("a key of {found}, not of {set}")))
            }
            _ => Ok(key),
        }
    }

    fn parse(bytes: &[u8], set: Option<Set>, password: &PasswordArgs) -> Result<Self, Problem> {
        let text = without_mark(bytes);
        // Before any guess from the length: a private key is never taken for the bytes of a public
        // one. No key in DER is as short as a seed.
        if bytes.len() != SEED_LEN && is_der(bytes) {
            let structure = Structure::detect(bytes).ok_or(NO_KEY)?;
            let key = Self::structured(Format::Der, structure, bytes, password);
            return key.map_err(|why| match &*why {
                NOT_PKCS8 | NOT_SPKI => NO_KEY.into(),
                _ => why,
            });
        }
        // DER may contain the same characters.
        if memchr::memmem::find(bytes, b"-----BEGIN").is_some() {
            let (label, der) = decode_pem(bytes, LABELS).map_err(explain_pem)?;
            let structure = Structure::from_label(label).ok_or(NO_KEY)?;
            return Self::structured(Format::Pem, structure, &der, password);
        }
        if let Some(key) = jwk::decode(text) {
            return Ok(Self::unclaimed(Format::Jwk, key?));
        }
        if let Some(key) = cose::decode(bytes) {
            return Ok(Self::unclaimed(Format::Cose, key?));
        }
        if is_digits(text) {
            let bytes = from_hex(text).unwrap_or_default();
            let key = bare(&bytes, set)?.ok_or(
                "hexadecimal digits, but as many as no key has: 64 for a seed, 2624, 3904 \
                 or 5184 for a public key, 5120, 8064 or 9792 for an expanded one, 5184, 8128 or \
                 9856 for a seed with its expanded key",
            )?;
            return Ok(Self::unclaimed(Format::Hex, key));
        }
        if let Some(decoded) = from_base64(text)
            && let Some(key) = bare(&decoded, set)?
        {
            return Ok(Self::unclaimed(Format::Base64, key));
        }
        match (bare(bytes, set)?, Set::from_signature_len(bytes.len())) {
            (Some(key), _) => Ok(Self::unclaimed(Format::Raw, key)),
            (None, Some(_)) => Err(format!("as long as a signature, and {NOT_A_KEY}").into()),
            (None, None) => Err(NOT_A_KEY.into()),
        }
    }

    /// Decodes one of the ASN.1 structures.
    fn structured(
        format: Format,
        structure: Structure,
        der: &[u8],
        password: &PasswordArgs,
    ) -> Result<Self, Problem> {
        match structure {
            Structure::Private => Ok(Self::unclaimed(format, pkcs8(der)?)),
            Structure::Public => {
                let info = SubjectPublicKeyInfoRef::from_der(der).map_err(|_| NOT_SPKI)?;
                let (set, key) = decode_public(info)?;
                Ok(Self::unclaimed(format, (set, KeyContent::Public(key))))
            }
            Structure::Certificate => {
                let Certificate { set, key, claims } = Certificate::from_der(der)?;
                Ok(Self::new(
                    format,
                    (set, KeyContent::Public(key)),
                    Some(claims),
                ))
            }
            Structure::Encrypted => {
                let key = pkcs8(&decrypt(der, password)?).map_err(|why| match why {
                    NOT_PKCS8 => WRONG_PASSWORD,
                    why => why,
                });
                Ok(Self::unclaimed(format, key?))
            }
        }
    }

    fn unclaimed(format: Format, key: (Set, KeyContent)) -> Self {
        Self::new(format, key, None)
    }

    fn new(format: Format, (set, content): (Set, KeyContent), claims: Option<Claims>) -> Self {
        Self {
            format,
            set,
            content,
            claims,
        }
    }
}

/// Recognises a key without a structure around it by its length.
fn bare(bytes: &[u8], set: Option<Set>) -> Result<Option<(Set, KeyContent)>, &'static str> {
    let private = |set, form, secret: &[u8], public: Option<&[u8]>| {
        let mut parts = PrivateParts::new(form, Zeroizing::new(secret.to_vec()));
        parts.public = public.map(<[u8]>::to_vec);
        Ok(Some((set, KeyContent::Private(parts))))
    };
    if bytes.len() == SEED_LEN {
        let set = set.ok_or("a bare seed does not tell its set: use --set")?;
        return private(set, Seed, bytes, None);
    }
    for set in Set::ALL {
        let (pk_len, sk_len) = with_set!(set, P => (P::PK_LEN, P::SK_LEN));
        if bytes.len() == sk_len {
            return private(set, Expanded, bytes, None);
        }
        if with_set!(set, P => is_joined_private_key::<P>(bytes)) {
            return private(set, Both, bytes, None);
        }
        if bytes.len() == sk_len + pk_len {
            let (secret, public) = bytes.split_at(sk_len);
            return private(set, Expanded, secret, Some(public));
        }
    }
    for set in Set::ALL {
        let pk_len = with_set!(set, P => P::PK_LEN);
        // Before the bytes are copied to memory that is not wiped.
        if bytes.len() == pk_len && !holds_private_key(bytes) {
            return Ok(Some((set, KeyContent::Public(bytes.to_vec()))));
        }
        if bytes.len() == pk_len {
            return Err(
                "as long as a raw public key, but it seems to hold a private one: give a public \
                 key as PEM or DER, a private key without anything around it",
            );
        }
    }
    let joined = |set| bytes.len() == SEED_LEN + with_set!(set, P => P::SK_LEN);
    if Set::ALL.into_iter().any(joined) {
        return Err("as long as a seed and an expanded key, but not one seed and its expanded key");
    }
    Ok(None)
}

/// Decodes PKCS#8 with a private key in a form of RFC 9881 or in an older one.
fn pkcs8(der: &[u8]) -> Result<(Set, KeyContent), &'static str> {
    let info = PrivateKeyInfoRef::try_from(der).map_err(|_| NOT_PKCS8)?;
    let set = Set::from_algorithm(info.algorithm.oid)?;
    let inner = info.private_key.as_bytes();
    let mut parts = match with_set!(set, P => older_form::<P>(inner)) {
        Some(parts) => parts,
        None => {
            let choice = PrivateKeyChoice::from_der(inner);
            match choice.map_err(|_| "private key in none of the three forms of RFC 9881")? {
                PrivateKeyChoice::Seed(seed) => owned(Seed, &[seed]),
                PrivateKeyChoice::Expanded(expanded) => owned(Expanded, &[expanded]),
                PrivateKeyChoice::Both { seed, expanded } if seed.len() == SEED_LEN => {
                    owned(Both, &[seed, expanded])
                }
                PrivateKeyChoice::Both { .. } => {
                    return Err("private key whose seed does not have 32 bytes");
                }
            }
        }
    };
    // A public key with unused bits fits no private key.
    let enclosed = info
        .public_key
        .map(|key| key.as_bytes().unwrap_or_default().to_vec());
    parts.public = enclosed.or(parts.public);
    parts.has_parameters = info.algorithm.parameters.is_some();
    Ok((set, KeyContent::Private(parts)))
}

fn owned(form: PrivateKeyForm, secret: &[&[u8]]) -> PrivateParts {
    PrivateParts::new(form, Zeroizing::new(secret.concat()))
}

/// Decodes the content of `privateKey` in a form that was in use before RFC 9881. None of them has
/// the length of a form of the RFC.
fn older_form<P: ParameterSet>(inner: &[u8]) -> Option<PrivateParts> {
    let wrapped = match PrivateKeyChoice::from_der(inner) {
        Ok(PrivateKeyChoice::Expanded(content)) if inner.len() != SEED_LEN => Some(content),
        _ => None,
    };
    let named = |mut parts: PrivateParts, name| {
        parts.older_form = Some(name);
        parts
    };
    let pair = |bytes: &[u8]| {
        let (secret, public) = bytes.split_at_checked(P::SK_LEN)?;
        let mut parts = owned(Expanded, &[secret]);
        parts.public = Some(public.to_vec());
        (public.len() == P::PK_LEN).then_some(parts)
    };
    match (inner.len(), wrapped) {
        (SEED_LEN, _) => Some(named(owned(Seed, &[inner]), "seed without a tag")),
        (len, _) if len == P::SK_LEN => Some(named(
            owned(Expanded, &[inner]),
            "expanded key without a tag",
        )),
        (_, Some(seed)) if seed.len() == SEED_LEN => {
            Some(named(owned(Seed, &[seed]), "seed as an OCTET STRING"))
        }
        (_, Some(joined)) if is_joined_private_key::<P>(joined) => Some(named(
            owned(Both, &[joined]),
            "seed and expanded key, joined",
        )),
        (_, Some(bytes)) => Some(named(pair(bytes)?, "expanded and public key, joined")),
        (_, None) => {
            let joined = is_joined_private_key::<P>(inner);
            let parts = if joined {
                owned(Both, &[inner])
            } else {
                pair(inner)?
            };
            Some(named(parts, "two keys, joined, without a tag"))
        }
    }
}
