//! Committees: keys that sign often.

use arrow_buffer::Buffer;
use mldsa_arrow::batch_verify::{
    self, CommitteeVerifier, QuorumError, QuorumRule, RejectReason, Threshold, Vote,
};
use mldsa_core::{ParameterSet, Set, with_set};
use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;

use crate::buffers::{Bytes, Column, Given, Items, same_rows};
use crate::columns::PIECE;
use crate::errors::{bad, no_quorum};

enum Any {
    MlDsa44(CommitteeVerifier<mldsa_core::MlDsa44>),
    MlDsa65(CommitteeVerifier<mldsa_core::MlDsa65>),
    MlDsa87(CommitteeVerifier<mldsa_core::MlDsa87>),
}

#[pyclass(frozen, module = "mldsa_batch")]
pub(crate) struct Committee(Any);

/// The index of a member; none where an integer is no index at all.
fn index(object: Bound<'_, PyAny>) -> PyResult<Option<u32>> {
    match object.extract::<u32>() {
        Err(error) if error.is_instance_of::<PyOverflowError>(object.py()) => Ok(None),
        index => index.map(Some),
    }
}

fn build<P: ParameterSet>(
    members: &[(Bytes, u64)],
    context: &[u8],
    threshold: Threshold,
) -> PyResult<CommitteeVerifier<P>> {
    let members = members.iter().map(|(key, weight)| (key, *weight));
    let builder = batch_verify::Committee::<P>::builder(context).threshold(threshold);
    Ok(builder.build(members).map_err(bad)?.verifier())
}

fn verify<P: ParameterSet>(
    verifier: &CommitteeVerifier<P>,
    indices: &[Option<u32>],
    messages: &[Buffer],
    signatures: &[Buffer],
) -> Vec<Option<&'static str>> {
    let committee = verifier.committee();
    let votes = indices.iter().zip(messages).zip(signatures);
    let votes = votes.map(|((index, message), signature)| {
        Some(Vote::new(
            committee.member((*index)?)?,
            message.as_slice(),
            signature,
        ))
    });
    let votes: Vec<Option<Vote<'_>>> = votes.collect();
    let report = verifier.verify_batch(votes.iter().flatten().copied());
    let mut verdicts = report.verdicts().iter();
    let answer = |vote: &Option<Vote<'_>>| match vote {
        Some(_) => verdicts.next().and_then(|one| one.err()),
        None => Some(RejectReason::UnknownMember),
    };
    let reasons = votes.iter().map(answer);
    reasons
        .map(|reason| reason.map(RejectReason::name))
        .collect()
}

fn quorum<P: ParameterSet>(
    verifier: &CommitteeVerifier<P>,
    message: &[u8],
    indices: &[Option<u32>],
    signatures: &[Buffer],
    certificate: bool,
) -> Result<u128, QuorumError> {
    let committee = verifier.committee();
    let mut votes = Vec::with_capacity(indices.len());
    for (vote, (index, signature)) in indices.iter().zip(signatures).enumerate() {
        match index.and_then(|index| committee.member(index)) {
            Some(member) => votes.push((member, signature.as_slice())),
            None if certificate => return Err(QuorumError::UnknownMember { vote }),
            None => {}
        }
    }
    let rule = match certificate {
        true => QuorumRule::Certificate,
        false => QuorumRule::AnyValid,
    };
    let report = verifier.verify_quorum(message, &votes, rule)?;
    Ok(report.weight())
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
        py.detach(|| {
            Ok(Self(match set {
                Set::MlDsa44 => Any::MlDsa44(build(&members, context.bytes(), threshold)?),
                Set::MlDsa65 => Any::MlDsa65(build(&members, context.bytes(), threshold)?),
                Set::MlDsa87 => Any::MlDsa87(build(&members, context.bytes(), threshold)?),
            }))
        })
    }

    fn __len__(&self) -> usize {
        with_set!(Any, &self.0, verifier => verifier.committee().len())
    }

    #[getter]
    fn total_weight(&self) -> u128 {
        with_set!(Any, &self.0, verifier => verifier.committee().total_weight())
    }

    #[getter]
    fn required_weight(&self) -> u128 {
        with_set!(Any, &self.0, verifier => verifier.committee().required_weight())
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
            found.extend(py.detach(|| {
                with_set!(Any, &self.0, verifier => verify(verifier, &indices, &messages, &signatures))
            }));
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
        let reached = py.detach(|| {
            with_set!(Any, &self.0, verifier => {
                quorum(verifier, &message, &indices, &signatures, certificate)
            })
        });
        reached.map_err(|error| no_quorum(py, error))
    }
}
