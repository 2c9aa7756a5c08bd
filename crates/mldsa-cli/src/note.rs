//! `mldsa note`: checkpoints of transparency logs (C2SP), signed with ML-DSA-44.

use core::mem;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use clap::Subcommand;
use mldsa_core::{AnySigningKey, PrivateKeyForm, Randomness, Set, SigningKey};
use mldsa_tlog::{
    Checkpoint, Cosigner, Error, MAX_BYTES, Note, Policy, Proof, Verified, leaf_hash,
};
use zeroize::Zeroizing;

use crate::file::input::{read_at_most, unusable};
use crate::file::output::{Content, Output, OutputArgs, write_each};
use crate::file::paths::{Files, STANDARD};
use crate::key::KeyArgs;
use crate::key::encode::encode_private;
use crate::key::encrypted::EncryptArgs;
use crate::key::format::Format;
use crate::random::random;
use crate::terminal::{escaped, print};
use crate::{Status, Task};

/// Cosign and verify checkpoints of transparency logs (C2SP, ML-DSA-44)
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: NoteCommand,
}

#[derive(Subcommand)]
#[allow(clippy::large_enum_variant, reason = "there is one of them")]
enum NoteCommand {
    Keygen(KeygenArgs),
    Cosign(CosignArgs),
    Verify(VerifyArgs),
}

/// Generate the key of a log or witness, and print its verifier key
#[derive(clap::Args)]
#[command(after_long_help = KEYGEN_HELP)]
struct KeygenArgs {
    /// Name of the log or witness, such as example.com/log
    name: String,

    #[command(flatten)]
    encrypt: EncryptArgs,

    #[command(flatten)]
    output: OutputArgs,
}

const KEYGEN_HELP: &str = "\
The private key is PKCS#8 in PEM, as `mldsa keygen --set 44` writes it, and needs --out.

EXAMPLES
  Make the key of a witness:
    mldsa note keygen witness.example/1 --out witness.pem > witness.vkey

EXIT CODE  0 both keys are written, 2 they are not.";

/// Add a signature with the time of the clock to a checkpoint
#[derive(clap::Args)]
#[command(after_long_help = COSIGN_HELP)]
struct CosignArgs {
    /// Name of the log or witness whose key signs
    name: String,

    #[command(flatten)]
    key: KeyArgs,

    /// The checkpoint, with or without signatures; - is standard input
    #[arg(default_value = "-")]
    file: PathBuf,

    #[command(flatten)]
    output: OutputArgs,
}

const COSIGN_HELP: &str = "\
The command verifies no other signature and keeps no state: a witness has to verify the log's
signature and the consistency with the previous checkpoint first. A note that this key has
signed is not signed again, since verifiers look at the first signature of a key.

EXAMPLES
  Sign a checkpoint as the log, and as a witness:
    mldsa note cosign example.com/log -k log.pem checkpoint --out note
    mldsa note cosign witness.example/1 -k witness.pem note --out cosigned

EXIT CODE  0 signed, 2 not.";

/// Verify a checkpoint, or an entry of its log, under a policy
#[derive(clap::Args)]
#[command(after_long_help = VERIFY_HELP)]
struct VerifyArgs {
    /// The policy (C2SP tlog-policy): verifier keys of logs and witnesses, and a quorum
    #[arg(long, value_name = "FILE")]
    policy: PathBuf,

    /// Verify that the log has this entry; the input is a proof (C2SP tlog-proof)
    #[arg(long, value_name = "FILE")]
    entry: Option<PathBuf>,

    /// The note or the proof; - is standard input
    #[arg(default_value = "-")]
    file: PathBuf,
}

const VERIFY_HELP: &str = "\
Prints `valid`, the checkpoint (name of the log, size, hash), and a line with name and time
for each witness that has signed; or `invalid: ` and the reason. Entries have at most 1 MB.

EXAMPLES
  Verify a note under a policy of one log without witnesses:
    echo \"log $(cat log.vkey)\" > policy; echo 'quorum none' >> policy
    mldsa note verify --policy policy note

EXIT CODE  0 valid, 1 invalid, 2 an input could not be read or is malformed.";

