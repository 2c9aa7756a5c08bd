//! The twelve hashes of HashML-DSA, from the `sha2` and `sha3` crates.

use sha2::Digest;
use sha3::digest::{ExtendableOutput, Update, XofReader};

/// One hash function with its ACVP name and object identifier.
pub struct Hash {
    /// ACVP name.
    pub name: &'static str,
    /// DER encoding of the object identifier.
    pub oid: [u8; 11],
    /// Bytes of a digest; for the XOFs the length FIPS 204 fixes.
    pub len: usize,
    compute: fn(&[u8]) -> Vec<u8>,
}

impl Hash {
    /// The hash of this ACVP name.
    ///
    /// # Panics
    /// On any other name: vector files name nothing else.
    #[must_use]
    pub fn named(name: &str) -> &'static Self {
        HASHES
            .iter()
            .find(|hash| hash.name == name)
            .unwrap_or_else(|| panic!("unknown hash {name}"))
    }

    /// Digest of a message.
    #[must_use]
    pub fn digest(&self, message: &[u8]) -> Vec<u8> {
        (self.compute)(message)
    }

    const fn new(name: &'static str, last: u8, len: usize, compute: fn(&[u8]) -> Vec<u8>) -> Self {
        Self {
            name,
            oid: [
                0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, last,
            ],
            len,
            compute,
        }
    }
}

impl core::fmt::Debug for Hash {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.name)
    }
}

/// All twelve, by the last byte of the object identifier (1 to 12).
pub static HASHES: [Hash; 12] = [
    Hash::new("SHA2-256", 1, 32, fixed::<sha2::Sha256>),
    Hash::new("SHA2-384", 2, 48, fixed::<sha2::Sha384>),
    Hash::new("SHA2-512", 3, 64, fixed::<sha2::Sha512>),
    Hash::new("SHA2-224", 4, 28, fixed::<sha2::Sha224>),
    Hash::new("SHA2-512/224", 5, 28, fixed::<sha2::Sha512_224>),
    Hash::new("SHA2-512/256", 6, 32, fixed::<sha2::Sha512_256>),
    Hash::new("SHA3-224", 7, 28, fixed::<sha3::Sha3_224>),
    Hash::new("SHA3-256", 8, 32, fixed::<sha3::Sha3_256>),
    Hash::new("SHA3-384", 9, 48, fixed::<sha3::Sha3_384>),
    Hash::new("SHA3-512", 10, 64, fixed::<sha3::Sha3_512>),
    Hash::new("SHAKE-128", 11, 32, |message| shake128(&[message], 32)),
    Hash::new("SHAKE-256", 12, 64, |message| shake256(&[message], 64)),
];

fn fixed<D: Digest>(message: &[u8]) -> Vec<u8> {
    D::digest(message).to_vec()
}

/// SHA-256 of the concatenation.
#[must_use]
pub fn sha256(parts: &[&[u8]]) -> Vec<u8> {
    let mut hasher = sha2::Sha256::new();
    parts
        .iter()
        .for_each(|part| Digest::update(&mut hasher, part));
    hasher.finalize().to_vec()
}

/// SHAKE128 of the concatenation.
#[must_use]
pub fn shake128(parts: &[&[u8]], len: usize) -> Vec<u8> {
    squeeze(sha3::Shake128::default(), parts, len)
}

/// SHAKE256 of the concatenation: `H` of FIPS 204.
#[must_use]
pub fn shake256(parts: &[&[u8]], len: usize) -> Vec<u8> {
    squeeze(sha3::Shake256::default(), parts, len)
}

fn squeeze<X: Update + ExtendableOutput>(mut xof: X, parts: &[&[u8]], len: usize) -> Vec<u8> {
    parts.iter().for_each(|part| xof.update(part));
    let mut out = vec![0; len];
    xof.finalize_xof().read(&mut out);
    out
}

/// SHAKE128 as an endless source of bytes.
pub struct Source(Box<dyn XofReader>);

impl Source {
    /// The stream for this input.
    #[must_use]
    pub fn new(input: &[u8]) -> Self {
        let mut xof = sha3::Shake128::default();
        xof.update(input);
        Self(Box::new(xof.finalize_xof()))
    }

    /// The next bytes.
    pub fn bytes(&mut self, len: usize) -> Vec<u8> {
        let mut out = vec![0; len];
        self.0.read(&mut out);
        out
    }

    /// The next 32 bytes, the size of a seed and of `rnd`.
    pub fn array(&mut self) -> [u8; 32] {
        let mut out = [0; 32];
        self.0.read(&mut out);
        out
    }

    /// One byte that is a length, then so many bytes.
    pub fn short_string(&mut self) -> Vec<u8> {
        let len = self.bytes(1)[0];
        self.bytes(usize::from(len))
    }
}

impl core::fmt::Debug for Source {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Source")
    }
}

/// SHAKE128 as a sink, read once at the end.
#[derive(Debug, Default)]
pub struct Sink(sha3::Shake128);

impl Sink {
    /// Absorb.
    pub fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The first 32 bytes of output, in hex.
    #[must_use]
    pub fn hex(self) -> String {
        let mut out = [0; 32];
        self.0.finalize_xof().read(&mut out);
        hex::encode(out)
    }
}
