//! Pinned lists of failed steps.

use super::*;

/// A list pinned by a failed step would exclude the true one.
#[test]
fn failed_steps_pin_nothing() {
    let place = Place::new("pins");
    for n in 0..3 {
        good(&place.own("init", n, &["--id", &format!("m{n}")]));
    }
    let committee = place.at("committee");
    good(&place.step(&args![
        "plan --committee",
        &committee,
        "--content",
        &"slot 7"
    ]));
    let pinned = |store: &str| place.0.join(store).join("epoch-1.roots").exists();
    good(&place.own("root", 0, &[]));
    // Too early, and not the list that was read out.
    refused(&place.member("open", 0, &[]), "not acknowledged");
    refused(
        &place.own("agree", 0, &args!["--expect-roots ab"]),
        "list of roots is",
    );
    assert!(!pinned("member-0"));
    // A store in the shared directory is rejected, and one that other users can write into.
    let elsewhere = place.at("committee/member-0");
    fs::rename(place.at("member-0"), &elsewhere).unwrap();
    for step in ["root", "agree"] {
        let args = [step, "--committee", &committee, "--store", &elsewhere];
        refused(&place.step(&args), "neither in the other");
    }
    fs::rename(&elsewhere, place.at("member-0")).unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let store = place.at("member-0");
        for (mode, code) in [(0o777, 2), (0o700, 0)] {
            fs::set_permissions(&store, fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(place.own("root", 0, &[]).code, code);
        }
        // The digest cannot be printed.
        place.with_closed_output(&args!["agree --committee", &committee, "--store", &store]);
        assert!(!pinned("member-0"));
        let words = Path::new(&committee).join("epoch-1/acknowledgements");
        assert!(!words.exists());
    }
    for step in ["root", "agree"] {
        for n in 0..3 {
            good(&place.own(step, n, &[]));
        }
    }
    assert!(pinned("member-0"));
    for step in ["open", "commit", "respond"] {
        for n in 0..3 {
            good(&place.member(step, n, &[]));
        }
    }
    // A round that cannot be made, and one that is made in vain.
    let open = |round: &str, store: &str| {
        let [round, store, payload] = [round, store, "payload"].map(|name| place.at(name));
        let args = args!["open --committee", &committee, "--store", &store];
        let files = ["--round", &round, "--payload", &payload];
        assert_eq!(
            place
                .step(&[&args[..], &files, &["--content", "slot 7"]].concat())
                .code,
            2
        );
        assert!(!place.0.join("new").exists());
    };
    open("payload/round", "member-0");
    open("new/round", "payload/store");
    open("new/round", "stranger");
    assert!(!place.0.join("stranger").exists());
    let out = place.at("aggregate");
    let combiner = |more: &[&str]| {
        let (store, round, payload) =
            (place.at("combiner"), place.at("round"), place.at("payload"));
        let args = args!["combine --committee", &committee, "--store", &store];
        let subject = [
            "--round",
            &round,
            "--payload",
            &payload,
            "--content",
            "slot 7",
        ];
        place.step(&[&args[..], &subject, &["--out", &out], more].concat())
    };
    // Results at the path of the list, and at impossible paths.
    let combine = |store: &str, round: &str, out: &str, why: &str| {
        let paths = [store, round, "payload", out].map(|name| place.at(name));
        let [own, rounds, payload, result] = &paths;
        let args = args!["combine --committee", &committee, "--store", own];
        let files = ["--round", rounds, "--payload", payload, "--out", result];
        let subject = args!["--content", &"slot 7", "--ctx TEST"];
        refused(&place.step(&[&args[..], &files, &subject].concat()), why);
        assert!(!place.0.join("new").exists() && !pinned(store));
    };
    combine("new/store", "round", "new", "list of roots is kept");
    combine("combiner", "round", "nowhere/aggregate", "nowhere");
    combine("combiner", "round", "payload/aggregate", "ot a directory");
    combine("combiner", "new/round/7", "aggregate", "new/round/7");
    combine("combiner", "new/round/7", "nowhere/aggregate", "nowhere");
    combine("combiner", "round", "new/.", "is a directory");
    for store in ["round", "round/own", "committee", "committee/epoch-1"] {
        combine(store, "round", "aggregate", "neither in the other");
    }
    // Without the domain it is another decision: another challenge.
    assert_eq!(combiner(&[]).code, 2);
    assert!(!place.0.join("combiner").exists());
    let payload = fs::read(place.at("payload")).unwrap();
    fs::write(&out, b"something").unwrap();
    refused(&combiner(&args!["--ctx TEST"]), "aggregate: exists\n");
    fs::remove_file(&out).unwrap();
    assert!(!place.0.join("combiner").exists());
    let combined = combiner(&args!["--ctx TEST"]);
    if combined.code == 1 {
        assert!(!place.0.join("combiner").exists());
        return;
    }
    good(&combined);
    assert!(pinned("combiner"));
    // If the aggregate or the report cannot be written, nothing is pinned.
    #[cfg(unix)]
    for to_pipe in [true, false] {
        let paths = ["unheard", "round", "payload", "unread"].map(|name| place.at(name));
        let [own, rounds, payload, result] = &paths;
        let args = args!["combine --committee", &committee, "--store", own];
        let files = args!["--round", rounds, "--payload", payload, "--ctx TEST"];
        let out = if to_pipe { "-" } else { result };
        place.with_closed_output(
            &[&args[..], &files, &["--content", "slot 7", "--out", out]].concat(),
        );
        assert!(!Path::new(own).exists() && !Path::new(result).exists());
    }
    let verify = |more: &[&str]| {
        let more = [&["--content", "slot 7"], more].concat();
        place.verify("aggregate", "committee", "round", &more)
    };
    let opening = place
        .0
        .join("round")
        .join(format!("{}.opening", hex::encode("m1")));
    let whole = fs::read(&opening).unwrap();
    fs::remove_file(&opening).unwrap();
    assert_eq!(verify(&args!["--quorum 3"]).code, 2);
    fs::write(&opening, whole).unwrap();
    assert_eq!(verify(&args!["--quorum 4"]).code, 2);
    fs::write(place.at("payload"), b"something else").unwrap();
    assert_eq!(verify(&args!["--quorum 3"]).code, 1);
    fs::write(place.at("payload"), payload).unwrap();
    let [pk, nowhere] = ["pk", "nowhere/sig"].map(|name| place.at(name));
    let results = ["--pk-out", &pk, "--sig-out", &nowhere];
    refused(&verify(&args!["--quorum 3", ..results]), &nowhere);
    assert!(!Path::new(&pk).exists());
    let [verifier, round] = ["verifier", "verifier/round"].map(|name| place.at(name));
    let args = args!["verify --committee", &committee, "--store", &verifier];
    let files = ["--aggregate", &out, "--payload", &place.at("payload")];
    let rest = args!["--round", &round, "--ctx TEST --quorum 3"];
    let run = place.step(&[&args[..], &files, &rest, &["--content", "slot 7"]].concat());
    refused(&run, "neither in the other");
    let results = ["--pk-out", &pk, "--sig-out", &verifier];
    let own = verify(&args!["--quorum 3", ..results]);
    refused(&own, "list of roots is kept");
    assert!(own.stdout.is_empty() && !Path::new(&pk).exists());
    let folder = place.at("folder/");
    let results = ["--pk-out", &pk, "--sig-out", &folder];
    let nowhere = verify(&args!["--quorum 3", ..results]);
    refused(&nowhere, "is a directory");
    assert!(nowhere.stdout.is_empty() && !Path::new(&pk).exists());
    assert!(!place.0.join("verifier").exists());
    good(&verify(&args!["--quorum 3"]));
    assert!(pinned("verifier"));
}
