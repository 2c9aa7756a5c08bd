//! Key and message in a flash of `embedded-storage`. Their hashes are checked on each pass, so that a flash that fails,
//! lies or changes between two passes is an error.

use embedded_storage::nor_flash::{NorFlashError, NorFlashErrorKind, ReadNorFlash};
use mldsa_lowmem::{
    Context, Mu, MuBuilder, ParameterSet, PrivateKey, Randomness, SignError, SigningKey, Slice,
    SliceMemory, SlicedSigner, Tier,
};
use sha2::{Digest, Sha256};
use zeroize::{Zeroize, Zeroizing};

/// The offset of the message: seed and `tr`, SHA-256 of both, and that of the message come before.
pub const MESSAGE: u32 = 160;

/// Why nothing was signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// A read failed.
    Read(NorFlashErrorKind),
    /// Key or message do not have their hash.
    Damaged,
    /// A second pass has found another key or message.
    Changed,
    /// Signing failed.
    Sign(SignError),
}

fn read<F: ReadNorFlash>(flash: &mut F, offset: u32, out: &mut [u8]) -> Result<(), Error> {
    // Every read is aligned.
    const { assert!(32 % F::READ_SIZE == 0) }
    let read = flash.read(offset, out);
    read.map_err(|error| Error::Read(error.kind()))
}

/// Reads the private key.
fn key<P: ParameterSet, F: ReadNorFlash>(flash: &mut F) -> Result<SigningKey<P>, Error> {
    let mut bytes = Zeroizing::new([0; 128]);
    read(flash, 0, &mut bytes[..])?;
    let (seed_and_tr, hash) = bytes.split_at(96);
    let Some((seed, tr)) = seed_and_tr.split_first_chunk() else {
        return Err(Error::Damaged);
    };
    match tr.first_chunk() {
        Some(tr) if Sha256::digest(seed_and_tr)[..] == *hash => {
            Ok(SigningKey::from_seed_and_tr(seed, tr))
        }
        _ => Err(Error::Damaged),
    }
}

/// Reads the message, in pieces, and returns its `mu`.
fn mu<F: ReadNorFlash>(flash: &mut F, len: u32, tr: &[u8; 64]) -> Result<Mu, Error> {
    let mut expected = [0; 32];
    read(flash, MESSAGE - 32, &mut expected)?;
    let mut mu = MuBuilder::from_tr(tr, Context::EMPTY);
    let mut hash = Sha256::new();
    let mut piece = [0; 64];
    for at in (0..len).step_by(piece.len()) {
        let left = piece.len().min((len - at) as usize);
        let at = MESSAGE.checked_add(at);
        let at = at.ok_or(Error::Read(NorFlashErrorKind::OutOfBounds))?;
        read(flash, at, &mut piece[..left.next_multiple_of(F::READ_SIZE)])?;
        mu.update(&piece[..left]);
        hash.update(&piece[..left]);
    }
    if hash.finalize()[..] == expected {
        Ok(mu.finish())
    } else {
        Err(Error::Damaged)
    }
}

/// Signs the message in the flash in slices, after each of which other tasks run. Key and message are read a
/// second time before the signature is released: `out` is zero after an error.
pub async fn sign<P: ParameterSet, T: Tier<P>, F: ReadNorFlash>(
    flash: &mut F,
    len: u32,
    rnd: &[u8; 32],
    memory: &mut SliceMemory<P, SigningKey<P>, T>,
    out: &mut [u8],
) -> Result<(), Error> {
    let outcome = sign_twice_read(flash, len, rnd, memory, out).await;
    if outcome.is_err() {
        out.zeroize();
    }
    outcome
}

async fn sign_twice_read<P: ParameterSet, T: Tier<P>, F: ReadNorFlash>(
    flash: &mut F,
    len: u32,
    rnd: &[u8; 32],
    memory: &mut SliceMemory<P, SigningKey<P>, T>,
    out: &mut [u8],
) -> Result<(), Error> {
    let first = key::<P, F>(flash)?;
    let signed = mu(flash, len, first.tr())?;
    let rnd = Randomness::Hedged(rnd);
    let mut signer = SlicedSigner::new(&first, memory, &signed, rnd, out).map_err(Error::Sign)?;
    while signer.step().map_err(Error::Sign)? != Slice::Finished {
        embassy_futures::yield_now().await;
    }
    let changed = |error| match error {
        Error::Damaged => Error::Changed,
        error => error,
    };
    let second = key::<P, F>(flash).map_err(changed)?;
    if second.tr() != first.tr() || mu(flash, len, first.tr()).map_err(changed)? != signed {
        return Err(Error::Changed);
    }
    Ok(())
}
