//! `mldsa aggregate`: a committee that makes one signature, step by step over
//! files or all at once.

mod files;
mod steps;

use std::io;
use std::path::{Path, PathBuf};

use mladsa_aggregate::Error;
use mladsa_aggregate::errors::{RoundError, VerifyError};

use crate::Status;
use crate::output::{Files, complain, leads_to_standard_output, print};
use files::{Committee, Store};
use steps::{Session, signing_task};

/// Many signers, one ML-DSA-87 signature (ML-ADSA-87, experimental)
#[derive(clap::Args)]
#[command(after_long_help = HELP)]
pub(crate) struct Args {
    #[command(subcommand)]
    step: Step,
}

const HELP: &str = "\
EXPERIMENTAL: no independent review, no proof for the narrow masks. One key is
good for one decision; the guard in the store is what keeps it so. A store that
was lost, copied or restored from a backup must never sign again.

Every step is a process of its own. `--committee` is a directory that all share
(registrations; for each epoch plan, roots, acknowledgements), `--round` one for
each attempt (openings, commitments, responses), `--store` a member's own, made
with mode 0700; what it keeps secret or must not lose has mode 0600.

  init      everybody, once; then, once for each epoch,
  plan      somebody: matrix, members and contents
  root      everybody, then everybody
  agree     after the printed digest was compared over another channel;
  open      everybody, commit everybody, respond everybody
  combine   somebody; after a miss `retire` everybody, then the next attempt
  close     everybody, when nothing of the epoch is to be signed any more, or
  rotate    with a new seed

EXIT CODE  0 done or valid, 1 invalid, not enough signers, another decision, or to
be retried with the next attempt, 2 unusable or refused.";

#[derive(clap::Subcommand)]
enum Step {
    Run(RunArgs),
    Init(InitArgs),
    Plan(PlanArgs),
    /// Announce the root over one's keys of the epoch
    Root(EpochArgs),
    /// Acknowledge the list of all roots, which everybody has compared
    Agree(EpochArgs),
    /// Show one's key for the decision, with its way to the root
    Open(DecisionArgs),
    /// Send the first message of an attempt: a commitment
    Commit(DecisionArgs),
    /// Answer the challenge that follows from all commitments
    Respond(DecisionArgs),
    /// Give an attempt up: one's key of it never signs
    Retire(DecisionArgs),
    Combine(CombineArgs),
    Verify(VerifyArgs),
    /// End an epoch: nothing more of it, nor of any before, is ever signed
    Close(CloseArgs),
    /// The same, and take a new seed and a new guard
    Rotate(CloseArgs),
}

/// A whole committee in one process, with guards and files as in the steps
#[derive(clap::Args)]
struct RunArgs {
    /// How many members
    #[arg(long, short = 'n', default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=8192))]
    members: u16,

    /// A new directory for everything
    #[arg(long)]
    dir: PathBuf,

    #[command(flatten)]
    subject: SubjectArgs,
}

/// Fix matrix, members and contents of an epoch: once, by agreement
#[derive(clap::Args)]
struct PlanArgs {
    /// The directory that the committee shares
    #[arg(long, value_name = "DIR")]
    committee: PathBuf,

    /// The epoch
    #[arg(long, default_value_t = 1)]
    epoch: u64,

    /// A content label that may be decided in this epoch; repeatable
    #[arg(long = "content", required = true)]
    contents: Vec<String>,

    /// Keys for each content; enough for a third of silent members unless given
    #[arg(long)]
    attempts: Option<u8>,

    /// The members of this epoch; everybody who is registered unless given
    #[arg(long, value_delimiter = ',')]
    members: Vec<String>,
}

/// Make a member: its secrets, its guard and its registration
#[derive(clap::Args)]
struct InitArgs {
    /// The directory that the committee shares
    #[arg(long, value_name = "DIR")]
    committee: PathBuf,

    #[command(flatten)]
    store: StoreArgs,

    /// The member's name, 1 to 64 bytes
    #[arg(long)]
    id: String,

    /// Keep the high-water mark of the guard here, on another device than the store:
    /// FILE.0 at first, with the next number after each rotation
    #[arg(long, value_name = "FILE")]
    mark: Option<PathBuf>,
}

#[derive(clap::Args)]
struct EpochArgs {
    #[command(flatten)]
    committee: CommitteeArgs,

    #[command(flatten)]
    store: StoreArgs,
}

#[derive(clap::Args)]
struct CloseArgs {
    #[command(flatten)]
    store: StoreArgs,

    /// The epoch
    #[arg(long)]
    epoch: u64,
}

#[derive(clap::Args)]
struct DecisionArgs {
    #[command(flatten)]
    committee: CommitteeArgs,

    #[command(flatten)]
    store: StoreArgs,

    #[command(flatten)]
    round: RoundArgs,
}

/// Check all responses and make the aggregate
#[derive(clap::Args)]
struct CombineArgs {
    #[command(flatten)]
    step: DecisionArgs,

    /// Where the aggregate goes: a new file, or - for standard output
    #[arg(long, short)]
    out: PathBuf,
}

