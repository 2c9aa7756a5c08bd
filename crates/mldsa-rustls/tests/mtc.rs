//! Merkle Tree Certificates that the test issues: cosignatures, trusted subtrees, revoked serial numbers, and changes
//! of every byte.

#[path = "../examples/tls/issue.rs"]
#[allow(dead_code, reason = "the tests share it")]
mod issue;

use core::ops::{Range, RangeInclusive};
use core::time::Duration;

use issue::{Chain, Plan};
use mldsa_core::{AnySigningKey, Context, MlDsa44, Set, SigningKey};
use mldsa_rustls::MerkleTreeCertificates;
use mldsa_tlog::{Hash, SignedMessage, Subtree, leaf_hash, node_hash};
use rustls::pki_types::{
    CertificateDer, Der, SignatureVerificationAlgorithm, TrustAnchor, UnixTime,
};
use webpki::{EndEntityCert, KeyUsage};
use x509_cert::Certificate;
use x509_cert::der::{Decode, Encode};

/// An element of DER.
fn element(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let content = parts.concat();
    let len = u16::try_from(content.len()).unwrap().to_be_bytes();
    let header = match content.len() {
        0..128 => vec![tag, len[1]],
        128..256 => vec![tag, 0x81, len[1]],
        _ => vec![tag, 0x82, len[0], len[1]],
    };
    [header, content].concat()
}

/// The IDs 32473.2, of the authority, and 32473.2.2 to 32473.2.4.
const IDS: [&[u8]; 4] = [
    &[0x81, 0xfd, 0x59, 2],
    &[0x81, 0xfd, 0x59, 2, 2],
    &[0x81, 0xfd, 0x59, 2, 3],
    &[0x81, 0xfd, 0x59, 2, 4],
];

const OID: [u8; 10] = [6, 10, 43, 6, 1, 4, 1, 0x82, 0xda, 0x4b];

/// A certificate in a subtree of one or two leaves, of which the other is another's.
struct Issued {
    log: u16,
    index: u64,
    authority: AnySigningKey,
    cosigners: [AnySigningKey; 2],
    name: Vec<u8>,
    spki: Vec<u8>,
    /// The certificate after its serial number and algorithm.
    fields: Vec<u8>,
    subtree: Subtree,
    path: Vec<Hash>,
}

impl Issued {
    fn new() -> Self {
        Self::at(7, 2..4, 3)
    }

    fn at(log: u16, leaves: Range<u64>, index: u64) -> Self {
        let key = |set| AnySigningKey::generate(set).unwrap();
        let authority = key(Set::MlDsa44);
        let id = element(12, &[b"32473.2"]);
        let attribute = element(0x30, &[&OID, &[47, 1], &id]);
        let name = element(0x30, &[&element(0x31, &[&attribute])]);
        let chain =
            Chain::new::<SigningKey<MlDsa44>, SigningKey<MlDsa44>>(&Plan::default()).unwrap();
        let leaf = Certificate::from_der(&chain.chain[0]).unwrap();
        let tbs = leaf.tbs_certificate();
        let key_info = tbs.subject_public_key_info();
        let dates = [
            &name,
            &tbs.validity().to_der().unwrap()[..],
            &tbs.subject().to_der().unwrap(),
        ]
        .concat();
        let extensions = element(0xa3, &[&tbs.extensions().unwrap().to_der().unwrap()]);
        let key_bytes = key_info.to_der().unwrap();
        // The entry, from its specification: extensions of the proof, type, content.
        let entry = [
            &[0, 0, 0, 1][..],
            &[0xa0, 3, 2, 1, 2],
            &dates,
            &key_info.algorithm.to_der().unwrap(),
            &element(4, &[&<sha2::Sha256 as sha2::Digest>::digest(&key_bytes)]),
            &extensions,
        ];
        let sibling = leaf_hash(b"another entry");
        let leaf = leaf_hash(&entry.concat());
        let (hash, path) = match (leaves.end - leaves.start, index - leaves.start) {
            (1, 0) => (leaf, vec![]),
            (2, 0) => (node_hash(&leaf, &sibling), vec![sibling]),
            _ => (node_hash(&sibling, &leaf), vec![sibling]),
        };
        let public = authority.verifying_key();
        let algorithm = key_info.algorithm.to_der().unwrap();
        let spki = [algorithm, element(3, &[&[0], public.as_ref()])].concat();
        Self {
            log,
            index,
            authority,
            cosigners: [key(Set::MlDsa65), key(Set::MlDsa87)],
            name,
            spki,
            fields: [dates, key_bytes, extensions].concat(),
            subtree: Subtree {
                start: leaves.start,
                end: leaves.end,
                hash,
            },
            path,
        }
    }

