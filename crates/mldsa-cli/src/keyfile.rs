//! Keys in files: PEM, DER, raw or hex, told apart by what the file holds.

use std::io;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use mldsa_core::pkcs8::der::asn1::AnyRef;
use mldsa_core::pkcs8::der::{Decode, Reader as _, SliceReader, Tag, Tagged, pem};
use mldsa_core::pkcs8::{EncodePublicKey, LineEnding, ObjectIdentifier, PrivateKeyInfoRef};
use mldsa_core::spki::SubjectPublicKeyInfoRef;
use mldsa_core::{
    KeyError, ParameterSet, PrivateKeyChoice, PrivateKeyForm, SigningKey, VerifyingKey,
    object_identifier,
};
use zeroize::Zeroizing;

use crate::input::{read_small, unusable};
use crate::output;
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

/// The key of a command over files.
#[derive(clap::Args)]
pub(crate) struct KeyArgs {
    /// The key: PEM, DER, raw or hex; - is standard input. Signing needs a private
    /// one, for everything else the public one is enough
    #[arg(long = "key", short = 'k', value_name = "FILE")]
    pub(crate) path: PathBuf,

    #[command(flatten)]
    pub(crate) set: SetOption,
}

impl KeyArgs {
    pub(crate) fn read(&self) -> io::Result<KeyFile> {
        KeyFile::read(&self.path, self.set.set)
    }
}

#[derive(clap::Args)]
pub(crate) struct SetOption {
    /// Parameter set, needed for a bare seed
    #[arg(long, value_enum)]
    pub(crate) set: Option<SetArg>,
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

/// Whether there is nothing but hexadecimal digits, white space at the end aside. Less
/// than 2^-110 of all seeds look so; half of one in digits, a key of 128 bits, always.
fn is_digits(text: &[u8]) -> bool {
    let text = text.trim_ascii_end();
    !text.is_empty() && text.iter().all(u8::is_ascii_hexdigit)
}

/// The `N` bytes that a file holds, raw or in digits. Digits are never raw bytes.
pub(crate) fn exactly<const N: usize>(
    path: &Path,
    bytes: &[u8],
    what: &str,
) -> io::Result<Zeroizing<[u8; N]>> {
    let decoded = if is_digits(bytes) {
        from_hex(bytes).unwrap_or_default()
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
        // Some editors put a byte order mark before text.
        let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        if text.trim_ascii_start().starts_with(b"-----BEGIN") {
            return Self::pem(text);
        }
        // Before any guess from a length: a private key is never to be taken for
        // the bytes of a public one.
        // No key in DER is as short as a seed.
        if bytes.len() != SEED_LEN && is_der(bytes) {
            return Self::der(bytes);
        }
        if is_digits(text) {
            let bytes = from_hex(text).unwrap_or_default();
            return Self::bare(Format::Hex, &bytes, set)?.ok_or(
                "hexadecimal digits, but as many as no key has: 64 for a seed, 2624, 3904 \
                 or 5184 for a public key, 5120, 8064 or 9792 for an expanded one",
            );
        }
        Self::bare(Format::Raw, bytes, set)?.ok_or("not a key in PEM, DER, raw or hex")
    }

    fn pem(text: &[u8]) -> Result<Self, &'static str> {
        // Decoded where it is wiped, also when it is malformed.
        let mut buffer = Zeroizing::new(vec![0; text.len()]);
        let label = pem::decode_label(text).map_err(|_| "malformed PEM")?;
        match label {
            "PRIVATE KEY" | "PUBLIC KEY" => {}
            "ENCRYPTED PRIVATE KEY" => return Err(ENCRYPTED),
            "CERTIFICATE" | "X509 CERTIFICATE" | "TRUSTED CERTIFICATE" => return Err(CERTIFICATE),
            _ => return Err("PEM of something else than PRIVATE KEY or PUBLIC KEY"),
        }
        let (_, der) = pem::decode(text, &mut buffer).map_err(|_| "malformed PEM")?;
        if label == "PRIVATE KEY" {
            Self::private(Format::Pem, der)
        } else {
            Self::public(Format::Pem, der)
        }
    }

