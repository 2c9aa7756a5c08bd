//! Verifies that a firmware image is in a transparency log, on a Cortex-M4 with 4 KiB of RAM: a proof of
//! c2sp.org/tlog-proof with a checkpoint that the log signed with ML-DSA-44 (tlog-cosignature). Image and proof
//! are read in place, in flash: the signature is decoded from base64 wherever verification reads it, and the
//! path one hash at a time. `build.rs` makes the log, the proof and wrong ones with `mldsa-tlog`.
//!
//! Prints a line of JSON per proof, and RAM as the linker and a watermark count it, output included. The exit
//! code is not zero if a verdict is another one than expected.
#![no_std]
#![no_main]

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use boards::{Meter, Use, exit, flash, println, statics};
use cortex_m_rt::entry;
use mldsa_lowmem::{
    Context, MlDsa44, Mu, MuBuilder, ParameterSet, Reader, ReaderError, VerifyingKey,
};
use mldsa_tlog::{Checkpoint, Error, Note, ProofLines, SignedMessage, Subtree, leaf_hash, root_of};

/// Bytes of RAM of the part.
const RAM: usize = 4096;

/// The key of the log that the device trusts, in flash.
struct Log {
    /// The name of the key and, as a log signs its own checkpoints, the origin of these.
    name: &'static str,
    /// The ID of the key.
    id: [u8; 4],
    key: &'static [u8; MlDsa44::PK_LEN],
    /// The hash of the key.
    tr: [u8; 64],
}

/// A proof, and the verdict that it has to get.
struct Case {
    name: &'static str,
    image: &'static [u8],
    proof: &'static [u8],
    expected: Result<u64, Refusal>,
}

// LOG and CASES.
include!(concat!(env!("OUT_DIR"), "/tlog.rs"));

/// Why an image is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Refusal {
    /// The proof is not well formed, the path does not lead to the root, or the log has not signed.
    Proof(Error),
    /// The checkpoint is of another log.
    Origin,
    /// The signature is invalid.
    Signature,
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self::Proof(error)
    }
}

/// The part after time of a cosignature, decoded where it is read.
struct Signature<'a>(&'a str);

/// A read past the end, or bytes that are not base64, which [`Note::parse`] excludes.
struct ReadError;

impl Reader for Signature<'_> {
    type Error = ReadError;

    fn size(&self) -> usize {
        base64::decoded_len_estimate(self.0.len())
            - self.0.bytes().rev().take(2).filter(|&c| c == b'=').count()
    }

    fn read(&mut self, offset: usize, mut out: &mut [u8]) -> Result<(), ReadError> {
        let mut at = offset;
        while !out.is_empty() {
            let text = self.0.as_bytes().get(at / 3 * 4..).ok_or(ReadError)?;
            let mut bytes = [0; 48];
            let text = &text[..text.len().min(64)];
            let len = BASE64
                .decode_slice(text, &mut bytes)
                .map_err(|_| ReadError)?;
            let bytes = bytes[..len].get(at % 3..).ok_or(ReadError)?;
            let len = bytes.len().min(out.len());
            if len == 0 {
                return Err(ReadError);
            }
            let (head, tail) = out.split_at_mut(len);
            head.copy_from_slice(&bytes[..len]);
            (at, out) = (at + len, tail);
        }
        Ok(())
    }
}

/// Verifies that `image` is in the log, and returns the size of the tree. Each step has a frame of its own, which
/// ends before the next one begins.
#[inline(never)]
fn verify(log: &Log, proof: &[u8], image: &[u8]) -> Result<u64, Refusal> {
    let mut mu = Mu::from_bytes([0; 64]);
    let (size, signature) = claimed(log, proof, image, &mut mu)?;
    let (mut key, mut signature) = (Flash(log.key), Signature(signature));
    match VerifyingKey::<MlDsa44>::verify_mu_from(&mut key, &log.tr, &mu, &mut signature) {
        Ok(()) => Ok(size),
        Err(ReaderError::Invalid(_)) => Err(Refusal::Signature),
        Err(_) => Err(Error::Malformed("cosignature").into()),
    }
}

/// Returns the size of the tree, what the log has to have signed, and its signature in base64.
#[inline(never)]
fn claimed<'a>(
    log: &Log,
    proof: &'a [u8],
    image: &[u8],
    mu: &mut Mu,
) -> Result<(u64, &'a str), Refusal> {
    let (tree, encoded) = included(log, proof, image)?;
    // ID and time, without padding.
    let (start, signature) = encoded.split_at_checked(16).unwrap_or_default();
    *mu = signed(log, &tree, start)?;
    Ok((tree.end, signature))
}

/// Verifies that `image` is in the tree of the checkpoint, and returns the tree and the signature of the log.
#[inline(never)]
fn included<'a>(log: &Log, proof: &'a [u8], image: &[u8]) -> Result<(Subtree, &'a str), Refusal> {
    let proof = ProofLines::parse(proof)?;
    let note = Note::parse(proof.note.as_bytes())?;
    let line = note.signature_of(log.name, log.id);
    let encoded = line.ok_or(Error::NotSigned)?.encoded();
    let checkpoint = Checkpoint::parse(note.text())?;
    if checkpoint.origin != log.name {
        return Err(Refusal::Origin);
    }
    let leaf = leaf_hash(image);
    if root_of(0, checkpoint.size, proof.index, &leaf, proof.hashes())? != checkpoint.root {
        return Err(Error::Proof.into());
    }
    Ok((checkpoint.tree(), encoded))
}

/// Returns what the log has to have signed about the tree.
#[inline(never)]
fn signed(log: &Log, tree: &Subtree, start: &str) -> Result<Mu, Refusal> {
    let mut bytes = [0; 12];
    let len = BASE64.decode_slice(start, &mut bytes);
    let time = bytes.last_chunk().filter(|_| len == Ok(12));
    let time = u64::from_be_bytes(*time.ok_or(Error::Malformed("cosignature"))?);
    let message = SignedMessage::new(log.name, time, log.name, tree)?;
    let mut mu = MuBuilder::from_tr(&log.tr, Context::EMPTY);
    mu.update(message.as_ref());
    Ok(mu.finish())
}

/// The key, which is a slice.
struct Flash<'a>(&'a [u8]);

impl Reader for Flash<'_> {
    type Error = ReadError;

    fn size(&self) -> usize {
        self.0.len()
    }

    fn read(&mut self, offset: usize, out: &mut [u8]) -> Result<(), ReadError> {
        let bytes = self.0.get(offset..).and_then(|rest| rest.get(..out.len()));
        out.copy_from_slice(bytes.ok_or(ReadError)?);
        Ok(())
    }
}

#[inline(never)]
fn report(case: &Case, verdict: Result<u64, Refusal>, used: Use) {
    println!(
        "{{\"proof\":\"{}\",\"verdict\":\"{:?}\",\"expected\":\"{:?}\",\"stack\":{},\"instructions\":{}}}",
        case.name, verdict, case.expected, used.stack, used.instructions
    );
}

#[entry]
fn main() -> ! {
    let meter = Meter::mps2();
    let mut kept = true;
    for case in CASES {
        let mut verdict = Err(Refusal::Origin);
        let used = meter.measure(|| verdict = verify(&LOG, case.proof, case.image));
        kept &= verdict == case.expected;
        report(case, verdict, used);
    }
    let ram = statics() + meter.deepest();
    println!(
        "{{\"flash\":{},\"static_ram\":{},\"ram\":{},\"of\":{}}}",
        flash(),
        statics(),
        ram,
        RAM
    );
    exit(i32::from(!(kept && ram <= RAM)))
}
