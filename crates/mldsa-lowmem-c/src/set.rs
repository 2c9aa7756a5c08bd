//! The functions of a parameter set.

use mldsa_lowmem::{
    CacheW0, ExpandedKeyPair, ExpandedSigningKey, Minimal, MlDsaSigner, Mu, ParameterSet,
    Randomness, SigningKey, Tier, VerifyingKey, Workspace,
};

use crate::Status;
use crate::boundary::{array, bytes, checked, output, status};
use crate::message::mu_of;
use crate::signer::{self, From, SignerMemory};

/// # Safety
/// The contract of the crate.
pub(crate) unsafe fn pair<'a, P: ParameterSet>(
    sk: *const u8,
    pk: *const u8,
) -> Result<ExpandedKeyPair<'a, P>, Status> {
    // SAFETY: the contract of the crate.
    let (sk, pk) = unsafe { (bytes(sk, P::SK_LEN)?, bytes(pk, P::PK_LEN)?) };
    Ok(ExpandedSigningKey::from_trusted_bytes(sk)?.with_public_key(pk)?)
}

/// # Safety
/// The contract of the crate.
unsafe fn sign_mu<P: ParameterSet, T: Tier<P>>(
    (sk, pk): (*const u8, *const u8),
    mu: &Mu,
    rnd: *const u8,
    workspace: &mut Workspace<P, T>,
    signature: *mut u8,
) -> Result<(), Status> {
    // SAFETY: the contract of the crate.
    unsafe {
        let key = pair::<P>(sk, pk)?;
        let signature = output::<P::SignatureBytes>(signature)?.as_mut();
        let hedge = Randomness::Hedged(array(rnd)?);
        Ok(MlDsaSigner::new(&key, workspace).sign_mu_into(mu, hedge, signature)?)
    }
}

