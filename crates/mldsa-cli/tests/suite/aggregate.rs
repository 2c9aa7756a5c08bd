//! `mldsa aggregate`: a committee at once and step by step, each step a process.

use std::fs;
use std::path::{Path, PathBuf};

use fips204::ml_dsa_87::PublicKey;
use fips204::traits::{SerDes, Verifier};

use crate::tool::{Run, args, mldsa};

/// A directory of its own, removed afterwards.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("mldsa-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir(&path).unwrap();
        fs::write(path.join("payload"), b"what is decided").unwrap();
        Self(path)
    }

    fn at(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().into()
    }

    /// Runs a step of `aggregate`.
    fn step(&self, args: &[&str]) -> Run {
        mldsa(&[&["aggregate"], args].concat(), b"")
    }

    /// A step whose standard output nobody reads.
    #[cfg(unix)]
    fn unheard(&self, args: &[&str]) {
        let (reader, closed) = std::io::pipe().unwrap();
        drop(reader);
        let mut step = std::process::Command::new(env!("CARGO_BIN_EXE_mldsa"));
        let run = step.arg("aggregate").args(args).stdout(closed).output();
        assert_eq!(run.unwrap().status.code(), Some(2), "{args:?}");
    }

    /// Several `init` at the same time: who succeeds.
    fn race<const N: usize>(&self, inits: [&[&str]; N]) -> [bool; N] {
        let committee = self.at("committee");
        let both = inits.map(|args| {
            std::process::Command::new(env!("CARGO_BIN_EXE_mldsa"))
                .args(args!["aggregate init --committee", &committee])
                .args(args)
                .stdout(std::process::Stdio::null())
                .stderr(std::process::Stdio::null())
                .spawn()
                .unwrap()
        });
        both.map(|mut one| one.wait().unwrap().success())
    }

    /// A step that has the committee's directory and the store of member `n`.
    fn own(&self, step: &str, n: usize, more: &[&str]) -> Run {
        let (committee, store) = (self.at("committee"), self.at(&format!("member-{n}")));
        let args = [step, "--committee", &committee, "--store", &store];
        self.step(&[&args, more].concat())
    }

    /// One step of member `n` in the first attempt.
    fn member(&self, step: &str, n: usize, more: &[&str]) -> Run {
        let (round, payload) = (self.at("round"), self.at("payload"));
        let args = ["--round", &round, "--payload", &payload];
        let args = [
            &args[..],
            &args!["--content", &"slot 7", "--ctx TEST"],
            more,
        ];
        self.own(step, n, &args.concat())
    }

    /// Three members up to the agreement on the roots of an epoch: returns its digest.
    fn agreed(&self, epoch: &str) -> String {
        if epoch == "1" {
            for n in 0..3 {
                good(&self.own("init", n, &["--id", &format!("m{n}")]));
            }
        }
        let committee = self.at("committee");
        let plan = args!["plan --committee", &committee, "--epoch", epoch];
        let contents = ["--content", "slot 6", "--content", "slot 7"];
        good(&self.step(&[&plan[..], &contents].concat()));
        // A plan is made once.
        assert_eq!(self.step(&[&plan[..], &contents].concat()).code, 2);
        for n in 0..3 {
            good(&self.own("root", n, &["--epoch", epoch]));
        }
        let agreed = self.own("agree", 0, &["--epoch", epoch]);
        good(&agreed);
        let digest = agreed.lines()[0]
            .strip_prefix("roots: ")
            .unwrap()
            .to_owned();
        for n in 0..3 {
            good(&self.own("agree", n, &["--epoch", epoch, "--expect-roots", &digest]));
        }
        digest
    }

    /// The whole of a round that succeeds, attempt after attempt: its directory.
    fn signed(&self, epoch: &str, out: &str) -> String {
        for attempt in 0..4 {
            let name = format!("round-{epoch}-{attempt}");
            let (round, number, out) = (self.at(&name), attempt.to_string(), self.at(out));
            let step = |step: &str, n: usize, more: &[&str]| {
                let args = ["--epoch", epoch, "--round", &round, "--attempt", &number];
                let payload = self.at("payload");
                let subject = args!["--content", &"slot 7", "--ctx TEST --payload", &payload];
                self.own(step, n, &[&args[..], &subject, more].concat())
            };
            for part in ["open", "commit", "respond"] {
                for n in 0..3 {
                    good(&step(part, n, &[]));
                }
            }
            let combined = step("combine", 0, &["--out", &out]);
            if combined.code == 0 {
                return name;
            }
            assert_eq!(combined.code, 1, "{}", combined.stderr);
            for n in 0..3 {
                good(&step("retire", n, &[]));
            }
        }
        panic!("four misses in a row");
    }

    /// What a verifier with a store of its own says; `more` is its policy and what else
    /// it expects.
    fn verify(&self, aggregate: &str, committee: &str, round: &str, more: &[&str]) -> Run {
        let paths = [committee, "verifier", round, aggregate, "payload"];
        let [committee, store, round, aggregate, payload] = paths.map(|name| self.at(name));
        let args = args!["verify --committee", &committee, "--store", &store];
        let files = ["--round", &round, "--aggregate", &aggregate];
        let expected = args!["--payload", &payload, "--ctx TEST"];
        self.step(&[&args[..], &files, &expected, more].concat())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn good(run: &Run) {
    assert_eq!(run.code, 0, "{}", run.stderr);
}

fn refused(run: &Run, reason: &str) {
    assert_eq!(run.code, 2, "{}", run.stderr);
    assert!(run.stderr.contains(reason), "{}", run.stderr);
}

fn invalid(run: &Run, reason: &str) {
    assert_eq!(run.code, 1, "{}", run.stderr);
    assert!(run.stderr.contains(reason), "{}", run.stderr);
}

/// A typing error left a whole committee behind, or was about no file at all.
#[test]
fn what_cannot_be_run_says_why_and_leaves_nothing() {
    let place = Place::new("not-run");
    let (dir, payload) = (place.at("all"), place.at("payload"));
    let long = "x".repeat(256);
    let nowhere = place.at("nowhere/all");
    for (dir, payload, more, why) in [
        (&nowhere, &payload, [].as_slice(), &*nowhere),
        (&payload, &payload, &[], &payload),
        (&dir, &nowhere, &[], &nowhere),
        (&dir, &payload, &args!["--content", &""], "content label"),
        (&dir, &payload, &["--ctx", &long], "255 bytes"),
        (
            &dir,
            &payload,
            &["--consensus", "--ctx", &long[32..]],
            "223 bytes",
        ),
    ] {
        let args = args!["run --dir", dir, "--payload", payload];
        refused(&place.step(&[&args[..], more].concat()), why);
        assert!(!Path::new(dir).is_dir());
    }
    let args = args!["aggregate run -n 2 --dir", &dir, "--payload -"];
    let run = mldsa(&args, b"what is decided");
    good(&run);
    assert!(run.stdout.contains("payload: SHA-256 847fb2c3"));
}

/// Whatever the umask is, and if there is a directory already.
#[cfg(unix)]
#[test]
fn a_store_is_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new("owner");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let init = |name: &str| {
        let mut shell = std::process::Command::new("sh");
        shell.args([
            "-c",
            "umask 000; exec \"$@\"",
            "sh",
            env!("CARGO_BIN_EXE_mldsa"),
        ]);
        shell.args(args!["aggregate init --committee", &place.at("committee")]);
        shell.args(["--store", &place.at(name), "--id", name]);
        shell.output().unwrap()
    };
    for (name, before, after) in [
        ("new", None, Some(0o700)),
        ("empty", Some((0o777, false)), Some(0o700)),
        ("readable", Some((0o755, true)), Some(0o755)),
        ("writable", Some((0o775, true)), None),
    ] {
        let store = place.0.join(name);
        if let Some((mode, has_file)) = before {
            fs::create_dir(&store).unwrap();
            if has_file {
                fs::write(store.join("file"), b"").unwrap();
            }
            fs::set_permissions(&store, fs::Permissions::from_mode(mode)).unwrap();
        }
        let run = init(name);
        let Some(after) = after else {
            assert_eq!(run.status.code(), Some(2));
            let why = String::from_utf8(run.stderr).unwrap();
            assert!(why.contains(name) && why.contains("chmod 700"), "{why}");
            assert_eq!(fs::read_dir(&store).unwrap().count(), 1);
            continue;
        };
        assert!(run.status.success());
        assert_eq!(mode(&store), after);
        for file in ["secret", "guard-0.log", "guard-0.mark"] {
            assert_eq!(mode(&store.join(file)), 0o600, "{file}");
        }
    }
    refused(&place.own("init", 0, &args!["--id", &""]), "1 to 64 bytes");
    assert!(!Path::new(&place.at("member-0")).exists());
}

