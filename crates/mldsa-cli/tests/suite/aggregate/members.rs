//! `join`, `status`, `agree`, `sign`, `verify`: the commands of a member, in processes at the same time.

use core::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader};
use std::process::Child;

use super::*;

/// A committee that counts the commands of each member.
pub(super) struct TestCommittee {
    pub(super) place: Place,
    commands: RefCell<BTreeMap<usize, usize>>,
}

/// Members whose names are in the plan: enough attempts for a slow machine.
const PLAN: &str = "--members m0,m1,m2,m3 --content slot-7 --content slot-8 --attempts 64";

/// A decision with the settings of the store.
pub(super) const SIGN: &str = "--content slot-7 --payload payload --attempt-timeout 3";

impl TestCommittee {
    pub(super) fn new(name: &str) -> Self {
        Self {
            place: Place::new(name),
            commands: RefCell::default(),
        }
    }

    /// Starts a command of member `n`.
    pub(super) fn start(&self, n: usize, command: &str, more: &str) -> Child {
        *self.commands.borrow_mut().entry(n).or_default() += 1;
        let args = format!("{command} --store member-{n} {more}");
        let mut command = self.place.command(&args);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    }

    /// Runs a command of these members at the same time, which has to succeed.
    pub(super) fn all(&self, members: &[usize], command: &str, more: &str) -> Vec<Run> {
        let start = |n: &usize| self.start(*n, command, &more.replace("{n}", &n.to_string()));
        let running: Vec<Child> = members.iter().map(start).collect();
        running.into_iter().map(good).collect()
    }

    pub(super) fn join(&self, members: &[usize]) {
        let join = format!("--committee committee --id m{{n}} --ctx TEST {PLAN}");
        self.all(members, "join", &join);
    }

    /// All members print the digest, which is compared, and agree.
    pub(super) fn agree(&self, members: &[usize], more: &str) {
        let shown = self.all(members, "status", more);
        let digest = line(&shown[0], "roots");
        assert!(shown.iter().all(|run| line(run, "roots") == digest));
        assert_eq!(line(&shown[0], "next"), "agree");
        self.all(members, "agree", &format!("--expect-roots {digest} {more}"));
    }
}

pub(super) fn good(child: Child) -> Run {
    let run = Run::from(child.wait_with_output().unwrap());
    assert_eq!(run.code, 0, "{}", run.stderr);
    run
}

pub(super) fn line(run: &Run, name: &str) -> String {
    let prefix = format!("{name}: ");
    let lines = run.lines();
    let mut found = lines.iter().filter_map(|line| line.strip_prefix(&prefix));
    found.next().unwrap().to_owned()
}

#[test]
fn a_fresh_committee_decides_with_four_commands_a_member() {
    let committee = TestCommittee::new("four");
    committee.join(&[0, 1, 2, 3]);
    committee.agree(&[0, 1, 2, 3], "");
    let runs = committee.all(
        &[0, 1, 2, 3],
        "sign",
        &format!("{SIGN} --out decision-{{n}}"),
    );
    assert!(
        committee
            .commands
            .borrow()
            .values()
            .all(|count| *count == 4)
    );
    let first = committee.place.get("decision-0");
    for (n, run) in runs.iter().enumerate() {
        assert_eq!(committee.place.get(&format!("decision-{n}")), first);
        assert_eq!(run.stdout, runs[0].stdout);
    }
    let identity = line(&runs[0], "committee");
    let verify = |more: &str| {
        format!("verify --committee committee --store verifier --certificate decision-0 {more}")
    };
    let expected = "--payload payload --ctx TEST --content slot-7";
    committee.place.refused(&verify(expected), "is not trusted");
    let trust = format!("trust --committee committee --store verifier --identity {identity}");
    committee.place.good(&trust);
    committee.place.good(&verify(expected));
    committee.place.invalid(
        &verify("--payload payload --content slot-7"),
        "another task",
    );

    // The next decision is one command of each member; a member can be late, and alone.
    let again = SIGN.replace("slot-7", "slot-8");
    committee.all(&[0, 1, 2], "sign", &format!("{again} --out next-{{n}}"));
    // Also one that has used up its attempts.
    let retire = "retire --store member-3 --content slot-8 --attempt 63";
    committee.place.good(retire);
    committee.all(&[3], "sign", &format!("{again} --out next-{{n}}"));
    assert_eq!(committee.place.get("next-3"), committee.place.get("next-0"));
    // Not the payload that was decided.
    committee.place.put("other", b"another");
    let other = "sign --store member-0 --content slot-8 --payload other --timeout 0 --out x";
    committee.place.invalid(other, "awaited");
    assert!(!committee.place.exists("x"));
    // Names of the version before.
    committee
        .place
        .refused("initialise --store x", "aggregate step");
}

