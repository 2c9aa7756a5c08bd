//! One process per validator, over TCP. With `--crash` one of them is killed and restarted.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use harness::{Row, Strategy};
use mldsa_core::ParameterSet;

use crate::members::Members;
use crate::{Block, Hook, Options, tcp};

/// First word of a child's line for a finalised block; view and payload follow.
const FINALIZED: &str = "finalized ";
/// Line of a child that has reached the last view. The row follows, as JSON, at the end.
const DONE: &str = "done";

/// Process of one validator. After the last view it keeps running, because others may need its
/// votes, until the parent closes its standard input.
pub(crate) fn child<P: ParameterSet>(
    options: &Options,
    members: &Members<P>,
    hook: &Hook,
) -> anyhow::Result<()> {
    let hook = hook.clone();
    let report = move |block: &Block| {
        println!("{FINALIZED}{} {}", block.view, block.payload);
        hook(block);
    };
    let row = tcp::run(options, members, &(Arc::new(report) as Hook), || {
        println!("{DONE}");
        io::stdin().read_to_end(&mut Vec::new())?;
        Ok(())
    })?;
    println!("{}", serde_json::to_string(&row)?);
    Ok(())
}

/// Parsed line of a child.
enum Line {
    Finalized(u64, String),
    Done,
    Row(Box<Row>),
    /// The output has ended.
    End,
}

impl Line {
    fn parse(line: &str) -> Option<Self> {
        if line == DONE {
            return Some(Self::Done);
        }
        match line.strip_prefix(FINALIZED) {
            Some(block) => {
                let (view, payload) = block.split_once(' ')?;
                Some(Self::Finalized(view.parse().ok()?, payload.into()))
            }
            None => Some(Self::Row(Box::new(serde_json::from_str(line).ok()?))),
        }
    }
}

/// Child processes, killed on drop.
struct Children(Vec<Child>);

impl Drop for Children {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// State of the crash of the last member. Lines that the killed process wrote before its end may
/// still be in its pipe.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Crash {
    /// The process still has to be killed.
    Pending,
    /// Killed; the last view it reported.
    Killed(u64),
    /// Restarted; the last view reported before.
    Restarted(u64),
    /// It has finalised a later view, or no crash was requested.
    Recovered,
}

/// Runs all validators and returns the rows of the honest ones, in order.
pub(crate) fn run(options: &Options, strategy: Strategy) -> anyhow::Result<Vec<Row>> {
    let folder = tempfile::tempdir()?;
    let (sender, lines) = channel();
    let start = |node| spawn(options, strategy, node, folder.path(), &sender);
    let mut children = Children(Vec::new());
    for node in 0..options.validators() {
        children.0.push(start(node)?);
    }
    let deadline = Instant::now() + Duration::from_secs(options.seconds);
    let mut rows: Vec<Option<Row>> = vec![None; options.validators()];
    let mut done = BTreeSet::new();
    let mut blocks: BTreeMap<u64, String> = BTreeMap::new();
    let last = options.validators() - 1;
    let mut crash = match options.crash {
        true => Crash::Pending,
        false => Crash::Recovered,
    };
    while rows.iter().any(Option::is_none) {
        let left = deadline.saturating_duration_since(Instant::now());
        let line = lines.recv_timeout(left);
        let (node, line) =
            line.with_context(|| format!("validators still running after {} s", options.seconds))?;
        match line {
            Line::Finalized(view, block) => {
                let known = blocks.entry(view).or_insert_with(|| block.clone());
                ensure!(*known == block, "validators disagree on view {view}");
                if node == last {
                    crash = match crash {
                        Crash::Pending if view >= (options.views / 3).max(1) => {
                            children.0[last].kill()?;
                            children.0[last].wait()?;
                            Crash::Killed(view)
                        }
                        Crash::Killed(before) => Crash::Killed(view.max(before)),
                        Crash::Restarted(before) if view > before => Crash::Recovered,
                        unchanged => unchanged,
                    };
                }
            }
            Line::Done if node == last && matches!(crash, Crash::Killed(_)) => {}
            Line::Done => {
                done.insert(node);
            }
            Line::Row(row) => rows[node] = Some(*row),
            Line::End => match crash {
                Crash::Killed(before) if node == last => {
                    // Same directory: the process restarts from its journal.
                    children.0[last] = start(last)?;
                    crash = Crash::Restarted(before);
                }
                _ if rows[node].is_some() => {}
                _ => bail!("validator {node} ended with {}", children.0[node].wait()?),
            },
        }
        if done.len() == options.validators() && crash == Crash::Recovered {
            children
                .0
                .iter_mut()
                .for_each(|child| drop(child.stdin.take()));
        }
    }
    for (node, child) in children.0.iter_mut().enumerate() {
        let status = child.wait()?;
        ensure!(status.success(), "validator {node} ended with {status}");
    }
    let rows: Vec<Row> = rows.into_iter().skip(options.faulty()).flatten().collect();
    let guilty = (0..options.faulty()).map(|n| format!("member {n}"));
    let guilty: Vec<String> = guilty.collect();
    for row in &rows {
        let blocked = &row.blocked;
        ensure!(
            *blocked == guilty,
            "blocked: {blocked:?}, expected: {guilty:?}"
        );
    }
    Ok(rows)
}

/// Starts the process of a validator and a thread that forwards its lines.
fn spawn(
    options: &Options,
    strategy: Strategy,
    node: usize,
    folder: &Path,
    lines: &Sender<(usize, Line)>,
) -> anyhow::Result<Child> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["--net", "procs", "--strategy", strategy.name()]);
    command.args(["--set", options.common.set.name()]);
    for (option, value) in [
        ("--validators", options.validators() as u64),
        ("--views", options.views),
        ("--byzantine", options.common.byzantine as u64),
        ("--workers", options.workers.into()),
        ("--port", options.port.into()),
        ("--seconds", options.seconds),
        ("--node", node as u64),
    ] {
        command.args([option, &value.to_string()]);
    }
    command.arg("--storage").arg(folder.join(node.to_string()));
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn()?;
    let output = child.stdout.take().context("no standard output")?;
    let lines = lines.clone();
    thread::spawn(move || {
        let output = BufReader::new(output).lines().map_while(Result::ok);
        let parsed = output.filter_map(|line| Line::parse(&line));
        for line in parsed.chain([Line::End]) {
            if lines.send((node, line)).is_err() {
                return;
            }
        }
    });
    Ok(child)
}