    fn der(bytes: &[u8]) -> Result<Self, &'static str> {
        Self::private(Format::Der, bytes)
            .or_else(|why| match why {
                NOT_PKCS8 => Self::public(Format::Der, bytes),
                why => Err(why),
            })
            .map_err(|why| match why {
                NOT_SPKI => foreign(bytes).unwrap_or("DER, but of no key that can be used"),
                why => why,
            })
    }

    /// A key without structure around it, recognised by its length.
    fn bare(format: Format, bytes: &[u8], set: Option<Set>) -> Result<Option<Self>, &'static str> {
        if bytes.len() == SEED_LEN {
            let set = set.ok_or("a bare seed does not tell its set: use --set")?;
            let content = Content::Private(PrivateKeyForm::Seed, Zeroizing::new(bytes.to_vec()));
            return Ok(Some(Self {
                format,
                set,
                content,
            }));
        }
        for set in SETS {
            let (_, pk_len, sk_len) = sizes(set);
            let content = if bytes.len() == sk_len {
                Content::Private(PrivateKeyForm::Expanded, Zeroizing::new(bytes.to_vec()))
            } else if bytes.len() != pk_len {
                continue;
            } else if is_suspect(bytes) {
                // Before it is copied to where nothing wipes it.
                return Err(
                    "as long as a raw public key, but it may hold a private one and is \
                     not used: give a public key as PEM or DER, a seed (with --set) or an \
                     expanded key with nothing before or behind it",
                );
            } else {
                Content::Public(bytes.to_vec())
            };
            return Ok(Some(Self {
                format,
                set,
                content,
            }));
        }
        Ok(None)
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
        let info = SubjectPublicKeyInfoRef::from_der(der).map_err(|_| NOT_SPKI)?;
        let set = Set::of_algorithm(info.algorithm.oid)?;
        let key = with_set!(set, P => VerifyingKey::<P>::try_from(info)
            .map(|key| key.as_bytes().to_vec()))
        .map_err(|_| NOT_SPKI)?;
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

const SEED_LEN: usize = 32;

const NOT_PKCS8: &str = "malformed PKCS#8";
const NOT_SPKI: &str = "malformed SubjectPublicKeyInfo";
const CERTIFICATE: &str = "a certificate, not a key: \
    `openssl x509 -in CERTIFICATE -noout -pubkey` writes its public key";
const ENCRYPTED: &str = "an encrypted private key: \
    `openssl pkcs8 -in ENCRYPTED -out KEY` decrypts it";

/// Whether the header of a SEQUENCE fits the length of the whole.
fn is_der(bytes: &[u8]) -> bool {
    outer(bytes).is_some_and(|content| content.tag() == Tag::Sequence)
}

/// The one DER value that `bytes` are.
fn outer(bytes: &[u8]) -> Option<AnyRef<'_>> {
    AnyRef::from_der(bytes).ok()
}

/// What no encoded public key has inside by chance: DER of a key, text, small
/// coefficients. Public keys are as good as random; of 2592 bytes, what is refused for
/// each reason stands below. The whole as DER, 2^-32, is the most of it, and PEM is
/// there for that one.
fn is_suspect(bytes: &[u8]) -> bool {
    // joint-iso-itu-t(2) country(16) us(840) organization(1) gov(101) csor(3)
    // nistAlgorithm(4) sigAlgs(3), with its header: 2^-80 at each place.
    const SIGNATURE_ALGORITHMS: &[u8] = b"\x06\x09\x60\x86\x48\x01\x65\x03\x04\x03";
    is_der(bytes)
        || begins_like_a_key(bytes)
        || memchr::memmem::find(bytes, SIGNATURE_ALGORITHMS).is_some()
        || has_text(bytes)
        || has_small_coefficients(bytes)
}

/// PKCS#8, PKCS#1, SEC 1, EncryptedPrivateKeyInfo or the two parts of RFC 9881 in a
/// SEQUENCE, whatever comes behind it. Four given bytes and more, and a length that fits
/// to the byte: less than 2^-37.
fn begins_like_a_key(bytes: &[u8]) -> bool {
    let parse = || {
        let outer = AnyRef::decode(&mut SliceReader::new(bytes).ok()?).ok()?;
        let mut inside = SliceReader::new(outer.value()).ok()?;
        let first = AnyRef::decode(&mut inside).ok()?;
        let second = AnyRef::decode(&mut inside).ok()?.tag();
        // Everything else in there is DER too.
        while !inside.is_finished() {
            AnyRef::decode(&mut inside).ok()?;
        }
        let fits = match first.tag() {
            Tag::Integer => {
                matches!(first.value(), [0 | 1])
                    && matches!(second, Tag::Sequence | Tag::Integer | Tag::OctetString)
            }
            Tag::Sequence => first.value().first() == Some(&6) && second == Tag::OctetString,
            Tag::OctetString => first.value().len() == SEED_LEN && second == Tag::OctetString,
            _ => false,
        };
        Some(outer.tag() == Tag::Sequence && fits)
    };
    parse().unwrap_or(false)
}

