//! Verification. Everything here is public data.

use crate::backend::Backend;
use crate::backend::rows::verify_by_rows;
use crate::coding::encode::SignatureParts;
use crate::coding::pack;
use crate::error::{SignError, VerifyError};
use crate::hash::transcript::Mu;
use crate::lanes::job::{Job, JobKey, JobMessage};
use crate::memory::array::{Wipe, Zeroed};
use crate::params::{ParameterSet, Params};
use crate::ring::poly::{NttPoly, Poly};

/// Verifies jobs `0..results.len()` and writes every result.
pub(crate) fn verify_jobs<'a, P: ParameterSet>(
    backend: Backend,
    job: &dyn Fn(usize) -> Job<'a>,
    results: &mut [Result<(), VerifyError>],
) {
    let kernels = backend.kernels();
    match kernels.verify {
        Some(verify) => verify(&P::PARAMS, job, results),
        None => verify_by_rows::<P>(kernels, backend.permutation(), None, job, results),
    }
}

/// Verifies one job.
pub(crate) fn verify_one<P: ParameterSet>(
    backend: Backend,
    job: Job<'_>,
) -> Result<(), VerifyError> {
    let mut result = [Err(VerifyError::ChallengeMismatch)];
    verify_jobs::<P>(backend, &|_| job, &mut result);
    let [result] = result;
    result
}

/// Verifies a new signature under the key, if there is one, and wipes it if it fails. `a_hat` has the
/// k l entries of A, if they are known.
///
/// Signing may have used the same `a_hat`. A fault in it is found all the same, because t1 belongs
/// to the correct A.
///
/// # Errors
/// [`SignError::SelfVerification`].
pub(crate) fn release<P: ParameterSet>(
    backend: Backend,
    verify_with: Option<JobKey<'_>>,
    a_hat: Option<&[NttPoly]>,
    mu: &Mu,
    signature: &mut [u8],
) -> Result<(), SignError> {
    let Some(key) = verify_with else {
        return Ok(());
    };
    let mut result = [Err(VerifyError::ChallengeMismatch)];
    let job = |_| Job::new(key, JobMessage::Mu(mu), signature);
    match a_hat {
        Some(_) => {
            let (kernels, permutation) = (backend.kernels(), backend.permutation());
            verify_by_rows::<P>(kernels, permutation, a_hat, &job, &mut result);
        }
        None => verify_jobs::<P>(backend, &job, &mut result),
    }
    if result[0].is_err() {
        signature.wipe();
        return Err(SignError::SelfVerification);
    }
    Ok(())
}

/// The checks of algorithm 27 and of line 13 of algorithm 8 that need neither
/// key nor message: length, hint form, norm of z.
///
/// # Errors
/// [`VerifyError::SignatureLength`], [`VerifyError::HintEncoding`],
/// [`VerifyError::ResponseNorm`].
pub(crate) fn check_signature(p: &Params, signature: &[u8]) -> Result<(), VerifyError> {
    let parts = SignatureParts::parse(p, signature)?;
    let mut z = Poly::zeroed();
    for bytes in parts.z.chunks_exact(p.z_poly_len()) {
        pack::unpack_z(p.gamma1_bits, bytes, &mut z);
        if z.norm_reaches(p.gamma1() - p.beta()) {
            return Err(VerifyError::ResponseNorm);
        }
    }
    Ok(())
}

#[cfg(test)]
#[cfg(all(feature = "ml-dsa-44", feature = "ml-dsa-65", feature = "ml-dsa-87"))]
mod tests {
    use super::*;
    use crate::backend::rows::expand_row;
    use crate::coding::encode::PublicKeyParts;
    use crate::coding::encode::signature_parts_mut;
    use crate::coding::hint::{HINT_ROW_LEN, hint_bit_pack_vartime};
    use crate::error::VerifyError::{ChallengeMismatch, HintEncoding, ResponseNorm};
    use crate::hash::keccak::Permutation;
    use crate::hash::transcript::{CommitmentHash, Mu};
    use crate::lanes::job::JobMessage;
    use crate::params::{CRH_LEN, MlDsa44, MlDsa65, MlDsa87, N, Q, SEED_LEN};
    use crate::ring::field::canonical;
    use crate::ring::field::centred;
    use crate::ring::poly::NttPoly;
    use crate::ring::rounding::use_hint_vartime;
    use crate::sample::Challenge;
    use std::vec;
    use std::vec::Vec;

    const MU: Mu = Mu::from_bytes([6; CRH_LEN]);

    /// A public key with t1 = 0, under which the challenge drops out of the
    /// equation: z and the hint are free and `c_tilde` can be made to fit, so
    /// that only the rule under test decides.
    struct FreeKey<P: ParameterSet> {
        pk: P::PublicKeyBytes,
    }

    impl<P: ParameterSet> FreeKey<P> {
        fn new() -> Self {
            let mut pk = P::PublicKeyBytes::zeroed();
            pk.as_mut()[..SEED_LEN].fill(0x5a);
            Self { pk }
        }