    fn proof(&self, signers: &[(&[u8], &str, &AnySigningKey)]) -> Vec<u8> {
        let mut signatures = Vec::new();
        for (id, text, key) in signers {
            let name = format!("oid/1.3.6.1.4.1.{text}");
            let origin = format!("oid/1.3.6.1.4.1.32473.2.0.{}", self.log);
            let message = SignedMessage::new(&name, 0, &origin, &self.subtree).unwrap();
            let signature = key.sign_hedged(message.as_ref(), Context::EMPTY).unwrap();
            signatures.push(u8::try_from(id.len()).unwrap());
            signatures.extend_from_slice(id);
            signatures.extend(u16::try_from(signature.len()).unwrap().to_be_bytes());
            signatures.extend(signature);
        }
        let two = |len: usize| u16::try_from(len).unwrap().to_be_bytes();
        let path = self.path.concat();
        [
            &[0, 0][..], // No extensions.
            &self.subtree.start.to_be_bytes()[2..],
            &self.subtree.end.to_be_bytes()[2..],
            &two(path.len()),
            &path,
            &two(signatures.len()),
            &signatures,
        ]
        .concat()
    }

    /// All signatures, as they stand in order.
    fn signed(&self) -> Vec<u8> {
        self.proof(&[
            (IDS[0], "32473.2", &self.authority),
            (IDS[1], "32473.2.2", &self.cosigners[0]),
            (IDS[2], "32473.2.3", &self.cosigners[1]),
        ])
    }

    fn content(&self, log: u16, index: u64) -> Vec<u8> {
        let serial = ((u64::from(log) << 48) | index).to_der().unwrap();
        element(
            0x30,
            &[
                &[0xa0, 3, 2, 1, 2],
                &serial,
                &element(0x30, &[&OID, &[47, 0]]),
                &self.fields,
            ],
        )
    }

    fn certificate(&self, proof: &[u8]) -> CertificateDer<'static> {
        let algorithm = element(0x30, &[&OID, &[47, 0]]);
        element(
            0x30,
            &[
                &self.content(self.log, self.index),
                &algorithm,
                &element(3, &[&[0], proof]),
            ],
        )
        .into()
    }

    fn trust(&self, quorum: usize) -> MerkleTreeCertificates {
        MerkleTreeCertificates::new(quorum)
            .with_cosigner("32473.2.2", &self.cosigners[0].verifying_key())
            .with_cosigner("32473.2.3", &self.cosigners[1].verifying_key())
    }

    /// Verifies with webpki.
    fn verify(&self, trust: &MerkleTreeCertificates, proof: &[u8]) -> bool {
        let certificate = self.certificate(proof);
        let anchor = TrustAnchor {
            subject: Der::from_slice(&self.name[2..]),
            subject_public_key_info: Der::from_slice(&self.spki),
            name_constraints: None,
        };
        let end = EndEntityCert::try_from(&certificate).unwrap();
        let now = UnixTime::since_unix_epoch(Duration::from_secs(
            std::time::SystemTime::now()
                .duration_since(std::time::UNIX_EPOCH)
                .unwrap()
                .as_secs(),
        ));
        let usage = KeyUsage::server_auth();
        end.verify_for_usage(&[trust], &[anchor], &[], now, usage, None, None)
            .is_ok()
    }
}

