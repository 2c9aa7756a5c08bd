//! Writes to the memory of the caller while signing runs, by a fault or by another device:
//! each kind of write, to every part of the signature buffer and of the workspace, at every
//! report. A signature that is released is one that undisturbed signing makes.

extern crate std;

use core::ops::ControlFlow;
use std::vec::Vec;

use mldsa_core::internals::Zeroed;
use mldsa_core::internals::{SecretKeyParts, tr};
use mldsa_core::{MlDsa44, MlDsa65, MlDsa87, ParameterSet};

use super::*;
use crate::checks::{AllChecks, NoChecks};
use crate::tier::{Balanced, CacheMatrix, CacheW0, Minimal, Nothing, Tier, Workspace};
use crate::verify::{Fresh, verify_given};

const ATTEMPTS: u16 = 24;

/// A key, and a message that the first attempt signs.
struct Case<P: ParameterSet> {
    pk: P::PublicKeyBytes,
    sk: P::SecretKeyBytes,
    mu: Mu,
    /// The signatures of the attempts that are not rejected.
    accepted: Vec<P::SignatureBytes>,
}

impl<P: ParameterSet> Case<P> {
    fn new() -> Self {
        let (mut pk, mut sk) = (P::PublicKeyBytes::zeroed(), P::SecretKeyBytes::zeroed());
        crate::SigningKey::<P>::keygen_into(&[5; 32], &mut pk, &mut sk);
        for n in 0..=u8::MAX {
            let mut case = Self {
                pk: pk.clone(),
                sk: sk.clone(),
                mu: Mu::from_bytes([n; 64]),
                accepted: Vec::new(),
            };
            let attempts = (0..ATTEMPTS).map(|attempt| case.attempt(attempt));
            let attempts: Vec<_> = attempts.collect();
            if attempts[0].is_some() {
                case.accepted = attempts.into_iter().flatten().collect();
                return case;
            }
        }
        panic!("no message is signed in the first attempt");
    }

    fn key(&self) -> SecretKeyParts<'_> {
        SecretKeyParts::parse(&P::PARAMS, self.sk.as_ref()).expect("a key")
    }

    fn request(&self) -> SignInputs<'_> {
        SignInputs {
            mu: &self.mu,
            rnd: &[0; SEED_LEN],
        }
    }

    /// The signature of one attempt, unless it is rejected.
    fn attempt(&self, attempt: u16) -> Option<P::SignatureBytes> {
        let (key, request) = (self.key(), self.request());
        let mut out = P::SignatureBytes::zeroed();
        let (c_tilde, z, hint) =
            signature_parts_mut(&P::PARAMS, out.as_mut()).expect("the length of a signature");
        let mut rho_pp = [0; CRH_LEN];
        mask_seed(&key, &request, &mut rho_pp);
        let mut hints = P::Rows::zeroed();
        let mut pass = Pass::<_, Nothing, AllChecks> {
            p: &P::PARAMS,
            key: &key,
            request: &request,
            attempt,
            workspace: &mut [],
            acc: &mut [0; N],
            hints: hints.as_mut(),
            watch: &mut |_, _| ControlFlow::Continue(()),
            c_tilde,
            z,
            hint,
            types: PhantomData,
        };
        pass.mask(&rho_pp).expect("not stopped");
        pass.commit().expect("not stopped");
        match pass.respond() {
            Ok(()) => Some(out),
            Err(AttemptError::Rejected) => None,
            Err(AttemptError::Failed(error)) => panic!("{error}"),
        }
    }

    /// Signs as [`MlDsaSigner`](crate::MlDsaSigner) does, with a write at report `at`. `None`
    /// if there are fewer reports.
    fn sign<T: Tier<P>, C: Checks>(
        &self,
        at: usize,
        write: &mut dyn FnMut([&mut [u8]; 4]),
    ) -> Option<Result<P::SignatureBytes, SignError>> {
        let (key, request) = (self.key(), self.request());
        let (mut out, mut acc) = (P::SignatureBytes::zeroed(), [0; N]);
        let mut reports = 0;
        let watch: &mut Watch<'_> = &mut |_, memory| {
            if reports == at {
                write(memory);
            }
            reports += 1;
            ControlFlow::Continue(())
        };
        let mut workspace = Workspace::<P, T>::new();
        let mut hints = P::Rows::zeroed();
        let memory = Memory {
            workspace: workspace.bytes.as_mut(),
            acc: &mut acc,
            hints: hints.as_mut(),
        };
        let (p, out_bytes) = (&P::PARAMS, out.as_mut());
        let mut signed =
            sign_internal::<_, T::Keeps, C>(p, &key, &request, memory, watch, out_bytes);
        if reports <= at {
            return None;
        }
        if signed.is_ok() && C::VERIFIES {
            let fresh = Fresh {
                mu: &self.mu,
                signature: out.as_ref(),
                tr: &tr(KECCAK, self.pk.as_ref()),
            };
            if !verify_given(p, self.pk.as_ref(), &fresh, &mut acc) {
                signed = Err(SignError::SelfVerification);
            }
        }
        Some(signed.map(|()| out))
    }

    /// Makes every write, one in a signature, and returns how many were detected.
    fn writes<T: Tier<P>>(&self, kinds: &[fn(&mut [u8])]) -> usize {
        let p = &P::PARAMS;
        let slots = Workspace::<P, T>::LEN.div_ceil(COMPACT_LEN);
        let (mut detected, mut at) = (0, 0);
        loop {
            // c_tilde, the hint, all of y, all of the workspace, each row, each slot.
            for place in 0..4 + p.l + slots {
                for (kind, write) in kinds.iter().enumerate() {
                    let mut write_there = |[c_tilde, z, hint, workspace]: [&mut [u8]; 4]| {
                        write(match place {
                            0 => c_tilde,
                            1 => hint,
                            2 => z,
                            3 => workspace,
                            _ if place < 4 + p.l => packed_row_mut(z, place - 4, p.z_poly_len()),
                            _ => workspace
                                .chunks_mut(COMPACT_LEN)
                                .nth(place - 4 - p.l)
                                .unwrap_or_default(),
                        });
                    };
                    match self.sign::<T, AllChecks>(at, &mut write_there) {
                        None => {
                            assert!(at > p.k, "only {at} reports");
                            return detected;
                        }
                        Some(Ok(signature)) => assert!(
                            self.accepted.contains(&signature),
                            "{} {}: write {kind} to place {place} at report {at}",
                            P::NAME,
                            core::any::type_name::<T>(),
                        ),
                        Some(Err(error)) => {
                            assert_eq!(error, SignError::SelfVerification);
                            detected += 1;
                        }
                    }
                }
            }
            at += 1;
        }
    }
}

