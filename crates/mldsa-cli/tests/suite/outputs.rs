//! Results: devices, pipes and links with `--force`, outputs that are inputs, failures, terminals.

mod commands;
mod pairs;

use std::fs::{self, File};
use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
use std::process::{Command, Stdio};

use crate::tool::{Folder, args, good, mldsa, unusable};

fn shell(script: &str, args: &[&str]) -> std::process::Output {
    Command::new("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_mldsa")])
        .args(args)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

/// A pipe is written into and stays a pipe, under its own name and a link's; so
/// does a device.
#[test]
fn force_writes_into_pipes_and_devices() {
    let folder = Folder::new("outputs-pipe");
    let pipe = folder.at("pipe");
    assert!(
        Command::new("mkfifo")
            .arg(&pipe)
            .status()
            .unwrap()
            .success()
    );
    let link = folder.at("link");
    symlink("pipe", &link).unwrap();
    for target in [&pipe, &link] {
        let reading = pipe.clone();
        let reader = std::thread::spawn(move || fs::read(reading).unwrap());
        let args = args!["keygen --set 44 --force --out", target];
        let run = mldsa(&args, b"");
        assert!(fs::metadata(&pipe).unwrap().file_type().is_fifo());
        assert_eq!(run.code, 0, "{}", run.stderr);
        assert!(
            reader
                .join()
                .unwrap()
                .starts_with(b"-----BEGIN PRIVATE KEY")
        );
    }
    // Without --force nothing is written into a pipe.
    unusable(&args!["keygen --set 44 --out", &pipe], b"", "--force");

    // A device under another name: this test does not bet /dev on its outcome.
    for (device, code) in [("/dev/null", 0), ("/dev/full", 2)] {
        let link = folder.at("device");
        symlink(device, &link).unwrap();
        let run = mldsa(&args!["keygen --set 44 --force --out", &link], b"");
        let metadata = fs::symlink_metadata(&link).unwrap();
        assert!(metadata.file_type().is_symlink(), "the link is gone");
        assert_eq!(run.code, code, "{}", run.stderr);
        if code == 2 {
            assert!(run.stderr.contains(&link), "{}", run.stderr);
        }
        fs::remove_file(link).unwrap();
    }
}

/// Standard output by another name is standard output.
#[test]
fn dev_stdout_is_standard_output() {
    let folder = Folder::new("outputs-stdout");
    let log = folder.put("log", b"before\n");
    for force in ["", "--force"] {
        let output = shell(
            &format!("exec \"$0\" keygen --set 44 --out /dev/stdout {force} >> \"$1\""),
            &[&log],
        );
        assert_eq!(output.status.code(), Some(0), "{output:?}");
    }
    let text = String::from_utf8(folder.get("log")).unwrap();
    assert!(text.starts_with("before\n"));
    assert_eq!(text.matches("-----BEGIN PRIVATE KEY").count(), 2);
    let run = good(&args!["keygen --set 44 --out /dev/stdout"], b"");
    assert!(run.stdout.starts_with("-----BEGIN PRIVATE KEY"));
}

#[test]
fn force_follows_links_to_files_only() {
    let folder = Folder::new("outputs-links");
    let file = folder.put("file", b"old");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    let link = folder.at("link");
    symlink("file", &link).unwrap();
    let to = |target: &str| ["keygen", "--set", "44", "--force", "--out", target].map(String::from);
    let run = |target: &str| to(target);
    let args = run(&link);
    good(&args.each_ref().map(|arg| arg.as_str()), b"");
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(folder.get("file").starts_with(b"-----BEGIN PRIVATE KEY"));
    let mode = fs::metadata(&file).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o600);

    let dangling = folder.at("dangling");
    symlink("nowhere", &dangling).unwrap();
    let directory = folder.at("directory");
    fs::create_dir(&directory).unwrap();
    let to_directory = folder.at("to-directory");
    symlink("directory", &to_directory).unwrap();
    let socket = folder.at("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    for target in [&dangling, &directory, &to_directory, &socket] {
        let args = run(target);
        unusable(&args.each_ref().map(|arg| arg.as_str()), b"", target);
    }
    assert!(fs::metadata(&socket).unwrap().file_type().is_socket());
    assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 6);
}

