//! Where results go: devices, pipes and links under `--force`, outputs that are
//! inputs, failures half way, terminals.

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
    // Whoever made the pipe gets nothing without --force.
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
fn force_follows_links_to_files_and_refuses_the_rest() {
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

/// Such as a file of another member that a step reads.
#[test]
fn what_a_name_would_do_to_a_terminal_is_escaped() {
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

/// What cannot be written in full is not there at all, and says its name.
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
fn private_keys_and_binary_do_not_go_to_a_terminal_unasked() {
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

/// Two results are two: no stream takes both, whatever its names.
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

/// A pair is written, or nothing of it: an old key outlives a failing --pub.
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
    let nobody = 65534;
    let at = |name: &str| place.join(name);
    fs::copy(env!("CARGO_BIN_EXE_mldsa"), at("mldsa")).unwrap();
    for (path, mode) in [
        ("", 0o755),
        ("sticky", 0o1777),
        ("own", 0o755),
        ("mldsa", 0o755),
    ] {
        fs::set_permissions(at(path), fs::Permissions::from_mode(mode)).unwrap();
    }
    chown(at("own"), Some(nobody), Some(nobody)).unwrap();
    for (out, public) in [("sticky/file", "own/file"), ("own/file", "sticky/file")] {
        fs::write(at("sticky/file"), b"old").unwrap();
        fs::write(at("own/file"), b"old").unwrap();
        let output = Command::new(at("mldsa"))
            .args(args!["keygen --set 44 --force"])
            .args(["--out".as_ref(), at(out).as_os_str()])
            .args(["--pub".as_ref(), at(public).as_os_str()])
            .uid(nobody)
            .gid(nobody)
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

/// Commands, arguments, files that they read, options that name results. `@` is the folder.
const COMMANDS: &str = "\
keygen | --set 44 --seed-file @/seed --force | @/seed | --out --pub
convert | @/key --force | @/key | --out
pubkey | @/key --force | @/key | --out
inspect | @/key | @/key |
sign | -k @/key --hex --force @/payload | @/key @/payload | --out
verify | -k @/key -s @/sig @/payload | @/key @/sig @/payload |
mu | -k @/key --force @/payload | @/key @/payload | --out
batch-verify | @/payload | @/payload |
batch-sign | @/payload | @/payload |
backends | | |
completions | bash | |
man | @/nowhere | |
aggregate run | --dir @/new --payload @/payload | @/payload |
aggregate init | $STORE --id m | $SHARED $SECRET |
aggregate plan | --committee @/com --content c | $SHARED |
aggregate root | $STORE | $SHARED $SECRET |
aggregate agree | $STORE | $SHARED $SECRET |
aggregate open | $STEP | $ROUND |
aggregate commit | $STEP | $ROUND |
aggregate respond | $STEP | $ROUND |
aggregate retire | $STEP | $ROUND |
aggregate combine | $STEP | $ROUND | --out
aggregate verify | $STEP --aggregate @/sig --weights @/key --threshold 1 | @/sig @/key @/payload $SECRET @/round/6d30.opening @/com/epoch-1/plan.json | --pk-out --sig-out --message-out --ctx-out
aggregate close | --store @/store --epoch 1 | $SECRET |
aggregate rotate | --store @/store --epoch 1 | $SECRET |";

/// Abbreviations in [`COMMANDS`].
const PARTS: [(&str, &str); 5] = [
    ("$STEP", "$STORE --round @/round --payload @/payload"),
    ("$STORE", "--committee @/com --store @/store"),
    (
        "$SHARED",
        "@/com/epoch-1/plan.json @/com/registrations/6d30",
    ),
    (
        "$ROUND",
        "@/com/epoch-1/roots/6d30 $SECRET @/store/guard-0.log @/round/6d30.opening @/payload",
    ),
    ("$SECRET", "@/store/secret"),
];

/// The commands that the tool itself lists.
fn commands(of: &str) -> Vec<String> {
    let args: Vec<&str> = of.split_whitespace().chain(["--help"]).collect();
    let help = good(&args, b"").stdout;
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    listed
        .take_while(|line| !line.is_empty())
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .map(|line| line.split_whitespace().next().unwrap())
        .filter(|name| *name != "help")
        .flat_map(|name| {
            let name = format!("{of} {name}").trim().to_owned();
            let inner = commands(&name);
            if inner.is_empty() { vec![name] } else { inner }
        })
        .collect()
}

#[test]
fn no_command_writes_into_its_inputs() {
    let folder = Folder::new("outputs-commands");
    let table = PARTS
        .iter()
        .fold(COMMANDS.to_owned(), |table, (short, long)| {
            table.replace(short, long)
        });
    let table = table.replace('@', folder.0.to_str().unwrap());
    let rows: Vec<[Vec<&str>; 4]> = table
        .lines()
        .map(|row| {
            let cells = row.split('|').map(|cell| cell.split_whitespace().collect());
            cells.collect::<Vec<_>>().try_into().unwrap()
        })
        .collect();
    let mut listed = commands("");
    listed.sort();
    let mut in_table: Vec<String> = rows.iter().map(|row| row[0].join(" ")).collect();
    in_table.sort();
    assert_eq!(listed, in_table);

    let mut files: Vec<&str> = rows.iter().flat_map(|row| row[2].clone()).collect();
    files.sort();
    files.dedup();
    for file in &files {
        fs::create_dir_all(std::path::Path::new(file).parent().unwrap()).unwrap();
        fs::write(file, file).unwrap();
    }
    let everything = || {
        files
            .iter()
            .all(|file| fs::read(file).unwrap() == file.as_bytes())
    };
    let mut tried = 0;
    let mut refused = |args: &[&str], to: &str| {
        let log = File::options().append(true).open(to).unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_mldsa"))
            .args(args)
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(Stdio::piped())
            .output()
            .unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(everything(), "{args:?} > {to} changed an input");
        assert!(text.contains("is an input"), "{args:?} > {to}: {text}");
        assert_eq!(output.status.code(), Some(2), "{args:?} > {to}");
        tried += 1;
    };
    for [command, arguments, inputs, results] in &rows {
        let args = args![..command, ..arguments];
        let combine = command.ends_with(&["combine"]);
        for input in inputs {
            let (hard, soft) = (folder.at("hard"), folder.at("soft"));
            fs::hard_link(input, &hard).unwrap();
            symlink(input, &soft).unwrap();
            // An option of a result: the input, its other names, and standard output that is one.
            for option in results {
                for name in [*input, &hard, &soft] {
                    refused(&args![..args, option, name], "/dev/null");
                }
                for name in ["-", "/dev/stdout"] {
                    refused(&args![..args, option, name], &hard);
                }
            }
            if !combine {
                refused(&args, input);
                refused(&args, &hard);
            }
            fs::remove_file(hard).unwrap();
            fs::remove_file(soft).unwrap();
        }
    }
    assert!(tried > 150, "{tried}");
}