/// Verify that enough members signed what you expect
#[derive(clap::Args)]
struct VerifyArgs {
    #[command(flatten)]
    committee: CommitteeArgs,

    #[command(flatten)]
    store: StoreArgs,

    /// The directory with the openings
    #[arg(long)]
    round: PathBuf,

    /// The aggregate
    #[arg(long)]
    aggregate: PathBuf,

    #[command(flatten)]
    subject: SubjectArgs,

    /// How many members have to have signed
    #[arg(
        long,
        required_unless_present_any = ["weights", "threshold"],
        conflicts_with_all = ["weights", "threshold"],
    )]
    quorum: Option<usize>,

    /// Their weights, one `name weight` a line; - is standard input
    #[arg(long, value_name = "FILE", requires = "threshold")]
    weights: Option<PathBuf>,

    /// The weight that has to have signed
    #[arg(long, requires = "weights")]
    threshold: Option<u64>,

    /// Write the ordinary ML-DSA-87 public key, for `mldsa verify`: a new file
    #[arg(long)]
    pk_out: Option<PathBuf>,

    /// Write the ordinary ML-DSA-87 signature
    #[arg(long)]
    sig_out: Option<PathBuf>,

    /// Write the bytes that it signs
    #[arg(long)]
    message_out: Option<PathBuf>,

    /// Write the FIPS 204 context that it is made under
    #[arg(long)]
    ctx_out: Option<PathBuf>,
}

#[derive(clap::Args)]
struct CommitteeArgs {
    /// The directory that the committee shares
    #[arg(long, value_name = "DIR")]
    committee: PathBuf,

    /// The epoch
    #[arg(long, default_value_t = 1)]
    epoch: u64,

    /// The digest of the list of roots, as others have read it to you
    #[arg(long, value_name = "HEX")]
    expect_roots: Option<String>,
}

#[derive(clap::Args)]
struct StoreArgs {
    /// The directory of this member or verifier alone
    #[arg(long, value_name = "DIR")]
    store: PathBuf,
}

#[derive(clap::Args)]
struct RoundArgs {
    /// The directory of this attempt
    #[arg(long, value_name = "DIR")]
    round: PathBuf,

    /// The attempt, from 0
    #[arg(long, default_value_t = 0)]
    attempt: u8,

    /// Who takes part; all members that have acknowledged the roots unless given
    #[arg(long, value_delimiter = ',')]
    cohort: Vec<String>,

    #[command(flatten)]
    subject: SubjectArgs,
}

#[derive(clap::Args, Clone)]
struct SubjectArgs {
    /// The content label
    #[arg(long, default_value = "decision")]
    content: String,

    /// The bytes to sign, or that are expected to be signed; - is standard input
    #[arg(long, value_name = "FILE")]
    payload: PathBuf,

    /// The domain
    #[arg(long, default_value = "")]
    ctx: String,

    /// Sign the payload as it is, the participants in the context
    #[arg(long)]
    consensus: bool,
}

impl Args {
    /// A step reads the directories that it is given. What the committee and the
    /// stores get has names of their own there.
    pub(crate) fn files(&self) -> Files<'_> {
        let files = Files::default();
        match &self.step {
            Step::Run(args) => files.read([&*args.subject.payload]).print(),
            Step::Init(args) => files.read([&*args.committee, &args.store.store]).print(),
            Step::Plan(args) => files.read([&*args.committee]).print(),
            Step::Root(args) | Step::Agree(args) => files
                .read([&*args.committee.committee, &args.store.store])
                .print(),
            Step::Close(args) | Step::Rotate(args) => files.read([&*args.store.store]).print(),
            Step::Open(args) | Step::Commit(args) | Step::Respond(args) | Step::Retire(args) => {
                args.files().print()
            }
            Step::Combine(args) => reported(args.step.files(), [Some(&args.out)]),
            Step::Verify(args) => {
                let files = files
                    .read([&*args.committee.committee, &args.store.store, &args.round])
                    .read([&*args.aggregate, &args.subject.payload])
                    .read(args.weights.as_deref());
                reported(files, args.results())
            }
        }
    }
}

impl DecisionArgs {
    fn files(&self) -> Files<'_> {
        Files::default()
            .read([&*self.committee.committee, &self.store.store])
            .read([&*self.round.round, &self.round.subject.payload])
    }
}

impl VerifyArgs {
    fn results(&self) -> [Option<&PathBuf>; 4] {
        [
            &self.pk_out,
            &self.sig_out,
            &self.message_out,
            &self.ctx_out,
        ]
        .map(Option::as_ref)
    }
}

