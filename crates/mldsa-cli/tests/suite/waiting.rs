//! Requests on a pipe, each sent after the answer to the one before.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use crate::tool::{args, hang_limit};

/// The tool on two pipes. The process is killed when the test ends, and when it hangs.
pub(crate) struct PipedTool {
    stdin: ChildStdin,
    answers: BufReader<ChildStdout>,
    child: u32,
    _done: Sender<()>,
}

impl PipedTool {
    pub(crate) fn new(args: &[&str]) -> Self {
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

    #[cfg(target_os = "linux")]
    pub(crate) fn process(&self) -> u32 {
        self.child
    }

    pub(crate) fn send(&mut self, text: &str) {
        self.stdin.write_all(text.as_bytes()).unwrap();
    }

    pub(crate) fn receive(&mut self) -> String {
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        assert!(line.ends_with('\n'), "no answer");
        line
    }
}

/// Kills a process after the test, or when it has run for longer than any loaded machine needs.
fn watch(mut child: Child, done: &Receiver<()>) {
    let _ = done.recv_timeout(hang_limit());
    let _ = child.kill();
    let _ = child.wait();
}

#[test]
fn answers_do_not_wait_for_more_input() {
    let mut tool = PipedTool::new(&args!["batch-verify -"]);
    for number in 1..=20 {
        tool.send("?\n");
        let expected = format!("{{\"line\":{number},\"error\":\"not a JSON object\"}}\n");
        assert_eq!(tool.receive(), expected);
    }
    // Lines in pieces, and the beginning of a line after a whole one.
    tool.send("{\"set\":");
    tool.send("\"x\"");
    tool.send("}\n{\"s");
    assert!(tool.receive().starts_with("{\"line\":21,\"error\":"));
    tool.send("et\":\"x\"}\n\n");
    assert!(tool.receive().starts_with("{\"line\":22,\"error\":"));
    assert!(
        tool.receive()
            .starts_with("{\"line\":23,\"error\":\"empty line")
    );
}

#[test]
fn signatures_do_not_wait_for_more_input() {
    let mut tool = PipedTool::new(&args!["batch-sign -"]);
    for number in 1..=5 {
        let seed = format!("{number:064x}");
        tool.send(&format!(
            "{{\"set\":\"ML-DSA-44\",\"seed\":\"{seed}\",\"msg\":\"00\"}}\n"
        ));
        let answer = tool.receive();
        assert!(
            answer.starts_with(&format!("{{\"line\":{number},\"pk\":\"")),
            "{answer}"
        );
    }
}