/// Defines the functions of a set, which the header documents.
macro_rules! functions {
    ($module:ident, $number:literal, $set:ident) => {
        /// The functions of a set, documented in the header.
        pub mod $module {
            use super::*;
            use mldsa_lowmem::$set as P;

            /// Makes a key pair of a seed of 32 bytes.
            #[must_use]
            #[unsafe(export_name = concat!("mldsa_lowmem_", $number, "_keygen"))]
            pub unsafe extern "C" fn keygen(seed: *const u8, pk: *mut u8, sk: *mut u8) -> Status {
                // SAFETY: the contract of the crate.
                status((|| unsafe {
                    let (pk, sk) = (output(pk)?, output(sk)?);
                    SigningKey::<P>::keygen_into(array(seed)?, pk, sk);
                    Ok(())
                })())
            }

            /// Writes the hash of a public key, 64 bytes.
            #[must_use]
            #[unsafe(export_name = concat!("mldsa_lowmem_", $number, "_tr"))]
            pub unsafe extern "C" fn tr(pk: *const u8, tr: *mut u8) -> Status {
                // SAFETY: the contract of the crate.
                status((|| unsafe {
                    let pk = bytes(pk, P::PK_LEN)?;
                    *output::<[u8; 64]>(tr)? = VerifyingKey::<P>::from_bytes(pk)?.tr();
                    Ok(())
                })())
            }

            /// Signs a message.
            #[must_use]
            #[unsafe(export_name = concat!("mldsa_lowmem_", $number, "_sign"))]
            pub unsafe extern "C" fn sign(
                sk: *const u8,
                pk: *const u8,
                message: *const u8,
                message_len: usize,
                context: *const u8,
                context_len: usize,
                rnd: *const u8,
                signature: *mut u8,
            ) -> Status {
                // SAFETY: the contract of the crate. `tr` is at offset 64 of a private key.
                status((|| unsafe {
                    let tr = array(bytes(sk, P::SK_LEN)?[64..].as_ptr())?;
                    let mu = mu_of(tr, (message, message_len), (context, context_len))?;
                    let workspace = &mut Workspace::<P, Minimal>::new();
                    super::sign_mu((sk, pk), &mu, rnd, workspace, signature)
                })())
            }

            /// Signs a message representative.
            #[must_use]
            #[unsafe(export_name = concat!("mldsa_lowmem_", $number, "_sign_mu"))]
            pub unsafe extern "C" fn sign_mu(
                sk: *const u8,
                pk: *const u8,
                mu: *const u8,
                rnd: *const u8,
                signature: *mut u8,
            ) -> Status {
                // SAFETY: the contract of the crate.
                status((|| unsafe {
                    let mu = Mu::from_bytes(*array(mu)?);
                    let workspace = &mut Workspace::<P, Minimal>::new();
                    super::sign_mu((sk, pk), &mu, rnd, workspace, signature)
                })())
            }

            /// Signs a message representative with a work area.
            #[must_use]
            #[unsafe(export_name = concat!("mldsa_lowmem_", $number, "_sign_mu_cached"))]
            pub unsafe extern "C" fn sign_mu_cached(
                sk: *const u8,
                pk: *const u8,
                mu: *const u8,
                rnd: *const u8,
                work: *mut u8,
                signature: *mut u8,
            ) -> Status {
                // SAFETY: the contract of the crate. A workspace is an array of bytes.
                status((|| unsafe {
                    let mu = Mu::from_bytes(*array(mu)?);
                    let work = checked(work.cast::<Workspace<P, CacheW0>>())?;
                    work.write(Workspace::new());
                    super::sign_mu((sk, pk), &mu, rnd, &mut *work, signature)
                })())
            }

            /// Verifies a signature of a message.
            #[must_use]
            #[unsafe(export_name = concat!("mldsa_lowmem_", $number, "_verify"))]
            pub unsafe extern "C" fn verify(
                pk: *const u8,
                message: *const u8,
                message_len: usize,
                context: *const u8,
                context_len: usize,
                signature: *const u8,
            ) -> Status {
                // SAFETY: the contract of the crate.
                status((|| unsafe {
                    let key = VerifyingKey::<P>::from_bytes(bytes(pk, P::PK_LEN)?)?;
                    let signature = bytes(signature, P::SIG_LEN)?;
                    let mu = mu_of(&key.tr(), (message, message_len), (context, context_len))?;
                    Ok(key.verify_mu(&mu, signature)?)
                })())
            }

            /// Verifies a signature of a message representative.
            #[must_use]
            #[unsafe(export_name = concat!("mldsa_lowmem_", $number, "_verify_mu"))]
            pub unsafe extern "C" fn verify_mu(
                pk: *const u8,
                mu: *const u8,
                signature: *const u8,
            ) -> Status {
                // SAFETY: the contract of the crate.
                status((|| unsafe {
                    let key = VerifyingKey::<P>::from_bytes(bytes(pk, P::PK_LEN)?)?;
                    let signature = bytes(signature, P::SIG_LEN)?;
                    Ok(key.verify_mu(&Mu::from_bytes(*array(mu)?), signature)?)
                })())
            }

            /// Starts a signature in slices.
            #[must_use]
            #[unsafe(export_name = concat!("mldsa_lowmem_", $number, "_signer_start"))]
            pub unsafe extern "C" fn signer_start(
                signer: *mut SignerMemory<P>,
                sk: *const u8,
                pk: *const u8,
                mu: *const u8,
                rnd: *const u8,
                signature: *mut u8,
            ) -> Status {
                let from = From::Randomness(rnd);
                // SAFETY: the contract of the crate.
                status(unsafe { signer::start(signer, (sk, pk), mu, from, signature) })
            }

            /// Continues a signature in slices from a saved state.
            #[must_use]
            #[unsafe(export_name = concat!("mldsa_lowmem_", $number, "_signer_resume"))]
            pub unsafe extern "C" fn signer_resume(
                signer: *mut SignerMemory<P>,
                sk: *const u8,
                pk: *const u8,
                mu: *const u8,
                state: *const u8,
                signature: *mut u8,
            ) -> Status {
                let from = From::State(state);
                // SAFETY: the contract of the crate.
                status(unsafe { signer::start(signer, (sk, pk), mu, from, signature) })
            }

            /// Does the next step.
            #[must_use]
            #[unsafe(export_name = concat!("mldsa_lowmem_", $number, "_signer_step"))]
            pub unsafe extern "C" fn signer_step(signer: *mut SignerMemory<P>) -> Status {
                // SAFETY: the contract of the crate.
                status(unsafe { signer::step(signer) })
            }

            /// Writes the state.
            #[must_use]
            #[unsafe(export_name = concat!("mldsa_lowmem_", $number, "_signer_state"))]
            pub unsafe extern "C" fn signer_state(
                signer: *mut SignerMemory<P>,
                state: *mut u8,
            ) -> Status {
                // SAFETY: the contract of the crate.
                status(unsafe { signer::state(signer, state) })
            }

            /// Wipes the signer, and the signature if it is not complete.
            #[must_use]
            #[unsafe(export_name = concat!("mldsa_lowmem_", $number, "_signer_end"))]
            pub unsafe extern "C" fn signer_end(signer: *mut SignerMemory<P>) -> Status {
                // SAFETY: the contract of the crate.
                status(unsafe { signer::end(signer) })
            }
        }
    };
}
functions!(set_44, "44", MlDsa44);
functions!(set_65, "65", MlDsa65);
functions!(set_87, "87", MlDsa87);
