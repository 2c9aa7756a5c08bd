//! Private keys encrypted with a password (RFC 5958, PBES2 of RFC 8018). Password and key are
//! wiped; the key that RustCrypto derives from the password is not. AES-CBC does not authenticate:
//! a bare seed with changed last bytes decrypts to another seed.

use std::path::{Path, PathBuf};
use std::{env, io};

use mldsa_core::pkcs8::EncryptedPrivateKeyInfoRef;
use pkcs8::pkcs5::pbes2::Kdf;
use pkcs8::pkcs5::{EncryptionScheme, Error};
use zeroize::Zeroizing;

use crate::input::{read_small, unusable, without_mark};

/// Source of a password.
#[derive(clap::Args)]
pub(crate) struct PasswordArgs {
    /// The password of an encrypted private key, the first line of a file; - is standard
    /// input. Without this option, the environment's MLDSA_PASSWORD
    #[arg(long, value_name = "FILE")]
    password_file: Option<PathBuf>,
}

impl PasswordArgs {
    pub(crate) fn file(&self) -> Option<&Path> {
        self.password_file.as_deref()
    }

    pub(crate) fn read(&self) -> io::Result<Option<Zeroizing<Vec<u8>>>> {
        let Some(file) = self.file() else {
            let variable = env::var_os("MLDSA_PASSWORD").filter(|value| !value.is_empty());
            return Ok(variable.map(|value| value.into_encoded_bytes().into()));
        };
        let content = read_small(file)?;
        let mut lines = without_mark(&content).split(|&byte| byte == b'\n');
        let line = lines.next().unwrap_or_default();
        let password = line.strip_suffix(b"\r").unwrap_or(line);
        if password.is_empty() {
            return Err(unusable(file, "no password in its first line"));
        }
        Ok(Some(Zeroizing::new(password.to_vec())))
    }
}

pub(crate) const WRONG_PASSWORD: &str = "wrong password, or damaged";
const NO_PASSWORD: &str = "an encrypted private key: its password comes from --password-file \
    or the environment's MLDSA_PASSWORD; `openssl pkcs8 -in ENCRYPTED -out KEY` decrypts it";
const UNKNOWN: &str = "an encrypted private key, malformed or not of PBES2 with PBKDF2 (an \
    HMAC of SHA-2) or scrypt, and AES: `openssl pkcs8 -in ENCRYPTED -out KEY` decrypts it";
const TOO_COSTLY: &str = "an encrypted private key whose parameters make a password too \
    costly to try: more than 10000000 iterations of PBKDF2, or of scrypt more than 256 MiB \
    of memory or four passes over so much";

/// Decrypts to PKCS#8.
pub(crate) fn decrypt(
    der: &[u8],
    password: Option<&[u8]>,
) -> Result<Zeroizing<Vec<u8>>, &'static str> {
    let info = EncryptedPrivateKeyInfoRef::try_from(der).map_err(|_| UNKNOWN)?;
    let EncryptionScheme::Pbes2(parameters) = &info.encryption_algorithm else {
        return Err(UNKNOWN);
    };
    affordable(&parameters.kdf)?;
    let password = password.ok_or(NO_PASSWORD)?;
    let mut buffer = Zeroizing::new(info.encrypted_data.as_bytes().to_vec());
    let decrypted = parameters.decrypt_in_place(password, &mut buffer);
    let len = decrypted
        .map_err(|error| match error {
            Error::DecryptFailed => WRONG_PASSWORD,
            _ => UNKNOWN,
        })?
        .len();
    // Decryption was in place.
    buffer.truncate(len);
    Ok(buffer)
}

/// Checks the cost of a password, which the file determines: seconds, and memory that every machine
/// has. Zeros are malformed.
fn affordable(kdf: &Kdf) -> Result<(), &'static str> {
    const MEMORY: u64 = 256 << 20;
    match kdf {
        Kdf::Pbkdf2(parameters) => match parameters.iteration_count {
            0 => Err(UNKNOWN),
            1..=10_000_000 => Ok(()),
            _ => Err(TOO_COSTLY),
        },
        Kdf::Scrypt(parameters) => {
            let blocks = parameters.cost_parameter;
            let passes = u64::from(parameters.parallelization);
            let block = 128 * u64::from(parameters.block_size);
            // Of one pass, and of the first blocks of all passes.
            let memory = block.saturating_mul(blocks.max(passes));
            if blocks < 2 || block == 0 || passes == 0 {
                Err(UNKNOWN)
            } else if memory > MEMORY || block * blocks * passes > 4 * MEMORY {
                Err(TOO_COSTLY)
            } else {
                Ok(())
            }
        }
        _ => Err(UNKNOWN),
    }
}
