//! `mldsa batch-verify`: golden output, exit codes, hostile lines, modes.

mod hostile;

use std::process::{Command, Stdio};

use mldsa_core::Set;

use crate::peer::{Form, HASHES, Peer as _, bytes, digest, message_fields, object, seed};
use crate::tool::{Folder, Run, args, mldsa};

/// A valid signature and its parts.
struct Signed {
    set: Set,
    pk: Vec<u8>,
    sig: Vec<u8>,
    form: Form,
    ctx: Vec<u8>,
}

impl Signed {
    fn new(set: Set, label: &str, form: Form, ctx: &[u8]) -> Self {
        let key = seed(&format!("{label} key"));
        let sig = set.sign(&key, &seed(&format!("{label} rnd")), &form, ctx);
        Self {
            set,
            pk: set.keygen(&key).0,
            sig,
            form,
            ctx: ctx.to_vec(),
        }
    }

    fn pure(set: Set, label: &str) -> Self {
        Self::new(set, label, Form::Pure(label.as_bytes().to_vec()), b"")
    }

    /// The fields of the line; with `as_mu` `mu` replaces message and context.
    fn fields(&self, as_mu: bool) -> Vec<(&'static str, String)> {
        let mut fields = vec![
            ("set", self.set.name().to_owned()),
            ("pk", hex::encode(&self.pk)),
            ("sig", hex::encode(&self.sig)),
        ];
        fields.extend(message_fields(&self.pk, &self.form, &self.ctx, as_mu));
        fields
    }

    fn line(&self) -> String {
        object(&self.fields(false))
    }

    /// The line with one field set, replaced or (`None`) removed.
    fn with(&self, name: &'static str, value: Option<&str>) -> String {
        let mut fields = self.fields(false);
        fields.retain(|(field, _)| *field != name);
        fields.extend(value.map(|value| (name, value.to_owned())));
        object(&fields)
    }

    fn as_mu(&self) -> String {
        object(&self.fields(true))
    }
}

fn verify(args: &[&str], lines: &[String]) -> Run {
    let input = lines.join("\n") + "\n";
    mldsa(&args!["batch-verify -", ..args], input.as_bytes())
}

fn valid(line: usize) -> String {
    format!("{{\"line\":{line},\"valid\":true}}")
}

fn invalid(line: usize, reason: &str) -> String {
    format!("{{\"line\":{line},\"valid\":false,\"reason\":\"{reason}\"}}")
}

fn error(line: usize, text: &str) -> String {
    format!("{{\"line\":{line},\"error\":\"{text}\"}}")
}

fn skipped(line: usize) -> String {
    format!("{{\"line\":{line},\"skipped\":true}}")
}

#[test]
fn forms_and_exit_codes() {
    let mut good = Vec::new();
    for set in Set::ALL {
        good.push(Signed::pure(set, "plain").line());
        let ctx = bytes("context", 255);
        let here = Signed::new(set, "ctx", Form::Pure(Vec::new()), &ctx);
        good.extend([here.line(), here.as_mu()]);
        // A context that is there but empty is the empty context; upper-case hex.
        let plain = Signed::pure(set, "upper");
        good.push(plain.with("ctx", Some("")));
        good.push(plain.with("pk", Some(&hex::encode_upper(&plain.pk))));
        for hash in set.hashes() {
            let form = Form::PreHashed(hash, digest(hash, b"message"));
            good.push(Signed::new(set, hash, form, b"ctx").line());
        }
    }
    let run = verify(&[], &good);
    let expected: Vec<String> = (1..=good.len()).map(valid).collect();
    assert_eq!(run.lines(), expected);
    assert_eq!(run.code, 0);
    let n = good.len();
    assert!(
        run.stderr.starts_with(&format!(
            "{n} lines: {n} valid, 0 invalid, 0 unusable, 0 skipped in "
        )),
        "{}",
        run.stderr
    );
    assert_eq!(
        run.stderr.lines().count(),
        1,
        "no progress bar off a terminal"
    );

    good.push(Signed::pure(Set::MlDsa44, "a").with("msg", Some("00")));
    assert_eq!(verify(&[], &good).code, 1);
    good.push("{}".into());
    let run = verify(&[], &good);
    assert_eq!(run.code, 2);
    assert_eq!(run.lines()[n], invalid(n + 1, "challenge_mismatch"));
    assert_eq!(
        run.lines()[n + 1],
        r#"{"line":34,"error":"field \"set\" is missing"}"#
    );
}

