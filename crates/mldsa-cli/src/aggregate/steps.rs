//! The steps of a round, each from files to files.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use mladsa_aggregate::{
    Aggregate, AuthenticatedKey, BaseLabel, Challenge, Combiner, Commitment, CommitmentSet,
    ContentLabel, Decision, Kind, MemberId, Opening, Part, PinnedRoots, Response, Round,
};

use super::files::{Committee, Store, file_name, publish, read};
use super::{DecisionArgs, StepError, VerifyArgs};
use crate::output::{Content, Output, keep_apart};

/// One attempt at one decision, as a member or a combiner sees it.
pub(crate) struct Session {
    committee: Committee,
    store: PathBuf,
    pinned: PinnedRoots,
    round: PathBuf,
    label: ContentLabel,
    cohort: Vec<MemberId>,
    ctx: Vec<u8>,
    payload: Vec<u8>,
    kind: Kind,
}

impl Session {
    /// Pins the roots before anything else.
    pub(crate) fn new(args: &DecisionArgs) -> io::Result<Self> {
        let committee = Committee::open(&args.committee.committee)?;
        let pinned = committee.pin(&args.store.store)?;
        let round = &args.round;
        let refused = super::files::refused;
        let label = BaseLabel::new(round.subject.content.as_bytes())
            .and_then(|base| base.attempt(round.attempt))
            .map_err(refused)?;
        committee.plan.index(&label).map_err(refused)?;
        let cohort: Result<Vec<_>, _> = round
            .cohort
            .iter()
            .map(|id| MemberId::new(id.as_bytes()))
            .collect();
        let mut cohort = cohort.map_err(refused)?;
        if cohort.is_empty() {
            let ids = pinned.registry().ids();
            cohort.extend(ids.filter(|id| pinned.root(id).is_ok()));
        }
        fs::create_dir_all(&round.round)?;
        Ok(Self {
            store: args.store.store.clone(),
            round: round.round.clone(),
            ctx: round.subject.ctx.as_bytes().to_vec(),
            payload: read(&round.subject.payload)?,
            kind: if round.subject.consensus {
                Kind::Consensus
            } else {
                Kind::Decision
            },
            committee,
            pinned,
            label,
            cohort,
        })
    }

    pub(crate) fn open(self) -> Result<(), StepError> {
        let store = Store::open(&self.store)?;
        let tree = self.committee.tree(&store)?;
        let opening = store.member.open(&self.pinned, &tree, &self.label)?;
        self.send(Part::Opening, &store, &opening.to_bytes())
    }

    pub(crate) fn commit(self) -> Result<(), StepError> {
        let store = Store::open(&self.store)?;
        let round = self.read_round()?;
        let (_, commitment) = store.member.commit(&round, &mut store.guard()?)?;
        self.send(Part::Commitment, &store, commitment.as_bytes())
    }

    pub(crate) fn respond(self) -> Result<(), StepError> {
        let store = Store::open(&self.store)?;
        let round = self.read_round()?;
        let challenge = self.read_challenge(&round)?;
        let mut guard = store.guard()?;
        let pending = store.member.resume(&round, &mut guard)?;
        let response = pending.respond(&challenge, &mut guard)?;
        self.send(Part::Response, &store, response.as_bytes())
    }

    pub(crate) fn retire(self) -> Result<(), StepError> {
        let store = Store::open(&self.store)?;
        Ok(store.member.retire(&self.label, &mut store.guard()?)?)
    }

    pub(crate) fn combine(self, out: &Path) -> Result<(), StepError> {
        let round = self.read_round()?;
        let challenge = self.read_challenge(&round)?;
        let mut combiner = Combiner::new(&challenge);
        for id in &self.cohort {
            let message = self.receive(Part::Response, id)?;
            let body = Part::Response.open(id, &self.label, &message)?;
            combiner.add(id, Response::from_bytes(&round, body)?)?;
        }
        let aggregate = combiner.finish()?;
        // Replaces nothing: neither what was read nor anything else.
        Output::new(out, false, Content::Binary)?.write(&aggregate.to_bytes())?;
        Ok(report(&aggregate, &self.pinned)?)
    }

