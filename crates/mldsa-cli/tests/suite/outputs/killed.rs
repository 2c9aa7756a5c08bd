//! Commands that a signal ends while they write files.

use std::os::unix::process::ExitStatusExt;
use std::process::Child;

use super::*;

const SIGKILL: i32 = 9;
const SIGTERM: i32 = 15;
const SIGINT: i32 = 2;

/// The names in a folder that end with `suffix`.
fn names(folder: &Folder, suffix: &str) -> Vec<String> {
    let names = fs::read_dir(&folder.0).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.ends_with(suffix)).collect()
}

/// A command that has staged its private key and waits for a reader of the pipe.
fn waiting(folder: &Folder) -> Child {
    let mut child = Command::new(env!("CARGO_BIN_EXE_mldsa"))
        .args(args!["keygen --set 44 --force --out key --pub pipe"])
        .current_dir(&folder.0)
        .spawn()
        .unwrap();
    // Without a limit: it stages the key, or it ends.
    while names(folder, ".tmp").is_empty() {
        assert!(child.try_wait().unwrap().is_none(), "nothing was staged");
        std::thread::yield_now();
    }
    child
}

/// Sends a signal with the shell's `kill`: children of a background job ignore SIGINT unless they
/// catch it, as this command does.
fn signal(child: &mut Child, number: i32) {
    let kill = Command::new("kill")
        .args([format!("-{number}"), child.id().to_string()])
        .status();
    assert!(kill.unwrap().success());
    assert_eq!(child.wait().unwrap().signal(), Some(number));
}

#[test]
fn a_signal_leaves_no_temporary_file() {
    for (number, old) in [
        (SIGINT, None),
        (SIGTERM, None),
        (SIGTERM, Some(b"old".to_vec())),
    ] {
        let folder = Folder::new("outputs-signal");
        folder.mkfifo("pipe");
        if let Some(old) = &old {
            folder.put("key", old);
        }
        let mut child = waiting(&folder);
        signal(&mut child, number);
        assert_eq!(names(&folder, ".tmp"), [""; 0], "signal {number}");
        assert_eq!(fs::read(folder.0.join("key")).ok(), old);
    }
}

/// What SIGKILL leaves is named by the next command that writes a private key there, and not while
/// the first command runs.
#[test]
fn the_next_run_names_what_a_killed_run_left() {
    let folder = Folder::new("outputs-left");
    folder.mkfifo("pipe");
    let mut child = waiting(&folder);
    let run = folder.good("keygen --set 44 --out other");
    assert!(!run.stderr.contains("is left by"), "{}", run.stderr);
    signal(&mut child, SIGKILL);
    let [left] = &names(&folder, ".tmp")[..] else {
        panic!("{:?}", names(&folder, ".tmp"));
    };
    // Other users cannot read it.
    assert_eq!(mode(&folder, left), 0o600);
    assert!(!folder.0.join("key").exists());
    for command in [
        "keygen --set 44 --out next",
        "convert next --out after",
        "keygen --out last",
    ] {
        let run = folder.good(command);
        let expected =
            format!("{left} is left by a run that was killed and may hold a private key");
        assert!(run.stderr.contains(&expected), "{}", run.stderr);
    }
    fs::remove_file(folder.0.join(left)).unwrap();
    let run = folder.good("keygen --set 44 --out clean");
    assert_eq!(run.stderr, "");
}

/// A run that was killed between two names left a journal: the next one says what is where.
#[test]
fn the_next_run_says_which_of_two_files_is_replaced() {
    use std::os::unix::fs::MetadataExt;

    for old in [true, false] {
        let folder = Folder::new("outputs-journal");
        // The state after the first of the two names.
        folder.put("public", b"new public");
        folder.put("mldsa-b.tmp", b"new private");
        if old {
            folder.put("mldsa-a.tmp", b"old public");
            folder.put("private", b"old private");
        }
        let entry = |target: &str, temporary: &str, new: &str| {
            let file = fs::metadata(folder.0.join(new)).unwrap();
            serde_json::json!({
                "target": folder.at(target),
                "temporary": folder.at(temporary),
                "new": [file.dev(), file.ino()],
            })
        };
        let entries = serde_json::json!([
            entry("public", "mldsa-a.tmp", "public"),
            entry("private", "mldsa-b.tmp", "mldsa-b.tmp"),
        ]);
        folder.put("mldsa-c.journal", entries.to_string().as_bytes());
        let run = folder.good("keygen --set 44 --out other");
        let states = if old {
            [
                "is replaced, and its previous content is in",
                "has its previous content, and the new content is in",
            ]
        } else {
            ["is written;", "is not written, and its content is in"]
        };
        for state in states {
            assert!(run.stderr.contains(state), "{}", run.stderr);
        }
        assert!(
            run.stderr.contains("then delete ./mldsa-c.journal"),
            "{}",
            run.stderr
        );
        assert!(!run.stderr.contains("is left by"), "{}", run.stderr);
        // A journal that is no journal is named too.
        folder.put("mldsa-c.journal", b"junk");
        let run = folder.good("keygen --set 44 --out another");
        assert!(run.stderr.contains("mldsa-c.journal"), "{}", run.stderr);
    }
}

/// Closed standard output is an error where the result would be lost.
#[test]
fn closed_standard_output_is_an_error() {
    let folder = Folder::new("outputs-closed");
    folder.good("keygen --set 44 --out key");
    folder.put("message", b"m");
    let seed = "00".repeat(32);
    let line = format!("{{\"set\":\"ML-DSA-44\",\"seed\":\"{seed}\",\"msg\":\"00\"}}\n");
    folder.put("lines", line.as_bytes());
    for command in [
        "keygen --set 44",
        "convert key",
        "pubkey key",
        "sign -k key message",
        "mu -k key message",
        "batch-sign lines",
    ] {
        let run = shell(&folder, &format!("exec \"$0\" {command} >&-"));
        assert_eq!(run.code, 2, "{command}");
        assert!(
            run.stderr.contains("standard output: closed"),
            "{command}: {}",
            run.stderr
        );
        let run = shell(&folder, &format!("exec \"$0\" {command} > /dev/null"));
        assert_eq!(run.code, 0, "{command}: {}", run.stderr);
    }
    folder.good("sign -k key message --out signature");
    let run = shell(
        &folder,
        "exec \"$0\" verify -k key -s signature message >&-",
    );
    assert_eq!(run.code, 0, "{}", run.stderr);
}