/// Every hash under every set: too weak is an error unless allowed.
#[test]
fn weak_prehash() {
    let mut lines = Vec::new();
    let mut strict = Vec::new();
    for set in Set::ALL {
        for hash in HASHES.iter().map(|hash| hash.name) {
            let form = Form::PreHashed(hash, digest(hash, b"message"));
            lines.push(Signed::new(set, "weak", form, b"").line());
            strict.push(if set.hashes().contains(&hash) {
                valid(lines.len())
            } else {
                let name = set.name();
                error(
                    lines.len(),
                    &format!("{hash} is too weak for {name} (--allow-weak-prehash accepts it)"),
                )
            });
        }
    }
    let run = verify(&[], &lines);
    assert_eq!(run.lines(), strict);
    assert_eq!(run.code, 2);
    let run = verify(&["--allow-weak-prehash"], &lines);
    assert_eq!(run.lines(), (1..=36).map(valid).collect::<Vec<_>>());
    assert_eq!(run.code, 0);
}

#[test]
fn nothing_to_verify_is_not_success() {
    let run = mldsa(&args!["batch-verify -"], b"");
    assert_eq!((run.code, run.stdout.as_str()), (2, ""));
    let run = mldsa(&args!["batch-verify -"], b"\n");
    assert_eq!(
        (run.code, run.lines()),
        (2, vec![error(1, "empty line").as_str()])
    );
    let run = mldsa(&["batch-verify", "no such file"], b"");
    assert_eq!((run.code, run.stdout.as_str()), (2, ""));
    assert!(
        run.stderr.starts_with("mldsa: no such file: "),
        "{}",
        run.stderr
    );
    // A folder opens but does not read.
    assert_eq!(
        mldsa(&["batch-verify", env!("CARGO_MANIFEST_DIR")], b"").code,
        2
    );
    // A byte order mark belongs to no line, and before the first line only.
    let line = Signed::pure(Set::MlDsa44, "mark").line();
    let run = verify(&[], &[format!("\u{feff}{line}"), format!("\u{feff}{line}")]);
    assert_eq!(run.lines(), [valid(1), error(2, "not a JSON object")]);
    for args in [
        args!["--threads 0"],
        args!["--threads x"],
        args!["--max-line 0"],
        args!["--mode some"],
        args!["--unknown 1"],
    ] {
        let run = mldsa(&args!["batch-verify -", ..args], b"");
        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{args:?}");
    }
}

