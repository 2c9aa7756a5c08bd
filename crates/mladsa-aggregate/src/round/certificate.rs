//! AggregateCertificate: an aggregate with the openings of its signers.

use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::committee::opening::AuthenticatedKey;
use crate::committee::view::{CommitteeView, MAX_MEMBERS};
use crate::error::{AggregateError, EncodingError};
use crate::round::aggregate::Aggregate;
use crate::round::definition::Round;
use crate::round::message::Message;
use crate::round::task::SigningTask;
use crate::wire::framing::{Reader, lp, push_lp};

/// An aggregate with the openings of its signers: a verifier of the committee needs no
/// other message. The aggregate alone is enough for a verifier that has the openings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AggregateCertificate {
    aggregate: Aggregate,
    openings: Vec<Vec<u8>>,
}

const CERTIFICATE: &[u8; 8] = b"MLADSAO2";

impl AggregateCertificate {
    /// Creates a certificate of an aggregate, with the opening of each signer in id order.
    #[doc(hidden)]
    pub fn new<'a>(aggregate: Aggregate, openings: impl IntoIterator<Item = &'a Message>) -> Self {
        let openings = openings.into_iter().map(|opening| opening.body().to_vec());
        Self {
            aggregate,
            openings: openings.collect(),
        }
    }

    /// Returns the aggregate.
    pub fn aggregate(&self) -> &Aggregate {
        &self.aggregate
    }

    /// Authenticates the openings against the committee: the keys with which [`Aggregate::verify`]
    /// verifies the aggregate alone.
    ///
    /// # Errors
    /// [`AggregateError::Committee`] for an opening that does not lead to the root of its member,
    /// [`AggregateError::MissingKey`] unless there is one for each signer.
    pub fn keys(&self, committee: &CommitteeView) -> Result<Vec<AuthenticatedKey>, AggregateError> {
        let signers = self.aggregate.positions(committee)?;
        if signers.len() != self.openings.len() {
            return Err(AggregateError::MissingKey);
        }
        let openings = signers.into_iter().zip(self.openings());
        let keys = committee.authenticate_each(self.aggregate.attempt_id(), openings);
        Ok(keys.into_iter().collect::<Result<_, _>>()?)
    }

    /// Verifies the aggregate with [`Self::keys`].
    ///
    /// # Errors
    /// Those of [`Self::keys`] and [`Aggregate::verify`].
    pub fn verify(
        &self,
        committee: &CommitteeView,
        task: &SigningTask,
    ) -> Result<Arc<Round>, AggregateError> {
        self.aggregate
            .verify(committee, &self.keys(committee)?, task)
    }

    /// Returns the openings in the order of the signers.
    pub fn openings(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.openings.iter().map(Vec::as_slice)
    }

    /// Returns whether these bytes are those of a certificate and not of a message.
    pub(crate) fn is_encoded(bytes: &[u8]) -> bool {
        bytes.starts_with(CERTIFICATE)
    }

    /// Encodes as `"MLADSAO2" || lp(aggregate, openings in the order of the signers)`.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = CERTIFICATE.to_vec();
        out.extend(lp(&[&self.aggregate.to_bytes()]));
        let openings = self.openings.iter();
        openings.for_each(|opening| push_lp(&mut out, opening));
        out
    }

    /// Decodes a certificate, of which nothing is verified.
    ///
    /// # Errors
    /// [`EncodingError::Length`], also for more openings than a committee has members, and those of
    /// [`Aggregate::from_bytes`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, EncodingError> {
        let mut reader = Reader::new(bytes, CERTIFICATE)?;
        let aggregate = Aggregate::from_bytes(reader.part()?)?;
        let mut openings = Vec::new();
        while !reader.is_empty() {
            if openings.len() == MAX_MEMBERS {
                return Err(EncodingError::Length);
            }
            openings.push(reader.part()?.into());
        }
        Ok(Self {
            aggregate,
            openings,
        })
    }
}
