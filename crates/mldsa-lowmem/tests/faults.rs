//! What happens when something goes wrong: bad input, a fault during signing, a
//! caller that stops, a sink that fails. No error leaves a byte in a buffer.

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
    keygen_from_seed::<P>(&XI, &mut pk, &mut sk);
    (pk.to_vec(), sk.to_vec())
}

#[test]
fn malformed_keys_and_buffers_are_refused_first() {
    let (pk, sk) = keys();
    assert_eq!(
        ExpandedKey::<P>::new(&sk[1..]).err(),
        Some(KeyError::Length)
    );
    let key = ExpandedKey::<P>::new(&sk).expect("a key");
    assert_eq!(key.with_public_key(&pk[1..]).err(), Some(KeyError::Length));
    assert_eq!(
        PublicKey::<P>::from_bytes(&sk).err(),
        Some(KeyError::Length)
    );
    // eta = 2 has three code words too many, in s1 and in s2.
    for at in [128, 128 + 4 * 96] {
        let mut bad = sk.clone();
        bad[at] |= 7;
        assert_eq!(
            ExpandedKey::<P>::new(&bad).err(),
            Some(KeyError::SecretRange)
        );
    }
    for at in [0, 64, 127, P::SK_LEN - 1] {
        let mut bad = sk.clone();
        bad[at] ^= 1;
        assert!(ExpandedKey::<P>::new(&bad).is_ok());
        assert_eq!(
            ExpandedKey::<P>::checked(&bad).err(),
            Some(KeyError::Inconsistent)
        );
    }
    let mut buffer = [7; P::SIG_LEN + 1];
    assert_eq!(
        Output::<P>::in_place(&mut buffer).err(),
        Some(SignError::BufferLength)
    );
    assert_eq!(buffer, [7; P::SIG_LEN + 1]);
}

#[test]
fn an_output_that_no_signature_reached_is_wiped() {
    let mut buffer = [7; P::SIG_LEN];
    drop(Output::<P>::in_place(&mut buffer));
    assert_eq!(buffer, [0; P::SIG_LEN]);
}

/// Stops at every report in turn; each time the buffer is wiped, and signing
/// again gives the signature.
#[test]
fn stopping_anywhere_wipes() {
    let (_, sk) = keys();
    let key = ExpandedKey::<P>::new(&sk).expect("a key");
    let mut workspace = Workspace::<P, KeepW0>::new();
    let reports = Cell::new(0);
    let mut count = |_| {
        reports.set(reports.get() + 1);
        ControlFlow::Continue(())
    };
    let mut buffer = [0; P::SIG_LEN];
    Signer::new(&key, &mut workspace)
        .watched(&mut count)
        .sign_mu(
            &mu(),
            Randomness::Deterministic,
            Output::in_place(&mut buffer).expect("length"),
        )
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
        let out = Output::in_place(&mut buffer).expect("length");
        let stopped = Signer::new(&key, &mut workspace)
            .watched(&mut stop)
            .sign_mu(&mu(), Randomness::Deterministic, out);
        assert_eq!(stopped.err(), Some(SignError::Stopped));
        assert_eq!(buffer, [0; P::SIG_LEN]);
    }
}

#[test]
fn a_panic_of_the_watch_wipes() {
    let (_, sk) = keys();
    let mut buffer = [7; P::SIG_LEN];
    let unwound = std::panic::catch_unwind(core::panic::AssertUnwindSafe(|| {
        let key = ExpandedKey::<P>::new(&sk).expect("a key");
        let mut workspace = Workspace::<P, Floor>::new();
        let mut rows = 0;
        let mut watch = |_| {
            rows += 1;
            assert!(rows < 4, "on purpose");
            ControlFlow::Continue(())
        };
        let out = Output::in_place(&mut buffer).expect("length");
        let _ = Signer::new(&key, &mut workspace)
            .watched(&mut watch)
            .sign_mu(&mu(), Randomness::Deterministic, out);
    }));
    assert!(unwound.is_err());
    assert_eq!(buffer, [0; P::SIG_LEN]);
}

