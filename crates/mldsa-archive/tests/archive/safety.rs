//! Files that a run must not touch, and state that is not what it was.

use std::fs;
#[cfg(unix)]
use std::process::Command;

use crate::tool::{Folder, VERIFY, count, errors, texts};

fn verify<'a>(out: &'a str, rest: &[&'a str]) -> Vec<&'a str> {
    [&VERIFY[..], &["--out", out], rest].concat()
}

/// Makes a run that has verified everything but could not write its output.
fn interrupted(folder: &Folder, out: &str, rest: &[&str]) {
    let temporary = folder.path(&format!("{out}.tmp"));
    fs::create_dir(&temporary).unwrap();
    let run = folder.run(&verify(out, rest));
    assert_eq!(run.status.code(), Some(2), "{run:?}");
    assert!(folder.path(&format!("{out}.parts/plan")).exists());
    fs::remove_dir(temporary).unwrap();
}

/// Nothing that is written is an input, by whatever name.
#[test]
fn inputs_are_not_overwritten() {
    let folder = Folder::new(20, &["--bad", "0"]);
    let bytes = fs::read(folder.path("data.parquet")).unwrap();
    let copy = |name: &str| fs::write(folder.path(name), &bytes).unwrap();
    copy("other.tmp");
    fs::create_dir(folder.path("inside.parts")).unwrap();
    copy("inside.parts/x");
    fs::create_dir(folder.path("linked.parts")).unwrap();
    fs::hard_link(folder.path("data.parquet"), folder.path("hard")).unwrap();
    fs::hard_link(
        folder.path("data.parquet"),
        folder.path("linked.parts/lock"),
    )
    .unwrap();
    let mut cases = vec![
        ("data.parquet", "data.parquet"),
        ("./data.parquet", "data.parquet"),
        ("hard", "data.parquet"),
        ("other", "other.tmp"),
        ("inside", "inside.parts/x"),
        ("linked", "data.parquet"),
    ];
    if cfg!(unix) {
        #[cfg(unix)]
        std::os::unix::fs::symlink("data.parquet", folder.path("soft")).unwrap();
        cases.extend([("soft", "data.parquet"), ("data.parquet", "soft")]);
    }
    for (out, input) in cases {
        let run = folder.run(&verify(out, &[input]));
        assert_eq!(run.status.code(), Some(2), "{out} {input}: {run:?}");
        let text = errors(&run);
        assert!(text.contains("would destroy the input"), "{out}: {text}");
        assert!(fs::read(folder.path(input)).unwrap() == bytes);
        assert!(!folder.path("data.parquet.parts").exists());
    }
    // The table of keys is an input.
    copy("keys.parquet");
    let keys = ["--keys", "keys.parquet", "--id-column", "set"];
    let run = folder.run(&verify(
        "keys.parquet",
        &[&keys[..], &["data.parquet"]].concat(),
    ));
    assert!(errors(&run).contains("would destroy the input"), "{run:?}");
    assert!(fs::read(folder.path("keys.parquet")).unwrap() == bytes);
}

/// An output replaces regular files only, and no link leads anywhere.
#[cfg(unix)]
#[test]
fn links_folders_and_devices_are_not_replaced() {
    use std::os::unix::fs::{FileTypeExt, symlink};
    let folder = Folder::new(20, &["--bad", "0"]);
    fs::write(folder.path("kept"), "kept").unwrap();
    fs::create_dir(folder.path("folder")).unwrap();
    symlink("kept", folder.path("link")).unwrap();
    symlink("nowhere", folder.path("dangling")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(folder.path("socket")).unwrap();
    for out in ["folder", "link", "dangling", "socket"] {
        for command in [
            &verify(out, &["data.parquet"])[..],
            &["make", out, "--rows", "9"],
        ] {
            let run = folder.run(command);
            assert_eq!(run.status.code(), Some(2), "{out}: {run:?}");
            assert!(errors(&run).contains("no regular file"), "{out}: {run:?}");
            assert!(!folder.path(&format!("{out}.parts")).exists());
        }
    }
    let kind = |name: &str| fs::symlink_metadata(folder.path(name)).unwrap().file_type();
    assert!(kind("folder").is_dir() && kind("socket").is_socket());
    assert!(kind("link").is_symlink() && kind("dangling").is_symlink());
    // The temporary file of an earlier run is replaced, not what it leads to.
    symlink("kept", folder.path("out.tmp")).unwrap();
    let run = folder.run(&verify("out", &["data.parquet"]));
    assert_eq!(run.status.code(), Some(0), "{run:?}");
    assert!(folder.path("out").exists() && !folder.path("out.tmp").exists());
    assert_eq!(fs::read_to_string(folder.path("kept")).unwrap(), "kept");
}

/// What is read from a pipe or a device could not be read again, and has no state.
#[cfg(unix)]
#[test]
fn inputs_are_regular_files() {
    let folder = Folder::new(20, &["--bad", "0"]);
    std::os::unix::fs::symlink("/dev/null", folder.path("null.jsonl")).unwrap();
    for out in [&[][..], &["--out", "out"]] {
        let run = folder.run(&[&VERIFY[..], out, &["null.jsonl", "data.parquet"]].concat());
        assert_eq!(run.status.code(), Some(2), "{run:?}");
        assert!(
            errors(&run).contains("null.jsonl: it is no regular file"),
            "{run:?}"
        );
        assert_eq!(count(&run, "valid"), 20);
    }
}

/// Verdicts that somebody else may have put there are not taken.
#[cfg(unix)]
#[test]
fn a_folder_that_others_can_change_is_not_used() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = Folder::new(20, &["--bad", "0"]);
    interrupted(&folder, "out", &["data.parquet"]);
    let parts = folder.path("out.parts");
    let mode = |mode| fs::set_permissions(&parts, PermissionsExt::from_mode(mode)).unwrap();
    assert_eq!(
        fs::metadata(&parts).unwrap().permissions().mode() & 0o777,
        0o700
    );
    let refused = || {
        let run = folder.run(&verify("out", &["data.parquet"]));
        assert_eq!(run.status.code(), Some(2), "{run:?}");
        assert!(errors(&run).contains("only you can change"), "{run:?}");
    };
    for shared in [0o777, 0o770, 0o702] {
        mode(shared);
        refused();
    }
    mode(0o755);
    fs::rename(&parts, folder.path("moved")).unwrap();
    symlink("moved", &parts).unwrap();
    refused();
    fs::remove_file(&parts).unwrap();
    fs::rename(folder.path("moved"), &parts).unwrap();
    // The owner can be changed by root only.
    if std::os::unix::fs::chown(&parts, Some(65534), None).is_ok() {
        refused();
        std::os::unix::fs::chown(&parts, Some(0), None).unwrap();
    }
    let run = folder.run(&verify("out", &["data.parquet"]));
    assert_eq!(run.status.code(), Some(0), "{run:?}");
}

/// Names that are no text are verified, by name and by pattern.
#[cfg(target_os = "linux")]
#[test]
fn names_that_are_no_text_are_verified() {
    use std::os::unix::ffi::OsStrExt;
    let folder = Folder::new(20, &["--bad", "0"]);
    let name = std::ffi::OsStr::from_bytes(b"data\xff.parquet");
    fs::copy(folder.path("data.parquet"), folder.path("").join(name)).unwrap();
    fs::copy(folder.path("data.parquet"), folder.path(".data.parquet")).unwrap();
    let rows = |file: &std::ffi::OsStr| {
        let run = folder.command(&VERIFY).arg(file).output().unwrap();
        assert_eq!(run.status.code(), Some(0), "{run:?}");
        count(&run, "rows")
    };
    assert_eq!(rows(name), 20);
    fs::create_dir(folder.path("sub")).unwrap();
    fs::copy(folder.path("data.parquet"), folder.path("sub/data.parquet")).unwrap();
    let cases = [
        ("*.parquet", 40),
        ("./d*", 40),
        ("d[a-c]ta?.parquet", 20),
        ("s?b/*", 20),
    ];
    for (pattern, expected) in cases {
        assert_eq!(rows(pattern.as_ref()), expected, "{pattern}");
    }
    let run = folder.run(&[&VERIFY[..], &["**/data.parquet"]].concat());
    assert!(errors(&run).contains("** is not supported"), "{run:?}");
}

/// A folder that is of no run is neither used nor removed.
#[test]
fn a_folder_of_somebody_else_stays() {
    let folder = Folder::new(20, &["--bad", "0"]);
    for (n, name) in [
        "letter",
        "lock",
        "plan",
        "plan.tmp",
        "00000000-00000000.parquet",
    ]
    .iter()
    .enumerate()
    {
        let out = format!("out{n}");
        let mine = folder.path(&format!("{out}.parts"));
        fs::create_dir(&mine).unwrap();
        fs::write(mine.join(name), "mine").unwrap();
        let run = folder.run(&verify(&out, &["data.parquet"]));
        assert_eq!(run.status.code(), Some(2), "{name}: {run:?}");
        assert!(errors(&run).contains("not empty"), "{name}: {run:?}");
        assert_eq!(fs::read(mine.join(name)).unwrap(), b"mine");
        assert_eq!(fs::read_dir(&mine).unwrap().count(), 1, "{name}");
    }
    // An empty one, and one in which a run has begun, are used.
    fs::create_dir(folder.path("empty.parts")).unwrap();
    fs::create_dir(folder.path("begun.parts")).unwrap();
    fs::write(folder.path("begun.parts/lock"), "").unwrap();
    fs::write(folder.path("begun.parts/plan.tmp"), "mldsa-ar").unwrap();
    for out in ["empty", "begun"] {
        #[cfg(unix)]
        fs::set_permissions(
            folder.path(&format!("{out}.parts")),
            std::os::unix::fs::PermissionsExt::from_mode(0o755),
        )
        .unwrap();
        let run = folder.run(&verify(out, &["data.parquet"]));
        assert_eq!(run.status.code(), Some(0), "{run:?}");
        assert!(!folder.path(&format!("{out}.parts")).exists());
    }
    // What somebody has put beside the parts stays.
    interrupted(&folder, "shared", &["data.parquet"]);
    fs::write(folder.path("shared.parts/letter"), "mine").unwrap();
    let run = folder.run(&verify("shared", &["data.parquet"]));
    assert_eq!(run.status.code(), Some(0), "{run:?}");
    assert!(errors(&run).contains("stay"), "{run:?}");
    let left = fs::read_dir(folder.path("shared.parts")).unwrap();
    let left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["letter"]);
}

