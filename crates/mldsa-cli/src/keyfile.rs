//! Keys in files: PEM, DER, raw or hex, told apart by what the file holds.

use core::iter::once;
use std::io;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use mldsa_core::pkcs8::der::asn1::AnyRef;
use mldsa_core::pkcs8::der::{Decode, SliceReader, Tag, Tagged, pem};
use mldsa_core::pkcs8::{EncodePublicKey, LineEnding, ObjectIdentifier, PrivateKeyInfoRef};
use mldsa_core::spki::SubjectPublicKeyInfoRef;
use mldsa_core::{
    KeyError, MlDsa44, MlDsa65, MlDsa87, ParameterSet, PrivateKeyChoice, PrivateKeyForm,
    SigningKey, VerifyingKey,
};
use zeroize::Zeroizing;

use crate::certificate::{Certificate, Claims};
use crate::encrypted::{PasswordArgs, WRONG_PASSWORD, decrypt};
use crate::input::{read_small, unusable};
use crate::jsonl::without_mark;
use crate::output;
use crate::request::{Set, with_set};
use crate::structure::{NOT_SPKI, SEED_LEN, SETS, decode_public, is_der, outer};
use crate::suspect::is_suspect;

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

impl Format {
    /// What a public key in this format is.
    pub(crate) fn content(self) -> output::Content {
        match self {
            Self::Pem | Self::Hex => output::Content::Text,
            Self::Der | Self::Raw => output::Content::Binary,
        }
    }
}

/// A parameter set, as an argument.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum SetArg {
    /// ML-DSA-44, category 2
    #[value(name = "44", alias = MlDsa44::NAME)]
    MlDsa44,
    /// ML-DSA-65, category 3
    #[value(name = "65", alias = MlDsa65::NAME)]
    MlDsa65,
    /// ML-DSA-87, category 5
    #[value(name = "87", alias = MlDsa87::NAME)]
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

/// The key of a command over files.
#[derive(clap::Args)]
pub(crate) struct KeyArgs {
    /// The key: PEM, DER, raw or hex; - is standard input. Signing needs a private
    /// one, for everything else the public one or a certificate of it is enough
    #[arg(long = "key", short = 'k', value_name = "FILE")]
    pub(crate) path: PathBuf,

    #[command(flatten)]
    options: KeyOptions,
}

impl KeyArgs {
    pub(crate) fn read(&self) -> io::Result<KeyFile> {
        KeyFile::read(&self.path, &self.options)
    }

    pub(crate) fn files(&self) -> impl Iterator<Item = &Path> {
        once(&*self.path).chain(self.options.files())
    }
}

/// What a key file may need beside it.
#[derive(clap::Args)]
pub(crate) struct KeyOptions {
    /// Parameter set, needed for a bare seed
    #[arg(long, value_enum, ignore_case = true)]
    set: Option<SetArg>,

    #[command(flatten)]
    password: PasswordArgs,
}

impl KeyOptions {
    pub(crate) fn files(&self) -> impl Iterator<Item = &Path> {
        self.password.file().into_iter()
    }
}

/// A key as found in a file, structure known, contents unchecked.
pub(crate) struct KeyFile {
    pub(crate) format: Format,
    pub(crate) set: Set,
    pub(crate) content: Content,
    /// What the certificate says that the key is from.
    pub(crate) claims: Option<Claims>,
}

pub(crate) enum Content {
    /// An encoded public key.
    Public(Vec<u8>),
    /// A private key in one of its forms.
    Private(PrivateKeyForm, Zeroizing<Vec<u8>>),
}

/// The bytes of a text that is all hexadecimal digits, white space aside: `xxd -p`
/// breaks its lines.
pub(crate) fn from_hex(text: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    // Of full length at once: one that grew would leave copies behind.
    let mut digits = Zeroizing::new(Vec::with_capacity(text.len()));
    digits.extend(text.iter().filter(|byte| !byte.is_ascii_whitespace()));
    if digits.is_empty() {
        return None;
    }
    let mut bytes = Zeroizing::new(vec![0; digits.len() / 2]);
    base16ct::mixed::decode(&*digits, &mut bytes).ok()?;
    Some(bytes)
}

