//! One operation of one implementation.

use core::{fmt, hint::black_box};

/// A timed operation. Names follow the scorecard's JSON rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Op {
    /// A key pair from a 32-byte seed.
    Keygen,
    /// Many key pairs a call, each from its own seed.
    KeygenBatch,
    /// Sign with a loaded private key that holds no expanded matrix.
    Sign,
    /// Sign with a private key that holds the expanded matrix.
    SignPrepared,
    /// Many messages a call, under several keys of that kind.
    SignBatch,
    /// Verify from the encoded public key: nothing cached.
    VerifyCold,
    /// Verify with a public key that holds the expanded matrix or a part of it.
    VerifyPrepared,
    /// Eight signatures a call, of distinct keys, all prepared.
    MultiVerifyPrepared,
    /// Eight signatures a call, from encoded public keys.
    MultiVerifyCold,
}

impl Op {
    /// The name in tables and JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Keygen => "keygen",
            Self::KeygenBatch => "keygen_batch",
            Self::Sign => "sign",
            Self::SignPrepared => "sign_prepared",
            Self::SignBatch => "sign_batch",
            Self::VerifyCold => "verify_cold",
            Self::VerifyPrepared => "verify_prepared",
            Self::MultiVerifyPrepared => "multi_verify_prepared",
            Self::MultiVerifyCold => "multi_verify_cold",
        }
    }

    /// The operation of a peer that this one is compared with: what a user
    /// without the shortcut has to call.
    #[must_use]
    pub const fn reference(self) -> Self {
        match self {
            Self::Keygen | Self::KeygenBatch => Self::Keygen,
            Self::Sign | Self::SignPrepared | Self::SignBatch => Self::Sign,
            Self::VerifyCold
            | Self::VerifyPrepared
            | Self::MultiVerifyPrepared
            | Self::MultiVerifyCold => Self::VerifyCold,
        }
    }

    /// Whether the work on the key is done beforehand.
    #[must_use]
    pub const fn prepared(self) -> bool {
        matches!(
            self,
            Self::SignPrepared | Self::SignBatch | Self::VerifyPrepared | Self::MultiVerifyPrepared
        )
    }

    /// What one figure stands for.
    #[must_use]
    pub const fn per(self) -> &'static str {
        match self {
            Self::Keygen | Self::KeygenBatch => "operation",
            _ => "signature",
        }
    }
}

/// A part of the scorecard that can be run alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Part {
    /// Key generation.
    Keygen,
    /// Signing.
    Sign,
    /// Verification.
    Verify,
    /// Verification of eight signatures together, and the peers' of one.
    Batch,
    /// Whole batches on one thread and on all.
    Rounds,
}

impl Part {
    /// The parts that make up the whole, in table order.
    pub const ALL: [Self; 4] = [Self::Keygen, Self::Sign, Self::Verify, Self::Rounds];

    /// Whether the operation belongs to this part.
    #[must_use]
    pub const fn contains(self, op: Op) -> bool {
        match self {
            Self::Keygen => matches!(op.reference(), Op::Keygen),
            Self::Sign => matches!(op.reference(), Op::Sign),
            Self::Verify => matches!(op.reference(), Op::VerifyCold),
            Self::Batch => matches!(
                op,
                Op::VerifyCold | Op::MultiVerifyPrepared | Op::MultiVerifyCold
            ),
            // Not a matter of single operations.
            Self::Rounds => false,
        }
    }
}

/// One operation of one implementation, ready to be called.
pub struct Contender {
    /// The operation.
    pub op: Op,
    /// The implementation: `ours` or a crate name.
    pub peer: &'static str,
    /// The backend of ours; `default` for a peer, which chooses its own.
    pub backend: &'static str,
    /// Operations done by one call.
    pub width: usize,
    /// Whether a signer makes the deterministic signature, and so needs the same
    /// attempts as all others that do.
    pub deterministic: bool,
    call: Box<dyn FnMut(usize)>,
}

impl Contender {
    /// A contender that does one operation a call: `call(i)` works on case `i`,
    /// and panics if a signature is refused. The result is dropped, and wiped if
    /// its type does so, on the clock.
    pub fn new<R>(op: Op, peer: &'static str, mut call: impl FnMut(usize) -> R + 'static) -> Self {
        let call = Box::new(move |i| drop(black_box(call(i))));
        Self {
            op,
            peer,
            backend: "default",
            width: 1,
            deterministic: true,
            call,
        }
    }

    /// The same, naming the backend.
    #[must_use]
    pub fn backend(self, backend: &'static str) -> Self {
        Self { backend, ..self }
    }

    /// The same, of a call that works on the cases `i..i + width`.
    #[must_use]
    pub fn width(self, width: usize) -> Self {
        Self { width, ..self }
    }

    /// The same, of a signer that cannot do without fresh randomness.
    #[must_use]
    pub fn hedged(self) -> Self {
        Self {
            deterministic: false,
            ..self
        }
    }

    /// Who it is, with the backend or tier if it has several.
    #[must_use]
    pub fn title(&self) -> String {
        match (self.peer, self.backend) {
            ("ours", backend) => format!("mldsa-core {backend}"),
            (peer, "default") => peer.into(),
            (peer, tier) => format!("{peer} {tier}"),
        }
    }

    /// Runs the operation on case `i`.
    #[inline]
    pub fn call(&mut self, i: usize) {
        (self.call)(i);
    }
}

impl fmt::Debug for Contender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}/{}", self.op.name(), self.peer, self.backend)
    }
}
