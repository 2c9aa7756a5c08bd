//! Proof of a content key: an ordinary ML-DSA-87 signature made with the key
//! itself, for where roots cannot be fixed before openings.

use mldsa_core::internals::{Secret, Zeroed, keygen_from_rho_p};
use mldsa_core::{Context, MlDsa87, MuBuilder, ParameterSet, Randomness, Signature, no_alloc};

use crate::epoch::registry::Registry;
use crate::error::Error;
use crate::keys::content_key::{ContentKey, ContentPublicKey};
use crate::keys::matrix::{K, Matrix, encode_key, vector};
use crate::keys::member::Member;
use crate::keys::scope::EpochLabel;
use crate::member_id::MemberId;
use crate::wire::framing::hash_lp;
use crate::wire::label::ContentLabel;

impl Member {
    /// Signs the public half of the key of `label` in `epoch` with the key itself.
    /// `rnd` is 64 fresh random bytes: half of them take the place of K, half are the
    /// rnd of FIPS 204, so that the mask depends on all of them.
    ///
    /// # Errors
    /// [`Error::Fault`] if signing fails.
    pub fn prove_content_key(
        &self,
        registry: &Registry,
        epoch: u64,
        label: &ContentLabel,
        rnd: &[u8; 64],
    ) -> Result<Signature<MlDsa87>, Error> {
        let label = registry.scope(epoch).label(label.as_bytes());
        self.prove(registry.matrix(), &label, rnd)
    }

    pub(crate) fn prove(
        &self,
        matrix: &Matrix,
        label: &EpochLabel,
        rnd: &[u8; 64],
    ) -> Result<Signature<MlDsa87>, Error> {
        let rho_p = ContentKey::seed(&self.seed, label);
        let public_key = ContentKey::derive(matrix, &self.seed, label).public_key;
        let (k_seed, rnd) = rnd.split_first_chunk().ok_or(Error::BadLength)?;
        let rnd = rnd.first_chunk().ok_or(Error::BadLength)?;
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
        let mut mu = MuBuilder::from_tr(&no_alloc::tr::<MlDsa87>(&pk), context()?);
        mu.update(&message(&self.id, label, &public_key));
        let mut signature = <[u8; MlDsa87::SIG_LEN]>::zeroed();
        no_alloc::sign_mu::<MlDsa87>(
            sk.expose(),
            &mu.finish(),
            Randomness::Hedged(rnd),
            &mut signature,
        )
        .map_err(|_| Error::Fault)?;
        Signature::from_bytes(&signature).map_err(|_| Error::Fault)
    }
}

/// Checks what [`Member::prove_content_key`] made.
///
/// # Errors
/// [`Error::BadKeyProof`].
pub fn verify_content_key(
    registry: &Registry,
    epoch: u64,
    id: &MemberId,
    label: &ContentLabel,
    public_key: &ContentPublicKey,
    proof: &[u8],
) -> Result<(), Error> {
    let label = registry.scope(epoch).label(label.as_bytes());
    verify(registry.matrix(), id, &label, public_key, proof)
}

pub(crate) fn verify(
    matrix: &Matrix,
    id: &MemberId,
    label: &EpochLabel,
    public_key: &ContentPublicKey,
    proof: &[u8],
) -> Result<(), Error> {
    let mut t = vector(K);
    public_key.unpack(&mut t);
    encode_key(matrix, &t)?
        .verify(&message(id, label, public_key), context()?, proof)
        .map_err(|_| Error::BadKeyProof)
}

pub(crate) fn message(
    id: &MemberId,
    label: &EpochLabel,
    public_key: &ContentPublicKey,
) -> [u8; 64] {
    hash_lp(
        &[],
        &[
            b"F.cpop",
            id.as_bytes(),
            label.as_bytes(),
            public_key.as_bytes(),
        ],
    )
}

fn context() -> Result<Context<'static>, Error> {
    Context::new(b"F.cpop").map_err(|_| Error::BadLength)
}
