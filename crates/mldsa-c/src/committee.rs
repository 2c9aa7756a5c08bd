//! Committees: the validators of an epoch, their votes and quorums.

use batch_verify::{AnyCommittee, MemberId, QuorumError, QuorumRule, Threshold, Vote as CoreVote};

use crate::Status;
use crate::batch::{each, part, threads_of, verdicts_out};
use crate::boundary::{free, guard, handle, items, store, write};
use crate::public_key::set;

/// All votes must be valid, one for each member.
pub const RULE_CERTIFICATE: u32 = 0;
/// As `MLDSA_RULE_CERTIFICATE`, but a vote may have duplicates, byte for byte; it counts once.
pub const RULE_CERTIFICATE_WITH_DUPLICATES: u32 = 1;
/// The valid votes suffice; others do not count.
pub const RULE_ANY_VALID: u32 = 2;

/// One vote of a member.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Vote {
    /// Index of the member in the committee.
    pub member: u32,
    /// The message.
    pub message: *const u8,
    /// Length of `message` in bytes.
    pub message_len: usize,
    /// The signature.
    pub signature: *const u8,
    /// Length of `signature` in bytes.
    pub signature_len: usize,
}

/// One vote of a member, as offsets into one buffer.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct PackedVote {
    /// Index of the member in the committee.
    pub member: u32,
    /// Offset of the message from the start of the data, in bytes.
    pub message: u32,
    /// Length of `message` in bytes.
    pub message_len: u32,
    /// Offset of the signature from the start of the data, in bytes.
    pub signature: u32,
    /// Length of `signature` in bytes.
    pub signature_len: u32,
}

/// Result of a quorum.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Quorum {
    /// Verified weight, at most 2^64 - 1; 0 without a quorum.
    pub weight: u64,
    /// Index of the vote that was rejected, or 2^64 - 1.
    pub vote: u64,
    /// Status of its rejection, or 0.
    pub reason: i32,
}

/// What `mldsa_committee_new` makes: 24 bytes without padding and pointers. No member has a default.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CommitteeOptions {
    /// The epoch.
    pub epoch: u64,
    /// The parameter set.
    pub set: u32,
    /// One of `MLDSA_THREADS`.
    pub threads: u32,
    /// A quorum is more than `numerator / denominator` of the weight: 2 and 3 in most protocols.
    pub numerator: u32,
    /// At least `numerator` and 1 more.
    pub denominator: u32,
}

const _: () = assert!(size_of::<CommitteeOptions>() == 24);

/// The members of an epoch with weights, threshold and context, expanded once. Immutable. Any
/// number of threads at once.
#[derive(Debug)]
pub struct CommitteeHandle(AnyCommittee);

/// Index of a member, message, signature.
type Signed<'a> = (u32, &'a [u8], &'a [u8]);

impl CommitteeHandle {
    fn member(&self, index: u32) -> Result<MemberId, Status> {
        self.0.member(index).ok_or(Status::UnknownMember)
    }

    fn verify<'a>(
        &self,
        votes: impl Iterator<Item = Result<Signed<'a>, Status>>,
        out: &mut [u8],
    ) -> Result<(), Status> {
        let votes = votes.map(|vote| {
            let (member, message, signature) = vote?;
            Ok(CoreVote::new(self.member(member)?, message, signature))
        });
        each(votes, out, |votes| {
            self.0.verify_batch(votes).into_verdicts()
        })
    }

    fn quorum<'a>(
        &self,
        rule: QuorumRule,
        message: &'a [u8],
        votes: impl Iterator<Item = Result<Signed<'a>, Status>>,
    ) -> Result<Quorum, (Status, Quorum)> {
        let any_valid = rule == QuorumRule::AnyValid;
        // Index of each attestation among the votes.
        let (mut attestations, mut indices) = (Vec::new(), Vec::new());
        for (index, vote) in votes.enumerate() {
            match vote.and_then(|(member, _, signature)| Ok((self.member(member)?, signature))) {
                Ok(attestation) => {
                    attestations.push(attestation);
                    indices.push(index);
                }
                Err(_) if any_valid => {}
                Err(status) => return Err(rejected(status, index, status)),
            }
        }
        let named = |status, vote: usize| rejected(status, indices[vote], status);
        match self.0.verify_quorum(message, &attestations, rule) {
            Ok(report) => Ok(Quorum {
                weight: u64::try_from(report.weight()).unwrap_or(u64::MAX),
                ..NO_QUORUM
            }),
            Err(error) => Err(match error {
                QuorumError::UnknownMember { vote } => named(Status::UnknownMember, vote),
                QuorumError::Duplicate { second, .. } => named(Status::DuplicateVote, second),
                QuorumError::ConflictingClaims { second, .. } => {
                    named(Status::ConflictingVotes, second)
                }
                QuorumError::Rejected { vote, reason } => {
                    rejected(Status::Rejected, indices[vote], reason.into())
                }
                QuorumError::Insufficient { .. } => (Status::InsufficientWeight, NO_QUORUM),
                _ => (Status::Internal, NO_QUORUM),
            }),
        }
    }
}

