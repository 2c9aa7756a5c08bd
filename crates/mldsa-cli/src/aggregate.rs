//! `mldsa aggregate`: a committee that makes one signature. Each command is one process.

mod args;
mod committee;
mod dirs;
mod evidence;
mod join;
mod mailbox;
mod network;
mod pins;
mod plan;
mod plan_file;
mod registrations;
mod threshold;
mod settings;
mod sign;
mod steps;
mod store;

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

use base16ct::lower::encode_string;
use mladsa_aggregate::Error;
use mladsa_aggregate::errors::{RoundError, VerifyError};

use crate::Status;
use crate::paths::{Files, is_standard_output};
use crate::terminal::{complain, print};
use args::{
    CloseArgs, CombineArgs, DecisionArgs, EpochArgs, EvidenceArgs, InitArgs, JoinArgs, PlanArgs,
    RetireArgs, SignArgs, VerifyArgs,
};
use committee::{Committee, expect_roots};
use settings::Settings;
use steps::Attempt;
use store::Store;

/// Many signers, one ML-DSA-87 signature (ML-ADSA-87, experimental)
#[derive(clap::Args)]
#[command(after_long_help = HELP)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

const HELP: &str = "\
EXPERIMENTAL: no independent review, no proof for the narrow masks. One key signs
one decision; the journal in the store ensures it. A store that was lost, copied or
restored from a backup must never sign again.

`--committee` is a directory that all members share, `--store` one member's own,
made with mode 0700; its secrets and its journal have mode 0600. A store contains
the committee, the epoch and the domain of `join`. A member runs, for an epoch:

  join      with the names of all members; the members make one plan
  status    and compare the digest of the roots over another channel; binds nothing
  agree     with the compared digest
  sign      for each decision, all members at about the same time
  close     when the epoch is over, or
  rotate    with a new seed

`sign` waits for the others, retires failed attempts and resumes after an
interruption. Between hosts without a shared directory, `--listen` and `--peer`
carry its messages; copy the directory after `join` and after `agree`. An epoch
that cannot be agreed on, because a member has signed two lists or roots, is
replaced by the next one without that member: `join --epoch N --members ..`.

`endorse` signs the committee of the next epoch (`join --after`). `verify` trusts
no directory: its store has pinned the committee's identity (`trust`), or an
earlier committee that has endorsed it, or --identity gives it.

EXIT CODE  0 done or valid, 1 invalid, not enough signers, another decision, not
done in time, or to be retried with the next attempt, 2 unusable or rejected.";

#[derive(clap::Subcommand)]
enum Command {
    Join(JoinArgs),
    /// Show the committee of an epoch, what is missing and what comes next
    Status(EpochArgs),
    /// Acknowledge the list of all roots, whose digest --expect-roots gives
    Agree(EpochArgs),
    Sign(SignArgs),
    Verify(VerifyArgs),
    /// Pin the committee that --identity gives in the store of a verifier
    Trust(EpochArgs),
    /// Endorse the committee that --identity gives as the next one
    Endorse(EpochArgs),
    Evidence(EvidenceArgs),
    /// End an epoch: no key of it or of an earlier one signs any more
    Close(CloseArgs),
    /// End an epoch as `close` does, and make a new seed and a new journal
    Rotate(CloseArgs),
    /// Single steps of `join` and `sign`
    #[command(subcommand)]
    Step(Step),
    #[command(external_subcommand)]
    Other(Vec<OsString>),
}

/// Single steps of `join` (init, plan, root) and of an attempt (open, commit, reveal, respond, combine).
#[derive(clap::Subcommand)]
enum Step {
    Init(InitArgs),
    Plan(PlanArgs),
    /// Announce the root over the member's keys of the epoch
    Root(EpochArgs),
    /// Publish the member's key for the decision, with its path to the root
    Open(DecisionArgs),
    /// Publish the hash of a commitment, the first message of an attempt
    Commit(DecisionArgs),
    /// Publish the commitment after the hashes of all commitments
    Reveal(DecisionArgs),
    /// Publish the response to the challenge of all commitments
    Respond(DecisionArgs),
    /// Abandon an attempt: the member's key of it never signs
    Retire(RetireArgs),
    Combine(CombineArgs),
}

impl Args {
    /// A command reads the directories that it is given, and writes files of its own there.
    pub(crate) fn files(&self) -> Files<'_> {
        match &self.command {
            Command::Join(args) => {
                let files = args.epoch.files().read(args.plan.weights.as_deref());
                files.print()
            }
            Command::Status(args)
            | Command::Agree(args)
            | Command::Trust(args)
            | Command::Endorse(args) => args.files().print(),
            Command::Sign(args) => {
                let files = args.epoch.files().read([&*args.subject.payload]);
                reported(files, [Some(&args.out)])
            }
            Command::Verify(args) => {
                let read = [&*args.certificate, &args.subject.payload];
                reported(args.epoch.files().read(read), args.results())
            }
            Command::Evidence(args) => args.epoch.files().read([&*args.file]).print(),
            Command::Close(args) | Command::Rotate(args) => {
                Files::default().read([&*args.store]).print()
            }
            Command::Step(step) => step.files(),
            Command::Other(_) => Files::default(),
        }
    }
}

impl Step {
    fn files(&self) -> Files<'_> {
        let files = Files::default();
        match self {
            Self::Init(args) => files.read([&*args.committee, &args.store]).print(),
            Self::Plan(args) => {
                let files = files.read([&*args.committee]);
                files.read(args.plan.weights.as_deref()).print()
            }
            Self::Root(args) => args.files().print(),
            Self::Retire(args) => args.epoch.files().print(),
            Self::Open(args) | Self::Commit(args) | Self::Reveal(args) | Self::Respond(args) => {
                args.files().print()
            }
            Self::Combine(args) => reported(args.step.files(), [Some(&args.out)]),
        }
    }
}

