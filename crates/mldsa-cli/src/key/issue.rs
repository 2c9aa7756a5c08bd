//! `mldsa certificate`: certificates for tests, and requests for certificates.

use core::time::Duration;
use std::io;
use std::path::PathBuf;

use clap::Subcommand;
use mldsa_core::pkcs8::{LineEnding, der::pem};
use mldsa_core::{AnySigningKey, Context, ParameterSet, Randomness, SigningKey, with_set};
use x509_cert::builder::profile::cabf::{Root, tls};
use x509_cert::builder::{Builder, CertificateBuilder, Error, RequestBuilder};
use x509_cert::der::Encode;
use x509_cert::der::asn1::{BitString, Ia5String};
use x509_cert::ext::pkix::SubjectAltName;
use x509_cert::ext::pkix::name::GeneralName;
use x509_cert::name::Name;
use x509_cert::serial_number::SerialNumber;
use x509_cert::spki::SubjectPublicKeyInfo;
use x509_cert::time::Validity;

use crate::backends::chosen;
use crate::file::output::{Content, Output, OutputArgs, write_each};
use crate::file::paths::Files;
use crate::key::KeyFileArgs;
use crate::random::random;
use crate::{Status, Task};

/// Issue a certificate for tests, or make a request for a certificate
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: CertificateCommand,
}

#[derive(Subcommand)]
enum CertificateCommand {
    Issue(IssueArgs),
    Request(RequestArgs),
}

/// Issue a certificate for tests under a new root, whose key is not kept
#[derive(clap::Args)]
#[command(after_long_help = ISSUE_HELP)]
struct IssueArgs {
    #[command(flatten)]
    subject: SubjectArgs,

    /// Write the root here: the trust anchor of clients
    #[arg(long, value_name = "FILE")]
    root: PathBuf,

    /// Days for which both are valid
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u16).range(1..))]
    days: u16,

    #[command(flatten)]
    output: OutputArgs,
}

const ISSUE_HELP: &str = "\
The certificate is one of a TLS server (RFC 9881, key usage digitalSignature). The new root is
of the same parameter set. Both are PEM.

EXAMPLES
  Issue a certificate and its root:
    mldsa certificate issue key.pem --name localhost --root root.pem --out server.pem

EXIT CODE  0 both are written, 2 they are not.";

/// Make a request for a certificate (PKCS#10)
#[derive(clap::Args)]
#[command(after_long_help = REQUEST_HELP)]
struct RequestArgs {
    #[command(flatten)]
    subject: SubjectArgs,

    #[command(flatten)]
    output: OutputArgs,
}

const REQUEST_HELP: &str = "\
EXAMPLES
  Make a request in PEM:
    mldsa certificate request key.pem --name example.com --out request.pem

EXIT CODE  0 the request is written, 2 it is not.";

/// The owner of a certificate.
#[derive(clap::Args)]
struct SubjectArgs {
    #[command(flatten)]
    key: KeyFileArgs,

    /// DNS name of the owner, at most 64 characters
    #[arg(long, value_name = "NAME", value_parser = parse_name)]
    name: String,
}

/// Accepts the characters of DNS names, none of which has a meaning in a distinguished name.
fn parse_name(name: &str) -> Result<String, &'static str> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-.*_".contains(&byte);
    if (1..=64).contains(&name.len()) && name.bytes().all(allowed) {
        Ok(name.into())
    } else {
        Err("not a DNS name of at most 64 characters")
    }
}

impl SubjectArgs {
    fn name(&self) -> Result<Name, Error> {
        Ok(format!("CN={}", self.name).parse()?)
    }

    fn alternative_name(&self) -> Result<SubjectAltName, Error> {
        let name = GeneralName::DnsName(Ia5String::new(&self.name)?);
        Ok(SubjectAltName(vec![name]))
    }
}

impl Args {
    fn task(&self) -> &dyn Task {
        match &self.command {
            CertificateCommand::Issue(args) => args,
            CertificateCommand::Request(args) => args,
        }
    }
}

impl Task for Args {
    fn files(&self) -> Files<'_> {
        self.task().files()
    }

    fn run(&self) -> io::Result<Status> {
        self.task().run()
    }
}

