//! `mldsa aggregate`: a committee at once and step by step, each step a process.
#![allow(clippy::unwrap_used, reason = "a test")]

mod tool;

use std::fs;
use std::path::{Path, PathBuf};

use fips204::ml_dsa_87::PublicKey;
use fips204::traits::{SerDes, Verifier};
use tool::{Run, mldsa};

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

    /// One step of member `n` in the first attempt.
    fn member(&self, step: &str, n: usize, more: &[&str]) -> Run {
        let (committee, store) = (self.at("committee"), self.at(&format!("member-{n}")));
        let (round, payload) = (self.at("round"), self.at("payload"));
        let args = [
            step,
            "--committee",
            &committee,
            "--store",
            &store,
            "--round",
            &round,
            "--content",
            "slot 7",
            "--ctx",
            "TEST",
            "--payload",
            &payload,
        ];
        self.step(&[&args, more].concat())
    }

    /// The aggregate verified, and its parts as ordinary ML-DSA-87.
    fn verify(&self, aggregate: &str, committee: &str, round: &str, ctx: &[u8]) -> Run {
        let paths = [
            committee, "verifier", round, aggregate, "pk", "sig", "message",
        ];
        let [committee, store, round, aggregate, pk, sig, message] =
            paths.map(|name| self.at(name));
        let run = self.step(&[
            "verify",
            "--committee",
            &committee,
            "--store",
            &store,
            "--round",
            &round,
            "--aggregate",
            &aggregate,
            "--pk-out",
            &pk,
            "--sig-out",
            &sig,
            "--message-out",
            &message,
        ]);
        if run.code == 0 {
            // To `mldsa verify` it is a signature like any other.
            let ctx_text = core::str::from_utf8(ctx).unwrap();
            let ordinary = |ctx: &str| {
                mldsa(
                    &[
                        "verify", "--key", &pk, "--sig", &sig, "--ctx", ctx, &message,
                    ],
                    b"",
                )
            };
            assert_eq!(ordinary(ctx_text).stdout, "valid\n");
            assert_eq!(ordinary("another").code, 1);
            let [pk, sig, message] = [pk, sig, message].map(|path| fs::read(path).unwrap());
            let pk = PublicKey::try_from_bytes(pk.try_into().unwrap()).unwrap();
            assert!(pk.verify(&message, &sig.try_into().unwrap(), ctx));
        }
        run
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
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains(reason), "{}", run.stderr);
}

#[test]
fn a_committee_at_once() {
    let place = Place::new("at-once");
    let (dir, payload) = (place.at("all"), place.at("payload"));
    let args = [
        "run",
        "-n",
        "5",
        "--dir",
        &dir,
        "--payload",
        &payload,
        "--ctx",
        "TEST",
    ];
    let run = place.step(&args);
    good(&run);
    assert_eq!(run.lines()[0], "signers: 5 of 5");
    let attempt = run.lines()[1].strip_prefix("attempt: ").unwrap().to_owned();
    let round = format!("all/round-{attempt}");
    let verified = place.verify("all/aggregate", "all/committee", &round, b"TEST");
    good(&verified);
    assert_eq!(verified.stdout, run.stdout);
    // 4 leaves: openings of 6,144 + 4 + 64 bytes.
    let object = fs::metadata(place.at("all/aggregate")).unwrap().len();
    let totals = [
        format!("aggregate: {object} bytes, signature 4627 of them"),
        format!(
            "for a verifier without the openings: {} bytes (31060 of openings)",
            object + 31_060
        ),
        "a list of 5 signatures: 23135 bytes".into(),
    ];
    assert_eq!(run.lines()[3..], totals);
    // Not twice into one place.
    assert_eq!(place.step(&args).code, 2);

    let mut bytes = fs::read(place.at("all/aggregate")).unwrap();
    let last = bytes.len() - 1000;
    bytes[last] ^= 1;
    fs::write(place.at("all/changed"), bytes).unwrap();
    let changed = place.verify("all/changed", "all/committee", &round, b"TEST");
    assert_eq!(changed.code, 1);
}

