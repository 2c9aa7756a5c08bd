//! Proof of a one-time key: an ordinary ML-DSA-87 signature made with the key itself, for
//! applications in which roots cannot be fixed before openings.

use mldsa_core::internals::{Secret, Zeroed, keygen_from_rho_p, sign_mu_encoded, tr};
use mldsa_core::{Context, MlDsa87, MuBuilder, ParameterSet, Randomness, Signature};

use crate::epoch::registry::Registry;
use crate::error::RoundError;
use crate::keys::matrix::{K, Matrix, encode_key, vector};
use crate::keys::member::{Member, is_signed};
use crate::keys::one_time_key::{OneTimeKey, OneTimePublicKey};
use crate::keys::scope::EpochLabel;
use crate::member_id::MemberId;
use crate::wire::framing::hash_lp;
use crate::wire::task::AttemptId;

impl Member {
    /// Signs the one-time public key of `attempt` in `epoch` with the key itself. `rnd` is 64
    /// fresh random bytes: half of them replace K, half are the rnd of FIPS 204, so that the
    /// mask depends on all of them.
    ///
    /// # Errors
    /// [`RoundError::Fault`].
    pub fn prove_one_time_key(
        &self,
        registry: &Registry,
        epoch: u64,
        attempt: &AttemptId,
        rnd: &[u8; 64],
    ) -> Result<Signature<MlDsa87>, RoundError> {
        let label = registry.scope(epoch).label(attempt.as_bytes());
        self.prove(registry.matrix(), &label, rnd)
            .ok_or(RoundError::Fault)
    }

    pub(crate) fn prove(
        &self,
        matrix: &Matrix,
        label: &EpochLabel,
        rnd: &[u8; 64],
    ) -> Option<Signature<MlDsa87>> {
        let rho_p = OneTimeKey::seed(&self.seed, label);
        let public_key = OneTimeKey::derive(matrix, &self.seed, label).public_key;
        let (k_seed, rnd) = (rnd.first_chunk()?, rnd.last_chunk()?);
        let mut pk = [0; MlDsa87::PK_LEN];
        let mut sk = Secret::<[u8; MlDsa87::SK_LEN]>::zeroed();
        keygen_from_rho_p::<MlDsa87>(
            matrix.backend(),
            matrix.rho(),
            rho_p.expose(),
            k_seed,
            &mut pk,
            sk.expose_mut(),
        );
        let ctx = Context::new(TAG).ok()?;
        let mut mu = MuBuilder::from_tr(&tr(matrix.backend().permutation(), &pk), ctx);
        mu.update(&message(&self.id, label, &public_key));
        let mut signature = <[u8; MlDsa87::SIG_LEN]>::zeroed();
        let hedge = Randomness::Hedged(rnd);
        sign_mu_encoded::<MlDsa87>(sk.expose(), &mu.finish(), hedge, &mut signature).ok()?;
        Signature::from_bytes(&signature).ok()
    }
}

impl Registry {
    /// Verifies a proof made by [`Member::prove_one_time_key`].
    ///
    /// # Errors
    /// [`RoundError::InvalidKeyProof`].
    pub fn verify_one_time_key(
        &self,
        epoch: u64,
        id: &MemberId,
        attempt: &AttemptId,
        public_key: &OneTimePublicKey,
        proof: &[u8],
    ) -> Result<(), RoundError> {
        let label = self.scope(epoch).label(attempt.as_bytes());
        verify(self.matrix(), id, &label, public_key, proof)
    }
}

const TAG: &[u8] = b"F.cpop";

pub(crate) fn verify(
    matrix: &Matrix,
    id: &MemberId,
    label: &EpochLabel,
    public_key: &OneTimePublicKey,
    proof: &[u8],
) -> Result<(), RoundError> {
    let mut t = vector(K);
    public_key.unpack(&mut t);
    let key = encode_key(matrix, &t)?;
    is_signed(&key, TAG, &message(id, label, public_key), proof)
        .then_some(())
        .ok_or(RoundError::InvalidKeyProof)
}

pub(crate) fn message(
    id: &MemberId,
    label: &EpochLabel,
    public_key: &OneTimePublicKey,
) -> [u8; 64] {
    let (id, label, key) = (id.as_bytes(), label.as_bytes(), public_key.as_bytes());
    hash_lp(&[], &[TAG, id, label, key])
}
