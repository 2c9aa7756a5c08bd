//! Pinned lists of failed steps.

use super::*;

/// A list pinned by a failed step would exclude the true one.
#[test]
fn failed_steps_pin_nothing() {
    let place = Place::new("pins");
    place.planned([0, 1, 2]);
    let pinned = |store: &str| place.exists(&format!("{store}/epoch-1.roots"));
    place.good(&own("root", 0, ""));
    // Too early, and not the expected list.
    place.refused(&member("open", 0, ""), "not trusted");
    place.refused(&own("agree", 0, "--expect-roots ab"), "list of roots is");
    assert!(!pinned("member-0"));
    // A store in the shared directory is rejected, and one that other users can write into.
    place.rename("member-0", "committee/member-0");
    for step in ["root", "agree"] {
        let args = format!("{step} --committee committee --store committee/member-0");
        place.refused(&args, "neither in the other");
    }
    place.rename("committee/member-0", "member-0");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        for (mode, code) in [(0o777, 2), (0o700, 0)] {
            let mode = fs::Permissions::from_mode(mode);
            fs::set_permissions(place.path("member-0"), mode).unwrap();
            place.fails(code, &own("root", 0, ""), "");
        }
        // The digest cannot be printed.
        let digest = place.status(1, "roots");
        place.with_closed_output(&own("agree", 0, &format!("--expect-roots {digest}")));
        assert!(!pinned("member-0") && !place.exists("committee/epoch-1/acknowledgements"));
    }
    place.each("root", [0, 1, 2], "");
    place.agree([0, 1, 2], 1);
    assert!(pinned("member-0"));
    let (round, attempt) = place.signed_by([0, 1, 2], 1, "first");
    // A round that cannot be made, and rounds for stores that cannot be read.
    for (other, store) in [
        ("payload/round", "member-0"),
        ("new/round", "payload/store"),
        ("new/round", "stranger"),
    ] {
        let open = own("open", 0, &attempt).replace(&round, other);
        place.refused(&open.replace("member-0", store), "");
        assert!(!place.exists("new") && !place.exists("stranger"));
    }
    // Results at the path of the list, and at impossible paths.
    let identity = place.status(1, "committee");
    let combine = |store: &str, of: &str, out: &str| {
        let attempt = attempt.replace(&round, of);
        format!(
            "combine --committee committee --store {store} {attempt} --out {out} --identity {identity}"
        )
    };
    let kept_apart = "neither in the other";
    for (store, of, out, why) in [
        ("new/store", &*round, "new", "list of roots is kept"),
        ("combiner", &round, "nowhere/aggregate", "nowhere"),
        ("combiner", &round, "payload/aggregate", "ot a directory"),
        ("combiner", "new/round/7", "aggregate", "new/round/7"),
        ("combiner", "new/round/7", "nowhere/aggregate", "nowhere"),
        ("combiner", &round, "new/.", "is a directory"),
        (&round, &round, "aggregate", kept_apart),
        (&format!("{round}/own"), &round, "aggregate", kept_apart),
        ("committee", &round, "aggregate", kept_apart),
        ("committee/epoch-1", &round, "aggregate", kept_apart),
    ] {
        place.refused(&combine(store, of, out), why);
        assert!(!place.exists("new") && !pinned(store));
    }
    // Without the domain it is another decision with another challenge.
    let combiner = combine("combiner", &round, "aggregate");
    place.refused(&combiner.replace("--ctx TEST", ""), "");
    place.put("aggregate", b"something");
    place.refused(&combiner, "aggregate: exists\n");
    place.remove("aggregate");
    assert!(!place.exists("combiner"));
    place.good(&combiner);
    assert!(pinned("combiner"));
    // If the aggregate or the report cannot be written, nothing is pinned.
    #[cfg(unix)]
    for out in ["-", "unread"] {
        place.with_closed_output(&combine("unheard", &round, out));
        assert!(!place.exists("unheard") && !place.exists("unread"));
    }
    let verify = |more: &str| place.verify("aggregate", &format!("--content slot-7 {more}"));
    place.put("payload", b"something else");
    place.invalid(&verify(""), "another task");
    place.put("payload", b"what is decided");
    for (result, why) in [
        ("nowhere/sig", "nowhere/sig"),
        ("verifier", "list of roots is kept"),
        ("folder/", "is a directory"),
    ] {
        let run = place.refused(&verify(&format!("--pk-out pk --sig-out {result}")), why);
        assert!(run.stdout.is_empty() && !place.exists("pk") && !place.exists("verifier"));
    }
    place.good(&verify(""));
    assert!(pinned("verifier"));
}
