//! Private keys as PKCS#8 (RFC 9881 section 6): seed, expanded key or both.
//!
//! Reading accepts all three forms and checks what can be checked: the range of
//! s1 and s2, t0 and `tr`, that a seed expands to the key stored with it, and that an
//! enclosed public key is the right one. Attributes are parsed and not used. Writing prefers the seed.

use ::pkcs8::der::asn1::{AnyRef, BitStringRef, ContextSpecific, ObjectIdentifier, OctetStringRef};
use ::pkcs8::der::{
    self, Decode, DecodeValue, Encode, Header, Length, Reader, SliceReader, Tag, TagMode,
    TagNumber, Tagged, Writer,
};
use ::pkcs8::spki::AlgorithmIdentifierRef;
use ::pkcs8::{Error, PrivateKeyInfoRef, Result, Version};

use crate::error::KeyError;
use crate::formats::spki::{check_set, set_of, spki_error};
use crate::keys::SigningKey;
use crate::memory::ct::{difference, is_zero};
use crate::memory::secret::declassify;
use crate::params::{ParameterSet, SEED_LEN, Set};

/// The three forms of a private key in RFC 9881.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PrivateKeyForm {
    /// `seed [0] OCTET STRING (SIZE (32))`: 54 bytes of PKCS#8 for every set.
    Seed,
    /// `expandedKey OCTET STRING`.
    Expanded,
    /// `both SEQUENCE { seed, expandedKey }`.
    Both,
}

/// The content of the `privateKey` field: the CHOICE of RFC 9881, parsed but not
/// checked. Secret; borrowed from the caller's buffer.
#[derive(Clone, Copy)]
pub enum PrivateKeyChoice<'a> {
    /// `seed`.
    Seed(&'a [u8]),
    /// `expandedKey`.
    Expanded(&'a [u8]),
    /// `both`.
    Both {
        /// `seed`.
        seed: &'a [u8],
        /// `expandedKey`.
        expanded: &'a [u8],
    },
}

const SEED_TAG: TagNumber = TagNumber(0);

impl<'a> PrivateKeyChoice<'a> {
    /// Returns which form this is.
    #[must_use]
    pub fn form(&self) -> PrivateKeyForm {
        match self {
            Self::Seed(_) => PrivateKeyForm::Seed,
            Self::Expanded(_) => PrivateKeyForm::Expanded,
            Self::Both { .. } => PrivateKeyForm::Both,
        }
    }

    /// Imports the key with every check of [`SigningKey::from_expanded_bytes`]; a seed
    /// that does not expand to the key stored with it is an error.
    ///
    /// # Errors
    /// As [`SigningKey::from_expanded_bytes`].
    #[cfg(feature = "unstable-internals")]
    pub fn signing_key<P: ParameterSet>(&self) -> core::result::Result<SigningKey<P>, KeyError> {
        let mut key = SigningKey::empty();
        self.fill(&mut key)?;
        Ok(key)
    }

    /// Imports as [`Self::signing_key`] does, into an empty key.
    fn fill<P: ParameterSet>(&self, key: &mut SigningKey<P>) -> core::result::Result<(), KeyError> {
        match self {
            Self::Seed(seed) | Self::Both { seed, .. } => key.set_seed(sized(seed)?),
            Self::Expanded(expanded) => key.import(expanded)?,
        }
        self.check(key)
    }

    /// Compares a key that was made of the seed with the expanded key beside the seed.
    fn check<P: ParameterSet>(&self, key: &SigningKey<P>) -> core::result::Result<(), KeyError> {
        let Self::Both { expanded, .. } = self else {
            return Ok(());
        };
        if expanded.len() != P::SK_LEN {
            return Err(KeyError::Length);
        }
        let differing = difference(key.expanded().as_ref(), expanded);
        if declassify(is_zero(differing), "verdict of a key import") {
            Ok(())
        } else {
            Err(KeyError::Inconsistent)
        }
    }

    /// Chooses the parts of a form; `None` if it needs a seed that the key does not have.
    #[cfg(feature = "alloc")]
    fn of<P: ParameterSet>(key: &'a SigningKey<P>, form: PrivateKeyForm) -> Option<Self> {
        let expanded = key.expanded().as_ref();
        Some(match form {
            PrivateKeyForm::Seed => Self::Seed(key.seed()?),
            PrivateKeyForm::Expanded => Self::Expanded(expanded),
            PrivateKeyForm::Both => Self::Both {
                seed: key.seed()?,
                expanded,
            },
        })
    }
}

fn sized(seed: &[u8]) -> core::result::Result<&[u8; SEED_LEN], KeyError> {
    seed.try_into().map_err(|_| KeyError::Length)
}

impl<'a> Decode<'a> for PrivateKeyChoice<'a> {
    type Error = der::Error;

    fn decode<R: Reader<'a>>(reader: &mut R) -> der::Result<Self> {
        match Tag::peek(reader)? {
            Tag::OctetString => Ok(Self::Expanded(octets(reader)?)),
            Tag::Sequence => reader.sequence(|reader| {
                Ok(Self::Both {
                    seed: octets(reader)?,
                    expanded: octets(reader)?,
                })
            }),
            tag => match ContextSpecific::<&OctetStringRef>::decode_implicit(reader, SEED_TAG)? {
                Some(seed) => Ok(Self::Seed(seed.value.as_bytes())),
                None => Err(reader.error(der::ErrorKind::TagUnexpected {
                    expected: None,
                    actual: tag,
                })),
            },
        }
    }
}

