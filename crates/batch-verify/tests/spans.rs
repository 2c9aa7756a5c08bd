//! Spans of the service. The test has a process of its own: where another thread meets the place of a
//! span while a subscriber is set, `tracing` can leave this place disabled.

#![cfg(not(target_family = "wasm"))]
#![allow(clippy::unwrap_used, reason = "a test")]

use std::fmt;
use std::sync::{Arc, Mutex, mpsc};
use std::thread;

use batch_verify::{Committee, QuorumRule, Source, VerificationService, Vote};
use mldsa_core::{Context, MlDsa44, Randomness, SigningKey};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// Writes names and fields of spans.
#[derive(Clone, Default)]
struct Spans(Arc<Mutex<Vec<String>>>);

impl Subscriber for Spans {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("batch_verify")
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut text = span.metadata().name().to_owned();
        span.record(&mut Fields(&mut text));
        self.0.lock().unwrap().push(text);
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, _: &Event<'_>) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

struct Fields<'a>(&'a mut String);

impl Visit for Fields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.push_str(&format!(" {field}={value:?}"));
    }
}

impl Spans {
    /// Those that `act` has written on this thread.
    fn of(act: impl FnOnce()) -> Vec<String> {
        let spans = Self::default();
        tracing::subscriber::with_default(spans.clone(), act);
        spans.0.lock().unwrap().clone()
    }
}

#[test]
fn spans_of_batches_quorums_and_epochs() {
    let context = Context::new(b"spans").unwrap();
    let key = SigningKey::<MlDsa44>::from_seed(&[1; 32]);
    let committee = Committee::<MlDsa44>::builder(context);
    let committee = committee.build([(key.verifying_key(), 1)]).unwrap();
    let member = committee.member(0).unwrap();
    let messages = [[0], [1], [2], [3], [4]];
    let sign = |message| key.sign_with_context(message, context, Randomness::Deterministic);
    let signatures = messages.each_ref().map(|message| sign(message).unwrap());
    let votes: Vec<_> = (messages.iter().zip(&signatures))
        .map(|(message, signature)| Vote::new(member, message, signature.as_ref()))
        .collect();
    // A worker that has not started: what is submitted stays queued.
    let (send, receive) = mpsc::channel();
    let builder = VerificationService::builder(committee.clone()).threads(1);
    let builder = builder.spawn(move |work| send.send(work).unwrap());
    let service = builder.build().unwrap();
    let worker = receive.recv().unwrap();
    let called = Spans::of(|| {
        for vote in &votes[..2] {
            service.submit(Source::own(), vote).unwrap().detach();
        }
        let report = service.verify_batch(votes[2..].iter().copied());
        assert_eq!(report.verdicts().len(), 3);
        let quorum = service.verify_quorum(&committee, b"block", &[], QuorumRule::AnyValid);
        assert!(quorum.is_err());
        let next = committee.successor(9, None::<(&[u8], u64)>).unwrap();
        service.set_committee(next).unwrap();
    });
    let spans = [
        "verify_batch votes=3",
        "verify_quorum votes=0",
        "set_committee epoch=9",
    ];
    assert_eq!(called, spans);
    let drain = service.drain();
    let thread = thread::spawn(|| Spans::of(worker));
    drain.wait();
    service.shutdown();
    assert_eq!(thread.join().unwrap(), ["batch votes=2"]);
}
