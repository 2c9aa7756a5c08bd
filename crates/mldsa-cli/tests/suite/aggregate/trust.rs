//! Trust anchors of `verify`: a shared directory is none.

use super::*;

impl Place {
    /// All steps of an epoch of the members `ids`, each with the store of its number, up to an
    /// aggregate.
    fn epoch(&self, committee: &str, epoch: usize, stores: &[&str], plan: &str) -> String {
        let all = |step: &str, more: &str| {
            for store in stores {
                let more = format!("--store {store} --epoch {epoch} {more}");
                self.good(&format!("{step} --committee {committee} {more}"));
            }
        };
        let plan = format!("plan --committee {committee} --epoch {epoch} --attempts 8 {plan}");
        let planned = self.good(&format!("{plan} --content decision"));
        all("root", "");
        let shown = self.good(&format!(
            "status --committee {committee} --store absent --epoch {epoch}"
        ));
        let lines = shown.lines();
        let digest = lines.iter().find_map(|line| line.strip_prefix("roots: "));
        all("agree", &format!("--expect-roots {}", digest.unwrap()));
        let identity = planned.lines()[0]
            .strip_prefix("committee: ")
            .unwrap()
            .to_owned();
        for attempt in 0..8 {
            let round = format!("{committee}-{epoch}-{attempt}");
            let more = format!("--round {round} --payload payload --attempt {attempt}");
            for step in ["open", "commit", "reveal", "respond"] {
                all(step, &more);
            }
            let combined = self.run(&format!(
                "combine --committee {committee} --store {} --epoch {epoch} {more} --out {committee}-{epoch}",
                stores[0]
            ));
            if combined.code == 0 {
                return identity;
            }
            assert_eq!(combined.code, 1, "{}", combined.stderr);
            all("retire", &format!("--attempt {attempt}"));
        }
        panic!("eight misses in a row");
    }

    fn init(&self, committee: &str, stores: &[&str]) {
        for store in stores {
            let id = &store[store.len() - 2..];
            self.good(&format!(
                "init --committee {committee} --store {store} --id {id}"
            ));
        }
    }
}

fn verify_epoch(committee: &str, epoch: usize, more: &str) -> String {
    format!(
        "verify --committee {committee} --epoch {epoch} --payload payload \
         --certificate {committee}-{epoch} {more}"
    )
}

const HONEST: [&str; 4] = ["m0", "m1", "m2", "m3"];

/// Each of them exited with 0: an epoch that one member made with two made-up names, a whole
/// made-up directory, and made-up names that registered among the members.
#[test]
fn made_up_committees_are_rejected() {
    let place = Place::new("anchor");
    place.init("committee", &HONEST);
    let identity = place.epoch("committee", 1, &HONEST, "--members m0,m1,m2,m3");
    let good = |store: &str, more: &str| {
        place.good(&verify_epoch(
            "committee",
            1,
            &format!("--store {store} {more}"),
        ))
    };
    let not_trusted = "is not trusted";
    place.refused(&verify_epoch("committee", 1, "--store late"), not_trusted);
    assert!(!place.exists("late"));
    good("seasoned", &format!("--identity {identity}"));
    good("seasoned", "");

    // A plan that no committee could endorse was made.
    for after in [2, 3] {
        let plan = format!("plan --committee committee --epoch 2 --members m0,m1 --after {after}");
        place.refused(&plan, "not an earlier one than epoch 2");
    }
    // One member alone makes epoch 2; it can even claim that epoch 2 follows on epoch 1.
    place.init("committee", &["x4", "x5"]);
    let few = ["m3", "x4", "x5"];
    for (epoch, after) in [(2, ""), (3, "--after 1")] {
        let plan = format!("--members m3,x4,x5 {after}");
        place.epoch("committee", epoch, &few, &plan);
        let verify = |more: &str| verify_epoch("committee", epoch, more);
        place.refused(&verify("--store late"), not_trusted);
        let why = if after.is_empty() {
            not_trusted
        } else {
            "not endorsed by a quorum"
        };
        place.refused(&verify("--store seasoned"), why);
        place.refused(
            &verify(&format!("--store late --identity {identity}")),
            "the committee is",
        );
    }
    let next = place.status(3, "committee");
    let endorse = |store: &str| {
        format!("endorse --committee committee --epoch 3 --store {store} --identity {next}")
    };
    place.good(&endorse("m3"));
    place.refused(&endorse("x4"), not_trusted);
    let verify = verify_epoch("committee", 3, "--store seasoned");
    place.refused(&verify, "not endorsed by a quorum");

    // Another directory of the same names.
    let evil = ["evil-m0", "evil-m1", "evil-m2"];
    place.init("evil", &evil);
    let other = place.epoch("evil", 1, &evil, "--all-registered");
    let verify = |more: &str| verify_epoch("evil", 1, more);
    place.refused(&verify("--store late"), not_trusted);
    place.refused(
        &verify(&format!("--store late --identity {identity}")),
        "the committee is",
    );
    place.refused(&verify("--store seasoned"), "");
    place.good(&verify(&format!("--store other --identity {other}")));

    // Made-up names are in no plan that does not name them, and are shown in one that takes all.
    place.refused(
        "plan --committee committee --epoch 9 --content decision",
        "--all-registered",
    );
    let all =
        place.good("plan --committee committee --epoch 9 --content decision --all-registered");
    let names: Vec<_> = all
        .lines()
        .iter()
        .filter_map(|line| line.strip_prefix("member: "))
        .map(|line| line[..2].to_owned())
        .collect();
    assert_eq!(names, ["m0", "m1", "m2", "m3", "x4", "x5"]);
}