/// 48 characters of ASCII in a row, zero bytes aside, as UTF-16 has them: a PEM line, a
/// seed in digits. (99/256)^48 at each place, 2^-54 in all.
fn has_text(bytes: &[u8]) -> bool {
    let mut run = 0u32;
    bytes.iter().fold(false, |found, &byte| {
        let character = matches!(byte, b' '..=b'~' | b'\t' | b'\n' | b'\r');
        run = (run + u32::from(character)) * u32::from(character || byte == 0);
        found | (run >= 48)
    })
}

/// A polynomial of s1 or s2, at whatever byte it begins: 256 coefficients in a row that
/// are in range, (5/8)^256 = 2^-173 at each place for eta = 2, (9/16)^256 = 2^-212 for
/// eta = 4. The bytes may be secret: nothing is looked up and nothing ends early.
fn has_small_coefficients(bytes: &[u8]) -> bool {
    let longest = |in_range: &mut dyn Iterator<Item = bool>| {
        let mut run = 0u32;
        in_range.fold(0, |longest, good| {
            run = (run + 1) * u32::from(good);
            longest.max(run)
        })
    };
    // Three bits are too many from 5 on, four from 9 on.
    let three = |bits: u32| bits >> 2 & (bits >> 1 | bits) & 0o1111_1111 == 0;
    let four = |bits: u8| bits >> 3 & (bits >> 2 | bits >> 1 | bits) & 0x11 == 0;
    let eta_2 = (0..3.min(bytes.len())).any(|begin| {
        let (groups, _) = bytes[begin..].as_chunks();
        longest(
            &mut groups
                .iter()
                .map(|&[a, b, c]| three(u32::from_le_bytes([a, b, c, 0]))),
        ) >= 32
    });
    eta_2 | (longest(&mut bytes.iter().map(|&byte| four(byte))) >= 128)
}

/// What a SEQUENCE that is no key of ours is, if it is something usual.
fn foreign(der: &[u8]) -> Option<&'static str> {
    // EncryptedPrivateKeyInfo begins with an algorithm of PKCS #5 or PKCS #12, a
    // certificate with the version of its inner SEQUENCE, and that with [0].
    const PKCS5: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.5");
    const PKCS12: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.12");
    let mut inside = SliceReader::new(outer(der)?.value()).ok()?;
    let first = AnyRef::decode(&mut inside).ok()?;
    if first.tag() != Tag::Sequence {
        return None;
    }
    let mut inside = SliceReader::new(first.value()).ok()?;
    let first = AnyRef::decode(&mut inside).ok()?;
    match first.tag() {
        Tag::ObjectIdentifier => {
            let oid = first.decode_as::<ObjectIdentifier>().ok()?;
            [PKCS5, PKCS12]
                .iter()
                .any(|arc| oid.starts_with(*arc))
                .then_some(ENCRYPTED)
        }
        Tag::ContextSpecific { .. } => Some(CERTIFICATE),
        _ => None,
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

impl Set {
    pub(crate) fn of_signature_len(len: usize) -> Option<Self> {
        SETS.into_iter()
            .find(|&set| with_set!(set, P => P::SIG_LEN) == len)
    }

    fn of_algorithm(found: ObjectIdentifier) -> Result<Self, &'static str> {
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

#[cfg(test)]
mod tests {
    use sha3::digest::{ExtendableOutput, Update, XofReader};

    use super::*;

    /// 3000 of each length that are as random as public keys, and the bounds of what
    /// is refused.
    #[test]
    fn random_bytes_are_no_suspect() {
        let mut hash = sha3::Shake128::default();
        hash.update(b"random_bytes_are_no_suspect");
        let mut random = hash.finalize_xof();
        for set in SETS {
            let mut bytes = vec![0; sizes(set).1];
            for _ in 0..3000 {
                random.read(&mut bytes);
                assert!(!is_suspect(&bytes));
            }
            let len = bytes.len();
            for (content, least) in [(b'\n', 48), (0x11, 128), (0x92, 96)] {
                for at in [0, 1, 2, 500, len - least] {
                    let mut changed = bytes.clone();
                    changed[at..at + least].fill(content);
                    if content == 0x92 {
                        // 2, 2, 2, .. in groups of three bytes.
                        let group = [0x92, 0x24, 0x49].iter().cycle();
                        changed[at..at + least]
                            .iter_mut()
                            .zip(group)
                            .for_each(|(to, from)| *to = *from);
                    }
                    assert!(is_suspect(&changed), "{content} at {at} of {len}");
                }
            }
        }
    }
}