#[test]
fn a_committee_step_by_step() {
    let place = Place::new("steps");
    let committee = place.at("committee");
    let plan = [
        "plan",
        "--committee",
        &committee,
        "--epoch",
        "3",
        "--content",
        "slot 6",
    ];
    good(&place.step(&[&plan[..], &["--content", "slot 7"]].concat()));
    // A plan is made once.
    assert_eq!(place.step(&plan).code, 2);
    for n in 0..3 {
        let (store, id) = (place.at(&format!("member-{n}")), format!("m{n}"));
        let args = ["--committee", &committee, "--store", &store];
        good(&place.step(&[&["init"], &args[..], &["--id", &id]].concat()));
        refused(
            &place.step(&[&["init"], &args[..], &["--id", &id]].concat()),
            "one-time guard failed",
        );
        good(&place.step(&[&["root"], &args[..]].concat()));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = fs::metadata(place.at(&format!("member-{n}/secret")))
                .unwrap()
                .permissions();
            assert_eq!(mode.mode() & 0o777, 0o600);
        }
    }
    for n in 0..3 {
        good(&place.member("open", n, &[]));
    }
    // Roots are pinned now: the committee cannot grow.
    let late = place.at("member-9");
    let args = ["--committee", &committee, "--store", &late];
    good(&place.step(&[&["init"], &args[..], &["--id", "m9"]].concat()));
    refused(&place.member("commit", 0, &[]), "another list is pinned");
    let late_file = Path::new(&committee)
        .join("registrations")
        .join(hex::encode("m9"));
    fs::remove_file(late_file).unwrap();

    // No response without a commitment, no commitment without all openings.
    refused(&place.member("respond", 0, &[]), "commitment");
    for n in 0..3 {
        good(&place.member("commit", n, &[]));
        // Again the same.
        let file = Path::new(&place.at("round"))
            .join(format!("{}.commitment", hex::encode(format!("m{n}"))));
        let commitment = fs::read(&file).unwrap();
        good(&place.member("commit", n, &[]));
        assert_eq!(fs::read(&file).unwrap(), commitment);
    }
    // Another cohort for the same attempt is another decision.
    refused(
        &place.member("commit", 0, &["--cohort", "m0,m1"]),
        "already used",
    );
    for n in 0..2 {
        good(&place.member("respond", n, &[]));
    }
    let out = place.at("aggregate");
    refused(&place.member("combine", 0, &["--out", &out]), "response");

    // m2 changes its commitment afterwards and asks again.
    let file = Path::new(&place.at("round")).join(format!("{}.commitment", hex::encode("m2")));
    let commitment = fs::read(&file).unwrap();
    let mut changed = commitment.clone();
    let at = changed.len() - 6144;
    changed[at] ^= 1;
    fs::write(&file, &changed).unwrap();
    let again = place.member("respond", 0, &[]);
    assert_eq!(again.code, 2);
    assert!(again.stderr.contains("already used"), "{}", again.stderr);
    fs::write(&file, &commitment).unwrap();
    good(&place.member("respond", 2, &[]));

    // A message in another member's name.
    let response =
        |id: &str| Path::new(&place.at("round")).join(format!("{}.response", hex::encode(id)));
    let own = fs::read(response("m1")).unwrap();
    fs::write(response("m1"), fs::read(response("m0")).unwrap()).unwrap();
    refused(
        &place.member("combine", 0, &["--out", &out]),
        "unknown member",
    );
    // A response that is not its member's.
    let mut forged = own.clone();
    let body = forged.len() - 2688;
    forged[body] ^= 1;
    fs::write(response("m1"), forged).unwrap();
    refused(
        &place.member("combine", 0, &["--out", &out]),
        "contribution of m1 is wrong",
    );
    fs::write(response("m1"), own).unwrap();

    let combined = place.member("combine", 0, &["--out", &out]);
    if combined.code == 1 {
        // About one attempt in thirty: everybody gives it up.
        for n in 0..3 {
            good(&place.member("retire", n, &[]));
            refused(&place.member("respond", n, &[]), "already used");
        }
    } else {
        good(&combined);
        good(&place.verify("aggregate", "committee", "round", b"TEST"));
    }
    // Used up either way.
    refused(
        &place.member("commit", 0, &["--cohort", "m0,m1"]),
        "already used",
    );
    // A label that is not in the plan, an attempt that it does not foresee.
    refused(
        &place.member("open", 0, &["--attempt", "4"]),
        "no attempts left",
    );
}