        /// The signature with these responses and hint bitmaps that fits.
        fn sign(&self, z: &[Poly], hints: &[u8]) -> Vec<u8> {
            let p = &P::PARAMS;
            let kernels = Backend::PORTABLE.kernels();
            let rho = self.pk.as_ref().first_chunk().unwrap();
            let mut a_hat: Vec<NttPoly> = (0..p.k * p.l).map(|_| NttPoly::zeroed()).collect();
            (kernels.expand_a)(rho, p.l, 0, &mut a_hat);
            let z_hat: Vec<NttPoly> = z
                .iter()
                .map(|z| {
                    let mut z_hat = NttPoly::zeroed();
                    (kernels.ntt)(z, &mut z_hat);
                    z_hat
                })
                .collect();
            let mut hash = CommitmentHash::new(Permutation::PORTABLE, &MU);
            for (row, bitmap) in a_hat.chunks(p.l).zip(hints.chunks(HINT_ROW_LEN)) {
                let (mut w_hat, mut w) = (NttPoly::zeroed(), Poly::zeroed());
                (kernels.row_product)(row, &z_hat, &mut w_hat);
                (kernels.inv_ntt)(&w_hat, &mut w);
                for (n, w) in w.0.iter_mut().enumerate() {
                    let hint = i32::from(bitmap[n / 8] >> (n % 8) & 1);
                    *w = use_hint_vartime(p.gamma2, hint, canonical(*w));
                }
                let mut w1 = vec![0; p.w1_poly_len()];
                pack::w1_encode(p.gamma2, &w, &mut w1, |a| a);
                hash.absorb_w1(&w1);
            }
            let mut signature = vec![0; p.sig_len()];
            let (c_tilde, z_out, h_out) = signature_parts_mut(p, &mut signature).unwrap();
            hash.finish(c_tilde);
            for (z, out) in z.iter().zip(z_out.chunks_mut(p.z_poly_len())) {
                pack::pack_z(p.gamma1_bits, z, out);
            }
            hint_bit_pack_vartime(hints, p.omega, h_out);
            signature
        }

        /// The verdict, on which the key from bytes and the prepared one agree, on
        /// every backend.
        fn verdict(&self, signature: &[u8]) -> Result<(), VerifyError> {
            let early = check_signature(&P::PARAMS, signature).err();
            let mut verdicts = Vec::new();
            for backend in Backend::available() {
                let key = crate::VerifyingKey::<P>::from_bytes(self.pk.as_ref()).unwrap();
                let key = key.with_backend(backend);
                verdicts.push(key.verify_mu(&MU, signature));
                #[cfg(feature = "alloc")]
                verdicts.push(key.prepare().verify_mu(&MU, signature));
            }
            let verdict = verdicts[0];
            assert!(verdicts.iter().all(|other| *other == verdict));
            // Checks that need neither key nor message are made without them.
            let known_early = verdict.err().filter(|reason| *reason != ChallengeMismatch);
            assert_eq!(early, known_early);
            verdict
        }
    }

    fn zeros<P: ParameterSet>() -> (Vec<Poly>, Vec<u8>) {
        let z = (0..P::L).map(|_| Poly::zeroed()).collect();
        (z, vec![0; P::K * HINT_ROW_LEN])
    }

    fn responses<P: ParameterSet>() {
        let key = FreeKey::<P>::new();
        let bound = P::PARAMS.gamma1() - P::PARAMS.beta();
        for (j, n) in [(0, 0), (0, 255), (1, 77), (P::L - 1, 0), (P::L - 1, 255)] {
            let (mut z, hints) = zeros::<P>();
            for (value, verdict) in [
                (bound - 1, Ok(())),
                (1 - bound, Ok(())),
                (bound, Err(ResponseNorm)),
                (-bound, Err(ResponseNorm)),
                (P::PARAMS.gamma1(), Err(ResponseNorm)),
                (1 - P::PARAMS.gamma1(), Err(ResponseNorm)),
            ] {
                z[j].0[n] = value;
                assert_eq!(key.verdict(&key.sign(&z, &hints)), verdict, "{value}");
            }
        }
    }

    #[test]
    fn the_bound_of_z_is_exact_at_every_row() {
        responses::<MlDsa44>();
        responses::<MlDsa65>();
        responses::<MlDsa87>();
    }