fn octets<'a, R: Reader<'a>>(reader: &mut R) -> der::Result<&'a [u8]> {
    Ok(<&OctetStringRef>::decode(reader)?.as_bytes())
}

impl Encode for PrivateKeyChoice<'_> {
    fn encoded_len(&self) -> der::Result<Length> {
        match self {
            Self::Seed(seed) => tagged(seed)?.encoded_len(),
            Self::Expanded(expanded) => OctetStringRef::new(expanded)?.encoded_len(),
            Self::Both { seed, expanded } => both_len(seed, expanded)?.for_tlv(Tag::Sequence),
        }
    }

    fn encode(&self, writer: &mut impl Writer) -> der::Result<()> {
        match self {
            Self::Seed(seed) => tagged(seed)?.encode(writer),
            Self::Expanded(expanded) => OctetStringRef::new(expanded)?.encode(writer),
            Self::Both { seed, expanded } => {
                Header::new(Tag::Sequence, both_len(seed, expanded)?).encode(writer)?;
                OctetStringRef::new(seed)?.encode(writer)?;
                OctetStringRef::new(expanded)?.encode(writer)
            }
        }
    }
}

fn tagged(seed: &[u8]) -> der::Result<ContextSpecific<&OctetStringRef>> {
    Ok(ContextSpecific {
        tag_number: SEED_TAG,
        tag_mode: TagMode::Implicit,
        value: OctetStringRef::new(seed)?,
    })
}

fn both_len(seed: &[u8], expanded: &[u8]) -> der::Result<Length> {
    OctetStringRef::new(seed)?.encoded_len()? + OctetStringRef::new(expanded)?.encoded_len()?
}

impl core::fmt::Debug for PrivateKeyChoice<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "PrivateKeyChoice({:?}, ..)", self.form())
    }
}

impl<P: ParameterSet> TryFrom<PrivateKeyInfoRef<'_>> for SigningKey<P> {
    type Error = Error;

    /// # Errors
    /// [`Error::PublicKey`] for another algorithm or for parameters (NULL too),
    /// [`Error::Asn1`] for another structure, [`Error::KeyMalformed`] for every
    /// [`KeyError`] and for a public key of another private key.
    fn try_from(info: PrivateKeyInfoRef<'_>) -> Result<Self> {
        let parts = PrivateParts::of(&info);
        (parts.and_then(|parts| parts.signing_key::<P>()))
            .map_err(|error| pkcs8_error(error, &info))
    }
}

