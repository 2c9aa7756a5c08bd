//! Committees: keys that sign often.

use bytes::Bytes as Shared;
use mldsa_arrow::batch_verify::{
    AnyCommittee, QuorumError, QuorumRule, RejectReason, Threshold, Vote,
};
use mldsa_core::Set;
use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;

use crate::buffers::{Bytes, Column, Given, Items, same_rows};
use crate::columns::PIECE;
use crate::errors::{bad, no_quorum};

#[pyclass(frozen, module = "mldsa_batch")]
pub(crate) struct Committee(AnyCommittee);

/// The index of a member; none where an integer is no index at all.
fn index(object: Bound<'_, PyAny>) -> PyResult<Option<u32>> {
    match object.extract::<u32>() {
        Err(error) if error.is_instance_of::<PyOverflowError>(object.py()) => Ok(None),
        index => index.map(Some),
    }
}

#[pymethods]
impl Committee {
    #[new]
    #[pyo3(signature = (keys, *, context = Given(None), weights = Given(None), threshold = Given(None)))]
    fn new(
        py: Python<'_>,
        keys: &Bound<'_, PyAny>,
        context: Given<Bytes>,
        weights: Given<Bound<'_, PyAny>>,
        threshold: Given<Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let mut keys = Items::new(keys, "keys")?;
        let len = keys.rows().1;
        let weights = match weights.0 {
            None => None,
            Some(weights) => {
                let mut weights = Items::new(&weights, "weights")?;
                same_rows(len, [weights.rows()])?;
                Some(weights.take(len, |weight| weight.extract::<u64>())?)
            }
        };
        let keys = keys.take(len, |key| key.extract::<Bytes>())?;
        let threshold = match threshold.0 {
            None => Some(Threshold::more_than(2, 3)),
            Some(threshold) => threshold
                .extract()
                .ok()
                .map(|(n, d): (u32, u32)| Threshold::more_than(n, d)),
        };
        let threshold = threshold
            .flatten()
            .ok_or_else(|| bad("the threshold is no fraction between 0 and 1"))?;
        let first = keys.first().map_or(0, |key| key.len());
        let set = Set::from_public_key_len(first)
            .ok_or_else(|| bad(format!("no set has public keys of {first} bytes")))?;
        let weights = weights.unwrap_or_else(|| vec![1; len]);
        let members: Vec<_> = keys.into_iter().zip(weights).collect();
        let builder = AnyCommittee::builder(set, context.bytes()).threshold(threshold);
        Ok(Self(py.detach(|| builder.build(members)).map_err(bad)?))
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    #[getter]
    fn total_weight(&self) -> u128 {
        self.0.total_weight()
    }

    #[getter]
    fn required_weight(&self) -> u128 {
        self.0.required_weight()
    }

    fn verify_batch(
        &self,
        py: Python<'_>,
        indices: &Bound<'_, PyAny>,
        messages: &Bound<'_, PyAny>,
        signatures: &Bound<'_, PyAny>,
    ) -> PyResult<Vec<Option<&'static str>>> {
        let mut indices = Items::new(indices, "indices")?;
        let mut messages = Column::new(messages, "messages")?;
        let mut signatures = Column::new(signatures, "signatures")?;
        let rows = same_rows(indices.rows().1, [messages.rows(), signatures.rows()])?;
        let mut found = Vec::new();
        while found.len() < rows {
            py.check_signals()?;
            let indices = indices.take(PIECE, index)?;
            let (messages, signatures) = (messages.take(PIECE)?, signatures.take(PIECE)?);
            found.try_reserve(PIECE).map_err(bad)?;
            found.extend(py.detach(|| self.verify(&indices, &messages, &signatures)));
        }
        Ok(found)
    }

    #[pyo3(signature = (message, indices, signatures, *, certificate = false))]
    fn verify_quorum(
        &self,
        py: Python<'_>,
        message: Bytes,
        indices: &Bound<'_, PyAny>,
        signatures: &Bound<'_, PyAny>,
        certificate: bool,
    ) -> PyResult<u128> {
        let mut indices = Items::new(indices, "indices")?;
        let mut signatures = Column::new(signatures, "signatures")?;
        let rows = same_rows(indices.rows().1, [signatures.rows()])?;
        let (indices, signatures) = (indices.take(rows, index)?, signatures.take(rows)?);
        let reached = py.detach(|| self.quorum(&message, &indices, &signatures, certificate));
        reached.map_err(|error| no_quorum(py, error))
    }
}

impl Committee {
    fn verify(
        &self,
        indices: &[Option<u32>],
        messages: &[Shared],
        signatures: &[Shared],
    ) -> Vec<Option<&'static str>> {
        let votes = indices.iter().zip(messages).zip(signatures);
        let votes = votes.map(|((index, message), signature)| {
            Some(Vote::new(
                self.0.member((*index)?)?,
                message.as_ref(),
                signature,
            ))
        });
        let votes: Vec<Option<Vote<'_>>> = votes.collect();
        let report = self.0.verify_batch(votes.iter().flatten().copied());
        let mut verdicts = report.verdicts().iter();
        let reasons = votes.iter().map(|vote| match vote {
            Some(_) => verdicts.next().and_then(|one| one.err()),
            None => Some(RejectReason::UnknownMember),
        });
        reasons
            .map(|reason| reason.map(RejectReason::name))
            .collect()
    }

    fn quorum(
        &self,
        message: &[u8],
        indices: &[Option<u32>],
        signatures: &[Shared],
        certificate: bool,
    ) -> Result<u128, QuorumError> {
        let mut votes = Vec::with_capacity(indices.len());
        for (vote, (index, signature)) in indices.iter().zip(signatures).enumerate() {
            match index.and_then(|index| self.0.member(index)) {
                Some(member) => votes.push((member, signature.as_ref())),
                None if certificate => return Err(QuorumError::UnknownMember { vote }),
                None => {}
            }
        }
        let rule = match certificate {
            true => QuorumRule::Certificate,
            false => QuorumRule::AnyValid,
        };
        Ok(self.0.verify_quorum(message, &votes, rule)?.weight())
    }
}
