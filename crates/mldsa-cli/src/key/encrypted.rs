//! Private keys encrypted with a password (RFC 5958, PBES2 of RFC 8018). Password and keys are
//! wiped. AES-CBC does not authenticate: a bare seed with changed last bytes decrypts to another
//! seed.

use std::env;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use pkcs8::EncryptedPrivateKeyInfoRef;
use pkcs8::der::Encode;
use pkcs8::der::asn1::OctetStringRef;
use pkcs8::pkcs5::pbes2::{self, EncryptionScheme, Parameters, Pbkdf2Params, Pbkdf2Prf, Salt};
use zeroize::Zeroizing;

use crate::file::input::{read_small, unusable, without_mark};
use crate::key::pbes2::{Encrypted, Failure, Kdf, encrypt_cbc};
use crate::random::random;

/// Source of the password of a key that is read.
#[derive(clap::Args)]
pub(crate) struct PasswordArgs {
    /// The password of an encrypted private key, the first line of a file; - is standard
    /// input. Without this option, the environment's MLDSA_PASSWORD, or a question on the
    /// terminal
    #[arg(long, value_name = "FILE")]
    password_file: Option<PathBuf>,
}

impl PasswordArgs {
    pub(crate) fn file(&self) -> Option<&Path> {
        self.password_file.as_deref()
    }

    /// Reads the password; `None` without any source of it.
    fn read(&self) -> io::Result<Option<Zeroizing<Vec<u8>>>> {
        match given(self.file(), "MLDSA_PASSWORD")? {
            None => prompt("Password of the private key: ").transpose(),
            password => Ok(password),
        }
    }
}

/// Encryption of a key that is written.
#[derive(clap::Args)]
pub(crate) struct EncryptArgs {
    /// Encrypt the private key with a password, asked for on the terminal
    #[arg(long)]
    encrypt: bool,

    /// The new password, the first line of a file; - is standard input. Without this option,
    /// the environment's MLDSA_NEW_PASSWORD, or a question on the terminal
    #[arg(long, value_name = "FILE", requires = "encrypt")]
    new_password_file: Option<PathBuf>,
}

impl EncryptArgs {
    pub(crate) fn file(&self) -> Option<&Path> {
        self.new_password_file.as_deref()
    }

    /// Reads the new password, typed twice on a terminal; `None` if the key is not encrypted.
    pub(crate) fn read(&self) -> io::Result<Option<Zeroizing<Vec<u8>>>> {
        if !self.encrypt {
            return Ok(None);
        }
        if let Some(password) = given(self.file(), "MLDSA_NEW_PASSWORD")? {
            return Ok(Some(password));
        }
        let typed = prompt("New password of the private key: ").transpose()?;
        let typed = typed.ok_or_else(|| {
            io::Error::other(
                "no password: it comes from --new-password-file, from the environment's \
                 MLDSA_NEW_PASSWORD or from a terminal",
            )
        })?;
        let again = prompt("The same password again: ").transpose()?;
        match again {
            Some(again) if *again == *typed && !typed.is_empty() => Ok(Some(typed)),
            Some(again) if again.is_empty() => Err(io::Error::other("the password is empty")),
            _ => Err(io::Error::other("the two passwords differ")),
        }
    }
}

