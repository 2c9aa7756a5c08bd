//! `join`, `status`, `agree`, `sign`, `verify`: the commands of a member, in processes at the same time.

use core::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader};
use std::process::Child;

use super::*;

/// A committee that counts the commands of each member.
pub(super) struct People {
    pub(super) place: Place,
    commands: RefCell<BTreeMap<usize, usize>>,
}

/// Members whose names are in the plan: enough attempts for a slow machine.
const PLAN: &str = "--members m0,m1,m2,m3 --content slot-7 --content slot-8 --attempts 64";

/// A decision with the settings that the store remembers.
pub(super) const SIGN: &str = "--content slot-7 --payload payload --attempt-timeout 3";

impl People {
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

    /// All members look at the digest, which they compare, and agree.
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

/// It took 27 commands of five to seven options each.
#[test]
fn a_fresh_committee_decides_with_four_commands_a_member() {
    let people = People::new("four");
    people.join(&[0, 1, 2, 3]);
    people.agree(&[0, 1, 2, 3], "");
    let runs = people.all(
        &[0, 1, 2, 3],
        "sign",
        &format!("{SIGN} --out decision-{{n}}"),
    );
    assert!(people.commands.borrow().values().all(|count| *count == 4));
    let first = people.place.get("decision-0");
    for (n, run) in runs.iter().enumerate() {
        assert_eq!(people.place.get(&format!("decision-{n}")), first);
        assert_eq!(run.stdout, runs[0].stdout);
    }
    let identity = line(&runs[0], "committee");
    let verify = |more: &str| {
        format!("verify --committee committee --store verifier --certificate decision-0 {more}")
    };
    let expected = "--payload payload --ctx TEST --content slot-7";
    people.place.refused(&verify(expected), "is not trusted");
    let trust = format!("trust --committee committee --store verifier --identity {identity}");
    people.place.good(&trust);
    people.place.good(&verify(expected));
    people.place.invalid(
        &verify("--payload payload --content slot-7"),
        "another task",
    );

    // The next decision is one command of each member; a member can be late, and alone.
    let again = SIGN.replace("slot-7", "slot-8");
    people.all(&[0, 1, 2], "sign", &format!("{again} --out next-{{n}}"));
    // Also one that has used up its attempts.
    let retire = "retire --store member-3 --content slot-8 --attempt 63";
    people.place.good(retire);
    people.all(&[3], "sign", &format!("{again} --out next-{{n}}"));
    assert_eq!(people.place.get("next-3"), people.place.get("next-0"));
    // Not the payload that was decided.
    people.place.put("other", b"another");
    let other = "sign --store member-0 --content slot-8 --payload other --timeout 0 --out x";
    people.place.invalid(other, "awaited");
    assert!(!people.place.exists("x"));
    // Names of the version before.
    people
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
    let people = People::new("few");
    people.join(&[0, 1, 2, 3]);
    // Not the plan of the others.
    let other = PLAN.replace("m3", "m4");
    people
        .place
        .refused(&format!("join --store member-0 {other}"), "another plan");
    // Of an epoch for which others are missing: the store keeps the one of its last success.
    let early = "join --store member-0 --epoch 2 --ctx OTHER --members m0,m4 --timeout 0";
    people.place.invalid(early, "join of m4");
    // Before the agreement.
    let sign = |more: &str| format!("sign --store member-0 {SIGN} --out decision {more}");
    people.place.refused(&sign(""), "run `agree` first");
    people.agree(&[0, 1, 2, 3], "");
    let log = people.place.get("member-0/guard-0.log");
    people
        .place
        .invalid(&sign("--timeout 4"), "attempt 0: m1 m2 m3");
    assert_eq!(people.place.get("member-0/guard-0.log"), log);
    let alone = "join --committee committee --store member-9 --id m9 --members m8,m9 --timeout 0 \
                 --epoch 9";
    people.place.invalid(alone, "join of m8");
}

/// An acknowledgement that took the place of another file left their number as it was, and was not read.
#[test]
fn an_acknowledgement_in_place_of_another_file_is_read() {
    let people = People::new("in-place");
    let place = &people.place;
    people.join(&[0, 1, 2, 3]);
    let digest = place.status(1, "roots");
    let expected = format!("--expect-roots {digest}");
    people.all(&[0, 1], "agree", &expected);
    place.put("committee/epoch-1/acknowledgements/6d32", b"of m2");
    let sign = format!("{SIGN} --out decision-{{n}}");
    let mut early = people.start(0, "sign", &sign.replace("{n}", "0"));
    let shown = BufReader::new(early.stderr.take().unwrap()).lines();
    let is_waiting =
        |line: io::Result<String>| line.unwrap().ends_with("acknowledgements of a quorum");
    assert!({ shown }.any(is_waiting));
    people.all(&[2], "agree", &expected);
    people.all(&[1, 2], "sign", &sign);
    good(early);
}

/// The first plan in the directory, also one of a stranger, ended the epoch for all.
#[test]
fn plans_of_others_stop_no_epoch() {
    let people = People::new("foreign");
    let place = &people.place;
    place.good("init --committee committee --store stranger --id x8");
    let evil = "plan --committee committee --members x8 --content evil";
    place.good(evil);
    people.join(&[0, 1, 2, 3]);
    let plan = place.get("committee/epoch-1/plan.json");
    // Later ones too, until the members join again.
    place.put("committee/epoch-1/plan.json", b"{}");
    place.refused("status --store member-0", "not a plan");
    let again = people.start(0, "join", PLAN);
    let again = good(again);
    assert!(again.stderr.contains("is replaced"), "{}", again.stderr);
    assert_eq!(place.get("committee/epoch-1/plan.json"), plan);

    // One of four members has joined another plan: its seed serves no other one in this epoch.
    let of = |contents: &str| format!("--epoch 2 --members m0,m1,m2,m3 --content {contents}");
    let other = format!("join --store member-3 {}", of("slot-9"));
    place.good(&other);
    people.all(&[0, 1, 2], "join", &of("slot-7"));
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
    people.all(&[0, 1, 2], "agree", &format!("--expect-roots {digest}"));
    people.all(&[0, 1, 2], "sign", &format!("{SIGN} --out decision-{{n}}"));
    let identity = place.status(2, "committee");
    let more = format!("--content slot-7 --epoch 2 --identity {identity}");
    place.good(&verify("decision-1", &more));
}
