//! A process stepped through instruction by instruction: figures without noise,
//! also where a machine hides its performance counters, and for instructions that
//! simulators do not know.
//!
//! The stepping process starts a second one, which stops itself before and after
//! each part that is wanted.

use std::io::{self, Read, Write};
use std::process::{Command, Stdio};

use nix::sys::ptrace;
use nix::sys::signal::{Signal, raise};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::Pid;

/// Waits until the tracer is there; the stepped side calls this first.
///
/// # Errors
/// If standard input fails.
pub fn wait_for_tracer() -> io::Result<()> {
    io::stdin().read_exact(&mut [0])
}

/// Begins or ends a part, on the stepped side.
///
/// # Errors
/// If the signal cannot be raised.
pub fn pause() -> io::Result<()> {
    raise(Signal::SIGSTOP).map_err(Into::into)
}

/// The events that [`step`] reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A part begins.
    Begin,
    /// Another instruction was executed.
    Instruction,
    /// The part ends.
    End,
}

/// Runs `command`, whose process calls [`wait_for_tracer`] and [`pause`], and tells
/// `each` about every part and every instruction in it, those of the two stops
/// included: about a hundred.
///
/// # Errors
/// If the process cannot be started or stepped, or fails; and those of `each`.
pub fn step(
    command: &mut Command,
    mut each: impl FnMut(Pid, Event) -> io::Result<()>,
) -> io::Result<()> {
    let mut child = command.stdin(Stdio::piped()).spawn()?;
    let pid = Pid::from_raw(child.id().cast_signed());
    ptrace::seize(pid, ptrace::Options::PTRACE_O_EXITKILL)?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(&[1])?;
    }
    let mut inside = false;
    loop {
        match waitpid(pid, None)? {
            WaitStatus::Stopped(_, Signal::SIGSTOP) => {
                inside = !inside;
                each(pid, if inside { Event::Begin } else { Event::End })?;
                if inside {
                    ptrace::step(pid, None)?;
                } else {
                    ptrace::cont(pid, None)?;
                }
            }
            WaitStatus::Stopped(_, Signal::SIGTRAP) if inside => {
                each(pid, Event::Instruction)?;
                ptrace::step(pid, None)?;
            }
            WaitStatus::Stopped(_, signal) => ptrace::cont(pid, signal)?,
            WaitStatus::Exited(_, 0) => return Ok(()),
            status @ (WaitStatus::Exited(..) | WaitStatus::Signaled(..)) => {
                return Err(io::Error::other(format!("the stepped process: {status:?}")));
            }
            _ => ptrace::cont(pid, None)?,
        }
    }
}