#[test]
fn quorums() {
    let issued = Issued::new();
    let all = issued.signed();
    for quorum in 0..=2 {
        assert!(issued.verify(&issued.trust(quorum), &all), "{quorum}");
    }
    assert!(!issued.verify(&issued.trust(3), &all));
    let own = (IDS[0], "32473.2", &issued.authority);
    let one = (IDS[1], "32473.2.2", &issued.cosigners[0]);
    let two = (IDS[2], "32473.2.3", &issued.cosigners[1]);
    assert!(issued.verify(&issued.trust(1), &issued.proof(&[own, two])));
    assert!(!issued.verify(&issued.trust(2), &issued.proof(&[own, two])));
    // Without the authority, in another order, twice, and with a signature of another cosigner.
    assert!(!issued.verify(&issued.trust(0), &issued.proof(&[one, two])));
    assert!(!issued.verify(&issued.trust(0), &issued.proof(&[one, own])));
    assert!(!issued.verify(&issued.trust(0), &issued.proof(&[own, one, one])));
    let stolen = (IDS[2], "32473.2.2", &issued.cosigners[0]);
    assert!(!issued.verify(&issued.trust(2), &issued.proof(&[own, one, stolen])));
    assert!(issued.verify(&issued.trust(1), &issued.proof(&[own, one, stolen])));
    // A cosigner that nobody knows.
    let unknown = (IDS[3], "32473.2.4", &issued.cosigners[0]);
    assert!(issued.verify(&issued.trust(1), &issued.proof(&[own, one, unknown])));
    assert!(!issued.verify(&issued.trust(2), &issued.proof(&[own, one, unknown])));
}

#[test]
fn a_key_counts_once() {
    let issued = Issued::new();
    let (own, key) = (&issued.authority, &issued.cosigners[0]);
    let trust = |quorum, second: &AnySigningKey| {
        MerkleTreeCertificates::new(quorum)
            .with_cosigner("32473.2.2", &key.verifying_key())
            .with_cosigner("32473.2.4", &second.verifying_key())
    };
    for second in [key, own] {
        let proof = issued.proof(&[
            (IDS[0], "32473.2", own),
            (IDS[1], "32473.2.2", key),
            (IDS[3], "32473.2.4", second),
        ]);
        assert!(issued.verify(&trust(1, second), &proof));
        assert!(!issued.verify(&trust(2, second), &proof));
    }
}

#[test]
fn indices_at_the_bounds() {
    let last = (1 << 48) - 2;
    for (log, leaves, index) in [
        (1, 0..1, 0),
        (1, 0..2, 0),
        (7, 2..4, 2),
        (0x7fff, 2..4, 3),
        (0x8000, 2..4, 3),
        (u16::MAX, last..last + 1, last),
    ] {
        let issued = Issued::at(log, leaves.clone(), index);
        let (trust, proof) = (issued.trust(2), issued.signed());
        assert!(issued.verify(&trust, &proof), "{log} {index}");
        // The certificate says that it is beside its place, or in another log.
        let key = issued.authority.verifying_key();
        let beside = [index.checked_sub(1), Some(index ^ 1), Some(leaves.end)];
        let beside = beside.into_iter().flatten().map(|index| (log, index));
        for (log, index) in beside.chain([(log - 1, index), (log ^ 0x4000, index)]) {
            let content = issued.content(log, index);
            let verdict = trust.verify_signature(key.as_ref(), &content, &proof);
            assert!(verdict.is_err(), "{log} {index}");
        }
    }
    // Log 0, an empty subtree, and one that is none.
    for (log, leaves, index) in [(0, 2..4, 3), (7, 3..4, 4), (7, 1..3, 2)] {
        let mut issued = Issued::at(log, leaves, index.min(3));
        issued.index = index;
        let subtree = issued.subtree;
        let trust = issued
            .trust(0)
            .with_trusted_subtree("32473.2", log, subtree);
        assert!(!issued.verify(&trust, &issued.proof(&[])), "{log} {index}");
    }
}

