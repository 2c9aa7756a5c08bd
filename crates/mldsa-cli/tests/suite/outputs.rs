//! Results: devices, pipes and links with `--force`, outputs that are inputs, failures, terminals.

mod commands;
mod killed;
mod pairs;

use std::fs::{self, File};
use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
use std::process::{Command, Stdio};

use crate::tool::{Folder, Run, args, good, mldsa};

const PRIVATE: &str = "-----BEGIN PRIVATE KEY";

/// Runs a script in a folder; `$0` is the tool.
fn shell(folder: &Folder, script: &str) -> Run {
    let mut shell = Command::new("sh");
    shell.args(["-c", script, env!("CARGO_BIN_EXE_mldsa")]);
    shell.current_dir(&folder.0).stdin(Stdio::null());
    shell.output().unwrap().into()
}

fn mode(folder: &Folder, name: &str) -> u32 {
    let metadata = fs::metadata(folder.0.join(name)).unwrap();
    metadata.permissions().mode() & 0o777
}

fn link(folder: &Folder, target: &str, name: &str) {
    symlink(target, folder.0.join(name)).unwrap();
}

/// Pipes and devices are written into and keep their names, and those of links.
#[test]
fn force_writes_into_pipes_and_devices() {
    let folder = Folder::new("outputs-pipe");
    folder.mkfifo("pipe");
    link(&folder, "pipe", "link");
    for target in ["pipe", "link"] {
        let pipe = folder.0.join("pipe");
        let reader = std::thread::spawn(move || fs::read(pipe).unwrap());
        folder.good(&format!("keygen --set 44 --force --out {target}"));
        assert!(reader.join().unwrap().starts_with(PRIVATE.as_bytes()));
        let metadata = fs::metadata(folder.0.join("pipe")).unwrap();
        assert!(metadata.file_type().is_fifo());
    }
    // Without --force nothing is written into a pipe.
    folder.unusable("keygen --set 44 --out pipe", b"", "--force");
    // Through links, so that a failing test does not replace a device.
    for (device, code, why) in [("/dev/null", 0, ""), ("/dev/full", 2, "device: ")] {
        link(&folder, device, "device");
        let run = folder.run("keygen --set 44 --force --out device", b"");
        assert_eq!(run.code, code, "{}", run.stderr);
        assert!(run.stderr.contains(why), "{}", run.stderr);
        assert!(folder.0.join("device").is_symlink(), "the link is gone");
        fs::remove_file(folder.0.join("device")).unwrap();
    }
}

/// Standard output by another name is standard output.
#[test]
fn dev_stdout_is_standard_output() {
    let folder = Folder::new("outputs-stdout");
    folder.put("log", b"before\n");
    for force in ["", "--force"] {
        let script = format!("exec \"$0\" keygen --set 44 --out /dev/stdout {force} >> log");
        let run = shell(&folder, &script);
        assert_eq!(run.code, 0, "{}", run.stderr);
    }
    let text = String::from_utf8(folder.get("log")).unwrap();
    assert!(text.starts_with("before\n"));
    assert_eq!(text.matches(PRIVATE).count(), 2);
    let run = folder.good("keygen --set 44 --out /dev/stdout");
    assert!(run.stdout.starts_with(PRIVATE));
}

#[test]
fn force_follows_links_to_files_only() {
    let folder = Folder::new("outputs-links");
    folder.put("file", b"old");
    fs::set_permissions(folder.0.join("file"), fs::Permissions::from_mode(0o644)).unwrap();
    link(&folder, "file", "link");
    let keygen = |target: &str| format!("keygen --set 44 --force --out {target}");
    folder.good(&keygen("link"));
    assert!(folder.0.join("link").is_symlink());
    assert!(folder.get("file").starts_with(PRIVATE.as_bytes()));
    assert_eq!(mode(&folder, "file"), 0o600);

    link(&folder, "nowhere", "dangling");
    fs::create_dir(folder.0.join("directory")).unwrap();
    link(&folder, "directory", "to-directory");
    let socket = folder.0.join("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    for target in ["dangling", "directory", "to-directory", "socket"] {
        folder.unusable(&keygen(target), b"", target);
    }
    assert!(fs::metadata(&socket).unwrap().file_type().is_socket());
    assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 6);
}

/// Standard input and standard output that are files. `commands` has the options.
#[test]
fn no_output_is_an_input() {
    let folder = Folder::new("outputs-inputs");
    folder.put("seed", &[7; 32]);
    folder.good("keygen --set 44 --seed-file seed --out key");
    folder.put("message", b"m");
    folder.good("sign -k key -o sig message");
    let files = ["seed", "key", "message", "sig"];
    let before = files.map(|name| folder.get(name));
    for args in [
        "sign -k key --out message --force < message",
        "sign -k key --out ./message message",
        "sign -k key --hex message >> message",
        "sign -k key --hex < message >> message",
        "pubkey key >> key",
        "inspect key >> key",
        "mu -k key message >> key",
        "verify -k key -s sig message >> sig",
        "batch-verify message >> message",
        "batch-sign - < message >> message",
    ] {
        let run = shell(&folder, &format!("\"$0\" {args}"));
        let after = files.map(|name| folder.get(name));
        assert!(after == before, "{args} changed an input");
        assert_eq!(run.code, 2, "{args}");
        assert!(run.stderr.contains("is an input"), "{args}: {}", run.stderr);
    }
    // A device can be both.
    let device = "\"$0\" sign -k key --hex - </dev/null >/dev/null";
    assert_eq!(shell(&folder, device).code, 0);
}

