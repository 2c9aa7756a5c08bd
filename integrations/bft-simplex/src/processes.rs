//! One process a validator, over TCP, one of them killed if so asked.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead as _, BufReader, Read as _};
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

/// A validator's process tells of each finalised block by this word, the view and the block.
const FINALIZED: &str = "finalized ";
/// What it says when it has come to the last view. The row follows, as JSON, at the end.
const DONE: &str = "done";

/// The process of one validator. When it has come to the last view it goes on until its parent
/// closes its input: others may still need its votes.
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
    let row = tcp::run(options, members, &(Arc::new(tell) as Hook), || {
        println!("{DONE}");
        io::stdin().read_to_end(&mut Vec::new())?;
        Ok(())
    })?;
    println!("{}", serde_json::to_string(&row)?);
    Ok(())
}

/// What a child's output says.
enum Line {
    Finalized(u64, String),
    Done,
    Row(Box<Row>),
    End,
}

impl Line {
    /// `None` for what a validator does not say.
    fn parse(line: &str) -> Option<Self> {
        if line == DONE {
            return Some(Self::Done);
        }
        match line.strip_prefix(FINALIZED) {
            Some(told) => {
                let (view, block) = told.split_once(' ')?;
                Some(Self::Finalized(view.parse().ok()?, block.into()))
            }
            None => Some(Self::Row(Box::new(serde_json::from_str(line).ok()?))),
        }
    }
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
    let mut done = BTreeSet::new();
    let mut blocks: BTreeMap<u64, String> = BTreeMap::new();
    let last = options.validators - 1;
    let mut killed = if options.crash {
        Killed::Not
    } else {
        Killed::Returned
    };
    while rows.iter().any(Option::is_none) {
        let (node, line) = next(&lines, deadline, options.seconds)?;
        match line {
            Line::Finalized(view, block) => {
                let known = blocks.entry(view).or_insert_with(|| block.clone());
                RunError::unless(*known == block, || {
                    format!("validators agree on view {view}")
                })?;
                if node == last {
                    killed = match killed {
                        Killed::Not if view >= (options.views / 3).max(1) => {
                            children.0[last].kill()?;
                            children.0[last].wait()?;
                            Killed::Down(view)
                        }
                        Killed::Down(before) => Killed::Down(view.max(before)),
                        Killed::Back(before) if view > before => Killed::Returned,
                        other => other,
                    };
                }
            }
            Line::Done if node == last && matches!(killed, Killed::Down(_)) => {}
            Line::Done => {
                done.insert(node);
            }
            Line::Row(row) => rows[node] = Some(*row),
            Line::End => match killed {
                Killed::Down(before) if node == last => {
                    // In the same folder: from its journal.
                    children.0[last] = start(last)?;
                    killed = Killed::Back(before);
                }
                _ if rows[node].is_some() => {}
                _ => {
                    let status = children.0[node].wait()?;
                    return Err(RunError::Process {
                        node,
                        status: status.to_string(),
                    });
                }
            },
        }
        if done.len() == options.validators && killed == Killed::Returned {
            for child in &mut children.0 {
                drop(child.stdin.take());
            }
        }
    }
    for (node, child) in children.0.iter_mut().enumerate() {
        let status = child.wait()?;
        if !status.success() {
            return Err(RunError::Process {
                node,
                status: status.to_string(),
            });
        }
    }
    // What a faulty member measures and thinks of others says nothing.
    let rows: Vec<Row> = rows.into_iter().skip(options.faulty()).flatten().collect();
    let guilty: Vec<String> = (0..options.faulty())
        .map(|n| format!("member {n}"))
        .collect();
    for row in &rows {
        RunError::unless(row.blocked == guilty, || {
            format!("each blocks exactly {guilty:?}; one {:?}", row.blocked)
        })?;
    }
    Ok(rows)
}

/// What has become of the member that is to be killed. What was told by the process that is no
/// more may still be on its way.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Killed {
    /// It is still to be.
    Not,
    /// Its output has not ended; the last view that it has told of.
    Down(u64),
    /// Started again, and has not told of a later view.
    Back(u64),
    /// It finalises again, or was not to be killed.
    Returned,
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
                if let Some(line) = Line::parse(&line)
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