/// Results, and the report on standard output unless it has a result.
fn reported<'a, const N: usize>(files: Files<'a>, results: [Option<&'a PathBuf>; N]) -> Files<'a> {
    let results = || results.iter().flatten().map(|path| path.as_path());
    let taken = results().any(is_standard_output);
    let files = files.write(results());
    if taken { files } else { files.print() }
}

pub(crate) fn run(args: &Args) -> io::Result<Status> {
    match &args.command {
        Command::Join(args) => step(join::join(args).map_err(StepError::File)),
        Command::Status(args) => {
            print(Committee::of(args)?.status(&args.store)?)?;
            Ok(Status::Good)
        }
        Command::Agree(args) => {
            agree(args)?;
            Ok(Status::Good)
        }
        Command::Sign(args) => step(sign::sign(args)),
        Command::Verify(args) => step(steps::verify(args)),
        Command::Trust(args) => {
            let committee = expected(args)?;
            print(committee.describe())?;
            committee.trust(&args.store)?;
            Settings::resolve(args)?.keep(&args.store)?;
            Ok(Status::Good)
        }
        Command::Endorse(args) => {
            let store = Store::open(&args.store)?;
            let committee = expected(args)?;
            print(committee.describe())?;
            committee.endorse(&store, &mut store.journal()?)?;
            Ok(Status::Good)
        }
        Command::Evidence(args) => evidence::verify(&expected(&args.epoch)?, args),
        Command::Close(args) => {
            Store::open(&args.store)?.close(args.epoch)?;
            Ok(Status::Good)
        }
        Command::Rotate(args) => {
            Store::rotate(&args.store, args.epoch)?;
            Ok(Status::Good)
        }
        Command::Step(args) => run_step(args),
        Command::Other(words) => {
            let name = words.first().map(|name| name.to_string_lossy());
            Err(io::Error::other(format!(
                "`{}` is no command of `mldsa aggregate`; single steps are under `mldsa aggregate step`",
                name.unwrap_or_default()
            )))
        }
    }
}

fn run_step(args: &Step) -> io::Result<Status> {
    match args {
        Step::Init(args) => {
            let mark = args.new.mark.as_deref();
            Store::init(&args.committee, &args.store, args.new.id()?, mark)?;
            Ok(Status::Good)
        }
        Step::Plan(args) => {
            let threshold = threshold::threshold(&args.plan)?;
            let planned = Committee::plan(&args.committee, args.epoch, &args.plan, &threshold)?;
            print(planned.describe())?;
            Ok(Status::Good)
        }
        Step::Root(args) => {
            let store = Store::open(&args.store)?;
            Committee::of(args)?.announce(&store, &mut store.journal()?)?;
            Ok(Status::Good)
        }
        Step::Open(args) => step(Attempt::new(args)?.open()),
        Step::Commit(args) => step(Attempt::new(args)?.commit()),
        Step::Reveal(args) => step(Attempt::new(args)?.reveal()),
        Step::Respond(args) => step(Attempt::new(args)?.respond()),
        Step::Retire(args) => step(steps::retire(args)),
        Step::Combine(args) => step(Attempt::new(&args.step)?.combine(&args.out)),
    }
}

/// The committee with the identity that the arguments must give.
fn expected(args: &EpochArgs) -> io::Result<Committee> {
    if args.identity.is_none() {
        let why = "--identity is required: get it from a source that you trust";
        return Err(io::Error::other(why));
    }
    Committee::of(args)
}

/// Prints members and list of roots, pins and acknowledges the list.
fn agree(args: &EpochArgs) -> io::Result<()> {
    let store = Store::open(&args.store)?;
    let committee = Committee::of(args)?;
    let (pinned, pins) = committee.pin(&store.path)?;
    if args.expect_roots.is_none() {
        let why = "--expect-roots is required: compare the digest that `status` prints over \
                   another channel";
        return Err(io::Error::other(why));
    }
    expect_roots(&pinned, args.expect_roots.as_deref())?;
    let digest = encode_string(pinned.digest());
    print(format!("{}roots: {digest}\n", committee.describe()))?;
    let mut journal = store.journal()?;
    pins.keep()?;
    committee.acknowledge(&store, &pinned, &mut journal)
}

/// The exit code of a step: verdicts are no errors.
fn step(result: Result<(), StepError>) -> io::Result<Status> {
    match result {
        Ok(()) => Ok(Status::Good),
        Err(StepError::Refused(error)) if is_verdict(&error) => {
            complain(error);
            Ok(Status::Invalid)
        }
        Err(StepError::File(error)) if error.kind() == io::ErrorKind::TimedOut => {
            complain(error);
            Ok(Status::Invalid)
        }
        Err(StepError::Refused(error)) => Err(io::Error::other(error)),
        Err(StepError::File(error)) => Err(error),
    }
}

fn is_verdict(error: &Error) -> bool {
    match error {
        Error::Round(error) => error.is_miss(),
        Error::Verify(error) => matches!(
            error,
            VerifyError::InvalidSignature | VerifyError::QuorumMissed | VerifyError::OtherTask
        ),
        _ => false,
    }
}

/// Error of a step.
enum StepError {
    Refused(Error),
    File(io::Error),
}

impl From<RoundError> for StepError {
    fn from(error: RoundError) -> Self {
        Self::Refused(error.into())
    }
}

impl From<VerifyError> for StepError {
    fn from(error: VerifyError) -> Self {
        Self::Refused(error.into())
    }
}

impl From<io::Error> for StepError {
    fn from(error: io::Error) -> Self {
        Self::File(error)
    }
}