/// Returns the error of the `pkcs8` crate for a key that is rejected.
fn pkcs8_error(error: KeyError, info: &PrivateKeyInfoRef<'_>) -> Error {
    match error {
        KeyError::UnknownSet | KeyError::OtherSet | KeyError::AlgorithmParameters => {
            Error::PublicKey(spki_error(error, info.algorithm.oid))
        }
        KeyError::Structure | KeyError::Form => Error::Asn1(der::ErrorKind::Failed.into()),
        _ => MALFORMED,
    }
}

const MALFORMED: Error = Error::KeyMalformed(::pkcs8::KeyError::Invalid);

/// What a PKCS#8 structure contains, not checked.
pub struct PrivateParts<'a> {
    /// The set that the algorithm identifier names.
    pub set: Set,
    /// The DER of a [`PrivateKeyChoice`].
    pub choice: &'a [u8],
    /// The public key beside it.
    pub public_key: Option<BitStringRef<'a>>,
}

impl core::fmt::Debug for PrivateParts<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "PrivateParts({}, ..)", self.set)
    }
}

impl<'a> PrivateParts<'a> {
    fn of(info: &PrivateKeyInfoRef<'a>) -> core::result::Result<Self, KeyError> {
        Ok(Self {
            set: set_of(info.algorithm)?,
            choice: info.private_key.as_bytes(),
            public_key: info.public_key,
        })
    }

    /// Decodes OneAsymmetricKey (RFC 5958), all of it: the `pkcs8` crate takes attributes as any
    /// bytes.
    ///
    /// # Errors
    /// [`KeyError::Structure`], [`KeyError::Attributes`], [`KeyError::Version`],
    /// [`KeyError::UnknownSet`], [`KeyError::AlgorithmParameters`].
    pub fn decode(der: &'a [u8]) -> core::result::Result<Self, KeyError> {
        let parse = || -> der::Result<_> {
            let mut reader = SliceReader::new(der)?;
            let fields = reader.sequence(|reader| {
                let version = Version::decode(reader)?;
                let algorithm = AlgorithmIdentifierRef::decode(reader)?;
                let choice = octets(reader)?;
                let attributes = optional(reader, 0xa0)?;
                let public_key = optional(reader, 0x81)?;
                Ok::<_, der::Error>((version, algorithm, choice, attributes, public_key))
            })?;
            reader.finish()?;
            Ok(fields)
        };
        let (version, algorithm, choice, attributes, public_key) =
            parse().map_err(|_| KeyError::Structure)?;
        if version.has_public_key() != public_key.is_some() {
            return Err(KeyError::Version);
        }
        if let Some(attributes) = attributes {
            check_attributes(attributes).map_err(|_| KeyError::Attributes)?;
        }
        let public_key = public_key.map(bit_string).transpose();
        Ok(Self {
            set: set_of(algorithm)?,
            choice,
            public_key: public_key.map_err(|_| KeyError::Structure)?,
        })
    }

    fn signing_key<P: ParameterSet>(&self) -> core::result::Result<SigningKey<P>, KeyError> {
        let mut key = SigningKey::empty();
        self.fill(&mut key)?;
        Ok(key)
    }

    /// Imports into an empty key, which is of the set of the parts.
    fn fill<P: ParameterSet>(&self, key: &mut SigningKey<P>) -> core::result::Result<(), KeyError> {
        check_set::<P>(self.set)?;
        let choice = PrivateKeyChoice::from_der(self.choice).map_err(|_| KeyError::Form)?;
        choice.fill(key)?;
        self.check_enclosed(key)
    }

