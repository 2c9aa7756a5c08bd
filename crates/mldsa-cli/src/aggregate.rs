//! `mldsa aggregate`: a committee that makes one signature, in steps over files or in one process.

mod args;
mod committee;
mod dirs;
mod pins;
mod registrations;
mod rule;
mod steps;
mod store;

use std::io;
use std::path::PathBuf;

use base16ct::lower::encode_string;
use mladsa_aggregate::Error;
use mladsa_aggregate::errors::{RoundError, VerifyError};

use crate::Status;
use crate::paths::{Files, is_standard_output};
use crate::terminal::{complain, print};
use args::{
    CloseArgs, CombineArgs, CommitteeArgs, DecisionArgs, EpochArgs, InitArgs, PlanArgs, RoundArgs,
    RunArgs, StoreArgs, VerifyArgs,
};
use committee::{Committee, expect_roots};
use dirs::named;
use steps::{Attempt, signing_task};
use store::Store;

/// Many signers, one ML-DSA-87 signature (ML-ADSA-87, experimental)
#[derive(clap::Args)]
#[command(after_long_help = HELP)]
pub(crate) struct Args {
    #[command(subcommand)]
    step: Step,
}

const HELP: &str = "\
EXPERIMENTAL: no independent review, no proof for the narrow masks. One key signs
one decision; the guard in the store ensures it. A store that was lost, copied or
restored from a backup must never sign again.

Every step is one process. `--committee` is a directory that all members share
(registrations; for each epoch plan, roots, acknowledgements), `--round` one for
each attempt (openings, commitments, responses), `--store` one member's own, made
with mode 0700; its secrets and its guard have mode 0600.

  init      all members, once
  plan      one member, for each epoch: matrix, members, quorum rule and contents
  status    anyone: members, fingerprints, digests, missing messages; binds nothing
  root      all members
  agree     all members, after comparing the digest of `status` over another channel
  open      all members, for each attempt; then commit, then respond
  combine   one member; after a miss all members `retire`: the next attempt
  close     all members, when the epoch is over, or
  rotate    with a new seed
  endorse   members of the epoch before: the committee of the next one

`verify` trusts no directory: its --store has pinned the committee's identity
(`trust`), or an earlier committee that has endorsed it, or --identity gives it.

EXIT CODE  0 done or valid, 1 invalid, not enough signers, another decision, or to
be retried with the next attempt, 2 unusable or refused.";

#[derive(clap::Subcommand)]
enum Step {
    Run(RunArgs),
    Init(InitArgs),
    Plan(PlanArgs),
    /// Announce the root over the member's keys of the epoch
    Root(EpochArgs),
    /// Acknowledge the list of all roots, whose digest --expect-roots gives
    Agree(EpochArgs),
    /// Show the committee of an epoch, what is missing and what comes next
    Status(EpochArgs),
    /// Pin the committee that --identity gives in the store of a verifier
    Trust(EpochArgs),
    /// Endorse the committee that --identity gives as the next one
    Endorse(EpochArgs),
    /// Publish the member's key for the decision, with its path to the root
    Open(DecisionArgs),
    /// Publish a commitment, the first message of an attempt
    Commit(DecisionArgs),
    /// Publish the response to the challenge of all commitments
    Respond(DecisionArgs),
    /// Abandon an attempt: the member's key of it never signs
    Retire(DecisionArgs),
    Combine(CombineArgs),
    Verify(VerifyArgs),
    /// End an epoch: no key of it or of an earlier one signs any more
    Close(CloseArgs),
    /// End an epoch as `close` does, and make a new seed and a new guard
    Rotate(CloseArgs),
}

