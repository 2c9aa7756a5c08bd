//! HashML-DSA (FIPS 204 section 5.4): algorithms 4 and 5 from a digest.

use core::fmt;
use core::marker::PhantomData;

use crate::error::MessageError;
use crate::hash::keccak::Permutation;
use crate::hash::transcript::{Context, Mu, MuBuilder};
use crate::params::{CRH_LEN, ParameterSet};

macro_rules! pre_hashes {
    ($($(#[$doc:meta])* $variant:ident => $name:literal, $oid:literal, $len:literal, $strength:literal;)+) => {
        /// The hash functions of HashML-DSA: the twelve that NIST's ACVP has.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum PreHash { $($(#[$doc])* $variant,)+ }

        impl PreHash {
            /// All twelve, in the order of their object identifiers.
            pub const ALL: [Self; 12] = [$(Self::$variant),+];

            /// Returns the name in NIST's ACVP, e.g. `SHA2-512/256`.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// Returns the object identifier in DER, 11 bytes with tag and length.
            pub const fn oid(self) -> &'static [u8; 11] {
                match self {
                    $(Self::$variant => &[0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, $oid],)+
                }
            }

            /// Returns the number of bytes of the digest; 32 for SHAKE128 and 64 for SHAKE256.
            pub const fn digest_len(self) -> usize {
                match self { $(Self::$variant => $len,)+ }
            }

            /// Collision strength in bits.
            const fn strength(self) -> usize {
                match self { $(Self::$variant => $strength,)+ }
            }
        }
    };
}

pre_hashes! {
    /// SHA-256.
    Sha2_256 => "SHA2-256", 0x01, 32, 128;
    /// SHA-384.
    Sha2_384 => "SHA2-384", 0x02, 48, 192;
    /// SHA-512.
    Sha2_512 => "SHA2-512", 0x03, 64, 256;
    /// SHA-224.
    Sha2_224 => "SHA2-224", 0x04, 28, 112;
    /// SHA-512/224.
    Sha2_512_224 => "SHA2-512/224", 0x05, 28, 112;
    /// SHA-512/256.
    Sha2_512_256 => "SHA2-512/256", 0x06, 32, 128;
    /// SHA3-224.
    Sha3_224 => "SHA3-224", 0x07, 28, 112;
    /// SHA3-256.
    Sha3_256 => "SHA3-256", 0x08, 32, 128;
    /// SHA3-384.
    Sha3_384 => "SHA3-384", 0x09, 48, 192;
    /// SHA3-512.
    Sha3_512 => "SHA3-512", 0x0a, 64, 256;
    /// SHAKE128 with 256 bits of output.
    Shake128 => "SHAKE-128", 0x0b, 32, 128;
    /// SHAKE256 with 512 bits of output.
    Shake256 => "SHAKE-256", 0x0c, 64, 256;
}

impl PreHash {
    /// Returns whether the collision strength is at least that of the set, lambda bits:
    /// digests of at least 256, 384 and 512 bits for ML-DSA-44, 65 and 87, SHAKE128
    /// for ML-DSA-44 only.
    #[must_use]
    pub const fn is_strong_enough<P: ParameterSet>(self) -> bool {
        self.strength() >= P::LAMBDA
    }

    /// Searches for a name, which is public.
    fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|hash| hash.name() == name)
    }
}

impl fmt::Display for PreHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl core::str::FromStr for PreHash {
    type Err = MessageError;

    /// Reads the [`name`](Self::name).
    fn from_str(name: &str) -> Result<Self, MessageError> {
        Self::named(name).ok_or(MessageError::UnknownHash)
    }
}

