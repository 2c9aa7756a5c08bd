//! Aggregates with all intermediate values.

use alloc::sync::Arc;
use alloc::vec::Vec;

use mldsa_core::Randomness;
use mldsa_core::internals::pack::w1_encode;
use mldsa_core::internals::vectors;
use serde_json::Value;

use crate::committee::merkle::{Node, leaf};
use crate::committee::tree::leaf_parts;
use crate::errors::RoundError;
use crate::keys::matrix::{K, L, P, vector};
use crate::keys::nonce::{SIGMA_OFFSET, derive_nonce_bound, derive_offset};
use crate::keys::one_time_key::OneTimePublicKey;
use crate::round::combine::Response;
use crate::round::commitment::Commitment;
use crate::round::definition::Setting;
use crate::round::message::Subject;
use crate::wire::framing::hash_lp;
use crate::*;

use super::*;

/// A committee of a file, with what its derivation puts in the place of the committee's.
struct File<'a> {
    file: &'a Value,
    epoch: Arc<Epoch>,
    members: Vec<Member>,
    /// Identity of the committee, or zeros.
    source: Node,
    /// The node that a decision names: the identity, or the root over registrations.
    named: Node,
    slot: u32,
    slot_label: Label,
}

impl<'a> File<'a> {
    fn members(file: &Value, epoch: &Arc<Epoch>) -> Vec<Member> {
        let members = file.list("members").iter().map(|member| {
            let id = MemberName::new(member.text("id").as_bytes()).unwrap();
            let seed = MasterSeed::from_bytes(&array(member.bytes("seed")));
            Member::new(id, seed, epoch).unwrap()
        });
        members.collect()
    }

    /// A file of the earlier derivation, with a plain label.
    fn plain(file: &'a Value) -> Self {
        let (ctx, number) = (file.text("ctx").as_bytes(), file.number("epoch"));
        let rho = array(file.bytes("rho"));
        let epoch = Epoch::with_rho(ctx, number, 1, 64, &rho).unwrap();
        Self {
            members: Self::members(file, &epoch),
            slot_label: Label::new(file.text("content").as_bytes()),
            named: array(file.bytes("reg_root")),
            source: [0; 32],
            slot: 0,
            epoch,
            file,
        }
    }

    /// A file of `model.py`, which shares no code with this crate: registration keys, roots and
    /// identity are derived too.
    fn derived(file: &'a Value) -> (Self, Arc<SigningCommittee>) {
        let number = |name: &str| file.number(name);
        let ctx = file.text("ctx").as_bytes();
        let (slots, attempts) = (number("slots") as u32, number("attempts") as u8);
        let epoch = Epoch::new(ctx, number("epoch"), slots, attempts).unwrap();
        assert_eq!(epoch.matrix.rho.to_vec(), file.bytes("rho"));
        let members = Self::members(file, &epoch);
        let entries = members.iter().zip(file.list("members"));
        let entries = entries.map(|(member, expected)| {
            let key = member.registration_key.verifying_key();
            expected.is_digest_of("regpk_sha256", key.as_bytes());
            assert_eq!(member.root().to_vec(), expected.bytes("kt_root"));
            let registration = member.register(Randomness::Deterministic).unwrap();
            (registration, expected.number("weight"))
        });
        let committee = SigningCommittee::new(&epoch, entries, number("threshold")).unwrap();
        assert_eq!(committee.identity().to_vec(), file.bytes("identity"));
        let slot = number("slot") as u32;
        let this = Self {
            members,
            slot_label: epoch.slot_label(slot),
            named: *committee.identity(),
            source: *committee.identity(),
            slot,
            epoch,
            file,
        };
        (this, committee)
    }

    /// Signs by the signer steps, and compares the aggregate.
    fn check(&self) -> Aggregate {
        let file = self.file;
        let journals = self.members.iter().map(|member| {
            let mut journal = OneTimeKeyJournal::in_memory(&member.seed).unwrap();
            journal.bind(self.epoch.number(), &self.source).unwrap();
            journal
        });
        let mut journals: Vec<_> = journals.collect();
        let mut number = 0;
        for failure in file.list("failed_attempts") {
            assert_eq!(failure[1], "weight");
            let result = self.run(&mut journals, number);
            assert_eq!(result.unwrap_err(), RoundError::TooManyHints);
            number += 1;
        }
        assert_eq!(u64::from(number), file.number("attempt"));
        let aggregate = self.run(&mut journals, number).unwrap();
        assert_eq!(
            u64::from(aggregate.hint_weight()),
            file.number("hint_weight")
        );
        assert_eq!(
            Aggregate::from_bytes(&aggregate.to_bytes()),
            Ok(aggregate.clone())
        );
        check_signature(file, aggregate.signature().as_bytes());
        aggregate
    }