/// Lines of all sets in three chunks of 1,024 lines, with failures in the first and in the second;
/// most lines are unusable, which takes no time.
#[test]
fn early_exit_modes() {
    let goods: Vec<String> = Set::ALL.map(|set| Signed::pure(set, "a").line()).into();
    let bads: Vec<String> = Set::ALL
        .map(|set| Signed::pure(set, "a").with("msg", Some("00")))
        .into();
    let long = Signed::pure(Set::MlDsa44, "a").with("ctx", Some(&"00".repeat(256)));
    let places: [&[(usize, &String)]; 9] = [
        &[],
        &[(1, &bads[2])],
        &[(40, &bads[0]), (39, &bads[2]), (300, &bads[1])],
        &[(40, &bads[1]), (41, &bads[0]), (60, &long)],
        &[(50, &long), (49, &bads[2]), (51, &bads[0])],
        &[(50, &bads[2]), (49, &long), (90, &bads[0])],
        &[(1100, &bads[0])],
        &[(1025, &bads[2]), (1024, &bads[1])],
        &[(1100, &long), (1, &bads[0])],
    ];
    for places in places {
        let mut lines = vec!["?".to_owned(); 2100];
        let mut expected: Vec<String> = (1..=lines.len())
            .map(|number| error(number, "not a JSON object"))
            .collect();
        for number in [1..5, 38..45, 46..53, 60..62, 1022..1028, 2098..2101]
            .into_iter()
            .flatten()
        {
            lines[number - 1].clone_from(&goods[number % 7 % 3]);
            expected[number - 1] = valid(number);
        }
        for (number, line) in places {
            lines[number - 1].clone_from(line);
            let reason = if *line == &long {
                "context_too_long"
            } else {
                "challenge_mismatch"
            };
            expected[number - 1] = invalid(*number, reason);
        }
        assert_eq!(verify(&[], &lines).lines(), expected);

        let first = places.iter().map(|(number, _)| *number).min();
        let mut until_first = expected.clone();
        for number in first.unwrap_or(lines.len()) + 1..=lines.len() {
            until_first[number - 1] = skipped(number);
        }
        let options = [args!["--threads 1"], args!["--threads 7"]];
        for option in &options {
            let run = verify(&args!["--mode first-invalid", ..option], &lines);
            assert_eq!(run.lines(), until_first);
            let stops_early = first.is_some_and(|first| first < 5);
            assert_eq!(run.code, if stops_early { 1 } else { 2 });

            let run = verify(&args!["--mode any-invalid", ..option], &lines);
            let answers = run.lines();
            assert_eq!(answers.len(), lines.len());
            for (n, answer) in answers.iter().enumerate() {
                let fits = *answer == expected[n] || *answer == skipped(n + 1);
                assert!(fits, "{answer}");
            }
            for word in ["false", "skipped"] {
                let found = answers.iter().any(|answer| answer.contains(word));
                assert_eq!(found, first.is_some(), "{word}");
            }
        }
    }
}

/// A process that has read and decoded 100 MB of lines never had as much memory.
#[test]
#[cfg(target_os = "linux")]
fn memory_does_not_grow_with_the_input() {
    use std::io::{Read, Write};

    let signed = Signed::pure(Set::MlDsa87, "a");
    let line = signed.with("sig", Some(&hex::encode(&signed.sig[1..]))) + "\n";
    let block = line.repeat(100);
    let mut child = Command::new(env!("CARGO_BIN_EXE_mldsa"))
        .args(args!["batch-verify -"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let answers = std::thread::spawn(move || {
        let mut text = String::new();
        stdout.read_to_string(&mut text).map(|_| text)
    });
    for _ in 0..70 {
        stdin.write_all(block.as_bytes()).unwrap();
    }
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    drop(stdin);
    assert_eq!(child.wait().unwrap().code(), Some(1));
    assert_eq!(answers.join().unwrap().unwrap().lines().count(), 7000);

    let peak = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .unwrap();
    let kilobytes: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    let sent = 70 * block.len() as u64 / 1024;
    assert!(kilobytes < sent * 3 / 4, "{kilobytes} kB of {sent} kB");
}

/// A closed output ends the command without a panic and without a message.
#[test]
fn closed_output() {
    let folder = Folder::new("closed-output");
    let path = folder.0.join("lines");
    std::fs::write(&path, "?\n".repeat(20_000)).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_mldsa"))
        .arg("batch-verify")
        .arg(&path)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(output.stderr, b"");
}

#[test]
fn help_documents_the_contract() {
    let help = mldsa(&args!["batch-verify --help"], b"").stdout;
    for word in [
        "context_too_long",
        "public_key_length",
        "signature_length",
        "hint_encoding",
        "response_norm",
        "challenge_mismatch",
        "\"skipped\":true",
        "EXIT CODE",
        "--max-line",
        "--threads",
        "--allow-weak-prehash",
        "EXAMPLES",
    ] {
        assert!(help.contains(word), "{word}");
    }
    for hash in &HASHES {
        assert!(help.contains(hash.name), "{hash:?}");
    }
}
