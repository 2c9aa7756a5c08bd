//! Programs that move to this library: each written with another crate and then with this one.
//! Both forms compile, and give the same keys, signatures and verdicts.

mod from_fips204;
mod from_ml_dsa;
mod generic;

/// Signs a message under a context with the key of a seed.
type Sign = fn(seed: &[u8; 32], message: &[u8], context: &[u8]) -> Option<Vec<u8>>;

/// Tells whether a signature of a message under a context is valid.
type Verify = fn(public_key: &[u8], message: &[u8], context: &[u8], signature: &[u8]) -> bool;

/// What an application asks of its signature crate.
struct Application {
    public_key: fn(seed: &[u8; 32]) -> Vec<u8>,
    sign: Sign,
    verify: Verify,
}

/// Runs both forms on the same inputs.
fn compare(before: &Application, after: &Application) {
    for seed in [[0; 32], [7; 32], core::array::from_fn(|n| n as u8)] {
        let key = (after.public_key)(&seed);
        assert_eq!((before.public_key)(&seed), key);
        for context in [&b""[..], b"example/v1", &[1; 255], &[1; 256]] {
            let signature = (after.sign)(&seed, b"message", context);
            assert_eq!((before.sign)(&seed, b"message", context), signature);
            assert_eq!(signature.is_some(), context.len() < 256);
            let mut signature = signature.unwrap_or_else(|| vec![0; 3309]);
            for (change, message) in [(0, "message"), (0, "other"), (1, "message")] {
                signature[40] ^= change;
                let [theirs, ours] = [before, after]
                    .map(|form| (form.verify)(&key, message.as_bytes(), context, &signature));
                assert_eq!(theirs, ours);
                let valid = change == 0 && message == "message" && context.len() < 256;
                assert_eq!(ours, valid);
            }
            assert!(!(after.verify)(&key, b"message", context, &signature[1..]));
            assert!(!(after.verify)(&key[1..], b"message", context, &signature));
        }
    }
}