/// A plan that cannot be read is not replaced.
#[test]
fn a_plan_that_cannot_be_read_is_an_error() {
    let folder = Folder::new(20, &["--bad", "0"]);
    interrupted(&folder, "out", &["data.parquet"]);
    fs::remove_file(folder.path("out.parts/plan")).unwrap();
    let run = folder.run(&verify("out", &["data.parquet"]));
    assert!(errors(&run).contains("not empty"), "{run:?}");
    fs::create_dir(folder.path("out.parts/plan")).unwrap();
    let run = folder.run(&verify("out", &["data.parquet"]));
    assert_eq!(run.status.code(), Some(2), "{run:?}");
    assert!(folder.path("out.parts/00000000-00000000.parquet").exists());
    assert!(!folder.path("out").exists());
}

/// The state is of the contents of the table of keys, whatever its time of change is.
#[test]
fn another_table_of_keys_is_another_run() {
    let folder = Folder::new(1, &["--bad", "0"]);
    let rows = "{\"id\":\"a\",\"message\":\"00\",\"signature\":\"00\"}\n";
    fs::write(folder.path("rows.jsonl"), rows).unwrap();
    let table = |digit: &str| {
        let key = digit.repeat(2 * 1312);
        let line = format!("{{\"id\":\"a\",\"key\":\"{key}\"}}\n");
        fs::write(folder.path("keys.jsonl"), line).unwrap();
    };
    table("0");
    let arguments = [
        "verify",
        "rows.jsonl",
        "--keys",
        "keys.jsonl",
        "--id-column",
        "id",
        "--out",
        "out",
    ];
    fs::create_dir(folder.path("out.tmp")).unwrap();
    folder.run(&arguments);
    fs::remove_dir(folder.path("out.tmp")).unwrap();
    table("1");
    let run = folder.run(&arguments);
    assert_eq!(run.status.code(), Some(2), "{run:?}");
    assert!(errors(&run).contains("other files or options"), "{run:?}");
    table("0");
    let run = folder.run(&arguments);
    assert_eq!(run.status.code(), Some(1), "{run:?}");
}