const ZEROS: fn(&mut [u8]) = |memory| memory.fill(0);
const ONES: fn(&mut [u8]) = |memory| memory.fill(0xff);
const FLIP: fn(&mut [u8]) = |memory| {
    if let Some(byte) = memory.first_mut() {
        *byte ^= 1;
    }
};

#[test]
fn no_write_releases_another_signature_44() {
    let case = Case::<MlDsa44>::new();
    let all = [ZEROS, ONES, FLIP];
    assert!(case.writes::<Minimal>(&all) > 0);
    assert!(case.writes::<CacheW0>(&all) > 0);
    assert!(case.writes::<CacheMatrix>(&all) > 0);
}

#[test]
fn no_write_releases_another_signature_65() {
    let case = Case::<MlDsa65>::new();
    assert!(case.writes::<Balanced>(&[ZEROS]) > 0);
}

#[test]
fn no_write_releases_another_signature_87() {
    let case = Case::<MlDsa87>::new();
    assert!(case.writes::<Minimal>(&[ZEROS]) > 0);
}

/// A row of y, or all of y, is zero from some report on.
#[test]
fn no_zeroed_mask_releases_another_signature() {
    let case = Case::<MlDsa65>::new();
    let p = &MlDsa65::PARAMS;
    let mut zeros = [0; 640];
    mldsa_core::internals::pack::pack_z_part(p.gamma1_bits, &[0; N], &mut zeros);
    for rows in [0..1, p.l - 1..p.l, 0..p.l] {
        let mut at = 0;
        let mut detected = 0;
        while let Some(signed) = case.sign::<Minimal, AllChecks>(at, &mut |[_, z, ..]| {
            for row in rows.clone() {
                packed_row_mut(z, row, zeros.len()).copy_from_slice(&zeros);
            }
        }) {
            match signed {
                Ok(signature) => assert!(case.accepted.contains(&signature), "report {at}"),
                Err(error) => {
                    assert_eq!(error, SignError::SelfVerification);
                    detected += 1;
                }
            }
            at += 1;
        }
        assert!(detected > 0, "{rows:?}: none of {at}");
    }
}

/// With y zeroed before the commitment, a signature is valid and its z is c s1. Only the second
/// derivation of y detects it: without self-verification the signature is released.
#[test]
fn mask_that_is_zeroed_before_the_commitment_is_detected() {
    let case = Case::<MlDsa44>::new();
    let p = &MlDsa44::PARAMS;
    for row in 0..p.l {
        // Report 0 is the attempt, report 1 the first row of the commitment.
        let mut zero = |[_, z, ..]: [&mut [u8]; 4]| {
            for (n, z) in z.chunks_exact_mut(p.z_poly_len()).enumerate() {
                if n == row || row == 0 {
                    mldsa_core::internals::pack::pack_z_part(p.gamma1_bits, &[0; N], z);
                }
            }
        };
        let detected = case
            .sign::<Minimal, AllChecks>(1, &mut zero)
            .expect("a report");
        assert_eq!(detected, Err(SignError::SelfVerification), "row {row}");
        let released = case
            .sign::<Minimal, NoChecks>(1, &mut zero)
            .expect("a report");
        let mut released = released.expect("released without the check");
        let (c_tilde, z, _) = signature_parts_mut(p, &mut released).expect("a signature");
        let mut c = SparseChallenge::empty();
        c.sample_in_ball_vartime(KECCAK, p.tau, c_tilde);
        let mut product = [0; 640];
        let product = &mut product[..p.z_poly_len()];
        let s1 = crate::packed::packed_row(case.key().s1, row, p.eta_poly_len());
        z_row_write(p, &c, s1, &[0; N], product);
        assert_eq!(packed_row_mut(z, row, p.z_poly_len()), product);
    }
}
