//! What a boot loader decides about an image, from bytes alone.
//!
//! | offset in the slot | bytes | contents |
//! |--:|--:|---|
//! | 0 | 1312 | public key of ML-DSA-44 |
//! | 1312 | 2420 | signature over the rest, with the context `secure-boot/1` |
//! | 3732 | 8 | magic |
//! | 3740 | 4 | rollback counter, little-endian |
//! | 3744 | 4 | length of the image, little-endian |
//! | 3748 | 348 | zeros |
//! | 4096 | | image, which begins with its vector table |

use mldsa_lowmem::{Context, MlDsa44, ParameterSet, VerifyingKey};

/// The offset of what is signed.
pub const SIGNED: usize = MlDsa44::PK_LEN + MlDsa44::SIG_LEN;
/// The offset of the image: vector tables have to be aligned.
pub const IMAGE: usize = 4096;
const MAGIC: [u8; 8] = *b"MLDSAFW1";

/// What the part was given in the factory, and since then.
#[derive(Clone, Copy)]
pub struct Otp {
    /// The hash `tr` of the public key.
    pub key_hash: [u8; 64],
    /// Bits that are set once: their number is the least counter that may run.
    pub counter: [u32; 8],
}

impl Otp {
    pub fn least_counter(&self) -> u32 {
        self.counter.iter().map(|word| word.count_ones()).sum()
    }

    /// Returns the bits of a counter.
    pub fn bits(counter: u32) -> [u32; 8] {
        core::array::from_fn(|n| match counter.saturating_sub(32 * n as u32) {
            bits @ 0..32 => (1 << bits) - 1,
            _ => u32::MAX,
        })
    }
}

/// Why an image does not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The slot is too short for the header or for the length that it names, or the image for a vector table.
    Length,
    /// The key has another hash.
    Key,
    /// The signature is invalid.
    Signature,
    /// What is signed is no image, or its first instruction is outside of it.
    Format,
    /// The counter is below that of an image that ran, or cannot be stored.
    Counter,
}

/// An image that may run.
#[derive(Debug, PartialEq, Eq)]
pub struct Image<'a> {
    pub bytes: &'a [u8],
    pub counter: u32,
}

/// Decides whether the image in `slot`, which is at `address`, may run. Nothing but lengths is taken from the
/// header before the signature has been verified.
#[inline(never)]
pub fn decide<'a>(slot: &'a [u8], address: u32, otp: &Otp) -> Result<Image<'a>, Refusal> {
    let word = |at: usize| {
        let bytes = slot.get(at..).and_then(|rest| rest.first_chunk());
        Some(u32::from_le_bytes(*bytes?))
    };
    let len = word(SIGNED + 12).ok_or(Refusal::Length)? as usize;
    let end = IMAGE.checked_add(len).ok_or(Refusal::Length)?;
    let slot = slot
        .get(..end)
        .filter(|_| len >= 8)
        .ok_or(Refusal::Length)?;
    let (key, rest) = slot.split_at(MlDsa44::PK_LEN);
    let (signature, signed) = rest.split_at(MlDsa44::SIG_LEN);

    let key = VerifyingKey::<MlDsa44>::from_bytes(key).map_err(|_| Refusal::Length)?;
    if key.tr() != otp.key_hash {
        return Err(Refusal::Key);
    }
    let context = Context::new(b"secure-boot/1").map_err(|_| Refusal::Format)?;
    key.verify_with_context(signed, context, signature)
        .map_err(|_| Refusal::Signature)?;

    let entry = word(IMAGE + 4)
        .ok_or(Refusal::Length)?
        .wrapping_sub(address) as usize;
    if !signed.starts_with(&MAGIC) || entry.is_multiple_of(2) || !(IMAGE..end).contains(&entry) {
        return Err(Refusal::Format);
    }
    let counter = word(SIGNED + 8).ok_or(Refusal::Length)?;
    if !(otp.least_counter()..=256).contains(&counter) {
        return Err(Refusal::Counter);
    }
    let bytes = &slot[IMAGE..];
    Ok(Image { bytes, counter })
}