/// A digest with the name of its hash, checked for use with `P`.
///
/// ```
/// use mldsa_core::{Context, Randomness, MlDsa65, PreHash, PreHashed, SigningKey};
///
/// let sha2_512_of_message = [7; 64];
/// let digest = PreHashed::<MlDsa65>::new(PreHash::Sha2_512, &sha2_512_of_message)?;
/// let key = SigningKey::<MlDsa65>::generate()?;
/// let signature = key.sign_prehashed(&digest, Context::EMPTY, Randomness::Deterministic)?;
/// key.verifying_key().verify_prehashed(&digest, Context::EMPTY, &signature)?;
/// // 28 bytes are too weak for this set.
/// assert!(PreHashed::<MlDsa65>::new(PreHash::Sha2_224, &[7; 28]).is_err());
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PreHashed<'a, P> {
    hash: PreHash,
    digest: &'a [u8],
    set: PhantomData<P>,
}

impl<'a, P: ParameterSet> PreHashed<'a, P> {
    /// Takes a digest of a hash that is at least as strong as the set.
    ///
    /// # Errors
    /// [`MessageError::DigestLength`], [`MessageError::WeakPreHash`].
    pub fn new(hash: PreHash, digest: &'a [u8]) -> Result<Self, MessageError> {
        let checked = Self::new_allow_weak(hash, digest)?;
        if hash.is_strong_enough::<P>() {
            Ok(checked)
        } else {
            Err(MessageError::WeakPreHash)
        }
    }

    /// Admits also hashes below the strength of the set, for interoperation with
    /// systems that use such pairs: the signature is then no stronger than the
    /// hash.
    ///
    /// # Errors
    /// [`MessageError::DigestLength`].
    pub fn new_allow_weak(hash: PreHash, digest: &'a [u8]) -> Result<Self, MessageError> {
        if digest.len() != hash.digest_len() {
            return Err(MessageError::DigestLength);
        }
        Ok(Self {
            hash,
            digest,
            set: PhantomData,
        })
    }

    /// Returns the hash.
    #[must_use]
    pub const fn hash(&self) -> PreHash {
        self.hash
    }

    /// [`Self::mu`] on a given permutation.
    pub(crate) fn mu_on(&self, keccak: Permutation, tr: &[u8; CRH_LEN], ctx: Context<'_>) -> Mu {
        let mut builder = MuBuilder::start(keccak, tr, 1, ctx);
        builder.update(self.hash.oid());
        builder.update(self.digest);
        builder.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_distinct_and_in_order() {
        for (n, hash) in PreHash::ALL.into_iter().enumerate() {
            assert_eq!(usize::from(hash.oid()[10]), n + 1);
            assert_eq!(hash.name().parse(), Ok(hash));
        }
        assert_eq!("MD5".parse::<PreHash>(), Err(MessageError::UnknownHash));
    }

    #[test]
    #[cfg(all(feature = "ml-dsa-44", feature = "ml-dsa-65", feature = "ml-dsa-87"))]
    fn strength_rule() {
        use crate::params::{MlDsa44, MlDsa65, MlDsa87};
        let strong = |bits: usize, hash: PreHash| match bits {
            128 => hash.is_strong_enough::<MlDsa44>(),
            192 => hash.is_strong_enough::<MlDsa65>(),
            _ => hash.is_strong_enough::<MlDsa87>(),
        };
        for (lambda, count) in [(128, 9), (192, 5), (256, 3)] {
            assert_eq!(
                PreHash::ALL
                    .into_iter()
                    .filter(|&hash| strong(lambda, hash))
                    .count(),
                count
            );
        }
        assert!(PreHashed::<MlDsa44>::new(PreHash::Shake128, &[0; 32]).is_ok());
        assert_eq!(
            PreHashed::<MlDsa65>::new(PreHash::Shake128, &[0; 32]),
            Err(MessageError::WeakPreHash)
        );
        assert!(PreHashed::<MlDsa65>::new_allow_weak(PreHash::Shake128, &[0; 32]).is_ok());
        assert_eq!(
            PreHashed::<MlDsa87>::new(PreHash::Sha2_512, &[0; 63]),
            Err(MessageError::DigestLength)
        );
    }
}
