//! What may be released after a fault.

use mldsa_core::internals::sample::expand_mask_poly;
use mldsa_core::internals::sparse::SparseChallenge;
use mldsa_core::internals::{N, SecretKeyParts, SignatureParts, rho_pp, row_steps};
use mldsa_core::{Backend, Context, MuBuilder, ParameterSet, PreHash, PreHashed, SigningKey};
use mldsa_gates::signed::{DIGEST, MESSAGES, SEED};

/// Checks that what is released is valid and made of the masks of an attempt. In a batch it may be valid
/// for any of the messages: `BatchSigner` does not promise the number of a job.
pub(super) fn judge<P: ParameterSet>(
    form: &str,
    released: &[Option<(u64, Vec<u8>)>],
) -> Result<(), String> {
    let (p, key) = (&P::PARAMS, SigningKey::<P>::from_seed(&SEED));
    let keccak = Backend::PORTABLE.permutation();
    let public = key.verifying_key();
    let parts = SecretKeyParts::parse(p, key.expanded().as_ref()).map_err(|e| e.to_string())?;
    for (_, signature) in released.iter().flatten() {
        let of_text = |text: &[u8]| {
            let mut mu = MuBuilder::from_tr(public.tr(), Context::EMPTY);
            mu.update(text);
            mu.finish()
        };
        let wanted = match form {
            "batch" => MESSAGES.map(of_text).to_vec(),
            "digest" => {
                let digest = PreHashed::<P>::new(PreHash::Sha2_512, &DIGEST);
                let digest = digest.map_err(|e| e.to_string())?;
                vec![digest.mu(public.tr(), Context::EMPTY)]
            }
            _ => vec![of_text(MESSAGES[0])],
        };
        let mut valid = wanted
            .iter()
            .filter(|mu| public.verify_mu(mu, signature).is_ok());
        let mu = valid.next().ok_or("not valid")?;
        let found = SignatureParts::parse(p, signature).map_err(|e| e.to_string())?;
        let mut c = SparseChallenge::empty();
        c.sample_in_ball_vartime(keccak, p.tau, found.c_tilde);
        let mut rho = [0; 64];
        rho_pp(keccak, parts.k_seed, &[0; 32], mu, &mut rho);
        let rows = found
            .z
            .chunks_exact(p.z_poly_len())
            .zip(parts.s1.chunks_exact(p.eta_poly_len()));
        let rows: Vec<_> = rows.collect();
        let is_attempt = |attempt: u16| {
            rows.iter()
                .zip(attempt * p.l as u16..)
                .all(|((z, s1), kappa)| {
                    let (mut y, mut again) = ([0; N], vec![0; z.len()]);
                    expand_mask_poly(keccak, &rho, kappa, p.gamma1_bits, &mut y);
                    row_steps::z_row_write(p, &c, s1, &y, &mut again);
                    again == *z
                })
        };
        if !(0..200).any(is_attempt) {
            return Err("masks of no attempt".into());
        }
    }
    Ok(())
}
