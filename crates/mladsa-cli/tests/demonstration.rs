//! Members with the command line: two epochs, a disturbed directory, a silent member, users of their own,
//! and refused stores and certificates.
#![allow(clippy::unwrap_used, reason = "a test")]

use core::time::Duration;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn command(&self, args: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mladsa"));
        command.current_dir(self.0.path()).args(args.split(' '));
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn run(&self, args: &str) -> Output {
        self.command(args).output().unwrap()
    }

    fn good(&self, args: &str) -> String {
        let output = self.run(args);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{args}: {text}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Registrations of four members for an epoch, and their committee. Returns its identity.
    fn committee(&self, epoch: u64) -> String {
        for n in 0..4 {
            self.good(&format!(
                "keygen --store m{n} --id m{n} --epoch {epoch} --out m{n}.reg"
            ));
        }
        let text = self.good(&format!(
            "committee --epoch {epoch} --out committee m0.reg m1.reg m2.reg m3.reg"
        ));
        assert!(text.contains("member: m3 weight 1") && text.contains("threshold: 3"));
        text.lines()
            .next()
            .unwrap()
            .strip_prefix("identity: ")
            .unwrap()
            .to_owned()
    }

    /// The members sign at the same time; all must succeed.
    fn sign(&self, members: &[usize], slot: u32, identity: &str, disturb: impl FnOnce(&Path)) {
        let shared = self.at("shared");
        let started: Vec<_> = members
            .iter()
            .map(|n| {
                let args = format!(
                    "sign --store m{n} --committee committee --identity {identity} --slot {slot} \
                     --payload payload --directory shared --timeout 4 --out certificate.{n}"
                );
                self.command(&args).spawn().unwrap()
            })
            .collect();
        disturb(&shared);
        for (n, child) in members.iter().zip(started) {
            let output = child.wait_with_output().unwrap();
            let text = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(0), "m{n}: {text}");
        }
    }

    fn verdict(&self, slot: u32, identity: &str, certificate: &str) -> (Option<i32>, String) {
        let output = self.run(&format!(
            "verify --committee committee --identity {identity} --slot {slot} --payload payload {certificate}"
        ));
        (
            output.status.code(),
            String::from_utf8(output.stdout).unwrap(),
        )
    }
}

