//! One operation of one implementation.

use core::{cell::RefCell, fmt, hint::black_box, ops::Range};
use std::rc::Rc;

use crate::{
    Inputs, Samples, ThreadTime,
    external::Program,
    inputs::{Case, Key},
    now,
};

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
    /// Operations on one key or one signature a call, in table order.
    pub const SINGLE: [Self; 5] = [
        Self::Keygen,
        Self::Sign,
        Self::SignPrepared,
        Self::VerifyCold,
        Self::VerifyPrepared,
    ];

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

    /// Operation of another implementation that ratios compare with: the call of a
    /// user who does not have this one.
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

    /// Unit of work of one figure.
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
}

impl Part {
    /// The parts that make up the whole, in table order.
    pub const ALL: [Self; 3] = [Self::Keygen, Self::Sign, Self::Verify];

    /// Whether the operation belongs to this part.
    #[must_use]
    pub const fn contains(self, op: Op) -> bool {
        match self {
            Self::Keygen => matches!(op.reference(), Op::Keygen),
            Self::Sign => matches!(op.reference(), Op::Sign),
            Self::Verify => matches!(op.reference(), Op::VerifyCold),
        }
    }
}

/// One operation of one implementation on shared inputs.
pub struct Contender {
    /// The operation.
    pub op: Op,
    /// Name of the implementation: `ours` or a crate.
    pub peer: &'static str,
    /// Backend of `mldsa-core` or tier of `mldsa-lowmem`; `default` for all others.
    pub backend: &'static str,
    /// Operations in one call.
    pub width: usize,
    /// Whether a signer is deterministic, so that it needs the same attempts as the others that are.
    pub deterministic: bool,
    call: Call,
}

/// Execution of an operation.
enum Call {
    /// Works on a case.
    Here(Box<dyn FnMut(usize)>),
    /// In another process.
    Program(Rc<RefCell<Program>>),
}

impl Contender {
    /// A contender that does one operation a call: `call(i)` works on case `i` and panics if a
    /// signature is rejected. The result is dropped within the timed call, and so are its secrets
    /// zeroized.
    pub fn new<R>(op: Op, peer: &'static str, mut call: impl FnMut(usize) -> R + 'static) -> Self {
        let call = Box::new(move |i| drop(black_box(call(i))));
        Self::with_call(op, peer, "default", Call::Here(call))
    }

    /// A contender in a process of its own.
    pub(crate) fn external(
        op: Op,
        peer: &'static str,
        backend: &'static str,
        program: Rc<RefCell<Program>>,
    ) -> Self {
        Self::with_call(op, peer, backend, Call::Program(program))
    }

    fn with_call(op: Op, peer: &'static str, backend: &'static str, call: Call) -> Self {
        Self {
            op,
            peer,
            backend,
            width: 1,
            deterministic: true,
            call,
        }
    }

    /// A key generator. `public` reads the encoded public key for a comparison before the first
    /// timed call.
    pub(crate) fn keygen<K, B: AsRef<[u8]>>(
        peer: &'static str,
        inputs: &Rc<Inputs>,
        keygen: impl Fn(&[u8; 32]) -> K + 'static,
        public: impl FnOnce(&K) -> B,
    ) -> Self {
        let first = &inputs.keys[0];
        let key = keygen(&first.seed);
        assert_eq!(public(&key).as_ref(), first.public, "{peer} keygen");
        let inputs = Rc::clone(inputs);
        Self::new(Op::Keygen, peer, move |i| keygen(&inputs.key(i).seed))
    }

    /// A signer of single messages. Its first signature must equal that of the inputs, or be valid if
    /// `sign` is not deterministic.
    pub(crate) fn signer<S: AsRef<[u8]>>(
        op: Op,
        peer: &'static str,
        deterministic: bool,
        inputs: &Rc<Inputs>,
        mut sign: impl FnMut(&Key, &Case) -> S + 'static,
    ) -> Self {
        let (key, case) = inputs.case(0);
        let first = sign(key, case);
        inputs.assert_signs(peer, first.as_ref());
        assert!(
            !deterministic || first.as_ref() == case.signature,
            "{peer} signing"
        );
        let inputs = Rc::clone(inputs);
        let call = move |i| {
            let (key, case) = inputs.case(i);
            sign(key, case)
        };
        Self {
            deterministic,
            ..Self::new(op, peer, call)
        }
    }

    /// A verifier of single signatures.
    pub(crate) fn verifier(
        op: Op,
        peer: &'static str,
        inputs: &Rc<Inputs>,
        verify: impl Fn(&Key, &Case) -> bool + 'static,
    ) -> Self {
        let inputs = Rc::clone(inputs);
        Self::new(op, peer, move |i| {
            let (key, case) = inputs.case(i);
            assert!(verify(key, case), "{peer}: a valid signature");
        })
    }

    /// Sets the backend or tier.
    #[must_use]
    pub fn backend(self, backend: &'static str) -> Self {
        Self { backend, ..self }
    }

    /// Sets the number of operations in a call, which works on the cases `i..i + width`.
    #[must_use]
    pub fn width(self, width: usize) -> Self {
        Self { width, ..self }
    }

    /// Name of the implementation in tables, with the backend or tier if there are several.
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
        match &mut self.call {
            Call::Here(call) => call(i),
            Call::Program(program) => {
                let mut unused = Samples::default();
                program.borrow_mut().turn(self.op, i..i + 1, &mut unused);
            }
        }
    }

    /// One untimed call on another case, then one timed call for every case.
    pub(crate) fn turn(&mut self, cases: Range<usize>, samples: &mut Samples) {
        let call = match &mut self.call {
            Call::Here(call) => call,
            Call::Program(program) => {
                return program.borrow_mut().turn(self.op, cases, samples);
            }
        };
        call(cases.end);
        let processor = ThreadTime::now();
        let times = cases.step_by(self.width).map(|i| {
            let begin = now();
            call(i);
            (now() - begin) / self.width as u64
        });
        let times: Vec<_> = times.collect();
        samples.add(times, self.width, processor.elapsed());
    }
}

impl fmt::Debug for Contender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}/{}", self.op.name(), self.peer, self.backend)
    }
}