/// Signs with the default checks, which have to refuse and to wipe, and without
/// self-verification, which has to release.
fn assert_only_self_verification_refuses<K: PrivateKey<P>>(key: &K, damage: &str) {
    let mut workspace = Workspace::<P, Floor>::new();
    let mut buffer = [7; P::SIG_LEN];
    let out = Output::in_place(&mut buffer).expect("length");
    let signed = Signer::new(key, &mut workspace).sign(
        b"message",
        Context::EMPTY,
        Randomness::Deterministic,
        out,
    );
    assert_eq!(signed.err(), Some(SignError::SelfVerification), "{damage}");
    assert_eq!(buffer, [0; P::SIG_LEN], "{damage}");
    let out = Output::in_place(&mut buffer).expect("length");
    let unchecked = Signer::new(key, &mut workspace)
        .self_verification(false)
        .sign(b"message", Context::EMPTY, Randomness::Deterministic, out);
    assert!(unchecked.is_ok(), "{damage}");
}

/// Damaged parts of an expanded key, with the public key at hand and without. K is
/// not covered, and most damage to s2 changes neither t1 nor a high bit of w, so that
/// the signature is valid.
#[test]
fn self_verification_refuses_damaged_expanded_keys() {
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
        let key = ExpandedKey::<P>::new(&bad).expect("in range");
        assert_only_self_verification_refuses(&key, damage);
        let key = key.with_public_key(&pk).expect("length");
        assert_only_self_verification_refuses(&key, damage);
    }
}

#[test]
fn self_verification_refuses_a_wrong_tr_of_a_seed() {
    let tr = *OpenedKey::<P>::from_seed(&XI).tr();
    for bit in [0, 200, 511] {
        let mut wrong = tr;
        wrong[bit / 8] ^= 1 << (bit % 8);
        let key = OpenedKey::<P>::from_seed_and_tr(&XI, &wrong);
        assert_only_self_verification_refuses(&key, "tr");
    }
}

/// The public key of another private key.
#[test]
fn self_verification_refuses_the_wrong_public_key() {
    let (mut pk, mut other) = ([0; P::PK_LEN], [0; P::SK_LEN]);
    keygen_from_seed::<P>(&[10; 32], &mut pk, &mut other);
    let (_, sk) = keys();
    let key = ExpandedKey::<P>::new(&sk).expect("a key");
    let key = key.with_public_key(&pk).expect("length");
    assert_only_self_verification_refuses(&key, "public key");
}

#[test]
fn a_sink_that_fails_ends_with_its_error_and_a_retry_gives_the_same_signature() {
    struct Line {
        fail: bool,
        bytes: Vec<u8>,
    }
    impl Sink for Line {
        type Error = &'static str;
        fn write(&mut self, offset: usize, bytes: &[u8]) -> Result<(), Self::Error> {
            assert_eq!(offset, self.bytes.len());
            if self.fail {
                return Err("line down");
            }
            self.bytes.extend_from_slice(bytes);
            Ok(())
        }
    }
    let key = OpenedKey::<P>::from_seed(&XI);
    let mut workspace = Workspace::<P, Balanced>::new();
    let mut own = OwnOutput::<P>::new();
    let mut signer = Signer::new(&key, &mut workspace);
    let hedge = Randomness::Hedged(&[8; 32]);
    let expected = signer
        .sign_mu(&mu(), hedge, own.output())
        .expect("a signature")
        .to_vec();
    let mut line = Line {
        fail: true,
        bytes: Vec::new(),
    };
    assert_eq!(
        signer.sign_mu_to(&mu(), hedge, &mut own, &mut line),
        Err(SinkError::Sink("line down"))
    );
    line.fail = false;
    assert_eq!(signer.sign_mu_to(&mu(), hedge, &mut own, &mut line), Ok(()));
    assert_eq!(line.bytes, expected);
    // Key generation stops at a sink's first error.
    line.fail = true;
    line.bytes.clear();
    assert_eq!(
        keygen_to::<P, _>(&XI, &mut line, None).err(),
        Some("line down")
    );
}

/// Debug output shows nothing of a key.
#[test]
fn debug_output_holds_no_secret() {
    let (_, sk) = keys();
    let key = ExpandedKey::<P>::new(&sk).expect("a key");
    assert_eq!(format!("{key:?}"), "ExpandedKey(ML-DSA-44, ..)");
    let key = OpenedKey::<P>::from_seed(&XI);
    assert_eq!(format!("{key:?}"), "OpenedKey(ML-DSA-44, ..)");
    assert_eq!(core::mem::size_of_val(&key), 192);
}
