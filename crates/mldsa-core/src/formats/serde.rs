//! serde: bytes in binary formats, hex in formats for people (lower case out,
//! either case in; constant time in the digits).
//!
//! A private key is serialised only inside [`SerializableSigningKey`].

use core::fmt;

use ::serde::de::{Deserialize, Deserializer, Error, SeqAccess, Visitor};
use ::serde::ser::{Serialize, Serializer};

use crate::hash::transcript::Mu;
use crate::keys::{Signature, SigningKey, VerifyingKey};
use crate::memory::array::Zeroed;
use crate::memory::secret::Secret;
use crate::params::{CRH_LEN, ParameterSet, SEED_LEN};

fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    if serializer.is_human_readable() {
        serializer.collect_str(&format_args!("{:x}", base16ct::HexDisplay(bytes)))
    } else {
        serializer.serialize_bytes(bytes)
    }
}

/// Reads at most `out.len()` bytes into `out` and returns them.
fn deserialize<'out, 'de, D: Deserializer<'de>>(
    deserializer: D,
    out: &'out mut [u8],
) -> Result<&'out [u8], D::Error> {
    let visitor = Bytes(&mut *out);
    let len = if deserializer.is_human_readable() {
        deserializer.deserialize_str(visitor)?
    } else {
        deserializer.deserialize_bytes(visitor)?
    };
    Ok(&out[..len])
}

/// Fills a buffer; the value is the number of bytes.
struct Bytes<'out>(&'out mut [u8]);

impl<'de> Visitor<'de> for Bytes<'_> {
    type Value = usize;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at most {} bytes, or that many in hex", self.0.len())
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<usize, E> {
        // Without repeating what may be a secret.
        base16ct::mixed::decode(text, self.0)
            .map(<[u8]>::len)
            .map_err(|_| E::custom("not hex, or too long"))
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<usize, E> {
        let out = self.0.get_mut(..bytes.len());
        out.ok_or_else(|| E::custom("too long"))?
            .copy_from_slice(bytes);
        Ok(bytes.len())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<usize, A::Error> {
        let mut len = 0;
        while let Some(byte) = seq.next_element()? {
            *self
                .0
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
        let bytes = deserialize(deserializer, buffer.as_mut())?;
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
        let bytes = deserialize(deserializer, buffer.as_mut())?;
        Self::from_bytes(bytes).map_err(D::Error::custom)
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
        match deserialize(deserializer, &mut buffer)?.len() {
            CRH_LEN => Ok(Self::from_bytes(buffer)),
            _ => Err(D::Error::custom("mu has the wrong length")),
        }
    }
}

/// Consent to serialise a private key: 32 bytes of seed, or `SK_LEN` bytes where
/// the seed is not known. What the serialiser does with them is not wiped.
///
/// Reading tells the two apart by length and checks an expanded key as
/// [`SigningKey::from_expanded_bytes`] does.
#[derive(Debug)]
pub struct SerializableSigningKey<P: ParameterSet>(pub SigningKey<P>);

impl<P: ParameterSet> Serialize for SerializableSigningKey<P> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.seed() {
            Some(seed) => serialize(seed, serializer),
            None => serialize(self.0.expanded().as_ref(), serializer),
        }
    }
}

impl<'de, P: ParameterSet> Deserialize<'de> for SerializableSigningKey<P> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut buffer = Secret::<P::SecretKeyBytes>::zeroed();
        let bytes = deserialize(deserializer, buffer.expose_mut().as_mut())?;
        match <&[u8; SEED_LEN]>::try_from(bytes) {
            Ok(seed) => Ok(Self(SigningKey::from_seed(seed))),
            Err(_) => SigningKey::from_expanded_bytes(bytes)
                .map(Self)
                .map_err(D::Error::custom),
        }
    }
}
