//! Steps of an epoch and of an attempt.

use super::*;

/// The message of a member in the first attempt.
fn message(n: usize, part: &str) -> String {
    format!("round/{}.{part}", hex::encode(format!("m{n}")))
}

#[test]
fn steps_make_an_aggregate() {
    let place = Place::new("steps");
    for n in 0..3 {
        let init = own("init", n, &format!("--id m{n}"));
        place.good(&init);
        place.refused(&init, "the store exists");
    }
    // A junk file is reported and skipped.
    place.put("committee/registrations/junk", b"junk");
    let planned = place.good("plan --committee committee --all-registered --content slot-7");
    assert!(planned.stderr.contains("skipped") && planned.stderr.contains("junk"));
    place.each("root", [0, 1, 2], "");
    place.put("committee/epoch-1/roots/junk", b"junk");
    // No step before an agreement on the roots.
    place.refused(&member("open", 0, ""), "not trusted");
    place.refused(&own("agree", 0, ""), "--expect-roots is required");
    assert_eq!(place.status(1, "missing acknowledgements"), "m0 m1 m2");
    place.agree([0, 1], 1);
    place.refused(&own("agree", 2, "--expect-roots ab"), "list of roots is");
    place.refused(&member("open", 0, ""), "not acknowledged");
    assert_eq!(place.status(1, "missing acknowledgements"), "m2");
    place.agree([2], 1);
    assert_eq!(place.status(1, "next"), "sign");
    for n in 0..3 {
        place.good(&member("open", n, ""));
    }
    // A later registration does not belong to the epoch.
    place.good(&own("init", 9, "--id m9"));
    // No response without a commitment, no commitment without all openings.
    place.refused(&member("respond", 0, ""), "hash");
    for n in 0..3 {
        place.good(&member("commit", n, ""));
        let hash = place.get(&message(n, "hash"));
        place.good(&member("commit", n, ""));
        assert_eq!(place.get(&message(n, "hash")), hash);
        if n < 2 {
            place.refused(&member("reveal", 0, ""), "hash");
        }
    }
    // Other participants, or another payload, for the same label are another decision.
    let fixed = "has fixed other participants";
    place.refused(&member("commit", 0, "--participants m0,m1"), fixed);
    let elsewhere = |step: &str, n: usize, more: &str| {
        member(step, n, more).replace("--round round", "--round elsewhere")
    };
    for n in 0..2 {
        place.good(&elsewhere("open", n, "--participants m0,m1"));
    }
    place.refused(&elsewhere("commit", 0, ""), "already used");
    place.put("payload", b"block B");
    place.refused(&member("commit", 0, ""), "already used");
    fs::remove_dir_all(place.path("elsewhere")).unwrap();
    place.good(&elsewhere("open", 0, "--attempt 1 --participants m0"));
    place.refused(&elsewhere("commit", 0, "--attempt 1"), "already used");
    place.put("payload", b"what is decided");
    place.refused(&member("respond", 0, ""), "commitment");
    for n in 0..3 {
        place.good(&member("reveal", n, ""));
    }
    for n in 0..2 {
        place.good(&member("respond", n, ""));
    }
    let combine = member("combine", 0, "--out aggregate");
    place.refused(&combine, "response");
    // A response for another payload than the committed one.
    place.put("other", b"another");
    let with_payload = |step: &str, payload: &str| {
        member(step, 0, "").replace("--payload payload", &format!("--payload {payload}"))
    };
    place.refused(&with_payload("respond", "other"), "compare --payload");
    // A payload that is the message to write, or the message of another member.
    place.refused(&with_payload("open", &message(0, "opening")), "is an input");
    let before = place.get(&message(1, "commitment"));
    let payload = message(1, "commitment");
    place.good(&format!("{} --attempt 1", with_payload("open", &payload)));
    assert_eq!(place.get(&payload), before);
    place.good(&member("open", 0, ""));

    let commitment = place.get(&message(2, "commitment"));
    let mut changed = commitment.clone();
    let at = changed.len() - 6144;
    changed[at] ^= 1;
    place.put(&message(2, "commitment"), &changed);
    place.refused(&member("respond", 0, ""), "not signed");
    place.put(&message(2, "commitment"), &commitment);
    place.good(&member("respond", 2, ""));

    // A message in another member's name, and a forged one.
    let response = place.get(&message(1, "response"));
    place.put(&message(1, "response"), &place.get(&message(0, "response")));
    place.refused(&combine, "not signed");
    let mut forged = response.clone();
    let body = forged.len() - 2688;
    forged[body] ^= 1;
    place.put(&message(1, "response"), &forged);
    place.refused(&combine, "not signed");
    place.put(&message(1, "response"), &response);

    // About one attempt in thirty misses.
    let combined = place.run(&combine);
    assert!(combined.code <= 1, "{}", combined.stderr);
    if combined.code == 0 {
        place.good(&place.verify("aggregate", "--content slot-7"));
    }
    for n in 0..3 {
        place.good(&own("retire", n, "--content slot-7"));
        place.refused(&member("respond", n, ""), "already used");
    }
    // The key is used up, and the plan has no fifth attempt.
    place.refused(
        &elsewhere("commit", 0, ""),
        "message belongs to another round",
    );
    place.refused(&member("open", 0, "--attempt 4"), "no attempts left");
}