#[test]
fn a_committee_at_once() {
    let place = Place::new("at-once");
    let (dir, payload) = (place.at("all"), place.at("payload"));
    let args = args!["run -n 5 --dir", &dir, "--payload", &payload, "--ctx TEST"];
    let run = place.step(&args);
    good(&run);
    let names = "member-0000 member-0001 member-0002 member-0003 member-0004";
    assert_eq!(run.lines()[0], format!("signers: 5 of 5: {names}"));
    let attempt = run.lines()[3].strip_prefix("attempt: ").unwrap().to_owned();
    let round = format!("all/round-{attempt}");
    let verify =
        |aggregate: &str, more: &[&str]| place.verify(aggregate, "all/committee", &round, more);
    let outputs = ["pk", "sig", "message", "ctx"].map(|name| place.at(name));
    let [pk, sig, message, ctx] = &outputs;
    let out = [
        "--pk-out",
        pk,
        "--sig-out",
        sig,
        "--message-out",
        message,
        "--ctx-out",
        ctx,
    ];
    let verified = verify("all/aggregate", &args!["--quorum 5", ..out]);
    good(&verified);
    assert_eq!(verified.stdout, run.stdout);
    // 8 leaves, one content with room for a silent member: 6,144 + 4 + 96 bytes.
    let object = fs::metadata(place.at("all/aggregate")).unwrap().len();
    let totals = [
        format!("aggregate: {object} bytes, signature 4627 of them"),
        format!(
            "for a verifier without the openings: {} bytes (31220 of openings)",
            object + 31_220
        ),
        "a list of 5 signatures: 23135 bytes".into(),
    ];
    assert_eq!(run.lines()[5..], totals);
    // A result on standard output is alone there.
    let verify_to_stdout = |option: &str| {
        let paths = [
            "all/committee",
            "verifier",
            &round,
            "all/aggregate",
            "payload",
        ];
        let [committee, store, round, aggregate, payload] = paths.map(|name| place.at(name));
        std::process::Command::new(env!("CARGO_BIN_EXE_mldsa"))
            .args(args![
                "aggregate verify --committee",
                &committee,
                "--store",
                &store
            ])
            .args([
                "--round",
                &round,
                "--aggregate",
                &aggregate,
                "--payload",
                &payload,
            ])
            .args(args!["--ctx TEST --quorum 5", option, "-"])
            .output()
            .unwrap()
    };
    let output = verify_to_stdout("--sig-out");
    assert_eq!(output.stdout, fs::read(sig).unwrap());
    assert_eq!(output.stderr, run.stdout.as_bytes());
    // To `mldsa verify` it is a signature like any other.
    let ordinary = |ctx: &str| {
        let args = args!["verify --key", pk, "--sig", sig, "--ctx", ctx, message];
        mldsa(&args, b"")
    };
    assert_eq!(ordinary("TEST").stdout, "valid\n");
    assert_eq!(ordinary("another").code, 1);
    let [pk, sig, message, ctx] = outputs.each_ref().map(|path| fs::read(path).unwrap());
    let pk = PublicKey::try_from_bytes(pk.try_into().unwrap()).unwrap();
    assert!(pk.verify(&message, &sig.try_into().unwrap(), &ctx));
    // Not twice into one place.
    assert_eq!(place.step(&args).code, 2);

    let mut bytes = fs::read(place.at("all/aggregate")).unwrap();
    let last = bytes.len() - 1000;
    bytes[last] ^= 1;
    fs::write(place.at("all/changed"), bytes).unwrap();
    invalid(
        &verify("all/changed", &args!["--quorum 5"]),
        "does not verify",
    );
}

