//! `mldsa aggregate`: members in processes of their own, with one command each and step by step.

mod evidence;
#[cfg(unix)]
mod hostile;
mod kills;
mod members;
mod pins;
mod results;
mod steps;
mod stores;
#[cfg(target_os = "linux")]
mod tcp;
mod trust;

use core::ops::Deref;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::tool::{Folder, Run, args, mldsa};

/// The commands under `aggregate step`.
const STEPS: [&str; 9] = [
    "init", "plan", "root", "open", "commit", "reveal", "respond", "retire", "combine",
];

/// A folder in which commands run: `committee`, `member-N`, `round`, `payload`.
struct Place(Folder);

impl Deref for Place {
    type Target = Folder;

    fn deref(&self) -> &Folder {
        &self.0
    }
}

impl Place {
    fn new(name: &str) -> Self {
        let folder = Folder::new(&format!("aggregate-{name}"));
        folder.put("payload", b"what is decided");
        Self(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.0.join(name)
    }

    fn exists(&self, name: &str) -> bool {
        self.path(name).exists()
    }

    fn remove(&self, name: &str) {
        fs::remove_file(self.path(name)).unwrap();
    }

    fn rename(&self, from: &str, to: &str) {
        fs::rename(self.path(from), self.path(to)).unwrap();
    }

    /// A command or a step, its arguments separated by spaces.
    fn command(&self, args: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mldsa"));
        let step = args.split_whitespace().next();
        let step = STEPS.iter().any(|name| Some(*name) == step);
        command
            .arg("aggregate")
            .args(step.then_some("step"))
            .args(args.split_whitespace())
            .current_dir(self.path(""));
        command.stdin(Stdio::null());
        command
    }

    fn run(&self, args: &str) -> Run {
        Run::from(self.command(args).output().unwrap())
    }

    fn good(&self, args: &str) -> Run {
        let run = self.run(args);
        assert_eq!(run.code, 0, "{args}: {}", run.stderr);
        run
    }

    /// Runs steps of members that have to succeed.
    fn each<const N: usize>(&self, step: &str, members: [usize; N], more: &str) {
        for n in members {
            self.good(&own(step, n, more));
        }
    }

    /// Runs a step of the first attempt.
    fn each_member<const N: usize>(&self, step: &str, members: [usize; N]) {
        for n in members {
            self.good(&member(step, n, ""));
        }
    }

    /// Runs a step that has to end with a code and a message.
    fn fails(&self, code: i32, args: &str, why: &str) -> Run {
        let run = self.run(args);
        assert_eq!(run.code, code, "{args}: {}", run.stderr);
        assert!(run.stderr.contains(why), "{args}: {}", run.stderr);
        run
    }

    fn refused(&self, args: &str, why: &str) -> Run {
        self.fails(2, args, why)
    }

    fn invalid(&self, args: &str, why: &str) {
        self.fails(1, args, why);
    }

    /// Runs a step with a closed standard output, which has to fail.
    #[cfg(unix)]
    fn with_closed_output(&self, args: &str) {
        let (reader, closed) = std::io::pipe().unwrap();
        drop(reader);
        let run = self.command(args).stdout(closed).output().unwrap();
        assert_eq!(run.status.code(), Some(2), "{args}");
    }

    /// Runs several `init` at the same time; whether each succeeds.
    fn race<const N: usize>(&self, inits: [String; N]) -> [bool; N] {
        let children = inits.map(|args| {
            let mut command = self.command(&format!("init --committee committee {args}"));
            command.stderr(Stdio::null()).spawn().unwrap()
        });
        children.map(|mut child| child.wait().unwrap().success())
    }

    /// Makes `N` members and a plan.
    fn planned<const N: usize>(&self, members: [usize; N]) {
        for n in members {
            self.good(&own("init", n, &format!("--id m{n}")));
        }
        self.good("plan --committee committee --all-registered --content slot-7");
    }

    /// Brings three members up to the agreement on the roots of an epoch; returns its digest.
    fn agreed(&self, epoch: usize) -> String {
        if epoch == 1 {
            for n in 0..3 {
                self.good(&own("init", n, &format!("--id m{n}")));
            }
        }
        let plan = format!(
            "plan --committee committee --epoch {epoch} --all-registered --quorum 1 --content slot-6"
        );
        self.good(&format!("{plan} --content slot-7"));
        self.refused(&format!("{plan} --content slot-7"), "exists");
        self.each("root", [0, 1, 2], &format!("--epoch {epoch}"));
        self.agree([0, 1, 2], epoch);
        self.status(epoch, "roots")
    }

    /// All members compare and acknowledge the list of roots.
    fn agree<const N: usize>(&self, members: [usize; N], epoch: usize) {
        let digest = self.status(epoch, "roots");
        let expected = format!("--epoch {epoch} --expect-roots {digest}");
        self.each("agree", members, &expected);
    }

    /// A line of `status`.
    fn status(&self, epoch: usize, line: &str) -> String {
        let shown = self.good(&format!(
            "status --committee committee --store absent --epoch {epoch}"
        ));
        let lines = shown.lines();
        let line = lines
            .iter()
            .find_map(|text| text.strip_prefix(&format!("{line}: ")));
        line.unwrap().to_owned()
    }

    /// `verify` with a store of its own and the identity that the plan names.
    fn verify(&self, certificate: &str, more: &str) -> String {
        let epoch = more.split("--epoch ").nth(1).unwrap_or("1");
        let epoch = epoch.split_whitespace().next().unwrap().parse().unwrap();
        let identity = self.status(epoch, "committee");
        verify(certificate, &format!("--identity {identity} {more}"))
    }

    /// Runs attempts of three members until one succeeds; returns its directory.
    fn signed(&self, epoch: usize, out: &str) -> String {
        self.signed_by([0, 1, 2], epoch, out).0
    }

    /// Runs attempts of `members` alone until one succeeds, as one in thirty misses. Returns its
    /// directory and its arguments.
    fn signed_by<const N: usize>(
        &self,
        members: [usize; N],
        epoch: usize,
        out: &str,
    ) -> (String, String) {
        let participants = format!(
            "--participants {}",
            members.map(|n| format!("m{n}")).join(",")
        );
        for attempt in 0..4 {
            let round = format!("round-{epoch}-{attempt}");
            let of_attempt = format!("--epoch {epoch} --attempt {attempt} --content slot-7");
            let more =
                format!("{of_attempt} --round {round} --ctx TEST --payload payload {participants}");
            for step in ["open", "commit", "reveal", "respond"] {
                self.each(step, members, &more);
            }
            let combined = self.run(&own("combine", members[0], &format!("{more} --out {out}")));
            if combined.code == 0 {
                return (round, more);
            }
            assert_eq!(combined.code, 1, "{}", combined.stderr);
            self.each("retire", members, &of_attempt);
        }
        panic!("four misses in a row");
    }
}

/// A step of member `n`.
fn own(step: &str, n: usize, more: &str) -> String {
    format!("{step} --committee committee --store member-{n} {more}")
}

/// A step of member `n` in the first attempt.
fn member(step: &str, n: usize, more: &str) -> String {
    let attempt = "--round round --payload payload --content slot-7 --ctx TEST";
    own(step, n, &format!("{attempt} {more}"))
}

/// `verify` with a store of its own.
fn verify(certificate: &str, more: &str) -> String {
    format!(
        "verify --committee committee --store verifier --certificate {certificate} \
         --payload payload --ctx TEST {more}"
    )
}