impl Args {
    fn task(&self) -> &dyn Task {
        match &self.command {
            NoteCommand::Keygen(args) => args,
            NoteCommand::Cosign(args) => args,
            NoteCommand::Verify(args) => args,
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

impl Task for KeygenArgs {
    fn files(&self) -> Files<'_> {
        let files = Files::default().read(self.encrypt.file());
        files.write([self.output.path()]).print()
    }

    fn run(&self) -> io::Result<Status> {
        let output = self.output.prepare(Content::Secret)?;
        let public = Output::new(STANDARD.as_ref(), self.output.existing(), Content::Text)?;
        let password = self.encrypt.read()?;
        let password = password.as_ref().map(|password| &password[..]);
        let key = AnySigningKey::from_seed(Set::MlDsa44, &*random()?);
        let encoded = encode_private(&key, Format::Pem, PrivateKeyForm::Seed, password)?;
        let vkey = format!("{}\n", cosigner(&self.name, key)?.public());
        write_each(&[(&public, vkey.as_bytes()), (&output, &encoded)])?;
        Ok(Status::Good)
    }
}

impl Task for CosignArgs {
    fn files(&self) -> Files<'_> {
        let files = self.key.files().read([&*self.file]);
        files.write([self.output.path()])
    }

    fn run(&self) -> io::Result<Status> {
        let output = self.output.prepare(Content::Text)?;
        let cosigner = cosigner(&self.name, self.key.read()?.signing_key()?)?;
        let bytes = read(&self.file)?;
        let refused = |why: Error| unusable(&self.file, why);
        let input = str::from_utf8(&bytes).map_err(|_| refused(Error::Malformed("checkpoint")))?;
        // A checkpoint has no empty line, and the signatures of a note follow one.
        let (text, separator) = if input.contains("\n\n") {
            let note = Note::parse(&bytes).map_err(refused)?;
            let public = cosigner.public();
            if note.signature_of(public.name(), public.id()).is_some() {
                return Err(unusable(&self.file, "is signed by this key"));
            }
            (note.text(), "")
        } else {
            (input, "\n")
        };
        let checkpoint = Checkpoint::parse(text).map_err(refused)?;
        let time = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let time = time.map_err(io::Error::other)?.as_secs();
        let randomness = random()?;
        let randomness = Randomness::Hedged(&randomness);
        let line = cosigner.sign(time, checkpoint.origin, &checkpoint.tree(), randomness);
        let signed = format!("{input}{separator}{}", line.map_err(refused)?);
        // The bounds of a note.
        Note::parse(signed.as_bytes()).map_err(refused)?;
        output.write(signed.as_bytes())?;
        Ok(Status::Good)
    }
}

impl Task for VerifyArgs {
    fn files(&self) -> Files<'_> {
        let files = Files::default().read([&*self.policy, &*self.file]);
        files.read(self.entry.as_deref()).print()
    }

    fn run(&self) -> io::Result<Status> {
        let policy = Policy::parse(&read(&self.policy)?);
        let policy = policy.map_err(|why| unusable(&self.policy, why))?;
        let input = read(&self.file)?;
        let entry = self.entry.as_deref().map(read).transpose()?;
        let verified = match &entry {
            Some(entry) => {
                Proof::parse(&input).and_then(|proof| proof.verify(&policy, &leaf_hash(entry)))
            }
            None => Note::parse(&input).and_then(|note| policy.verify(&note)),
        };
        match verified {
            Ok(verified) => {
                print(escaped(&describe(&verified), |character| character == '\n'))?;
                Ok(Status::Good)
            }
            Err(why @ (Error::Signature | Error::NotSigned | Error::Quorum | Error::Proof)) => {
                print(format!("invalid: {why}\n"))?;
                Ok(Status::Invalid)
            }
            Err(why) => Err(unusable(&self.file, why)),
        }
    }
}

fn describe(verified: &Verified<'_>) -> String {
    let mut text = format!("valid\n{}", verified.checkpoint);
    for (name, time) in &verified.witnesses {
        text += &format!("{name} {time}\n");
    }
    text
}

fn read(path: &Path) -> io::Result<Zeroizing<Vec<u8>>> {
    read_at_most(path, MAX_BYTES, "more than 1 MB")
}

fn cosigner(name: &str, key: AnySigningKey) -> io::Result<Cosigner> {
    match key {
        // A move out of the box would leave an unwiped copy on the heap.
        AnySigningKey::MlDsa44(mut key) => {
            let key = mem::replace(&mut *key, SigningKey::from_seed(&[0; 32]));
            Cosigner::new(name, key).map_err(io::Error::other)
        }
        _ => Err(io::Error::other(Error::Algorithm)),
    }
}
