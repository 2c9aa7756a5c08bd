//! Two results of one command.

use super::*;

/// No stream takes two results, under any names.
#[test]
fn no_stream_takes_two_results() {
    let folder = Folder::new("outputs-two");
    for names in [
        "--out - --pub /dev/stdout",
        "--out /dev/stdout --pub -",
        "--pub /dev/fd/1",
        "--out - --pub /dev/fd/3",
        "--out /dev/fd/3 --pub /dev/stdout",
        "--out \"$1/link\" --pub /dev/fd/1",
        "--out \"$1/pipe\" --pub \"$1/pipe\"",
        "--out \"$1/new\" --pub \"$1/../outputs-two/new\"",
    ] {
        let script = format!(
            "cd \"$1\"; ln -sf /dev/stdout link; test -p pipe || mkfifo pipe; \
             {{ \"$0\" keygen --set 44 --force {names}; echo $? > code; }} 3>&1 | cat"
        );
        let output = shell(&script, &[folder.0.to_str().unwrap()]);
        assert!(output.stdout.is_empty(), "{names}: both in one");
        assert_eq!(folder.get("code"), b"2\n", "{names}");
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(text.contains("named for two results"), "{names}: {text}");
    }
}

/// A pair of keys is written whole, or no file is changed.
#[test]
fn a_pair_of_keys_is_written_whole_or_not_at_all() {
    let folder = Folder::new("outputs-pair");
    let at = folder.0.to_str().unwrap();
    fs::create_dir(folder.at("directory")).unwrap();
    symlink("nowhere", folder.at("dangling")).unwrap();
    symlink("/dev/full", folder.at("full")).unwrap();
    let listed = || {
        let mut names: Vec<_> = fs::read_dir(&folder.0)
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        names.sort();
        names
    };
    for old in [None, Some(b"old")] {
        if let Some(old) = old {
            folder.put("key", old);
            folder.put("public", old);
        }
        for force in ["", "--force"] {
            if old.is_some() && force.is_empty() {
                continue;
            }
            for (limit, out, public) in [
                ("", "key", "full"),
                ("", "key", "directory"),
                ("", "key", "dangling"),
                ("", "key", "nowhere/public"),
                ("", "full", "public"),
                ("", "directory", "public"),
                // The private key fits, the public one does not.
                ("ulimit -f 1;", "key", "public"),
            ] {
                let before = listed();
                let script = format!(
                    "cd \"$1\"; {limit} exec \"$0\" keygen --set 87 {force} --out {out} --pub {public}"
                );
                let output = shell(&script, &[at]);
                assert_eq!(output.status.code(), Some(2), "{script}: {output:?}");
                assert_eq!(listed(), before, "{script}");
                if let Some(old) = old {
                    assert_eq!(folder.get("key"), old, "{script}");
                    assert_eq!(folder.get("public"), old, "{script}");
                }
            }
        }
    }
    good(
        &args![
            "keygen --set 87 --force --out",
            &folder.at("key"),
            "--pub",
            &folder.at("public")
        ],
        b"",
    );
    let public = good(&["pubkey", &folder.at("key")], b"").stdout;
    assert_eq!(public.into_bytes(), folder.get("public"));
}

/// A file in a sticky directory that belongs to another user can be staged but not replaced.
#[test]
fn a_pair_stays_when_one_file_cannot_be_replaced() {
    use std::os::unix::fs::{MetadataExt, chown};
    use std::os::unix::process::CommandExt;

    // Where every user can reach it.
    let place = std::env::temp_dir().join(format!("mldsa-sticky-{}", std::process::id()));
    let _ = fs::remove_dir_all(&place);
    for directory in ["", "sticky", "own"] {
        fs::create_dir(place.join(directory)).unwrap();
    }
    if fs::metadata(&place).unwrap().uid() != 0 {
        println!("not run: only root can act as two users");
        return fs::remove_dir_all(&place).unwrap();
    }
    let other_user = 65534;
    let at = |name: &str| place.join(name);
    // Not with `fs::copy`: a process that another test forks meanwhile would hold the file open for
    // writing, and it could not be executed.
    let mut cp = Command::new("cp");
    cp.arg(env!("CARGO_BIN_EXE_mldsa")).arg(at("mldsa"));
    assert!(cp.status().unwrap().success());
    for (path, mode) in [
        ("", 0o755),
        ("sticky", 0o1777),
        ("own", 0o755),
        ("mldsa", 0o755),
    ] {
        fs::set_permissions(at(path), fs::Permissions::from_mode(mode)).unwrap();
    }
    chown(at("own"), Some(other_user), Some(other_user)).unwrap();
    for (out, public) in [("sticky/file", "own/file"), ("own/file", "sticky/file")] {
        fs::write(at("sticky/file"), b"old").unwrap();
        fs::write(at("own/file"), b"old").unwrap();
        let output = Command::new(at("mldsa"))
            .args(args!["keygen --set 44 --force"])
            .args(["--out".as_ref(), at(out).as_os_str()])
            .args(["--pub".as_ref(), at(public).as_os_str()])
            .uid(other_user)
            .gid(other_user)
            .output()
            .unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(
            text.contains("sticky/file: Operation not permitted"),
            "{text}"
        );
        for directory in ["sticky", "own"] {
            let names = fs::read_dir(at(directory)).unwrap();
            assert_eq!(names.count(), 1, "{directory}");
            let content = fs::read(at(directory).join("file")).unwrap();
            assert_eq!(content, b"old", "{directory} with --out {out}");
        }
    }
    fs::remove_dir_all(&place).unwrap();
}

/// A process that is killed between two results leaves the previous file, or none, and no
/// temporary file that other users can read.
#[test]
fn a_kill_between_two_results_leaves_the_old_key() {
    let folder = Folder::new("outputs-ended");
    for old in [None, Some(b"old")] {
        let key = folder.at("key");
        if let Some(old) = old {
            folder.put("key", old);
        }
        let pipe = folder.at(if old.is_some() { "pipe-old" } else { "pipe" });
        assert!(
            Command::new("mkfifo")
                .arg(&pipe)
                .status()
                .unwrap()
                .success()
        );
        // It waits for a reader of the pipe.
        let mut child = Command::new(env!("CARGO_BIN_EXE_mldsa"))
            .args(args!["keygen --set 44 --force --out", &key, "--pub", &pipe])
            .spawn()
            .unwrap();
        let known = |name: &std::ffi::OsStr| {
            ["key", "pipe", "pipe-old"]
                .iter()
                .any(|known| name == *known)
        };
        let staged = || {
            let entries = fs::read_dir(&folder.0).unwrap().map(Result::unwrap);
            let staged: Vec<_> = entries.filter(|entry| !known(&entry.file_name())).collect();
            staged
        };
        // Without a limit: it stages the key, or it ends.
        while staged().is_empty() {
            assert!(child.try_wait().unwrap().is_none(), "nothing was staged");
            std::thread::yield_now();
        }
        // Not SIGINT, which children of a background job ignore.
        child.kill().unwrap();
        assert!(!child.wait().unwrap().success());
        assert_eq!(fs::read(&key).ok().as_deref(), old.map(|old| &old[..]));
        for left in staged() {
            assert_eq!(left.metadata().unwrap().permissions().mode() & 0o777, 0o600);
            fs::remove_file(left.path()).unwrap();
        }
    }
}
