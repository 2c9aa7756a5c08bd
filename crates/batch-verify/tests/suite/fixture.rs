//! Keys, committees, votes and waiting, shared by the suites.

use core::time::Duration;
use std::sync::{LazyLock, mpsc};
use std::thread;

use batch_verify::{
    Committee, MemberId, Mode, RejectReason, Report, ServiceError, Source, Threads,
    VerificationService, Vote,
};
use mldsa_core::{Context, MlDsa44, ParameterSet, Randomness, SigningKey};

/// Verdict on one item.
pub(crate) type Verdict = Result<(), RejectReason>;

/// A vote that owns its bytes.
#[derive(Clone)]
pub(crate) struct OwnedVote {
    pub(crate) member: MemberId,
    pub(crate) message: Vec<u8>,
    pub(crate) signature: Vec<u8>,
}

impl OwnedVote {
    pub(crate) fn new(member: MemberId, message: &[u8], signature: impl Into<Vec<u8>>) -> Self {
        Self {
            member,
            message: message.to_vec(),
            signature: signature.into(),
        }
    }

    pub(crate) fn as_vote(&self) -> Vote<'_> {
        Vote::new(self.member, &self.message, &self.signature)
    }
}

pub(crate) const CONTEXT: &[u8] = b"test/v1";
pub(crate) const MEMBERS: usize = 6;

pub(crate) static KEYS: LazyLock<Vec<SigningKey<MlDsa44>>> = LazyLock::new(|| keys(16));

pub(crate) fn keys<P: ParameterSet>(count: u8) -> Vec<SigningKey<P>> {
    (0..count)
        .map(|n| SigningKey::from_seed(&[n; 32]))
        .collect()
}

pub(crate) fn public<P: ParameterSet>(key: &SigningKey<P>) -> &[u8] {
    key.verifying_key().as_bytes().as_ref()
}

pub(crate) fn context() -> Context<'static> {
    Context::new(CONTEXT).unwrap()
}

pub(crate) fn sign<P: ParameterSet>(key: &SigningKey<P>, message: &[u8]) -> Vec<u8> {
    let signature = key.sign_with_context(message, context(), Randomness::Deterministic);
    signature.unwrap().as_ref().to_vec()
}

/// A committee with equal weights, in epoch 1.
pub(crate) fn committee<P: ParameterSet>(keys: &[SigningKey<P>]) -> Committee<P> {
    let builder = Committee::builder(CONTEXT)
        .epoch(1)
        .threads(Threads::Inline);
    builder
        .build(keys.iter().map(|key| (public(key), 1)))
        .unwrap()
}

/// The first [`MEMBERS`] keys.
pub(crate) static COMMITTEE: LazyLock<Committee<MlDsa44>> =
    LazyLock::new(|| committee(&KEYS[..MEMBERS]));

pub(crate) fn member(n: usize) -> MemberId {
    COMMITTEE.member(n as u32).unwrap()
}

/// Vote n is by member n % 6, on message n; every seventh is forged.
pub(crate) static VOTES: LazyLock<Vec<OwnedVote>> = LazyLock::new(|| {
    (0..60_usize)
        .map(|n| {
            let message = n.to_le_bytes();
            let mut signature = sign(&KEYS[n % MEMBERS], &message);
            signature[3] ^= u8::from(is_forged(n));
            OwnedVote::new(member(n % MEMBERS), &message, signature)
        })
        .collect()
});

pub(crate) fn is_forged(n: usize) -> bool {
    n % 7 == 3
}

pub(crate) fn expected(n: usize) -> Result<(), RejectReason> {
    match is_forged(n) {
        true => Err(RejectReason::ChallengeMismatch),
        false => Ok(()),
    }
}

