//! Committees: keys that sign often.

use mldsa_arrow::batch_verify::{
    self, CommitteeVerifier, QuorumError, QuorumRule, RejectReason, Threshold, Vote,
};
use mldsa_core::{MlDsa44, MlDsa65, MlDsa87, ParameterSet};
use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;

use crate::buffers::{Bytes, Column};
use crate::errors::{bad, no_quorum};
use crate::inside;

/// The index of a member; none where an integer is no index at all.
struct Index(Option<u32>);

impl FromPyObject<'_, '_> for Index {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        match object.extract::<u32>() {
            Err(error) if error.is_instance_of::<PyOverflowError>(object.py()) => Ok(Self(None)),
            index => Ok(Self(Some(index?))),
        }
    }
}

enum Any {
    MlDsa44(CommitteeVerifier<MlDsa44>),
    MlDsa65(CommitteeVerifier<MlDsa65>),
    MlDsa87(CommitteeVerifier<MlDsa87>),
}

#[pyclass(frozen, module = "mldsa_batch")]
pub(crate) struct Committee(Any);

fn build<P: ParameterSet>(
    keys: &[Bytes],
    context: &[u8],
    weights: Option<Vec<u64>>,
    (numerator, denominator): (u32, u32),
) -> PyResult<CommitteeVerifier<P>> {
    let weights = weights.unwrap_or_else(|| vec![1; keys.len()]);
    let threshold = Threshold::more_than(numerator, denominator);
    let threshold = threshold.ok_or_else(|| bad("the threshold is no fraction between 0 and 1"))?;
    if weights.len() != keys.len() {
        return Err(bad("there is not a weight for each key"));
    }
    let members = keys.iter().zip(weights);
    let builder = batch_verify::Committee::<P>::builder(context).threshold(threshold);
    Ok(builder.build(members).map_err(bad)?.verifier())
}

fn verify<P: ParameterSet>(
    verifier: &CommitteeVerifier<P>,
    indices: &[Index],
    messages: &Column,
    signatures: &Column,
) -> Vec<Option<&'static str>> {
    let committee = verifier.committee();
    let votes = indices.iter().zip(messages.iter()).zip(signatures.iter());
    let votes = votes.map(|((index, message), signature)| {
        Some(Vote::new(committee.member(index.0?)?, message, signature))
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
    indices: &[Index],
    signatures: &Column,
    certificate: bool,
) -> Result<u128, QuorumError> {
    let committee = verifier.committee();
    let mut votes = Vec::with_capacity(indices.len());
    for (vote, (index, signature)) in indices.iter().zip(signatures.iter()).enumerate() {
        match index.0.and_then(|index| committee.member(index)) {
            Some(member) => votes.push((member, signature)),
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
    #[pyo3(signature = (keys, context = crate::EMPTY, *, weights = None, threshold = (2, 3)))]
    fn new(
        py: Python<'_>,
        keys: Vec<Bytes>,
        context: &[u8],
        weights: Option<Vec<u64>>,
        threshold: (u32, u32),
    ) -> PyResult<Self> {
        let len = keys.first().map_or(0, |key| key.as_ref().len());
        py.detach(|| {
            Ok(Self(match len {
                MlDsa44::PK_LEN => Any::MlDsa44(build(&keys, context, weights, threshold)?),
                MlDsa87::PK_LEN => Any::MlDsa87(build(&keys, context, weights, threshold)?),
                _ => Any::MlDsa65(build(&keys, context, weights, threshold)?),
            }))
        })
    }

    fn __len__(&self) -> usize {
        inside!(Any, &self.0, verifier => verifier.committee().len())
    }

    #[getter]
    fn total_weight(&self) -> u128 {
        inside!(Any, &self.0, verifier => verifier.committee().total_weight())
    }

    #[getter]
    fn required_weight(&self) -> u128 {
        inside!(Any, &self.0, verifier => verifier.committee().required_weight())
    }

    fn verify_many(
        &self,
        py: Python<'_>,
        indices: Vec<Index>,
        messages: Column,
        signatures: Column,
    ) -> PyResult<Vec<Option<&'static str>>> {
        if [messages.len(), signatures.len()] != [indices.len(); 2] {
            return Err(bad("the lists have different lengths"));
        }
        Ok(py.detach(|| {
            inside!(Any, &self.0, verifier => verify(verifier, &indices, &messages, &signatures))
        }))
    }

    #[pyo3(signature = (message, indices, signatures, *, certificate = false))]
    fn verify_quorum(
        &self,
        py: Python<'_>,
        message: &[u8],
        indices: Vec<Index>,
        signatures: Column,
        certificate: bool,
    ) -> PyResult<u128> {
        if signatures.len() != indices.len() {
            return Err(bad("the lists have different lengths"));
        }
        let reached = py.detach(|| {
            inside!(Any, &self.0, verifier => {
                quorum(verifier, message, &indices, &signatures, certificate)
            })
        });
        reached.map_err(|error| no_quorum(py, error))
    }
}
