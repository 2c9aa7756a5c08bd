//! Typed errors. All are `Copy`, carry no data and never hold secrets.

use core::fmt;

macro_rules! errors {
    ($($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident => $text:literal,)+ })+) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$vdoc])* $variant,)+
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self { $(Self::$variant => $text,)+ })
            }
        }

        impl core::error::Error for $name {}

        impl $name {
            /// Every variant: interfaces for other languages test that each has a counterpart.
            #[doc(hidden)]
            pub const ALL: &[Self] = &[$(Self::$variant,)+];
        }
    )+};
}

errors! {
    /// Reason for the rejection of a signature. For logs only: a decision may depend only
    /// on whether verification succeeded. The variants are in the order of the checks; a
    /// signature with several faults reports the first.
    VerifyError {
        /// The signature does not have exactly `SIG_LEN` bytes.
        SignatureLength => "signature has the wrong length",
        /// The hint section is not the unique encoding (algorithm 21).
        HintEncoding => "hint section is malformed",
        /// A coefficient of z is at least gamma1 - beta.
        ResponseNorm => "response z is out of range",
        /// The recomputed commitment hash differs from `c_tilde`.
        ChallengeMismatch => "signature is for another message, context or key, or is damaged",
    }

    /// Reason why signing failed. No part of a signature is released with an error: the
    /// output buffer is untouched, or wiped if a part of it was written.
    SignError {
        /// The output buffer does not have exactly `SIG_LEN` bytes.
        BufferLength => "output buffer has the wrong length",
        /// The random number generator failed.
        Rng => "random number generator failed",
        /// The random number generator returned 32 zero bytes: it does not work.
        ZeroRandomness => "random number generator returned zeros",
        /// None of 821 attempts was accepted: almost certainly a fault.
        AttemptsExhausted => "no signature within the attempt limit",
        /// The key, the mask or the finished signature did not pass self-verification: a fault was
        /// injected or the memory is damaged.
        SelfVerification => "finished signature failed its own verification",
        /// The encoded private key was rejected.
        Key => "private key is malformed",
    }

    /// Reason why a key was rejected or could not be generated.
    KeyError {
        /// Not exactly the length of this encoding in this parameter set.
        Length => "key has the wrong length for its parameter set",
        /// A coefficient of s1 or s2 is outside [-eta, eta].
        SecretRange => "secret coefficient out of range",
        /// t0 or `tr` differ from what s1, s2 and `rho` give.
        Inconsistent => "private key parts do not belong together",
        /// All bytes of K are equal: signatures would reveal the key.
        ConstantK => "all bytes of K are equal",
        /// A private key in place of a public key.
        Private => "private key in place of a public key",
        /// No parameter set has this name or object identifier.
        UnknownSet => "not a parameter set of ML-DSA",
        /// The key is of another parameter set than the wanted one.
        OtherSet => "key of another parameter set",
        /// The bytes are not the DER of a SubjectPublicKeyInfo, or of a PKCS#8 private key.
        Structure => "malformed structure of a key file",
        /// The version of a PKCS#8 private key does not fit: only version 1 has a public key.
        Version => "PKCS#8 of version 0 with a public key, or of version 1 without one",
        /// The attributes of a PKCS#8 private key are no set of attributes in DER.
        Attributes => "malformed attributes of PKCS#8",
        /// A PKCS#8 private key is in none of the three forms of RFC 9881.
        Form => "private key in none of the three forms of RFC 9881",
        /// The algorithm identifier has parameters, which RFC 9881 forbids.
        AlgorithmParameters => "algorithm identifier with parameters",
        /// The random number generator reported an error.
        Rng => "random number generator failed",
        /// The random number generator returned 32 zero bytes for a seed: it does not work.
        ZeroSeed => "random number generator returned zeros",
    }

    /// Reason for the rejection of a context string, or of a digest for HashML-DSA.
    MessageError {
        /// The context string has more than 255 bytes.
        ContextLength => "context longer than 255 bytes",
        /// The digest does not have the output length of the named hash.
        DigestLength => "digest has the wrong length for its hash",
        /// The hash is weaker than the parameter set.
        WeakPreHash => "hash is weaker than the parameter set",
        /// No hash has the name.
        UnknownHash => "unknown hash",
    }

    /// The part of [`self_test`](crate::self_test()) that failed.
    SelfTestError {
        /// A key differs from the known answer.
        KeyGeneration => "self-test of key generation failed",
        /// A signature differs from the known answer.
        Signing => "self-test of signing failed",
        /// A good signature was rejected or a damaged one accepted.
        Verification => "self-test of verification failed",
    }
}

/// Reason why text is not a key or a signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ParseError<E> {
    /// A character that is not a hexadecimal digit.
    Digit,
    /// The bytes are rejected.
    Rejected(E),
}

impl<E: fmt::Display> fmt::Display for ParseError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Digit => f.write_str("not hexadecimal digits"),
            Self::Rejected(error) => error.fmt(f),
        }
    }
}

impl<E: fmt::Debug + fmt::Display> core::error::Error for ParseError<E> {}
