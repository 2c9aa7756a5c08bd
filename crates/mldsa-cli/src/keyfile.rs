//! Keys in files: PEM, DER, raw or hex, told apart by what the file holds.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use clap::ValueEnum;
use mldsa_core::pkcs8::der::{Decode, pem};
use mldsa_core::pkcs8::{EncodePublicKey, LineEnding, PrivateKeyInfoRef};
use mldsa_core::spki::SubjectPublicKeyInfoRef;
use mldsa_core::{
    KeyError, ParameterSet, PrivateKeyChoice, PrivateKeyForm, SigningKey, VerifyingKey,
    object_identifier,
};
use zeroize::Zeroizing;

use crate::request::{Set, with_set};

/// How a file holds its bytes.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Text with BEGIN and END lines
    Pem,
    /// PKCS#8 or SubjectPublicKeyInfo
    Der,
    /// The encodings of FIPS 204; a seed is 32 bytes
    Raw,
    /// The same in hexadecimal digits
    Hex,
}

impl Format {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Pem => "PEM",
            Self::Der => "DER",
            Self::Raw => "raw",
            Self::Hex => "hex",
        }
    }
}

/// A parameter set, as an argument.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum SetArg {
    /// ML-DSA-44, category 2
    #[value(name = "44", alias = "ML-DSA-44")]
    MlDsa44,
    /// ML-DSA-65, category 3
    #[value(name = "65", alias = "ML-DSA-65")]
    MlDsa65,
    /// ML-DSA-87, category 5
    #[value(name = "87", alias = "ML-DSA-87")]
    MlDsa87,
}

impl From<SetArg> for Set {
    fn from(set: SetArg) -> Self {
        match set {
            SetArg::MlDsa44 => Self::MlDsa44,
            SetArg::MlDsa65 => Self::MlDsa65,
            SetArg::MlDsa87 => Self::MlDsa87,
        }
    }
}

const SETS: [Set; 3] = [Set::MlDsa44, Set::MlDsa65, Set::MlDsa87];

/// Name, bytes of a public key, bytes of an expanded private key.
fn sizes(set: Set) -> (&'static str, usize, usize) {
    with_set!(set, P => (P::NAME, P::PK_LEN, P::SK_LEN))
}

pub(crate) fn name(set: Set) -> &'static str {
    sizes(set).0
}

/// A key as found in a file, structure known, contents unchecked.
pub(crate) struct KeyFile {
    pub(crate) format: Format,
    pub(crate) set: Set,
    pub(crate) content: Content,
}

pub(crate) enum Content {
    /// An encoded public key.
    Public(Vec<u8>),
    /// A private key in one of its forms.
    Private(PrivateKeyForm, Zeroizing<Vec<u8>>),
}

/// Far above any key in any format.
const MAX_FILE: u64 = 1 << 16;

pub(crate) fn unusable(path: &Path, why: impl core::fmt::Display) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("{}: {why}", path.display()),
    )
}

/// Reads a small file whole.
pub(crate) fn read_small(path: &Path) -> io::Result<Zeroizing<Vec<u8>>> {
    let explain =
        |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    // Allocated at once, so that no copy stays behind unwiped.
    let mut bytes = Zeroizing::new(Vec::with_capacity(MAX_FILE as usize + 1));
    File::open(path)
        .map_err(explain)?
        .take(MAX_FILE + 1)
        .read_to_end(&mut bytes)
        .map_err(explain)?;
    if bytes.len() as u64 > MAX_FILE {
        return Err(unusable(path, "too long for a key or signature"));
    }
    Ok(bytes)
}

/// The bytes of a text that is all hexadecimal digits, white space at its end
/// aside.
pub(crate) fn from_hex(text: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    let text = text.trim_ascii_end();
    if text.is_empty() {
        return None;
    }
    let mut bytes = Zeroizing::new(vec![0; text.len() / 2]);
    base16ct::mixed::decode(text, &mut bytes).ok()?;
    Some(bytes)
}

