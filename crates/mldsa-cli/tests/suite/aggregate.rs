//! `mldsa aggregate`: a committee at once and step by step, each step a process.

mod pins;
mod run;
mod steps;
mod stores;

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

    /// Runs a step with a closed standard output, which has to fail.
    #[cfg(unix)]
    fn with_closed_output(&self, args: &[&str]) {
        let (reader, closed) = std::io::pipe().unwrap();
        drop(reader);
        let mut step = std::process::Command::new(env!("CARGO_BIN_EXE_mldsa"));
        let run = step.arg("aggregate").args(args).stdout(closed).output();
        assert_eq!(run.unwrap().status.code(), Some(2), "{args:?}");
    }

    /// Runs several `init` at the same time; whether each succeeds.
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

    /// Runs `verify` with a store of its own; `more` is the policy and further options.
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
