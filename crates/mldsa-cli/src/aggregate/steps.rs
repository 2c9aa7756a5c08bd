//! Steps of an attempt, from files to files.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base16ct::lower::encode_string;
use mladsa_aggregate::errors::{RoundError, VerifyError};
use mladsa_aggregate::steps::{
    AttemptId, Challenge, Combiner, CommitmentSet, MessageKind, Round, SignedMessage,
};
use mladsa_aggregate::{
    Aggregate, AgreedRoots, Certificate, MemberId, OneTimeKeyJournal, SigningTask,
};

use sha2::{Digest, Sha256};

use super::StepError;
use super::args::{DecisionArgs, RetireArgs, SubjectArgs, VerifyArgs};
use super::committee::Committee;
use super::dirs::{
    MAX_SHARED, TempPaths, content_label, expect_apart, file_name, member_id, named, publish_by,
    publish_first_by, read, read_named, refused, sweep_of,
};
use super::mailbox::certificate_limit;
use super::pins::Pins;
use super::settings::Settings;
use super::store::Store;
use crate::input;
use crate::output::{Content, Existing, Output, write_each_after};
use crate::paths::Files;
use crate::terminal::print;

/// The signing task of the arguments, in the stored domain if they have none.
pub(crate) fn signing_task(args: &SubjectArgs, store: &Path) -> io::Result<SigningTask> {
    let id = content_label(&args.content)?;
    let payload = read_named(&args.payload, MAX_SHARED)?;
    let known = Settings::of(store)?.map(|settings| settings.ctx);
    let domain = args.ctx.clone().or(known).unwrap_or_default();
    let domain = domain.as_bytes();
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
    participants: Vec<MemberId>,
}

impl Attempt {
    /// An error without an agreement on the list of roots.
    pub(crate) fn new(args: &DecisionArgs) -> io::Result<Self> {
        let (epoch, store) = (&args.epoch, &args.epoch.store);
        let task = signing_task(&args.subject, store)?;
        let committee = Committee::of(epoch)?;
        expect_apart("--round", &args.round, store)?;
        let (agreed, pins) = committee.agreed(store, epoch)?;
        let attempt = task.id().attempt(args.attempt).map_err(refused)?;
        committee.plan.index(&attempt).map_err(refused)?;
        let mut participants = Vec::new();
        for id in &args.participants {
            participants.push(member_id(id.as_bytes())?);
        }
        participants.sort_unstable();
        match read(&args.round.join(PARTICIPANTS)) {
            Ok(fixed) => {
                let fixed = parse_participants(&fixed, &args.round)?;
                if !participants.is_empty() && participants != fixed {
                    let why = "the first `open` of the attempt has fixed other participants";
                    return Err(named(&args.round, why));
                }
                participants = fixed;
            }
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Err(_) if participants.is_empty() => participants.extend(agreed.ids()),
            Err(_) => {}
        }
        Ok(Self {
            store: store.clone(),
            round: args.round.clone(),
            payload: args.subject.payload.clone(),
            committee,
            agreed,
            pins,
            task,
            attempt,
            participants,
        })
    }

    /// Opens the key of the member. The first opening of an attempt fixes its participants, so that a
    /// later acknowledgement does not change them.
    pub(crate) fn open(self) -> Result<(), StepError> {
        let store = Store::open(&self.store)?;
        let tree = self.committee.tree(&store)?;
        let journal = store.journal()?;
        let opening = store
            .member
            .open(&self.agreed, &tree, &self.attempt, &journal)?;
        self.send(&opening, &journal)
    }

    pub(crate) fn commit(self) -> Result<(), StepError> {
        let store = Store::open(&self.store)?;
        let round = self.read_round()?;
        let mut journal = store.journal()?;
        let (_, hash) = store.member.commit(&round, &mut journal)?;
        self.send(&hash, &journal)
    }

    pub(crate) fn reveal(self) -> Result<(), StepError> {
        let store = Store::open(&self.store)?;
        let round = self.read_round()?;
        let hashes = self.read_hashes(&round)?;
        let mut journal = store.journal()?;
        let pending = store.member.resume(&round, &journal)?;
        let commitment = store.member.reveal(&pending, &hashes, &mut journal)?;
        self.send(&commitment, &journal)
    }

    pub(crate) fn respond(self) -> Result<(), StepError> {
        let store = Store::open(&self.store)?;
        let round = self.read_round()?;
        let challenge = self.read_challenge(&round)?;
        let mut journal = store.journal()?;
        let pending = store.member.resume(&round, &journal)?;
        let response = store.member.respond(pending, &challenge, &mut journal)?;
        self.send(&response, &journal)
    }

    pub(crate) fn combine(self, out: &Path) -> Result<(), StepError> {
        // Before the outcome: an attempt that misses reports the same error.
        let output = Output::new(out, Existing::Reject, Content::Binary)?;
        self.pins.check_result(out)?;
        let round = self.read_round()?;
        let challenge = self.read_challenge(&round)?;
        let mut combiner = Combiner::new(&challenge);
        for id in &self.participants {
            combiner.add(&receive(
                &self.agreed,
                &self.round,
                MessageKind::Response,
                id,
            )?)?;
        }
        let aggregate = combiner.finish()?;
        let report = report(&aggregate, &self.agreed)?;
        let certificate = Certificate::new(aggregate, &self.openings()?);
        Ok(write_each_after(
            &[(&output, &certificate.to_bytes())],
            || {
                show(&report, output.is_standard())?;
                self.pins.keep()
            },
        )?)
    }