/// Checks a report against the verdicts that the items have alone.
pub(crate) fn assert_report(mode: Mode, report: &Report, alone: &[Verdict]) {
    let skipped = Err(RejectReason::NotVerified);
    let verdicts = report.verdicts();
    assert_eq!(verdicts.len(), alone.len());
    let lowest = alone.iter().position(|verdict| verdict.is_err());
    if mode == Mode::AnyInvalid {
        for (verdict, alone) in verdicts.iter().zip(alone) {
            assert!(verdict == alone || *verdict == skipped);
        }
        assert_eq!(report.first_rejected().is_some(), lowest.is_some());
        assert!(lowest.is_some() || report.skipped() == 0);
    } else {
        let end = match (mode, lowest) {
            (Mode::FirstInvalid, Some(lowest)) => lowest + 1,
            _ => alone.len(),
        };
        assert_eq!(verdicts[..end], alone[..end], "{mode:?}");
        assert!(verdicts[end..].iter().all(|verdict| *verdict == skipped));
        assert_eq!(report.first_rejected().map(|(index, _)| index), lowest);
        let all = match lowest {
            Some(lowest) => alone[lowest],
            None if alone.is_empty() => skipped,
            None => Ok(()),
        };
        assert_eq!(report.require_all(), all);
    }
    assert_eq!(report.all_valid(), lowest.is_none() && !alone.is_empty());
    assert_eq!(report.require_all().is_ok(), report.all_valid());
    let counted = report.valid_items() + report.rejected().count() + report.skipped();
    assert_eq!(counted, alone.len());
}

/// Answer of a service to vote n.
pub(crate) fn answer(n: usize) -> Result<(), ServiceError> {
    expected(n).map_err(ServiceError::Rejected)
}

/// A vote whose signature is well-formed and does not verify.
pub(crate) fn forgery(member: MemberId, message: &[u8]) -> OwnedVote {
    static SIGNATURE: LazyLock<Vec<u8>> = LazyLock::new(|| sign(&KEYS[0], b"something else"));
    let mut signature = SIGNATURE.clone();
    // Different in the tag by which duplicates are found.
    for (byte, message) in signature.iter_mut().zip(message) {
        *byte ^= message;
    }
    OwnedVote::new(member, message, signature)
}

pub(crate) fn from_peer(peer: u64) -> Source {
    Source::peer(peer)
}

pub(crate) fn own() -> Source {
    Source::own()
}

/// A vote of a quorum.
pub(crate) fn attestation(member: MemberId, signature: &[u8]) -> (MemberId, &[u8]) {
    (member, signature)
}

/// A quorum's votes of the members at `indices`.
pub(crate) fn attestations(
    indices: impl IntoIterator<Item = usize>,
    signatures: &[Vec<u8>],
) -> Vec<(MemberId, &[u8])> {
    let vote = |n: usize| attestation(member(n), &signatures[n]);
    indices.into_iter().map(vote).collect()
}

/// A worker of a service that the test starts when it wants.
pub(crate) struct Worker(Box<dyn FnOnce() + Send>);

impl Worker {
    /// Runs the worker on a thread of its own.
    pub(crate) fn start(self) -> thread::JoinHandle<()> {
        thread::spawn(self.0)
    }
}

/// A service with one worker that has not started, so that what is submitted stays queued.
pub(crate) fn held(
    options: impl FnOnce(batch_verify::ServiceBuilder<MlDsa44>) -> batch_verify::ServiceBuilder<MlDsa44>,
) -> (VerificationService<MlDsa44>, Worker) {
    let (send, receive) = mpsc::channel();
    let builder = VerificationService::builder(COMMITTEE.clone()).threads(1);
    let builder = builder.spawn(move |work| send.send(work).unwrap());
    let service = options(builder).build().unwrap();
    (service, Worker(receive.recv().unwrap()))
}

/// A service with default options but one thread.
pub(crate) fn service() -> VerificationService<MlDsa44> {
    let builder = VerificationService::builder(COMMITTEE.clone());
    builder.threads(1).build().unwrap()
}

/// Limit after which a test counts as hung: 600 s, or `MLDSA_TEST_HANG_SECONDS`.
pub(crate) fn hang_limit() -> Duration {
    let seconds = std::env::var("MLDSA_TEST_HANG_SECONDS").ok();
    Duration::from_secs(seconds.map_or(600, |seconds| seconds.parse().expect("a number")))
}

/// Runs `act` on a thread of its own and fails if it does not return.
pub(crate) fn returns<T: Send + 'static>(act: impl FnOnce() -> T + Send + 'static) -> T {
    let (send, receive) = mpsc::channel();
    thread::spawn(move || send.send(act()));
    receive
        .recv_timeout(hang_limit())
        .expect("it hangs or has panicked")
}

/// Waits for a future on this thread.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    use core::pin::pin;
    use core::task::{Context, Poll, Waker};
    use std::sync::Arc;
    use std::task::Wake;

    struct Unpark(thread::Thread);

    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }

    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}
