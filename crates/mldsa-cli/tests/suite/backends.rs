//! `mldsa backends` and `--backend`.

use crate::tool::{args, mldsa};

#[test]
fn one_backend_is_chosen_and_each_can_be() {
    let listed = mldsa(&["backends"], b"");
    assert_eq!(listed.code, 0, "{}", listed.stderr);
    let names: Vec<_> = listed
        .lines()
        .iter()
        .map(|line| line.trim_end_matches(" (chosen)").to_owned())
        .collect();
    assert_eq!(names[0], "portable");
    let chosen = |text: &str| {
        text.lines()
            .filter(|line| line.ends_with(" (chosen)"))
            .count()
    };
    assert_eq!(chosen(&listed.stdout), 1);
    assert_eq!(
        mldsa(&args!["--backend auto backends"], b"").stdout,
        listed.stdout
    );
    for name in &names {
        let pinned = mldsa(&args!["backends --backend", name], b"");
        assert_eq!(pinned.code, 0, "{}", pinned.stderr);
        assert_eq!(chosen(&pinned.stdout), 1);
        assert!(
            pinned
                .lines()
                .contains(&format!("{name} (chosen)").as_str()),
            "{}",
            pinned.stdout
        );
    }
}

#[test]
fn an_unknown_backend_is_rejected() {
    let run = mldsa(&args!["--backend abacus backends"], b"");
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("portable"), "{}", run.stderr);
}