    /// One attempt. If it succeeds, all intermediate values of the file are compared.
    fn run(&self, journals: &mut [OneTimeKeyJournal], number: u8) -> Result<Aggregate, RoundError> {
        let (file, members, epoch) = (self.file, &self.members, &self.epoch);
        let attempt = AttemptId {
            slot: self.slot,
            number,
        };
        let label = self.slot_label.with_attempt(number);
        let keys = members.iter().enumerate().map(|(position, member)| {
            let public_key = OneTimePublicKey::derive(&epoch.matrix, &member.seed, &label);
            AuthenticatedKey {
                id: member.id,
                position,
                weight: 1,
                attempt,
                leaf: leaf(&leaf_parts(&member.id, &label, &public_key)),
                public_key,
                source: self.source,
            }
        });
        let payload = file.text("payload").as_bytes();
        let task = match file.get("kind") {
            Some(_) => SigningTask::consensus(self.slot, payload),
            None => SigningTask::decision(self.slot, payload),
        };
        let setting = Setting {
            epoch,
            subject: Subject {
                committee: self.source,
                attempt,
            },
            size: members.len(),
            slot_label: self.slot_label.clone(),
            members: self.named,
            width: file["R"].as_u64().map(|width| width as u32),
        };
        assert_eq!(file.number("sigma"), u64::from(SIGMA_OFFSET));
        let round = Round::assemble(setting, &task, keys.collect())?;

        let mut set = CommitmentSet::new(&round);
        let mut waiting = Vec::new();
        for (member, journal) in members.iter().zip(&mut *journals) {
            let (wait, hash) = member.commit(&round, journal)?;
            set.add(&hash)?;
            waiting.push(wait);
        }
        let mut pending = Vec::new();
        for (wait, (member, journal)) in waiting.into_iter().zip(members.iter().zip(&mut *journals))
        {
            let message = member.reveal(&wait, &set, journal)?;
            set.add(&message)?;
            pending.push((wait, Commitment::from_bytes(&round, message.body())?));
        }
        let challenge = set.challenge()?;
        let (mut responses, mut commitments) = (Vec::new(), Vec::new());
        let mut combiner = Combiner::new(&challenge);
        let all = pending.into_iter().zip(members.iter().zip(&mut *journals));
        for ((wait, commitment), (member, journal)) in all {
            let message = member.respond(wait, &challenge, journal)?;
            combiner.add(&message)?;
            responses.push(Response::from_bytes(message.body())?);
            commitments.push(commitment);
        }
        let aggregate = combiner.finish();
        if aggregate.is_err() {
            for journal in journals {
                journal.retire(&round.attempt(journal))?;
            }
        }
        let aggregate = aggregate?;

        assert_eq!(label.as_bytes(), file.bytes("content_with_attempt_hex"));
        assert_eq!(round.participants_root().to_vec(), file.bytes("part_root"));
        assert_eq!(round.message(), file.bytes("msg"));
        assert_eq!(round.mu().as_bytes().to_vec(), file.bytes("mu"));
        assert_eq!(round.aggregate_key().as_bytes().to_vec(), file.bytes("pk"));
        file.is_digest_of("pk_sha256", round.aggregate_key().as_bytes());
        assert_eq!(round.signer_set.as_bytes(), file.bytes("bits"));
        assert_eq!(challenge.c_tilde().to_vec(), file.bytes("c_tilde"));
        let mut w1 = Vec::new();
        for row in &challenge.value.w1 {
            let mut packed = [0; 128];
            w1_encode(P.gamma2, row, &mut packed, |a| a);
            w1.extend(packed);
        }
        file.is_digest_of("w1_sha256", &w1);
        let mut sum = vector(L);
        for (i, expected) in file.list("members").iter().enumerate() {
            let (seed, key) = (&members[i].seed, round.key(i).unwrap());
            self.check_member(expected, seed, key, &round, &commitments[i])?;
            let mut z = vector(L);
            responses[i].unpack(&mut z);
            expected.is_digest_of("z_sha256", &vec(&z));
            expected.is_digest_of("z_wire_sha256", responses[i].as_bytes());
            vectors::add_integers(&mut sum, &z);
        }
        assert_eq!(vectors::norm(&sum) as u64, file.number("z_inf"));
        Ok(aggregate)
    }