/// For example of a file of another member.
#[test]
fn control_characters_are_escaped() {
    for name in [
        "no\u{1b}[2Jwhere",
        "no\nmldsa: where",
        "no\u{9b}2Jwhere",
        "a\u{202e}b",
        "a\u{200b}b",
        "a\u{2066}b",
        "a\u{ad}b",
    ] {
        let run = mldsa(&["inspect", name], b"");
        let start = format!("mldsa: {}: ", name.escape_default());
        assert_eq!((run.code, run.stderr.lines().count()), (2, 1));
        assert!(run.stderr.starts_with(&start), "{}", run.stderr);
    }
    for value in ["4\u{1b}[2J4", "4\u{9b}2J4"] {
        let run = mldsa(&args!["keygen --set", value], b"");
        let start = format!("error: invalid value '{}' for", value.escape_default());
        assert_eq!(run.code, 2);
        assert!(run.stderr.starts_with(&start), "{}", run.stderr);
    }
}

/// A result that cannot be written in full leaves no file; the error names it.
#[test]
fn failures_leave_no_files() {
    let folder = Folder::new("outputs-failures");
    folder.put("seed", &[7; 32]);
    // Half a key fits.
    let keygen = "keygen --set 87 --form expanded --format raw --seed-file seed --out key";
    for (force, files) in [("", 1), ("--force", 2)] {
        if force == "--force" {
            folder.put("key", b"old");
        }
        let run = shell(
            &folder,
            &format!("ulimit -f 1; exec \"$0\" {keygen} {force}"),
        );
        assert_eq!(run.code, 2);
        assert!(run.stderr.contains("key: "), "{}", run.stderr);
        assert_eq!(fs::read_dir(&folder.0).unwrap().count(), files);
    }
    assert_eq!(folder.get("key"), b"old");
    for command in [
        "keygen --set 44 --out -",
        "inspect --set 44 seed",
        "backends",
        "--help",
        "--version",
        "batch-sign seed",
    ] {
        let run = shell(&folder, &format!("exec \"$0\" {command} > /dev/full"));
        assert_eq!(run.code, 2);
        assert!(run.stderr.contains("standard output: "), "{}", run.stderr);
    }
    let directory = folder.at("");
    for args in ["batch-verify", "sign -k seed --set 44", "inspect"] {
        folder.unusable(&format!("{args} {directory}"), b"", &directory);
    }
}

/// A terminal: text written to the second file can be read from the first.
fn terminal() -> (File, File) {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap();
    let path = name.to_str().unwrap();
    let side = File::options().read(true).write(true).open(path).unwrap();
    (File::from(master), side)
}

/// Runs a command whose standard output is a terminal, and returns what that shows.
fn run_on_a_terminal(mut command: Command) -> (Run, String) {
    use std::io::Read;

    let (mut master, side) = terminal();
    let run = command.stdin(Stdio::null()).stdout(side).output().unwrap();
    drop(command);
    let mut text = Vec::new();
    // Ends with an error when the other side is closed.
    let _ = master.read_to_end(&mut text);
    (Run::from(run), String::from_utf8(text).unwrap())
}

/// [`run_on_a_terminal`] of the built command.
pub(crate) fn on_a_terminal(args: &[&str]) -> (Run, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mldsa"));
    command.args(args);
    run_on_a_terminal(command)
}

#[test]
fn secrets_and_binary_are_not_written_to_a_terminal() {
    let folder = Folder::new("outputs-terminal");
    folder.good("keygen --set 44 --out key");
    folder.put("message", b"m");
    let shown = |args: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mldsa"));
        command.args(args.split(' ')).current_dir(&folder.0);
        run_on_a_terminal(command)
    };
    for args in [
        "keygen --set 44",
        "keygen --set 44 --format raw",
        "sign -k key message",
        "pubkey key --format der",
        "mu -k key --raw message",
    ] {
        let (run, text) = shown(args);
        assert_eq!((run.code, &*text), (2, ""), "{args}");
        assert!(run.stderr.contains("--out -"), "{}", run.stderr);
    }
    let (run, text) = shown("keygen --set 44 --out -");
    assert!(run.code == 0 && text.starts_with(PRIVATE), "{}", run.stderr);
    let (run, text) = shown("pubkey key");
    assert!(run.code == 0 && text.starts_with("-----BEGIN PUBLIC KEY"));
}