    /// Compares the key with the public key that may be enclosed.
    fn check_enclosed<P: ParameterSet>(
        &self,
        key: &SigningKey<P>,
    ) -> core::result::Result<(), KeyError> {
        match self.public_key {
            Some(enclosed) if enclosed.as_bytes() != Some(key.verifying_key().as_ref()) => {
                Err(KeyError::Inconsistent)
            }
            _ => Ok(()),
        }
    }
}

/// Returns the content of the next element if it has this tag.
fn optional<'a, R: Reader<'a>>(reader: &mut R, tag: u8) -> der::Result<Option<&'a [u8]>> {
    if reader.is_finished() || reader.peek_byte() != Some(tag) {
        return Ok(None);
    }
    Ok(Some(AnyRef::decode(reader)?.value()))
}

/// Decodes the content of a BIT STRING.
fn bit_string(content: &[u8]) -> der::Result<BitStringRef<'_>> {
    let header = Header::new(Tag::BitString, Length::try_from(content.len())?);
    BitStringRef::decode_value(&mut SliceReader::new(content)?, header)
}

/// Checks the content of a SET OF Attribute: each is a SEQUENCE of a type and a SET of values, and
/// they are in the order of DER.
fn check_attributes(content: &[u8]) -> der::Result<()> {
    let failed = || der::Error::from(der::ErrorKind::Failed);
    let mut reader = SliceReader::new(content)?;
    let mut previous: &[u8] = &[];
    while !reader.is_finished() {
        let attribute = reader.tlv_bytes()?;
        let mut fields = SliceReader::new(attribute)?;
        let values = fields.sequence(|reader| {
            <ObjectIdentifier>::decode(reader)?;
            AnyRef::decode(reader)
        })?;
        if values.tag() != Tag::Set || attribute <= previous {
            return Err(failed());
        }
        let mut values = SliceReader::new(values.value())?;
        while !values.is_finished() {
            AnyRef::decode(&mut values)?;
        }
        previous = attribute;
    }
    Ok(())
}

impl<P: ParameterSet> SigningKey<P> {
    /// Imports a private key from PKCS#8 in DER: a seed, an expanded key or both (RFC 9881), with every
    /// check of [`Self::from_expanded_bytes`]. The trait's function of this name, which generic
    /// code calls, takes attributes as any bytes.
    ///
    /// # Errors
    /// [`KeyError::Structure`], [`KeyError::Version`], [`KeyError::Attributes`],
    /// [`KeyError::UnknownSet`], [`KeyError::OtherSet`], [`KeyError::AlgorithmParameters`], [`KeyError::Form`],
    /// [`KeyError::Inconsistent`] also if the parts are of different keys, and those of
    /// [`Self::from_expanded_bytes`].
    pub fn from_pkcs8_der(der: &[u8]) -> core::result::Result<Self, KeyError> {
        PrivateParts::decode(der)?.signing_key()
    }
}

#[cfg(all(
    feature = "alloc",
    feature = "ml-dsa-44",
    feature = "ml-dsa-65",
    feature = "ml-dsa-87"
))]
mod any {
    use super::{PrivateKeyForm, PrivateKeyInfoRef, PrivateParts, Result, pkcs8_error};
    use crate::error::KeyError;
    use crate::keys::{AnySigningKey, SigningKey};
    use crate::with_set;

    impl AnySigningKey {
        fn from_parts(parts: &PrivateParts<'_>) -> core::result::Result<Self, KeyError> {
            with_set!(parts.set, P => SigningKey::<P>::boxed(|key| parts.fill(key)).map(Self::from))
        }

        /// Imports a private key from PKCS#8 in DER, whose object identifier tells the set: a seed,
        /// an expanded key or both (RFC 9881), with every check of
        /// [`Self::from_expanded_bytes`].
        ///
        /// # Errors
        /// As [`SigningKey::from_pkcs8_der`].
        pub fn from_pkcs8_der(der: &[u8]) -> core::result::Result<Self, KeyError> {
            Self::from_parts(&PrivateParts::decode(der)?)
        }

