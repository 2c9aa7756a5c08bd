//! Merkle Tree Certificates: certificates whose signature is a path into a log that cosigners have signed.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::ops::RangeInclusive;

use mldsa_core::pkcs8::der::asn1::{AnyRef, ObjectIdentifier, Utf8StringRef};
use mldsa_core::pkcs8::der::{Decode, Reader, SliceReader, Tag, Tagged};
use mldsa_core::{AnyPreparedVerifyingKey, AnyVerifyingKey, Context};
use mldsa_tlog::{Hash, SignedMessage, Subtree, root_of};
use rustls::pki_types::{
    AlgorithmIdentifier, InvalidSignature, SignatureVerificationAlgorithm, alg_id,
};
use sha2::{Digest, Sha256};

use crate::{usage, verify};

/// 1.3.6.1.4.1.44363.47.0, which stands for `id-alg-mtcProof` while the draft is one.
const PROOF: &[u8] = &[6, 10, 43, 6, 1, 4, 1, 0x82, 0xda, 0x4b, 47, 0];
/// The attribute of an issuer that holds the ID of the authority.
const AUTHORITY: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.4.1.44363.47.1");

/// Merkle Tree Certificates of draft-ietf-plants-merkle-tree-certs-05, experimental: what a relying party trusts, as an algorithm
/// for webpki. Append it to the list `all` of a provider.
///
/// The trust anchor is the certificate of the authority, with a key of ML-DSA-44, and its key verifies the authority's
/// own cosignature. Cosigners have keys of any set of ML-DSA. Signatures of cosigners that are not known, of other
/// algorithms or invalid do not count. IDs are trust anchor IDs, such as `32473.2`.
#[derive(Default)]
pub struct MerkleTreeCertificates {
    cosigners: Vec<Cosigner>,
    quorum: usize,
    subtrees: Vec<(String, u16, Subtree)>,
    revoked: Vec<(String, RangeInclusive<u64>)>,
}

impl MerkleTreeCertificates {
    /// Requires `quorum` cosignatures besides that of the authority.
    #[must_use]
    pub fn new(quorum: usize) -> Self {
        Self {
            quorum,
            ..Self::default()
        }
    }

    /// Adds a cosigner. One whose ID or key is already there, or whose ID is none, changes nothing.
    #[must_use]
    pub fn with_cosigner(mut self, id: &str, key: &AnyVerifyingKey) -> Self {
        let new = |binary: &Vec<u8>| {
            let mut known = self.cosigners.iter();
            known.all(|known| known.id != *binary && known.key != *key)
        };
        if let Some(binary) = binary(id).filter(new) {
            self.cosigners.push(Cosigner {
                id: binary,
                text: id.into(),
                key: key.clone(),
                prepared: key.prepare(),
            });
        }
        self
    }

    /// Trusts a subtree, such as a landmark, of a log of an authority: certificates in it need no cosignatures.
    #[must_use]
    pub fn with_trusted_subtree(mut self, authority: &str, log: u16, subtree: Subtree) -> Self {
        self.subtrees.push((authority.into(), log, subtree));
        self
    }

    /// Refuses certificates of an authority with these serial numbers: 2^48 times the log, plus the index.
    #[must_use]
    pub fn with_revoked(mut self, authority: &str, serials: RangeInclusive<u64>) -> Self {
        self.revoked.push((authority.into(), serials));
        self
    }