/// The example for operators: of four members one is killed and signs again, and one does not sign.
#[cfg(unix)]
#[test]
fn a_decision_survives_a_killed_and_a_silent_member() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/committee.sh");
    let mut command = Command::new("sh");
    command
        .arg(script)
        .env("MLDSA", env!("CARGO_BIN_EXE_mldsa"));
    let run = Run::from(command.stdin(Stdio::null()).output().unwrap());
    assert_eq!(run.code, 0, "{}", run.stderr);
    let lines = run.lines();
    let verified = lines
        .iter()
        .filter(|line| **line == "signers: 3 of 4: m0 m1 m2");
    assert_eq!(verified.count(), 3, "{}", run.stdout);
}

/// Without a quorum nothing is signed and no key is used up; what is awaited is shown.
#[test]
fn fewer_members_than_a_quorum_wait() {
    let committee = TestCommittee::new("few");
    committee.join(&[0, 1, 2, 3]);
    // Not the plan of the others.
    let other = PLAN.replace("m3", "m4");
    committee
        .place
        .refused(&format!("join --store member-0 {other}"), "another plan");
    // Of an epoch for which others are missing: the store keeps the one of its last success.
    let early = "join --store member-0 --epoch 2 --ctx OTHER --members m0,m4 --timeout 0";
    committee.place.invalid(early, "join of m4");
    // Before the agreement.
    let sign = |more: &str| format!("sign --store member-0 {SIGN} --out decision {more}");
    committee.place.refused(&sign(""), "run `agree` first");
    committee.agree(&[0, 1, 2, 3], "");
    let log = committee.place.get("member-0/guard-0.log");
    committee
        .place
        .invalid(&sign("--timeout 4"), "attempt 0: m1 m2 m3");
    assert_eq!(committee.place.get("member-0/guard-0.log"), log);
    let alone = "join --committee committee --store member-9 --id m9 --members m8,m9 --timeout 0 \
                 --epoch 9";
    committee.place.invalid(alone, "join of m8");
}

/// An acknowledgement that took the place of another file left their number as it was, and was not read.
#[test]
fn an_acknowledgement_in_place_of_another_file_is_read() {
    let committee = TestCommittee::new("in-place");
    let place = &committee.place;
    committee.join(&[0, 1, 2, 3]);
    let digest = place.status(1, "roots");
    let expected = format!("--expect-roots {digest}");
    committee.all(&[0, 1], "agree", &expected);
    place.put("committee/epoch-1/acknowledgements/6d32", b"of m2");
    let sign = format!("{SIGN} --out decision-{{n}}");
    let mut early = committee.start(0, "sign", &sign.replace("{n}", "0"));
    let shown = BufReader::new(early.stderr.take().unwrap()).lines();
    let is_waiting =
        |line: io::Result<String>| line.unwrap().ends_with("acknowledgements of a quorum");
    assert!({ shown }.any(is_waiting));
    committee.all(&[2], "agree", &expected);
    committee.all(&[1, 2], "sign", &sign);
    good(early);
}

/// The first plan in the directory, also one of a stranger, ended the epoch for all.
#[test]
fn plans_of_others_stop_no_epoch() {
    let committee = TestCommittee::new("foreign");
    let place = &committee.place;
    place.good("init --committee committee --store stranger --id x8");
    let evil = "plan --committee committee --members x8 --content evil";
    place.good(evil);
    committee.join(&[0, 1, 2, 3]);
    let plan = place.get("committee/epoch-1/plan.json");
    // Later ones too, until the members join again.
    place.put("committee/epoch-1/plan.json", b"{}");
    place.refused("status --store member-0", "not a plan");
    let again = committee.start(0, "join", PLAN);
    let again = good(again);
    assert!(again.stderr.contains("is replaced"), "{}", again.stderr);
    assert_eq!(place.get("committee/epoch-1/plan.json"), plan);

    // One of four members has joined another plan: its seed serves no other one in this epoch.
    let of = |contents: &str| format!("--epoch 2 --members m0,m1,m2,m3 --content {contents}");
    let other = format!("join --store member-3 {}", of("slot-9"));
    place.good(&other);
    committee.all(&[0, 1, 2], "join", &of("slot-7"));
    let plan = place.get("committee/epoch-2/plan.json");
    let late = format!("join --store member-3 {}", of("slot-7"));
    place.refused(&late, "serves another plan");
    // A member with other arguments replaces no plan that so many have joined.
    for other in [other, format!("join --store member-0 {}", of("slot-8"))] {
        place.refused(&other, "m0 m1 m2 joined it");
    }
    assert_eq!(place.get("committee/epoch-2/plan.json"), plan);
    let status = place.good("status --store member-0");
    assert_eq!(line(&status, "missing roots"), "m3");
    let digest = line(&status, "roots");
    committee.all(&[0, 1, 2], "agree", &format!("--expect-roots {digest}"));
    committee.all(&[0, 1, 2], "sign", &format!("{SIGN} --out decision-{{n}}"));
    let identity = place.status(2, "committee");
    let more = format!("--content slot-7 --epoch 2 --identity {identity}");
    place.good(&verify("decision-1", &more));
}
