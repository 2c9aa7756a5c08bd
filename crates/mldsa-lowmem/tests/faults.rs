//! Errors: bad input, a damaged key, a fault during signing, a progress function that
//! stops or panics, a writer that fails. No error leaves a byte in a buffer.

use core::cell::Cell;
use core::ops::ControlFlow;

use mldsa_lowmem::*;

type P = MlDsa44;

const XI: [u8; 32] = [9; 32];

fn mu() -> Mu {
    Mu::from_bytes([4; 64])
}

fn keys() -> (Vec<u8>, Vec<u8>) {
    let (mut pk, mut sk) = ([0; P::PK_LEN], [0; P::SK_LEN]);
    mldsa_lowmem::SigningKey::<P>::keygen_into(&XI, &mut pk, &mut sk);
    (pk.to_vec(), sk.to_vec())
}

#[test]
fn malformed_keys_and_buffers_are_rejected() {
    let (pk, sk) = keys();
    assert_eq!(
        ExpandedSigningKey::<P>::from_trusted_bytes(&sk[1..]).err(),
        Some(KeyError::Length)
    );
    let key = ExpandedSigningKey::<P>::from_trusted_bytes(&sk).expect("a key");
    assert_eq!(key.with_public_key(&pk[1..]).err(), Some(KeyError::Length));
    assert_eq!(
        VerifyingKey::<P>::from_bytes(&sk).err(),
        Some(KeyError::Length)
    );
    // eta = 2 has three code words too many, in s1 and in s2.
    for at in [128, 128 + 4 * 96] {
        let mut bad = sk.clone();
        bad[at] |= 7;
        assert_eq!(
            ExpandedSigningKey::<P>::from_trusted_bytes(&bad).err(),
            Some(KeyError::SecretRange)
        );
    }
    for at in [0, 64, 127, P::SK_LEN - 1] {
        let mut bad = sk.clone();
        bad[at] ^= 1;
        assert!(ExpandedSigningKey::<P>::from_trusted_bytes(&bad).is_ok());
        assert_eq!(
            ExpandedSigningKey::<P>::from_expanded_bytes(&bad).err(),
            Some(KeyError::Inconsistent)
        );
    }
    let key = ExpandedSigningKey::<P>::from_trusted_bytes(&sk).expect("a key");
    let mut workspace = Workspace::<P, Minimal>::new();
    for len in [0, P::SIG_LEN - 1, P::SIG_LEN + 1] {
        let mut buffer = vec![7; len];
        let signed = MlDsaSigner::new(&key, &mut workspace).sign_mu_into(
            &mu(),
            Randomness::Deterministic,
            &mut buffer,
        );
        assert_eq!(signed, Err(SignError::BufferLength));
        assert_eq!(buffer, vec![7; len]);
    }
}

/// All of signing and verification in one attempt, which takes Miri minutes.
#[test]
fn first_attempt_is_signed_and_verified() {
    let (_, sk) = keys();
    let key = ExpandedSigningKey::<P>::from_trusted_bytes(&sk).expect("a key");
    let mut workspace = Workspace::<P, CacheW0>::new();
    let mut once = |progress| match progress {
        Progress::Rejected => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    };
    let signed = MlDsaSigner::new(&key, &mut workspace)
        .with_progress(&mut once)
        .sign_mu_into(
            &Mu::from_bytes([0; 64]),
            Randomness::Deterministic,
            &mut [0; P::SIG_LEN],
        );
    assert_eq!(signed, Ok(()));
}

