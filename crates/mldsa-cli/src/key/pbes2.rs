//! PBES2 (RFC 8018) with salts of any length, for which the types of `pkcs5` have no room. Derived keys
//! are wiped.

use aes_gcm::aead::AeadInOut;
use aes_gcm::aead::consts::{U12, U16};
use aes_gcm::{Aes128Gcm, Aes256Gcm, Tag};
use cbc::cipher::block_padding::Pkcs7;
use cbc::cipher::{BlockCipherDecrypt, BlockModeDecrypt, BlockModeEncrypt, KeyInit, KeyIvInit};
use pbkdf2::pbkdf2_hmac;
use pkcs8::AlgorithmIdentifierRef;
use pkcs8::der::asn1::OctetStringRef;
use pkcs8::der::{Decode, Reader, SliceReader};
use pkcs8::pkcs5::pbes2::{EncryptionScheme, PBES2_OID, PBKDF2_OID, Pbkdf2Prf, SCRYPT_OID};
use sha2::{Sha224, Sha256, Sha384, Sha512};
use zeroize::Zeroizing;

/// EncryptedPrivateKeyInfo (RFC 5958) of PBES2.
pub(crate) struct Encrypted<'a> {
    pub(crate) kdf: Kdf<'a>,
    /// Bytes of the derived key, if the file names them.
    key_length: Option<u16>,
    cipher: EncryptionScheme,
    data: &'a [u8],
}

pub(crate) enum Kdf<'a> {
    Pbkdf2 {
        salt: &'a [u8],
        iterations: u32,
        prf: Pbkdf2Prf,
    },
    Scrypt {
        salt: &'a [u8],
        cost: u64,
        block: u16,
        passes: u16,
    },
}

/// The reason for which nothing is decrypted.
pub(crate) enum Failure {
    /// The parameters are of no supported algorithm.
    Unknown,
    /// The password is another one, or the data is damaged.
    Wrong,
}

impl<'a> Encrypted<'a> {
    pub(crate) fn decode(der: &'a [u8]) -> pkcs8::spki::Result<Self> {
        let mut reader = SliceReader::new(der)?;
        let encrypted = reader.sequence(|reader| {
            let algorithm = AlgorithmIdentifierRef::decode(reader)?;
            algorithm.assert_algorithm_oid(PBES2_OID)?;
            let data = <&OctetStringRef>::decode(reader)?.as_bytes();
            algorithm.parameters_any()?.sequence(|reader| {
                let kdf = AlgorithmIdentifierRef::decode(reader)?;
                let cipher = AlgorithmIdentifierRef::decode(reader)?.try_into()?;
                let (kdf, key_length) = Kdf::decode(kdf)?;
                Ok::<_, pkcs8::spki::Error>(Self {
                    kdf,
                    key_length,
                    cipher,
                    data,
                })
            })
        })?;
        reader.finish()?;
        Ok(encrypted)
    }

    /// Decrypts to PKCS#8.
    pub(crate) fn decrypt(&self, password: &[u8]) -> Result<Zeroizing<Vec<u8>>, Failure> {
        let len = self.cipher.key_size();
        if self
            .key_length
            .is_some_and(|named| usize::from(named) != len)
        {
            return Err(Failure::Unknown);
        }
        let key = self.kdf.derive(password, len)?;
        let mut buffer = Zeroizing::new(self.data.to_vec());
        let len = match &self.cipher {
            EncryptionScheme::Aes128Cbc { iv } => cbc::<aes::Aes128Dec>(&key, iv, &mut buffer),
            EncryptionScheme::Aes192Cbc { iv } => cbc::<aes::Aes192Dec>(&key, iv, &mut buffer),
            EncryptionScheme::Aes256Cbc { iv } => cbc::<aes::Aes256Dec>(&key, iv, &mut buffer),
            EncryptionScheme::Aes128Gcm { nonce } => gcm::<Aes128Gcm>(&key, nonce, &mut buffer),
            EncryptionScheme::Aes256Gcm { nonce } => gcm::<Aes256Gcm>(&key, nonce, &mut buffer),
            _ => return Err(Failure::Unknown),
        };
        buffer.truncate(len.ok_or(Failure::Wrong)?);
        Ok(buffer)
    }
}

