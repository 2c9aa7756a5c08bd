#![deny(unused_must_use)]
#![allow(dead_code)]

use batch_verify::*;

type Any = Result<(), Box<dyn std::error::Error>>;
type Set = mldsa_core::MlDsa44;

fn answer(service: &VerificationService<Set>, source: Source, vote: &Vote<'_>) -> Any {
    service.submit(source, vote)?;
    Ok(())
}

fn answers(service: &VerificationService<Set>, source: Source, votes: &[Vote]) {
    service.submit_batch(votes.iter().map(|vote| (source, *vote)));
    for answer in service.submit_batch(votes.iter().map(|vote| (source, *vote))) {
        answer.unwrap().wait();
    }
}

fn quorum_answers(service: &VerificationService<Set>, committee: &Committee<Set>) -> Result<(), ServiceError> {
    let rule = QuorumRule::AnyValid;
    service.submit_quorum(Source::own(), committee, *b"block", Vec::new(), rule)?.wait();
    service.submit_quorum(Source::own(), committee, *b"block", Vec::new(), rule)?;
    Ok(())
}

async fn awaited(service: &VerificationService<Set>, source: Source, vote: &Vote<'_>) -> Any {
    service.submit(source, vote)?.await;
    Ok(())
}

fn quorum(verifier: &CommitteeVerifier<Set>, votes: &[(MemberId, &[u8])]) {
    verifier.verify_quorum(b"block", votes, QuorumRule::AnyValid);
}

fn report(verifier: &CommitteeVerifier<Set>, votes: &[Vote]) {
    verifier.verify_batch(votes.iter().copied());
}

fn service_report(service: &VerificationService<Set>, votes: &[Vote]) {
    service.verify_batch(votes.iter().copied());
}

fn single_verdict(service: &VerificationService<Set>, vote: &Vote) {
    service.verify(vote);
}

fn vertices(verifier: &CommitteeVerifier<Set>, vertices: &[Vec<u8>], member: MemberId) {
    verifier.verify_batch(vertices.iter().map(|vertex| Vote::new(member, b"block", vertex)));
}

fn wait(pending: Pending<Result<(), ServiceError>>) {
    pending.wait();
}

fn main() {}