/// Stops at every report in turn; each time the buffer is wiped, and signing
/// again gives the signature.
#[test]
fn stop_at_any_report_wipes_the_buffer() {
    let (_, sk) = keys();
    let key = ExpandedSigningKey::<P>::from_trusted_bytes(&sk).expect("a key");
    let mut workspace = Workspace::<P, CacheW0>::new();
    let reports = Cell::new(0);
    let mut count = |_| {
        reports.set(reports.get() + 1);
        ControlFlow::Continue(())
    };
    let mut buffer = [0; P::SIG_LEN];
    MlDsaSigner::new(&key, &mut workspace)
        .with_progress(&mut count)
        .sign_mu_into(&mu(), Randomness::Deterministic, &mut buffer)
        .expect("a signature");
    for stop_at in 0..reports.get() {
        let mut buffer = [7; P::SIG_LEN];
        let mut seen = 0;
        let mut stop = |_| {
            seen += 1;
            if seen > stop_at {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        };
        let stopped = MlDsaSigner::new(&key, &mut workspace)
            .with_progress(&mut stop)
            .sign_mu_into(&mu(), Randomness::Deterministic, &mut buffer);
        assert_eq!(stopped.err(), Some(SignError::Stopped));
        assert_eq!(buffer, [0; P::SIG_LEN]);
    }
}

#[test]
fn panic_of_the_progress_function_wipes_the_buffer() {
    let (_, sk) = keys();
    let mut buffer = [7; P::SIG_LEN];
    let unwound = std::panic::catch_unwind(core::panic::AssertUnwindSafe(|| {
        let key = ExpandedSigningKey::<P>::from_trusted_bytes(&sk).expect("a key");
        let mut workspace = Workspace::<P, Minimal>::new();
        let mut rows = 0;
        let mut watch = |_| {
            rows += 1;
            assert!(rows < 4, "on purpose");
            ControlFlow::Continue(())
        };
        let _ = MlDsaSigner::new(&key, &mut workspace)
            .with_progress(&mut watch)
            .sign_mu_into(&mu(), Randomness::Deterministic, &mut buffer);
    }));
    assert!(unwound.is_err());
    assert_eq!(buffer, [0; P::SIG_LEN]);
}

/// Signs with the default checks, which have to reject and to wipe, and without
/// self-verification, which has to release.
fn assert_only_self_verification_rejects<K: PrivateKey<P>>(key: &K, damage: &str) {
    let mut workspace = Workspace::<P, Minimal>::new();
    let mut buffer = [7; P::SIG_LEN];
    let signed = MlDsaSigner::new(key, &mut workspace).sign_into(
        b"message",
        Context::EMPTY,
        Randomness::Deterministic,
        &mut buffer,
    );
    assert_eq!(signed.err(), Some(SignError::SelfVerification), "{damage}");
    assert_eq!(buffer, [0; P::SIG_LEN], "{damage}");
    let unchecked = MlDsaSigner::new(key, &mut workspace)
        .with_checks::<NoChecks>()
        .sign_into(
            b"message",
            Context::EMPTY,
            Randomness::Deterministic,
            &mut buffer,
        );
    assert!(unchecked.is_ok(), "{damage}");
}

/// Damaged parts of an expanded key, with the public key at hand and without. K is
/// not covered, and most damage to s2 changes neither t1 nor a high bit of w, so that
/// the signature is valid.
#[test]
fn self_verification_rejects_damaged_expanded_keys() {
    let (pk, sk) = keys();
    let (s1, t0) = (128, P::SK_LEN - 416);
    for (part, mask, damage) in [
        (3..4, 0x10, "rho"),
        (64..65, 1, "first bit of tr"),
        (127..128, 0x80, "last bit of tr"),
        // The code word 0 is in range.
        (s1..s1 + 96, 0, "s1"),
        (t0..t0 + 416, 0xff, "t0"),
    ] {
        let mut bad = sk.clone();
        for byte in &mut bad[part] {
            *byte = if mask == 0 { 0 } else { *byte ^ mask };
        }
        let key = ExpandedSigningKey::<P>::from_trusted_bytes(&bad).expect("in range");
        assert_only_self_verification_rejects(&key, damage);
        let key = key.with_public_key(&pk).expect("length");
        assert_only_self_verification_rejects(&key, damage);
    }
}

#[test]
fn self_verification_rejects_a_wrong_tr_of_a_seed() {
    let tr = *SigningKey::<P>::from_seed(&XI).tr();
    for bit in [0, 200, 511] {
        let mut wrong = tr;
        wrong[bit / 8] ^= 1 << (bit % 8);
        let key = SigningKey::<P>::from_seed_and_tr(&XI, &wrong);
        assert_only_self_verification_rejects(&key, "tr");
    }
}

/// The public key of another private key.
#[test]
fn self_verification_rejects_the_wrong_public_key() {
    let (mut pk, mut other) = ([0; P::PK_LEN], [0; P::SK_LEN]);
    mldsa_lowmem::SigningKey::<P>::keygen_into(&[10; 32], &mut pk, &mut other);
    let (_, sk) = keys();
    let key = ExpandedSigningKey::<P>::from_trusted_bytes(&sk).expect("a key");
    let key = key.with_public_key(&pk).expect("length");
    assert_only_self_verification_rejects(&key, "public key");
}

#[test]
fn keygen_ends_with_the_first_error_of_a_writer() {
    fn line(mut writes: usize) -> impl FnMut(usize, &[u8]) -> Result<(), &'static str> {
        move |_, _| {
            writes = writes.checked_sub(1).ok_or("line down")?;
            Ok(())
        }
    }
    let rows = P::K + P::L;
    for writes in 0..=P::K + 1 {
        let ended = SigningKey::<P>::keygen_to_writers(&XI, &mut line(writes), None);
        assert_eq!(ended.is_ok(), writes == P::K + 1, "{writes} writes");
    }
    for writes in [0, 1, 2, rows, rows + 2, rows + P::K + 2] {
        let (pk, sk) = (&mut line(99), &mut line(writes));
        let ended = SigningKey::<P>::keygen_to_writers(&XI, pk, Some(sk));
        assert_eq!(ended, Err("line down"), "{writes} writes");
    }
}

/// Debug output shows nothing of a key.
#[test]
fn debug_output_holds_no_secret() {
    let (_, sk) = keys();
    let key = ExpandedSigningKey::<P>::from_trusted_bytes(&sk).expect("a key");
    assert_eq!(format!("{key:?}"), "ExpandedSigningKey(ML-DSA-44, ..)");
    let key = SigningKey::<P>::from_seed(&XI);
    assert_eq!(format!("{key:?}"), "SigningKey(ML-DSA-44, ..)");
    assert_eq!(core::mem::size_of_val(&key), 192);
}