impl<'a> Kdf<'a> {
    /// Decodes the algorithm and its parameters. Returns the length of the key too.
    fn decode(algorithm: AlgorithmIdentifierRef<'a>) -> pkcs8::spki::Result<(Self, Option<u16>)> {
        algorithm.parameters_any()?.sequence(|reader| {
            let salt = <&OctetStringRef>::decode(reader)?.as_bytes();
            match algorithm.oid {
                PBKDF2_OID => {
                    let iterations = reader.decode()?;
                    let key_length = reader.decode()?;
                    let prf: Option<AlgorithmIdentifierRef<'_>> = reader.decode()?;
                    let prf = prf.map(TryInto::try_into).transpose()?.unwrap_or_default();
                    let kdf = Self::Pbkdf2 {
                        salt,
                        iterations,
                        prf,
                    };
                    Ok((kdf, key_length))
                }
                SCRYPT_OID => {
                    let kdf = Self::Scrypt {
                        salt,
                        cost: reader.decode()?,
                        block: reader.decode()?,
                        passes: reader.decode()?,
                    };
                    Ok((kdf, reader.decode()?))
                }
                oid => Err(pkcs8::spki::Error::OidUnknown { oid }),
            }
        })
    }

    /// Derives a key of at most 32 bytes.
    pub(crate) fn derive(
        &self,
        password: &[u8],
        len: usize,
    ) -> Result<Zeroizing<Vec<u8>>, Failure> {
        let mut key = Zeroizing::new(vec![0; len]);
        match *self {
            Self::Pbkdf2 {
                salt,
                iterations,
                prf,
            } => {
                let derive = match prf {
                    Pbkdf2Prf::HmacWithSha224 => pbkdf2_hmac::<Sha224>,
                    Pbkdf2Prf::HmacWithSha256 => pbkdf2_hmac::<Sha256>,
                    Pbkdf2Prf::HmacWithSha384 => pbkdf2_hmac::<Sha384>,
                    Pbkdf2Prf::HmacWithSha512 => pbkdf2_hmac::<Sha512>,
                    _ => return Err(Failure::Unknown),
                };
                derive(password, salt, iterations, &mut key);
            }
            Self::Scrypt {
                salt,
                cost,
                block,
                passes,
            } => {
                let log = u8::try_from(cost.trailing_zeros()).ok();
                let log = log.filter(|_| cost.is_power_of_two());
                let log = log.ok_or(Failure::Unknown)?;
                scrypt::Params::new(log, block.into(), passes.into())
                    .ok()
                    .and_then(|params| scrypt::scrypt(password, salt, &params, &mut key).ok())
                    .ok_or(Failure::Unknown)?;
            }
        }
        Ok(key)
    }
}

/// Decrypts in place. Returns the length of the content, `None` for wrong padding.
fn cbc<C: BlockCipherDecrypt + KeyInit>(
    key: &[u8],
    iv: &[u8; 16],
    buffer: &mut [u8],
) -> Option<usize> {
    let cipher = cbc::Decryptor::<C>::new_from_slices(key, iv).ok()?;
    let content = cipher.decrypt_padded::<Pkcs7>(buffer).ok()?;
    Some(content.len())
}

/// Decrypts in place. Returns the length of the content, `None` for a wrong tag.
fn gcm<C: AeadInOut<NonceSize = U12, TagSize = U16> + KeyInit>(
    key: &[u8],
    nonce: &[u8; 12],
    buffer: &mut [u8],
) -> Option<usize> {
    let cipher = C::new_from_slice(key).ok()?;
    let (content, tag) = buffer.split_last_chunk_mut::<16>()?;
    let len = content.len();
    let opened =
        cipher.decrypt_inout_detached(&(*nonce).into(), &[], content.into(), &Tag::from(*tag));
    opened.ok().map(|()| len)
}

/// Encrypts by AES-256-CBC.
pub(crate) fn encrypt_cbc(key: &[u8], iv: &[u8; 16], content: &[u8]) -> Option<Vec<u8>> {
    let cipher = cbc::Encryptor::<aes::Aes256Enc>::new_from_slices(key, iv).ok()?;
    let mut buffer = Zeroizing::new([content, &[0; 16]].concat());
    let data = cipher.encrypt_padded::<Pkcs7>(&mut buffer, content.len());
    data.ok().map(<[u8]>::to_vec)
}
