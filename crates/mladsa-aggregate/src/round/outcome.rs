//! Outcome of a session: an aggregate with the openings of its signers, which any holder of the
//! agreed roots verifies.

use alloc::vec::Vec;

use crate::epoch::agreed::AgreedRoots;
use crate::round::aggregate::Aggregate;
use crate::wire::framing::{Reader, lp, push_lp};
use crate::wire::task::SigningTask;

const OUTCOME: &[u8; 8] = b"MLADSAO1";

pub(crate) fn is_outcome(bytes: &[u8]) -> bool {
    bytes.starts_with(OUTCOME)
}

/// Encodes as `"MLADSAO1" || lp(aggregate, openings in the order of the signers)`.
pub(crate) fn encode<'a>(
    aggregate: &Aggregate,
    openings: impl Iterator<Item = &'a [u8]>,
) -> Vec<u8> {
    let mut out = OUTCOME.to_vec();
    out.extend(lp(&[&aggregate.to_bytes()]));
    openings.for_each(|opening| push_lp(&mut out, opening));
    out
}

/// The aggregate, if it is a valid one for this task.
pub(crate) fn verify(bytes: &[u8], agreed: &AgreedRoots, task: &SigningTask) -> Option<Aggregate> {
    let mut reader = Reader::new(bytes, OUTCOME).ok()?;
    let aggregate = Aggregate::from_bytes(reader.part().ok()?).ok()?;
    let mut keys = Vec::new();
    for id in aggregate.signers(agreed.registry()).ok()? {
        let opening = reader.part().ok()?;
        let key = agreed.authenticate_opening(&id, aggregate.attempt_id(), opening);
        keys.push(key.ok()?);
    }
    reader.end().ok()?;
    aggregate.verify(agreed, &keys, task).ok()?;
    Some(aggregate)
}