impl Args {
    /// A step reads the directories that it is given, and writes files of its own there.
    pub(crate) fn files(&self) -> Files<'_> {
        let files = Files::default();
        match &self.step {
            Step::Run(args) => files.read([&*args.subject.payload]).print(),
            Step::Init(args) => files.read([&*args.committee, &args.store.store]).print(),
            Step::Plan(args) => files
                .read([&*args.committee])
                .read(args.weights.as_deref())
                .print(),
            Step::Root(args)
            | Step::Agree(args)
            | Step::Status(args)
            | Step::Trust(args)
            | Step::Endorse(args) => files
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
                    .read([&*args.aggregate, &args.subject.payload]);
                reported(files, args.results())
            }
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
    match &args.step {
        Step::Run(args) => run_committee(args),
        Step::Init(args) => {
            let mark = args.mark.as_deref();
            Store::init(&args.committee, &args.store.store, &args.id, mark)?;
            Ok(Status::Good)
        }
        Step::Plan(args) => {
            print(Committee::plan(args)?.describe())?;
            Ok(Status::Good)
        }
        Step::Root(args) => {
            let store = Store::open(&args.store.store)?;
            Committee::of(&args.committee)?.announce(&store)?;
            Ok(Status::Good)
        }
        Step::Status(args) => {
            print(Committee::of(&args.committee)?.status(&args.store.store)?)?;
            Ok(Status::Good)
        }
        Step::Trust(args) => {
            let committee = expected(&args.committee)?;
            print(committee.describe())?;
            committee.trust(&args.store.store)?;
            Ok(Status::Good)
        }
        Step::Endorse(args) => {
            let store = Store::open(&args.store.store)?;
            let committee = expected(&args.committee)?;
            print(committee.describe())?;
            committee.endorse(&store)?;
            Ok(Status::Good)
        }
        Step::Agree(args) => {
            let store = Store::open(&args.store.store)?;
            agree(&args.committee, &store)?;
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
        Step::Open(args) => step(attempt(args)?.open()),
        Step::Commit(args) => step(attempt(args)?.commit()),
        Step::Respond(args) => step(attempt(args)?.respond()),
        Step::Retire(args) => step(attempt(args)?.retire()),
        Step::Combine(args) => step(attempt(&args.step)?.combine(&args.out)),
        Step::Verify(args) => step(steps::verify(args)),
    }
}

fn attempt(args: &DecisionArgs) -> io::Result<Attempt> {
    Attempt::new(args, signing_task(&args.round.subject)?)
}

/// The committee with the identity that the arguments must give.
fn expected(args: &CommitteeArgs) -> io::Result<Committee> {
    if args.identity.is_none() {
        let why = "--identity is required: get it from a source that you trust";
        return Err(io::Error::other(why));
    }
    Committee::of(args)
}

/// Prints members and list of roots, pins and acknowledges the list.
fn agree(args: &CommitteeArgs, store: &Store) -> io::Result<()> {
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
    pins.keep()?;
    committee.acknowledge(store, &pinned)
}

/// The exit code of a step: verdicts are no errors.
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

/// Runs every step for every member, one attempt after another.
fn run_committee(args: &RunArgs) -> io::Result<Status> {
    let at = |name: &str| args.dir.join(name);
    // Read once, before anything is made.
    let task = signing_task(&args.subject)?;
    std::fs::create_dir(&args.dir).map_err(|error| named(&args.dir, error))?;
    let committee = || CommitteeArgs {
        committee: at("committee"),
        epoch: 1,
        identity: None,
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
        all_registered: true,
        quorum: None,
        weights: None,
        threshold: None,
        after: None,
    };
    let shared = Committee::plan(&plan)?;
    for store in &stores {
        shared.announce(store)?;
    }
    for store in &stores {
        let (pinned, pins) = shared.pin(&store.path)?;
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
        let all = |act: fn(Attempt) -> Result<(), StepError>| {
            paths.iter().try_for_each(|store| {
                match act(Attempt::new(&decision(store), task.clone())?) {
                    Ok(()) => Ok(()),
                    Err(StepError::Refused(error)) => Err(io::Error::other(error)),
                    Err(StepError::File(error)) => Err(error),
                }
            })
        };
        all(Attempt::open)?;
        all(Attempt::commit)?;
        all(Attempt::respond)?;
        // The combiner pins the list in a directory of its own.
        let mut combiner = decision(&at("combiner"));
        combiner.committee.identity = Some(shared.identity());
        match Attempt::new(&combiner, task.clone())?.combine(&at("aggregate")) {
            Err(StepError::Refused(Error::Round(error))) if error.is_miss() => {
                all(Attempt::retire)?;
            }
            result => return step(result),
        }
    }
    Err(io::Error::other(RoundError::AttemptsExhausted))
}