/// The committee of a later epoch is trusted with the endorsements of a quorum of the one before, or
/// with a pin of its own.
#[test]
fn successors_need_a_quorum_of_the_committee_before() {
    let place = Place::new("successor");
    place.init("committee", &HONEST);
    let first = place.epoch("committee", 1, &HONEST, "--members m0,m1,m2,m3");
    let trust = "trust --committee committee --epoch 1 --store verifier";
    place.refused(trust, "--identity is required");
    place.refused(
        &format!("{trust} --identity {}", "0".repeat(64)),
        "the committee is",
    );
    place.good(&format!("{trust} --identity {first}"));
    place.good(&verify_epoch("committee", 1, "--store verifier"));
    place.init("committee", &["m4"]);
    let next = place.epoch(
        "committee",
        2,
        &["m1", "m2", "m3", "m4"],
        "--members m1,m2,m3,m4 --after 1",
    );
    let verify = verify_epoch("committee", 2, "--store verifier");
    for (store, enough) in [("m0", false), ("m1", false), ("m1", false), ("m2", true)] {
        place.good(&format!(
            "endorse --committee committee --epoch 2 --store {store} --identity {next}"
        ));
        place.fails(if enough { 0 } else { 2 }, &verify, "");
    }
    // Then the store has pinned epoch 2, without the endorsements.
    fs::remove_dir_all(place.path("committee/epoch-2/endorsements")).unwrap();
    place.good(&verify);
    let fresh = verify_epoch("committee", 2, "--store fresh");
    place.refused(&fresh, "is not trusted");
    place.good(&format!("{fresh} --identity {next}"));
    // A pin of another committee is not replaced.
    fs::create_dir(place.path("other")).unwrap();
    place.good(&format!(
        "trust --committee committee --epoch 2 --store other --identity {next}"
    ));
    fs::rename(place.path("committee/epoch-2"), place.path("epoch-2")).unwrap();
    place.good("plan --committee committee --epoch 2 --members m0 --content decision");
    let forked = place.status(2, "committee");
    let again = format!("trust --committee committee --epoch 2 --store other --identity {forked}");
    place.refused(&again, "other");
}

/// Others could put the pins of a made-up committee there.
#[cfg(unix)]
#[test]
fn pins_in_a_store_of_others_are_rejected() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new("pins-of-others");
    place.init("committee", &HONEST);
    let identity = place.epoch("committee", 1, &HONEST, "--members m0,m1,m2,m3");
    let verify = verify_epoch("committee", 1, "--store verifier");
    let known = format!("--identity {identity}");
    place.good(&format!("{verify} {known}"));
    let trust = format!("trust --committee committee --store verifier {known}");
    for (mode, code) in [(0o777, 2), (0o720, 2), (0o700, 0)] {
        let mode = fs::Permissions::from_mode(mode);
        fs::set_permissions(place.path("verifier"), mode).unwrap();
        for args in [&verify, &trust] {
            let run = place.fails(code, args, "");
            assert_eq!(run.stderr.contains("others may write"), code == 2);
            assert!(code == 0 || !run.stdout.contains("signers"));
        }
    }
    for pin in ["epoch-1.committee", "epoch-1.roots"] {
        let (pin, kept) = (format!("verifier/{pin}"), place.path("kept"));
        fs::rename(place.path(&pin), &kept).unwrap();
        let made = Command::new("mkfifo").arg(place.path(&pin)).status();
        assert!(made.unwrap().success());
        place.refused(&verify, "storage failed");
        place.remove(&pin);
        fs::rename(kept, place.path(&pin)).unwrap();
    }
    place.good(&verify);
}

/// `trust` and `status` showed the weights with the names of other members.
#[test]
fn weights_are_shown_with_their_members() {
    let place = Place::new("weights-shown");
    place.init("committee", &["m0", "m1"]);
    place.put("weights", b"m0 1\nm1 9\n");
    place.good("plan --committee committee --members m0,m1 --weights weights --threshold 9");
    let status = "status --committee committee --store absent";
    let shown = place.good(status).stdout;
    assert!(shown.contains(" weight 9\nmissing"), "{shown}");
    let plan = "committee/epoch-1/plan.json";
    let text = String::from_utf8(place.get(plan)).unwrap();
    let other = text.replace("6d30", "x").replace("6d31", "6d30");
    let other = other.replace('x', "6d31");
    place.put(plan, other.as_bytes());
    place.refused(status, "not in order");
}
