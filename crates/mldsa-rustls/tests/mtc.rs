//! Merkle Tree Certificates that the test issues: cosignatures, trusted subtrees, revoked serial numbers, and changes
//! of every byte.

#[path = "../examples/tls/issue.rs"]
#[allow(dead_code, reason = "the tests share it")]
mod issue;

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

const OID: [u8; 10] = [6, 10, 43, 6, 1, 4, 1, 0x82, 0xda, 0x4b];

/// A log of which the subtree [2, 4) is known: leaf 2 is another's, leaf 3 the certificate's.
struct Issued {
    authority: AnySigningKey,
    cosigners: [AnySigningKey; 2],
    name: Vec<u8>,
    spki: Vec<u8>,
    /// The certificate after its serial number and algorithm.
    fields: Vec<u8>,
    subtree: Subtree,
    sibling: Hash,
}

impl Issued {
    fn new() -> Self {
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
        let hash = node_hash(&sibling, &leaf_hash(&entry.concat()));
        let spki = {
            let root = Chain::new::<SigningKey<MlDsa44>, SigningKey<MlDsa44>>(&Plan::default())
                .unwrap()
                .root;
            let root = Certificate::from_der(&root).unwrap();
            let algorithm = root
                .tbs_certificate()
                .subject_public_key_info()
                .algorithm
                .to_der()
                .unwrap();
            let public = authority.verifying_key();
            [algorithm, element(3, &[&[0], public.as_ref()])].concat()
        };
        Self {
            authority,
            cosigners: [key(Set::MlDsa65), key(Set::MlDsa87)],
            name,
            spki,
            fields: [dates, key_bytes, extensions].concat(),
            subtree: Subtree {
                start: 2,
                end: 4,
                hash,
            },
            sibling,
        }
    }

    fn proof(&self, signers: &[(&[u8], &str, &AnySigningKey)]) -> Vec<u8> {
        let mut signatures = Vec::new();
        for (id, text, key) in signers {
            let name = format!("oid/1.3.6.1.4.1.{text}");
            let message =
                SignedMessage::new(&name, 0, "oid/1.3.6.1.4.1.32473.2.0.7", &self.subtree).unwrap();
            let signature = key.sign_hedged(message.as_ref(), Context::EMPTY).unwrap();
            signatures.push(u8::try_from(id.len()).unwrap());
            signatures.extend_from_slice(id);
            signatures.extend(u16::try_from(signature.len()).unwrap().to_be_bytes());
            signatures.extend(signature);
        }
        let len = u16::try_from(signatures.len()).unwrap().to_be_bytes();
        [
            &[0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 4, 0, 32][..],
            &self.sibling,
            &len,
            &signatures,
        ]
        .concat()
    }

    /// All signatures, as they stand in order.
    fn signed(&self) -> Vec<u8> {
        self.proof(&[
            (&[0x81, 0xfd, 0x59, 2], "32473.2", &self.authority),
            (&[0x81, 0xfd, 0x59, 2, 2], "32473.2.2", &self.cosigners[0]),
            (&[0x81, 0xfd, 0x59, 2, 3], "32473.2.3", &self.cosigners[1]),
        ])
    }

    fn content(&self, log: u8, index: u8) -> Vec<u8> {
        let serial = [2, 7, log, 0, 0, 0, 0, 0, index];
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
            &[&self.content(7, 3), &algorithm, &element(3, &[&[0], proof])],
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
    let ids: [&[u8]; 3] = [
        &[0x81, 0xfd, 0x59, 2],
        &[0x81, 0xfd, 0x59, 2, 2],
        &[0x81, 0xfd, 0x59, 2, 3],
    ];
    let own = (ids[0], "32473.2", &issued.authority);
    let one = (ids[1], "32473.2.2", &issued.cosigners[0]);
    let two = (ids[2], "32473.2.3", &issued.cosigners[1]);
    assert!(issued.verify(&issued.trust(1), &issued.proof(&[own, two])));
    assert!(!issued.verify(&issued.trust(2), &issued.proof(&[own, two])));
    // Without the authority, in another order, twice, and with a signature of another cosigner.
    assert!(!issued.verify(&issued.trust(0), &issued.proof(&[one, two])));
    assert!(!issued.verify(&issued.trust(0), &issued.proof(&[one, own])));
    assert!(!issued.verify(&issued.trust(0), &issued.proof(&[own, one, one])));
    let stolen = (ids[2], "32473.2.2", &issued.cosigners[0]);
    assert!(!issued.verify(&issued.trust(2), &issued.proof(&[own, one, stolen])));
    assert!(issued.verify(&issued.trust(1), &issued.proof(&[own, one, stolen])));
    // A cosigner that nobody knows.
    let unknown: (&[u8], _, _) = (&[0x81, 0xfd, 0x59, 2, 4], "32473.2.4", &issued.cosigners[0]);
    assert!(issued.verify(&issued.trust(1), &issued.proof(&[own, one, unknown])));
    assert!(!issued.verify(&issued.trust(2), &issued.proof(&[own, one, unknown])));
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