impl KeyFile {
    /// Reads a key file; `set` is needed for a bare seed and otherwise must
    /// agree with the file.
    pub(crate) fn read(path: &Path, set: Option<SetArg>) -> io::Result<Self> {
        let bytes = read_small(path)?;
        let set = set.map(Set::from);
        let key = Self::parse(&bytes, set).map_err(|why| unusable(path, why))?;
        match set {
            Some(set) if set != key.set => Err(unusable(
                path,
                format_args!("a key of {}, not of {}", name(key.set), name(set)),
            )),
            _ => Ok(key),
        }
    }

    fn parse(bytes: &[u8], set: Option<Set>) -> Result<Self, &'static str> {
        if bytes.trim_ascii_start().starts_with(b"-----BEGIN") {
            let (label, der) = pem::decode_vec(bytes).map_err(|_| "malformed PEM")?;
            let der = Zeroizing::new(der);
            return match label {
                "PRIVATE KEY" => Self::private(Format::Pem, &der),
                "PUBLIC KEY" => Self::public(Format::Pem, &der),
                _ => Err("PEM of something else than PRIVATE KEY or PUBLIC KEY"),
            };
        }
        if let Some(key) = Self::bare(Format::Raw, bytes, set)? {
            return Ok(key);
        }
        if let Some(bytes) = from_hex(bytes) {
            return Self::bare(Format::Hex, &bytes, set)?.ok_or("hex of no key's length");
        }
        if bytes.first() != Some(&0x30) {
            return Err("not a key in PEM, DER, raw or hex");
        }
        Self::private(Format::Der, bytes).or_else(|why| match why {
            NOT_PKCS8 => Self::public(Format::Der, bytes),
            why => Err(why),
        })
    }

    /// A key without structure around it, recognised by its length.
    fn bare(format: Format, bytes: &[u8], set: Option<Set>) -> Result<Option<Self>, &'static str> {
        if bytes.len() == 32 {
            let set = set.ok_or("a bare seed does not tell its set: use --set")?;
            let content = Content::Private(PrivateKeyForm::Seed, Zeroizing::new(bytes.to_vec()));
            return Ok(Some(Self {
                format,
                set,
                content,
            }));
        }
        Ok(SETS.into_iter().find_map(|set| {
            let (_, pk_len, sk_len) = sizes(set);
            let content = if bytes.len() == pk_len {
                Content::Public(bytes.to_vec())
            } else if bytes.len() == sk_len {
                Content::Private(PrivateKeyForm::Expanded, Zeroizing::new(bytes.to_vec()))
            } else {
                return None;
            };
            Some(Self {
                format,
                set,
                content,
            })
        }))
    }

    fn private(format: Format, der: &[u8]) -> Result<Self, &'static str> {
        let info = PrivateKeyInfoRef::try_from(der).map_err(|_| NOT_PKCS8)?;
        let set = Set::of_algorithm(info.algorithm.oid)?;
        let choice = PrivateKeyChoice::from_der(info.private_key.as_bytes())
            .map_err(|_| "private key in none of the three forms of RFC 9881")?;
        Ok(Self {
            format,
            set,
            content: Content::Private(choice.form(), Zeroizing::new(der.to_vec())),
        })
    }

    fn public(format: Format, der: &[u8]) -> Result<Self, &'static str> {
        let malformed = "malformed SubjectPublicKeyInfo";
        let info = SubjectPublicKeyInfoRef::from_der(der).map_err(|_| malformed)?;
        let set = Set::of_algorithm(info.algorithm.oid)?;
        let key = with_set!(set, P => VerifyingKey::<P>::try_from(info)
            .map(|key| key.as_bytes().to_vec()))
        .map_err(|_| malformed)?;
        Ok(Self {
            format,
            set,
            content: Content::Public(key),
        })
    }

    /// The private key, with every check.
    pub(crate) fn signing_key<P: ParameterSet>(&self) -> Result<SigningKey<P>, &'static str> {
        let Content::Private(form, bytes) = &self.content else {
            return Err("a public key, where a private one is needed");
        };
        let checked = match self.format {
            Format::Pem | Format::Der => {
                let info = PrivateKeyInfoRef::try_from(&bytes[..]).map_err(|_| NOT_PKCS8)?;
                return match choice_error::<P>(&info) {
                    Some(why) => Err(why),
                    None => SigningKey::try_from(info)
                        .map_err(|_| "algorithm parameters or an enclosed public key do not fit"),
                };
            }
            Format::Raw | Format::Hex => match form {
                PrivateKeyForm::Seed => PrivateKeyChoice::Seed(bytes),
                _ => PrivateKeyChoice::Expanded(bytes),
            },
        };
        checked.signing_key().map_err(explain)
    }

    /// The public key, computed from the private one if need be.
    pub(crate) fn verifying_key<P: ParameterSet>(&self) -> Result<VerifyingKey<P>, &'static str> {
        match &self.content {
            Content::Public(bytes) => VerifyingKey::from_bytes(bytes).map_err(explain),
            Content::Private(..) => Ok(self.signing_key()?.verifying_key().clone()),
        }
    }
}

