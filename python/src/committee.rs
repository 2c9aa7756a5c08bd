//! Committees: keys that sign often.

use mldsa_arrow::batch_verify::{self, CommitteeVerifier, RejectReason, Vote};
use mldsa_core::{MlDsa44, MlDsa65, MlDsa87, ParameterSet};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;

use crate::errors::bad;
use crate::inside;

enum Any {
    MlDsa44(CommitteeVerifier<MlDsa44>),
    MlDsa65(CommitteeVerifier<MlDsa65>),
    MlDsa87(CommitteeVerifier<MlDsa87>),
}

#[pyclass(frozen, module = "mldsa_batch")]
pub(crate) struct Committee(Any);

fn build<P: ParameterSet>(
    keys: &[PyBackedBytes],
    context: &[u8],
) -> PyResult<CommitteeVerifier<P>> {
    let members = keys.iter().map(|key| (key, 1));
    let committee = batch_verify::Committee::<P>::builder(context).build(members);
    Ok(committee.map_err(bad)?.verifier())
}

fn verify<P: ParameterSet>(
    verifier: &CommitteeVerifier<P>,
    indices: &[u32],
    messages: &[PyBackedBytes],
    signatures: &[PyBackedBytes],
) -> Vec<Option<&'static str>> {
    let committee = verifier.committee();
    let votes = indices.iter().zip(messages).zip(signatures);
    let votes = votes.map(|((index, message), signature)| {
        let message: &[u8] = message;
        Some(Vote::new(committee.member(*index)?, message, signature))
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

#[pymethods]
impl Committee {
    #[new]
    #[pyo3(signature = (keys, context = crate::EMPTY))]
    fn new(py: Python<'_>, keys: Vec<PyBackedBytes>, context: &[u8]) -> PyResult<Self> {
        let len = keys.first().map_or(0, |key| key.len());
        py.detach(|| {
            Ok(Self(match len {
                MlDsa44::PK_LEN => Any::MlDsa44(build(&keys, context)?),
                MlDsa87::PK_LEN => Any::MlDsa87(build(&keys, context)?),
                _ => Any::MlDsa65(build(&keys, context)?),
            }))
        })
    }

    fn __len__(&self) -> usize {
        inside!(Any, &self.0, verifier => verifier.committee().len())
    }

    fn verify_many(
        &self,
        py: Python<'_>,
        indices: Vec<u32>,
        messages: Vec<PyBackedBytes>,
        signatures: Vec<PyBackedBytes>,
    ) -> PyResult<Vec<Option<&'static str>>> {
        if [messages.len(), signatures.len()] != [indices.len(); 2] {
            return Err(bad("the lists have different lengths"));
        }
        Ok(py.detach(|| {
            inside!(Any, &self.0, verifier => verify(verifier, &indices, &messages, &signatures))
        }))
    }
}