/// Whether there is nothing but hexadecimal digits, white space aside. Less than 2^-100
/// of all seeds look so; half of one in digits, a key of 128 bits, always.
fn is_digits(text: &[u8]) -> bool {
    let mut digits = text.iter().filter(|byte| !byte.is_ascii_whitespace());
    let first = digits.next();
    first.is_some_and(u8::is_ascii_hexdigit) && digits.all(u8::is_ascii_hexdigit)
}

/// The `N` bytes that a file holds, raw or in digits. Digits are never raw bytes.
pub(crate) fn exactly<const N: usize>(
    path: &Path,
    bytes: &[u8],
    what: &str,
) -> io::Result<Zeroizing<[u8; N]>> {
    let text = without_mark(bytes);
    let decoded = if is_digits(text) {
        from_hex(text).unwrap_or_default()
    } else {
        Zeroizing::new(bytes.to_vec())
    };
    let mut array = Zeroizing::new([0; N]);
    if decoded.len() != N {
        let why = format!("not {N} bytes of {what}, nor {} hexadecimal digits", 2 * N);
        return Err(unusable(path, why));
    }
    array.copy_from_slice(&decoded);
    Ok(array)
}

impl KeyFile {
    /// Reads a key file; the set is needed for a bare seed and otherwise must
    /// agree with the file.
    pub(crate) fn read(path: &Path, options: &KeyOptions) -> io::Result<Self> {
        let bytes = read_small(path)?;
        let set = options.set.map(Set::from);
        let password = options.password.read()?;
        let password = password.as_ref().map(|password| &password[..]);
        let key = Self::parse(&bytes, set, password).map_err(|why| unusable(path, why))?;
        match set {
            Some(set) if set != key.set => Err(unusable(
                path,
                format_args!("a key of {}, not of {}", key.set.name(), set.name()),
            )),
            _ => Ok(key),
        }
    }