    fn check(&self, key: &[u8], certificate: &[u8], signature: &[u8]) -> Option<()> {
        let entry = Entry::parse(certificate)?;
        let proof = Proof::parse(signature)?;
        let (log, index) = (
            u16::try_from(entry.serial >> 48).ok()?,
            entry.serial & ((1 << 48) - 1),
        );
        let authority = entry.authority;
        let revoked = |(id, serials): &(String, RangeInclusive<u64>)| {
            id == authority && serials.contains(&entry.serial)
        };
        if log == 0 || self.revoked.iter().any(revoked) {
            return None;
        }
        let leaf = entry.hash(proof.extensions);
        let path = proof.path.iter().copied();
        let hash = root_of(proof.start, proof.end, index, &leaf, path).ok()?;
        let subtree = Subtree {
            start: proof.start,
            end: proof.end,
            hash,
        };
        let same = |(id, of, known): &&(String, u16, Subtree)| {
            id == authority
                && *of == log
                && (known.start, known.end) == (subtree.start, subtree.end)
        };
        if let Some((.., known)) = self.subtrees.iter().find(same) {
            return (known.hash == hash).then_some(());
        }
        let origin = format!("oid/1.3.6.1.4.1.{authority}.0.{log}");
        let message =
            |id| SignedMessage::new(&format!("oid/1.3.6.1.4.1.{id}"), 0, &origin, &subtree).ok();
        let own = binary(authority)?;
        let (mut by_authority, mut others) = (false, 0);
        // Each cosigner stands there once, so that known keys bound the work.
        for (id, signature) in proof.cosignatures {
            if id == own {
                by_authority = verify::SMALL
                    .verify_issued(key, message(authority)?.as_ref(), signature)
                    .is_ok();
            } else if let Some(known) = self.cosigners.iter().find(|known| known.id == id) {
                let message = message(&known.text)?;
                let verdict =
                    known
                        .prepared
                        .verify_with_context(message.as_ref(), Context::EMPTY, signature);
                // The authority does not vouch for itself under another ID.
                others += usize::from(verdict.is_ok() && known.key.as_ref() != key);
            }
        }
        (by_authority && others >= self.quorum).then_some(())
    }
}

impl SignatureVerificationAlgorithm for MerkleTreeCertificates {
    fn verify_signature(
        &self,
        key: &[u8],
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), InvalidSignature> {
        if !usage::permits(message).unwrap_or(false) {
            return Err(InvalidSignature);
        }
        self.check(key, message, signature).ok_or(InvalidSignature)
    }

    fn public_key_alg_id(&self) -> AlgorithmIdentifier {
        alg_id::ML_DSA_44
    }

    fn signature_alg_id(&self) -> AlgorithmIdentifier {
        AlgorithmIdentifier::from_slice(PROOF)
    }
}

impl fmt::Debug for MerkleTreeCertificates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MerkleTreeCertificates")
    }
}

struct Cosigner {
    id: Vec<u8>,
    text: String,
    key: AnyVerifyingKey,
    prepared: AnyPreparedVerifyingKey,
}

/// The parts of a certificate that its entry in the log is made of.
struct Entry<'a> {
    serial: u64,
    authority: &'a str,
    version: &'a [u8],
    /// Issuer, validity and subject.
    names: &'a [u8],
    spki: &'a [u8],
    algorithm: &'a [u8],
    /// All that follows the key.
    rest: &'a [u8],
}

impl<'a> Entry<'a> {
    fn parse(certificate: &'a [u8]) -> Option<Self> {
        let content = AnyRef::from_der(certificate).ok()?;
        content.tag().assert_eq(Tag::Sequence).ok()?;
        let content = content.value();
        let mut reader = SliceReader::new(content).ok()?;
        // Where each of the fields ends.
        let mut ends = [0; 7];
        for end in &mut ends {
            AnyRef::decode(&mut reader).ok()?;
            *end = usize::try_from(reader.position()).ok()?;
        }
        let part = |from: usize, to: usize| &content[ends[from]..ends[to]];
        if part(1, 2).get(2..) != Some(PROOF) {
            return None; // The algorithm is not that of a proof.
        }
        let mut name = usage::fields(part(2, 3)).ok()?;
        let set = AnyRef::decode(&mut name).ok()?;
        set.tag().assert_eq(Tag::Set).ok()?;
        let mut attribute = usage::fields(set.value()).ok()?;
        let kind = ObjectIdentifier::decode(&mut attribute).ok()?;
        let authority = Utf8StringRef::decode(&mut attribute).ok()?.as_str();
        if kind != AUTHORITY || !name.is_finished() || !attribute.is_finished() {
            return None;
        }
        let spki = part(5, 6);
        let mut algorithm = usage::fields(spki).ok()?;
        let header = spki.len() - usize::try_from(algorithm.remaining_len()).ok()?;
        AnyRef::decode(&mut algorithm).ok()?;
        Some(Self {
            serial: u64::from_der(part(0, 1)).ok()?,
            authority,
            version: &content[..ends[0]],
            names: part(2, 5),
            spki,
            algorithm: &spki[header..header + usize::try_from(algorithm.position()).ok()?],
            rest: &content[ends[6]..],
        })
    }