const NO_QUORUM: Quorum = Quorum {
    weight: 0,
    vote: u64::MAX,
    reason: 0,
};

fn rejected(status: Status, vote: usize, reason: Status) -> (Status, Quorum) {
    let quorum = Quorum {
        weight: 0,
        vote: vote as u64,
        reason: reason as i32,
    };
    (status, quorum)
}

/// Pairs of key and weight from concatenated keys of `len` bytes.
fn members<'a>(
    len: usize,
    keys: &'a [u8],
    weights: &'a [u64],
) -> Result<impl Iterator<Item = (&'a [u8], u64)>, Status> {
    if !keys.len().is_multiple_of(len) || keys.len() / len != weights.len() {
        return Err(Status::KeyLength);
    }
    Ok(keys.chunks_exact(len).zip(weights.iter().copied()))
}

/// Makes a committee of `count` members: their concatenated public keys and their weights, none of
/// them 0. All votes are under `context`. Free it with `mldsa_committee_free`.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_committee_new(
    options: *const CommitteeOptions,
    context: *const u8,
    context_len: usize,
    public_keys: *const u8,
    public_keys_len: usize,
    weights: *const u64,
    count: usize,
    committee: *mut *mut CommitteeHandle,
) -> Status {
    // SAFETY: the contract of the crate.
    unsafe {
        store(committee, || {
            let (options, context) = (handle(options)?, items(context, context_len)?);
            let (keys, weights) = (items(public_keys, public_keys_len)?, items(weights, count)?);
            let set = self::set(options.set)?;
            let threshold = Threshold::more_than(options.numerator, options.denominator);
            let builder = AnyCommittee::builder(set, context)
                .epoch(options.epoch)
                .threshold(threshold.ok_or(Status::Argument)?)
                .threads(threads_of(options.threads)?);
            let members = members(set.public_key_len(), keys, weights)?;
            Ok(CommitteeHandle(builder.build(members)?))
        })
    }
}

/// Makes the committee of a later epoch. A key with a weight joins or gets that weight, a key
/// with weight 0 leaves. Changes that are already in force, and repetitions of a change, change
/// nothing. Members that stay keep their order and their expanded keys; the old committee stays
/// valid.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_committee_successor(
    committee: *const CommitteeHandle,
    epoch: u64,
    public_keys: *const u8,
    public_keys_len: usize,
    weights: *const u64,
    count: usize,
    successor: *mut *mut CommitteeHandle,
) -> Status {
    // SAFETY: the contract of the crate.
    unsafe {
        store(successor, || {
            let committee = handle(committee)?;
            let (keys, weights) = (items(public_keys, public_keys_len)?, items(weights, count)?);
            let changes = members(committee.0.set().public_key_len(), keys, weights)?;
            Ok(CommitteeHandle(committee.0.successor(epoch, changes)?))
        })
    }
}

/// Frees a committee. Null is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_committee_free(committee: *mut CommitteeHandle) {
    // SAFETY: the contract of the crate.
    unsafe { free(committee) }
}

/// Returns the number of members; 0 for null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_committee_len(committee: *const CommitteeHandle) -> usize {
    // SAFETY: the contract of the crate.
    unsafe { handle(committee) }.map_or(0, |committee| committee.0.len())
}

/// Writes the index of the member with a public key: 2^32 - 1 after an error.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_committee_index(
    committee: *const CommitteeHandle,
    public_key: *const u8,
    public_key_len: usize,
    index: *mut u32,
) -> Status {
    // SAFETY: the contract of the crate.
    guard(|| unsafe {
        write(index, u32::MAX)?;
        let (committee, key) = (handle(committee)?, items(public_key, public_key_len)?);
        let found = committee.0.member_of(key).ok_or(Status::UnknownMember)?;
        write(index, found.index())
    })
}

/// Returns the parts of a vote.
///
/// # Safety
/// The contract of the crate.
unsafe fn signed<'a>(vote: &Vote) -> Result<Signed<'a>, Status> {
    // SAFETY: the contract of this function.
    let message = unsafe { items(vote.message, vote.message_len) }?;
    // SAFETY: the contract of this function.
    let signature = unsafe { items(vote.signature, vote.signature_len) }?;
    Ok((vote.member, message, signature))
}

