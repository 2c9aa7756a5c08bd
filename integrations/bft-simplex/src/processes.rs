//! One process a validator, over TCP, one of them killed if so asked.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use measure::{How, Row};
use mldsa_core::ParameterSet;

use crate::members::Members;
use crate::{Block, Hook, Options, RunError, tcp};

/// A validator's process tells of each finalised block by this word, the view and the block, and
/// prints its row, as JSON, at the end.
const FINALIZED: &str = "finalized ";

/// The process of one validator. When it has printed its row it goes on until its parent closes
/// its input: others may still need its votes.
pub(crate) fn child<P: ParameterSet>(
    options: &Options,
    members: &Members<P>,
    hook: &Hook,
) -> Result<(), RunError> {
    let hook = hook.clone();
    let tell = move |block: &Block| {
        println!("{FINALIZED}{} {}", block.view, block.payload);
        hook(block);
    };
    tcp::run_and(options, members, &(Arc::new(tell) as Hook), |row| {
        let mut out = io::stdout().lock();
        serde_json::to_writer(&mut out, row)?;
        writeln!(out)?;
        out.flush()?;
        drop(out);
        io::stdin().read_to_end(&mut Vec::new())?;
        Ok(())
    })?;
    Ok(())
}

/// What a child's output says.
enum Line {
    Finalized(u64, String),
    Row(Box<Row>),
    End,
}

/// All children. Whatever happens, none outlives the run.
struct Children(Vec<Child>);

impl Drop for Children {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// One row an honest validator, in order.
pub(crate) fn run(options: &Options, how: How) -> Result<Vec<Row>, RunError> {
    let folder = tempfile::tempdir()?;
    let (sender, lines) = channel();
    let start = |node| spawn(options, how, node, folder.path(), &sender);
    let mut children = Children(Vec::new());
    for node in 0..options.validators {
        children.0.push(start(node)?);
    }
    let deadline = Instant::now() + Duration::from_secs(options.seconds);
    let mut rows: Vec<Option<Row>> = vec![None; options.validators];
    let last = options.validators - 1;
    // Whether somebody is still to be killed, and whether the end of its output is still to come.
    let (mut to_kill, mut down) = (options.crash, false);
    let mut blocks: BTreeMap<u64, String> = BTreeMap::new();
    while rows.iter().any(Option::is_none) {
        match next(&lines, deadline, options.seconds)? {
            (node, Line::Finalized(view, block)) => {
                let known = blocks.entry(view).or_insert_with(|| block.clone());
                RunError::unless(*known == block, || {
                    format!("validators agree on view {view}")
                })?;
                if to_kill && node == last && view >= (options.views / 3).max(1) {
                    children.0[last].kill()?;
                    children.0[last].wait()?;
                    (to_kill, down) = (false, true);
                }
            }
            (node, Line::Row(row)) if !(down && node == last) => rows[node] = Some(*row),
            (_, Line::Row(_)) => {}
            (node, Line::End) if down && node == last => {
                // In the same folder: from its journal.
                children.0[last] = start(last)?;
                down = false;
            }
            (node, Line::End) => {
                let status = children.0[node].wait()?;
                return Err(RunError::Process {
                    node,
                    status: status.to_string(),
                });
            }
        }
    }
    for (node, child) in children.0.iter_mut().enumerate() {
        drop(child.stdin.take());
        let status = child.wait()?;
        if !status.success() {
            return Err(RunError::Process {
                node,
                status: status.to_string(),
            });
        }
    }
    // What a faulty member measures says nothing.
    let rows: Vec<Row> = rows.into_iter().skip(options.faulty()).flatten().collect();
    let guilty: BTreeSet<String> = (0..options.faulty())
        .map(|n| format!("member {n}"))
        .collect();
    let blocked = rows.iter().flat_map(|row| row.blocked.iter().cloned());
    let blocked: BTreeSet<String> = blocked.collect();
    RunError::unless(blocked == guilty, || {
        format!("exactly {guilty:?} are blocked; {blocked:?} are")
    })?;
    Ok(rows)
}

fn next(
    lines: &Receiver<(usize, Line)>,
    deadline: Instant,
    seconds: u64,
) -> Result<(usize, Line), RunError> {
    let left = deadline.saturating_duration_since(Instant::now());
    lines
        .recv_timeout(left)
        .map_err(|error| RunError::OutOfTime {
            seconds,
            waiting_for: match error {
                RecvTimeoutError::Timeout => "the validators' processes".into(),
                RecvTimeoutError::Disconnected => "processes that have all ended".into(),
            },
        })
}

/// Starts a validator's process and listens to it.
fn spawn(
    options: &Options,
    how: How,
    node: usize,
    folder: &Path,
    lines: &Sender<(usize, Line)>,
) -> Result<Child, RunError> {
    let mut child = Command::new(std::env::current_exe()?)
        .args([
            "--net",
            "procs",
            "--how",
            how.name(),
            "--set",
            options.set.name(),
        ])
        .args(["--validators", &options.validators.to_string()])
        .args(["--views", &options.views.to_string()])
        .args(["--spoil", &options.spoil.to_string()])
        .args(["--workers", &options.workers.to_string()])
        .args(["--port", &options.port.to_string()])
        .args(["--seconds", &options.seconds.to_string()])
        .args(["--node", &node.to_string()])
        .arg("--storage")
        .arg(folder.join(node.to_string()))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    if let Some(output) = child.stdout.take() {
        let lines = lines.clone();
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                let line = match line.strip_prefix(FINALIZED) {
                    Some(told) => told.split_once(' ').and_then(|(view, block)| {
                        Some(Line::Finalized(view.parse().ok()?, block.into()))
                    }),
                    None => serde_json::from_str(&line)
                        .ok()
                        .map(|row| Line::Row(Box::new(row))),
                };
                if let Some(line) = line
                    && lines.send((node, line)).is_err()
                {
                    return;
                }
            }
            let _ = lines.send((node, Line::End));
        });
    }
    Ok(child)
}
