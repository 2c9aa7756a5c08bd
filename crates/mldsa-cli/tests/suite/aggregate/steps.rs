//! Steps of an epoch and of an attempt.

use super::*;

#[test]
fn steps_make_an_aggregate() {
    let place = Place::new("steps");
    // Nothing without an agreement on the roots.
    for n in 0..3 {
        let id = format!("m{n}");
        good(&place.own("init", n, &["--id", &id]));
        refused(&place.own("init", n, &["--id", &id]), "the store exists");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let secret = place.at(&format!("member-{n}/secret"));
            let mode = fs::metadata(secret).unwrap().permissions();
            assert_eq!(mode.mode() & 0o777, 0o600);
        }
    }
    let committee = place.at("committee");
    let plan = args!["plan --committee", &committee, "--content", &"slot 7"];
    // A junk file is reported and skipped.
    fs::write(Path::new(&committee).join("registrations/junk"), b"junk").unwrap();
    let planned = place.step(&plan);
    good(&planned);
    assert!(planned.stderr.contains("skipped") && planned.stderr.contains("junk"));
    for n in 0..3 {
        good(&place.own("root", n, &[]));
    }
    fs::write(Path::new(&committee).join("epoch-1/roots/junk"), b"junk").unwrap();
    refused(&place.member("open", 0, &[]), "not acknowledged");
    for n in 0..2 {
        good(&place.own("agree", n, &[]));
    }
    refused(
        &place.own("agree", 2, &args!["--expect-roots ab"]),
        "list of roots is",
    );
    refused(&place.member("open", 0, &[]), "not acknowledged");
    good(&place.own("agree", 2, &[]));
    for n in 0..3 {
        good(&place.member("open", n, &[]));
    }
    // A registration that comes later is none of this epoch's.
    good(&place.own("init", 9, &args!["--id m9"]));
    // No response without a commitment, no commitment without all openings.
    refused(&place.member("respond", 0, &[]), "commitment");
    let message = |n: usize, part: &str| {
        Path::new(&place.at("round")).join(format!("{}.{part}", hex::encode(format!("m{n}"))))
    };
    for n in 0..3 {
        good(&place.member("commit", n, &[]));
        // Again the same.
        let commitment = fs::read(message(n, "commitment")).unwrap();
        good(&place.member("commit", n, &[]));
        assert_eq!(fs::read(message(n, "commitment")).unwrap(), commitment);
    }
    // Another cohort, or another payload, for the same label is another decision.
    refused(
        &place.member("commit", 0, &args!["--cohort m0,m1"]),
        "already used",
    );
    fs::write(place.at("payload"), b"block B").unwrap();
    refused(&place.member("commit", 0, &[]), "already used");
    good(&place.member("open", 0, &args!["--attempt 1"]));
    let alone = args!["--attempt 1 --cohort m0"];
    refused(&place.member("commit", 0, &alone), "already used");
    fs::write(place.at("payload"), b"what is decided").unwrap();
    good(&place.member("open", 0, &[]));
    for n in 0..2 {
        good(&place.member("respond", n, &[]));
    }
    let out = place.at("aggregate");
    refused(&place.member("combine", 0, &["--out", &out]), "response");

    // A response for another payload than the committed one.
    let other = place.at("other");
    fs::write(&other, b"another").unwrap();
    refused(
        &place.own(
            "respond",
            0,
            &[
                &["--round", &place.at("round"), "--payload", &other],
                &args!["--content", &"slot 7", "--ctx TEST"][..],
            ]
            .concat(),
        ),
        "compare --payload",
    );
    // A payload that is a message of a member.
    let sent = message(1, "commitment");
    let before = fs::read(&sent).unwrap();
    let (round, payload) = (place.at("round"), sent.to_str().unwrap());
    let args = [
        "--round",
        &round,
        "--payload",
        payload,
        "--content",
        "slot 7",
    ];
    let fresh = args![..args, "--attempt 1"];
    let opening = message(0, "opening");
    let own = [
        &args[..2],
        &["--payload", opening.to_str().unwrap()],
        &args[4..],
    ]
    .concat();
    refused(&place.own("open", 0, &own), "is an input");
    good(&place.own("open", 0, &fresh));
    assert_eq!(fs::read(&sent).unwrap(), before);
    good(&place.member("open", 0, &[]));

    let commitment = fs::read(message(2, "commitment")).unwrap();
    let mut changed = commitment.clone();
    let at = changed.len() - 6144 - 4627;
    changed[at] ^= 1;
    fs::write(message(2, "commitment"), &changed).unwrap();
    refused(&place.member("respond", 0, &[]), "not signed");
    fs::write(message(2, "commitment"), &commitment).unwrap();
    good(&place.member("respond", 2, &[]));

    // A message in another member's name, and one that is not its member's.
    let own = fs::read(message(1, "response")).unwrap();
    fs::copy(message(0, "response"), message(1, "response")).unwrap();
    refused(&place.member("combine", 0, &["--out", &out]), "not signed");
    let mut forged = own.clone();
    let body = forged.len() - 2688 - 4627;
    forged[body] ^= 1;
    fs::write(message(1, "response"), forged).unwrap();
    refused(&place.member("combine", 0, &["--out", &out]), "not signed");
    fs::write(message(1, "response"), own).unwrap();

    let combined = place.member("combine", 0, &["--out", &out]);
    if combined.code == 1 {
        // About one attempt in thirty misses: all members retire it.
        for n in 0..3 {
            good(&place.member("retire", n, &[]));
            refused(&place.member("respond", n, &[]), "already used");
        }
    } else {
        good(&combined);
        let more = args!["--quorum 3 --content", &"slot 7"];
        good(&place.verify("aggregate", "committee", "round", &more));
    }
    // Used up either way.
    refused(
        &place.member("commit", 0, &args!["--cohort m0,m1"]),
        "already used",
    );
    // An attempt that the plan does not foresee.
    refused(
        &place.member("open", 0, &args!["--attempt 4"]),
        "no attempts left",
    );
}