/// Reads the password of a file, or else of an environment variable.
fn given(file: Option<&Path>, variable: &str) -> io::Result<Option<Zeroizing<Vec<u8>>>> {
    let Some(file) = file else {
        let value = env::var_os(variable).filter(|value| !value.is_empty());
        return Ok(value.map(|value| value.into_encoded_bytes().into()));
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

/// Asks for a password on the terminal, without an echo. `None` without a terminal that shows the
/// question.
fn prompt(question: &str) -> Option<io::Result<Zeroizing<Vec<u8>>>> {
    if !io::stderr().is_terminal() {
        return None;
    }
    let answer = rpassword::prompt_password(question);
    Some(answer.map(|password| Zeroizing::new(password.into_bytes())))
}

pub(crate) const WRONG_PASSWORD: &str = "wrong password, or damaged";
const NO_PASSWORD: &str = "an encrypted private key: its password comes from --password-file, \
    from the environment's MLDSA_PASSWORD or from a terminal; `openssl pkcs8 -in ENCRYPTED \
    -out KEY` of OpenSSL 3.5 or newer decrypts it";
const UNKNOWN: &str = "an encrypted private key, malformed or not of PBES2 with PBKDF2 (an \
    HMAC of SHA-2) or scrypt, and AES: `openssl pkcs8 -in ENCRYPTED -out KEY` of OpenSSL 3.5 or \
    newer may decrypt it";
const TOO_COSTLY: &str = "an encrypted private key whose parameters make a password too \
    costly to try: more than 10000000 iterations of PBKDF2, or of scrypt more than 256 MiB \
    of memory or four passes over so much";

/// Iterations of PBKDF2 with HMAC-SHA-256 of a key that is written, OWASP's recommendation of 2023.
/// OpenSSL does not read scrypt with a comparable cost: it takes 32 MiB at most.
const ITERATIONS: u32 = 600_000;

/// Encrypts PKCS#8 with PBES2: PBKDF2 with HMAC-SHA-256, and AES-256-CBC.
pub(crate) fn encrypt(der: &[u8], password: &[u8]) -> io::Result<Vec<u8>> {
    let (salt, iv) = (random::<16>()?, *random()?);
    let parameters = Parameters {
        kdf: pbes2::Kdf::Pbkdf2(Pbkdf2Params {
            salt: Salt::new(*salt).map_err(io::Error::other)?,
            iteration_count: ITERATIONS,
            key_length: None,
            prf: Pbkdf2Prf::HmacWithSha256,
        }),
        encryption: EncryptionScheme::Aes256Cbc { iv },
    };
    let kdf = Kdf::Pbkdf2 {
        salt: &*salt,
        iterations: ITERATIONS,
        prf: Pbkdf2Prf::HmacWithSha256,
    };
    let key = kdf.derive(password, parameters.encryption.key_size()).ok();
    let data = key.and_then(|key| encrypt_cbc(&key, &iv, der));
    let data = data.ok_or_else(|| io::Error::other("the key could not be encrypted"))?;
    let info = OctetStringRef::new(&data).and_then(|encrypted_data| {
        let encryption_algorithm = parameters.into();
        EncryptedPrivateKeyInfoRef {
            encryption_algorithm,
            encrypted_data,
        }
        .to_der()
    });
    info.map_err(io::Error::other)
}

/// Decrypts to PKCS#8.
pub(crate) fn decrypt(
    der: &[u8],
    password: &PasswordArgs,
) -> Result<Zeroizing<Vec<u8>>, std::borrow::Cow<'static, str>> {
    let encrypted = Encrypted::decode(der).map_err(|_| UNKNOWN)?;
    affordable(&encrypted.kdf)?;
    let password = password.read().map_err(|error| error.to_string())?;
    let password = password.ok_or(NO_PASSWORD)?;
    encrypted
        .decrypt(&password)
        .map_err(|failure| match failure {
            Failure::Wrong => WRONG_PASSWORD.into(),
            Failure::Unknown => UNKNOWN.into(),
        })
}

/// Checks the cost of a password, which the file determines: seconds, and memory that every machine
/// has. Zeros are malformed.
fn affordable(kdf: &Kdf<'_>) -> Result<(), &'static str> {
    const MEMORY: u64 = 256 << 20;
    match *kdf {
        Kdf::Pbkdf2 { iterations, .. } => match iterations {
            0 => Err(UNKNOWN),
            1..=10_000_000 => Ok(()),
            _ => Err(TOO_COSTLY),
        },
        Kdf::Scrypt {
            cost,
            block,
            passes,
            ..
        } => {
            let (passes, block) = (u64::from(passes), 128 * u64::from(block));
            // Of one pass, and of the first blocks of all passes.
            let memory = block.saturating_mul(cost.max(passes));
            if cost < 2 || block == 0 || passes == 0 {
                Err(UNKNOWN)
            } else if memory > MEMORY || block * cost * passes > 4 * MEMORY {
                Err(TOO_COSTLY)
            } else {
                Ok(())
            }
        }
    }
}