    fn read_round(&self) -> Result<Round, StepError> {
        let public_keys = public_keys(&self.round, &self.pinned, &self.cohort, &self.label)?;
        let decision = Decision {
            ctx: &self.ctx,
            label: &self.label,
            kind: self.kind,
            payload: &self.payload,
        };
        Ok(Round::new(&self.pinned, &decision, public_keys)?)
    }

    fn read_challenge<'r>(&self, round: &'r Round) -> Result<Challenge<'r>, StepError> {
        let mut set = CommitmentSet::new(round);
        for id in &self.cohort {
            let message = self.receive(Part::Commitment, id)?;
            let body = Part::Commitment.open(id, &self.label, &message)?;
            set.add(id, Commitment::from_bytes(round, body)?)?;
        }
        Ok(set.challenge()?)
    }

    fn send(&self, part: Part, store: &Store, body: &[u8]) -> Result<(), StepError> {
        let id = store.member.id();
        let message = part.seal(id, &self.label, body);
        Ok(publish(&path(&self.round, part, id), &message)?)
    }

    fn receive(&self, part: Part, id: &MemberId) -> io::Result<Vec<u8>> {
        read(&path(&self.round, part, id))
    }
}

fn path(round: &Path, part: Part, id: &MemberId) -> PathBuf {
    let part = match part {
        Part::Opening => "opening",
        Part::Commitment => "commitment",
        Part::Response => "response",
    };
    round.join(format!("{}.{part}", file_name(id)))
}

fn public_keys(
    round: &Path,
    pinned: &PinnedRoots,
    cohort: &[MemberId],
    label: &ContentLabel,
) -> Result<Vec<AuthenticatedKey>, StepError> {
    let openings: Result<Vec<_>, StepError> = cohort
        .iter()
        .map(|id| {
            let message = read(&path(round, Part::Opening, id))?;
            let opening = Part::Opening.open(id, label, &message)?;
            Ok((*id, Opening::from_bytes(opening)?))
        })
        .collect();
    let public_keys = pinned.authenticate_each(label, &openings?);
    Ok(public_keys.into_iter().collect::<Result<_, _>>()?)
}

pub(crate) fn verify(args: &VerifyArgs) -> Result<(), StepError> {
    let committee = Committee::open(&args.committee.committee)?;
    let pinned = committee.pin(&args.store.store)?;
    let aggregate = Aggregate::from_bytes(&read(&args.aggregate)?)?;
    let signers = aggregate.signers(pinned.registry())?;
    let public_keys = public_keys(&args.round, &pinned, &signers, aggregate.label())?;
    let round = aggregate.verify(&pinned, &public_keys)?;
    let results = [
        (&args.pk_out, &round.key().as_bytes()[..]),
        (&args.sig_out, aggregate.signature().as_ref()),
        (&args.message_out, round.message()),
    ];
    let results: Vec<(&Path, &[u8])> = results
        .into_iter()
        .filter_map(|(path, bytes)| Some((path.as_deref()?, bytes)))
        .collect();
    let places: Vec<&Path> = results.iter().map(|(path, _)| *path).collect();
    keep_apart(&[&args.aggregate], &places)?;
    let outputs: io::Result<Vec<_>> = places
        .iter()
        .map(|path| Output::new(path, false, Content::Binary))
        .collect();
    for (output, (_, bytes)) in outputs?.iter().zip(&results) {
        output.write(bytes)?;
    }
    Ok(report(&aggregate, &pinned)?)
}

/// Who signed, and what it costs on the wire: with and without openings, beside
/// the list of signatures that it replaces.
fn report(aggregate: &Aggregate, pinned: &PinnedRoots) -> io::Result<()> {
    let registry = pinned.registry();
    let n = aggregate.signers(registry).map_err(io::Error::other)?.len();
    let object = aggregate.to_bytes().len();
    let openings = n * pinned.plan().opening_len();
    let mut out = io::stdout().lock();
    writeln!(out, "signers: {n} of {}", registry.len())?;
    writeln!(out, "attempt: {}", aggregate.label().attempt())?;
    writeln!(out, "hints: {} of 75", aggregate.hint_weight())?;
    writeln!(out, "aggregate: {object} bytes, signature 4627 of them")?;
    writeln!(
        out,
        "for a verifier without the openings: {} bytes ({openings} of openings)",
        object + openings
    )?;
    writeln!(out, "a list of {n} signatures: {} bytes", n * 4627)
}