/// A junk file does not stop a step.
#[test]
fn malformed_messages_are_skipped_and_reported() {
    let place = Place::new("junk");
    for n in 0..4 {
        good(&place.own("init", n, &["--id", &format!("m{n}")]));
    }
    let committee = place.at("committee");
    good(&place.step(&args![
        "plan --committee",
        &committee,
        "--content",
        &"slot 7"
    ]));
    let last = hex::encode("m3");
    for (step, directory) in [("root", "roots"), ("agree", "acknowledgements")] {
        for n in 0..4 {
            let run = place.own(step, n, &[]);
            if step == "agree" {
                assert!(run.stderr.contains("skipped") && run.stderr.contains(&last));
            }
            good(&run);
        }
        let file = Path::new(&committee).join("epoch-1").join(directory);
        fs::write(file.join(&last), b"junk").unwrap();
    }
    let opened = place.member("open", 0, &[]);
    good(&opened);
    assert!(opened.stderr.contains("skipped") && opened.stderr.contains(&last));
}

/// Files of other members are read up to a limit; pipes are rejected.
#[cfg(unix)]
#[test]
fn large_and_irregular_files_are_rejected() {
    let place = Place::new("sizes");
    place.agreed("1");
    let committee = Path::new(&place.at("committee")).to_owned();
    let huge = |path: &Path| {
        let _ = fs::remove_file(path);
        fs::File::create(path)
            .unwrap()
            .set_len((1 << 26) + 1)
            .unwrap();
    };
    let pipe = |path: &Path| {
        let _ = fs::remove_file(path);
        let made = std::process::Command::new("mkfifo").arg(path).status();
        assert!(made.unwrap().success());
    };
    let endless = |path: &Path| {
        let _ = fs::remove_file(path);
        std::os::unix::fs::symlink("/dev/zero", path).unwrap();
    };
    good(&place.member("open", 0, &[]));
    let opening = Path::new(&place.at("round")).join(format!("{}.opening", hex::encode("m1")));
    let files = [
        committee.join("epoch-1/acknowledgements/6d31"),
        opening,
        committee.join("registrations/6d31"),
        committee.join("epoch-1/plan.json"),
        committee.join("registrations/another"),
    ];
    let alone = place.at("alone");
    for path in files {
        let whole = fs::read(&path).ok();
        for (bad, why) in [
            (&huge as &dyn Fn(&Path), "too long"),
            (&pipe, "regular file"),
            (&endless, "regular file"),
        ] {
            bad(&path);
            let run = if path.ends_with("another") {
                let shared = place.at("committee");
                let plan = args!["plan --epoch 9 --content a --committee", &shared];
                let run = place.step(&plan);
                let _ = fs::remove_dir_all(committee.join("epoch-9"));
                run
            } else {
                let cohort = args!["--cohort m0,m1"];
                place.member("commit", 0, &cohort)
            };
            assert!(
                run.stderr.contains(why) || path.ends_with("another"),
                "{}",
                run.stderr
            );
        }
        fs::remove_file(&path).unwrap();
        if let Some(whole) = whole {
            fs::write(&path, whole).unwrap();
        }
    }
    // The text of a file is not printed.
    let plan = committee.join("epoch-1/plan.json");
    let whole = fs::read(&plan).unwrap();
    fs::write(&plan, br#"{"\u001b[2J": 1}"#).unwrap();
    let shown = place.member("commit", 0, &[]);
    refused(&shown, "not a plan");
    assert!(!shown.stderr.contains('\u{1b}'));
    fs::write(&plan, whole).unwrap();
    // An aggregate that is longer than the expected payload allows.
    huge(Path::new(&alone));
    let verified = place.verify("alone", "committee", "round", &args!["--quorum 1"]);
    refused(&verified, "too long");
}

/// Two epochs with the same members and labels, and a change of members.
#[test]
fn messages_of_an_old_epoch_are_rejected() {
    let place = Place::new("epochs");
    let first = place.agreed("1");
    let round = place.signed("1", "first");
    let verify = |aggregate: &str, round: &str, epoch: &str| {
        let more = args!["--epoch", epoch, "--quorum 3 --content", &"slot 7"];
        place.verify(aggregate, "committee", round, &more)
    };
    good(&verify("first", &round, "1"));
    // The same labels again, in another epoch.
    let second = place.agreed("2");
    assert_ne!(first, second);
    let next = place.signed("2", "second");
    good(&verify("second", &next, "2"));
    assert_eq!(verify("first", &next, "2").code, 2);
    // An opening of the first epoch, replayed in the second.
    let opening = format!("{}.opening", hex::encode("m0"));
    let old = Path::new(&place.at(&round)).join(&opening);
    fs::copy(old, Path::new(&place.at(&next)).join(&opening)).unwrap();
    refused(&verify("second", &next, "2"), "another round");

    // A closed epoch stays closed; a new seed serves later ones.
    let store = place.at("member-0");
    good(&place.step(&args!["close --store", &store, "--epoch 1"]));
    refused(
        &place.own("root", 0, &args!["--epoch 1"]),
        "epoch is closed",
    );
    let secret = fs::read(place.at("member-0/secret")).unwrap();
    good(&place.step(&args!["rotate --store", &store, "--epoch 2"]));
    let rotated = fs::read(place.at("member-0/secret")).unwrap();
    assert_ne!(secret[21..53], rotated[21..53]);
    assert_eq!(secret[53..], rotated[53..]);
    refused(
        &place.own("root", 0, &args!["--epoch 2"]),
        "epoch is closed",
    );
    // Two of the three members and a new one.
    good(&place.own("init", 3, &args!["--id m3"]));
    let committee = place.at("committee");
    let plan = args!["plan --committee", &committee, "--epoch 3"];
    let rest = args!["--members m0,m2,m3 --content", &"slot 7"];
    good(&place.step(&[&plan[..], &rest].concat()));
    assert_eq!(place.own("root", 1, &args!["--epoch 3"]).code, 2);
    for step in ["root", "agree"] {
        for n in [0, 2, 3] {
            good(&place.own(step, n, &args!["--epoch 3"]));
        }
    }
}
