//! Independent implementations of the suite traits.

use mldsa_kat::model::format_message;
use mldsa_kat::scheme::{KeyPair, Message, PrivateKey, Reason, Scheme, Verifier};
use mldsa_kat::set::Set;

/// The peers of a set.
pub(crate) fn schemes(set: &Set) -> [Box<dyn Scheme>; 2] {
    match set.lambda {
        128 => [Box::new(fips204_44::Peer), Box::new(libcrux_44::Peer)],
        192 => [Box::new(fips204_65::Peer), Box::new(libcrux_65::Peer)],
        _ => [Box::new(fips204_87::Peer), Box::new(libcrux_87::Peer)],
    }
}

fn sized<const N: usize>(bytes: &[u8], otherwise: Reason) -> Result<[u8; N], Reason> {
    bytes.try_into().map_err(|_| otherwise)
}

/// Peers are asked for a verdict; their reasons are not compared.
fn no<E>(_: E) -> Reason {
    Reason::Other
}

/// Hands out a chosen `rnd`, the form in which `fips204` takes it with `mu`.
struct Chosen([u8; 32]);

impl fips204::RngCore for Chosen {
    fn next_u32(&mut self) -> u32 {
        unreachable!("signing only fills bytes")
    }
    fn next_u64(&mut self) -> u64 {
        unreachable!("signing only fills bytes")
    }
    fn fill_bytes(&mut self, out: &mut [u8]) {
        out.copy_from_slice(&self.0);
    }
    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), fips204::RngError> {
        self.fill_bytes(out);
        Ok(())
    }
}

impl fips204::CryptoRng for Chosen {}

macro_rules! peers {
    ($set:ident, $fips204:ident, $peer:ident, $libcrux:ident) => {
        // The calls with a chosen `mu` are marked "deprecated: for tests".
        #[allow(deprecated)]
        mod $fips204 {
            use fips204::traits::{KeyGen, SerDes, Signer, Verifier as _};
            use fips204::$peer::{KG, PrivateKey as Sk, PublicKey as Pk};

            use super::*;

            pub(super) struct Peer;

            impl Verifier for Peer {
                fn name(&self) -> String {
                    format!("fips204 {}", self.set().name)
                }

                fn set(&self) -> &'static Set {
                    &mldsa_kat::set::$set
                }

                fn verify(
                    &self,
                    pk: &[u8],
                    message: Message<'_>,
                    sig: &[u8],
                ) -> Result<(), Reason> {
                    let pk = Pk::try_from_bytes(sized(pk, Reason::KeyLength)?).map_err(no)?;
                    let sig = &sized(sig, Reason::SignatureLength)?;
                    let valid = match message {
                        Message::Pure { ctx, msg } => pk.verify(msg, sig, ctx),
                        Message::PreHashed { ctx, hash, digest } => {
                            pk.hash_verify(digest, sig, ctx, &hash.oid)
                        }
                        Message::Formatted(m_prime) => pk.verify_internal(m_prime, sig),
                        Message::Mu(mu) => pk.verify_mu(mu, sig),
                    };
                    if valid { Ok(()) } else { Err(Reason::Other) }
                }
            }

            fn private(key: PrivateKey<'_>) -> Result<Sk, Reason> {
                match key {
                    PrivateKey::Seed(seed) => {
                        Ok(KG::keygen_from_seed(&sized(seed, Reason::KeyLength)?).1)
                    }
                    PrivateKey::Expanded(sk) => Sk::try_from_bytes(sized(sk, Reason::KeyLength)?)
                        .map_err(|_| Reason::SecretRange),
                }
            }

            impl Scheme for Peer {
                fn load(&self, key: PrivateKey<'_>) -> Result<KeyPair, Reason> {
                    let sk = private(key)?;
                    let pk = sk.get_public_key().into_bytes().to_vec();
                    Ok(KeyPair {
                        pk,
                        sk: sk.into_bytes().to_vec(),
                    })
                }

                fn sign(
                    &self,
                    key: PrivateKey<'_>,
                    message: Message<'_>,
                    rnd: Option<&[u8; 32]>,
                ) -> Result<Vec<u8>, Reason> {
                    let sk = private(key)?;
                    let rnd = rnd.unwrap_or(&[0; 32]);
                    let sig = match message {
                        Message::Pure { ctx, msg } => sk.try_sign_with_seed(rnd, msg, ctx),
                        Message::PreHashed { ctx, hash, digest } => {
                            sk.try_hash_sign_with_seed(rnd, digest, ctx, &hash.oid)
                        }
                        Message::Formatted(m_prime) => {
                            sk.sign_internal(&mut Chosen(*rnd), m_prime, true)
                        }
                        Message::Mu(mu) => sk.sign_mu(&mut Chosen(*rnd), mu, true),
                    };
                    sig.map(|sig| sig.to_vec()).map_err(no)
                }
            }
        }

        mod $libcrux {
            use libcrux_ml_dsa::$peer::*;
            use libcrux_ml_dsa::{MLDSASignature, MLDSASigningKey, MLDSAVerificationKey};

            use super::*;

            pub(super) struct Peer;

            impl Verifier for Peer {
                fn name(&self) -> String {
                    format!("libcrux-ml-dsa {}", self.set().name)
                }

                fn set(&self) -> &'static Set {
                    &mldsa_kat::set::$set
                }

                fn verify(
                    &self,
                    pk: &[u8],
                    message: Message<'_>,
                    sig: &[u8],
                ) -> Result<(), Reason> {
                    let pk = MLDSAVerificationKey::new(sized(pk, Reason::KeyLength)?);
                    let sig = MLDSASignature::new(sized(sig, Reason::SignatureLength)?);
                    match message {
                        Message::Pure { ctx, msg } => verify(&pk, msg, ctx, &sig),
                        other => verify_internal(&pk, &format_message(other)?, &sig),
                    }
                    .map_err(no)
                }
            }

            impl Scheme for Peer {
                fn load(&self, key: PrivateKey<'_>) -> Result<KeyPair, Reason> {
                    let PrivateKey::Seed(seed) = key else {
                        return Err(Reason::Unsupported);
                    };
                    let pair = generate_key_pair(sized(seed, Reason::KeyLength)?);
                    Ok(KeyPair {
                        pk: pair.verification_key.as_slice().to_vec(),
                        sk: pair.signing_key.as_slice().to_vec(),
                    })
                }

                fn sign(
                    &self,
                    key: PrivateKey<'_>,
                    message: Message<'_>,
                    rnd: Option<&[u8; 32]>,
                ) -> Result<Vec<u8>, Reason> {
                    let sk = match key {
                        PrivateKey::Seed(_) => self.load(key)?.sk,
                        PrivateKey::Expanded(sk) => sk.to_vec(),
                    };
                    let sk = MLDSASigningKey::new(sized(&sk, Reason::KeyLength)?);
                    let rnd = *rnd.unwrap_or(&[0; 32]);
                    match message {
                        Message::Pure { ctx, msg } => sign(&sk, msg, ctx, rnd),
                        other => sign_internal(&sk, &format_message(other)?, rnd),
                    }
                    .map(|sig| sig.as_slice().to_vec())
                    .map_err(no)
                }
            }
        }
    };
}

peers!(ML_DSA_44, fips204_44, ml_dsa_44, libcrux_44);
peers!(ML_DSA_65, fips204_65, ml_dsa_65, libcrux_65);
peers!(ML_DSA_87, fips204_87, ml_dsa_87, libcrux_87);