    fn openings(&self) -> Result<Vec<SignedMessage>, StepError> {
        let opening = |id| {
            let opening = receive(&self.agreed, &self.round, MessageKind::Opening, id)?;
            if *opening.attempt_id() != self.attempt {
                let path = path(&self.round, MessageKind::Opening, id);
                return Err(named(&path, RoundError::OtherRound).into());
            }
            Ok(opening)
        };
        self.participants.iter().map(opening).collect()
    }

    fn read_round(&self) -> Result<Arc<Round>, StepError> {
        let keys = self.agreed.authenticate_each(&self.openings()?);
        let keys = keys.into_iter().collect::<Result<Vec<_>, _>>()?;
        let attempt = self.attempt.attempt();
        Ok(Round::new(&self.agreed, &self.task, attempt, keys)?)
    }

    fn read_hashes(&self, round: &Arc<Round>) -> Result<CommitmentSet, StepError> {
        let mut set = CommitmentSet::new(round);
        self.read_into(&mut set, MessageKind::CommitmentHash)?;
        Ok(set)
    }

    fn read_challenge(&self, round: &Arc<Round>) -> Result<Arc<Challenge>, StepError> {
        let mut set = self.read_hashes(round)?;
        self.read_into(&mut set, MessageKind::Commitment)?;
        Ok(set.challenge()?)
    }

    /// Adds the messages of all participants to a set.
    fn read_into(&self, set: &mut CommitmentSet, kind: MessageKind) -> Result<(), StepError> {
        for id in &self.participants {
            let message = receive(&self.agreed, &self.round, kind, id)?;
            set.add(&message).map_err(|error| match error {
                RoundError::OtherRound => {
                    let why = "was made for something else than this step is asked for: compare \
                               --payload, --ctx, --consensus and --participants";
                    StepError::from(named(&path(&self.round, kind, id), why))
                }
                error => error.into(),
            })?;
        }
        Ok(())
    }

    /// Publishes a message of the member, whose journal the caller holds.
    fn send(&self, message: &SignedMessage, _journal: &OneTimeKeyJournal) -> Result<(), StepError> {
        let (id, path) = (
            message.id(),
            path(&self.round, message.kind(), message.id()),
        );
        // It replaces a message that this member has sent before, and nothing else.
        let files = Files::default().read([&*self.payload]).write([&*path]);
        files.check()?;
        let mut made = TempPaths::default();
        let sent = made.directory(&self.round).and_then(|()| {
            self.pins.keep()?;
            sweep_of(id, &self.round);
            let participants: Vec<String> = self.participants.iter().map(file_name).collect();
            let fixed = self.round.join(PARTICIPANTS);
            if !publish_first_by(id, &fixed, participants.join("\n").as_bytes())?
                && parse_participants(&read(&fixed)?, &self.round)? != self.participants
            {
                let why = "another member has fixed other participants just now";
                return Err(named(&self.round, why));
            }
            publish_by(id, &path, &message.to_bytes())
        });
        Ok(made.unless(sent)?)
    }
}

/// Name of the file with the participants of an attempt: their names in hex, one a line.
const PARTICIPANTS: &str = "cohort";

fn parse_participants(bytes: &[u8], round: &Path) -> io::Result<Vec<MemberId>> {
    let parse = |line: &str| member_id(&base16ct::lower::decode_vec(line).ok()?).ok();
    let text = str::from_utf8(bytes).ok();
    let ids = text.and_then(|text| text.lines().map(parse).collect());
    ids.ok_or_else(|| named(&round.join(PARTICIPANTS), "no list of participants"))
}

fn path(round: &Path, kind: MessageKind, id: &MemberId) -> PathBuf {
    let kind = match kind {
        MessageKind::Opening => "opening",
        MessageKind::CommitmentHash => "hash",
        MessageKind::Commitment => "commitment",
        MessageKind::Response => "response",
        MessageKind::Signers => "signers",
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

/// Abandons an attempt and all before it.
pub(crate) fn retire(args: &RetireArgs) -> Result<(), StepError> {
    let committee = Committee::of(&args.epoch)?;
    let (agreed, _) = committee.agreed(&args.epoch.store, &args.epoch)?;
    let attempt = content_label(&args.content)?.attempt(args.attempt);
    let attempt = attempt.map_err(refused)?;
    let store = Store::open(&args.epoch.store)?;
    Ok(store
        .member
        .retire(&agreed, &attempt, &mut store.journal()?)?)
}

pub(crate) fn verify(args: &VerifyArgs) -> Result<(), StepError> {
    let committee = Committee::of(&args.epoch)?;
    let (agreed, pins) = committee.agreed(&args.epoch.store, &args.epoch)?;
    let task = signing_task(&args.subject, &args.epoch.store)?;
    let bytes = read_named(&args.certificate, certificate_limit(&committee, &task))?;
    let malformed = |error| input::unusable(&args.certificate, error);
    let certificate = Certificate::from_bytes(&bytes).map_err(malformed)?;
    let aggregate = certificate.aggregate();
    let round = certificate.verify(&agreed, &task)?;
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
    let report = report(aggregate, &agreed)?;
    Ok(write_each_after(&results, || {
        show(&report, taken)?;
        pins.keep()
    })?)
}

/// Signers and decision, and the size: with and without openings, and of a list of signatures.
pub(crate) fn report(aggregate: &Aggregate, agreed: &AgreedRoots) -> Result<String, VerifyError> {
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
pub(crate) fn show(report: &str, taken: bool) -> io::Result<()> {
    if taken {
        io::stderr().write_all(report.as_bytes())
    } else {
        print(report)
    }
}
