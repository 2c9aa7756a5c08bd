//! Members that write hostile files into the shared directory.

use core::time::Duration;
use std::os::unix::fs::symlink;
use std::process::Child;
use std::thread;

use super::evidence::make_twin;
use super::members::{SIGN, TestCommittee, line};
use super::*;

/// A member removes its own acknowledgement and publishes it again, while it does not sign. Each time
/// the sessions of the others began anew and retired an attempt, until they had no keys left.
#[test]
fn a_withdrawn_acknowledgement_changes_no_session() {
    let committee = TestCommittee::new("withdrawn");
    let place = &committee.place;
    committee.join(&[0, 1, 2, 3]);
    committee.agree(&[0, 1, 2, 3], "");
    // One that does not lead the first attempt opens its key and does nothing more.
    let silent = (leader(place, "slot-7") + 1) % 4;
    let sign = SIGN.replace("-timeout 3", "-timeout 600");
    place.invalid(
        &format!("sign --store member-{silent} {sign} --timeout 0 --out x"),
        "awaited",
    );
    let others = [1, 2, 3].map(|at| (silent + at) % 4);
    let logs = || others.map(|n| place.get(&format!("member-{n}/guard-0.log")));
    let before = logs();
    let start = |n: usize| committee.start(n, "sign", &format!("{sign} --out decision-{n}"));
    let mut running = others.map(start);
    // Until all have committed. The attempt waits for the silent one now.
    while logs()
        .iter()
        .zip(&before)
        .any(|(now, before)| now == before)
    {
        running.iter_mut().for_each(is_running);
        thread::sleep(Duration::from_millis(5));
    }
    let committed = logs();
    let published = format!("committee/epoch-1/acknowledgements/6d3{silent}");
    // Sessions read the directory every 20 ms. One that does so later than these pauses allow can only
    // miss a change.
    for _ in 0..3 {
        place.rename(&published, "withdrawn");
        thread::sleep(Duration::from_millis(300));
        place.rename("withdrawn", &published);
        thread::sleep(Duration::from_millis(300));
    }
    let kept = logs() == committed;
    let end = |child: &mut Child| {
        child.kill().unwrap();
        child.wait().unwrap();
    };
    running.iter_mut().for_each(end);
    assert!(kept);
}

/// A command that has ended makes no further step.
fn is_running(child: &mut Child) {
    let status = child.try_wait().unwrap();
    assert!(status.is_none(), "a command has ended: {status:?}");
}

/// The leader of the first attempt: see `Session` in `docs/ml-adsa.md`.
fn leader(place: &Place, content: &str) -> usize {
    use sha3::digest::{ExtendableOutput, Update};
    let roots = hex::decode(place.status(1, "roots")).unwrap();
    let mut hash = [0; 8];
    let lp = |part: &[u8]| [&(part.len() as u32).to_be_bytes(), part].concat();
    let parts = [lp(&roots), lp(content.as_bytes())].concat();
    let mut shake = sha3::Shake256::default();
    shake.update(b"MLADSA leader");
    shake.update(&parts);
    shake.finalize_xof_into(&mut hash);
    (u64::from_be_bytes(hash) % 4) as usize
}

/// Evidence is written to a path that its author knows before. A link there led to the store of the
/// member that found it, and a pipe blocked its command.
#[test]
fn evidence_is_written_through_no_link_and_no_pipe() {
    let place = Place::new("links");
    place.planned([0, 1, 2]);
    place.each("root", [0, 1, 2], "");
    place.good(&own("status", 0, ""));
    make_twin(&place, 2);
    place.good("root --committee committee --store evil");
    let found = place.good(&own("status", 0, ""));
    let evidence = line(&found, "evidence");
    let bytes = place.get(&evidence);
    let secret = place.get("member-0/secret");
    place.remove(&evidence);
    symlink(place.path("member-0/secret"), place.path(&evidence)).unwrap();
    place.good(&own("status", 0, ""));
    assert!(place.get("member-0/secret") == secret);
    assert!(place.get(&evidence) == bytes);
    place.remove(&evidence);
    place.mkfifo(&evidence);
    place.good(&own("status", 0, ""));
    assert!(place.get(&evidence) == bytes);
}