#[test]
fn nothing_is_valid_without_a_policy_and_an_expected_decision() {
    let place = Place::new("policy");
    let digest = place.agreed("1");
    // One signer of three.
    for step in ["open", "commit", "respond"] {
        good(&place.member(step, 0, &args!["--cohort m0"]));
    }
    let out = place.at("aggregate");
    let combined = place.member("combine", 0, &args!["--cohort m0 --out", &out]);
    if combined.code == 1 {
        return;
    }
    good(&combined);
    let verify = |more: &[&str]| {
        let more = [&["--content", "slot 7"], more].concat();
        place.verify("aggregate", "committee", "round", &more)
    };
    assert_eq!(verify(&[]).code, 2);
    invalid(&verify(&args!["--quorum 2"]), "too few");
    refused(&verify(&args!["--quorum 0"]), "out of range");
    refused(&verify(&args!["--threshold 1"]), "--weights <FILE>");
    refused(&verify(&args!["--quorum 4"]), "there are 3 members");
    let alone = verify(&args!["--quorum 1 --expect-roots", &digest]);
    good(&alone);
    assert_eq!(alone.lines()[0], "signers: 1 of 3: m0");
    let payload = "847fb2c33a0510a8b4f606d8392fdac8659fe657b3206b7e0f99b6d432ff4f7d";
    assert_eq!(alone.lines()[1], format!("payload: SHA-256 {payload}"));
    assert_eq!(alone.lines()[2], format!("roots: {digest}"));
    refused(
        &verify(&args!["--quorum 1 --expect-roots 00"]),
        "list of roots is",
    );
    let weights = place.at("weights");
    fs::write(&weights, "m0 5\nm1 7\n").unwrap();
    good(&verify(&args!["--weights", &weights, "--threshold 5"]));
    invalid(
        &verify(&args!["--weights", &weights, "--threshold 6"]),
        "too few",
    );
    assert_eq!(verify(&["--weights", &weights]).code, 2);
    for out in ["0", "13"] {
        let run = verify(&["--weights", &weights, "--threshold", out]);
        refused(&run, &format!("--threshold {out}: not in 1 to 12"));
    }
    let threshold = args!["--threshold 5 --weights", &weights];
    fs::write(&weights, "\u{feff}m0 5\r\n\r\nm1 7\r\n").unwrap();
    good(&verify(&threshold));
    for (text, why) in [
        (&b"m0 5\nm1 \x1b[2J\n"[..], "line 2: not a member's name"),
        (b"m0 5\nm9 7\n", "unknown member"),
        (b"m\xff 5\n", "not text"),
        (b"m0 18446744073709551615\nm1 1\n", "2^64"),
        (b"m0 0\nm1 0\n", "no weight above 0"),
    ] {
        fs::write(&weights, text).unwrap();
        let run = verify(&threshold);
        refused(&run, why);
        assert!(run.stderr.contains(&weights) && !run.stderr.contains('\u{1b}'));
    }
    fs::remove_file(&weights).unwrap();
    refused(&verify(&threshold), &weights);
    // Another payload, label, domain or kind than the expected one.
    fs::write(place.at("payload"), b"something else").unwrap();
    invalid(&verify(&args!["--quorum 1"]), "another decision");
    fs::write(place.at("payload"), b"what is decided").unwrap();
    invalid(
        &verify(&args!["--quorum 1 --consensus"]),
        "another decision",
    );
    let other = place.verify(
        "aggregate",
        "committee",
        "round",
        &args!["--quorum 1 --content", &"slot 6"],
    );
    invalid(&other, "another decision");
}