/// A junk file does not stop a step.
#[test]
fn malformed_messages_are_skipped_and_reported() {
    let place = Place::new("junk");
    place.planned([0, 1, 2, 3]);
    let last = hex::encode("m3");
    let reported = |run: &Run| run.stderr.contains("skipped") && run.stderr.contains(&last);
    for (step, directory) in [("root", "roots"), ("agree", "acknowledgements")] {
        let more = match step {
            "root" => String::new(),
            _ => format!("--expect-roots {}", place.status(1, "roots")),
        };
        for n in 0..4 {
            let run = place.good(&own(step, n, &more));
            assert!(step == "root" || reported(&run), "{}", run.stderr);
        }
        place.put(&format!("committee/epoch-1/{directory}/{last}"), b"junk");
    }
    assert!(reported(&place.good(&member("open", 0, ""))));
}

/// Files of other members are read up to a limit; pipes and devices are rejected.
#[cfg(unix)]
#[test]
fn large_and_irregular_files_are_rejected() {
    let place = Place::new("sizes");
    place.agreed(1);
    let huge = |name: &str| {
        let file = fs::File::create(place.path(name)).unwrap();
        file.set_len((1 << 26) + 1).unwrap();
    };
    let pipe = |name: &str| {
        let made = Command::new("mkfifo").arg(place.path(name)).status();
        assert!(made.unwrap().success());
    };
    let endless = |name: &str| {
        std::os::unix::fs::symlink("/dev/zero", place.path(name)).unwrap();
    };
    place.good(&member("open", 0, "--participants m0,m1"));
    for name in [
        "committee/epoch-1/acknowledgements/6d31",
        &message(1, "opening"),
        "committee/registrations/6d31",
        "committee/epoch-1/plan.json",
        "committee/registrations/another",
    ] {
        let whole = fs::read(place.path(name)).ok();
        let is_planned = name.ends_with("another");
        for (make, why) in [
            (&huge as &dyn Fn(&str), "too long"),
            (&pipe, "regular file"),
            (&endless, "regular file"),
        ] {
            let _ = fs::remove_file(place.path(name));
            make(name);
            if is_planned {
                place.run("plan --committee committee --all-registered --epoch 9 --content a");
                let _ = fs::remove_dir_all(place.path("committee/epoch-9"));
            } else {
                let run = place.run(&member("commit", 0, "--participants m0,m1"));
                assert!(run.stderr.contains(why), "{name}: {}", run.stderr);
            }
        }
        place.remove(name);
        whole.map(|whole| place.put(name, &whole));
    }
    // The text of a file is not printed.
    let plan = place.get("committee/epoch-1/plan.json");
    place.put("committee/epoch-1/plan.json", br#"{"\u001b[2J": 1}"#);
    let shown = place.refused(&member("commit", 0, ""), "not a plan");
    assert!(!shown.stderr.contains('\u{1b}'));
    place.put("committee/epoch-1/plan.json", &plan);
    // An aggregate that is longer than the expected payload allows.
    huge("alone");
    place.refused(&place.verify("alone", ""), "too long");
}

/// Two epochs with the same members and labels, and a change of members.
#[test]
fn messages_of_an_old_epoch_are_rejected() {
    let place = Place::new("epochs");
    let first = place.agreed(1);
    let round = place.signed(1, "first");
    let verify = |certificate: &str, epoch: &str| {
        let more = format!("--epoch {epoch} --content slot-7");
        place.verify(certificate, &more)
    };
    place.good(&verify("first", "1"));
    assert_ne!(first, place.agreed(2));
    let next = place.signed(2, "second");
    place.good(&verify("second", "2"));
    place.refused(&verify("first", "2"), "agreed root");
    // An opening of the first epoch, replayed in the second.
    let opening = format!("{}.opening", hex::encode("m0"));
    place.put(
        &format!("{next}/{opening}"),
        &place.get(&format!("{round}/{opening}")),
    );
    let commit =
        member("commit", 1, "--epoch 2").replace("--round round", &format!("--round {next}"));
    place.refused(&commit, "another round");

    // A closed epoch stays closed; a new seed serves later ones.
    place.good("close --store member-0 --epoch 1");
    place.refused(&own("root", 0, "--epoch 1"), "epoch is closed");
    let secret = place.get("member-0/secret");
    place.good("rotate --store member-0 --epoch 2");
    let rotated = place.get("member-0/secret");
    assert_ne!(secret[21..53], rotated[21..53]);
    assert_eq!(secret[53..85], rotated[53..85]);
    place.refused(&own("root", 0, "--epoch 2"), "epoch is closed");
    // Two of the three members and a new one.
    place.good(&own("init", 3, "--id m3"));
    let plan = "plan --committee committee --epoch 3 --members m0,m2,m3 --content slot-7";
    place.good(plan);
    place.refused(&own("root", 1, "--epoch 3"), "");
    place.each("root", [0, 2, 3], "--epoch 3");
    place.agree([0, 2, 3], 3);
}

/// A late acknowledgement split the round: members after it committed with other participants.
#[test]
fn participants_are_fixed_by_the_first_opening() {
    let place = Place::new("participants");
    for n in 0..4 {
        place.good(&own("init", n, &format!("--id m{n}")));
    }
    place.good("plan --committee committee --all-registered --content slot-7");
    place.each("root", [0, 1, 2, 3], "");
    place.agree([0, 1, 2], 1);
    place.each_member("open", [0, 1, 2]);
    place.each_member("commit", [0, 1]);
    place.agree([3], 1);
    place.each_member("commit", [2]);
    for step in ["reveal", "respond"] {
        place.each_member(step, [0, 1, 2]);
    }
    place.refused(
        &member("open", 3, "--participants m0,m1,m2,m3"),
        "other participants",
    );
    let combined = place.run(&member("combine", 3, "--out aggregate"));
    assert!(combined.code < 2, "{}", combined.stderr);
    place.put("round/cohort", b"6d3");
    place.refused(&member("respond", 0, ""), "no list of participants");
}
