//! A process that asks, waits for the answer and asks again.

use core::time::Duration;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

/// The tool on two pipes. A hang ends the test: the process is killed after a
/// minute, and its answers with it.
struct Conversation {
    stdin: ChildStdin,
    answers: BufReader<ChildStdout>,
    child: u32,
    _done: Sender<()>,
}

impl Conversation {
    fn new(args: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_mldsa"))
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let stdin = child.stdin.take().unwrap();
        let answers = BufReader::new(child.stdout.take().unwrap());
        let id = child.id();
        let (done, watched) = channel();
        thread::spawn(move || watch(child, &watched));
        Self {
            stdin,
            answers,
            child: id,
            _done: done,
        }
    }

    fn say(&mut self, text: &str) {
        self.stdin.write_all(text.as_bytes()).unwrap();
    }

    fn hear(&mut self) -> String {
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        assert!(line.ends_with('\n'), "no answer");
        line
    }
}

fn watch(mut child: Child, done: &Receiver<()>) {
    let _ = done.recv_timeout(Duration::from_secs(60));
    let _ = child.kill();
    let _ = child.wait();
}

#[test]
fn every_question_is_answered_before_the_next() {
    let mut tool = Conversation::new(&["batch-verify", "-"]);
    for number in 1..=20 {
        tool.say("?\n");
        let expected = format!("{{\"line\":{number},\"error\":\"not a JSON object\"}}\n");
        assert_eq!(tool.hear(), expected);
    }
    // Lines in pieces, and the beginning of a line behind a whole one.
    tool.say("{\"set\":");
    tool.say("\"x\"");
    tool.say("}\n{\"s");
    assert!(tool.hear().starts_with("{\"line\":21,\"error\":"));
    tool.say("et\":\"x\"}\n\n");
    assert!(tool.hear().starts_with("{\"line\":22,\"error\":"));
    assert!(
        tool.hear()
            .starts_with("{\"line\":23,\"error\":\"empty line")
    );
}

#[test]
fn signatures_are_asked_for_one_by_one() {
    let mut tool = Conversation::new(&["batch-sign", "-"]);
    for number in 1..=5 {
        let seed = format!("{number:064x}");
        tool.say(&format!(
            "{{\"set\":\"ML-DSA-44\",\"seed\":\"{seed}\",\"msg\":\"00\"}}\n"
        ));
        let answer = tool.hear();
        assert!(
            answer.starts_with(&format!("{{\"line\":{number},\"pk\":\"")),
            "{answer}"
        );
    }
}

/// What was asked with a private key leaves no copy of it in the process: not in
/// the lines read, not in what JSON escapes were turned into, not in the bytes.
#[cfg(target_os = "linux")]
#[test]
fn no_copy_of_a_seed_stays_behind() {
    let random = b"\x9d\x21\xf4\x6b\x03\xd8\x5e\xa7\x1c\x90\x42\xbb\xe6\x77\x38\xcd";
    let seed = [
        &random[..],
        &random[..].iter().rev().copied().collect::<Vec<_>>(),
    ]
    .concat();
    let digits = hex::encode(&seed);
    let escaped: String = digits
        .bytes()
        .map(|digit| format!("\\u{digit:04x}"))
        .collect();
    let mixed = format!("\\u{:04x}{}", digits.as_bytes()[0], &digits[1..]);
    let mut tool = Conversation::new(&["batch-sign", "-", "--threads", "2"]);
    for text in [&escaped, &mixed, &digits] {
        tool.say(&format!(
            "{{\"set\":\"ML-DSA-44\",\"seed\":\"{text}\",\"msg\":\"00\"}}\n"
        ));
        assert!(tool.hear().contains("\"sig\":"));
        // A swapped name and value, and a value that ends in another escape.
        tool.say(&format!("{{\"{text}\":\"seed\"}}\n"));
        assert!(tool.hear().contains("unknown"));
        tool.say(&format!("{{\"seed\":\"{text}\\n\"}}\n"));
        assert!(tool.hear().contains("\"error\":"));
    }
    // Writes over what is in the buffer of lines.
    let other = "0".repeat(3000);
    tool.say(&format!("{other}\n"));
    assert!(tool.hear().contains("not a JSON object"));

    let found = find_in_memory(tool.child, &[&digits.as_bytes()[1..33], &seed[..16]]);
    assert_eq!(found, [0, 0], "copies of the digits and of the bytes");
    // The search finds what is there.
    assert!(find_in_memory(tool.child, &[&other.as_bytes()[..64]])[0] > 0);
}

/// How often each needle lies in the writable memory of a process.
#[cfg(target_os = "linux")]
fn find_in_memory(process: u32, needles: &[&[u8]]) -> Vec<usize> {
    use std::os::unix::fs::FileExt;

    let maps = std::fs::read_to_string(format!("/proc/{process}/maps")).unwrap();
    let memory = std::fs::File::open(format!("/proc/{process}/mem")).unwrap();
    let mut found = vec![0; needles.len()];
    for line in maps.lines().filter(|line| line.contains(" rw")) {
        let (start, end) = line.split_once(' ').unwrap().0.split_once('-').unwrap();
        let [start, end] = [start, end].map(|text| u64::from_str_radix(text, 16).unwrap());
        let mut bytes = vec![0; (end - start) as usize];
        if memory.read_exact_at(&mut bytes, start).is_err() {
            continue;
        }
        for (needle, count) in needles.iter().zip(&mut found) {
            *count += memchr::memmem::find_iter(&bytes, needle).count();
        }
    }
    found
}