    fn parse(
        bytes: &[u8],
        set: Option<Set>,
        password: Option<&[u8]>,
    ) -> Result<Self, &'static str> {
        let text = without_mark(bytes);
        if text.trim_ascii_start().starts_with(b"-----BEGIN") {
            return Self::pem(text, password);
        }
        // Before any guess from a length: a private key is never to be taken for
        // the bytes of a public one.
        // No key in DER is as short as a seed.
        if bytes.len() != SEED_LEN && is_der(bytes) {
            let kind = Kind::of_der(bytes).ok_or(NO_KEY)?;
            return Self::structured(Format::Der, kind, bytes, password).map_err(|why| match why {
                NOT_PKCS8 | NOT_SPKI => NO_KEY,
                why => why,
            });
        }
        // What explains a PEM may stand before it; DER may have the like inside.
        if memchr::memmem::find(text, b"\n-----BEGIN").is_some() {
            return Self::pem(text, password);
        }
        if is_digits(text) {
            let bytes = from_hex(text).unwrap_or_default();
            return Self::bare(Format::Hex, &bytes, set)?.ok_or(
                "hexadecimal digits, but as many as no key has: 64 for a seed, 2624, 3904 \
                 or 5184 for a public key, 5120, 8064 or 9792 for an expanded one",
            );
        }
        Self::bare(Format::Raw, bytes, set)?.ok_or(match Set::of_signature_len(bytes.len()) {
            Some(_) => "as long as a signature, and not a key in PEM, DER, raw or hex",
            None => "not a key in PEM, DER, raw or hex",
        })
    }

    fn pem(text: &[u8], password: Option<&[u8]>) -> Result<Self, &'static str> {
        if memchr::memmem::find_iter(text, b"-----BEGIN")
            .nth(1)
            .is_some()
        {
            return Err(
                "more than one key or certificate: which one is not guessed, \
                 leave the one that is meant",
            );
        }
        // Decoded where it is wiped, also when it is malformed.
        let mut buffer = Zeroizing::new(vec![0; text.len()]);
        let label = pem::decode_label(text).map_err(|_| "malformed PEM")?;
        let kind = match label {
            "PRIVATE KEY" => Kind::Private,
            "PUBLIC KEY" => Kind::Public,
            "ENCRYPTED PRIVATE KEY" => Kind::Encrypted,
            "CERTIFICATE" | "X509 CERTIFICATE" => Kind::Certificate,
            "TRUSTED CERTIFICATE" => {
                return Err("a certificate with settings of OpenSSL behind it: \
                     `openssl x509 -in CERTIFICATE -noout -pubkey` writes its public key");
            }
            _ => return Err("PEM of something else than PRIVATE KEY, PUBLIC KEY or CERTIFICATE"),
        };
        let (_, der) = pem::decode(text, &mut buffer).map_err(|_| "malformed PEM")?;
        Self::structured(Format::Pem, kind, der, password)
    }

    fn structured(
        format: Format,
        kind: Kind,
        der: &[u8],
        password: Option<&[u8]>,
    ) -> Result<Self, &'static str> {
        match kind {
            Kind::Private => Self::private(format, der),
            Kind::Public => {
                let info = SubjectPublicKeyInfoRef::from_der(der).map_err(|_| NOT_SPKI)?;
                let (set, key) = decode_public(info)?;
                Ok(Self::public(format, set, key, None))
            }
            Kind::Certificate => {
                let Certificate { set, key, claims } = Certificate::from_der(der)?;
                Ok(Self::public(format, set, key, Some(claims)))
            }
            Kind::Encrypted => {
                Self::private(format, &decrypt(der, password)?).map_err(|why| match why {
                    NOT_PKCS8 => WRONG_PASSWORD,
                    why => why,
                })
            }
        }
    }

    /// A key without structure around it, recognised by its length.
    fn bare(format: Format, bytes: &[u8], set: Option<Set>) -> Result<Option<Self>, &'static str> {
        if bytes.len() == SEED_LEN {
            let set = set.ok_or("a bare seed does not tell its set: use --set")?;
            return Ok(Some(Self::secret(format, set, PrivateKeyForm::Seed, bytes)));
        }
        for set in SETS {
            let (pk_len, sk_len) = with_set!(set, P => (P::PK_LEN, P::SK_LEN));
            if bytes.len() == sk_len {
                return Ok(Some(Self::secret(
                    format,
                    set,
                    PrivateKeyForm::Expanded,
                    bytes,
                )));
            }
            if bytes.len() != pk_len {
                continue;
            }
            if is_suspect(bytes) {
                // Before it is copied to where nothing wipes it.
                return Err(
                    "as long as a raw public key, but it may hold a private one and is \
                     not used: give a public key as PEM or DER, a seed (with --set) or an \
                     expanded key with nothing before or behind it",
                );
            }
            return Ok(Some(Self::public(format, set, bytes.to_vec(), None)));
        }
        Ok(None)
    }

    fn private(format: Format, der: &[u8]) -> Result<Self, &'static str> {
        let info = PrivateKeyInfoRef::try_from(der).map_err(|_| NOT_PKCS8)?;
        let set = Set::of_algorithm(info.algorithm.oid)?;
        let choice = PrivateKeyChoice::from_der(info.private_key.as_bytes())
            .map_err(|_| "private key in none of the three forms of RFC 9881")?;
        Ok(Self::secret(format, set, choice.form(), der))
    }

    fn secret(format: Format, set: Set, form: PrivateKeyForm, bytes: &[u8]) -> Self {
        Self {
            format,
            set,
            content: Content::Private(form, Zeroizing::new(bytes.to_vec())),
            claims: None,
        }
    }

    fn public(format: Format, set: Set, key: Vec<u8>, claims: Option<Claims>) -> Self {
        Self {
            format,
            set,
            content: Content::Public(key),
            claims,
        }
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
const NO_KEY: &str = "DER, but of no key that can be used";

/// What a structure is, before it is read.
#[derive(Clone, Copy)]
enum Kind {
    /// PKCS#8.
    Private,
    /// SubjectPublicKeyInfo.
    Public,
    /// PKCS#8's EncryptedPrivateKeyInfo.
    Encrypted,
    /// X.509.
    Certificate,
}

impl Kind {
    /// What the beginning of a SEQUENCE looks like.
    fn of_der(der: &[u8]) -> Option<Self> {
        const PKCS5: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.5");
        const PKCS12: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.12");
        let mut inside = SliceReader::new(outer(der)?.value()).ok()?;
        let first = AnyRef::decode(&mut inside).ok()?;
        match first.tag() {
            // A version.
            Tag::Integer => return Some(Self::Private),
            Tag::Sequence => {}
            _ => return None,
        }
        let mut inside = SliceReader::new(first.value()).ok()?;
        let first = AnyRef::decode(&mut inside).ok()?;
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
}

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