    fn check_member(
        &self,
        expected: &Value,
        seed: &MasterSeed,
        key: &AuthenticatedKey,
        round: &Round,
        commitment: &Commitment,
    ) -> Result<(), RoundError> {
        let (label, mu) = (&round.attempt_label, round.mu().as_bytes());
        expected.is_digest_of("t_sha256", key.public_key.as_bytes());
        assert_eq!(key.leaf.to_vec(), expected.bytes("kt_leaf"));
        expected.is_digest_of("s1_s2_sha256", &vec(&secrets(seed, label)));
        if expected.get("guard_key").is_some() {
            let journal = OneTimeKeyJournal::in_memory(seed)?;
            let key = round.attempt(&journal).key;
            assert_eq!(key.to_vec(), expected.bytes("guard_key"));
        }
        let y = derive_nonce_bound(seed, label, mu, SIGMA_OFFSET);
        expected.is_digest_of("y_sha256", &vec(y.expose()));
        let mut w = vector(K);
        self.epoch.matrix.apply(y.expose(), &mut w);
        expected.is_digest_of("w_sha256", &vec(&w));
        let offset = derive_offset(seed, label, mu, round.width);
        expected.is_digest_of("r_sha256", &vec(offset.expose()));
        let (hi, q) = commitment.as_bytes().split_at(1024);
        expected.is_digest_of("hi_wire_sha256", hi);
        expected.is_digest_of("q_wire_sha256", q);
        let width = round.width.to_be_bytes();
        let parts = [&b"offset"[..], mu, &width, commitment.as_bytes()];
        let digest: [u8; 32] = hash_lp(&[], &parts);
        assert_eq!(digest.to_vec(), expected.bytes("commitment_digest"));
        Ok(())
    }
}

/// `tests/kat` has the verdicts of other implementations on these signatures.
fn check_signature(file: &Value, signature: &[u8; 4627]) {
    assert_eq!(signature.to_vec(), file.bytes("sig"));
    file.is_digest_of("sig_sha256", signature);
}

/// Aggregates with open commitments, by one party: key and signature have the bytes of the file.
#[cfg(feature = "insecure-open-commitments")]
fn open_aggregate(file: &Value) {
    use crate::open_commitments::OneParty;

    let seeds = file.list("members").iter();
    let seeds = seeds.map(|member| MasterSeed::from_bytes(&array(member.bytes("seed"))));
    let party = OneParty::new(&array(file.bytes("rho")), seeds.collect()).unwrap();
    let (content, ctx) = (file.text("content"), file.text("ctx"));
    let signed = party.sign(content.as_bytes(), ctx.as_bytes(), &file.bytes("msg"));
    let signed = signed.unwrap();
    assert_eq!(u64::from(signed.attempt), file.number("attempt"));
    assert_eq!(signed.key.as_bytes().to_vec(), file.bytes("pk"));
    check_signature(file, signed.signature.as_bytes());
}

#[cfg(feature = "insecure-open-commitments")]
#[test]
fn open_aggregates() {
    for name in [
        "aggregate-n1.json",
        "aggregate-n4.json",
        "aggregate-n16.json",
    ] {
        open_aggregate(&load(name));
    }
    let file = load("rotation-n4.json");
    let rounds = file.list("contents");
    assert_eq!(rounds.len(), 3);
    rounds.iter().for_each(open_aggregate);
}

/// The derivation in use, from master seeds to the encoded aggregate.
#[test]
fn derived_aggregates() {
    let files = load("epoch-n2.json");
    for file in files.as_array().unwrap() {
        let (signers, committee) = File::derived(file);
        let aggregate = signers.check();
        file.is_digest_of("object_sha256", &aggregate.to_bytes());
        let keys = signers.members.iter().map(|member| {
            let mut journal = OneTimeKeyJournal::in_memory(&member.seed).unwrap();
            let opening = member.open(&committee, aggregate.attempt_id(), &mut journal);
            committee.authenticate(&opening.unwrap()).unwrap()
        });
        let keys: Vec<_> = keys.collect();
        let payload = file.text("payload").as_bytes();
        let task = match file.get("kind") {
            Some(_) => SigningTask::consensus(signers.slot, payload),
            None => SigningTask::decision(signers.slot, payload),
        };
        aggregate.verify(committee.view(), &keys, &task).unwrap();
    }
}

#[test]
fn offset_aggregates() {
    for name in ["offset-n4.json", "offset-n4-retry.json"] {
        let file = load(name);
        let _ = File::plain(&file).check();
    }
}
