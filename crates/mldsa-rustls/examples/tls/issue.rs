//! Issues chains of certificates for tests with the builder of `x509-cert`: root, intermediate
//! authority, and a leaf for `localhost`.

use core::time::Duration;
use std::time::SystemTime;

use mldsa_core::pkcs8::EncodePrivateKey;
use mldsa_core::rand_core::UnwrapErr;
use mldsa_core::signature::{Keypair, RandomizedSigner};
use mldsa_core::spki::{
    DynSignatureAlgorithmIdentifier, EncodePublicKey, SignatureBitStringEncoding,
};
use mldsa_core::{ParameterSet, Signature, SigningKey, SysRng};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use x509_cert::builder::profile::BuilderProfile;
use x509_cert::builder::{Builder, CertificateBuilder, Result};
use x509_cert::certificate::TbsCertificate;
use x509_cert::der::Encode;
use x509_cert::der::asn1::Ia5String;
use x509_cert::ext::pkix::name::GeneralName;
use x509_cert::ext::pkix::{BasicConstraints, KeyUsage, KeyUsages, SubjectAltName};
use x509_cert::ext::{Extension, ToExtension};
use x509_cert::name::Name;
use x509_cert::serial_number::SerialNumber;
use x509_cert::spki::{SubjectPublicKeyInfo, SubjectPublicKeyInfoRef};
use x509_cert::time::Validity;

/// A private key that signs certificates.
pub(crate) trait Issuer:
    Keypair<VerifyingKey: EncodePublicKey>
    + DynSignatureAlgorithmIdentifier
    + RandomizedSigner<Self::Signature>
    + EncodePrivateKey
{
    /// What it makes.
    type Signature: SignatureBitStringEncoding;

    /// Generates a key.
    fn new() -> Self;
}

impl<P: ParameterSet> Issuer for SigningKey<P> {
    type Signature = Signature<P>;

    fn new() -> Self {
        Self::generate().expect("the system's generator")
    }
}

/// The differences between certificates of a test.
#[derive(Clone)]
pub(crate) struct Plan {
    /// Key usages of the intermediate authority.
    pub(crate) authority: Option<KeyUsage>,
    /// Key usages of the leaf.
    pub(crate) leaf: Option<KeyUsage>,
    /// Days for which the leaf is valid. It has been issued 30 days ago.
    pub(crate) days: u64,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            authority: Some(KeyUsage(KeyUsages::KeyCertSign | KeyUsages::CRLSign)),
            leaf: Some(KeyUsage(KeyUsages::DigitalSignature.into())),
            days: 60,
        }
    }
}

/// A chain and the private key of its leaf.
pub(crate) struct Chain {
    /// The trust anchor.
    pub(crate) root: CertificateDer<'static>,
    /// Leaf and intermediate authority.
    pub(crate) chain: Vec<CertificateDer<'static>>,
    /// The key of the leaf.
    pub(crate) key: PrivatePkcs8KeyDer<'static>,
}

impl Chain {
    /// Issues a chain: authorities with keys `A`, a leaf with a key `L`.
    ///
    /// # Errors
    /// Those of the builder.
    pub(crate) fn new<A: Issuer, L: Issuer>(plan: &Plan) -> Result<Self> {
        let (root, middle, leaf) = (A::new(), A::new(), L::new());
        let profile = |subject: &str, issuer: &str, usage| -> Result<Profile> {
            let leaf = subject == "CN=localhost";
            let days = if leaf { plan.days } else { 60 };
            Ok(Profile {
                subject: subject.parse()?,
                issuer: issuer.parse()?,
                leaf,
                usage,
                days,
            })
        };
        let root_usage = Plan::default().authority;
        let middle_usage = plan.authority;
        Ok(Self {
            root: profile("CN=Root", "CN=Root", root_usage)?.issue(&root, &root)?,
            chain: vec![
                profile("CN=localhost", "CN=Authority", plan.leaf)?.issue(&leaf, &middle)?,
                profile("CN=Authority", "CN=Root", middle_usage)?.issue(&middle, &root)?,
            ],
            key: leaf
                .to_pkcs8_der()
                .expect("a key")
                .as_bytes()
                .to_vec()
                .into(),
        })
    }
}

struct Profile {
    subject: Name,
    issuer: Name,
    leaf: bool,
    usage: Option<KeyUsage>,
    days: u64,
}

impl Profile {
    fn issue<A: Issuer>(
        self,
        key: &impl Keypair<VerifyingKey: EncodePublicKey>,
        issuer: &A,
    ) -> Result<CertificateDer<'static>> {
        let day = |n| Duration::from_secs(n * 86_400);
        let start = SystemTime::now() - day(30);
        let validity = Validity::new(start.try_into()?, (start + day(self.days)).try_into()?);
        let spki = SubjectPublicKeyInfo::from_key(&key.verifying_key())?;
        let builder = CertificateBuilder::new(self, SerialNumber::from(7u8), validity, spki)?;
        let certificate =
            builder.build_with_rng::<_, A::Signature, _>(issuer, &mut UnwrapErr(SysRng))?;
        Ok(certificate.to_der()?.into())
    }
}

impl BuilderProfile for Profile {
    fn get_issuer(&self, _: &Name) -> Name {
        self.issuer.clone()
    }

    fn get_subject(&self) -> Name {
        self.subject.clone()
    }

    fn build_extensions(
        &self,
        _: SubjectPublicKeyInfoRef<'_>,
        _: SubjectPublicKeyInfoRef<'_>,
        tbs: &TbsCertificate,
    ) -> Result<Vec<Extension>> {
        let constraints = BasicConstraints {
            ca: !self.leaf,
            path_len_constraint: None,
        };
        let mut list = vec![constraints.to_extension(tbs.subject(), &[])?];
        if let Some(usage) = &self.usage {
            list.push(usage.to_extension(tbs.subject(), &list)?);
        }
        if self.leaf {
            let names = SubjectAltName(vec![GeneralName::DnsName(Ia5String::new("localhost")?)]);
            list.push(names.to_extension(tbs.subject(), &list)?);
        }
        Ok(list)
    }
}