#[test]
fn a_committee_step_by_step() {
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
    // Junk is named and skipped.
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

    // To another payload than the one that everybody has committed to.
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
    // Somebody changes a commitment on its way.
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
        // About one attempt in thirty: everybody gives it up.
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

/// One junk file stopped every step.
#[test]
fn junk_in_a_member_s_name_is_skipped_and_named() {
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

/// A list that was pinned by a step that failed stood in the way of the true one.
#[test]
fn a_step_that_fails_pins_nothing() {
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
    // A store among what others write speaks for nobody; nor one that others can write into.
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
        // Nobody reads the digest.
        place.unheard(&args!["agree --committee", &committee, "--store", &store]);
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
    // Where the list goes, no result goes; nor where nothing can be.
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
    // Where nobody reads the aggregate, or what is said about it, nothing is kept.
    #[cfg(unix)]
    for to_pipe in [true, false] {
        let paths = ["unheard", "round", "payload", "unread"].map(|name| place.at(name));
        let [own, rounds, payload, result] = &paths;
        let args = args!["combine --committee", &committee, "--store", own];
        let files = args!["--round", rounds, "--payload", payload, "--ctx TEST"];
        let out = if to_pipe { "-" } else { result };
        place.unheard(&[&args[..], &files, &["--content", "slot 7", "--out", out]].concat());
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

/// The aggregate and nothing else goes to standard output.
#[test]
fn an_aggregate_can_go_to_a_pipe() {
    let place = Place::new("pipe");
    place.agreed("1");
    let alone = args!["--cohort m0"];
    for step in ["open", "commit", "respond"] {
        good(&place.member(step, 0, &alone));
    }
    let out = place.at("aggregate");
    let combined = place.member("combine", 0, &args!["--cohort m0 --out", &out]);
    if combined.code == 1 {
        return;
    }
    good(&combined);
    let [committee, store, round, payload] =
        ["committee", "member-0", "round", "payload"].map(|name| place.at(name));
    // Bytes that are no text.
    let piped = std::process::Command::new(env!("CARGO_BIN_EXE_mldsa"))
        .args(args![
            "aggregate combine --committee",
            &committee,
            "--store",
            &store
        ])
        .args([
            "--round",
            &round,
            "--payload",
            &payload,
            "--content",
            "slot 7",
        ])
        .args(args!["--ctx TEST --cohort m0 --out -"])
        .output()
        .unwrap();
    assert!(piped.status.success());
    assert_eq!(piped.stdout, fs::read(out).unwrap());
    assert!(piped.stderr.starts_with(b"signers: 1 of 3: m0"));
    // Where the report cannot be written, nothing is.
    let (reader, closed) = std::io::pipe().unwrap();
    drop(reader);
    let [verifier, aggregate, pk] = ["verifier", "aggregate", "pk"].map(|name| place.at(name));
    let verify = std::process::Command::new(env!("CARGO_BIN_EXE_mldsa"))
        .args(args!["aggregate verify --committee", &committee])
        .args(["--store", &verifier, "--round", &round])
        .args(["--aggregate", &aggregate, "--payload", &payload])
        .args(args!["--content", &"slot 7", "--ctx TEST --quorum 1"])
        .args(["--pk-out", &pk])
        .stdout(closed)
        .output()
        .unwrap();
    assert_eq!(verify.status.code(), Some(2), "{verify:?}");
    for path in [pk, verifier] {
        assert!(!Path::new(&path).exists(), "{path}");
    }
}

/// A new seed that served an epoch of the old one would acknowledge a second list in
/// its member's name.
#[test]
fn a_rotated_seed_serves_no_epoch_of_the_old_one() {
    let place = Place::new("rotation");
    place.agreed("1");
    place.agreed("2");
    let store = place.at("member-0");
    let rotate = |epoch: &str| place.step(&args!["rotate --store", &store, "--epoch", epoch]);
    // The second epoch has begun.
    refused(&rotate("1"), "epoch 2");
    good(&place.own("agree", 0, &args!["--epoch 2"]));
    good(&rotate("2"));
    let served = || {
        refused(
            &place.own("agree", 0, &args!["--epoch 2"]),
            "epoch is closed",
        )
    };
    served();
    // The power went before the new guard was there: whoever completes it, and with
    // whatever epoch, the old ones stay closed.
    for complete in ["init", "rotate"] {
        let secret = Path::new(&store).join("secret");
        let mut bytes = fs::read(&secret).unwrap();
        bytes[8] = 0;
        fs::write(&secret, bytes).unwrap();
        for name in ["log", "mark"] {
            fs::remove_file(Path::new(&store).join(format!("guard-1.{name}"))).unwrap();
        }
        refused(&place.own("agree", 0, &args!["--epoch 2"]), "incomplete");
        match complete {
            "init" => good(&place.own("init", 0, &args!["--id m0"])),
            _ => good(&rotate("1")),
        }
        served();
    }
    // What was closed is not served by the next seed either.
    good(&place.step(&args!["close --store", &store, "--epoch 7"]));
    refused(&rotate("3"), "epoch 7");
}

/// Whoever comes in between, with whatever options.
#[test]
fn a_store_is_made_and_rotated_by_one_process() {
    let place = Place::new("one");
    let committee = place.at("committee");
    fs::create_dir(place.at("card")).unwrap();
    // One store with several marks at once.
    for round in 0..6 {
        let (store, id) = (place.at(&format!("s{round}")), format!("s{round}"));
        let marks = ["a", "b", "c"].map(|n| place.at(&format!("card/{round}-{n}")));
        let args = marks
            .each_ref()
            .map(|mark| ["--store", &*store, "--id", &*id, "--mark", mark]);
        let made = place.race(args.each_ref().map(|args| &args[..]));
        assert_eq!(made.into_iter().filter(|made| *made).count(), 1);
        good(&place.step(&args!["close --store", &store, "--epoch 1"]));
    }
    let mark = place.at("card/m");
    good(&place.own("init", 0, &args!["--id m0 --mark", &mark]));
    let store = place.at("member-0");
    let rotate = |epoch: &str| place.step(&args!["rotate --store", &store, "--epoch", epoch]);
    // The next mark is somebody else's: asked for while the old seed is there.
    fs::write(place.at("card/m.1"), b"another guard's").unwrap();
    refused(&rotate("1"), "m.1: exists");
    good(&place.step(&args!["close --store", &store, "--epoch 1"]));
    fs::remove_file(place.at("card/m.1")).unwrap();
    good(&rotate("1"));
    // Killed before the secret said that all is there: nobody gives it another name or
    // another mark.
    let secret = Path::new(&store).join("secret");
    let mut bytes = fs::read(&secret).unwrap();
    bytes[8] = 0;
    fs::write(&secret, bytes).unwrap();
    let kept = fs::read(place.at("member-0/mark-path")).unwrap();
    let other = place.at("card/other");
    for (id, why) in [("wrong", "another member"), ("m0", "m.1: is the mark")] {
        refused(&place.own("init", 0, &["--id", id, "--mark", &other]), why);
        assert_eq!(fs::read(place.at("member-0/mark-path")).unwrap(), kept);
        assert_eq!(fs::read(place.at("member-0/id")).unwrap(), b"m0");
    }
    good(&rotate("2"));
    good(&place.step(&args!["close --store", &store, "--epoch 3"]));
    // Killed before there was a secret.
    fs::create_dir(place.at("begun")).unwrap();
    fs::write(place.at("begun/id"), "m9").unwrap();
    let begun = place.at("begun");
    let args = args!["init --committee", &committee, "--store", &begun, "--id"];
    refused(&place.step(&args![..args, "m8"]), "another member");
    assert_eq!(fs::read(place.at("begun/id")).unwrap(), b"m9");
    good(&place.step(&args![..args, "m9"]));
    // A secret that is elsewhere for now.
    let [secret, away] = ["begun/secret", "away"].map(|name| place.at(name));
    let files = || {
        let entries = fs::read_dir(place.at("begun")).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name());
        let mut files: Vec<_> = names.filter(|name| name != "lock").collect();
        files.sort();
        files
    };
    let before = files();
    fs::rename(&secret, &away).unwrap();
    let fresh = place.at("fresh");
    let args = args!["init --committee", &fresh, "--store", &begun, "--id m9"];
    refused(&place.step(&args), "its secret is gone");
    fs::rename(&away, &secret).unwrap();
    assert_eq!(files(), before);
    good(&place.step(&args!["close --store", &begun, "--epoch 1"]));
    // A disk without room: what is there stays as it was, and nothing comes to it.
    #[cfg(unix)]
    {
        let full = |args: &[&str]| {
            let mut shell = std::process::Command::new("sh");
            let script = "ulimit -f 0; exec \"$@\" 2>/dev/null";
            shell.args(["-c", script, "sh", env!("CARGO_BIN_EXE_mldsa"), "aggregate"]);
            assert_eq!(
                shell.args(args).status().unwrap().code(),
                Some(2),
                "{args:?}"
            );
        };
        let new = place.at("new");
        full(&args![
            "init --committee",
            &committee,
            "--store",
            &new,
            "--id new"
        ]);
        full(&args![
            "init --committee",
            &new,
            "--store",
            &place.at("new-2"),
            "--id new"
        ]);
        full(&args![
            "plan --committee",
            &committee,
            "--content",
            &"slot 7"
        ]);
        full(&args!["rotate --store", &store, "--epoch 3"]);
        for name in ["new", "new-2", "committee/epoch-1"] {
            assert!(!place.0.join(name).exists(), "{name}");
        }
    }
    good(&place.step(&args![
        "plan --committee",
        &committee,
        "--content",
        &"slot 7"
    ]));
    good(&rotate("3"));
    // A committee that cannot be made.
    let [payload, own] = ["payload/committee", "own/store"].map(|name| place.at(name));
    let args = args!["init --committee", &payload, "--store", &own, "--id m1"];
    refused(&place.step(&args), "payload/committee");
    assert!(!place.0.join("own").exists());
}

/// A name belongs to who registered it first; who was interrupted in between goes on.
#[test]
fn a_registration_is_not_replaced() {
    let place = Place::new("names");
    place.agreed("1");
    let registration = Path::new(&place.at("committee")).join("registrations/6d30");
    let first = fs::read(&registration).unwrap();
    refused(&place.own("init", 7, &args!["--id m0"]), "m0");
    assert_eq!(fs::read(&registration).unwrap(), first);
    good(&place.member("open", 0, &[]));
    // Nothing is left of who asked for it, so that another name will do.
    assert!(!Path::new(&place.at("member-7")).exists());
    good(&place.own("init", 7, &args!["--id m7"]));
    // Of two that ask at once, one has it.
    let committee = place.at("committee");
    for round in 0..6 {
        let id = format!("twin-{round}");
        let [a, b] = ["a", "b"].map(|twin| place.at(&format!("{id}-{twin}")));
        let good = place.race([&["--store", &a, "--id", &id], &["--store", &b, "--id", &id]]);
        assert!(good[0] != good[1], "{good:?}");
        // Nothing is left of the other one.
        assert_eq!([a, b].map(|store| Path::new(&store).exists()), good);
    }
    // A member of that name elsewhere speaks for nobody here.
    let (elsewhere, stranger) = (place.at("elsewhere"), place.at("stranger"));
    let its = ["--store", &stranger];
    good(&place.step(&args!["init --committee", &elsewhere, "--id m0", ..its]));
    let root = Path::new(&committee).join("epoch-1/roots/6d30");
    let before = fs::read(&root).unwrap();
    let spoken = place.step(&args!["root --committee", &committee, ..its]);
    refused(&spoken, "another key of m0");
    assert_eq!(fs::read(&root).unwrap(), before);
    // Secrets do not go where everybody's files are.
    let shared = place.step(&[
        "init",
        "--committee",
        &committee,
        "--store",
        &format!("{committee}/."),
        "--id",
        "m8",
    ]);
    refused(&shared, "name two directories");
    assert!(!Path::new(&committee).join("secret").exists());
    // Nor under any other name of it, in it or around it; if there is none yet, none is made.
    for (committee, store) in [
        ("committee", "committee/me"),
        ("committee", "committee/epoch-1"),
        ("committee", "new/../committee/registrations"),
        ("new", "other/../new"),
        ("new", "new/me"),
        ("new/registrations", "new"),
        ("member-0/shared", "member-0"),
        // A link to what is not there yet.
        #[cfg(unix)]
        ("link", "other"),
        #[cfg(unix)]
        ("link", "other/me"),
    ] {
        #[cfg(unix)]
        if committee == "link" && !place.0.join("link").is_symlink() {
            std::os::unix::fs::symlink("other", place.0.join("link")).unwrap();
        }
        let [shared, own] = [committee, store].map(|name| place.at(name));
        let args = args!["init --committee", &shared, "--store", &own, "--id m8"];
        refused(&place.step(&args), "neither in the other");
        assert!(!place.0.join("new").exists() && !place.0.join("other").exists());
        assert!(!Path::new(&own).join("id").exists() || store == "member-0");
    }
    // Killed before its registration was there, or before the guard was.
    let registered = Path::new(&place.at("committee")).join("registrations/6d39");
    good(&place.own("init", 9, &args!["--id m9"]));
    let key = |bytes: &[u8]| bytes[8 + 4 + 2..][..2592].to_vec();
    let own = fs::read(&registered).unwrap();
    let secret = Path::new(&place.at("member-9")).join("secret");
    let mut bytes = fs::read(&secret).unwrap();
    bytes[8] = 0;
    fs::write(&secret, bytes).unwrap();
    fs::remove_file(&registered).unwrap();
    good(&place.own("init", 9, &args!["--id m9"]));
    assert_eq!(key(&fs::read(&registered).unwrap()), key(&own));
    refused(&place.own("init", 9, &args!["--id m9"]), "the store exists");
}

/// Files that others put there are read as far as they can mean anything, and pipes not
/// at all.
#[cfg(unix)]
#[test]
fn files_of_any_size_and_kind_are_refused() {
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
    // What a file says does not get to the terminal.
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
fn the_next_epoch_has_other_keys_and_old_messages_are_worth_nothing() {
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

    // Closed is closed; a new seed serves none of it either, and goes on.
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
    // Two of the three go on, and somebody new.
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

/// What an operator may do to a store, and what it then does not do any more.
#[test]
fn a_store_that_lost_its_guard_signs_nothing() {
    let place = Place::new("restore");
    place.agreed("1");
    good(&place.member("open", 0, &[]));
    for n in 1..3 {
        good(&place.member("open", n, &[]));
    }
    let backup = |name: &str| fs::read(place.at(name)).unwrap();
    let log = backup("member-0/guard-0.log");
    good(&place.member("commit", 0, &[]));
    let newer = backup("member-0/guard-0.log");
    // An older log under the present mark.
    fs::write(place.at("member-0/guard-0.log"), &log).unwrap();
    refused(&place.member("commit", 0, &[]), "guard failed");
    fs::write(place.at("member-0/guard-0.log"), &newer).unwrap();
    good(&place.member("commit", 0, &[]));
    // No guard at all: neither a step nor `init` makes another.
    for name in ["member-0/guard-0.log", "member-0/guard-0.mark"] {
        fs::remove_file(place.at(name)).unwrap();
    }
    refused(&place.member("commit", 0, &[]), "make a new member");
    refused(&place.own("init", 0, &args!["--id m0"]), "the store exists");
    refused(&place.member("commit", 0, &[]), "make a new member");
    fs::remove_file(place.at("member-0/id")).unwrap();
    let mark = place.at("another-mark");
    for (id, more) in [("m0", &[][..]), ("mx", &["--mark", &mark])] {
        let run = place.own("init", 0, &[&["--id", id], more].concat());
        refused(&run, "the store exists");
    }
    for name in ["member-0/id", "member-0/mark-path"] {
        assert!(!Path::new(&place.at(name)).exists());
    }
    refused(&place.member("commit", 0, &[]), "member-0/id");
    fs::write(place.at("member-0/id"), "m0").unwrap();
    refused(&place.member("commit", 0, &[]), "make a new member");
    // Nor does another mark of one's own choice.
    refused(
        &place.own("init", 2, &args!["--id m2 --mark", &mark]),
        "the store exists",
    );
    good(&place.member("open", 2, &[]));
    // A secret of the version before, without the marker.
    let secret = backup("member-1/secret");
    fs::write(place.at("member-1/secret"), &secret[13..]).unwrap();
    refused(&place.own("init", 1, &args!["--id m1"]), "older version");

    // With the mark elsewhere, a restore of the whole store is noticed. The number of
    // the guard comes behind its name, so a directory would not be where it is.
    let elsewhere = place.at("mark-of-m9");
    for (mark, why) in [
        (place.at("member-0"), "is a directory"),
        (place.at("nowhere/mark"), "no directory that exists"),
    ] {
        refused(&place.own("init", 9, &args!["--id m9 --mark", &mark]), why);
        assert!(!Path::new(&place.at("member-9")).exists());
    }
    good(&place.own("init", 9, &args!["--id m9 --mark", &elsewhere]));
    assert!(!Path::new(&place.at("member-9/guard-0.mark")).exists());
    let log = backup("member-9/guard-0.log");
    good(&place.step(&args!["close --store", &place.at("member-9"), "--epoch 1"]));
    fs::write(place.at("member-9/guard-0.log"), &log).unwrap();
    let again = place.step(&args!["close --store", &place.at("member-9"), "--epoch 2"]);
    refused(&again, "guard failed");
    // One mark serves one store.
    let registered = |id: &str| {
        let directory = Path::new(&place.at("committee")).join("registrations");
        directory.join(hex::encode(id)).exists()
    };
    let taken = place.own("init", 8, &args!["--id m8 --mark", &elsewhere]);
    refused(&taken, "mark-of-m9.0: exists");
    assert!(!Path::new(&place.at("member-8")).exists() && !registered("m8"));
    // Of two that take one at once, one has it, and its guard is good.
    let committee = place.at("committee");
    for round in 0..6 {
        let mark = place.at(&format!("mark-{round}"));
        let names = ["a", "b"].map(|twin| format!("twin-{round}-{twin}"));
        let [a, b] = names.each_ref().map(|name| place.at(name));
        let made = place.race([
            &["--store", &a, "--id", &names[0], "--mark", &mark],
            &["--store", &b, "--id", &names[1], "--mark", &mark],
        ]);
        assert!(made[0] != made[1], "{made:?}");
        for (name, made) in names.iter().zip(made) {
            assert_eq!(registered(name), made);
            let closed = place.step(&args!["close --epoch 1 --store", &place.at(name)]);
            assert_eq!(closed.code, if made { 0 } else { 2 });
            assert_eq!(Path::new(&place.at(name)).exists(), made);
        }
        // The other one goes on with a mark of its own.
        let name = &names[usize::from(made[0])];
        let [own, mark] = [name, &format!("mark-of-{name}")].map(|name| place.at(name));
        let args = args!["init --committee", &committee, "--store", &own];
        good(&place.step(&args![..args, "--id", name, "--mark", &mark]));
    }
    // Nor is it where it would be lost with the store, or where others write.
    // The number behind its name counts.
    for (store, inside) in [
        ("member-8", "member-8/mark"),
        ("member-8", "committee/mark"),
        ("member-8", "committee/registrations/mark"),
        ("card.0", "card"),
        ("card.0/member-8", "card"),
    ] {
        let [own, mark] = [store, inside].map(|name| place.at(name));
        let args = args!["init --committee", &committee, "--store", &own];
        let run = place.step(&args![..args, "--id m8 --mark", &mark]);
        refused(&run, "a file elsewhere");
        assert!(!Path::new(&own).exists());
    }
    good(&place.own("init", 8, &args!["--id m8 --mark", &place.at("mark-of-m8")]));
}
