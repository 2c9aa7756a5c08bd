//! Programs that move to this library from crates in C: each written with that crate and then
//! with this one. Both forms compile, read the same keys, and accept each other's signatures.

mod from_aws_lc_rs;
mod from_pqcrypto_mldsa;

/// What an application asks of its signature crate; keys are stored as bytes.
struct Application {
    /// Makes a key: the private and the public one.
    generate: fn() -> (Vec<u8>, Vec<u8>),
    /// Signs a message; `None` if the private key is malformed.
    sign: fn(private: &[u8], message: &[u8]) -> Option<Vec<u8>>,
    /// Tells whether a signature of a message is valid.
    verify: fn(public: &[u8], message: &[u8], signature: &[u8]) -> bool,
}

/// Runs both forms on the keys and signatures of both.
fn compare(before: &Application, after: &Application) {
    let mut valid = 0;
    for maker in [before, after] {
        let (private, public) = (maker.generate)();
        for signer in [before, after] {
            let signature = (signer.sign)(&private, b"message").expect("a key of either form");
            let hedged = (signer.sign)(&private, b"message").expect("a key of either form");
            assert_ne!(signature, hedged);
            let mut damaged = signature.clone();
            damaged[40] ^= 1;
            for verifier in [before, after] {
                assert!((verifier.verify)(&public, b"message", &signature));
                assert!(!(verifier.verify)(&public, b"other", &signature));
                assert!(!(verifier.verify)(&public, b"message", &damaged));
                assert!(!(verifier.verify)(&public, b"message", &signature[1..]));
                assert!(!(verifier.verify)(&public[1..], b"message", &signature));
                valid += 1;
            }
        }
        assert_eq!((before.sign)(&private[1..], b"message"), None);
        assert_eq!((after.sign)(&private[1..], b"message"), None);
    }
    assert_eq!(valid, 8);
}
