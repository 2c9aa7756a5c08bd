//! Steps of an attempt, from files to files.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base16ct::lower::encode_string;
use mladsa_aggregate::errors::{RoundError, VerifyError};
use mladsa_aggregate::steps::{
    AttemptId, AuthenticatedKey, Challenge, Combiner, CommitmentSet, MessageKind, Round,
    SignedMessage,
};
use mladsa_aggregate::{Aggregate, AgreedRoots, MemberId, SigningTask};

use sha2::{Digest, Sha256};

use super::StepError;
use super::args::{DecisionArgs, SubjectArgs, VerifyArgs};
use super::committee::Committee;
use super::dirs::{
    MAX_SHARED, TempPaths, content_label, expect_apart, file_name, member_id, named, publish, read,
    read_named, refused,
};
use super::pins::Pins;
use super::store::Store;
use crate::input;
use crate::output::{Content, Existing, Output, write_each_after};
use crate::paths::Files;
use crate::terminal::print;

/// The signing task of the arguments.
pub(crate) fn signing_task(args: &SubjectArgs) -> io::Result<SigningTask> {
    let id = content_label(&args.content)?;
    let payload = read_named(&args.payload, MAX_SHARED)?;
    let domain = args.ctx.as_bytes();
    // The context of a consensus task has 32 bytes more.
    let (task, longest) = if args.consensus {
        (SigningTask::consensus(id, domain, &payload), 223)
    } else {
        (SigningTask::decision(id, domain, &payload), 255)
    };
    task.map_err(|_| {
        let len = domain.len();
        io::Error::other(format!(
            "--ctx: a domain has {longest} bytes at most, not {len}"
        ))
    })
}

/// One attempt at one decision, of a member or a combiner.
pub(crate) struct Attempt {
    committee: Committee,
    store: PathBuf,
    agreed: AgreedRoots,
    pins: Pins,
    round: PathBuf,
    payload: PathBuf,
    task: SigningTask,
    attempt: AttemptId,
    cohort: Vec<MemberId>,
}

impl Attempt {
    /// An error without an agreement on the list of roots.
    pub(crate) fn new(args: &DecisionArgs, task: SigningTask) -> io::Result<Self> {
        let committee = Committee::of(&args.committee)?;
        let round = &args.round;
        expect_apart("--round", &round.round, &args.store.store)?;
        let (agreed, pins) = committee.agreed(&args.store.store, &args.committee)?;
        let attempt = task.id().attempt(round.attempt).map_err(refused)?;
        committee.plan.index(&attempt).map_err(refused)?;
        let cohort: Result<Vec<_>, _> = round
            .cohort
            .iter()
            .map(|id| member_id(id.as_bytes()))
            .collect();
        let mut cohort = cohort?;
        if cohort.is_empty() {
            cohort.extend(agreed.ids());
        }
        Ok(Self {
            store: args.store.store.clone(),
            round: round.round.clone(),
            payload: round.subject.payload.clone(),
            committee,
            agreed,
            pins,
            task,
            attempt,
            cohort,
        })
    }

    pub(crate) fn open(self) -> Result<(), StepError> {
        let store = Store::open(&self.store)?;
        let tree = self.committee.tree(&store)?;
        let guard = store.guard()?;
        let opening = store
            .member
            .open(&self.agreed, &tree, &self.attempt, &guard)?;
        self.send(&opening)
    }

    pub(crate) fn commit(self) -> Result<(), StepError> {
        let store = Store::open(&self.store)?;
        let round = self.read_round()?;
        let (_, commitment) = store.member.commit(&round, &mut store.guard()?)?;
        self.send(&commitment)
    }

    pub(crate) fn respond(self) -> Result<(), StepError> {
        let store = Store::open(&self.store)?;
        let round = self.read_round()?;
        let challenge = self.read_challenge(&round)?;
        let mut guard = store.guard()?;
        let pending = store.member.resume(&round, &guard)?;
        let response = store.member.respond(pending, &challenge, &mut guard)?;
        self.send(&response)
    }

    pub(crate) fn retire(self) -> Result<(), StepError> {
        let store = Store::open(&self.store)?;
        let mut guard = store.guard()?;
        Ok(store
            .member
            .retire(&self.agreed, &self.attempt, &mut guard)?)
    }

    pub(crate) fn combine(self, out: &Path) -> Result<(), StepError> {
        // Before the outcome: an attempt that misses reports the same error.
        let output = Output::new(out, Existing::Reject, Content::Binary)?;
        self.pins.check_result(out)?;
        let round = self.read_round()?;
        let challenge = self.read_challenge(&round)?;
        let mut combiner = Combiner::new(&challenge);
        for id in &self.cohort {
            combiner.add(&receive(
                &self.agreed,
                &self.round,
                MessageKind::Response,
                id,
            )?)?;
        }
        let aggregate = combiner.finish()?;
        let report = report(&aggregate, &self.agreed)?;
        Ok(write_each_after(
            &[(&output, &aggregate.to_bytes())],
            || {
                show(&report, output.is_standard())?;
                self.pins.keep()
            },
        )?)
    }

    fn read_round(&self) -> Result<Arc<Round>, StepError> {
        let keys = public_keys(&self.round, &self.agreed, &self.cohort, &self.attempt)?;
        Ok(Round::new(
            &self.agreed,
            &self.task,
            self.attempt.attempt(),
            keys,
        )?)
    }

