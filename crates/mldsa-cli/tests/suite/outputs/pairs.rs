//! Two results of one command.

use super::*;

/// No stream takes two results, under any names.
#[test]
fn no_stream_takes_two_results() {
    let folder = Folder::new("outputs-two");
    folder.mkfifo("pipe");
    fs::create_dir(folder.0.join("directory")).unwrap();
    link(&folder, "/dev/stdout", "link");
    for names in [
        "--out - --pub /dev/stdout",
        "--out /dev/stdout --pub -",
        "--pub /dev/fd/1",
        "--out - --pub /dev/fd/3",
        "--out /dev/fd/3 --pub /dev/stdout",
        "--out link --pub /dev/fd/1",
        "--out pipe --pub pipe",
        "--out new --pub directory/../new",
    ] {
        let run = shell(
            &folder,
            &format!("\"$0\" keygen --set 44 --force {names} 3>&1"),
        );
        assert_eq!((run.code, &*run.stdout), (2, ""), "{names}");
        assert!(
            run.stderr.contains("named for two results"),
            "{}",
            run.stderr
        );
    }
}

/// A pair of keys is written whole, or no file is changed.
#[test]
fn a_pair_of_keys_is_written_whole_or_not_at_all() {
    let folder = Folder::new("outputs-pair");
    fs::create_dir(folder.0.join("directory")).unwrap();
    link(&folder, "nowhere", "dangling");
    link(&folder, "/dev/full", "full");
    let listed = || {
        let entries = fs::read_dir(&folder.0).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    for (old, force) in [(false, ""), (false, "--force"), (true, "--force")] {
        if old {
            folder.put("key", b"old");
            folder.put("public", b"old");
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
            let keygen = format!("keygen --set 87 {force} --out {out} --pub {public}");
            let run = shell(&folder, &format!("{limit} exec \"$0\" {keygen}"));
            assert_eq!(run.code, 2, "{keygen}");
            assert_eq!(listed(), before, "{keygen}");
            if old {
                assert_eq!(
                    ["key", "public"].map(|name| folder.get(name)),
                    [b"old", b"old"]
                );
            }
        }
    }
    folder.good("keygen --set 87 --force --out key --pub public");
    let public = folder.good("pubkey key").stdout;
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
