//! Spans of the service.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::thread;

use batch_verify::QuorumRule;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use crate::fixture::{COMMITTEE, OwnedVote, VOTES, held, own};

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
    let (service, worker) = held(|builder| builder);
    let called = Spans::of(|| {
        for vote in &VOTES[..2] {
            service.submit(own(), &vote.as_vote()).unwrap().detach();
        }
        let report = service.verify_batch(VOTES[2..5].iter().map(OwnedVote::as_vote));
        assert_eq!(report.verdicts().len(), 3);
        let quorum = service.verify_quorum(&COMMITTEE, b"block", &[], QuorumRule::AnyValid);
        assert!(quorum.is_err());
        let next = COMMITTEE.successor(9, None::<(&[u8], u64)>).unwrap();
        service.set_committee(next).unwrap();
    });
    let spans = [
        "verify_batch votes=3",
        "verify_quorum votes=0",
        "set_committee epoch=9",
    ];
    assert_eq!(called, spans);
    let drain = service.drain();
    let thread = thread::spawn(|| Spans::of(|| worker.run()));
    drain.wait();
    service.shutdown();
    assert_eq!(thread.join().unwrap(), ["batch votes=2"]);
}
