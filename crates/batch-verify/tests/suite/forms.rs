//! Every form of message and key, and votes of several committees in one batch.

use batch_verify::{BatchVerifier, CommitteeVerifier, Item, Message, RejectReason, Vote};
use mldsa_core::{
    Context, MlDsa44, MlDsa65, MlDsa87, MuBuilder, ParameterSet, PreHash, PreHashed, Randomness,
};

use crate::fixture::{Verdict, committee, context, keys, public, sign};

/// Every form of message, of members and of other keys.
#[test]
fn forms() {
    fn check<P: ParameterSet>(strong: PreHash, weak: PreHash) {
        let keys = keys::<P>(3);
        let key = &keys[1];
        let committee = committee(&keys);
        let member = committee.member(1).unwrap();
        let pk = public(key);
        let other = Context::new(b"other").unwrap();
        let sign = |message: &[u8], context| {
            let signature = key.sign_with_context(message, context, Randomness::Deterministic);
            signature.unwrap().as_ref().to_vec()
        };
        let here = sign(b"one two", context());
        let there = sign(b"one two", other);
        let mut mu = MuBuilder::from_tr(key.verifying_key().tr(), other);
        mu.update(b"one two");
        let mu = mu.finish();

        let digest = |hash: PreHash| vec![7; hash.digest_len()];
        let prehashed = |hash: PreHash| {
            let digest = digest(hash);
            let digest = PreHashed::new_allow_weak(hash, &digest).unwrap();
            let signature = key.sign_prehashed(&digest, context(), Randomness::Deterministic);
            signature.unwrap().as_ref().to_vec()
        };
        let (strong_digest, weak_digest) = (digest(strong), digest(weak));
        let (strong_sig, weak_sig) = (prehashed(strong), prehashed(weak));
        let message = |hash, digest| Message::PreHashed { hash, digest };
        let strong_message = message(strong, &strong_digest);
        let weak_message = message(weak, &weak_digest);
        let short = message(strong, &strong_digest[1..]);
        let whole = Message::Bytes(b"one two");
        let parts = Message::Parts(&[b"one", b"", b" two"]);
        let joined = Message::Parts(&[b"one", b"two"]);

        use RejectReason::{ChallengeMismatch, DigestLength, PublicKeyLength, WeakPreHash};
        let cases = [
            (whole, &here, Ok(())),
            (parts, &here, Ok(())),
            (joined, &here, Err(ChallengeMismatch)),
            (whole, &there, Err(ChallengeMismatch)),
            (parts, &there, Err(ChallengeMismatch)),
            (strong_message, &strong_sig, Ok(())),
            (strong_message, &weak_sig, Err(ChallengeMismatch)),
            (short, &strong_sig, Err(DigestLength)),
            (weak_message, &weak_sig, Err(WeakPreHash)),
        ];
        let verdict = |(_, _, result): &(_, _, Verdict)| *result;
        let expected: Vec<Verdict> = cases.iter().map(verdict).collect();
        let votes = cases.map(|(message, signature, _)| Vote::new(member, message, signature));
        let items = cases.map(|(message, sig, _)| Item::new(pk, message, context(), sig));
        let members = |allow| {
            let builder = CommitteeVerifier::builder().allow_weak_prehash(allow);
            builder.build(committee.clone()).unwrap()
        };
        let verifier = members(false);
        let strangers = BatchVerifier::<P>::builder().build().unwrap();
        for _ in 0..3 {
            assert_eq!(
                verifier.verify_batch(votes).verdicts(),
                expected,
                "{}",
                P::NAME
            );
            assert_eq!(
                strangers.verify_batch(items).verdicts(),
                expected,
                "{}",
                P::NAME
            );
        }
        for ((vote, item), verdict) in votes.iter().zip(&items).zip(expected) {
            assert_eq!(committee.verify(vote), verdict);
            assert_eq!(strangers.verify(item), verdict);
        }
        let weak_vote = Vote::new(member, weak_message, &weak_sig);
        let lenient = members(true);
        assert_eq!(lenient.verify_batch([weak_vote]).require_all(), Ok(()));
        assert!(committee.verify(&weak_vote).is_err());

        // Message representatives and other contexts, of keys in no committee.
        let cases = [
            (Item::new(pk, whole, other, &there), Ok(())),
            (Item::new(key.verifying_key(), parts, other, &there), Ok(())),
            (Item::from_mu(pk, &mu, &there), Ok(())),
            (Item::from_mu(pk, &mu, &here), Err(ChallengeMismatch)),
            (
                Item::from_mu(public(&keys[0]), &mu, &there),
                Err(ChallengeMismatch),
            ),
            (
                Item::new(&pk[1..], whole, other, &there),
                Err(PublicKeyLength),
            ),
            (Item::new(b"", whole, other, b""), Err(PublicKeyLength)),
        ];
        let report = strangers.verify_batch(cases.map(|(item, _)| item));
        for (found, (_, expected)) in report.verdicts().iter().zip(cases) {
            assert_eq!(*found, expected);
        }
    }
    check::<MlDsa44>(PreHash::Shake128, PreHash::Sha2_224);
    check::<MlDsa65>(PreHash::Sha3_384, PreHash::Sha2_256);
    check::<MlDsa87>(PreHash::Shake256, PreHash::Sha2_384);
}

/// Votes of several committees in one batch, told apart by their ids.
#[test]
fn several_committees() {
    let keys = keys::<MlDsa44>(2);
    let votes = committee(&keys);
    let commits = votes.with_context(b"commit").unwrap();
    let commit_context = Context::new(b"commit").unwrap();
    let commit = keys[0]
        .sign_with_context(b"7", commit_context, Randomness::Deterministic)
        .unwrap();
    let vote = sign(&keys[0], b"7");
    let ids = [&votes, &commits].map(|committee| committee.member(0).unwrap());
    let both = votes.verifier().with_committee(commits);
    let report = both.verify_batch([
        Vote::new(ids[0], b"7", &vote),
        Vote::new(ids[1], b"7", commit.as_ref()),
        Vote::new(ids[0], b"7", commit.as_ref()),
        Vote::new(ids[1], b"7", &vote),
    ]);
    let wrong = Err(RejectReason::ChallengeMismatch);
    assert_eq!(report.verdicts(), [Ok(()), Ok(()), wrong, wrong]);
    let one = votes
        .verifier()
        .verify_batch([Vote::new(ids[1], b"7", commit.as_ref())]);
    assert_eq!(one.first_rejected(), Some((0, RejectReason::UnknownMember)));
}
