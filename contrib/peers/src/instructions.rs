//! Exact counts of executed instructions by single-stepping. Works without performance counters, and
//! for instructions that emulators do not support.

use std::io;
use std::process::Command;

use mldsa_gates::ptrace_step::{Event, pause, step};

use crate::Contender;

/// Calls each contender between two stops, in the process that is stepped. A first call without stops
/// keeps initialisation out of the count.
///
/// # Errors
/// If the process is not traced.
pub fn traced(contenders: &mut [Contender]) -> io::Result<()> {
    for contender in contenders {
        contender.call(0);
        pause()?;
        contender.call(0);
        pause()?;
    }
    Ok(())
}

/// Runs `command`, whose process calls `wait_for_tracer` and [`traced`], and returns the instructions of
/// every call, including about a hundred of the two stops.
///
/// # Errors
/// If the process cannot be started or stepped, or fails.
pub fn count(command: &mut Command) -> io::Result<Vec<u64>> {
    let mut counts = Vec::new();
    let mut steps = 0;
    step(command, |_, event| {
        match event {
            Event::Begin => steps = 0,
            Event::Instruction => steps += 1,
            Event::End => counts.push(steps),
        }
        Ok(())
    })?;
    Ok(counts)
}