/// A file of the same length and time of the last write is another one if its ends differ, or it was written at all.
#[test]
fn another_file_of_the_same_time_is_another_run() {
    let folder = Folder::new(200, &["--bad", "0"]);
    let path = folder.path("data.parquet");
    interrupted(&folder, "out", &["data.parquet"]);
    let modified = fs::metadata(&path).unwrap().modified().unwrap();
    let bytes = fs::read(&path).unwrap();
    assert!(bytes.len() > 4 << 16);
    // Windows has no time that cannot be set.
    for at in if cfg!(unix) {
        vec![100, bytes.len() / 2]
    } else {
        vec![100]
    } {
        let mut changed = bytes.clone();
        changed[at] ^= 1;
        fs::write(&path, changed).unwrap();
        let file = fs::File::options().write(true).open(&path).unwrap();
        file.set_modified(modified).unwrap();
        let run = folder.run(&verify("out", &["data.parquet"]));
        assert!(errors(&run).contains("other files or options"), "{run:?}");
    }
}

/// Verdicts of fewer rows than the footer promises are not merged.
#[test]
fn a_short_part_is_named() {
    let folder = Folder::new(1100, &["--bad", "0"]);
    interrupted(&folder, "out", &["data.parquet"]);
    let part = folder.read("out.parts/00000000-00000000.parquet").remove(0);
    folder.write("out.parts/00000000-00000000.parquet", &[part.slice(0, 7)]);
    let run = folder.run(&verify("out", &["data.parquet"]));
    assert_eq!(run.status.code(), Some(2), "{run:?}");
    let text = errors(&run);
    assert!(
        text.contains("00000000-00000000.parquet: it is damaged: verdicts of 7 rows"),
        "{text}"
    );
    assert!(!folder.path("out").exists());
    assert!(!folder.path("out.tmp").exists());
    fs::remove_file(folder.path("out.parts/00000000-00000000.parquet")).unwrap();
    let run = folder.run(&verify("out", &["data.parquet"]));
    assert_eq!(run.status.code(), Some(0), "{run:?}");
    assert_eq!(count(&run, "rows"), 1100);
}