const NOT_PKCS8: &str = "malformed PKCS#8";

/// What is wrong with the key itself, in more detail than the trait's error.
fn choice_error<P: ParameterSet>(info: &PrivateKeyInfoRef<'_>) -> Option<&'static str> {
    let choice = PrivateKeyChoice::from_der(info.private_key.as_bytes()).ok()?;
    choice.signing_key::<P>().err().map(explain)
}

fn explain(error: KeyError) -> &'static str {
    match error {
        KeyError::Length => "wrong length of a key part",
        KeyError::SecretRange => "a secret coefficient is out of range",
        _ => "the parts of the private key do not belong together",
    }
}

impl Set {
    fn of_algorithm(found: mldsa_core::pkcs8::ObjectIdentifier) -> Result<Self, &'static str> {
        SETS.into_iter()
            .find(|&set| with_set!(set, P => object_identifier::<P>()) == found)
            .ok_or("not an ML-DSA key")
    }
}

/// A private key in the chosen format and form.
pub(crate) fn encode_private<P: ParameterSet>(
    key: &SigningKey<P>,
    format: Format,
    form: PrivateKeyForm,
) -> Result<Zeroizing<Vec<u8>>, &'static str> {
    let unknown = "the seed of this key is not known";
    Ok(match format {
        Format::Pem => Zeroizing::new(
            key.to_pkcs8_pem_as(form, LineEnding::LF)
                .map_err(|_| unknown)?
                .as_bytes()
                .to_vec(),
        ),
        Format::Der => key.to_pkcs8_der_as(form).map_err(|_| unknown)?.to_bytes(),
        Format::Raw | Format::Hex => {
            let bytes: &[u8] = match form {
                PrivateKeyForm::Seed => key.seed().ok_or(unknown)?,
                PrivateKeyForm::Expanded => key.expanded().as_ref(),
                PrivateKeyForm::Both => return Err("seed and expanded key need PEM or DER"),
            };
            encode_bytes(bytes, format == Format::Hex)
        }
    })
}

/// A public key in the chosen format.
pub(crate) fn encode_public<P: ParameterSet>(
    key: &VerifyingKey<P>,
    format: Format,
) -> Result<Zeroizing<Vec<u8>>, &'static str> {
    let failed = "the key cannot be encoded";
    Ok(match format {
        Format::Pem => {
            let text = key.to_public_key_pem(LineEnding::LF).map_err(|_| failed)?;
            Zeroizing::new(text.into_bytes())
        }
        Format::Der => Zeroizing::new(key.to_public_key_der().map_err(|_| failed)?.into_vec()),
        Format::Raw | Format::Hex => encode_bytes(key.as_ref(), format == Format::Hex),
    })
}

/// Bytes as they are, or in hex with an end of line.
pub(crate) fn encode_bytes(bytes: &[u8], hex: bool) -> Zeroizing<Vec<u8>> {
    if !hex {
        return Zeroizing::new(bytes.to_vec());
    }
    let mut text = Zeroizing::new(vec![b'\n'; 2 * bytes.len() + 1]);
    // The buffer has the length of the text.
    let _ = base16ct::lower::encode(bytes, &mut text);
    text
}
