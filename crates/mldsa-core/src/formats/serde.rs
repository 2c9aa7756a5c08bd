//! serde: bytes in binary formats, hex in formats for people (lower case out,
//! either case in; constant time in the digits).
//!
//! A private key is serialised only inside [`SerializableSigningKey`], which names the parameter set
//! in formats for people.

use core::fmt;

use ::serde::de::{Deserialize, Deserializer, Error, SeqAccess, Visitor};
use ::serde::ser::{Serialize, Serializer};

use crate::hash::transcript::Mu;
use crate::keys::{Signature, SigningKey, VerifyingKey};
use crate::memory::array::Zeroed;
use crate::memory::secret::Secret;
use crate::params::{CRH_LEN, ParameterSet, SEED_LEN, Set};

fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    if serializer.is_human_readable() {
        serializer.collect_str(&format_args!("{:x}", base16ct::HexDisplay(bytes)))
    } else {
        serializer.serialize_bytes(bytes)
    }
}

/// Reads at most `out.len()` bytes into `out` and returns them. Text has to begin with
/// `prefix`.
fn deserialize<'out, 'de, D: Deserializer<'de>>(
    deserializer: D,
    prefix: &'static [&'static str],
    out: &'out mut [u8],
) -> Result<&'out [u8], D::Error> {
    let visitor = Bytes {
        prefix,
        out: &mut *out,
    };
    let len = if deserializer.is_human_readable() {
        deserializer.deserialize_str(visitor)?
    } else {
        deserializer.deserialize_bytes(visitor)?
    };
    Ok(&out[..len])
}

/// Fills a buffer; the value is the number of bytes.
struct Bytes<'out> {
    /// Parts before the bytes, in order.
    prefix: &'static [&'static str],
    out: &'out mut [u8],
}

impl<'de> Visitor<'de> for Bytes<'_> {
    type Value = usize;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at most {} bytes, or that many in hex", self.out.len())
    }

    fn visit_str<E: Error>(self, mut text: &str) -> Result<usize, E> {
        // The errors do not repeat the text, which may be secret.
        for part in self.prefix {
            text = text
                .strip_prefix(part)
                .ok_or_else(|| E::custom(format_args!("does not begin with {}", part)))?;
        }
        let most = 2 * self.out.len();
        base16ct::mixed::decode(text, self.out)
            .map(<[u8]>::len)
            .map_err(|_| E::custom(format_args!("not at most {most} hexadecimal digits")))
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<usize, E> {
        let out = self.out.get_mut(..bytes.len());
        out.ok_or_else(|| E::custom("too long"))?
            .copy_from_slice(bytes);
        Ok(bytes.len())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<usize, A::Error> {
        let mut len = 0;
        while let Some(byte) = seq.next_element()? {
            *self
                .out
                .get_mut(len)
                .ok_or_else(|| A::Error::custom("too long"))? = byte;
            len += 1;
        }
        Ok(len)
    }
}

impl<P: ParameterSet> Serialize for VerifyingKey<P> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serialize(self.as_ref(), serializer)
    }
}

impl<'de, P: ParameterSet> Deserialize<'de> for VerifyingKey<P> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut buffer = P::PublicKeyBytes::zeroed();
        let bytes = deserialize(deserializer, &[], buffer.as_mut())?;
        Self::from_bytes(bytes).map_err(D::Error::custom)
    }
}

impl<P: ParameterSet> Serialize for Signature<P> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serialize(self.as_ref(), serializer)
    }
}

impl<'de, P: ParameterSet> Deserialize<'de> for Signature<P> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut buffer = P::SignatureBytes::zeroed();
        let bytes = deserialize(deserializer, &[], buffer.as_mut())?;
        Self::from_bytes(bytes).map_err(D::Error::custom)
    }
}

#[cfg(all(feature = "ml-dsa-44", feature = "ml-dsa-65", feature = "ml-dsa-87"))]
impl Serialize for crate::keys::AnyVerifyingKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serialize(self.as_ref(), serializer)
    }
}

#[cfg(all(feature = "ml-dsa-44", feature = "ml-dsa-65", feature = "ml-dsa-87"))]
impl<'de> Deserialize<'de> for crate::keys::AnyVerifyingKey {
    /// The length tells the set.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut buffer = [0; Set::MlDsa87.public_key_len()];
        let bytes = deserialize(deserializer, &[], &mut buffer)?;
        Self::from_bytes(bytes).map_err(D::Error::custom)
    }
}

/// The name of the set.
impl Serialize for Set {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Set {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Name;
        impl Visitor<'_> for Name {
            type Value = Set;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a parameter set")
            }

            fn visit_str<E: Error>(self, name: &str) -> Result<Set, E> {
                name.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_str(Name)
    }
}

impl Serialize for Mu {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serialize(self.as_bytes(), serializer)
    }
}

impl<'de> Deserialize<'de> for Mu {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut buffer = [0; CRH_LEN];
        match deserialize(deserializer, &[], &mut buffer)?.len() {
            CRH_LEN => Ok(Self::from_bytes(buffer)),
            _ => Err(D::Error::custom("mu has the wrong length")),
        }
    }
}

/// A private key that may be serialised: the seed, 32 bytes, or the expanded key, `SK_LEN`
/// bytes, where the seed is not known.
///
/// Formats for people (JSON, TOML) get a string of parameter set and hex, such as
/// `"ML-DSA-65:0123.."`. A string without its set, or with another one, is rejected: the
/// same seed is a different key in each set. A string of bare digits, the form of version
/// 0.1, is read after the name of its set and a colon have been put before it. Binary
/// formats get the bytes alone, so there the set has to be known from elsewhere.
///
/// Reading tells the two forms apart by length and checks an expanded key as
/// [`SigningKey::from_expanded_bytes`] does.
///
/// The serialiser is outside of what this library promises. It does not wipe its copies.
/// It may look up characters in a table, as `serde_json` does to escape strings, and so
/// leave a trace of the digits in the cache: where another program can time that cache,
/// use a binary format or PKCS#8.
#[derive(Debug)]
pub struct SerializableSigningKey<P: ParameterSet>(pub SigningKey<P>);

impl<P: ParameterSet> SerializableSigningKey<P> {
    const PREFIX: &[&str] = &[P::NAME, ":"];
}

impl<P: ParameterSet> Serialize for SerializableSigningKey<P> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let key = match self.0.seed() {
            Some(seed) => &seed[..],
            None => self.0.expanded().as_ref(),
        };
        if serializer.is_human_readable() {
            let digits = base16ct::HexDisplay(key);
            serializer.collect_str(&format_args!("{}:{digits:x}", P::NAME))
        } else {
            serializer.serialize_bytes(key)
        }
    }
}

impl<'de, P: ParameterSet> Deserialize<'de> for SerializableSigningKey<P> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut buffer = Secret::<P::SecretKeyBytes>::zeroed();
        let bytes = deserialize(deserializer, Self::PREFIX, buffer.expose_mut().as_mut())?;
        match <&[u8; SEED_LEN]>::try_from(bytes) {
            Ok(seed) => Ok(Self(SigningKey::from_seed(seed))),
            Err(_) => SigningKey::from_expanded_bytes(bytes)
                .map(Self)
                .map_err(D::Error::custom),
        }
    }
}