#[test]
fn trusted_subtrees_and_revoked_serial_numbers() {
    let issued = Issued::new();
    let (bare, signed) = (issued.proof(&[]), issued.signed());
    assert!(!issued.verify(&issued.trust(0), &bare));
    let subtree = issued.subtree;
    let landmark = |subtree| issued.trust(2).with_trusted_subtree("32473.2", 7, subtree);
    assert!(issued.verify(&landmark(subtree), &bare));
    let other = Subtree {
        hash: [1; 32],
        ..subtree
    };
    assert!(!issued.verify(&landmark(other), &bare));
    assert!(!issued.verify(&landmark(other), &signed));
    assert!(!issued.verify(
        &landmark(Subtree {
            start: 0,
            ..subtree
        }),
        &bare
    ));
    assert!(!issued.verify(
        &issued.trust(2).with_trusted_subtree("32473.2", 8, subtree),
        &bare
    ));
    assert!(!issued.verify(
        &issued.trust(2).with_trusted_subtree("32473.3", 7, subtree),
        &bare
    ));
    let serial = (7 << 48) + 3;
    // Ranges that overlap, and one that has no number.
    let overlapping = issued
        .trust(2)
        .with_revoked("32473.2", serial - 9..=serial - 1);
    let overlapping = overlapping.with_revoked("32473.2", RangeInclusive::new(serial + 1, serial));
    assert!(issued.verify(&overlapping, &signed));
    let overlapping = overlapping.with_revoked("32473.2", serial - 5..=serial);
    assert!(!issued.verify(&overlapping, &signed));
    for (range, valid) in [
        (serial..=serial, false),
        (0..=serial - 1, true),
        (serial + 1..=u64::MAX, true),
    ] {
        assert_eq!(
            issued.verify(
                &issued.trust(2).with_revoked("32473.2", range.clone()),
                &signed
            ),
            valid
        );
        assert_eq!(
            issued.verify(
                &landmark(subtree).with_revoked("32473.2", range.clone()),
                &bare
            ),
            valid
        );
        assert!(issued.verify(&issued.trust(2).with_revoked("32473.3", range), &signed));
    }
}

#[test]
fn every_change_is_refused() {
    let issued = Issued::new();
    let (trust, proof, content) = (issued.trust(2), issued.signed(), issued.content(7, 3));
    let key = issued.authority.verifying_key();
    let verify =
        |content: &[u8], proof: &[u8]| trust.verify_signature(key.as_ref(), content, proof).is_ok();
    assert!(verify(&content, &proof));
    for (log, index) in [(0, 3), (6, 3), (7, 2), (7, 4)] {
        assert!(!verify(&issued.content(log, index), &proof));
    }
    for at in 0..content.len() {
        let mut changed = content.clone();
        changed[at] ^= 1 << (at % 8);
        assert!(!verify(&changed, &proof), "byte {at} of the certificate");
    }
    for at in (0..120).chain((120..proof.len()).step_by(61)) {
        let mut changed = proof.clone();
        changed[at] ^= 1 << (at % 8);
        assert!(!verify(&content, &changed), "byte {at} of the proof");
        assert!(!verify(&content, &proof[..at]));
    }
    let longer = [&proof[..], &[0]].concat();
    assert!(!verify(&content, &longer));
    let other = AnySigningKey::generate(Set::MlDsa44)
        .unwrap()
        .verifying_key();
    assert!(
        trust
            .verify_signature(other.as_ref(), &content, &proof)
            .is_err()
    );
}