    /// Returns the hash of the leaf: the certificate without serial number and algorithm, and with a hash instead of the key.
    fn hash(&self, extensions: &[u8]) -> Hash {
        Sha256::new()
            .chain_update([0])
            .chain_update(extensions)
            .chain_update([0, 1])
            .chain_update(self.version)
            .chain_update(self.names)
            .chain_update(self.algorithm)
            .chain_update([4, 32])
            .chain_update(Sha256::digest(self.spki))
            .chain_update(self.rest)
            .finalize()
            .into()
    }
}

/// The content of a signature (`MTCProof`).
struct Proof<'a> {
    /// With their length.
    extensions: &'a [u8],
    start: u64,
    end: u64,
    path: &'a [Hash],
    /// IDs and signatures, in ascending order of the IDs.
    cosignatures: Vec<(&'a [u8], &'a [u8])>,
}

impl<'a> Proof<'a> {
    fn parse(proof: &'a [u8]) -> Option<Self> {
        let mut rest = proof;
        let extensions = &proof[..2 + vector(&mut rest, 2)?.len()];
        let (start, end) = (number(&mut rest, 6)?, number(&mut rest, 6)?);
        let (path, odd) = vector(&mut rest, 2)?.as_chunks();
        let mut signatures = vector(&mut rest, 2)?;
        if !rest.is_empty() || !odd.is_empty() {
            return None;
        }
        let mut cosignatures: Vec<(&[u8], &[u8])> = Vec::new();
        while !signatures.is_empty() {
            let (id, signature) = (vector(&mut signatures, 1)?, vector(&mut signatures, 2)?);
            let last = cosignatures.last().map_or(&[][..], |last| last.0);
            if (id.len(), id) <= (last.len(), last) {
                return None;
            }
            cosignatures.push((id, signature));
        }
        Some(Self {
            extensions,
            start,
            end,
            path,
            cosignatures,
        })
    }
}

fn number(rest: &mut &[u8], len: usize) -> Option<u64> {
    let (number, after) = rest.split_at_checked(len)?;
    *rest = after;
    Some(
        number
            .iter()
            .fold(0, |number, byte| (number << 8) | u64::from(*byte)),
    )
}

/// Reads bytes after their length, which has `prefix` bytes.
fn vector<'a>(rest: &mut &'a [u8], prefix: usize) -> Option<&'a [u8]> {
    let len = usize::try_from(number(rest, prefix)?).ok()?;
    let (bytes, after) = rest.split_at_checked(len)?;
    *rest = after;
    Some(bytes)
}

/// Encodes a trust anchor ID: arcs to the base of 128. Returns nothing for a text in another form.
fn binary(id: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    for text in id.split('.') {
        let arc: u32 = text.parse().ok()?;
        if format!("{arc}") != text {
            return None;
        }
        let groups = (0..5)
            .rev()
            .filter(|group| *group == 0 || arc >> (7 * group) != 0);
        bytes.extend(groups.map(|group| {
            let more = if group == 0 { 0 } else { 0x80 };
            ((arc >> (7 * group)) & 0x7f) as u8 | more
        }));
    }
    Some(bytes)
}
