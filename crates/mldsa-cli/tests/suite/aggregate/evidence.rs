//! Members that sign two roots or acknowledge two lists, and the epoch that replaces theirs.

use super::members::line;
use super::stores::{make_incomplete, seal};
use super::*;

/// Makes the store `evil` of member `n` with another seed and a journal of its own.
pub(super) fn make_twin(place: &Place, n: usize) {
    fs::create_dir(place.path("evil")).unwrap();
    let mut secret = place.get(&format!("member-{n}/secret"));
    secret[30] ^= 1;
    seal(&mut secret);
    place.put("evil/secret", &secret);
    place.put("evil/id", format!("m{n}").as_bytes());
    make_incomplete(place, "evil");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::Permissions::from_mode(0o700);
        fs::set_permissions(place.path("evil"), mode).unwrap();
    }
    place.good(&format!(
        "init --committee committee --store evil --id m{n}"
    ));
}

/// One member ended an epoch for all, without evidence. It is replaced by one without that member, with
/// the stores of the others.
#[test]
fn an_epoch_without_agreement_is_replaced() {
    let place = Place::new("dead");
    for n in 0..4 {
        place.good(&own("init", n, &format!("--id m{n}")));
    }
    let plan = "plan --committee committee --members m0,m1,m2,m3 --content slot-7";
    place.good(plan);
    let identity = place.status(1, "committee");
    place.each("root", [0, 1, 2, 3], "");
    place.agree([0, 1], 1);

    // A torn first statement was kept, and no evidence was found against it.
    place.put("member-0/seen-1-root-6d33", b"MLADSAT2");
    place.good(&own("status", 0, ""));
    make_twin(&place, 3);
    let root = "committee/epoch-1/roots/6d33";
    let first = place.get(root);
    place.good("root --committee committee --store evil");
    place.agree([2], 1);
    // Member 2 has seen one list, the others have seen another.
    let shown = place.good(&own("status", 0, ""));
    assert!(
        shown
            .stderr
            .contains("m3 has signed contradicting messages"),
        "{}",
        shown.stderr
    );
    let file = line(&shown, "evidence");
    // A file name with lines of the report.
    #[cfg(unix)]
    {
        let name = "committee/epoch-1/evidence/x\nroots: 00";
        place.put(name, b"");
        assert!(
            !place
                .good(&own("status", 0, ""))
                .stdout
                .contains("roots: 00")
        );
        place.remove(name);
    }
    let repeated = place.good(&own("status", 0, ""));
    assert!(!repeated.stderr.contains("contradicting"));

    // A third party verifies it.
    let check = |file: &str, more: &str| {
        format!("evidence {file} --committee committee --store absent {more}")
    };
    let known = format!("--identity {identity}");
    let verified = place.good(&check(&file, &known));
    assert_eq!(verified.stdout, "m3 has signed contradicting messages\n");
    place.refused(&check(&file, ""), "--identity is required");
    let bytes = fs::read(place.path(&file)).unwrap();
    let mut forged = bytes.clone();
    forged[bytes.len() - 2000] ^= 1;
    place.put("forged", &forged);
    place.invalid(&check("forged", &known), "forged");
    // The same root, signed again, is none.
    place.put(root, &first);
    fs::remove_dir_all(place.path("committee/epoch-1/evidence")).unwrap();
    place.good(&own("root", 3, ""));
    place.good(&own("status", 0, ""));
    assert!(!place.exists("committee/epoch-1/evidence"));
    // Two acknowledgements.
    place.agree([3], 1);
    place.good(&own("status", 0, ""));
    let digest = place.status(1, "roots");
    place.good("root --committee committee --store evil");
    let other = place.status(1, "roots");
    assert_ne!(digest, other);
    place.good(&format!(
        "agree --committee committee --store evil --expect-roots {other}"
    ));
    let shown = place.good(&own("status", 0, ""));
    assert!(
        shown
            .stderr
            .contains("m3 has signed contradicting messages")
    );
    let evidence = fs::read_dir(place.path("committee/epoch-1/evidence")).unwrap();
    for file in evidence {
        let file = file.unwrap().path();
        place.good(&check(file.to_str().unwrap(), &known));
    }

    // The next epoch, without the last member.
    let join = |n: usize| {
        let more = "--epoch 2 --members m0,m1,m2 --content slot-7 --attempts 64";
        let mut command = place.command(&own("join", n, more));
        command.stdout(Stdio::null()).spawn().unwrap()
    };
    for mut child in [0, 1, 2].map(join) {
        assert!(child.wait().unwrap().success());
    }
    place.agree([0, 1, 2], 2);
    let sign = |n: usize| {
        let more = format!("--store member-{n} --content slot-7 --payload payload --out next-{n}");
        let mut command = place.command(&format!("sign {more}"));
        command.stdout(Stdio::null()).spawn().unwrap()
    };
    for mut child in [0, 1, 2].map(sign) {
        assert!(child.wait().unwrap().success());
    }
    let identity = place.status(2, "committee");
    let verify = "verify --committee committee --store verifier --epoch 2 --content slot-7 --payload payload";
    place.good(&format!(
        "{verify} --certificate next-2 --identity {identity}"
    ));
}
