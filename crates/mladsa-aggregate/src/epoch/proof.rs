//! Proof of a one-time key: an ordinary ML-DSA-87 signature made with the key itself, for rounds in
//! which roots are not fixed before openings.

use mldsa_core::internals::{Secret, Zeroed, keygen_from_rho_p, sign_mu_encoded, tr};
use mldsa_core::{Context, MlDsa87, MuBuilder, ParameterSet, Randomness, Signature};

use crate::error::RoundError;
use crate::keys::matrix::{K, Matrix, encode_key, vector};
use crate::keys::member::{Member, is_signed};
use crate::keys::one_time_key::{OneTimePublicKey, key_seed};
use crate::keys::scope::EpochLabel;
use crate::member_id::MemberId;
use crate::wire::framing::hash_lp;

impl Member {
    /// Signs the one-time public key of `label` with the key itself. `rnd` is 64
    /// fresh random bytes: half of them replace K, half are the rnd of FIPS 204, so that the
    /// mask depends on all of them.
    pub(crate) fn prove(
        &self,
        matrix: &Matrix,
        label: &EpochLabel,
        rnd: &[u8; 64],
    ) -> Option<Signature<MlDsa87>> {
        let rho_p = key_seed(&self.seed, label);
        let public_key = OneTimePublicKey::derive(matrix, &self.seed, label);
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
        sign_mu_encoded::<MlDsa87>(
            sk.expose(),
            &mu.finish(),
            hedge,
            &mut signature,
            &mut |_| {},
        )
        .ok()?;
        Signature::from_bytes(&signature).ok()
    }
}

const TAG: &[u8] = b"F.cpop";

/// Verifies a proof made by [`Member::prove`].
///
/// # Errors
/// [`RoundError::InvalidKeyProof`].
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