        /// Encodes PKCS#8 as [`SigningKey::to_pkcs8_der_as`] does.
        ///
        /// # Errors
        /// As [`SigningKey::to_pkcs8_der_as`].
        pub fn to_pkcs8_der_as(&self, form: PrivateKeyForm) -> Result<::pkcs8::SecretDocument> {
            with_set!(Self, self, key => key.to_pkcs8_der_as(form))
        }

        /// Encodes PEM as [`SigningKey::to_pkcs8_pem_as`] does.
        ///
        /// # Errors
        /// As [`SigningKey::to_pkcs8_der_as`].
        #[cfg(feature = "pem")]
        pub fn to_pkcs8_pem_as(
            &self,
            form: PrivateKeyForm,
            line_ending: ::pkcs8::LineEnding,
        ) -> Result<zeroize::Zeroizing<alloc::string::String>> {
            with_set!(Self, self, key => key.to_pkcs8_pem_as(form, line_ending))
        }
    }

    impl TryFrom<PrivateKeyInfoRef<'_>> for AnySigningKey {
        type Error = super::Error;

        /// # Errors
        /// As for [`SigningKey`].
        fn try_from(info: PrivateKeyInfoRef<'_>) -> Result<Self> {
            (PrivateParts::of(&info).and_then(|parts| Self::from_parts(&parts)))
                .map_err(|error| pkcs8_error(error, &info))
        }
    }

    impl ::pkcs8::EncodePrivateKey for AnySigningKey {
        /// Encodes as the key of its set does.
        fn to_pkcs8_der(&self) -> Result<::pkcs8::SecretDocument> {
            with_set!(Self, self, key => key.to_pkcs8_der())
        }
    }
}

#[cfg(feature = "alloc")]
impl<P: ParameterSet> SigningKey<P> {
    /// Encodes PKCS#8 in a chosen form, wiped on drop: 54 bytes for a seed, `SK_LEN`
    /// and 28 or 66 more for the others.
    ///
    /// # Errors
    /// [`Error::KeyMalformed`] if the form needs a seed that is not known.
    pub fn to_pkcs8_der_as(&self, form: PrivateKeyForm) -> Result<::pkcs8::SecretDocument> {
        let choice = PrivateKeyChoice::of(self, form)
            .ok_or(Error::KeyMalformed(::pkcs8::KeyError::Invalid))?;
        let encoded = zeroize::Zeroizing::new(choice.to_der()?);
        let info = PrivateKeyInfoRef::new(
            crate::formats::spki::algorithm::<der::AnyRef<'_>, P>(),
            OctetStringRef::new(&encoded)?,
        );
        ::pkcs8::SecretDocument::try_from(info)
    }

    /// Encodes as [`Self::to_pkcs8_der_as`] does, in PEM with the label `PRIVATE KEY`.
    ///
    /// # Errors
    /// As [`Self::to_pkcs8_der_as`].
    #[cfg(feature = "pem")]
    pub fn to_pkcs8_pem_as(
        &self,
        form: PrivateKeyForm,
        line_ending: ::pkcs8::LineEnding,
    ) -> Result<zeroize::Zeroizing<alloc::string::String>> {
        let document = self.to_pkcs8_der_as(form)?;
        Ok(document.to_pem("PRIVATE KEY", line_ending)?)
    }
}

#[cfg(feature = "alloc")]
impl<P: ParameterSet> ::pkcs8::EncodePrivateKey for SigningKey<P> {
    /// Encodes the seed form; for a key that was imported without its seed, the expanded
    /// form.
    fn to_pkcs8_der(&self) -> Result<::pkcs8::SecretDocument> {
        self.to_pkcs8_der_as(match self.seed() {
            Some(_) => PrivateKeyForm::Seed,
            None => PrivateKeyForm::Expanded,
        })
    }
}