/// Ids come from the file, and go to a terminal.
#[test]
fn ids_in_the_summary_are_escaped() {
    let folder = Folder::new(1, &["--bad", "0"]);
    let rows = "{\"id\":\"\\u001b[2J\\nrows 9\",\"message\":\"00\",\"signature\":\"00\"}\n";
    fs::write(folder.path("rows.jsonl"), rows).unwrap();
    let key = "0".repeat(2 * 1312);
    let table = format!("{{\"id\":\"\\u001b[2J\\nrows 9\",\"key\":\"{key}\"}}\n");
    fs::write(folder.path("keys.jsonl"), table).unwrap();
    let run = folder.run(&[
        "verify",
        "rows.jsonl",
        "--keys",
        "keys.jsonl",
        "--id-column",
        "id",
    ]);
    let text = String::from_utf8(run.stdout).unwrap();
    assert!(text.contains("key \\u{1b}[2J\\nrows 9: valid 0"), "{text}");
    assert!(!text.contains('\u{1b}'));
}

/// A text of many batches has its verdicts in order, whichever worker has them first.
#[test]
fn a_text_of_many_batches_is_in_order() {
    let folder = Folder::new(1, &["--bad", "0"]);
    let line = |n: usize| match n % 3 {
        0 => "nonsense\n",
        _ => "{\"key\":\"00\",\"message\":\"00\",\"signature\":\"00\"}\n",
    };
    fs::write(
        folder.path("rows.jsonl"),
        String::from_iter((0..3000).map(line)),
    )
    .unwrap();
    let options = ["--threads", "6", "--batch-rows", "3", "--out", "out"];
    let run = folder.run(&[&["verify", "rows.jsonl"], &options[..]].concat());
    assert_eq!(count(&run, "rows"), 3000, "{run:?}");
    for (n, reason) in texts(&folder.read("out"), "reason").iter().enumerate() {
        assert_eq!(
            reason.as_deref() == Some("malformed_row"),
            n % 3 == 0,
            "{n}"
        );
    }
}

/// Where the system refuses threads, the calling one makes and verifies everything.
#[cfg(unix)]
#[test]
fn refused_threads_are_not_missed() {
    let folder = Folder::new(3000, &[]);
    // The user of the limit makes files here, and runs the program from here.
    let public = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    fs::set_permissions(folder.path(""), public).unwrap();
    fs::copy(env!("CARGO_BIN_EXE_mldsa-archive"), folder.path("program")).unwrap();
    let run = |arguments: &[&str]| {
        let mut limited = Command::new("setpriv");
        limited.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
        limited.args(["prlimit", "--nproc=1", "./program"]);
        limited.args(arguments).current_dir(folder.path(""));
        limited.output()
    };
    let made = [
        "make",
        "limited.parquet",
        "--keys",
        "9",
        "--group-rows",
        "512",
    ];
    match run(&[&made[..], &["--rows", "3000"]].concat()) {
        Ok(made) if !errors(&made).contains("setpriv") => {
            assert_eq!(made.status.code(), Some(0), "{made:?}");
        }
        other => return println!("NOT RUN: needs root, setpriv, prlimit: {other:?}"),
    }
    let [all, limited] = ["data.parquet", "limited.parquet"].map(|name| folder.read(name));
    assert_eq!(all, limited);
    let found = run(&verify("out.parquet", &["limited.parquet"])).unwrap();
    let expected = folder.run(&verify("expected.parquet", &["data.parquet"]));
    assert_eq!(found.status.code(), expected.status.code(), "{found:?}");
    assert_eq!(
        folder.read("out.parquet").len(),
        folder.read("expected.parquet").len()
    );
}