/// Under every name that a file has: nothing that is read is written over.
#[test]
fn no_output_is_an_input() {
    let folder = Folder::new("outputs-inputs");
    let seed = folder.put("seed", &[7; 32]);
    let key = folder.at("key");
    good(
        &args!["keygen --set 44 --seed-file", &seed, "--out", &key],
        b"",
    );
    let message = folder.put("message", b"m");
    let sig = folder.at("sig");
    good(&args!["sign -k", &key, "-o", &sig, &message], b"");
    let names = |of: &str| {
        let [hard, soft] = ["hard", "soft"].map(|name| folder.at(&format!("{of}-{name}")));
        let target = folder.at(of);
        fs::hard_link(&target, &hard).unwrap();
        symlink(&target, &soft).unwrap();
        [target, hard, soft, folder.at(&format!("./{of}"))]
    };
    let files = ["seed", "key", "message", "sig"];
    let before = files.map(|name| folder.get(name));
    let everything = || files.map(|name| folder.get(name)) == before;
    let commands: [(&str, &[&str]); 6] = [
        ("seed", &args!["keygen --set 44 --seed-file", &seed]),
        ("key", &args!["sign -k", &key, &message]),
        ("message", &args!["sign -k", &key, &message]),
        ("key", &args!["mu -k", &key, &message]),
        ("message", &args!["mu -k", &key, &message]),
        ("key", &["pubkey", &key]),
    ];
    let aliases = ["seed", "key", "message"].map(|of| (of, names(of)));
    for (input, command) in commands {
        let (_, aliases) = aliases.iter().find(|(of, _)| *of == input).unwrap();
        for output in aliases {
            for force in [&["--force"][..], &[]] {
                let args = [command, &["--out", output], force].concat();
                let run = mldsa(&args, b"");
                assert!(everything(), "{args:?} destroyed an input");
                assert_eq!(run.code, 2, "{args:?}");
                assert!(run.stderr.contains("is an input"), "{}", run.stderr);
            }
        }
    }
    // Standard input and standard output have names too.
    for script in [
        "\"$0\" sign -k \"$1/key\" --out \"$1/message\" --force < \"$1/message\"",
        "\"$0\" sign -k \"$1/key\" --hex \"$1/message\" >> \"$1/message\"",
        "\"$0\" sign -k \"$1/key\" --hex < \"$1/message\" >> \"$1/message\"",
        "\"$0\" pubkey \"$1/key\" >> \"$1/key\"",
        "\"$0\" inspect \"$1/key\" >> \"$1/key\"",
        "\"$0\" mu -k \"$1/key\" \"$1/message\" >> \"$1/key\"",
        "\"$0\" verify -k \"$1/key\" -s \"$1/sig\" \"$1/message\" >> \"$1/sig\"",
        "\"$0\" batch-verify \"$1/message\" >> \"$1/message\"",
        "\"$0\" batch-sign - < \"$1/message\" >> \"$1/message\"",
    ] {
        let output = shell(script, &[folder.0.to_str().unwrap()]);
        assert!(everything(), "{script} changed an input");
        assert_eq!(output.status.code(), Some(2), "{script}: {output:?}");
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(text.contains("is an input"), "{script}: {text}");
    }
    // The same device on both sides is no file that could be lost.
    let script = "\"$0\" sign -k \"$1/key\" --hex - </dev/null >/dev/null";
    let output = shell(script, &[folder.0.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

/// For example of a file of another member.
#[test]
fn control_characters_are_escaped() {
    for name in ["no\u{1b}[2Jwhere", "no\nmldsa: where", "no\u{9b}2Jwhere"] {
        let run = mldsa(&["inspect", name], b"");
        let escaped = name.escape_default();
        let start = format!("mldsa: {escaped}: ");
        assert_eq!(run.code, 2);
        assert!(run.stderr.starts_with(&start), "{}", run.stderr);
        assert_eq!(run.stderr.lines().count(), 1);
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
fn failures_leave_nothing_behind() {
    let folder = Folder::new("outputs-failures");
    let seed = folder.put("seed", &[7; 32]);
    let at = folder.0.to_str().unwrap();
    // Half a key fits.
    for force in ["", "--force"] {
        let script = format!(
            "ulimit -f 1; exec \"$0\" keygen --set 87 --form expanded --format raw \
             --seed-file \"$1/seed\" --out \"$1/key\" {force}"
        );
        if force == "--force" {
            folder.put("key", b"old");
        }
        let output = shell(&script, &[at]);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(text.contains("/key: "), "{text}");
        let left = if force.is_empty() { 1 } else { 2 };
        assert_eq!(fs::read_dir(&folder.0).unwrap().count(), left);
    }
    assert_eq!(folder.get("key"), b"old");

    for command in [
        "keygen --set 44 --out -",
        "inspect --set 44 \"$1/seed\"",
        "backends",
        "--help",
        "--version",
        "batch-sign \"$1/seed\"",
    ] {
        let output = shell(&format!("exec \"$0\" {command} > /dev/full"), &[at]);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(text.contains("standard output: "), "{command}: {text}");
    }
    unusable(&["batch-verify", at], b"", at);
    unusable(&args!["sign -k", &seed, "--set 44", at], b"", at);
    unusable(&["inspect", at], b"", at);
}

/// A terminal of its own: what is written to it comes out of the first file.
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

#[test]
fn secrets_and_binary_are_not_written_to_a_terminal() {
    use std::io::Read;

    let folder = Folder::new("outputs-terminal");
    let key = folder.at("key");
    good(&args!["keygen --set 44 --out", &key], b"");
    let message = folder.put("message", b"m");
    let shown = |args: &[&str]| {
        let (mut master, side) = terminal();
        let output = Command::new(env!("CARGO_BIN_EXE_mldsa"))
            .args(args)
            .stdin(Stdio::null())
            .stdout(side)
            .stderr(Stdio::piped())
            .output()
            .unwrap();
        let mut text = Vec::new();
        // Ends with an error when the other side is closed.
        let _ = master.read_to_end(&mut text);
        let errors = String::from_utf8(output.stderr).unwrap();
        (output.status.code(), text, errors)
    };
    for args in [
        &args!["keygen --set 44"][..],
        &args!["keygen --set 44 --format raw"],
        &args!["sign -k", &key, &message],
        &args!["pubkey", &key, "--format der"],
        &args!["mu -k", &key, "--raw", &message],
    ] {
        let (code, text, errors) = shown(args);
        assert!(text.is_empty(), "{args:?} wrote to a terminal");
        assert_eq!(code, Some(2), "{args:?}: {errors}");
        assert!(errors.contains("--out -"), "{errors}");
    }
    let (code, text, errors) = shown(&args!["keygen --set 44 --out -"]);
    assert_eq!(code, Some(0), "{errors}");
    assert!(text.starts_with(b"-----BEGIN PRIVATE KEY"));
    let (code, text, _) = shown(&["pubkey", &key]);
    assert!(code == Some(0) && text.starts_with(b"-----BEGIN PUBLIC KEY"));
}
