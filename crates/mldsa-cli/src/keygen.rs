//! `mldsa keygen`.

use std::io;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use mldsa_core::{ParameterSet, PrivateKeyForm, SigningKey};
use zeroize::Zeroizing;

use crate::Status;
use crate::input::read_small;
use crate::keyfile::{Format, SetArg, encode_private, encode_public, exactly};
use crate::output::{Content, Files, Output, OutputArgs, write_each};
use crate::random::random;
use crate::request::{Set, with_set};

/// Generate a private key
#[derive(clap::Args)]
#[command(after_long_help = HELP)]
pub(crate) struct Args {
    /// Parameter set
    #[arg(long, value_enum, ignore_case = true)]
    set: SetArg,

    /// What the file holds
    #[arg(long, value_enum, default_value_t = FormArg::Seed)]
    form: FormArg,

    /// How the file holds it
    #[arg(long, value_enum, default_value_t = Format::Pem)]
    format: Format,

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
The seed is the whole key: 32 bytes to back up. --pub writes the public key beside
it, `mldsa pubkey` at any later time; if one of the two files cannot be written,
neither is.

EXIT CODE  0 the key is written, 2 it is not.";

/// A form, as an argument.
#[derive(Clone, Copy, ValueEnum)]
enum FormArg {
    /// The 32-byte seed
    Seed,
    /// The expanded key of FIPS 204
    Expanded,
    /// Both, as OpenSSL writes by default
    Both,
}

impl Args {
    pub(crate) fn files(&self) -> Files<'_> {
        Files::default()
            .read(self.seed_file.as_deref())
            .write([self.output.path()])
            .write(self.public.as_deref())
    }
}

pub(crate) fn run(args: &Args) -> io::Result<Status> {
    with_set!(Set::from(args.set), P => generate::<P>(args))
}

fn generate<P: ParameterSet>(args: &Args) -> io::Result<Status> {
    let output = args.output.prepare(Content::Secret)?;
    let public = |path| Output::new(path, args.output.existing(), args.format.content());
    let public = args.public.as_deref().map(public).transpose()?;
    let key = match &args.seed_file {
        Some(path) => SigningKey::<P>::from_seed(&*read_seed(path)?),
        None => SigningKey::<P>::from_seed(&*random()?),
    };
    let form = match args.form {
        FormArg::Seed => PrivateKeyForm::Seed,
        FormArg::Expanded => PrivateKeyForm::Expanded,
        FormArg::Both => PrivateKeyForm::Both,
    };
    let encoded = encode_private(&key, args.format, form).map_err(io::Error::other)?;
    let Some(public) = public else {
        output.write(&encoded)?;
        return Ok(Status::Good);
    };
    let half = encode_public(key.verifying_key(), args.format).map_err(io::Error::other)?;
    // The private key last: it replaces nothing before the public one is there.
    write_each(&[(&public, &half), (&output, &encoded)])?;
    Ok(Status::Good)
}

fn read_seed(path: &Path) -> io::Result<Zeroizing<[u8; 32]>> {
    exactly(path, &read_small(path)?, "a seed")
}