impl Task for IssueArgs {
    fn files(&self) -> Files<'_> {
        let files = self.subject.key.files();
        files.write([self.output.path(), &*self.root])
    }

    fn run(&self) -> io::Result<Status> {
        let output = self.output.prepare(Content::Text)?;
        let root = Output::new(&self.root, self.output.existing(), Content::Text)?;
        let key = self.subject.key.read()?.signing_key()?;
        let (anchor, leaf) = with_set!(AnySigningKey, key, key => self.issue(&key)?);
        write_each(&[(&root, anchor.as_bytes()), (&output, leaf.as_bytes())])?;
        Ok(Status::Good)
    }
}

impl IssueArgs {
    /// Issues the root, and the certificate of `key`.
    fn issue<P: ParameterSet>(&self, key: &SigningKey<P>) -> io::Result<(String, String)> {
        let root = SigningKey::<P>::from_seed(&*random()?).with_backend(chosen());
        let validity = Duration::from_secs(u64::from(self.days) * 86_400);
        let validity = Validity::from_now(validity).map_err(io::Error::other)?;
        let issuer: Name = "CN=Test root,O=Tests,C=ZZ"
            .parse()
            .map_err(io::Error::other)?;
        let anchor = || {
            let profile = Root::new(false, issuer.clone())?;
            let owner = SubjectPublicKeyInfo::from_key(root.verifying_key())?;
            CertificateBuilder::new(profile, SerialNumber::from(1u8), validity, owner)
        };
        let mut serial = random::<16>()?;
        // A positive number of 16 bytes.
        serial[0] = serial[0] & 0x7f | 0x40;
        let leaf = || {
            let names = self.subject.alternative_name()?;
            let subject = self.subject.name()?;
            let profile = tls::Subscriber {
                certificate_type: tls::CertificateType::domain_validated(subject, Vec::new())?,
                issuer: issuer.clone(),
                client_auth: true,
            };
            let owner = SubjectPublicKeyInfo::from_key(key.verifying_key())?;
            let serial = SerialNumber::new(&*serial)?;
            let mut builder = CertificateBuilder::new(profile, serial, validity, owner)?;
            // The profile leaves the names out.
            builder.add_extension(&names)?;
            Ok::<_, Error>(builder)
        };
        let anchor = sign(anchor().map_err(io::Error::other)?, &root, "CERTIFICATE")?;
        let leaf = sign(leaf().map_err(io::Error::other)?, &root, "CERTIFICATE")?;
        Ok((anchor, leaf))
    }
}

impl Task for RequestArgs {
    fn files(&self) -> Files<'_> {
        self.subject.key.files().write([self.output.path()])
    }

    fn run(&self) -> io::Result<Status> {
        let output = self.output.prepare(Content::Text)?;
        let key = self.subject.key.read()?.signing_key()?;
        let builder = || {
            let mut builder = RequestBuilder::new(self.subject.name()?)?;
            builder.add_extension(&self.subject.alternative_name()?)?;
            Ok::<_, Error>(builder)
        };
        let builder = builder().map_err(io::Error::other)?;
        let request =
            with_set!(AnySigningKey, key, key => sign(builder, &key, "CERTIFICATE REQUEST")?);
        output.write(request.as_bytes())?;
        Ok(Status::Good)
    }
}

/// Signs what a builder has, and encodes it in PEM.
fn sign<P: ParameterSet, B: Builder<Output: Encode>>(
    mut builder: B,
    key: &SigningKey<P>,
    label: &str,
) -> io::Result<String> {
    let content = builder.finalize(key).map_err(io::Error::other)?;
    let randomness = random()?;
    let signature =
        key.sign_with_context(&content, Context::EMPTY, Randomness::Hedged(&randomness));
    let signature = signature.map_err(io::Error::other)?;
    let encode = || {
        let signature = BitString::from_bytes(signature.as_ref())?;
        let der = builder.assemble(signature, key)?.to_der()?;
        Ok::<_, Error>(der)
    };
    let der = encode().map_err(io::Error::other)?;
    pem::encode_string(label, LineEnding::LF, &der).map_err(io::Error::other)
}