    fn read_challenge(&self, round: &Arc<Round>) -> Result<Arc<Challenge>, StepError> {
        let mut set = CommitmentSet::new(round);
        for id in &self.cohort {
            let commitment = receive(&self.agreed, &self.round, MessageKind::Commitment, id)?;
            set.add(&commitment).map_err(|error| match error {
                RoundError::OtherRound => {
                    let path = path(&self.round, MessageKind::Commitment, id);
                    let why = "was made for something else than this step is asked for: compare \
                               --payload, --ctx, --consensus and --cohort";
                    StepError::from(named(&path, why))
                }
                error => error.into(),
            })?;
        }
        Ok(set.challenge()?)
    }

    fn send(&self, message: &SignedMessage) -> Result<(), StepError> {
        let path = path(&self.round, message.kind(), message.id());
        // It replaces a message that this member has sent before, and nothing else.
        let files = Files::default().read([&*self.payload]).write([&*path]);
        files.check()?;
        let mut made = TempPaths::default();
        let sent = made
            .directory(&self.round)
            .and_then(|()| self.pins.keep())
            .and_then(|()| publish(&path, &message.to_bytes()));
        Ok(made.unless(sent)?)
    }
}

fn path(round: &Path, kind: MessageKind, id: &MemberId) -> PathBuf {
    let kind = match kind {
        MessageKind::Opening => "opening",
        MessageKind::Commitment => "commitment",
        MessageKind::Response => "response",
    };
    round.join(format!("{}.{kind}", file_name(id)))
}

/// Reads a member's message and checks kind and sender.
fn receive(
    agreed: &AgreedRoots,
    round: &Path,
    kind: MessageKind,
    id: &MemberId,
) -> Result<SignedMessage, StepError> {
    let path = path(round, kind, id);
    let message = agreed.receive(&read(&path)?);
    let message = message.and_then(|message| {
        let fits = message.id() == id && message.kind() == kind;
        fits.then_some(message).ok_or(RoundError::InvalidMessage)
    });
    Ok(message.map_err(|error| named(&path, error))?)
}

fn public_keys(
    round: &Path,
    agreed: &AgreedRoots,
    cohort: &[MemberId],
    attempt: &AttemptId,
) -> Result<Vec<AuthenticatedKey>, StepError> {
    let mut openings = Vec::new();
    for id in cohort {
        let opening = receive(agreed, round, MessageKind::Opening, id)?;
        if opening.attempt_id() != attempt {
            let path = path(round, MessageKind::Opening, id);
            return Err(named(&path, RoundError::OtherRound).into());
        }
        openings.push(opening);
    }
    let keys = agreed.authenticate_each(&openings);
    Ok(keys.into_iter().collect::<Result<_, _>>()?)
}

pub(crate) fn verify(args: &VerifyArgs) -> Result<(), StepError> {
    let committee = Committee::of(&args.committee)?;
    expect_apart("--round", &args.round, &args.store.store)?;
    let (agreed, pins) = committee.agreed(&args.store.store, &args.committee)?;
    let task = signing_task(&args.subject)?;
    // An aggregate with another payload than the expected one may be longer.
    let limit = task.payload().len() as u64 + (1 << 14);
    let bytes = read_named(&args.aggregate, limit)?;
    let malformed = |error| input::unusable(&args.aggregate, error);
    let aggregate = Aggregate::from_bytes(&bytes).map_err(malformed)?;
    let signers = aggregate.signers(agreed.registry())?;
    let keys = public_keys(&args.round, &agreed, &signers, aggregate.attempt_id())?;
    let round = aggregate.verify(&agreed, &keys, &task)?;
    let results = [
        &round.aggregate_key().as_bytes()[..],
        aggregate.signature().as_ref(),
        round.message(),
        round.context(),
    ];
    let mut outputs = Vec::new();
    for (path, bytes) in args.results().into_iter().zip(results) {
        if let Some(path) = path {
            pins.check_result(path)?;
            outputs.push((Output::new(path, Existing::Reject, Content::Binary)?, bytes));
        }
    }
    let results: Vec<_> = outputs
        .iter()
        .map(|(output, bytes)| (output, *bytes))
        .collect();
    let taken = outputs.iter().any(|(output, _)| output.is_standard());
    let report = report(&aggregate, &agreed)?;
    Ok(write_each_after(&results, || {
        show(&report, taken)?;
        pins.keep()
    })?)
}

/// Signers and decision, and the size: with and without openings, and of a list of signatures.
fn report(aggregate: &Aggregate, agreed: &AgreedRoots) -> Result<String, VerifyError> {
    let registry = agreed.registry();
    let signers = aggregate.signers(registry)?;
    let n = signers.len();
    let object = aggregate.to_bytes().len();
    let openings = n * agreed.plan().opening_len();
    let names: Vec<String> = signers.iter().map(ToString::to_string).collect();
    let payload = Sha256::digest(aggregate.payload());
    let lines = [
        format!("signers: {n} of {}: {}", registry.len(), names.join(" ")),
        format!("payload: SHA-256 {}", encode_string(&payload)),
        format!("committee: {}", encode_string(&agreed.identity())),
        format!("roots: {}", encode_string(agreed.digest())),
        format!("attempt: {}", aggregate.attempt_id().attempt()),
        format!("hints: {} of 75", aggregate.hint_weight()),
        format!("aggregate: {object} bytes, signature 4627 of them"),
        format!(
            "for a verifier without the openings: {} bytes ({openings} of openings)",
            object + openings
        ),
        format!("a list of {n} signatures: {} bytes\n", n * 4627),
    ];
    Ok(lines.join("\n"))
}

/// Prints the report to standard error if a result is on standard output.
fn show(report: &str, taken: bool) -> io::Result<()> {
    if taken {
        io::stderr().write_all(report.as_bytes())
    } else {
        print(report)
    }
}