/// The first `count` messages or more, once they have appeared.
fn messages(directory: &Path, count: usize) -> Vec<PathBuf> {
    loop {
        let entries = fs::read_dir(directory).into_iter().flatten();
        let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
        let paths: Vec<_> = paths
            .filter(|path| path.extension().is_some_and(|e| e.len() == 64))
            .collect();
        if paths.len() >= count {
            return paths;
        }
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn four_members_sign() {
    let folder = Folder::new();
    fs::write(folder.at("payload"), b"block 77").unwrap();
    let identity = folder.committee(1);
    // Of the first messages that appear, one is overwritten, one removed, one replaced by a directory
    // and one by a pipe.
    folder.sign(&[0, 1, 2, 3], 0, &identity, |directory| {
        let files = messages(directory, 4);
        fs::write(&files[0], b"junk").unwrap();
        for file in &files[1..4] {
            fs::remove_file(file).unwrap();
        }
        fs::create_dir(&files[2]).unwrap();
        #[cfg(unix)]
        {
            let made = Command::new("mkfifo").arg(&files[3]).status();
            assert!(made.unwrap().success());
        }
    });
    for n in 0..4 {
        let (code, text) = folder.verdict(0, &identity, &format!("certificate.{n}"));
        assert!(
            code == Some(0) && text.starts_with("valid, signed by"),
            "{text}"
        );
    }
    // A slot decides once: a member that is asked again ends at once, with the reason.
    fs::write(folder.at("other"), b"block 78").unwrap();
    let again = folder.run(&format!(
        "sign --store m0 --committee committee --identity {identity} --slot 0 --payload other \
         --directory shared --out again"
    ));
    let text = String::from_utf8(again.stderr).unwrap();
    assert_eq!(again.status.code(), Some(2));
    assert!(
        text.contains("slot 0 was decided with another payload"),
        "{text}"
    );
    // Nothing is trusted without a word, and verdicts have a form for programs.
    let verify = "verify --committee committee --slot 0 --payload payload certificate.0";
    assert_eq!(folder.run(verify).status.code(), Some(2));
    let trusting = folder.good(&format!("{verify} --trust-committee --json"));
    assert_eq!(
        trusting,
        "{\"signers\":[\"m0\",\"m1\",\"m2\",\"m3\"],\"valid\":true}\n"
    );
    let other = verify.replace(
        "--payload payload",
        "--payload other --trust-committee --json",
    );
    let other = folder.run(&other);
    assert_eq!(other.status.code(), Some(1));
    assert!(other.stdout.starts_with(b"{\"reason\":\""));
    // Another slot, another identity, a changed certificate.
    assert_eq!(folder.verdict(1, &identity, "certificate.0").0, Some(1));
    assert_eq!(
        folder.verdict(0, &"0".repeat(64), "certificate.0").0,
        Some(2)
    );
    let mut changed = fs::read(folder.at("certificate.0")).unwrap();
    changed[200] ^= 1;
    fs::write(folder.at("changed"), changed).unwrap();
    assert_eq!(folder.verdict(0, &identity, "changed").0, Some(1));

    // Without one member.
    folder.sign(&[0, 1, 3], 1, &identity, |_| {});
    let (code, text) = folder.verdict(1, &identity, "certificate.1");
    assert_eq!(
        (code, text.as_str()),
        (Some(0), "valid, signed by m0 m1 m3\n")
    );

    // The directory is removed within the decision.
    folder.sign(&[0, 1, 2, 3], 2, &identity, |directory| {
        messages(directory, 4);
        // A message can appear while the others are removed.
        while fs::remove_dir_all(directory).is_err() {}
    });
    assert_eq!(folder.verdict(2, &identity, "certificate.3").0, Some(0));

    // The next epoch, with the successors of the secrets.
    let before = fs::read(folder.at("m0/secret")).unwrap();
    let second = folder.committee(2);
    assert_ne!(identity, second);
    assert_ne!(fs::read(folder.at("m0/secret")).unwrap(), before);
    assert!(!folder.at("m0/epoch-1.log").exists());
    folder.sign(&[0, 1, 2, 3], 0, &second, |_| {});
    assert_eq!(folder.verdict(0, &second, "certificate.2").0, Some(0));
    assert_eq!(folder.verdict(0, &identity, "certificate.2").0, Some(2));
    let back = folder.run("keygen --store m0 --id m0 --epoch 1 --out m0.reg");
    assert_eq!(back.status.code(), Some(2));
}

#[test]
fn stores_of_others_and_lost_journals_are_refused() {
    let folder = Folder::new();
    fs::write(folder.at("payload"), b"block 77").unwrap();
    let identity = folder.committee(1);
    let sign = format!(
        "sign --store m0 --committee committee --identity {identity} --slot 0 --payload payload \
         --directory shared --limit 0 --out certificate"
    );
    let refused = |why: &str| {
        let output = folder.run(&sign);
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(text.contains(why), "{text}");
    };
    refused("still awaited");
    #[cfg(unix)]
    {
        use std::os::unix::fs::{PermissionsExt, chown};
        let mode = |path: &str, mode| {
            fs::set_permissions(folder.at(path), fs::Permissions::from_mode(mode)).unwrap();
        };
        mode("m0", 0o770);
        refused("open to others");
        mode("m0", 0o755);
        mode("m0/secret", 0o640);
        refused("open to others");
        mode("m0/secret", 0o600);
        // Only the superuser can give files away.
        if chown(folder.at("m0"), Some(65_534), None).is_ok() {
            refused("another user");
            chown(folder.at("m0"), Some(0), None).unwrap();
        }
    }
    refused("still awaited");
    // Another payload for a slot that this store has opened is admitted until it commits; a store without
    // its journal signs nothing, and gets no new journal.
    fs::remove_file(folder.at("m0/epoch-1.log")).unwrap();
    refused("storage failed");
    folder.good("keygen --store m0 --id m0 --epoch 1 --out again.reg");
    refused("storage failed");
    for junk in ["", "junk", "mladsa-store-1 m0 00 1 1 1 00\n"] {
        fs::write(folder.at("m0/secret"), junk).unwrap();
        refused("not a secret");
    }
}

/// A store that is restored as a whole is refused if its high-water mark is elsewhere.
#[test]
fn restored_stores_are_refused() {
    let folder = Folder::new();
    fs::write(folder.at("payload"), b"block 77").unwrap();
    fs::create_dir(folder.at("marks")).unwrap();
    folder.good("keygen --store m0 --marks marks --id m0 --epoch 1 --out m0.reg");
    folder.good("committee --epoch 1 --out committee m0.reg");
    let log = folder.at("m0/epoch-1.log");
    let backup = fs::read(&log).unwrap();
    let sign = "sign --store m0 --marks marks --committee committee --trust-committee --slot 0 \
                --payload payload --directory shared --timeout 1 --out certificate";
    folder.good(sign);
    fs::write(&log, backup).unwrap();
    for (args, why) in [
        (sign.to_owned(), "older than its high-water mark"),
        (sign.replace("--marks marks ", ""), "journal is damaged"),
    ] {
        let output = folder.run(&args);
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(text.contains(why), "{text}");
    }
}

/// Two members, each with a user of its own, over the directory that the manual prescribes, and over one
/// that the first of them creates.
#[cfg(unix)]
#[test]
fn members_of_different_users_sign() {
    use std::os::unix::fs::{PermissionsExt, chown};
    use std::os::unix::process::CommandExt;
    const USERS: [u32; 2] = [65_532, 65_533];
    let folder = Folder::new();
    let mode = |path: &str, mode| {
        fs::set_permissions(folder.at(path), fs::Permissions::from_mode(mode)).unwrap();
    };
    mode("", 0o755);
    let as_user = |n: usize, args: &str| {
        let mut command = folder.command(args);
        command.uid(USERS[n]).gid(USERS[n]);
        command
    };
    match as_user(0, "--version").output() {
        Ok(output) if output.status.success() => {}
        other => {
            println!("NOT RUN: needs root, and a command that all users can run: {other:?}");
            return;
        }
    }
    fs::write(folder.at("payload"), b"block 77").unwrap();
    for (n, user) in USERS.iter().enumerate() {
        let own = format!("own{n}");
        fs::create_dir(folder.at(&own)).unwrap();
        chown(folder.at(&own), Some(*user), Some(*user)).unwrap();
        let args = format!("keygen --store own{n}/m --id m{n} --epoch 1 --out own{n}/reg");
        assert!(as_user(n, &args).output().unwrap().status.success());
    }
    let text = folder.good("committee --epoch 1 --out committee own0/reg own1/reg");
    let identity = text.lines().next().unwrap();
    let identity = identity.strip_prefix("identity: ").unwrap();
    for directory in ["shared", "parent"] {
        fs::create_dir(folder.at(directory)).unwrap();
        mode(directory, 0o1777);
    }
    for (slot, directory) in ["shared", "parent/created"].iter().enumerate() {
        let started: Vec<_> = (0..2)
            .map(|n| {
                let args = format!(
                    "sign --store own{n}/m --committee committee --identity {identity} \
                     --slot {slot} --payload payload --directory {directory} --timeout 2 \
                     --limit 60 --out own{n}/certificate"
                );
                as_user(n, &args).spawn().unwrap()
            })
            .collect();
        for child in started {
            let output = child.wait_with_output().unwrap();
            let text = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(0), "{directory}: {text}");
        }
        let slot = u32::try_from(slot).unwrap();
        let (code, text) = folder.verdict(slot, identity, "own1/certificate");
        assert_eq!((code, text.as_str()), (Some(0), "valid, signed by m0 m1\n"));
    }
    let created = fs::metadata(folder.at("parent/created")).unwrap();
    assert_eq!(created.permissions().mode() & 0o7777, 0o1777);
}
