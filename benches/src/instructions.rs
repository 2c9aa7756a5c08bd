//! Instructions executed, counted one by one: figures without noise, also where
//! a machine hides its performance counters, and for instructions that simulators
//! do not know.
//!
//! The counting process starts a second one that stops itself before and after
//! each call, and steps it through everything in between.

use std::io::{self, Read, Write};
use std::process::{Command, Stdio};

use nix::sys::ptrace;
use nix::sys::signal::{Signal, raise};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::Pid;

use crate::Contender;

/// The traced side: counts nothing itself. Each contender warms up, so that what
/// is done once per process is not counted.
///
/// # Errors
/// If there is nobody on the other side.
pub fn traced(contenders: &mut [Contender]) -> io::Result<()> {
    for contender in contenders {
        contender.call(0);
        raise(Signal::SIGSTOP)?;
        contender.call(0);
        raise(Signal::SIGSTOP)?;
    }
    Ok(())
}

/// Waits until the tracer is there; the traced side calls this first.
///
/// # Errors
/// If standard input fails.
pub fn wait_for_tracer() -> io::Result<()> {
    io::stdin().read_exact(&mut [0])
}

/// Runs `command`, whose process calls [`wait_for_tracer`] and [`traced`], and
/// returns the instructions of every call, those of the two stops included: about
/// a hundred.
///
/// # Errors
/// If the process cannot be started or traced, or fails.
pub fn count(command: &mut Command) -> io::Result<Vec<u64>> {
    let mut child = command.stdin(Stdio::piped()).spawn()?;
    let pid = Pid::from_raw(child.id().cast_signed());
    ptrace::seize(pid, ptrace::Options::PTRACE_O_EXITKILL)?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(&[1])?;
    }
    let mut counts = Vec::new();
    // Steps so far, between the two stops of a call.
    let mut steps = None;
    loop {
        match waitpid(pid, None)? {
            WaitStatus::Stopped(_, Signal::SIGSTOP) => match steps.take() {
                Some(count) => {
                    counts.push(count);
                    ptrace::cont(pid, None)?;
                }
                None => {
                    steps = Some(0);
                    ptrace::step(pid, None)?;
                }
            },
            WaitStatus::Stopped(_, Signal::SIGTRAP) => {
                steps = steps.map(|count| count + 1);
                ptrace::step(pid, None)?;
            }
            WaitStatus::Stopped(_, signal) => ptrace::cont(pid, signal)?,
            WaitStatus::Exited(_, 0) => return Ok(counts),
            status @ (WaitStatus::Exited(..) | WaitStatus::Signaled(..)) => {
                return Err(io::Error::other(format!("the traced process: {status:?}")));
            }
            _ => ptrace::cont(pid, None)?,
        }
    }
}
