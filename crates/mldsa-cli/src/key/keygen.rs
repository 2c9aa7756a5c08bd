//! `mldsa keygen` and `mldsa convert`: they write private keys.

use std::io;
use std::path::PathBuf;

use clap::ValueEnum;
use mldsa_core::{AnySigningKey, PrivateKeyForm, Set};

use crate::file::input::read_small;
use crate::file::output::{Content, Output, OutputArgs, write_each};
use crate::file::paths::Files;
use crate::file::text::exactly;
use crate::key::KeyFileArgs;
use crate::key::encode::{encode_private, encode_public};
use crate::key::encrypted::EncryptArgs;
use crate::key::format::{Format, set_parser};
use crate::random::random;
use crate::terminal::complain;
use crate::{Status, Task};

/// Generate a private key
#[derive(clap::Args)]
#[command(after_long_help = HELP)]
pub(crate) struct Args {
    /// Parameter set [default: 65]
    #[arg(long, value_parser = set_parser(), ignore_case = true)]
    set: Option<Set>,

    #[command(flatten)]
    encoding: EncodingArgs,

    #[command(flatten)]
    encrypt: EncryptArgs,

    /// Derive the key from this seed instead of a fresh one: 32 bytes or 64
    /// hexadecimal digits
    #[arg(long, value_name = "FILE")]
    seed_file: Option<PathBuf>,

    #[command(flatten)]
    output: OutputArgs,

    /// Write the public key too, in the same format
    #[arg(long = "pub", value_name = "FILE")]
    public: Option<PathBuf>,
}

const HELP: &str = "\
A file is created with mode 0600 and replaces nothing unless --force is given.
The seed is the whole key: 32 bytes to back up. --pub writes the public key too;
if one of the two files cannot be written, the other one is not changed.
`mldsa pubkey` writes the public key later. --encrypt writes PBES2 with PBKDF2
(HMAC-SHA-256, 600000 iterations) and AES-256-CBC, which OpenSSL 3.5 reads.

EXAMPLES
  Make a key pair:
    mldsa keygen --out key.pem --pub public.pem
  Make a key of category 5 under a password that is asked for:
    mldsa keygen --set 87 --encrypt --out key.pem

EXIT CODE  0 the key is written, 2 it is not.";

/// Write a private key in another form or format
#[derive(clap::Args)]
#[command(after_long_help = CONVERT_HELP)]
pub(crate) struct ConvertArgs {
    #[command(flatten)]
    key: KeyFileArgs,

    #[command(flatten)]
    encoding: EncodingArgs,

    #[command(flatten)]
    encrypt: EncryptArgs,

    #[command(flatten)]
    output: OutputArgs,
}

const CONVERT_HELP: &str = "\
The key is checked first. An expanded key has no seed and can be written as expanded
only. `mldsa pubkey` writes public keys. A file is created with mode 0600. Older forms
are read too: in PKCS#8 a seed or an expanded key without a tag, a seed as an OCTET
STRING, an expanded and a public key in one string; and a seed and its expanded key in
one file without a structure.

EXAMPLES
  Encrypt a key:
    mldsa convert key.pem --encrypt --out encrypted.pem
  Write a JSON Web Key:
    mldsa convert key.pem --format jwk --out key.jwk

EXIT CODE  0 the key is written, 2 it is not.";

/// Form and format of a private key.
#[derive(Clone, Copy, clap::Args)]
struct EncodingArgs {
    /// Form of the key
    #[arg(long, value_enum, default_value_t = FormArg::Seed)]
    form: FormArg,

    /// Format of the file
    #[arg(long, value_enum, default_value_t = Format::Pem)]
    format: Format,
}

#[derive(Clone, Copy, ValueEnum)]
enum FormArg {
    /// The 32-byte seed
    Seed,
    /// The expanded key of FIPS 204
    Expanded,
    /// Both, as OpenSSL writes by default
    Both,
}

impl From<FormArg> for PrivateKeyForm {
    fn from(form: FormArg) -> Self {
        match form {
            FormArg::Seed => Self::Seed,
            FormArg::Expanded => Self::Expanded,
            FormArg::Both => Self::Both,
        }
    }
}

/// The set of a key for which none is chosen: category 3.
const DEFAULT_SET: Set = Set::MlDsa65;

impl Task for Args {
    fn files(&self) -> Files<'_> {
        Files::default()
            .read(self.seed_file.as_deref())
            .read(self.encrypt.file())
            .write([self.output.path()])
            .write(self.public.as_deref())
    }

    fn run(&self) -> io::Result<Status> {
        let set = self.set.unwrap_or_else(|| {
            complain(format_args!(
                "a key of {}, the default of --set",
                DEFAULT_SET
            ));
            DEFAULT_SET
        });
        generate(self, set)
    }
}

fn generate(args: &Args, set: Set) -> io::Result<Status> {
    let EncodingArgs { form, format } = args.encoding;
    let output = args.output.prepare(Content::Secret)?;
    let public = args.public.as_deref();
    let public =
        public.map(|path| Output::new(path, args.output.existing(), format.public_content()));
    let public = public.transpose()?;
    let seed = match &args.seed_file {
        Some(path) => exactly(path, &read_small(path)?, "a seed")?,
        None => random()?,
    };
    let password = args.encrypt.read()?;
    let password = password.as_ref().map(|password| &password[..]);
    let key = AnySigningKey::from_seed(set, &seed);
    let encoded = encode_private(&key, format, form.into(), password)?;
    let Some(public) = public else {
        output.write(&encoded)?;
        return Ok(Status::Good);
    };
    let half = encode_public(&key.verifying_key(), format)?;
    // The private key last: it replaces nothing before the public one is written.
    write_each(&[(&public, &half), (&output, &encoded)])?;
    Ok(Status::Good)
}

impl Task for ConvertArgs {
    fn files(&self) -> Files<'_> {
        let files = self.key.files().read(self.encrypt.file());
        files.write([self.output.path()])
    }

    fn run(&self) -> io::Result<Status> {
        let EncodingArgs { form, format } = self.encoding;
        let output = self.output.prepare(Content::Secret)?;
        let file = self.key.read()?;
        let key = file.signing_key()?;
        let password = self.encrypt.read()?;
        let password = password.as_ref().map(|password| &password[..]);
        let encoded = encode_private(&key, format, form.into(), password);
        let encoded = encoded.map_err(|why| file.unusable(why))?;
        output.write(&encoded)?;
        Ok(Status::Good)
    }
}