/// Results, and the report on standard output unless one of them goes there.
fn reported<'a, const N: usize>(files: Files<'a>, results: [Option<&'a PathBuf>; N]) -> Files<'a> {
    let results = || results.iter().flatten().map(|path| path.as_path());
    let taken = results().any(leads_to_standard_output);
    let files = files.write(results());
    if taken { files } else { files.print() }
}

pub(crate) fn run(args: &Args) -> io::Result<Status> {
    match &args.step {
        Step::Run(args) => run_committee(args),
        Step::Init(args) => {
            let mark = args.mark.as_deref();
            Store::init(&args.committee, &args.store.store, &args.id, mark)?;
            Ok(Status::Good)
        }
        Step::Plan(args) => {
            Committee::plan(&args.committee, args)?;
            Ok(Status::Good)
        }
        Step::Root(args) => {
            let store = Store::open(&args.store.store)?;
            Committee::open(&args.committee.committee, args.committee.epoch)?.announce(&store)?;
            Ok(Status::Good)
        }
        Step::Agree(args) => {
            let store = Store::open(&args.store.store)?;
            agree(&args.committee, &args.store.store, &store)?;
            Ok(Status::Good)
        }
        Step::Close(args) => {
            Store::open(&args.store.store)?.close(args.epoch)?;
            Ok(Status::Good)
        }
        Step::Rotate(args) => {
            Store::rotate(&args.store.store, args.epoch)?;
            Ok(Status::Good)
        }
        Step::Open(args) => step(session(args)?.open()),
        Step::Commit(args) => step(session(args)?.commit()),
        Step::Respond(args) => step(session(args)?.respond()),
        Step::Retire(args) => step(session(args)?.retire()),
        Step::Combine(args) => step(session(&args.step)?.combine(&args.out)),
        Step::Verify(args) => step(steps::verify(args)),
    }
}

fn session(args: &DecisionArgs) -> io::Result<Session> {
    Session::new(args, signing_task(&args.round.subject)?)
}

/// Prints the digest of the list, pins it and acknowledges it.
fn agree(args: &CommitteeArgs, path: &Path, store: &Store) -> io::Result<()> {
    let committee = Committee::open(&args.committee, args.epoch)?;
    let (pinned, pins) = committee.pin(path)?;
    files::expect_roots(&pinned, args.expect_roots.as_deref())?;
    print(&format!("roots: {}\n", files::hex(pinned.digest())))?;
    pins.keep()?;
    committee.acknowledge(store, &pinned)
}

/// Turns the outcomes that are verdicts into an exit code.
fn step(result: Result<(), StepError>) -> io::Result<Status> {
    match result {
        Ok(()) => Ok(Status::Good),
        Err(StepError::Refused(error)) if is_verdict(&error) => {
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

/// Why a step did not come about.
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

/// Every step for every member, attempt after attempt.
fn run_committee(args: &RunArgs) -> io::Result<Status> {
    let at = |name: &str| args.dir.join(name);
    // Read once, and before anything is made.
    let subject = signing_task(&args.subject)?;
    std::fs::create_dir(&args.dir).map_err(|error| files::named(&args.dir, error))?;
    let committee = || CommitteeArgs {
        committee: at("committee"),
        epoch: 1,
        expect_roots: None,
    };
    let paths: Vec<PathBuf> = (0..args.members)
        .map(|n| at(&format!("member-{n:04}")))
        .collect();
    let mut stores = Vec::new();
    for (n, path) in paths.iter().enumerate() {
        let id = format!("member-{n:04}");
        stores.push(Store::init(&at("committee"), path, &id, None)?);
    }
    let plan = PlanArgs {
        committee: at("committee"),
        epoch: 1,
        contents: vec![args.subject.content.clone()],
        attempts: None,
        members: Vec::new(),
    };
    Committee::plan(&plan.committee, &plan)?;
    let shared = Committee::open(&plan.committee, 1)?;
    for store in &stores {
        shared.announce(store)?;
    }
    for (path, store) in paths.iter().zip(&stores) {
        let (pinned, pins) = shared.pin(path)?;
        pins.keep()?;
        shared.acknowledge(store, &pinned)?;
    }
    for attempt in 0..shared.plan.attempts() {
        let decision = |store: &PathBuf| DecisionArgs {
            committee: committee(),
            store: StoreArgs {
                store: store.clone(),
            },
            round: RoundArgs {
                round: at(&format!("round-{attempt}")),
                attempt,
                cohort: Vec::new(),
                subject: args.subject.clone(),
            },
        };
        let everybody = |act: fn(Session) -> Result<(), StepError>| {
            paths.iter().try_for_each(|store| {
                match act(Session::new(&decision(store), subject.clone())?) {
                    Ok(()) => Ok(()),
                    Err(StepError::Refused(error)) => Err(io::Error::other(error)),
                    Err(StepError::File(error)) => Err(error),
                }
            })
        };
        everybody(Session::open)?;
        everybody(Session::commit)?;
        everybody(Session::respond)?;
        // What a combiner pins, it pins in a place of its own.
        let combiner = decision(&at("combiner"));
        match Session::new(&combiner, subject.clone())?.combine(&at("aggregate")) {
            Err(StepError::Refused(Error::Round(error))) if error.is_miss() => {
                everybody(Session::retire)?;
            }
            result => return step(result),
        }
    }
    Err(io::Error::other(RoundError::AttemptsExhausted))
}
