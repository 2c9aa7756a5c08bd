//! `mldsa aggregate`: a committee that makes one signature, step by step over
//! files or all at once.

mod files;
mod steps;

use std::io::{self, Write};
use std::path::PathBuf;

use mladsa_aggregate::Error;

use crate::Status;
use files::{Committee, Store};
use steps::Session;

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

Every step is a process of its own. `--committee` is a directory that all public_key
(plan, registrations, roots), `--round` one for each attempt (openings,
commitments, responses), `--store` a member's own. Files must reach the others
over authenticated channels.

EXIT CODE  0 done or valid, 1 invalid or to be retried with the next attempt,
2 unusable or refused.";

#[derive(clap::Subcommand)]
enum Step {
    Run(RunArgs),
    Plan(PlanArgs),
    Init(InitArgs),
    Root(RootArgs),
    Open(DecisionArgs),
    Commit(DecisionArgs),
    Respond(DecisionArgs),
    Retire(DecisionArgs),
    Combine(CombineArgs),
    Verify(VerifyArgs),
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

/// Fix rho, the epoch and its contents: once, by agreement
#[derive(clap::Args)]
struct PlanArgs {
    #[command(flatten)]
    committee: CommitteeArgs,

    /// The epoch
    #[arg(long, default_value_t = 1)]
    epoch: u64,

    /// A content label that may be decided in this epoch; repeatable
    #[arg(long = "content", required = true)]
    contents: Vec<String>,

    /// Keys for each content
    #[arg(long, default_value_t = mladsa_aggregate::DEFAULT_ATTEMPTS)]
    attempts: u8,
}

/// Make a member: its secrets, its guard and its registration
#[derive(clap::Args)]
struct InitArgs {
    #[command(flatten)]
    committee: CommitteeArgs,

    #[command(flatten)]
    store: StoreArgs,

    /// The member's name, 1 to 64 bytes
    #[arg(long)]
    id: String,
}

/// Announce the root over the keys of the epoch
#[derive(clap::Args)]
struct RootArgs {
    #[command(flatten)]
    committee: CommitteeArgs,

    #[command(flatten)]
    store: StoreArgs,
}

/// One step of a round
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

/// Rebuild the key of an aggregate from pinned roots and openings, and verify it
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

    /// Write the ordinary ML-DSA-87 public key, for `mldsa verify`: a new file
    #[arg(long)]
    pk_out: Option<PathBuf>,

    /// Write the ordinary ML-DSA-87 signature
    #[arg(long)]
    sig_out: Option<PathBuf>,

    /// Write the bytes that it signs
    #[arg(long)]
    message_out: Option<PathBuf>,
}

#[derive(clap::Args)]
struct CommitteeArgs {
    /// The directory that the committee shares
    #[arg(long, value_name = "DIR")]
    committee: PathBuf,
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

    /// Who takes part; all members with a pinned root unless given
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

    /// The bytes to sign
    #[arg(long, value_name = "FILE")]
    payload: PathBuf,

    /// FIPS 204 context: the domain
    #[arg(long, default_value = "")]
    ctx: String,

    /// Sign the payload as it is, without participants, registry and epoch
    #[arg(long)]
    consensus: bool,
}

pub(crate) fn run(args: &Args) -> io::Result<Status> {
    match &args.step {
        Step::Run(args) => run_committee(args),
        Step::Plan(args) => {
            Committee::create(&args.committee.committee, args)?;
            Ok(Status::Good)
        }
        Step::Init(args) => {
            let store = Store::create(&args.store.store, args.id.as_bytes())?;
            Committee::open(&args.committee.committee)?.register(&store)?;
            Ok(Status::Good)
        }
        Step::Root(args) => {
            let store = Store::open(&args.store.store)?;
            Committee::open(&args.committee.committee)?.announce(&store)?;
            Ok(Status::Good)
        }
        Step::Open(args) => step(Session::new(args)?.open()),
        Step::Commit(args) => step(Session::new(args)?.commit()),
        Step::Respond(args) => step(Session::new(args)?.respond()),
        Step::Retire(args) => step(Session::new(args)?.retire()),
        Step::Combine(args) => step(Session::new(&args.step)?.combine(&args.out)),
        Step::Verify(args) => step(steps::verify(args)),
    }
}

/// Turns the outcomes that are verdicts into an exit code.
fn step(result: Result<(), StepError>) -> io::Result<Status> {
    match result {
        Ok(()) => Ok(Status::Good),
        Err(StepError::Refused(error @ (Error::Retry(_) | Error::VerifyFailed))) => {
            writeln!(io::stderr(), "mldsa: {error}")?;
            Ok(Status::Invalid)
        }
        Err(StepError::Refused(error)) => Err(io::Error::other(error)),
        Err(StepError::File(error)) => Err(error),
    }
}

/// Why a step did not come about.
enum StepError {
    Refused(Error),
    File(io::Error),
}

impl From<Error> for StepError {
    fn from(error: Error) -> Self {
        Self::Refused(error)
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
    std::fs::create_dir(&args.dir)?;
    let committee = || CommitteeArgs {
        committee: at("committee"),
    };
    let plan = PlanArgs {
        committee: committee(),
        epoch: 1,
        contents: vec![args.subject.content.clone()],
        attempts: mladsa_aggregate::DEFAULT_ATTEMPTS,
    };
    let shared = Committee::create(&at("committee"), &plan)?;
    let stores: Vec<PathBuf> = (0..args.members)
        .map(|n| at(&format!("member-{n:04}")))
        .collect();
    for (n, path) in stores.iter().enumerate() {
        let store = Store::create(path, format!("member-{n:04}").as_bytes())?;
        shared.register(&store)?;
        shared.announce(&store)?;
    }
    for attempt in 0..plan.attempts {
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
            stores
                .iter()
                .try_for_each(|store| match act(Session::new(&decision(store))?) {
                    Ok(()) => Ok(()),
                    Err(StepError::Refused(error)) => Err(io::Error::other(error)),
                    Err(StepError::File(error)) => Err(error),
                })
        };
        everybody(Session::open)?;
        everybody(Session::commit)?;
        everybody(Session::respond)?;
        // What a combiner pins, it pins in a place of its own.
        let combiner = decision(&at("combiner"));
        match Session::new(&combiner)?.combine(&at("aggregate")) {
            Err(StepError::Refused(Error::Retry(_))) => everybody(Session::retire)?,
            result => return step(result),
        }
    }
    Err(io::Error::other(Error::AttemptsExhausted))
}
