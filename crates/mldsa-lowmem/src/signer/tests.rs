//! Wiping on every exit.

extern crate std;

use core::panic::AssertUnwindSafe;
use std::boxed::Box;
use std::panic::{catch_unwind, resume_unwind};
use std::vec::Vec;

use mldsa_core::internals::window::{COMPACT_LEN, expand_compact};
use mldsa_core::internals::{SEED_LEN, Zeroed};
use mldsa_core::{MlDsa44, MlDsa65, MlDsa87};

use super::*;
use crate::checks::NoChecks;
use crate::key::{ExpandedSigningKey, SigningKey};
use crate::packed::KECCAK;
use crate::secrets::Secrets;
use crate::tier::{Balanced, CacheMatrix, CacheW0, Keeps, Minimal};

const XI: [u8; SEED_LEN] = [9; SEED_LEN];
const STAINED: u8 = 0xa5;

/// End of a progress function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Exit {
    Stop,
    Panic,
}

/// Signs until report `at` and ends there by `exit`. Returns whether that many reports were made.
fn ends_early<P: ParameterSet, K: PrivateKey<P>, T: Tier<P>>(
    key: &K,
    workspace: &mut Workspace<P, T>,
    out: &mut [u8],
    at: usize,
    exit: Exit,
) -> bool {
    let mut seen = 0;
    let mut watch = |_| {
        seen += 1;
        match exit {
            _ if seen <= at => ControlFlow::Continue(()),
            Exit::Stop => ControlFlow::Break(()),
            // Without the message of a panic.
            Exit::Panic => resume_unwind(Box::new(())),
        }
    };
    let signed = catch_unwind(AssertUnwindSafe(|| {
        MlDsaSigner::new(key, workspace)
            .with_checks::<NoChecks>()
            .with_progress(&mut watch)
            .sign_mu_into(&Mu::from_bytes([4; 64]), Randomness::Deterministic, out)
    }));
    match signed {
        Ok(Ok(())) => false,
        Ok(Err(error)) => {
            assert_eq!((error, exit), (SignError::Stopped, Exit::Stop));
            true
        }
        Err(_) => {
            assert_eq!(exit, Exit::Panic);
            true
        }
    }
}

/// A workspace that outlives the call, as a static does, holds no secret after
/// an exit at any report: zeros, or the public A.
fn assert_no_secret_remains<P: ParameterSet, K: PrivateKey<P>, T: Tier<P>>(key: &K) {
    let p = &P::PARAMS;
    let mut a = Vec::new();
    if T::Keeps::MATRIX {
        a.resize(Workspace::<P, T>::LEN, 0);
        for (n, entry) in a.chunks_exact_mut(COMPACT_LEN).enumerate() {
            expand_compact(KECCAK, key.secrets().rho(), n / p.l, n % p.l, entry);
        }
    }
    for exit in [Exit::Stop, Exit::Panic] {
        let mut at = 0;
        loop {
            let mut workspace = Workspace::<P, T>::new();
            let mut out = P::SignatureBytes::zeroed();
            out.as_mut().fill(STAINED);
            let left = ends_early(key, &mut workspace, out.as_mut(), at, exit);
            let entries = workspace.bytes.as_ref().chunks(COMPACT_LEN);
            for (n, entry) in entries.enumerate() {
                assert!(
                    entry.iter().all(|&byte| byte == 0)
                        || a.chunks(COMPACT_LEN).nth(n) == Some(entry),
                    "{} {} at report {at}: the workspace holds a secret",
                    P::NAME,
                    core::any::type_name::<T>(),
                );
            }
            if !left {
                break;
            }
            assert!(out.as_ref().iter().all(|&byte| byte == 0), "{exit:?} {at}");
            at += 1;
        }
        assert!(at > p.k, "only {at} reports");
    }
}

fn every_tier<P: ParameterSet>()
where
    CacheW0: Tier<P>,
    Balanced: Tier<P>,
    CacheMatrix: Tier<P>,
{
    let (mut pk, mut sk) = (P::PublicKeyBytes::zeroed(), P::SecretKeyBytes::zeroed());
    crate::SigningKey::<P>::keygen_into(&XI, &mut pk, &mut sk);
    let expanded = ExpandedSigningKey::<P>::from_trusted_bytes(sk.as_ref()).expect("a key");
    assert_no_secret_remains::<P, _, Minimal>(&expanded);
    assert_no_secret_remains::<P, _, CacheW0>(&expanded);
    assert_no_secret_remains::<P, _, Balanced>(&expanded);
    assert_no_secret_remains::<P, _, CacheMatrix>(&expanded);
    let opened = SigningKey::<P>::from_seed(&XI);
    assert_no_secret_remains::<P, _, Minimal>(&opened);
    assert_no_secret_remains::<P, _, CacheW0>(&opened);
    assert_no_secret_remains::<P, _, Balanced>(&opened);
    assert_no_secret_remains::<P, _, CacheMatrix>(&opened);
}

#[test]
fn workspace_holds_no_secret_after_any_exit_44() {
    every_tier::<MlDsa44>();
}

#[test]
fn workspace_holds_no_secret_after_any_exit_65() {
    every_tier::<MlDsa65>();
}

#[test]
fn workspace_holds_no_secret_after_any_exit_87() {
    every_tier::<MlDsa87>();
}
