//! Message of the commands over files: read in pieces and hashed into `mu`.

pub(crate) mod mu;
pub(crate) mod sign;
pub(crate) mod verify;

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use clap::ArgGroup;
use mldsa_core::{AnyVerifyingKey, Context, Mu, MuBuilder, PreHash};
use sha2::Digest;
use sha3::digest::{ExtendableOutput, Update, XofReader};

use crate::file::input::{self, read_small, without_mark};
use crate::file::paths::Files;
use crate::file::text::{exactly, from_base64, from_hex};
use crate::key::KeyArgs;
use crate::lines::request::{check_strength, hash_from_name};

/// Key and message of a command.
#[derive(clap::Args)]
#[command(group = ArgGroup::new("context").multiple(false))]
pub(crate) struct MessageArgs {
    #[command(flatten)]
    pub(crate) key: KeyArgs,

    /// The message; - is standard input
    #[arg(default_value = "-")]
    file: PathBuf,

    /// Context, as text
    #[arg(long, value_name = "TEXT", group = "context")]
    ctx: Option<String>,

    /// Context, in hexadecimal digits
    #[arg(long, value_name = "HEX", group = "context", value_parser = parse_hex)]
    ctx_hex: Option<HexArg>,

    /// HashML-DSA: hash the message with HASH first (SHA2-512, SHAKE-256, ..)
    #[arg(long, value_name = "HASH", value_parser = parse_hash)]
    prehash: Option<PreHash>,

    /// Accept a hash that is weaker than the parameter set
    #[arg(long, requires = "prehash")]
    allow_weak_prehash: bool,
}

#[derive(Clone)]
struct HexArg(Vec<u8>);

fn parse_hex(text: &str) -> Result<HexArg, &'static str> {
    match from_hex(text.as_bytes()) {
        Some(bytes) => Ok(HexArg(bytes.to_vec())),
        None if text.is_empty() => Ok(HexArg(Vec::new())),
        None => Err("not hexadecimal"),
    }
}

/// Ignores the case of letters.
fn parse_hash(name: &str) -> Result<PreHash, String> {
    hash_from_name(&name.to_ascii_uppercase())
}

impl MessageArgs {
    pub(crate) fn files(&self) -> Files<'_> {
        self.key.files().read([&*self.file])
    }

    /// Returns the context, at most 255 bytes, or `None` if it is longer.
    pub(crate) fn context(&self) -> Option<Context<'_>> {
        let bytes = match (&self.ctx, &self.ctx_hex) {
            (Some(text), _) => text.as_bytes(),
            (None, Some(HexArg(bytes))) => bytes,
            (None, None) => &[],
        };
        Context::new(bytes).ok()
    }

    /// Reads a finished `mu`: 64 bytes, or 128 hexadecimal digits.
    pub(crate) fn read_mu(&self) -> io::Result<Mu> {
        let mu = exactly(&self.file, &read_small(&self.file)?, "mu")?;
        Ok(Mu::from_bytes(*mu))
    }

    /// Hashes the message to `mu` under `key`.
    pub(crate) fn mu(&self, key: &AnyVerifyingKey) -> io::Result<Mu> {
        let context = self
            .context()
            .ok_or_else(|| io::Error::other("context longer than 255 bytes"))?;
        let Some(hash) = self.prehash else {
            let mut mu = MuBuilder::from_tr(key.tr(), context);
            self.stream(|piece| mu.update(piece))?;
            return Ok(mu.finish());
        };
        if !self.allow_weak_prehash {
            check_strength(key.set(), hash).map_err(io::Error::other)?;
        }
        let digest = self.digest(hash)?;
        key.prehashed_mu_allow_weak(hash, &digest, context)
            .map_err(io::Error::other)
    }

    fn digest(&self, hash: PreHash) -> io::Result<Vec<u8>> {
        match hash {
            PreHash::Sha2_224 => self.fixed::<sha2::Sha224>(),
            PreHash::Sha2_256 => self.fixed::<sha2::Sha256>(),
            PreHash::Sha2_384 => self.fixed::<sha2::Sha384>(),
            PreHash::Sha2_512 => self.fixed::<sha2::Sha512>(),
            PreHash::Sha2_512_224 => self.fixed::<sha2::Sha512_224>(),
            PreHash::Sha2_512_256 => self.fixed::<sha2::Sha512_256>(),
            PreHash::Sha3_224 => self.fixed::<sha3::Sha3_224>(),
            PreHash::Sha3_256 => self.fixed::<sha3::Sha3_256>(),
            PreHash::Sha3_384 => self.fixed::<sha3::Sha3_384>(),
            PreHash::Sha3_512 => self.fixed::<sha3::Sha3_512>(),
            PreHash::Shake128 => self.extendable::<sha3::Shake128>(hash),
            PreHash::Shake256 => self.extendable::<sha3::Shake256>(hash),
        }
    }

    fn fixed<D: Digest>(&self) -> io::Result<Vec<u8>> {
        let mut hash = D::new();
        self.stream(|piece| Digest::update(&mut hash, piece))?;
        Ok(hash.finalize().to_vec())
    }

    fn extendable<D: Default + Update + ExtendableOutput>(
        &self,
        hash: PreHash,
    ) -> io::Result<Vec<u8>> {
        let mut state = D::default();
        self.stream(|piece| state.update(piece))?;
        let mut digest = vec![0; hash.digest_len()];
        state.finalize_xof().read(&mut digest);
        Ok(digest)
    }

    /// Feeds the message to `sink`, piece by piece.
    fn stream(&self, mut sink: impl FnMut(&[u8])) -> io::Result<()> {
        let mut source = input::open(&self.file)?;
        let mut buffer = vec![0; 1 << 16];
        loop {
            match source.read(&mut buffer) {
                Ok(0) => return Ok(()),
                Ok(len) => sink(&buffer[..len]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(input::named(&self.file, &error)),
            }
        }
    }
}

/// Reads a signature file: raw, or hex or base64 if the length says so.
pub(crate) fn read_signature(path: &Path, len: usize) -> io::Result<Vec<u8>> {
    let bytes = read_small(path)?;
    let text = without_mark(&bytes);
    let is_prefixed = text.starts_with(b"0x") || text.starts_with(b"0X");
    let decoded = match from_hex(text) {
        _ if bytes.len() == len => None,
        None if is_prefixed && from_hex(&text[2..]).is_some() => {
            let why = "hexadecimal digits after 0x: leave 0x out";
            return Err(input::unusable(path, why));
        }
        None => from_base64(text).filter(|decoded| decoded.len() == len),
        digits => digits,
    };
    Ok(decoded.unwrap_or(bytes).to_vec())
}