fn packed<'a>(data: &'a [u8], vote: &PackedVote) -> Result<Signed<'a>, Status> {
    let message = part(data, vote.message, vote.message_len)?;
    let signature = part(data, vote.signature, vote.signature_len)?;
    Ok((vote.member, message, signature))
}

/// Verifies `count` votes and writes one verdict for each: `MLDSA_VERDICT_VALID` or the status of
/// the rejection. 0 if there is a vote and all are valid; `MLDSA_STATUS_REJECTED` if some are not.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_committee_verify_batch(
    committee: *const CommitteeHandle,
    votes: *const Vote,
    count: usize,
    verdicts: *mut u8,
) -> Status {
    // SAFETY: the contract of the crate.
    guard(|| unsafe {
        let out = verdicts_out(verdicts, count)?;
        let (committee, list) = (handle(committee)?, items(votes, count)?);
        committee.verify(list.iter().map(|vote| signed(vote)), out)
    })
}

/// Verifies, as `mldsa_committee_verify_batch`, votes whose parts are in one buffer. A part outside of `data` is
/// `MLDSA_STATUS_OUT_OF_BOUNDS`.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_committee_verify_batch_packed(
    committee: *const CommitteeHandle,
    data: *const u8,
    data_len: usize,
    votes: *const PackedVote,
    count: usize,
    verdicts: *mut u8,
) -> Status {
    // SAFETY: the contract of the crate.
    guard(|| unsafe {
        let out = verdicts_out(verdicts, count)?;
        let committee = handle(committee)?;
        let (data, list) = (items(data, data_len)?, items(votes, count)?);
        committee.verify(list.iter().map(|vote| packed(data, vote)), out)
    })
}

fn rule(number: u32) -> Result<QuorumRule, Status> {
    match number {
        RULE_CERTIFICATE => Ok(QuorumRule::Certificate),
        RULE_CERTIFICATE_WITH_DUPLICATES => Ok(QuorumRule::CertificateWithDuplicates),
        RULE_ANY_VALID => Ok(QuorumRule::AnyValid),
        _ => Err(Status::Argument),
    }
}

/// Verifies that votes for `message` reach the threshold under one of `MLDSA_RULE`. The messages of the
/// votes are not read. Writes the verified weight, or the vote that was rejected.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_committee_verify_quorum(
    committee: *const CommitteeHandle,
    rule: u32,
    message: *const u8,
    message_len: usize,
    votes: *const Vote,
    count: usize,
    quorum: *mut Quorum,
) -> Status {
    // SAFETY: the contract of the crate.
    guard(|| unsafe {
        write(quorum, NO_QUORUM)?;
        let committee = handle(committee)?;
        let (message, list) = (items(message, message_len)?, items(votes, count)?);
        let votes = list.iter().map(|vote| {
            let signature = items(vote.signature, vote.signature_len)?;
            Ok((vote.member, &[][..], signature))
        });
        let result = committee.quorum(self::rule(rule)?, message, votes);
        quorum_out(result, quorum)
    })
}

/// Verifies, as `mldsa_committee_verify_quorum`, votes whose signatures are in one buffer.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_committee_verify_quorum_packed(
    committee: *const CommitteeHandle,
    rule: u32,
    message: *const u8,
    message_len: usize,
    data: *const u8,
    data_len: usize,
    votes: *const PackedVote,
    count: usize,
    quorum: *mut Quorum,
) -> Status {
    // SAFETY: the contract of the crate.
    guard(|| unsafe {
        write(quorum, NO_QUORUM)?;
        let (committee, message) = (handle(committee)?, items(message, message_len)?);
        let (data, list) = (items(data, data_len)?, items(votes, count)?);
        let votes = list.iter().map(|vote| {
            let signature = part(data, vote.signature, vote.signature_len)?;
            Ok((vote.member, &[][..], signature))
        });
        let result = committee.quorum(self::rule(rule)?, message, votes);
        quorum_out(result, quorum)
    })
}

/// Writes a quorum and returns its status.
///
/// # Safety
/// `out` is null or valid for a write.
unsafe fn quorum_out(
    result: Result<Quorum, (Status, Quorum)>,
    out: *mut Quorum,
) -> Result<(), Status> {
    let (status, quorum) = match result {
        Ok(quorum) => (Ok(()), quorum),
        Err((status, quorum)) => (Err(status), quorum),
    };
    // SAFETY: the contract of this function.
    unsafe { write(out, quorum) }?;
    status
}
