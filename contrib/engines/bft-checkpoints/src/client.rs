//! Light client: it holds the identity of one committee and follows checkpoints.

use anyhow::ensure;
use harness::thread_time;
use mladsa_aggregate::{AggregateCertificate, CommitteeView, SigningCommittee, SigningTask};

/// What a checkpoint costs a light client: milliseconds of CPU time and bytes.
pub(crate) struct Cost {
    pub(crate) signers: usize,
    pub(crate) attempt: u8,
    pub(crate) certificate_bytes: usize,
    pub(crate) aggregate_bytes: usize,
    pub(crate) with_openings_ms: f64,
    pub(crate) cached_ms: f64,
}

pub(crate) struct LightClient {
    identity: [u8; 32],
}

impl LightClient {
    pub(crate) fn new(identity: [u8; 32]) -> Self {
        Self { identity }
    }

    /// Verifies a checkpoint of the committee that it holds. All bytes come from someone that it does not
    /// trust. A checkpoint that contains the identity of the next committee replaces the present one.
    pub(crate) fn follow(
        &mut self,
        committee: &[u8],
        slot: u32,
        payload: &[u8],
        certificate: &[u8],
    ) -> anyhow::Result<Cost> {
        let view = self.view(committee)?;
        let decoded = AggregateCertificate::from_bytes(certificate)?;
        let task = SigningTask::decision(slot, payload);
        let start = thread_time();
        decoded.verify(&view, &task)?;
        let with_openings = thread_time() - start;
        let (aggregate, keys) = (decoded.aggregate(), decoded.keys(&view)?);
        let start = thread_time();
        aggregate.verify(&view, &keys, &task)?;
        let cached = thread_time() - start;
        let other = SigningTask::decision(slot, &[payload, b"other"].concat());
        ensure!(
            decoded.verify(&view, &other).is_err(),
            "another payload is accepted"
        );
        // `BE64(height) || digest || identity`.
        if let Some(next) = payload.get(40..).filter(|next| !next.is_empty()) {
            self.identity = next.try_into()?;
        }
        Ok(Cost {
            signers: keys.len(),
            attempt: aggregate.attempt_id().number,
            certificate_bytes: certificate.len(),
            aggregate_bytes: aggregate.to_bytes().len(),
            with_openings_ms: with_openings.as_secs_f64() * 1e3,
            cached_ms: cached.as_secs_f64() * 1e3,
        })
    }

    /// The committee as the client needs it: the view and the openings of the members, which a server
    /// computes from the whole committee.
    fn view(&self, committee: &[u8]) -> anyhow::Result<CommitteeView> {
        let server = SigningCommittee::from_bytes(committee)?;
        let mut view = CommitteeView::from_bytes(&server.view().to_bytes(), &self.identity)?;
        for (id, _) in server.members() {
            let opening = server.member_opening(id);
            view.add_member(&opening.unwrap_or_default())?;
        }
        Ok(view)
    }

    pub(crate) fn identity(&self) -> &[u8; 32] {
        &self.identity
    }
}