    fn hints<P: ParameterSet>() {
        let (k, omega, sig_len) = (P::K, P::PARAMS.omega, P::SIG_LEN);
        let key = FreeKey::<P>::new();
        let (mut z, mut ones) = zeros::<P>();
        for (n, a) in z[0].0.iter_mut().enumerate() {
            *a = n as i32 * 500 - 64_000;
        }
        // None, then one in every row at both ends, then all that are allowed.
        assert_eq!(key.verdict(&key.sign(&z, &ones)), Ok(()));
        for i in 0..k {
            ones[i * HINT_ROW_LEN] = 1;
            ones[i * HINT_ROW_LEN + 31] = 0x80;
        }
        let signature = key.sign(&z, &ones);
        assert_eq!(key.verdict(&signature), Ok(()));
        for i in 0..k {
            ones[i * HINT_ROW_LEN] = 0;
            ones[i * HINT_ROW_LEN + 31] = 0;
        }
        for n in 0..omega {
            ones[(k - 1) * HINT_ROW_LEN + n / 8] |= 1 << (n % 8);
        }
        let full = key.sign(&z, &ones);
        assert_eq!(key.verdict(&full), Ok(()));

        let refused = |at: usize, value: u8| {
            let mut changed = signature.clone();
            changed[at] = value;
            assert_eq!(key.verdict(&changed), Err(HintEncoding), "{at} {value}");
        };
        let section = sig_len - omega - k;
        for at in 2 * k..omega {
            refused(section + at, 1);
        }
        refused(section, 255);
        refused(section + 1, 0);
        refused(sig_len - k, 3);
        refused(sig_len - k + 1, 1);
        refused(sig_len - 1, 2 * k as u8 - 3);
        refused(sig_len - 1, omega as u8 + 1);
        refused(sig_len - k, 255);

        // Another hint is another commitment.
        let mut other = signature;
        other[section + 1] = 254;
        assert_eq!(key.verdict(&other), Err(ChallengeMismatch));
    }

    #[test]
    fn hints_are_decoded_strictly() {
        hints::<MlDsa44>();
        hints::<MlDsa65>();
        hints::<MlDsa87>();
    }

    /// The only way to a second block of SampleInBall, in every backend, alone and
    /// in lanes.
    #[test]
    fn challenges_longer_than_a_block() {
        use crate::params::LongChallenge;
        use crate::{Context, Randomness, SigningKey, VerifyingKey};

        let key = SigningKey::<LongChallenge>::from_seed(&[3; SEED_LEN]);
        let ctx = Context::EMPTY;
        let mut signatures: Vec<_> = (0..9u8)
            .map(|n| {
                key.sign_with_context(&[n], ctx, Randomness::Deterministic)
                    .unwrap()
            })
            .map(|signature| signature.as_ref().to_vec())
            .collect();
        let parts = SignatureParts::parse(&LongChallenge::PARAMS, &signatures[0]).unwrap();
        let mut block = [0; 136];
        let mut xof = crate::hash::xof::Shake256::new(Permutation::PORTABLE);
        xof.absorb(parts.c_tilde);
        xof.finish();
        xof.squeeze(&mut block);
        assert!(Challenge::from_block(LongChallenge::PARAMS.tau, &block).is_none());
        signatures[4][0] ^= 1;
        for backend in Backend::available() {
            let vk: VerifyingKey<_> = key.verifying_key().clone().with_backend(backend);
            for (n, signature) in signatures.iter().enumerate() {
                let verdict = vk.verify_with_context(&[n as u8], ctx, signature);
                let expected = if n == 4 {
                    Err(ChallengeMismatch)
                } else {
                    Ok(())
                };
                assert_eq!(verdict, expected, "{backend:?} {n}");
            }
            let messages: Vec<[u8; 1]> = (0..9).map(|n| [n]).collect();
            let mut results = [Err(HintEncoding); 9];
            let message = |n: usize| JobMessage::Pure(ctx, &messages[n]);
            let job = |n: usize| Job::new(vk.job_key(), message(n), &signatures[n]);
            verify_jobs::<LongChallenge>(backend, &job, &mut results);
            for (n, result) in results.into_iter().enumerate() {
                assert_eq!(result.is_ok(), n != 4, "{backend:?} {n}");
            }
        }
    }

    #[test]
    fn rows_of_a_prepared_key_are_canonical_and_negated() {
        let p = &MlDsa44::PARAMS;
        let mut pk = [0u8; 1312];
        pk[SEED_LEN..][..2].copy_from_slice(&[0xff, 0x03]);
        let parts = PublicKeyParts::parse(p, &pk).unwrap();
        let mut row: Vec<NttPoly> = (0..=p.l).map(|_| NttPoly::zeroed()).collect();
        expand_row(Backend::PORTABLE.kernels(), p, &parts, 0, None, &mut row);
        // t1 = 1023, so t1 2^13 = q - 1 = -1, and -(-1) = 1 at every point.
        assert!(row[p.l].0.iter().all(|&a| a == 1));
        assert!(row[0].0.iter().all(|&a| (0..Q).contains(&a)));
        assert!(row[0].0.iter().map(|&a| centred(a)).any(|a| a < 0));
        assert_eq!(row[0].0.len(), N);
        expand_row(Backend::PORTABLE.kernels(), p, &parts, 1, None, &mut row);
        assert!(row[p.l].0.iter().all(|&a| a == 0));
    }
}
