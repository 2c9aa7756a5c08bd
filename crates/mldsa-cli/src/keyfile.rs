//! Keys in files: PEM, DER, raw or hex, detected by the content.

use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};

use base64ct::{Base64, Base64Unpadded, Base64Url, Base64UrlUnpadded, Encoding};
use mldsa_core::internals::{PrivateKeyChoice, decode_pem, is_joined_private_key};
use mldsa_core::pkcs8::der::Decode;
use mldsa_core::pkcs8::{EncodePublicKey, LineEnding, PrivateKeyInfoRef};
use mldsa_core::spki::SubjectPublicKeyInfoRef;
use mldsa_core::{KeyError, ParameterSet, PemError, PrivateKeyForm, SigningKey, VerifyingKey};
use zeroize::Zeroizing;

use crate::backends::chosen;
use crate::certificate::{Certificate, Claims};
use crate::encrypted::{PasswordArgs, WRONG_PASSWORD, decrypt};
use crate::input::{read_small, unusable, without_mark};
use crate::json_request::{Set, with_set};
use crate::key_format::{
    Format, LABELS, NOT_SPKI, SEED_LEN, Structure, decode_public, holds_private_key, is_der,
    label_hint, set_parser,
};
use crate::paths::Files;

/// A key file as an argument or an option of a command.
macro_rules! key_args {
    ($(#[$doc:meta])* $name:ident, $(#[$path:meta])*) => {
        $(#[$doc])*
        #[derive(clap::Args)]
        pub(crate) struct $name {
            $(#[$path])*
            pub(crate) path: PathBuf,

            #[command(flatten)]
            options: KeyOptions,
        }

        impl $name {
            pub(crate) fn read(&self) -> io::Result<KeyFile> {
                KeyFile::read(&self.path, &self.options)
            }

            pub(crate) fn files(&self) -> Files<'_> {
                let files = Files::default().read([&*self.path]);
                files.read(self.options.password.file())
            }
        }
    };
}
key_args!(
    /// The key of a command over files.
    KeyArgs,
    /// The key: PEM, DER, raw, hex or base64; - is standard input. `sign` needs a private key,
    /// `verify` and `mu` also accept a public key or a certificate of one
    #[arg(long = "key", short = 'k', value_name = "FILE")]
);
key_args!(
    /// A key file as the argument of a command.
    KeyFileArgs,
    /// A key, or a certificate of one: PEM, DER, raw, hex or base64; - is standard input
    #[arg(value_name = "KEY")]
);

/// Options that a key file may need.
#[derive(clap::Args)]
struct KeyOptions {
    /// Parameter set, needed for a bare seed
    #[arg(long, value_parser = set_parser(), ignore_case = true)]
    set: Option<Set>,

    #[command(flatten)]
    password: PasswordArgs,
}

/// A key file, its structure checked and its content not yet.
pub(crate) struct KeyFile {
    pub(crate) format: Format,
    pub(crate) set: Set,
    pub(crate) content: Content,
    /// The unverified fields of the certificate that the key is from.
    pub(crate) claims: Option<Claims>,
}

pub(crate) enum Content {
    /// An encoded public key.
    Public(Vec<u8>),
    /// A private key in one of its forms.
    Private(PrivateKeyForm, Zeroizing<Vec<u8>>),
}

/// Decodes a text of hexadecimal digits. White space is ignored: `xxd -p` breaks lines.
pub(crate) fn from_hex(text: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    let digits = without_space(text)?;
    let mut bytes = Zeroizing::new(vec![0; digits.len() / 2]);
    base16ct::mixed::decode(&*digits, &mut bytes).ok()?;
    Some(bytes)
}

/// Decodes a text of base64 in either alphabet of RFC 4648, with or without padding. White space
/// is ignored. Constant time in characters that are valid.
pub(crate) fn from_base64(text: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    let characters = without_space(text)?;
    let mut bytes = Zeroizing::new(vec![0; characters.len()]);
    let decoders = [
        Base64::decode,
        Base64Unpadded::decode,
        Base64Url::decode,
        Base64UrlUnpadded::decode,
    ];
    let mut decoders = decoders.into_iter();
    let len = decoders.find_map(|decode| Some(decode(&characters, &mut bytes).ok()?.len()))?;
    bytes.truncate(len);
    Some(bytes)
}

/// The characters of a text that are not white space; `None` if there are none.
fn without_space(text: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    // Allocated at once: a vector that grows leaves unwiped copies.
    let mut characters = Zeroizing::new(Vec::with_capacity(text.len()));
    characters.extend(text.iter().filter(|byte| !byte.is_ascii_whitespace()));
    (!characters.is_empty()).then_some(characters)
}

/// Whether there are only hexadecimal digits and white space. Fewer than 2^-100 of all raw seeds
/// look like this.
fn is_digits(text: &[u8]) -> bool {
    let mut digits = text.iter().filter(|byte| !byte.is_ascii_whitespace());
    let first = digits.next();
    first.is_some_and(u8::is_ascii_hexdigit) && digits.all(u8::is_ascii_hexdigit)
}

/// The `N` bytes of a file, raw, in hexadecimal digits or in base64. Digits are never raw bytes.
pub(crate) fn exactly<const N: usize>(
    path: &Path,
    bytes: &[u8],
    what: &str,
) -> io::Result<Zeroizing<[u8; N]>> {
    let text = without_mark(bytes);
    let decoded = if is_digits(text) {
        from_hex(text).unwrap_or_default()
    } else if bytes.len() == N {
        Zeroizing::new(bytes.to_vec())
    } else {
        from_base64(text).unwrap_or_default()
    };
    let mut array = Zeroizing::new([0; N]);
    if decoded.len() != N {
        let digits = 2 * N;
        let why = format!("not {N} bytes of {what}, nor {digits} hexadecimal digits, nor base64");
        return Err(unusable(path, why));
    }
    array.copy_from_slice(&decoded);
    Ok(array)
}

/// Reason why a file has no usable key.
type Problem = Cow<'static, str>;

/// The sentence about PEM that was rejected.
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

impl KeyFile {
    /// Reads a key file. A bare seed needs the option for the set; with any other file the option
    /// has to agree.
    fn read(path: &Path, options: &KeyOptions) -> io::Result<Self> {
        let bytes = read_small(path)?;
        let password = options.password.read()?;
        let password = password.as_ref().map(|password| &password[..]);
        let key = Self::parse(&bytes, options.set, password).map_err(|why| unusable(path, why))?;
        match options.set {
            Some(set) if set != key.set => {
                let (found, set) = (key.set.name(), set.name());
                Err(unusable(path, format!("a key of {found}, not of {set}")))
            }
            _ => Ok(key),
        }
    }

    fn parse(bytes: &[u8], set: Option<Set>, password: Option<&[u8]>) -> Result<Self, Problem> {
        let text = without_mark(bytes);
        // Before any guess from the length: a private key is never taken for the bytes of a public
        // one. No key in DER is as short as a seed.
        if bytes.len() != SEED_LEN && is_der(bytes) {
            let structure = Structure::detect(bytes).ok_or(NO_KEY)?;
            let key = Self::structured(Format::Der, structure, bytes, password);
            return Ok(key.map_err(|why| match why {
                NOT_PKCS8 | NOT_SPKI => NO_KEY,
                why => why,
            })?);
        }
        // DER may contain the same characters.
        if memchr::memmem::find(bytes, b"-----BEGIN").is_some() {
            let (label, der) = decode_pem(bytes, LABELS).map_err(explain_pem)?;
            let structure = Structure::from_label(label).ok_or(NO_KEY)?;
            return Ok(Self::structured(Format::Pem, structure, &der, password)?);
        }
        if is_digits(text) {
            let bytes = from_hex(text).unwrap_or_default();
            return Ok(Self::bare(Format::Hex, &bytes, set)?.ok_or(
                "hexadecimal digits, but as many as no key has: 64 for a seed, 2624, 3904 \
                 or 5184 for a public key, 5120, 8064 or 9792 for an expanded one, 5184, 8128 or \
                 9856 for a seed with its expanded key",
            )?);
        }
        if let Some(decoded) = from_base64(text)
            && let Some(key) = Self::bare(Format::Base64, &decoded, set)?
        {
            return Ok(key);
        }
        Ok(Self::bare(Format::Raw, bytes, set)?.ok_or(
            match Set::from_signature_len(bytes.len()) {
                Some(_) => "as long as a signature, and not a key in PEM, DER, raw, hex or base64",
                None => "not a key in PEM, DER, raw, hex or base64",
            },
        )?)
    }

    fn structured(
        format: Format,
        structure: Structure,
        der: &[u8],
        password: Option<&[u8]>,
    ) -> Result<Self, &'static str> {
        match structure {
            Structure::Private => Self::private(format, der),
            Structure::Public => {
                let info = SubjectPublicKeyInfoRef::from_der(der).map_err(|_| NOT_SPKI)?;
                let (set, key) = decode_public(info)?;
                Ok(Self::public(format, set, key, None))
            }
            Structure::Certificate => {
                let Certificate { set, key, claims } = Certificate::from_der(der)?;
                Ok(Self::public(format, set, key, Some(claims)))
            }
            Structure::Encrypted => {
                let key = Self::private(format, &decrypt(der, password)?);
                key.map_err(|why| match why {
                    NOT_PKCS8 => WRONG_PASSWORD,
                    why => why,
                })
            }
        }
    }

    /// A key without a structure around it, recognised by its length.
    fn bare(format: Format, bytes: &[u8], set: Option<Set>) -> Result<Option<Self>, &'static str> {
        if bytes.len() == SEED_LEN {
            let set = set.ok_or("a bare seed does not tell its set: use --set")?;
            return Ok(Some(Self::secret(format, set, PrivateKeyForm::Seed, bytes)));
        }
        for set in Set::ALL {
            let (sk_len, joined) =
                with_set!(set, P => (P::SK_LEN, is_joined_private_key::<P>(bytes)));
            let form = if joined {
                PrivateKeyForm::Both
            } else if bytes.len() == sk_len {
                PrivateKeyForm::Expanded
            } else {
                continue;
            };
            return Ok(Some(Self::secret(format, set, form, bytes)));
        }
        for set in Set::ALL {
            let pk_len = with_set!(set, P => P::PK_LEN);
            // Before the bytes are copied to memory that is not wiped.
            if bytes.len() == pk_len && !holds_private_key(bytes) {
                return Ok(Some(Self::public(format, set, bytes.to_vec(), None)));
            }
            if bytes.len() == pk_len {
                return Err(
                    "as long as a raw public key, but it seems to hold a private one: give a \
                     public key as PEM or DER, a private key without anything around it",
                );
            }
        }
        let joined = |set| bytes.len() == SEED_LEN + with_set!(set, P => P::SK_LEN);
        if Set::ALL.into_iter().any(joined) {
            return Err(
                "as long as a seed and an expanded key, but not one seed and its expanded key",
            );
        }
        Ok(None)
    }

    fn private(format: Format, der: &[u8]) -> Result<Self, &'static str> {
        let info = PrivateKeyInfoRef::try_from(der).map_err(|_| NOT_PKCS8)?;
        let set = Set::from_algorithm(info.algorithm.oid)?;
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
        let choice = match (self.format, form) {
            (Format::Pem | Format::Der, _) => {
                let info = PrivateKeyInfoRef::try_from(&bytes[..]).map_err(|_| NOT_PKCS8)?;
                // The error of the key itself says more than that of the structure.
                if let Ok(choice) = PrivateKeyChoice::from_der(info.private_key.as_bytes()) {
                    choice.signing_key::<P>().map_err(explain)?;
                }
                return SigningKey::try_from(info)
                    .map(|key| key.with_backend(chosen()))
                    .map_err(|_| "algorithm parameters or an enclosed public key do not fit");
            }
            (_, PrivateKeyForm::Seed) => PrivateKeyChoice::Seed(bytes),
            (_, PrivateKeyForm::Expanded) => PrivateKeyChoice::Expanded(bytes),
            (_, PrivateKeyForm::Both) => {
                let (seed, expanded) = bytes.split_at(SEED_LEN);
                PrivateKeyChoice::Both { seed, expanded }
            }
        };
        let key = choice.signing_key().map_err(explain)?;
        Ok(key.with_backend(chosen()))
    }

    /// The public key, computed from a private one if need be.
    pub(crate) fn verifying_key<P: ParameterSet>(&self) -> Result<VerifyingKey<P>, &'static str> {
        match &self.content {
            Content::Public(bytes) => VerifyingKey::from_bytes(bytes)
                .map(|key| key.with_backend(chosen()))
                .map_err(explain),
            Content::Private(..) => Ok(self.signing_key()?.verifying_key().clone()),
        }
    }
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
        Format::Pem => {
            let text = key
                .to_pkcs8_pem_as(form, LineEnding::LF)
                .map_err(|_| unknown)?;
            Zeroizing::new(text.as_bytes().to_vec())
        }
        Format::Der => key.to_pkcs8_der_as(form).map_err(|_| unknown)?.to_bytes(),
        Format::Raw | Format::Hex | Format::Base64 => {
            let bytes: &[u8] = match form {
                PrivateKeyForm::Seed => key.seed().ok_or(unknown)?,
                PrivateKeyForm::Expanded => key.expanded().as_ref(),
                PrivateKeyForm::Both => return Err("seed and expanded key need PEM or DER"),
            };
            encode_bytes(bytes, format)
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
        Format::Raw | Format::Hex | Format::Base64 => encode_bytes(key.as_ref(), format),
    })
}

/// Encodes bytes in a format without a structure: raw, or text with an end of line.
pub(crate) fn encode_bytes(bytes: &[u8], format: Format) -> Zeroizing<Vec<u8>> {
    let len = match format {
        Format::Hex => 2 * bytes.len(),
        Format::Base64 => bytes.len().div_ceil(3) * 4,
        _ => return Zeroizing::new(bytes.to_vec()),
    };
    let mut text = Zeroizing::new(vec![b'\n'; len + 1]);
    // The buffer has the length of the text.
    let _ = match format {
        Format::Hex => base16ct::lower::encode(bytes, &mut text).is_ok(),
        _ => Base64::encode(bytes, &mut text).is_ok(),
    };
    text
}
